"""The language of metrics; it knows no frame."""
