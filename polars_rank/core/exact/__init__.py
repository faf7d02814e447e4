"""Sums of values that have the same bits in any order, kept as states that add up.

This room has the aggregates, their states, and the hash of ids that states keep. It
imports the files beside it.
"""
