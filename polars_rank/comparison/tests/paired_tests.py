"""Tests of paired differences that need the differences themselves.

Each takes units in rows and comparisons in columns, and draws once for all columns.
Differences are expected to be rounded (``rounded``): 0.55 - 0.5 is not 0.95 - 0.9. What
is rounding depends on the size of the values: a test has the same p-value in any unit.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank._statistics.distributions import Alternative, special, tail
from polars_rank.comparison.input.procedures import ZeroMethod
from polars_rank.comparison.input.values import ROUNDING

Array: TypeAlias = npt.NDArray[np.float64]
EXACT = 40  # differences that are not 0: 2^20 sums for each half
CELLS = 1 << 22  # numbers held at a time


class Tested(NamedTuple):
    """Statistic and p-value of a comparison; without a difference, the ``middle``."""

    statistic: float
    p: float
    middle: float = 0.0


def rounded(differences: Array, size: float | Array) -> Array:
    """Round differences of values of this size, so that equal ones are equal.

    Of values whose largest is between 0.5 and 1, 12 decimals are kept.
    """
    unit = power_of_2(size)
    return np.asarray(np.round(differences / unit, 12) * unit + 0.0)


def power_of_2(size: float | Array) -> Array:
    """Return the power of 2 that is as large, or the next one; 1 for nothing.

    Products and quotients with it are exact.
    """
    half, exponent = np.frexp(size)
    exponent = exponent - (half == 0.5)
    return np.asarray(np.ldexp(1.0, exponent), np.float64)


def sign(wins: int, losses: int, alternative: Alternative = "two-sided") -> Tested:
    """Make the sign test: wins among queries that differ are binomial with 1/2.

    Tests whether the system wins more often than it loses, not whether the means
    differ; ties are left out.
    """
    n = wins + losses
    if n == 0:
        return Tested(0.0, 1.0)
    bdtr = special().bdtr
    least = float(bdtr(float(min(wins, losses)), n, 0.5))
    p = {
        "two-sided": min(1.0, 2 * least),
        "greater": float(bdtr(float(losses), n, 0.5)),
        "less": float(bdtr(float(wins), n, 0.5)),
    }[alternative]
    return Tested(float(wins), p, n / 2)


def wilcoxon(
    d: Array,
    alternative: Alternative = "two-sided",
    zero_method: ZeroMethod = "wilcox",
) -> Tested:
    """Make Wilcoxon's signed rank test.

    Tests whether the differences are symmetric about 0, not whether the means differ;
    unreliable for many queries (Smucker et al. 2007; Urbano et al. 2019). Exact up to
    40 differences that are not 0, with ties as well: it is the randomization test of
    the signed ranks. Beyond, normal, corrected for ties. The statistic is the sum of
    the ranks of positive differences.

    Differences of 0 are left out: with ``"wilcox"`` before the others are ranked, with
    ``"pratt"`` after all are. With ``"zsplit"`` half the rank of each counts as
    positive: another statistic, and the normal test has a larger variance.

    Source: Wilcoxon 1945; Pratt, JASA 1959.
    """
    ranks = _signed_ranks(d, every=zero_method != "wilcox")
    zeros = len(d) - np.count_nonzero(d)
    split = zeros * (zeros + 1) / 4 if zero_method == "zsplit" else 0.0
    plus = float(ranks[ranks > 0].sum()) + split
    middle = float(np.abs(ranks).sum()) / 2 + split
    if len(ranks) <= EXACT:
        return Tested(plus, _exact(ranks, alternative).p, middle)
    # The sum of squared ranks has the correction for ties in it; the signs of zeros
    # are split for good in Wilcoxon's and Pratt's test, and random in scipy's "zsplit".
    variance = float((ranks**2).sum()) / 4
    if zero_method == "zsplit":
        variance += zeros * ((zeros + 1) / 2) ** 2 / 4
    p = float(tail((plus - middle) / variance**0.5, alternative=alternative))
    return Tested(plus, p, middle)


def rank_biserial(d: Array) -> float:
    """Compute the rank-biserial correlation of pairs: (W+ - W-) / (W+ + W-)."""
    ranks = _signed_ranks(d)
    return float(ranks.sum() / np.abs(ranks).sum()) if len(ranks) else 0.0


def _signed_ranks(d: Array, *, every: bool = False) -> Array:
    """Rank the sizes, with the signs of the differences that are not 0.

    Among the others, or, with ``every``, among all.
    """
    kept = d != 0
    ranked = d if every else d[kept]
    ranks = pl.Series(np.abs(ranked)).rank("average").to_numpy()
    ranks = ranks[kept] if every else ranks
    return np.asarray(ranks * np.sign(d[kept]), dtype=np.float64)


# -- randomization


def randomization(
    units: Array,
    *,
    n_resamples: int,
    seed: int,
    alternative: Alternative = "two-sided",
) -> list[Tested]:
    """Make Fisher's randomization test: each difference may change its sign.

    Exact up to 40 differences that are not 0, else by ``n_resamples`` draws, with
    p = (1 + extreme draws) / (1 + draws). The statistic is the sum of differences. For
    more than some 10,000 queries it is the t test to three digits, and slow.

    Source: Fisher 1935; Smucker, Allan and Carterette, CIKM 2007.
    """
    few = (units != 0).sum(axis=0) <= EXACT
    found: dict[int, Tested] = {
        int(c): _exact(units[units[:, c] != 0, c], alternative)
        for c in np.flatnonzero(few)
    }
    many = np.flatnonzero(~few)
    if len(many):
        drawn = _drawn(units[:, many], n_resamples, seed, alternative)
        found |= dict(zip(map(int, many), drawn, strict=True))
    return [found[c] for c in range(units.shape[1])]


def _exact(d: Array, alternative: Alternative) -> Tested:
    """Count all sign flips: sums of both halves meet in the middle."""
    total = float(d.sum())
    if not len(d):
        return Tested(0.0, 1.0)
    tolerance = ROUNDING * float(np.abs(d).sum())
    # A sum of all numbers is one of each half: of 2^n sums none is made, but each of
    # the 2^(n/2) of one half is looked up among those of the other (Horowitz and Sahni,
    # Journal of the ACM 1974).
    left, right = _sums(d[::2]), _sums(d[1::2])
    count = 0
    if alternative != "less":
        least = (abs(total) if alternative == "two-sided" else total) - tolerance
        count += int((len(right) - np.searchsorted(right, least - left)).sum())
    if alternative != "greater":
        most = (-abs(total) if alternative == "two-sided" else total) + tolerance
        count += int(np.searchsorted(right, most - left, side="right").sum())
    return Tested(total, min(1.0, count / 2.0 ** len(d)))


def _sums(d: Array) -> Array:
    """Sort all sums of +-d: two sorted halves are merged for each number."""
    sums = np.zeros(1)
    for value in d:
        sums = np.sort(np.concatenate([sums - value, sums + value]), kind="stable")
    return sums


def _drawn(
    units: Array, n_resamples: int, seed: int, alternative: Alternative
) -> list[Tested]:
    total = units.sum(axis=0)
    tolerance = ROUNDING * np.abs(units).sum(axis=0)
    generator = np.random.default_rng(seed)
    extreme = np.zeros(units.shape[1])
    n = len(units)
    for size in chunks(n_resamples, n):
        bits = np.unpackbits(
            generator.integers(0, 256, (size, -(-n // 8)), np.uint8), axis=1
        )
        # a sum of flipped signs is the total less twice what is flipped
        sums = total - 2.0 * (bits[:, :n].astype(np.float64) @ units)
        beyond = {
            "two-sided": np.abs(sums) >= np.abs(total) - tolerance,
            "greater": sums >= total - tolerance,
            "less": sums <= total + tolerance,
        }[alternative]
        extreme += beyond.sum(axis=0)
    # What was seen is one of the draws: no p-value is 0 (Phipson and Smyth, 2010).
    p = (1.0 + extreme) / (1.0 + n_resamples)
    return [Tested(float(t), float(v)) for t, v in zip(total, p, strict=True)]


def randomized_tukey(
    values: Array, pairs: list[tuple[int, int]], *, n_resamples: int, seed: int
) -> list[Tested]:
    """Make the randomized Tukey HSD: how large a difference of equal systems can be.

    Queries in rows, systems in columns: each row is permuted. One outlying system
    raises the p-values of all other pairs, since the null hypothesis is that all
    systems are equal; prefer ``"tukey"``.

    Source: Carterette, TOIS 2012; Sakai's discpower.
    """
    queries, systems = values.shape
    if not queries:
        return [Tested(0.0, 1.0)] * len(pairs)
    means = values.mean(axis=0)
    tolerance = ROUNDING * np.abs(values).max()
    differences = np.array([means[j] - means[i] for i, j in pairs])
    generator = np.random.default_rng(seed)
    extreme = np.zeros(len(pairs))
    for size in chunks(n_resamples, queries * systems):
        shuffled = generator.permuted(
            np.broadcast_to(values, (size, queries, systems)), axis=2
        ).mean(axis=1)
        span = shuffled.max(axis=1) - shuffled.min(axis=1)
        extreme += (span[:, None] >= np.abs(differences) - tolerance).sum(axis=0)
    p = (1.0 + extreme) / (1.0 + n_resamples)
    return [Tested(float(d), float(v)) for d, v in zip(differences, p, strict=True)]


def chunks(n_resamples: int, numbers: int) -> list[int]:
    """Return sizes of chunks in which resamples of so many numbers are drawn."""
    size = max(1, min(n_resamples, CELLS // max(1, numbers)))
    whole, rest = divmod(n_resamples, size)
    return [size] * whole + ([rest] if rest else [])
