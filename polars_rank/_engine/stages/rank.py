"""The only stage that touches every row: put documents of a query in rank order.

The rows of a query are contiguous already, or after one sort by the query alone. A
group-by whose key is marked as sorted streams any aggregation, query by query; it only
needs contiguous rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

import polars as pl

from polars_rank._engine.request import Grouping
from polars_rank.core.ranking import Ties, order_by

OrderedBy: TypeAlias = Literal["score", "rank", "order"]
DocTies: TypeAlias = Literal["doc_desc", "doc_asc"]


def pack(frame: pl.LazyFrame, keys: Sequence[str], name: str = "query") -> pl.LazyFrame:
    """Pack the key columns into one, ``query``; several become a struct."""
    packed = pl.col(keys[0]) if len(keys) == 1 else pl.struct(keys)
    return frame.select(packed.alias(name), pl.exclude(keys))


def unpack(
    frame: pl.LazyFrame, keys: Sequence[str], name: str = "query"
) -> pl.LazyFrame:
    """Undo ``pack``."""
    return frame.rename({name: keys[0]}) if len(keys) == 1 else frame.unnest(name)


class Ranked(NamedTuple):
    """Queries with their documents in rank order: one row per query, in lists.

    ``row`` holds the ``payload`` of the documents, ``places`` are parallel lists, and
    each of the scalars is a column. ``key`` is the column that orders them: ``score``,
    known ``rank``, or ``order``, which is one of these with null for documents without
    a rank; below ``max_rank`` none has one. ``ties``, if given, are still to be broken
    by document id.
    """

    queries: pl.LazyFrame
    payload: Sequence[str]
    places: Sequence[str]
    key: OrderedBy
    max_rank: int | None = None
    ties: DocTies | None = None

    def documents(self, scalars: Iterable[str] = ()) -> pl.LazyFrame:
        """Make a row per document: the payload, ``place``, ``rank``, repeated scalars.

        Rows of a query are contiguous, and in rank order unless ties had to be broken.
        """
        lists = self.queries.select("query", "row", *self.places, *scalars)
        place = pl.int_ranges(1, pl.col("row").list.len() + 1, dtype=pl.Int64)
        rows = lists.with_columns(place=place).explode(
            "row", *self.places, "place", empty_as_null=True
        )
        if len(self.payload) > 1:
            rows = rows.unnest("row")
        else:
            rows = rows.rename({"row": self.payload[0]})
        if self.ties is not None:
            rows = _break_ties(rows, self.ties)
        place = pl.col("place").cast(pl.Float64)
        known = pl.col(self.key) if self.key != "score" else place
        held = known.is_not_null()
        if self.max_rank is not None:
            held &= (known if self.key == "rank" else place) <= self.max_rank
        holds = pl.when(held)
        columns = {name: pl.col(name).cast(pl.Float64) for name in self.places}
        columns["rank"] = known.cast(pl.Float64) if self.key == "rank" else place
        closed = self.key == "order" or self.max_rank is not None
        if closed:
            columns["rank"] = holds.then(columns["rank"])
        if closed and "score" in self.payload:
            columns["score"] = holds.then(pl.col("score"))
        return rows.with_columns(**columns)


def _break_ties(rows: pl.LazyFrame, ties: DocTies) -> pl.LazyFrame:
    """Order equal scores by document id, without sorting other rows.

    Neighbors of two queries may also look tied: they keep their places.
    """
    score, doc = pl.col("score"), pl.col("doc")
    keys, downwards = order_by(score, label=pl.col("label"), doc=doc, ties=ties)
    tied = score.eq_missing(score.shift(1)) | score.eq_missing(score.shift(-1))
    rows = rows.with_columns(tied=tied)
    alone = rows.filter(~pl.col("tied")).drop("tied")
    blocks = (
        rows.filter("tied")
        .with_columns(run="query")
        .set_sorted("run")
        .group_by("run", maintain_order=True)
        .agg(
            pl.col("query").first(),
            doc.sort_by(keys, descending=downwards, nulls_last=True),
            "score",
            "place",
        )
        .explode("doc", "score", "place")
        .select(list(alone.collect_schema()))
    )
    return pl.union([alone, blocks])


def rank_rows(
    key: OrderedBy,
    frame: pl.LazyFrame,
    payload: Sequence[str],
    *,
    descending: bool,
    ties: Ties,
    scalars: Mapping[str, pl.Expr],
    grouping: Grouping,
) -> Ranked:
    """Rank the documents of each query; ``scalars`` are aggregations of its rows."""
    places: dict[str, pl.Expr] = {}
    keys, downwards = [pl.col(key)], [descending]
    if descending:
        doc = pl.col("doc") if ties in ("doc_desc", "doc_asc") else None
        keys, downwards = order_by(
            pl.col(key), label=pl.col("label"), doc=doc, ties=ties
        )
        if ties == "expected":
            score = pl.col(key).sort(descending=True, nulls_last=True)
            places["tie_first"] = score.rank("min", descending=True)
            places["tie_last"] = score.rank("max", descending=True)
    payload = payload if key == "score" else [*payload, key]
    row = _document(payload).sort_by(
        keys, descending=downwards, nulls_last=True, maintain_order=True
    )
    aggregated = {"row": row, **places, **scalars}
    if grouping == "hash":  # in memory the cheapest, for streaming a fallback
        queries = frame.group_by("query").agg(**aggregated).sort("query")
        return Ranked(queries, payload, list(places), key)
    if grouping == "contiguous":
        # A claim that is false: queries come in any order. The sorted group-by of
        # Polars 2.1 relies only on runs of equal keys, since it cuts a batch between
        # two different neighbors. It proves nothing: ``layout`` verifies the result.
        frame = frame.set_sorted("query")
    else:
        frame = frame.sort("query", maintain_order=True)
    queries = frame.group_by("query", maintain_order=True).agg(**aggregated)
    return Ranked(queries, payload, list(places), key)


def regroup_by_rank(
    rows: pl.LazyFrame,
    payload: Sequence[str],
    scalars: Iterable[str],
    *,
    settled: bool = False,
) -> pl.LazyFrame:
    """Put documents of known ``rank`` together by query, those without a rank last.

    Other rows have scalars of a query and no document: ``head`` is true for rows of the
    run, which ``runs`` counts, and false for others. The result lacks them; a query
    without documents keeps one row of nulls. With ``settled``, documents without a rank
    are ordered by grade (and by id, if that is kept), since a join leaves them in any
    order.
    """
    once = {name: pl.col(name).drop_nulls().first() for name in scalars}
    payload = [*payload, "rank"]
    document = pl.col("head").is_null()
    keys = ["rank", *(["label"] if settled else [])]
    keys += ["doc"] if settled and "doc" in payload else []
    row = (
        _document(payload)
        .filter(document)
        .sort_by(
            [pl.col(key).filter(document) for key in keys],
            descending=[key == "label" for key in keys],
            nulls_last=True,
            maintain_order=True,
        )
    )
    queries = (
        rows.sort("query", maintain_order=True)
        .group_by("query", maintain_order=True)
        .agg(row.alias("row"), **once, runs=pl.col("head").sum())
    )
    ranked = Ranked(queries, payload, [], "rank").documents([*once, "runs"])
    return ranked.set_sorted("query")


def _document(payload: Sequence[str]) -> pl.Expr:
    return pl.struct(payload) if len(payload) > 1 else pl.col(payload[0])
