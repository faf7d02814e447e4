"""Estimates, tests, intervals and effects, out of sums or of values.

This room holds the statistics of a comparison. It imports ``input``.
"""
