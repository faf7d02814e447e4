"""Remarks on the rows of a comparison, and the warning of intervals that are short."""

from __future__ import annotations

import polars as pl

from polars_rank._engine.checks.enforce import warn
from polars_rank.comparison.input.procedures import IntervalName, Procedure
from polars_rank.comparison.input.values import Columns
from polars_rank.comparison.tests.estimates import Plan

EXPONENTIAL = "logarithms: means are geometric, relative is their ratio less 1"
CHANGED = pl.col("wins") + pl.col("losses")
# In samples that miss the rare queries that change, mean and error are too small at
# once, which no interval and no test of these values can mend.
FEW_CHANGED = CHANGED.is_between(1, 9) & (pl.col("queries") > 2 * CHANGED)
ANY = ": intervals may be short"
FEW = 50  # units below which quantiles of resamples lie too close together
SHORT = (
    "interval={interval!r} is known to be too short for so few queries, or for so few "
    "that differ: notes say in which rows; interval='t' holds the truth more often"
)


def noted(
    frame: pl.DataFrame,
    columns: Columns,
    how: Procedure,
    plan: Plan,
) -> pl.DataFrame:
    """Rows with a ``note``; null where there is nothing to say."""
    said = _notes(
        cluster=columns.cluster is not None,
        weight=columns.weight is not None,
        segmented=bool(plan.segments),
        min_queries=how.min_queries,
        unit="query" if columns.cluster is None else "cluster",
    )
    if how.repeats == "random":
        canceled = pl.col("error").is_null() & (pl.col("n") > 1)
        why = pl.lit("no error: queries and repeats vary less than the rest does")
        said.append(pl.when(canceled).then(why))
    if (short := _too_short(how.interval)) is not None:
        said.append(pl.when(short).then(pl.lit("short interval: see interval='t'")))
        if frame.select(short.any()).item():
            warn(SHORT.format(interval=how.interval))
    note = pl.concat_list(said).list.drop_nulls()
    note = pl.when(note.list.len() > 0).then(note.list.join("; "))
    return frame.with_columns(note=note)


def _too_short(interval: IntervalName) -> pl.Expr | None:
    """Whether the interval of a row is known to hold the truth too seldom.

    Of 95 % intervals of differences between TREC runs, those of t held it in 93 to 96 %
    of the draws of 10 and of 25 topics; percentile, BCa and Bayesian ones in 84 to 91 %
    and in 89 to 93 %; studentized ones fall below 80 % where few queries differ
    (``benchmarks/intervals.py``).
    """
    if interval == "t":
        return None
    few = (
        FEW_CHANGED if interval == "studentized" else FEW_CHANGED | (pl.col("n") < FEW)
    )
    return few & (pl.col("error") > 0)


def _notes(
    *, cluster: bool, weight: bool, segmented: bool, min_queries: int, unit: str
) -> list[pl.Expr]:
    """Remarks on a row; null without any."""
    n, queries = pl.col("n"), pl.col("queries")
    changed, few, same = CHANGED, FEW_CHANGED, pl.col("error") == 0
    said: list[pl.Expr] = [
        pl.when(queries == 0).then(pl.lit("no query")),
        pl.when((n == 1) & (queries >= 1)).then(pl.lit(f"one {unit}")),
        pl.when(same & (changed == 0)).then(pl.lit("no query changed")),
        pl.when(same & (changed != 0)).then(pl.lit("constant difference")),
        pl.when(few & (changed == 1)).then(pl.lit(f"only 1 query differs{ANY}")),
        pl.when(few & (changed > 1)).then(
            pl.format(f"only {{}} queries differ{ANY}", changed)
        ),
        pl.when(pl.col("logarithmic")).then(pl.lit(EXPONENTIAL)),
    ]
    if segmented:
        untested = pl.lit(f"fewer than {min_queries} queries: not tested")
        said.append(pl.when((queries < min_queries) & (queries > 1)).then(untested))
    few_units = (n < 10) & (n > 1)
    if not cluster:  # moments may be of clusters, and independent samples have no n
        few_units &= (n < queries) & pl.col("wins").is_not_null()
    said.append(pl.when(few_units).then(pl.lit("fewer than 10 clusters")))
    if weight:
        size = pl.col("size").round(1)
        said.append(
            pl.when(pl.col("size") < 30).then(pl.format("effective size {}", size))
        )
    return said
