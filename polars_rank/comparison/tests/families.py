"""Families of tests: corrected p-values, and intervals that hold at once."""

from __future__ import annotations

import numpy as np
import polars as pl

from polars_rank.comparison.input.procedures import Family, Procedure
from polars_rank.comparison.tests.corrections import adjusted
from polars_rank.comparison.tests.estimates import Plan


def family_of(family: Family) -> pl.Expr:
    """A number per row: rows of one number are corrected together."""
    if family == "measure":
        return pl.col("measure").rle_id()
    return pl.lit(0) if family == "all" else pl.int_range(pl.len())


def corrected(frame: pl.DataFrame, how: Procedure) -> pl.DataFrame:
    """The rows with ``p_adjusted`` p-values, and which of them are ``significant``."""
    ids = frame.select(family_of(how.family).alias("id"), "p_value")
    p = ids["p_value"].fill_null(float("nan")).to_numpy()
    result = np.full(len(p), np.nan)
    for group in ids["id"].unique():
        rows = (ids["id"] == group).to_numpy()
        result[rows] = adjusted(p[rows], how.chosen_correction)
    frame = frame.with_columns(p_adjusted=pl.Series(result).fill_nan(None))
    return frame.with_columns(significant=pl.col("p_adjusted") < 1.0 - how.level)


def level_at_once(frame: pl.DataFrame, plan: Plan, how: Procedure) -> float:
    """Level of every interval, such that those of the largest family hold at once."""
    tested = frame.drop_nulls("p_value")
    if plan.segments:
        tested = tested.filter(pl.col("queries") >= how.min_queries)
    k = len(tested)
    if how.family == "measure" and k:
        k = int(tested["measure"].value_counts()["count"].max())  # type: ignore[arg-type]
    if how.chosen_correction == "sidak":
        return float(plan.level ** (1.0 / max(k, 1)))
    return 1.0 - (1.0 - plan.level) / max(k, 1)
