"""Effect sizes of paired differences, and the interval of d_z."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from polars_rank._statistics.distributions import special
from polars_rank._statistics.noncentral import noncentrality

Array: TypeAlias = npt.NDArray[np.float64]


def hedges_factor(n: npt.ArrayLike) -> Array:
    """Hedges' J, which removes the bias of d_z in n queries."""
    gammaln = special().gammaln
    df = np.asarray(n, dtype=np.float64) - 1.0
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(
            np.exp(gammaln(df / 2) - gammaln((df - 1) / 2)) / np.sqrt(df / 2)
        )


def d_z_interval(
    d: npt.ArrayLike, n: npt.ArrayLike, level: float
) -> tuple[Array, Array]:
    """Confidence interval of d_z: noncentralities that make it as extreme.

    Source: Cumming and Finch, 2001.
    """
    n = np.asarray(n, dtype=np.float64)
    t = np.asarray(d, dtype=np.float64) * np.sqrt(n)
    tail = (1 - level) / 2
    low, high = (noncentrality(p, n - 1, t) / np.sqrt(n) for p in (1 - tail, tail))
    return low, high


def cliff(a: Array, b: Array) -> float:
    """Cliff's delta of unpaired values: P(b > a) - P(b < a)."""
    ranked = np.sort(a)
    above = np.searchsorted(ranked, b, side="left").sum()
    below = len(a) * len(b) - np.searchsorted(ranked, b, side="right").sum()
    return float((above - below) / (len(a) * len(b)))
