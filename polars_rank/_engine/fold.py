"""Sums of many queries, batch by batch: for states that would hold all values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence

import polars as pl

from polars_rank._engine.finish import Aggregation, copied_states
from polars_rank._engine.layout import in_batches
from polars_rank._engine.stages.sum import Plan
from polars_rank.core.source import lazy_source
from polars_rank.core.words.recommended_items import RecommendedItems

OF_MEASURE = re.compile(r"m(\d+)_(.*)")
SumOf = Callable[[pl.LazyFrame], Plan]


def folded(aggregation: Aggregation, values: pl.LazyFrame, sum_of: SumOf) -> Plan:
    """Sum one batch of queries after the other, as ``sum_of`` would sum all at once.

    Polars holds the values of all queries before it counts them; here a batch is
    counted and forgotten.
    """
    whole = sum_of(values)
    schema = whole.frame.collect_schema()
    copies = copied_states(aggregation, schema)
    names = {expr.meta.output_name() for expr in copies}
    kept = [name for name in schema if name not in names]

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        total = sum_of(values.clear()).frame.select(kept).collect()
        apart: list[pl.DataFrame] = []
        for batch in in_batches(values):
            apart.append(sum_of(batch.lazy()).frame.select(kept).collect())
            # Together when they are as large as the total: else that one, which may
            # have all items of a catalog, would be made anew for every batch.
            if sum(map(_size, apart)) >= _size(total):
                total, apart = _added(aggregation, whole, [total, *apart]), []
        total = _added(aggregation, whole, [total, *apart]) if apart else total
        yield total.with_columns(copies).select(columns)

    frame = lazy_source(read, schema, name="sums batch by batch", drain=True)
    return whole._replace(frame=frame)


def _size(frame: pl.DataFrame) -> float:
    return frame.estimated_size()


def _added(
    aggregation: Aggregation, whole: Plan, frames: Sequence[pl.DataFrame]
) -> pl.DataFrame:
    """Add up the rows of sums of several batches, column by column."""
    by = [f"by{i}" for i in range(len(aggregation.by))]
    both = pl.concat(frames)
    sums = {name: _sum(aggregation, whole, name) for name in both.columns[len(by) :]}
    plain = [total.alias(name) for name, total in sums.items() if total is not None]
    total = both.group_by(by).agg(plain) if by else both.select(plain)
    for name in (name for name, total in sums.items() if total is None):
        items = _counted(both.select(*by, name), by, name)
        if by:
            total = total.join(items, on=by, how="left", nulls_equal=True)
            none = pl.lit([], both.schema[name])
            total = total.with_columns(pl.col(name).fill_null(none))
        else:
            total = total.with_columns(items.to_series())
    return total.select(both.columns)


def _sum(aggregation: Aggregation, sums: Plan, name: str) -> pl.Expr | None:
    """Add up a column; None if it counts items, which is left to ``_counted``."""
    column = pl.col(name)
    if name == "example":
        fields = (column.struct.field(c).drop_nulls().first() for c in sums.rules)
        return pl.struct(fields)
    if of_measure := OF_MEASURE.fullmatch(name):
        aggregate, part = aggregation.aggregates[int(of_measure[1])], of_measure[2]
        if isinstance(aggregate, RecommendedItems) and part == aggregate.counts:
            return None
        return aggregate.merge(part, column)
    return column.max() if name == "highest" else column.sum()


def _counted(rows: pl.DataFrame, by: Sequence[str], name: str) -> pl.DataFrame:
    """Add up how often each item occurs: of rows, since lists are slow to sort."""
    value, times = pl.col("value"), pl.col("times")
    items = rows.lazy().explode(name).drop_nulls(name).unnest(name)
    counts = items.group_by(*by, value).agg(times.sum()).sort(value)
    both = pl.struct(value, times)
    if by:
        lists = counts.group_by(by, maintain_order=True).agg(both.alias(name))
    else:
        lists = counts.select(both.implode().alias(name))
    return lists.collect(engine="streaming")
