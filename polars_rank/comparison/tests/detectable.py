"""Detectable differences: what a test, as it is corrected, finds with 80 % power.

Differences are taken to be normal, with the spread that was seen.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank._statistics.distributions import normal_quantile, special, t_quantile
from polars_rank._statistics.noncentral import crossing
from polars_rank.comparison.input.procedures import Correction, Procedure, TestName
from polars_rank.comparison.tests.corrections import family_of
from polars_rank.comparison.tests.paired_tests import EXACT
from polars_rank.comparison.tests.power_of_t import detectable_center, fixed

Array: TypeAlias = npt.NDArray[np.float64]
POWER = 0.8
# In standard deviations. Of larger effects the expansions of ranks and signs below are
# off by more than .02 of power: at 1.25 they give .787 to .815 in simulations.
LARGEST = 1.25
FEWEST = 5  # extreme draws: with fewer, the error of a drawn p-value costs power
UNKNOWN = "too few queries or resamples to say what is detectable"
BELOW = 1 - 1e-12  # p-values are significant below a level, not at it
SMALL = 1e-6  # ties up to here are rounding


def left_out(how: Procedure) -> str | None:
    """Tell why a comparison has no detectable differences; None if it has."""
    test = how.test
    if test == "tost":
        return "test='tost' looks for no difference"
    if test == "randomized_tukey":
        return "the power of this test depends on the means of all systems"
    if how.zero_method != "wilcox":
        return f"the power with zero_method={how.zero_method!r} is not known"
    if test == "sign" and how.tie > SMALL:
        return f"how many queries are ties, by tie={how.tie:g}, depends on it"
    return None


def with_detectable(frame: pl.DataFrame, how: Procedure) -> pl.DataFrame:
    """Add the ``detectable`` difference, null where there is no test.

    The frame has the estimates of the test: ``error`` and ``df``, or those of the
    analysis of variance; of tests by rows, how many units have ``changed``.
    """
    if left_out(how):
        return frame.with_columns(detectable=pl.lit(None, dtype=pl.Float64))
    test = how.test
    sides = 2 if how.alternative == "two-sided" else 1
    sizes = _array(frame, pl.col("p_value").count().over(family_of(how.family)))
    tail = _level(1.0 - how.level, sizes, how.chosen_correction) / sides
    if test in ("sign", "wilcoxon"):
        found = _of_signs(frame, test, tail)
    elif test in ("tukey", "lsd"):
        scale = _array(frame, (2.0 * pl.col("variance") / pl.col("queries")).sqrt())
        df = _array(frame, "df_error")
        beyond = t_quantile(1.0 - tail, df)
        if test == "tukey":
            beyond = _array(frame, "critical") / np.sqrt(2.0)
        found = scale * _distinct(_of_pooled, beyond, df)
    else:
        df = _array(frame, "df" if test == "t" else pl.col("n") - 1.0)
        if test != "t":
            tail = _attained(frame, tail, test, sides, how.n_resamples)
        center = _distinct(partial(_center, test, sides), tail, df)
        found = _array(frame, "error") * center
    known = pl.Series(found).fill_nan(None)
    tested = pl.col("p_value").is_not_null()
    frame = frame.with_columns(detectable=pl.when(tested).then(known))
    said = pl.when(
        tested & pl.col("detectable").is_null() & (pl.col("error") > 0)
    ).then(pl.lit(UNKNOWN))
    note = pl.concat_str("note", said, separator="; ", ignore_nulls=True)
    return frame.with_columns(note=pl.when(note != "").then(note))


def _array(frame: pl.DataFrame, column: str | pl.Expr) -> Array:
    value = pl.col(column) if isinstance(column, str) else column
    found = frame.select(value.cast(pl.Float64).fill_null(float("nan")))
    return found.to_series().to_numpy()


def _level(alpha: float, sizes: Array, correction: Correction) -> Array:
    """Find the level at which a difference counts if it is found alone.

    That of Bonferroni: Holm's and Hochberg's procedures and that of Benjamini and
    Hochberg raise it with each other difference that they find.
    """
    k = np.maximum(sizes, 1.0)
    if correction == "none":
        return np.full(k.shape, alpha)
    if correction == "sidak":
        return np.asarray(-np.expm1(np.log1p(-alpha) / k))
    if correction == "by":
        k = k * np.array([np.sum(1.0 / np.arange(1, size + 1)) for size in k])
    return alpha / k


def _attained(
    frame: pl.DataFrame, tail: Array, test: TestName, sides: int, n_resamples: int
) -> Array:
    """Find the largest level below the one that is asked for which p-values can have.

    Of m signs they are multiples of 2^-m, of draws of 1 / (1 + draws).
    """
    m = _array(frame, "changed")
    exact = (m <= EXACT) & (test == "randomization")
    every = np.where(exact, 2.0 ** np.minimum(m, EXACT), (n_resamples + 1.0) * sides)
    count = np.ceil(tail * every * BELOW) - 1.0
    fewest = np.where(exact, 1, FEWEST)
    return np.asarray(np.where(count >= fewest, count / every, np.nan))


def _distinct(function: Callable[[Array, Array], Array], a: Array, b: Array) -> Array:
    """Call a function of each row once for rows that are the same."""
    rows, places = np.unique(np.column_stack([a, b]), axis=0, return_inverse=True)
    return np.asarray(function(rows[:, 0], rows[:, 1])[places.ravel()])


def _of_pooled(critical: Array, df: Array) -> Array:
    return detectable_center(fixed, df, POWER, critical)


def _center(test: TestName, sides: int, tail: Array, df: Array) -> Array:
    """Find the noncentrality of t that the test finds."""
    n = df + 1.0
    at = t_quantile(1.0 - tail, df)
    if test == "t":
        return detectable_center(fixed, df, POWER, at, sides=sides)
    z = -special().ndtri(tail)
    if test == "bootstrap":  # resamples spread normally, with the divisor n
        at = z * np.sqrt(df / n)
        return detectable_center(fixed, df, POWER, at, sides=sides)
    # Randomization: u = sum x / root of sum x^2 has flipped signs of excess kurtosis
    # -2 b / n, b the kurtosis of x about 0, which is 3 without an effect, and less with
    # one. Source: Edgeworth's expansion of a quantile, Cornish and Fisher, 1938.
    u = at * np.sqrt(n / (df + at**2))

    def critical(center: Array, df: Array, u: Array, z: Array) -> Array:
        n = df + 1.0
        d = center / np.sqrt(n)
        b = (d**4 + 6 * d**2 + 3) / (1 + d**2) ** 2
        moved = np.minimum(u + (3 - b) / (12 * n) * (z**3 - 3 * z), np.sqrt(n) - 1e-9)
        return np.asarray(moved * np.sqrt(df / (n - moved**2)))

    found = detectable_center(critical, df, POWER, u, z, sides=sides)
    return np.asarray(np.where(found <= LARGEST * np.sqrt(n), found, np.nan))


def _of_signs(frame: pl.DataFrame, test: TestName, tail: Array) -> Array:
    """Multiply the effect of the m queries that differ by their share and deviation."""
    m, n = _array(frame, "changed"), _array(frame, "queries")
    m = np.where(m > 0, m, np.nan)
    mean = _array(frame, "mean") * n / m
    squares = _array(frame, pl.col("squares") + pl.col("d") * pl.col("mean") ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):  # of one query
        deviation = np.sqrt(np.maximum(squares - m * mean**2, 0.0) / (m - 1.0))
    effect = _distinct(_sign_effect if test == "sign" else _rank_effect, m, tail)
    return np.asarray(np.maximum(effect, 0.0) * deviation * m / n)


def _sign_effect(m: Array, tail: Array) -> Array:
    """Invert the binomial distribution of the wins, which is that of a beta."""
    functions = special()
    wins = np.ceil(functions.bdtrik(1.0 - tail, m, 0.5)) + np.arange(-1, 3)[:, None]
    wins = np.where((wins > m / 2) & (wins <= m), wins, np.nan)
    enough = functions.betainc(wins, m - wins + 1, 0.5) < tail * BELOW
    wins = np.where(enough, wins, np.inf).min(axis=0)
    return np.asarray(functions.ndtri(functions.betaincinv(wins, m - wins + 1, POWER)))


def _rank_effect(m: Array, tail: Array) -> Array:
    """Use mean and variance of the sum of positive ranks, which is nearly a beta.

    Source: Lehmann, Nonparametrics, 1975, section 4.2; the probabilities of two
    dependent sums from Owen's T function, Annals of Mathematical Statistics 1956.
    """
    functions = special()
    wanted = np.array([_least_rank_sum(*row) for row in zip(m, tail, strict=True)])

    def missing(d: Array, m: Array, wanted: Array) -> Array:
        pairs = m * (m - 1.0) / 2.0
        largest = m * (m + 1.0) / 2.0
        h = np.sqrt(2.0) * d
        one, two = functions.ndtr(d), functions.ndtr(h)
        both = (one + two - one * (1 - one)) / 2
        three = two - 2 * functions.owens_t(h, 1 / np.sqrt(3.0))
        mean = m * one + pairs * two
        variance = (
            m * one * (1 - one)
            + pairs * two * (1 - two)
            + 4 * pairs * (both - one * two)
            + 2 * pairs * (m - 2) * (three - two**2)
        )
        share = (mean + 0.5) / (largest + 1)
        size = share * (1 - share) * (largest + 1) ** 2 / variance - 1
        missed = functions.betainc(
            share * size, (1 - share) * size, wanted / (largest + 1)
        )
        return np.asarray(functions.ndtri(missed) - normal_quantile(1 - POWER))

    found = crossing(missing, np.zeros(m.shape), np.full(m.shape, 0.1), m, wanted)
    return np.asarray(np.where(found <= LARGEST, found, np.nan))


def _least_rank_sum(m: float, tail: float) -> float:
    """Find the smallest sum of positive ranks that is significant; NaN if none is."""
    if not m <= EXACT:
        middle, variance = m * (m + 1) / 4, m * (m + 1) * (2 * m + 1) / 24
        return float(np.ceil(middle - special().ndtri(tail) * variance**0.5))
    shares = np.ones(1)
    for rank in range(1, int(m) + 1):
        raised = np.concatenate([np.zeros(rank), shares])
        raised[: len(shares)] += shares
        shares = raised / 2
    found = np.flatnonzero(np.cumsum(shares[::-1]) < tail * BELOW)
    return len(shares) - 1.0 - float(found[-1]) if len(found) else np.nan
