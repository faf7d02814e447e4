"""Effect sizes of paired differences, and the interval of d_z."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from polars_rank._statistics.distributions import special

__all__ = ["cliff", "d_z_interval", "hedges_factor"]

Array: TypeAlias = npt.NDArray[np.float64]
STEPS = 6  # of the secant, which begins within 1e-6


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
    low, high = (_noncentrality(p, n - 1, t) / np.sqrt(n) for p in (1 - tail, tail))
    return low, high


def _noncentrality(p: float, df: Array, t: Array) -> Array:
    """The noncentrality with which a noncentral t lies below ``t`` with probability p.

    The inverse of scipy has 7 digits; the secant method gives the others.
    """
    functions = special()
    start = functions.nctdtrinc(df, p, t)
    before, now = start, start + 1e-3
    for _ in range(STEPS):
        first, second = (functions.nctdtr(df, nc, t) - p for nc in (before, now))
        with np.errstate(divide="ignore", invalid="ignore"):
            step = second * (now - before) / (second - first)
        before, now = now, now - np.where(np.isfinite(step), step, 0.0)
    return np.asarray(np.where(np.abs(now - start) < 1e-3, now, start))


def cliff(a: Array, b: Array) -> float:
    """Cliff's delta of unpaired values: P(b > a) - P(b < a)."""
    ranked = np.sort(a)
    above = np.searchsorted(ranked, b, side="left").sum()
    below = len(a) * len(b) - np.searchsorted(ranked, b, side="right").sum()
    return float((above - below) / (len(a) * len(b)))
