"""Fit position bias to documents that were shown at several positions.

Both likelihoods are those of a table of counts: of a pair (a document of a query) at a
position, the impressions n and the clicks c.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from polars_rank.clicks.bias.position_based import position_based
from polars_rank.clicks.bias.several_positions.fit_errors import (
    Fit,
    Scores,
    information,
)
from polars_rank.clicks.bias.several_positions.pair_counts import (
    Array,
    Counts,
    identified,
)

Known: TypeAlias = npt.NDArray[np.bool_]

HALVINGS = 40


def poisson(counts: Counts, reference: int, *, max_steps: int, tol: float) -> Fit:
    """Fit theta by the likelihood of a pair's clicks over positions, given their sum.

    Source: Hausman, Hall and Griliches, 1984 (fixed-effects Poisson); Wooldridge, 1999
    (only the mean matters, with robust errors).
    """
    counts, notes, known = identified(counts, reference)
    x, share, steps, converged, likelihood = _fixed_effects(
        counts, known, reference, max_steps, tol
    )
    weight = counts.of_pair(counts.c) * share
    one = np.ones_like(share)
    scores = Scores.of(counts, weight, weight / counts.n, one, reference)
    covariance, groups = scores.left_out()
    theta = np.where(known, np.exp(x), np.nan)
    return Fit(theta, covariance, groups, notes, steps, converged, likelihood, scores)


def relative_examination(
    counts: Counts, reference: int, *, max_steps: int, tol: float, start: Array
) -> Array:
    """Fit theta alone, from ``start``; NaN where it is not known."""
    counts, _, known = identified(counts, reference)
    x = np.log(np.where(known & (start > 0), start, 1.0))
    x, _, _, converged, _ = _fixed_effects(
        counts, known, reference, max_steps, tol, start=x
    )
    return np.where(known & converged, np.exp(x), np.nan)


def _fixed_effects(
    counts: Counts,
    known: Known,
    reference: int,
    max_steps: int,
    tol: float,
    start: Array | None = None,
) -> tuple[Array, Array, int, bool, float]:
    """Fit ln theta; return it, shares of rows in clicks of pairs, how it ended.

    ``P(position of a click of the pair) = n_k theta_k / sum_j n_j theta_j``. The
    attractiveness of the pair cancels. Newton's method on the logarithms, whose
    likelihood is concave; a step is halved until the likelihood does not fall.
    """
    free = known.copy()
    free[reference] = False
    total = counts.of_pair(counts.c)

    def shares(x: Array) -> tuple[Array, float]:
        weighted = counts.n * np.exp(x)[counts.position]
        share = weighted / counts.of_pair(weighted)
        return share, float((counts.c * np.log(share)).sum())

    x = np.zeros(counts.positions) if start is None else start
    steps, converged = 0, not free.any()
    share, likelihood = shares(x)
    while not converged and steps < max_steps:
        steps += 1
        # Multinomial scores, as in Hausman, Hall and Griliches, 1984: of a pair with C
        # clicks, c_k - C p_k, with the information C (diag p - p p').
        gradient = counts.of_position(counts.c - total * share)[free]
        curvature = information(counts, total * share)[np.ix_(free, free)]
        change = np.zeros_like(x)
        change[free] = np.linalg.solve(curvature, gradient)
        for _ in range(HALVINGS):
            share, found = shares(x + change)
            if found >= likelihood - 1e-12 * abs(likelihood):
                break
            change /= 2
        x, likelihood = x + change, found
        converged = bool(np.abs(change).max() < tol)
    return x, share, steps, converged, likelihood


def em(
    counts: Counts, reference: int, *, max_steps: int, tol: float, least: float
) -> Fit:
    """Fit the position-based model, P(click) = theta_k a_pair.

    Pairs shown less than ``least`` times, without a click, or at a single position are
    left out: rare pairs bias theta, and the others do not change it.

    Source: Richardson et al., WWW 2007; Chuklin, Markov and de Rijke, Click Models for
    Web Search, 2015, section 4.2.
    """
    counts, notes, known = identified(counts.informative(least=least), reference)
    n, c = counts.n, counts.c
    theta, mean, steps, converged = position_based(counts, max_steps=max_steps, tol=tol)
    weight = (n - c) * mean / (1 - mean) ** 2
    scores = Scores.of(counts, weight, mean, 1 / (1 - mean), reference)
    covariance, groups = scores.left_out()
    missed = np.where(n > c, (n - c) * np.log1p(-mean), 0.0)
    return Fit(
        np.where(known, theta / theta[reference], np.nan),
        covariance,
        groups,
        notes,
        steps,
        converged,
        float((c * np.log(mean) + missed).sum()),
        scores,
    )
