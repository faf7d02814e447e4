"""How much values depend on disputed choices, missing labels, labels by a model."""
