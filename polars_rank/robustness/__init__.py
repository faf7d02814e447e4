"""What a value depends on: disputed choices, missing labels, labels by a model."""
