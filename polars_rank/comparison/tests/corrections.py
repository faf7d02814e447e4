"""Families of tests: corrected p-values, and intervals that hold at once."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank.comparison.input.procedures import Correction, Family, Procedure
from polars_rank.comparison.input.values import lower_is_better
from polars_rank.comparison.tests.estimates import Study

Array: TypeAlias = npt.NDArray[np.float64]


def adjusted(p: npt.ArrayLike, correction: Correction = "holm") -> Array:
    """Adjust the p-values of one family; NaN (not tested) stays, and does not count.

    ``"bonferroni"``, ``"sidak"``, ``"holm"`` (step down) and ``"hochberg"`` (step up;
    independent or positively dependent tests) bound the probability of any false
    finding, ``"bh"`` (Benjamini and Hochberg) and ``"by"`` (Benjamini and Yekutieli,
    any dependence) the share of false findings among all.

    Examples
    --------
    >>> adjusted([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    values = np.asarray(p, dtype=np.float64)
    known = ~np.isnan(values)
    result = values.copy()
    result[known] = _adjusted(values[known], correction)
    return result


def _adjusted(p: Array, correction: Correction) -> Array:
    k = len(p)
    if correction == "none" or k == 0:
        return p
    if correction == "bonferroni":
        return np.minimum(1.0, k * p)
    if correction == "sidak":
        with np.errstate(divide="ignore"):  # of a p-value of 1: it stays 1
            return np.asarray(-np.expm1(k * np.log1p(-p)))
    order = np.argsort(p, kind="stable")
    ranked, i = p[order], np.arange(1, k + 1)
    if correction == "holm":
        steps = np.maximum.accumulate((k - i + 1) * ranked)
    else:
        factor = {
            "hochberg": k - i + 1,
            "bh": k / i,
            "by": k / i * np.sum(1.0 / i),
        }[correction]
        steps = np.minimum.accumulate((factor * ranked)[::-1])[::-1]
    result = np.empty(k)
    result[order] = np.minimum(1.0, steps)
    return result


def family_of(family: Family) -> pl.Expr:
    """Number the rows: those of one number are corrected together."""
    if family == "measure":
        return pl.col("measure").rle_id()
    return pl.lit(0) if family == "all" else pl.int_range(pl.len())


def corrected(frame: pl.DataFrame, how: Procedure) -> pl.DataFrame:
    """Add ``p_adjusted``, which of them are ``significant``, and what is ``better``."""
    ids = frame.select(family_of(how.family).alias("id"), "p_value")
    p = ids["p_value"].fill_null(float("nan")).to_numpy()
    result = np.full(len(p), np.nan)
    for group in ids["id"].unique():
        rows = (ids["id"] == group).to_numpy()
        result[rows] = adjusted(p[rows], how.chosen_correction)
    frame = frame.with_columns(p_adjusted=pl.Series(result).fill_nan(None))
    frame = frame.with_columns(significant=pl.col("p_adjusted") < 1.0 - how.level)
    return frame.with_columns(better=_better(frame, how))


def _better(frame: pl.DataFrame, how: Procedure) -> pl.Expr:
    """Name the system that is significantly better; none of two that are equivalent.

    Signs and ranks may say the opposite of the means, which they do not test.
    """
    above = pl.col("mean")
    if "middle" in frame.columns:
        above = pl.col("statistic") - pl.col("middle")
    lower = [n for n in frame["measure"].unique() if lower_is_better(n)]
    up = (above > 0) != pl.col("measure").is_in(lower)
    told = pl.col("significant") & (above != 0) & (how.test != "tost")
    return pl.when(told).then(pl.when(up).then("system").otherwise("baseline"))


def levels_at_once(frame: pl.DataFrame, study: Study) -> dict[str, float]:
    """Find the levels, by measure, at which the intervals of a family hold at once."""
    how, tested = study.how, pl.col("p_value").is_not_null()
    if study.segments:
        tested &= pl.col("queries") >= how.min_queries
    k = pl.max_horizontal(1, tested.sum().over(family_of(how.family)))
    level = 1.0 - (1.0 - how.level) / k
    if how.chosen_correction == "sidak":
        level = how.level ** (1.0 / k)
    return dict(frame.select("measure", level).rows())
