"""Distributions and intervals that several packages use.

It imports ``core`` only: no frame of results is known here.
"""
