"""Faster ways to the same sums, for short impressions and for impressions alike.

Each gives the bits of the general way, or declines. It imports ``behavior`` and
``log``.
"""
