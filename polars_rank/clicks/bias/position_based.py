"""Fit the position-based model, P(click) = theta_k a_pair, by Newton's method.

EM takes thousands of steps where examined and attractive are hard to tell apart, and
small steps do not say that the end is near. The likelihood is concave in the logarithms
of theta and a; a is solved for each pair, so that theta alone is left.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_rank.clicks.bias.several_positions.fit_errors import information
from polars_rank.clicks.bias.several_positions.pair_counts import Array, Counts

ALMOST = 1 - 1e-12
HALVINGS = 40
ROUNDING = 1e-9
TINY = 1e-300
TIED = 1e-12  # a theta so close to the largest is equal to it


def position_based(
    counts: Counts, *, max_steps: int, tol: float, start: Array | None = None
) -> tuple[Array, Array, int, bool]:
    """Fit theta; return it, P(click) of the rows, steps, whether it converged.

    Maximum of ``sum c ln(theta a) + (n - c) ln(1 - theta a)``, where no probability is
    above 1. Only products count, so the largest theta is set to 1: Newton's method with
    bounds (Bertsekas, SIAM Journal on Control and Optimization, 1982). Every row has a
    pair that was clicked, every position a click.
    """
    here = counts.of_position(counts.n) > 0
    if start is None:
        start = counts.of_position(counts.c) / np.maximum(
            counts.of_position(counts.n), 1
        )
    x = np.log(np.where(here, start, 1.0))
    x = np.where(here, x - x.max(initial=-np.inf, where=here), 0.0)
    steps, converged = 0, not here.any()
    mean, likelihood = _fitted(counts, x)
    while not converged and steps < max_steps:
        steps += 1
        change, whole = _newton(counts, x, mean, here)
        for _ in range(HALVINGS):
            mean, found = _fitted(counts, x + change)
            if found >= likelihood - 1e-12 * abs(likelihood):
                break
            change, whole = change / 2, False
        x, likelihood = x + change, found
        converged = whole and bool(np.abs(change).max() < tol)
    return np.exp(x), mean, steps, converged


def _fitted(counts: Counts, x: Array) -> tuple[Array, float]:
    """Compute P(click) of the rows, for the likeliest a, and the likelihood."""
    mean = np.minimum(_attractive(counts, x) * np.exp(x)[counts.position], ALMOST)
    missed = (counts.n - counts.c) * np.log1p(-mean)
    return mean, float((counts.c * np.log(mean) + missed).sum())


def _attractive(counts: Counts, x: Array) -> Array:
    """Solve for the likeliest a: ``sum c = sum (n - c) theta a / (1 - theta a)``.

    The right side is concave and rises in the odds of a click at the largest theta of
    the rows with n > c. So Newton's method, from below, never goes too far.
    """
    missed, total = counts.n - counts.c, counts.of_pair(counts.c)
    theta = np.where(missed > 0, np.exp(x)[counts.position], 0.0)
    first = np.flatnonzero(np.diff(counts.pair, prepend=-1))
    top = np.maximum.reduceat(theta, first)[counts.pair] if len(first) else theta
    r = np.divide(theta, top, out=np.zeros_like(theta), where=top > 0)
    slope = np.where(top > 0, counts.of_pair(missed * r), 1.0)
    odds = total / slope
    for _ in range(HALVINGS):
        share = r / (1 + odds * (1 - r))
        slope = np.where(
            top > 0, counts.of_pair(missed * share**2 / np.maximum(r, TINY)), 1
        )
        left = total - odds * counts.of_pair(missed * share)
        left = np.where(top > 0, left / slope, 0.0)
        odds = odds + left
        if not (np.abs(left) > 1e-14 * odds).any():
            break
    a = np.divide(odds / (1 + odds), top, out=np.ones_like(top), where=top > 0)
    return np.minimum(a, 1.0)


def _newton(
    counts: Counts, x: Array, mean: Array, here: npt.NDArray[np.bool_]
) -> tuple[Array, bool]:
    """Return the next change of x, and whether it is a whole step."""
    odds = mean / (1 - mean)
    missed = counts.n - counts.c
    clicks = counts.of_position(counts.c)
    gradient = counts.of_position(counts.c - missed * odds)
    gradient[np.abs(gradient) < TIED * clicks] = 0.0
    weight = missed * odds / (1 - mean)
    # A pair that is as attractive as can be does not make up for a change of theta.
    score = counts.of_pair(counts.c - missed * odds)
    free_pair = score <= ROUNDING * counts.of_pair(counts.c)
    curvature = information(counts, weight, where=free_pair)
    # Without it there is none at positions where all that was shown was clicked.
    curvature += np.diag(ROUNDING * clicks)
    tied = here & (x > -TIED)
    held = tied & (gradient > 0)
    if not held.any():
        held[np.argmax(np.where(tied, gradient, -np.inf))] = True
    while True:
        free = here & ~held
        change = np.zeros_like(x)
        change[free] = np.linalg.solve(curvature[np.ix_(free, free)], gradient[free])
        above = free & tied & (change > 0)
        if not above.any():
            break
        held = held | above
    rising = change > 0
    most = float(np.min(-x[rising] / change[rising], initial=1.0))
    return change * most, most == 1.0
