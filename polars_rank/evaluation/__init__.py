"""Functions that evaluate frames."""
