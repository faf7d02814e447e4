"""Every disputed choice, by name."""
