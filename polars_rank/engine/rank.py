"""The only stage that touches every row: documents of a query in rank order.

A query's rows stand together after one sort by the query alone. A group-by that knows
its key to be sorted streams any aggregation, one query after the other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import polars as pl

from polars_rank.ranking import Ties, order_by

__all__ = ["in_rank_order", "pack", "rank_documents", "unpack"]


def pack(frame: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Put the key columns into one, ``query``; several become a struct."""
    query = pl.col(keys[0]) if len(keys) == 1 else pl.struct(keys)
    return frame.select(query.alias("query"), pl.exclude(keys))


def unpack(frame: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Undo ``pack``."""
    if len(keys) == 1:
        return frame.rename({"query": keys[0]})
    return frame.unnest("query")


def rank_documents(
    frame: pl.LazyFrame,
    payload: Sequence[str],
    *,
    key: Literal["score", "rank", "order"],
    descending: bool,
    ties: Ties,
    scalars: Mapping[str, pl.Expr],
) -> pl.LazyFrame:
    """Rows in rank order: ``query``, the payload, ``place``, ``rank`` and scalars.

    ``key`` orders the rows: scores, known ranks, or ``order``, either of them with null
    for documents that hold no place. ``scalars`` are aggregations of the query's raw
    rows, repeated on each of its rows.
    """
    frame = frame.sort("query", maintain_order=True)
    blocks: dict[str, pl.Expr] = {}
    keys, downwards = [pl.col(key)], [descending]
    if descending:
        doc = pl.col("doc") if ties in ("doc_desc", "doc_asc") else None
        keys, downwards = order_by(
            pl.col(key), label=pl.col("label"), doc=doc, ties=ties
        )
        if ties == "expected":
            score = pl.col(key).sort(descending=True, nulls_last=True)
            blocks["tie_first"] = score.rank("min", descending=True)
            blocks["tie_last"] = score.rank("max", descending=True)
    payload = payload if key == "score" else [*payload, key]
    rows = _grouped(frame, payload, keys, downwards, blocks, scalars)
    place = pl.col("place").cast(pl.Float64)
    rank = {
        "score": place,
        "rank": pl.col(key).cast(pl.Float64),
        "order": pl.when(pl.col(key).is_not_null()).then(place),
    }[key]
    columns = {"rank": rank} | {b: pl.col(b).cast(pl.Float64) for b in blocks}
    if key == "order" and "score" in payload:
        columns["score"] = pl.when(pl.col(key).is_not_null()).then(pl.col("score"))
    return rows.with_columns(**columns)


def in_rank_order(
    frame: pl.LazyFrame, payload: Sequence[str], scalars: Sequence[str]
) -> pl.LazyFrame:
    """Sort by query, and each query's rows by ``rank``; not retrieved ones last."""
    once = {name: pl.col(name).drop_nulls().first() for name in scalars}
    return _grouped(
        frame.sort("query", maintain_order=True),
        [*payload, "rank"],
        [pl.col("rank")],
        [False],
        {},
        once,
    )


def _grouped(
    frame: pl.LazyFrame,
    payload: Sequence[str],
    keys: Sequence[pl.Expr],
    descending: Sequence[bool],
    lists: Mapping[str, pl.Expr],
    scalars: Mapping[str, pl.Expr],
) -> pl.LazyFrame:
    row = pl.struct(payload) if len(payload) > 1 else pl.col(payload[0])
    ordered = row.sort_by(
        keys, descending=list(descending), nulls_last=True, maintain_order=True
    )
    rows = (
        frame.group_by("query", maintain_order=True)
        .agg(ordered.alias("row"), **lists, **scalars)
        .with_columns(
            place=pl.int_ranges(1, pl.col("row").list.len() + 1, dtype=pl.Int64)
        )
        .explode("row", *lists, "place")
    )
    if len(payload) > 1:
        return rows.unnest("row").set_sorted("query")
    return rows.rename({"row": payload[0]}).set_sorted("query")
