"""Sums over the ranked rows of a log, such as what clicks at a position are worth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import polars as pl

from polars_rank._engine.stages.rank import pack
from polars_rank.clicks.log.impressions import bounded_by
from polars_rank.clicks.log.position_counts import rows_with_known
from polars_rank.clicks.off_policy.weighing import Estimation
from polars_rank.core.aggregate import State, Sum, exact_sum, exact_total

KEY = "impression"


def sums_in_cells(
    task: Estimation,
    cell: Mapping[str, pl.Expr],
    values: Mapping[str, pl.Expr],
    *,
    clicked: bool = False,
) -> pl.LazyFrame:
    """Exact sums of values of rows, which know the weight of their place.

    ``clicked`` says that clicked rows are enough.
    """
    log = rows_with_known(task.log)
    state: State = {}
    for name, value in values.items():
        state |= exact_sum(name, value.cast(pl.Float64))

    def summed(rows: pl.LazyFrame) -> pl.LazyFrame:
        ranked = task.ranked(rows, KEY)
        if clicked:
            ranked = ranked.filter(pl.col("clicked") > 0)
        return ranked.group_by([*cell]).agg(**state)

    rows = replace(task, log=log).weighed().rows.with_columns(**cell)
    rows = pack(rows, log.keys, KEY)
    told = repr((task.measure.name, log.weight, [*cell.values(), *values.values()]))
    parts = bounded_by(log, rows, [KEY], summed, told)
    merged = (Sum().merge(part, pl.col(part)).alias(part) for part in state)
    found = parts.group_by([*cell]).agg(merged)
    held = {part: pl.col(part) for part in state}
    return found.select(*cell, *(exact_total(n, held).alias(n) for n in values))
