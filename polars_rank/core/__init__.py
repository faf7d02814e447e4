"""What a metric is written in; it knows no frame."""
