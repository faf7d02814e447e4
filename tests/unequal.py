"""Clusters of unequal sizes by plain loops: what errors over them allow for."""

from __future__ import annotations

import math

__all__ = ["allowance", "effective", "margin"]


def effective(sizes):
    """Number of clusters of one size that tell as much."""
    return math.fsum(sizes) ** 2 / math.fsum(s * s for s in sizes)


def allowance(sizes):
    """The factor on the usual error: residuals are divided by 1 - mean share."""
    n, total = len(sizes), math.fsum(sizes)
    shares = sorted(s / total for s in sizes)
    *others, top = shares
    # The others' cubes are at least what they would be if they had one size.
    cubes = top**3 + math.fsum(s * s for s in others) ** 2 / math.fsum(others)
    mean = cubes / math.fsum(s * s for s in shares)
    return (1 - 1 / n) / (1 - mean)


def margin(sizes, level=0.95):
    """Errors to each side: normal, or t of few effective clusters."""
    from scipy.stats import norm, t

    k = effective(sizes)
    p = 0.5 + level / 2
    return float(norm.ppf(p) if k >= 50 else t.ppf(p, k - 1))
