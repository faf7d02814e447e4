"""Clusters of unequal sizes by plain loops: what errors over them allow for."""

from __future__ import annotations

import math

__all__ = ["NEAR", "allowance", "effective", "margin"]


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


NEAR = 2e-5  # of Student's t, where an approximation needs no scipy


def margin(sizes, level=0.95):
    """Errors to each side: t of as many effective clusters."""
    from scipy.stats import t

    return float(t.ppf(0.5 + level / 2, effective(sizes) - 1))
