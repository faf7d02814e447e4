"""Slices of queries: a cube of sums that add up, and the search in it.

``slice_search`` imports ``slice_cube``; both import ``comparison``, for what values
are and how p-values are adjusted.
"""
