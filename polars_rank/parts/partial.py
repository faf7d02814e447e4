"""Partial results as frames: what one part of the data adds to the means.

A partial is a long frame that any engine can carry: for each segment a row with its
queries and the rules that its rows break, and a row per measure with the state of the
measure's aggregate. The aggregates themselves say how states of several parts combine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import polars as pl
import polars.selectors as cs

from polars_rank._engine.finish import Aggregation

ATTRIBUTES = "attributes"  # column of a partial: where segments and weights were found
PLAUSIBLE = "plausible"  # column of a partial: whether ids and labels look right
UNLISTED = "unlisted"  # queries whose ids are not in the list of keys

COUNTS = (
    "queries",
    UNLISTED,
    "found",
    "judged",
    "matched",
    "asked",
    "unknown",
    "described",
    "fractions",
    "unjudged",
)
LARGEST = "highest"  # label
LISTS = ("violations", "keys")


def as_partial(
    aggregation: Aggregation, sums: pl.DataFrame, stamp: Mapping[str, object]
) -> pl.DataFrame:
    """The sums of one part, a row per segment and measure, and one per segment.

    A part without segments has one of its own, of nothing, so that a partial that has
    lost its rows is told from it.
    """
    by = [f"by{i}" for i in range(len(aggregation.by))]
    if sums.is_empty():
        largest = cs.by_name(*by, LARGEST, require_all=False) | cs.ends_with("_high")
        sums = sums.clear(1).with_columns((cs.numeric() - largest).fill_null(0))
    broken = pl.element().filter(pl.element().struct.field("count") > 0)
    sums = sums.with_columns(
        pl.col("violations").list.eval(broken), pl.col("queries").cast(pl.Int64)
    )

    def rows() -> Iterator[pl.DataFrame]:
        heads = [n for n in (*COUNTS, LARGEST, *LISTS) if n in sums.columns]
        yield sums.select(*by, pl.lit(None, pl.String).alias("measure"), *heads)
        for i, name in enumerate(aggregation.names):
            state = _state(sums.columns, f"m{i}_")
            yield sums.select(*by, pl.lit(name).alias("measure"), **state)

    return _stamped(pl.concat(rows(), how="diagonal"), stamp)


def add_partials(
    aggregation: Aggregation, parts: pl.DataFrame, stamp: Mapping[str, object]
) -> pl.DataFrame:
    """Add up all the rows, without columns that somebody added."""
    by = [f"by{i}" for i in range(len(aggregation.by))]
    heads = parts.filter(pl.col("measure").is_null())
    counts = [pl.col(name).sum() for name in COUNTS if name in parts.columns]
    largest = [pl.col(LARGEST).max()] if LARGEST in parts.columns else []
    lists = [pl.col(n).explode().implode() for n in LISTS if n in parts.columns]
    added = [_grouped(heads, by, [*counts, *largest, *lists])]
    own = zip(
        aggregation.names, aggregation.aggregates, states_of(aggregation), strict=True
    )
    for name, aggregate, state in own:
        rows = parts.filter(pl.col("measure") == name)
        merged = [aggregate.merge(part, pl.col(part)).alias(part) for part in state]
        added.append(_grouped(rows, by, [pl.col("measure").first(), *merged]))
    return _stamped(pl.concat(added, how="diagonal"), stamp)


@lru_cache(maxsize=64)  # asked for every partial
def states_of(aggregation: Aggregation) -> tuple[tuple[str, ...], ...]:
    """The columns of the state of each measure."""
    value, weight = pl.lit(0.0), pl.lit(0.0) if aggregation.weighted else None
    return tuple((*a.state(value, weight),) for a in aggregation.aggregates)


def _stamped(partial: pl.DataFrame, stamp: Mapping[str, object]) -> pl.DataFrame:
    """Sign the partial with what tells it from those of other evaluations."""
    return partial.with_columns(pl.lit(v).alias(name) for name, v in stamp.items())


def _grouped(rows: pl.DataFrame, by: list[str], merged: list[pl.Expr]) -> pl.DataFrame:
    return rows.group_by(by).agg(merged) if by else rows.select(merged)


def finish_partial(aggregation: Aggregation, partial: pl.DataFrame) -> pl.DataFrame:
    """Return the means, as ``evaluate`` does."""
    by = [f"by{i}" for i in range(len(aggregation.by))]
    wide = partial.filter(pl.col("measure").is_null()).select(*by, "queries")
    for i, name in enumerate(aggregation.names):
        rows = partial.filter(pl.col("measure") == name)
        state = (pl.col(c).alias(f"m{i}_{c}") for c in partial.columns if c not in by)
        wide = _beside(wide, rows.select(*by, *state), by)
    if by:
        wide = wide.filter(pl.col("queries") > 0)
    number = pl.UInt32 if wide["queries"].sum() < 2**32 else pl.Int64
    wide = wide.with_columns(pl.col("queries").cast(number))
    return aggregation.finish(wide)


def _beside(left: pl.DataFrame, right: pl.DataFrame, by: list[str]) -> pl.DataFrame:
    if by:
        return left.join(right, on=by, how="left", nulls_equal=True)
    return pl.concat([left, right], how="horizontal")


def _state(columns: list[str], prefix: str) -> dict[str, pl.Expr]:
    own = (name for name in columns if name.startswith(prefix))
    return {name.removeprefix(prefix): pl.col(name) for name in own}
