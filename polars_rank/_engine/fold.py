"""Sums of many queries, batch by batch: for states that would hold all values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import polars as pl

from polars_rank._engine.finish import Aggregation
from polars_rank._engine.layout import in_batches
from polars_rank._engine.stages.sum import Plan
from polars_rank.core.source import lazy_source

OF_MEASURE = re.compile(r"m(\d+)_(.*)")
SumOf = Callable[[pl.LazyFrame], Plan]


def folded(aggregation: Aggregation, values: pl.LazyFrame, sum_of: SumOf) -> Plan:
    """Sum one batch of queries after the other, as ``sum_of`` would sum all at once.

    Polars holds the values of all queries before it counts them; here a batch is
    counted and forgotten.
    """
    whole = sum_of(values)
    by = [f"by{i}" for i in range(len(aggregation.by))]
    added = _added(aggregation, whole)

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        total = sum_of(values.clear()).frame.collect()
        for batch in in_batches(values):
            both = pl.concat([total, sum_of(batch.lazy()).frame.collect()])
            total = both.group_by(by).agg(added) if by else both.select(added)
        yield total.select(columns)

    schema = whole.frame.collect_schema()
    frame = lazy_source(read, schema, name="sums batch by batch", drain=True)
    return whole._replace(frame=frame)


def _added(aggregation: Aggregation, sums: Plan) -> list[pl.Expr]:
    """Add up the rows of sums of several batches, column by column."""

    def added(name: str) -> pl.Expr:
        column = pl.col(name)
        if name == "example":
            fields = (column.struct.field(c).drop_nulls().first() for c in sums.rules)
            return pl.struct(fields)
        if of_measure := OF_MEASURE.fullmatch(name):
            aggregate = aggregation.aggregates[int(of_measure[1])]
            return aggregate.merge(of_measure[2], column)
        return column.max() if name == "highest" else column.sum()

    columns = sums.frame.collect_schema().names()[len(aggregation.by) :]
    return [added(name).alias(name) for name in columns]
