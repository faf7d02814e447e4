"""Means over queries with their intervals, as in a comparison of systems."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_rank._statistics.intervals import interval
from polars_rank.comparison.input.reading import read_parts
from polars_rank.comparison.input.values import Columns
from polars_rank.comparison.sums.moments import KEYS, ORDER, added, sums_of_parts
from polars_rank.comparison.tests.estimates import estimated, means_of

SYSTEM = "system of all rows"


def averages(
    values: pl.DataFrame,
    measures: Sequence[str],
    *,
    query: Sequence[str],
    by: Sequence[str],
    weight: str | None,
    cluster: str | None,
    level: float,
    whole: int = 0,
    shares: Sequence[str] = (),
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Average the measures over all queries, and over those of each segment.

    The total is kept apart by the first ``whole`` columns of ``by``. Errors and
    intervals are those of :func:`compare`: t, and Wilson's for ``shares`` whose values
    are all 0 or 1.
    """
    own = {f"segment {i}": name for i, name in enumerate(by)}  # unlike those of sums
    columns = Columns(
        system=SYSTEM,
        query=[*query],
        measures=[*measures],
        by=[*own],
        weight=weight,
        cluster=cluster,
    )
    rows = values.with_columns(
        pl.lit("").alias(SYSTEM), *(pl.col(name).alias(n) for n, name in own.items())
    )
    table, *_ = sums_of_parts(read_parts(rows, columns, fewest=1), lambda _: [], 0.0)
    order = pl.DataFrame({"measure": [*measures]}).with_row_index("place")

    def finished(sums: pl.DataFrame, segments: list[str]) -> pl.DataFrame:
        sums = estimated(sums, segments)
        mean, error = pl.col("mean"), pl.col("error")
        lower, upper = interval(mean, error, pl.col("df"), level=level)
        found = sums.select(
            *segments, "measure", "queries", "mean", se=error, lower=lower, upper=upper
        )
        of_shares = means_of(sums, segments, level).select(found.columns)
        is_share = pl.col("measure").is_in(shares)
        found = pl.concat([found.filter(~is_share), of_shares.filter(is_share)])
        ordered = found.join(order, on="measure").sort(*segments, "place").drop("place")
        return ordered.rename({n: own[n] for n in segments})

    first = [*own][:whole]
    total = table.group_by(*first, *KEYS).agg(**added()).select(*first, *KEYS, *ORDER)
    return finished(total, first), finished(table, [*own])
