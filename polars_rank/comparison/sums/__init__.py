"""Sums of values and differences, in one pass over the rows, that add up over parts.

This room makes moments and merges them. It imports ``input``.
"""
