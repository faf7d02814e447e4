"""Distributions and intervals that more than one wing uses."""
