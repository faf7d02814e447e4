"""Noncentral t: the noncentrality that a probability asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from polars_rank._statistics.distributions import special

Array: TypeAlias = npt.NDArray[np.float64]
STEPS = 60
CLOSE = 1e-11  # of a function on the scale of normal quantiles


def noncentrality(p: npt.ArrayLike, df: npt.ArrayLike, t: npt.ArrayLike) -> Array:
    """Find the noncentrality of a t that lies below ``t`` with probability p.

    NaN where scipy cannot tell, as for a ``t`` of a million.

    Examples
    --------
    >>> round(float(noncentrality(0.025, 9.0, 0.0)), 4)
    1.96
    """
    p, df, t = np.broadcast_arrays(*(np.asarray(x, np.float64) for x in (p, df, t)))
    functions = special()
    wanted = functions.ndtri(p)

    def beyond(center: Array) -> Array:
        """Return how far off it is, in normal quantiles: nearly a line."""
        below = functions.nctdtr(df, center, t)
        # What underflows far out is 0 or 1 or, here and there, not a number.
        below = np.where(np.isnan(below), center < t, below)
        return np.asarray(functions.ndtri(below) - wanted)

    # The normal approximation of Johnson and Welch, 1940.
    with np.errstate(divide="ignore", invalid="ignore"):  # of one query
        scale = np.sqrt(1.0 + t**2 / (2.0 * df))
        start = t * (1.0 - 1.0 / (4.0 * df)) - wanted * scale
    return crossing(beyond, start - scale, start + scale)


def crossing(function: Callable[[Array], Array], low: Array, high: Array) -> Array:
    """Find where a falling function of each element is 0: false position in a bracket.

    The bracket is widened until it holds the crossing. NaN where none is found.
    Source: Dowell and Jarratt, BIT 1971 (the Illinois method).
    """
    with np.errstate(all="ignore"):
        above, below = function(low), function(high)
        for _ in range(STEPS):
            width = high - low
            low, high = (
                np.where(above < 0, low - width, low),
                np.where(below > 0, high + width, high),
            )
            if not ((above < 0) | (below > 0)).any():
                break
            above, below = function(low), function(high)
        last, left = np.full(low.shape, np.nan), np.zeros(low.shape)
        for _ in range(STEPS):
            middle = (low * below - high * above) / (below - above)
            # An end at which the function is infinite has no line through it.
            middle = np.where(np.isfinite(middle), middle, (low + high) / 2)
            last = function(middle)
            if not (np.abs(last) > CLOSE).any():
                break
            right = last > 0
            # An end that stays twice counts half, or it would stay for good.
            above = np.where(right, last, np.where(left < 0, above / 2, above))
            below = np.where(right, np.where(left > 0, below / 2, below), last)
            low, high = np.where(right, middle, low), np.where(right, high, middle)
            left = np.where(right, 1.0, -1.0)
        return np.asarray(np.where(np.abs(last) < 1e3 * CLOSE, middle, np.nan))
