"""Position bias from clicks on documents that were shown at several positions.

Both likelihoods are those of a table of counts: of a pair (a document of a query) at a
position, the impressions n and the clicks c.
"""

from __future__ import annotations

import numpy as np

from polars_rank.clicks.fit_errors import Fit, Scores, information
from polars_rank.clicks.linked_positions import identified
from polars_rank.clicks.pair_counts import Array, Counts
from polars_rank.clicks.position_based import position_based

__all__ = ["em", "poisson"]

HALVINGS = 40


def poisson(counts: Counts, reference: int, *, max_steps: int, tol: float) -> Fit:
    """Fit theta by the likelihood of a pair's clicks over positions, given their sum.

    ``P(position of a click of the pair) = n_k theta_k / sum_j n_j theta_j``. The
    attractiveness of the pair cancels. Newton's method on the logarithms, whose
    likelihood is concave; a step is halved until the likelihood does not fall.

    Source: Hausman, Hall and Griliches, 1984 (fixed-effects Poisson); Wooldridge, 1999
    (only the mean matters, with robust errors).
    """
    counts, notes, known = identified(counts, reference)
    free = known.copy()
    free[reference] = False
    total = counts.of_pair(counts.c)

    def shares(x: Array) -> tuple[Array, float]:
        weighted = counts.n * np.exp(x)[counts.position]
        share = weighted / counts.of_pair(weighted)
        return share, float((counts.c * np.log(share)).sum())

    x, steps, converged = np.zeros(counts.positions), 0, not free.any()
    share, likelihood = shares(x)
    while not converged and steps < max_steps:
        steps += 1
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
    weight = total * share
    one = np.ones_like(share)
    scores = Scores.of(counts, weight, weight / counts.n, one, reference)
    covariance, groups = scores.left_out()
    return Fit(
        np.where(known, np.exp(x), np.nan),
        covariance,
        groups,
        notes,
        steps,
        converged,
        likelihood,
        scores,
    )


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
