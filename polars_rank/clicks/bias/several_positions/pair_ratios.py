"""Estimate position bias from ratios over pairs of positions (WSDM 2019).

As the fits, they take arrays and know no frame.
"""

from __future__ import annotations

from typing import get_args

import numpy as np
import numpy.typing as npt

from polars_rank.clicks.bias.position_based import position_based
from polars_rank.clicks.bias.position_rows import Estimator, Weighting
from polars_rank.clicks.bias.several_positions.fit_errors import ALONE, Fit
from polars_rank.clicks.bias.several_positions.pair_counts import (
    UNCLICKED,
    UNLINKED,
    Array,
    Counts,
    groups_of,
    known_of,
    reached,
)

GROUPS = 100  # of queries that are left out in turn


def jackknifed(
    counts: Counts,
    reference: int,
    estimator: Estimator,
    weighting: Weighting,
    *,
    max_steps: int,
    tol: float,
) -> Fit:
    """Estimate as Agarwal et al., with errors from leaving out groups in turn.

    Source: Agarwal et al., WSDM 2019, section 4; ``"harmonic"`` weighs a pair by
    ``n_k n_j / (n_k + n_j)``, the inverse of its variance.
    """
    assert estimator in get_args(Estimator)
    counts = counts.where(counts.of_pair(np.ones(len(counts.n))) > 1)
    parts = min(groups_of(counts), GROUPS)
    clicks, shown = _tables(counts, weighting, parts)
    whole = clicks.sum(0), shown.sum(0)
    # Of a difference of sums, what is left of equal ones is rounding.
    a, m = (
        np.concatenate([x[None], np.where(x - part > ALONE * x, x - part, 0.0)])
        for x, part in zip(whole, (clicks, shown), strict=True)
    )
    notes = _notes(*whole, reference, estimator)
    known, steps, converged = known_of(notes)[None], None, None
    if estimator == "all_pairs":
        # Without a group there may be no estimate of another position.
        each = [
            known_of(_notes(*t, reference, estimator)) for t in zip(a, m, strict=True)
        ]
        known, found, start = known & np.array(each), [], None
        for table in zip(a, m, known, strict=True):
            found.append(all_pairs(*table, start, max_steps=max_steps, tol=tol))
            start = found[0][0]
        theta = np.array([one[0] for one in found])
        steps, converged = max(one[1] for one in found), all(one[2] for one in found)
    else:
        theta = (pivot_one if estimator == "pivot_one" else chain)(a, reference)
    with np.errstate(divide="ignore", invalid="ignore"):
        theta = np.where(known, theta / theta[:, [reference]], np.nan)
        log = np.log(theta[1:])
        log = log - log.mean(0) if parts > 1 else np.full((1, counts.positions), np.nan)
        covariance = log.T @ log * ((parts - 1) / max(parts, 1))
    covariance[~np.isfinite(covariance)] = np.nan
    return Fit(theta[0], covariance, groups_of(counts), notes, steps, converged)


def _tables(counts: Counts, weighting: Weighting, parts: int) -> tuple[Array, Array]:
    """Sum clicks and views at k of pairs shown at k and j, part by part."""
    k = counts.positions
    clicks, shown = (np.zeros((parts, k, k)) for _ in range(2))
    for group, (n, c) in counts.dense(counts.n, counts.c):
        seen = n > 0
        both = (seen[:, :, None] & seen[:, None, :]).astype(float)
        if weighting == "harmonic":
            total = n[:, :, None] + n[:, None, :]
            product = n[:, :, None] * n[:, None, :]
            both *= np.divide(product, total, out=np.zeros_like(total), where=total > 0)
        rate = np.divide(c, n, out=np.zeros_like(c), where=seen)
        part = group % parts
        np.add.at(clicks, part, rate[:, :, None] * both)
        np.add.at(shown, part, both)
    off = 1.0 - np.eye(k)
    return clicks * off, shown * off


def _notes(
    clicks: Array, shown: Array, reference: int, estimator: Estimator
) -> list[str | None]:
    """Say why a position has no estimate."""
    k = len(clicks)
    if estimator == "all_pairs":
        near = reached(shown > 0, reference)
        to, back = (reached(c > 0, reference) for c in (clicks.T, clicks))
        fine, tied = to & back, near
    elif estimator == "pivot_one":
        fine = (clicks[:, reference] > 0) & (clicks[reference] > 0)
        tied = shown[reference] > 0
        fine[reference] = tied[reference] = True
    else:
        steps = np.arange(1, k)
        good = (clicks[steps, steps - 1] > 0) & (clicks[steps - 1, steps] > 0)
        fine = np.concatenate([[True], np.logical_and.accumulate(good)])
        links = np.logical_and.accumulate(shown[steps, steps - 1] > 0)
        tied = np.concatenate([[True], links])
    return [None if fine[i] else UNCLICKED if tied[i] else UNLINKED for i in range(k)]


def pivot_one(clicks: Array, reference: int) -> Array:
    """Divide clicks at k by clicks at the reference, of pairs shown at both."""
    with np.errstate(divide="ignore", invalid="ignore"):
        theta = clicks[:, :, reference] / clicks[:, reference, :]
    theta[:, reference] = 1.0
    return np.asarray(theta)


def chain(clicks: Array, reference: int) -> Array:
    """Multiply the ratios of neighboring positions."""
    steps = np.arange(1, clicks.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = clicks[:, steps, steps - 1] / clicks[:, steps - 1, steps]
    return np.concatenate([np.ones((len(clicks), 1)), np.cumprod(ratios, axis=1)], 1)


def all_pairs(
    clicks: Array,
    shown: Array,
    known: npt.NDArray[np.bool_],
    start: Array | None,
    *,
    max_steps: int,
    tol: float,
) -> tuple[Array, int, bool]:
    """Maximize ``sum A ln(p_k r_kj) + (M - A) ln(1 - p_k r_kj)``, r symmetric.

    That is the position-based model, whose documents are pairs of positions. Where
    nobody clicked at either of two, ``r = 0``: they say nothing of p.
    """
    on = known[:, None] & known & (clicks + clicks.T > 0)
    ends = np.argwhere(np.triu(on))
    at, other = ends.ravel(), ends[:, ::-1].ravel()
    pair = np.repeat(np.arange(len(ends)), 2)
    n, c = shown[at, other], clicks[at, other]
    counts = Counts(pair, at, pair, n, c, pair, len(known))
    theta, _, steps, converged = position_based(
        counts, max_steps=max_steps, tol=tol, start=start
    )
    return theta, steps, converged
