"""Remarks on the rows of a comparison, and the warning of intervals that are short."""

from __future__ import annotations

import polars as pl

from polars_rank._engine.checks.enforce import warn
from polars_rank.comparison.input.procedures import IntervalName
from polars_rank.comparison.sums.merging import never_together
from polars_rank.comparison.tests.detectable import left_out
from polars_rank.comparison.tests.estimates import Study
from polars_rank.comparison.tests.segments import unlike

EXPONENTIAL = "logarithms: means are geometric, relative is their ratio less 1"
CHANGED = pl.col("wins") + pl.col("losses")
# In samples that miss the rare queries that change, mean and error are too small at
# once, which no interval and no test of these values can mend.
FEW_CHANGED = CHANGED.is_between(1, 9) & (pl.col("queries") > 2 * CHANGED)
MANY = 10_000
SLOW = f"Of more than {MANY:,} queries, the paired t test says the same, and at once."
ANY = ": intervals may be short"
FEW = 50  # units below which quantiles of resamples lie too close together
SHORT = (
    "interval={interval!r} is known to be too short for so few queries, or for so few "
    "that differ: notes say in which rows; interval='t' holds the truth more often"
)


def noted(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Add a ``note`` to each row; null where there is nothing to say."""
    said = _notes(study)
    if study.how.repeats == "random":
        canceled = pl.col("error").is_null() & (pl.col("n") > 1)
        why = pl.lit("no error: queries and repeats vary less than the rest does")
        said.append(pl.when(canceled).then(why))
    interval = study.how.interval
    if (short := _too_short(interval)) is not None:
        said.append(pl.when(short).then(pl.lit("short interval: see interval='t'")))
        if frame.select(short.any()).item():
            warn(SHORT.format(interval=interval))
    note = pl.concat_list(said).list.drop_nulls()
    note = pl.when(note.list.len() > 0).then(note.list.join("; "))
    return frame.with_columns(note=note)


def _too_short(interval: IntervalName) -> pl.Expr | None:
    """Tell whether the interval of a row is known to hold the truth too seldom.

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


def _notes(study: Study) -> list[pl.Expr]:
    """Write the remarks on a row; null without any."""
    clustered = study.columns.cluster is not None
    unit = "cluster" if clustered else "query"
    n, queries = pl.col("n"), pl.col("queries")
    changed, few, constant = CHANGED, FEW_CHANGED, pl.col("error") == 0
    nothing = pl.col("mean").abs() <= pl.col("rounding")
    said: list[pl.Expr] = [
        pl.when(queries == 0).then(pl.lit("no query")),
        pl.when((n == 1) & (queries >= 1)).then(pl.lit(f"one {unit}")),
        pl.when(constant & nothing).then(pl.lit("no query changed")),
        pl.when(constant & ~nothing).then(pl.lit("constant difference")),
        pl.when(few & (changed == 1)).then(pl.lit(f"only 1 query differs{ANY}")),
        pl.when(few & (changed > 1)).then(
            pl.format(f"only {{}} queries differ{ANY}", changed)
        ),
        pl.when(pl.col("logarithmic")).then(pl.lit(EXPONENTIAL)),
    ]
    if study.segments:
        min_queries = study.how.min_queries
        untested = pl.lit(f"fewer than {min_queries} queries: not tested")
        said.append(pl.when((queries < min_queries) & (queries > 1)).then(untested))
    few_units = (n < 10) & (n > 1)
    if not clustered:  # moments may be of clusters, and independent samples have no n
        few_units &= (n < queries) & pl.col("wins").is_not_null()
    said.append(pl.when(few_units).then(pl.lit("fewer than 10 clusters")))
    if study.columns.weight is not None:
        size = pl.col("size").round(1)
        said.append(
            pl.when(pl.col("size") < 30).then(pl.format("effective size {}", size))
        )
    return said


def remarks(
    frame: pl.DataFrame, study: Study, between: pl.DataFrame | None
) -> list[str]:
    """Write the remarks on the comparison as a whole."""
    how, said = study.how, [] if study.held is None else [*study.held.notes]
    said += never_together(frame, study.pairs)
    if between is not None:
        said += unlike(between, 1.0 - how.level)
    sizes = frame["size"].drop_nulls().round(1)
    if study.columns.weight is not None and len(sizes):
        ends = " to ".join(dict.fromkeys(map(str, (sizes.min(), sizes.max()))))
        said.append(f"Effective number of queries, by their weights: {ends}.")
    if (why := left_out(how)) is not None:
        said.append(f"Detectable is left out: {why}.")
    if how.test == "randomization" and (frame["n"] > MANY).any():
        said.append(SLOW)
    return said
