"""Bootstrap intervals of mean differences, one set of resamples for all comparisons.

Units (queries or clusters) are rows: ``x`` holds the sums of differences, one column
per comparison, and ``w`` the sums of weights, so that the estimate is sum x / sum w.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from polars_rank._statistics.distributions import normal_quantile, normal_tail
from polars_rank.comparison.input.procedures import IntervalName
from polars_rank.comparison.input.values import ROUNDING
from polars_rank.comparison.tests.paired_tests import Tested, chunks, rounded

Array: TypeAlias = npt.NDArray[np.float64]


class Bounds(NamedTuple):
    """Ends of the intervals of all comparisons."""

    low: Array
    high: Array


class Resampled(NamedTuple):
    """Estimate and error in every resample: resamples in rows."""

    estimate: Array
    error: Array


def resampled(
    x: Array, w: Array, *, n_resamples: int, seed: int, bayesian: bool = False
) -> Resampled:
    """Compute estimates, and their standard errors, of resamples of the units.

    ``bayesian``: with Dirichlet weights (Rubin 1981) instead of counts.
    """
    n, columns = x.shape
    estimates, errors = [], []
    center = x.sum(axis=0) / w.sum()
    x = x - center * w[:, None]  # deviations, of which a small spread keeps its digits
    squares, products = x * x, x * w[:, None]
    for counts in drawn_counts(n, n_resamples, seed, bayesian=bayesian):
        weight = (counts @ w)[:, None]
        moved = (counts @ x) / weight
        whole = counts @ squares
        rest = (
            whole
            - 2.0 * moved * (counts @ products)
            + moved**2 * (counts @ (w * w))[:, None]
        )
        rest[rest < ROUNDING * whole] = 0.0  # of units that are all the same
        estimates.append(center + moved)
        scale = n / (n - 1.0) if n > 1 else np.nan
        errors.append(np.sqrt(rest * scale) / weight)
    shape = (n_resamples, columns)
    return Resampled(
        np.concatenate(estimates).reshape(shape), np.concatenate(errors).reshape(shape)
    )


def drawn_counts(
    n: int, n_resamples: int, seed: int, *, bayesian: bool
) -> Iterator[Array]:
    """Draw how often each unit is taken, some resamples at a time."""
    generator = np.random.default_rng(seed)
    for size in chunks(n_resamples, n):
        if bayesian:
            yield generator.standard_exponential((size, n))
            continue
        drawn = generator.integers(0, n, (size, n))
        drawn += np.arange(size)[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=size * n)
        yield counts.reshape(size, n).astype(np.float64)


def bounds(
    x: Array,
    w: Array,
    size: Array,
    drawn: Resampled,
    interval: IntervalName,
    level: float,
) -> Bounds:
    """Compute the interval of every comparison, of values of some ``size``.

    ``"percentile"``: quantiles of the resampled estimates. ``"bca"``: corrected for
    bias and skewness (Efron 1987). ``"studentized"``: from the quantiles of
    (estimate* - estimate) / error*. ``"bayesian"``: quantiles of the posterior.
    """
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    estimate = x.sum(axis=0) / w.sum()
    if interval == "studentized":
        with np.errstate(divide="ignore", invalid="ignore"):
            t = (drawn.estimate - estimate) / drawn.error
        t[~(drawn.error > 0)] = np.nan
        n = len(x)
        rest = ((x - estimate * w[:, None]) ** 2).sum(axis=0)
        rest[rest < ROUNDING**2 * (x**2).sum(axis=0)] = 0.0
        error = np.sqrt(rest * (n / (n - 1.0))) / w.sum()
        low, high = _ends(t, tails)
        below, above = (np.where(error > 0, q * error, 0.0) for q in (high, low))
        return Bounds(estimate - below, estimate - above)
    if interval != "bca":
        low, high = np.quantile(drawn.estimate, tails, axis=0)
        return Bounds(low, high)
    ends = [
        _bca(x[:, c], w, size[c], drawn.estimate[:, c], tails)
        for c in range(x.shape[1])
    ]
    low, high = np.array(ends).reshape(-1, 2).T
    return Bounds(low, high)


def _ends(t: Array, tails: Array) -> tuple[Array, Array]:
    ends = np.full((2, t.shape[1]), np.nan)
    for c in range(t.shape[1]):
        known = t[~np.isnan(t[:, c]), c]
        if len(known) and np.ptp(known) > 0:
            ends[:, c] = np.quantile(known, tails)
    return ends[0], ends[1]


def _bca(x: Array, w: Array, size: float, estimates: Array, tails: Array) -> Array:
    estimate = x.sum() / w.sum()
    gaps = rounded(estimates - estimate, size)
    below = (np.sum(gaps < 0) + np.sum(gaps <= 0)) / 2
    share = below / len(estimates)
    if not 0.0 < share < 1.0:  # all differences are equal, or nearly
        return np.asarray(np.quantile(estimates, tails))
    left_out = (x.sum() - x) / (w.sum() - w) if len(x) > 1 else np.full(1, np.nan)
    spread = left_out.mean() - left_out
    size = np.sum(spread**2) ** 1.5
    acceleration = np.sum(spread**3) / (6.0 * size) if size > 0 else 0.0
    bias = normal_quantile(share)
    z = bias + np.array([normal_quantile(p) for p in tails])
    moved = bias + z / (1.0 - acceleration * z)
    return np.asarray(np.quantile(estimates, normal_tail(-moved)))


def shift_test(
    x: Array, w: Array, size: Array, drawn: Resampled, alternative: str = "two-sided"
) -> list[Tested]:
    """Test by shifting: count the resamples that lie as far from the estimate.

    Too liberal for few queries (Urbano et al. 2019): prefer t.

    Source: Sakai, SIGIR 2006.
    """
    estimate = x.sum(axis=0) / w.sum()
    moved = drawn.estimate - estimate
    tolerance = ROUNDING * size
    beyond = {
        "two-sided": np.abs(moved) >= np.abs(estimate) - tolerance,
        "greater": moved >= estimate - tolerance,
        "less": moved <= estimate + tolerance,
    }[alternative]
    p = (1.0 + beyond.sum(axis=0)) / (1.0 + len(moved))
    return [Tested(float(e), float(v)) for e, v in zip(estimate, p, strict=True)]
