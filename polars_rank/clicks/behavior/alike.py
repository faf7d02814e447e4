"""Evaluate impressions that look alike once, and count them.

They showed, and got clicks at, the same positions. Most impressions look like many
others, so that measures, and exact sums of them, cost next to nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from polars_rank.clicks.behavior.ratios import sums
from polars_rank.clicks.behavior.traced import Traced, parts_in
from polars_rank.core.source import batches_of, lazy_source

TOGETHER = 100_000  # impressions that are looked through at a time
NUMBER, QUERY = pl.col("number"), pl.col("query")


def sums_of_alike(
    impressions: pl.LazyFrame,
    by: Sequence[str],
    traced: Traced,
    *,
    count_queries: bool,
) -> pl.LazyFrame:
    """Sum the parts, which follow from the totals, for each of ``by``, and count."""
    looks = _looks(
        impressions, by, [*traced.impression.totals], count_queries=count_queries
    )
    names = [*traced.parts, "clicks"]
    held = (pl.when(NUMBER.is_not_null()).then(pl.col(name)) for name in names)
    frame = parts_in(looks, traced).with_columns(held)
    clicks = (pl.col("clicks") * NUMBER).sum()
    counts = {"impressions": NUMBER.sum(), "total_clicks": clicks}
    if count_queries:
        counts["queries"] = pl.col("queries").sum()
    return sums(frame, by, [*traced.parts], counts, NUMBER.cast(pl.Int64))


def _looks(
    impressions: pl.LazyFrame,
    by: Sequence[str],
    totals: Sequence[str],
    *,
    count_queries: bool,
) -> pl.LazyFrame:
    """Plan one row for impressions that look alike, with their ``number``.

    A look may come several times, so that memory is that of some impressions. The
    number of ``queries`` of a segment, which are held, is in a row of its own.
    """
    keys, queried = [*by, *totals], [*by, "query"] if count_queries else []
    rows = impressions.select(*dict.fromkeys([*keys, *queried]))
    schema = rows.group_by(keys).agg(number=pl.len(), queries=pl.len()).collect_schema()

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        known: list[pl.DataFrame] = []
        held, most = 0, TOGETHER
        for batch in batches_of(rows, chunk_size=TOGETHER):
            looks = batch.group_by(keys).agg(number=pl.len())
            yield pl.concat([schema.to_frame(), looks], how="diagonal")
            if count_queries:
                known.append(_unique(batch, by, QUERY))
                held += len(batch)
            if held > most:
                known = [_unique(pl.concat(known), by, QUERY.explode())]
                held = int(known[0]["query"].list.len().sum())
                most = 2 * held + TOGETHER
        if known:
            found = _unique(pl.concat(known), by, QUERY.explode())
            number = QUERY.list.drop_nulls().list.len().cast(schema["queries"])
            counts = found.select(*by, queries=number)
            yield pl.concat([schema.to_frame(), counts], how="diagonal")

    return lazy_source(read, schema, name="impressions that look alike")


def _unique(frame: pl.DataFrame, by: Sequence[str], query: pl.Expr) -> pl.DataFrame:
    """List the queries of each segment, each of them once."""
    once = query.unique()
    return frame.group_by(by).agg(once) if by else frame.select(once.implode())
