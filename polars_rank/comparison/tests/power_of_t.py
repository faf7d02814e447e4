"""Power of t tests: detectable effects and queries needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from polars_rank._statistics.distributions import normal_quantile, special, t_quantile
from polars_rank._statistics.noncentral import crossing

Array: TypeAlias = npt.NDArray[np.float64]
MOST = 1 << 40


def power_of_t(
    effect: npt.ArrayLike, n: npt.ArrayLike, *, alpha: float = 0.05
) -> Array:
    """Compute the probability that a two-sided paired t test finds an effect.

    ``effect`` is the mean difference by the standard deviation of the differences.

    Examples
    --------
    >>> round(float(power_of_t(0.5, 34)), 4)
    0.8078
    """
    n = np.asarray(n, dtype=np.float64)
    df = n - 1.0
    critical = t_quantile(1 - alpha / 2, df)
    center = np.abs(np.asarray(effect, dtype=np.float64)) * np.sqrt(n)
    nctdtr = special().nctdtr
    # What underflows far out is 0 or, here and there, not a number.
    missed, below = (
        np.nan_to_num(nctdtr(df, center, t)) for t in (critical, -critical)
    )
    return np.asarray(1.0 - missed + below)


def detectable_effect(
    n: npt.ArrayLike, *, alpha: npt.ArrayLike = 0.05, power: float = 0.8
) -> Array:
    """Find the smallest effect that n queries find; NaN below 2 queries."""
    n = np.asarray(n, dtype=np.float64)
    df = np.where(n >= 2, n - 1.0, np.nan)
    critical = t_quantile(1 - np.asarray(alpha) / 2, df)
    return np.asarray(detectable_center(fixed, df, power, critical) / np.sqrt(n))


def fixed(center: Array, df: Array, critical: Array) -> Array:
    """Return the critical value that depends on neither."""
    return critical


def detectable_center(
    critical: Callable[..., Array],
    df: Array,
    power: float,
    *given: Array,
    sides: int = 2,
) -> Array:
    """Find the noncentrality with which t exceeds its critical value with the power.

    ``critical`` is a function of it, ``df`` and the arrays that are ``given``, of some
    of the elements. 0 where the level alone gives as much.
    """
    functions = special()
    missed = functions.ndtri(1.0 - power)

    def missing(center: Array, df: Array, *given: Array) -> Array:
        """Measure the power that is missing in normal quantiles: nearly a line."""
        at = critical(center, df, *given)
        below = np.nan_to_num(functions.nctdtr(df, center, at))
        if sides == 2:
            below -= np.nan_to_num(functions.nctdtr(df, center, -at))
        return np.asarray(functions.ndtri(below) - missed)

    start = np.zeros(df.shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = crossing(missing, start, start + 3.0, df, *given)
        found = np.where(missing(start, df, *given) <= 0.0, 0.0, found)
    unknown = np.isnan(df + critical(start, df, *given))
    return np.asarray(np.where(unknown, np.nan, found))


def queries_for(
    effect: float, *, alpha: float = 0.05, power: float = 0.8
) -> int | None:
    """Find the smallest number of queries that finds the effect; None for 0.

    Examples
    --------
    >>> [queries_for(d) for d in (0.2, 0.5, 1.0)]
    [199, 34, 10]
    """
    effect = abs(effect)
    if not effect > 0:
        return None
    z, zb = normal_quantile(1 - alpha / 2), normal_quantile(power)
    n = max(2, math.floor(((z + zb) / effect) ** 2 + z * z / 2) - 2)
    if n > MOST:
        return n
    while n > 2 and power_of_t(effect, n - 1, alpha=alpha) >= power:
        n -= 1
    while power_of_t(effect, n, alpha=alpha) < power:
        n += 1
    return n
