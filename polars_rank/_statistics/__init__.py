"""Distributions and intervals that several packages use."""
