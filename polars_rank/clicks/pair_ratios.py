"""Position bias from ratios over pairs of positions (Agarwal et al., WSDM 2019).

As the fits, they take arrays and know no frame.
"""

from __future__ import annotations

from typing import get_args

import numpy as np
import numpy.typing as npt

from polars_rank.clicks.bias_fits import TINY
from polars_rank.clicks.fit_errors import Fit
from polars_rank.clicks.linked_positions import (
    UNCLICKED,
    UNLINKED,
    known_of,
    reached,
)
from polars_rank.clicks.pair_counts import Array, Counts, groups_of
from polars_rank.clicks.position_rows import Estimator, Weighting

__all__ = ["all_pairs", "chain", "jackknifed", "pivot_one"]

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
    """Estimates of Agarwal et al., with errors from leaving out groups in turn.

    Source: Agarwal et al., WSDM 2019, section 4; ``"harmonic"`` weighs a pair by
    ``n_k n_j / (n_k + n_j)``, the inverse of its variance.
    """
    assert estimator in get_args(Estimator)
    counts = counts.where(counts.of_pair(np.ones(len(counts.n))) > 1)
    parts = min(groups_of(counts), GROUPS)
    clicks, shown = _tables(counts, weighting, parts)
    whole = clicks.sum(0)[None], shown.sum(0)[None]
    without = whole[0] - clicks, whole[1] - shown
    a, m = (np.concatenate(x) for x in zip(whole, without, strict=True))
    notes = _notes(whole[0][0], whole[1][0], reference, estimator)
    steps = converged = None
    if estimator == "all_pairs":
        known = known_of(notes)
        theta, steps, converged = all_pairs(a, m, known, max_steps, tol)
    else:
        theta = (pivot_one if estimator == "pivot_one" else chain)(a, reference)
    with np.errstate(divide="ignore", invalid="ignore"):
        theta = np.where(known_of(notes), theta / theta[:, [reference]], np.nan)
        log = np.log(theta[1:])
        log = log - log.mean(0) if parts > 1 else np.full((1, counts.positions), np.nan)
        covariance = log.T @ log * ((parts - 1) / max(parts, 1))
    covariance[~np.isfinite(covariance)] = np.nan
    return Fit(theta[0], covariance, groups_of(counts), notes, steps, converged)


def _tables(counts: Counts, weighting: Weighting, parts: int) -> tuple[Array, Array]:
    """Of each part of the groups: clicks and views at k of pairs shown at k and j."""
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
    """Why a position has no estimate."""
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
    """Clicks at k by clicks at the reference, of pairs that were shown at both."""
    with np.errstate(divide="ignore", invalid="ignore"):
        theta = clicks[:, :, reference] / clicks[:, reference, :]
    theta[:, reference] = 1.0
    return np.asarray(theta)


def chain(clicks: Array, reference: int) -> Array:
    """Products of the ratios of neighbouring positions."""
    steps = np.arange(1, clicks.shape[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = clicks[:, steps, steps - 1] / clicks[:, steps - 1, steps]
    return np.concatenate([np.ones((len(clicks), 1)), np.cumprod(ratios, axis=1)], 1)


def all_pairs(
    clicks: Array,
    shown: Array,
    known: npt.NDArray[np.bool_],
    max_steps: int,
    tol: float,
) -> tuple[Array, int, bool]:
    """Maximum of ``sum A ln(p_k r_kj) + (M - A) ln(1 - p_k r_kj)``, r symmetric.

    That is the position-based model, whose documents are pairs of positions: solved by
    its EM, for each of the tables at once.
    """
    on = known[:, None] & known[None, :]
    shown, clicks = np.where(on, shown, 0.0), np.where(on, clicks, 0.0)
    p, r = np.full(clicks.shape[:2], 0.5), np.full(clicks.shape, 0.5)
    sides, total = shown + shown.transpose(0, 2, 1), shown.sum(2)
    steps, converged = 0, not known.any()
    while not converged and steps < max_steps:
        steps += 1
        e = p[:, :, None]
        unseen = (shown - clicks) / np.maximum(1 - e * r, TINY)
        attracted = clicks + unseen * r * (1 - e)
        examined = clicks + unseen * e * (1 - r)
        attracted = attracted + attracted.transpose(0, 2, 1)
        r = np.divide(attracted, sides, out=np.zeros_like(r), where=sides > 0)
        before, p = (
            p,
            np.divide(
                examined.sum(2), total, out=np.full_like(p, 0.5), where=total > 0
            ),
        )
        converged = bool(np.abs(p / before - 1)[:, known].max() < tol)
    return p, steps, converged
