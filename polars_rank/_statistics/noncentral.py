"""Noncentral t: the noncentrality that a probability asks for."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from polars_rank._statistics.distributions import special

Array: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.intp]
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

    def beyond(center: Array, wanted: Array, df: Array, t: Array) -> Array:
        """Return how far off it is, in normal quantiles: nearly a line."""
        below = functions.nctdtr(df, center, t)
        # What underflows far out is 0 or 1 or, here and there, not a number.
        below = np.where(np.isnan(below), center < t, below)
        return np.asarray(functions.ndtri(below) - wanted)

    # The normal approximation of Johnson and Welch, 1940.
    with np.errstate(divide="ignore", invalid="ignore"):  # of one query
        scale = np.sqrt(1.0 + t**2 / (2.0 * df))
        start = t * (1.0 - 1.0 / (4.0 * df)) - wanted * scale
    return crossing(beyond, start - scale, start + scale, wanted, df, t)


def crossing(
    function: Callable[..., Array], low: Array, high: Array, *given: Array
) -> Array:
    """Find where a falling function of each element is 0: false position in a bracket.

    The function gets a number and those ``given`` for each element that is left: one
    that is hard, or has no crossing, costs the others nothing. The bracket is widened
    until it holds the crossing. NaN where none is found.
    Source: Dowell and Jarratt, BIT 1971 (the Illinois method).
    """
    found = np.full(low.shape, np.nan)
    low, high, *given = (  # type: ignore[assignment]
        np.ravel(np.broadcast_to(each, found.shape)) for each in (low, high, *given)
    )
    with np.errstate(all="ignore"):

        def at(number: Array, places: Places) -> Array:
            return function(number, *(each[places] for each in given))

        # Widen
        low, high = low.copy(), high.copy()
        above, below = np.full((2, low.size), np.nan)
        outside = np.flatnonzero(low < high)
        for _ in range(STEPS):
            above[outside] = at(low[outside], outside)
            below[outside] = at(high[outside], outside)
            outside = outside[(above[outside] < 0) | (below[outside] > 0)]
            if not len(outside):
                break
            width = high[outside] - low[outside]
            low[outside] -= np.where(above[outside] < 0, width, 0.0)
            high[outside] += np.where(below[outside] > 0, width, 0.0)

        # Narrow
        places = np.flatnonzero((above >= 0) & (below <= 0))
        low, high, above, below = (x[places] for x in (low, high, above, below))
        left = np.zeros(low.size)
        for _ in range(STEPS):
            middle = (low * below - high * above) / (below - above)
            # An end at which the function is infinite has no line through it.
            middle = np.where(np.isfinite(middle), middle, (low + high) / 2)
            last = at(middle, places)
            near = np.abs(last) < 1e3 * CLOSE
            found.flat[places[near]] = middle[near]
            right = last > 0
            # An end that stays twice counts half, or it would stay for good.
            above = np.where(right, last, np.where(left < 0, above / 2, above))
            below = np.where(right, np.where(left > 0, below / 2, below), last)
            low, high = np.where(right, middle, low), np.where(right, high, middle)
            left = np.where(right, 1.0, -1.0)
            far = np.abs(last) > CLOSE
            if not far.any():
                break
            places = places[far]
            low, high, above, below, left = (
                x[far] for x in (low, high, above, below, left)
            )
        return found
