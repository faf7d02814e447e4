"""The only stage that touches every row: put documents of a query in rank order.

The rows of a query are contiguous already, or after one sort by the query alone. A
group-by whose key is marked as sorted streams any aggregation, query by query; it only
needs contiguous rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from math import inf
from typing import Literal, NamedTuple, TypeAlias

import polars as pl

from polars_rank._engine.request import Grouping
from polars_rank.core.expr import places
from polars_rank.core.words.ranking import Ties, order_by

LISTED = "first documents of the query"
OrderedBy: TypeAlias = Literal["score", "rank", "order"]
DocTies: TypeAlias = Literal["doc_desc", "doc_asc"]


def pack(frame: pl.LazyFrame, keys: Sequence[str], name: str = "query") -> pl.LazyFrame:
    """Pack the key columns into one, ``query``; several become a struct."""
    packed = pl.col(keys[0]) if len(keys) == 1 else pl.struct(keys)
    return frame.select_seq(packed.alias(name), pl.exclude(keys))


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

    def first(self, k: float) -> pl.Expr:
        """Return the documents of the first ``k`` ranks: a list of ``doc``, ``rank``.

        A block of tied documents may begin among the first and end below: then all rows
        are looked at.
        """
        row, document = pl.col("row"), pl.element()
        if k < inf:
            reach: int | pl.Expr = int(k)  # ranks may have gaps, but no copies
            if self.ties is not None:
                edge = (row.list.get(n, null_on_oob=True) for n in (int(k) - 1, int(k)))
                last, below = (document.struct.field("score") for document in edge)
                reach = pl.when(last == below).then(row.list.len()).otherwise(int(k))
            row = row.list.head(reach)
        if self.ties is not None:
            keys, downwards = order_by(
                document.struct.field("score"),
                label=pl.lit(0),
                doc=document.struct.field("doc"),
                ties=self.ties,
            )
            document = document.sort_by(keys, descending=downwards)
        several = len(self.payload) > 1
        doc = document.struct.field("doc") if several else document
        rank = place = places(doc.len())
        if self.key != "score":
            known = document.struct.field(self.key)
            rank = known.cast(pl.Float64) if self.key == "rank" else place
            rank = pl.when(known.is_not_null()).then(rank)
        most = k if self.max_rank is None else min(k, self.max_rank)
        first = pl.struct(doc=doc, rank=rank).filter(rank <= most)
        return row.list.eval(first).alias(LISTED)

    def documents(self, scalars: Iterable[str] = ()) -> pl.LazyFrame:
        """Make a row per document: the payload, ``place``, ``rank``, repeated scalars.

        Rows of a query are contiguous, and in rank order unless ties had to be broken.
        """
        several = len(self.payload) > 1
        row = "row" if several else self.payload[0]
        lists = self.queries.select_seq(
            "query", pl.col("row").alias(row), *self.places, *scalars
        )
        place = pl.int_ranges(1, pl.col(row).list.len() + 1, dtype=pl.Int64)
        rows = lists.with_columns(place=place).explode(
            row, *self.places, "place", empty_as_null=True
        )
        rows = rows.unnest("row") if several else rows
        if self.ties is not None:
            rows = _break_ties(rows, self.ties)
        return rows.with_columns_seq(
            *_document_columns(
                (*self.payload,), (*self.places,), self.key, self.max_rank
            )
        )


@lru_cache(maxsize=64)
def _document_columns(
    payload: tuple[str, ...],
    places: tuple[str, ...],
    key: OrderedBy,
    max_rank: int | None,
) -> tuple[pl.Expr, ...]:
    """Return ``rank`` and the places as numbers; none below ``max_rank``."""
    place = pl.col("place").cast(pl.Float64)
    known = pl.col(key) if key != "score" else place
    held = known.is_not_null()
    if max_rank is not None:
        held &= (known if key == "rank" else place) <= max_rank
    holds = pl.when(held)
    columns = {name: pl.col(name).cast(pl.Float64) for name in places}
    columns["rank"] = known.cast(pl.Float64) if key == "rank" else place
    closed = key == "order" or max_rank is not None
    if closed:
        columns["rank"] = holds.then(columns["rank"])
    if closed and "score" in payload:
        columns["score"] = holds.then(pl.col("score"))
    return tuple(column.alias(name) for name, column in columns.items())


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
    by_doc: bool,
    scalars: Mapping[str, pl.Expr],
    grouping: Grouping,
    depth: int | None = None,
    ideal: bool = False,
) -> Ranked:
    """Rank the documents of each query; ``scalars`` are aggregations of its rows.

    ``by_doc`` says that ids order what the rule for ties leaves in any order.
    ``depth`` is how many of the first to keep, and ``ideal`` adds as many ``ideal``
    labels.
    """
    payload = payload if key == "score" else [*payload, key]
    lists = _lists(key, (*payload,), descending, ties, by_doc, depth, ideal)
    places = [name for name in lists if name != "row"]
    aggregated = [*lists.values(), *(e.alias(name) for name, e in scalars.items())]
    if grouping == "hash":  # in memory the cheapest, for streaming a fallback
        queries = frame.group_by("query").agg(aggregated).sort("query")
        return Ranked(queries, payload, places, key)
    if grouping == "contiguous":
        # A claim that is false: queries come in any order. The sorted group-by of
        # Polars 2.1 relies only on runs of equal keys, since it cuts a batch between
        # two different neighbors. It proves nothing: ``layout`` verifies the result.
        frame = frame.set_sorted("query")
    else:
        frame = frame.sort("query", maintain_order=True)
    queries = frame.group_by("query", maintain_order=True).agg(aggregated)
    return Ranked(queries, payload, places, key)


@lru_cache(maxsize=64)
def _lists(
    key: OrderedBy,
    payload: tuple[str, ...],
    descending: bool,
    ties: Ties,
    by_doc: bool,
    depth: int | None,
    ideal: bool,
) -> dict[str, pl.Expr]:
    """Return the documents of a query in rank order, ``row``, and parallel lists."""
    lists: dict[str, pl.Expr] = {}
    keys, downwards = [pl.col(key)], [descending]
    if descending:
        doc = pl.col("doc") if by_doc else None
        keys, downwards = order_by(
            pl.col(key), label=pl.col("label"), doc=doc, ties=ties, apart=by_doc
        )
        if ties == "expected":
            score = pl.col(key).sort(descending=True, nulls_last=True)
            lists["tie_first"] = score.rank("min", descending=True)
            lists["tie_last"] = score.rank("max", descending=True)
    lists["row"] = _document(payload).sort_by(
        keys, descending=downwards, nulls_last=True, maintain_order=True
    )
    if ideal:
        lists["ideal_label"] = pl.col("label").sort(descending=True, nulls_last=True)
    if depth is not None:
        lists = {name: values.head(depth) for name, values in lists.items()}
    return {name: values.alias(name) for name, values in lists.items()}


def regroup_by_rank(
    rows: pl.LazyFrame,
    payload: Sequence[str],
    scalars: Iterable[str],
    *,
    settled: bool = False,
) -> pl.LazyFrame:
    """Put documents of known ``rank`` together by query, those without a rank last."""
    scalars = [*scalars]
    ranked = grouped_by_rank(rows, payload, scalars, settled=settled)
    return ranked.documents([*scalars, "runs"]).set_sorted("query")


def grouped_by_rank(
    rows: pl.LazyFrame,
    payload: Sequence[str],
    scalars: Iterable[str],
    *,
    settled: bool = False,
) -> Ranked:
    """Make a row per query, with lists of its documents, those without a rank last.

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
    return Ranked(queries, payload, [], "rank")


def _document(payload: Sequence[str]) -> pl.Expr:
    return pl.struct(payload) if len(payload) > 1 else pl.col(payload[0])
