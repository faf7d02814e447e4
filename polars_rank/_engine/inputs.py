"""The frames of a request under our names: one type per id, one row per document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from polars_rank._engine.request import Request
from polars_rank._engine.schema import (
    BoundFrame,
    BoundSchema,
    align_ids,
    bind_column,
    bind_columns,
    renamed,
    require_columns,
)
from polars_rank.core.rules import READ_ONCE
from polars_rank.core.source import is_rereadable
from polars_rank.exceptions import DataError

__all__ = ["Inputs", "bind_inputs", "normalize"]


class Inputs(NamedTuple):
    """What is evaluated, under our names.

    Attributes
    ----------
    run, qrels
        The log, or the run and its judgments.
    queries
        One row per query asked for, with the segments found there; ``copies`` counts
        further rows of the query. None: all queries.
    carry
        Columns of the run that must be constant within a query.
    segments
        Where each of ``by`` and, last, the weight is found: a key column, or a
        ``by0`` ... of the run or of ``queries``.
    """

    run: BoundFrame
    qrels: BoundFrame | None
    queries: pl.LazyFrame | None
    carry: tuple[str, ...]
    segments: tuple[str, ...]

    @property
    def parts(self) -> list[BoundFrame]:
        """What is ranked and joined, query by query."""
        return [self.run] if self.qrels is None else [self.run, self.qrels]


def bind_inputs(request: Request) -> Inputs:
    """Select and rename the columns that the request needs; only schemas are read."""
    request = _kept_if_read_twice(request)
    segments = _segments(request)
    keys = request.columns.query
    names = [name for name in dict.fromkeys(segments) if name not in keys]
    queries, inside = None, []
    if request.queries is not None:
        schema = request.queries.collect_schema()
        inside = [name for name in names if name in schema]
        queries = _bind_queries(request, request.queries, inside)
    carried = [name for name in names if name not in inside]
    own = {name: f"by{i}" for i, name in enumerate([*carried, *inside])}
    own |= {name: f"key{i}" for i, name in enumerate(keys)}
    if queries is not None:
        queries = queries.rename({f"by{i}": own[n] for i, n in enumerate(inside)})
    run, qrels = _bind_run(request, carried)
    return Inputs(
        run=run,
        qrels=qrels,
        queries=queries,
        carry=tuple(own[name] for name in carried),
        segments=tuple(own[name] for name in segments),
    )


def _segments(request: Request) -> list[str]:
    """The user's names of segments and weight: each is in ``queries`` or the frame."""
    by, weight = request.by, request.weight
    if not by and weight is None:
        return []
    schema = dict(request.frame.collect_schema())
    if request.queries is not None:
        schema |= request.queries.collect_schema()
    require_columns(by, pl.Schema(schema), where="the frame", argument="by")
    if weight is not None:
        bind_column("weight", weight, pl.Schema(schema), where="the frame")
    return [*by, *([] if weight is None else [weight])]


def _bind_run(
    request: Request, carry: Sequence[str]
) -> tuple[BoundFrame, BoundFrame | None]:
    columns = request.columns
    if request.qrels is None:
        roles = ["score", "rank", "label", "doc"]
        by_doc = request.convention.ties in ("doc_desc", "doc_asc")
        if request.check == "off" and not by_doc:
            roles.remove("doc")
        run = bind_columns(
            request.frame, columns, where="the frame", roles=roles, carry=carry
        )
        return run, None
    where = "the run", "the judgments"
    run = bind_columns(
        request.frame,
        columns,
        where=where[0],
        roles=["score", "rank", "doc"],
        carry=carry,
    )
    qrels = _bind_some_keys(
        request, request.qrels, where=where[1], roles=["label", "doc", "subtopic"]
    )
    known = request.qrels.collect_schema()
    ids = {f"key{i}": name for i, name in enumerate(columns.query) if name in known}
    ids["doc"] = columns.names["doc"] or ""
    left, right = align_ids(run.frame, qrels.frame, ids, where=where)
    return run._replace(frame=left), qrels._replace(frame=right)


def _bind_some_keys(
    request: Request,
    frame: pl.LazyFrame,
    *,
    where: str,
    roles: Sequence[str],
    carry: Sequence[str] = (),
) -> BoundFrame:
    """Bind a frame that may lack query columns: its rows serve all their values."""
    query, schema = request.columns.query, frame.collect_schema()
    shared = [i for i, name in enumerate(query) if name in schema]
    if not shared:
        require_columns(query, schema, where=where, argument="query")
    columns = request.columns._replace(query=tuple(query[i] for i in shared))
    bound = bind_columns(frame, columns, where=where, roles=roles, carry=carry)
    rows = bound.frame.rename({f"key{n}": f"key{i}" for n, i in enumerate(shared)})
    others = [i for i in range(len(query)) if i not in shared]
    if others:
        values = [renamed(query[i], f"key{i}") for i in others]
        rows = rows.join(request.frame.select(values).unique(), how="cross")
    keys = tuple(f"key{i}" for i in range(len(query)))
    return BoundFrame(rows, bound.schema._replace(keys=keys))


def _bind_queries(
    request: Request, queries: pl.LazyFrame, segments: Sequence[str]
) -> pl.LazyFrame:
    bound = _bind_some_keys(request, queries, where="queries", roles=[], carry=segments)
    values = {f"by{i}": pl.col(f"by{i}").first() for i in range(len(segments))}
    return bound.frame.group_by(bound.keys).agg(**values, copies=pl.len() - 1)


def _kept_if_read_twice(request: Request) -> Request:
    """Keep a run in memory whose keys judgments or queries lack: they take its values.

    Nothing is kept where it can be read again.
    """
    others = [f for f in (request.qrels, request.queries) if f is not None]
    query = request.columns.query
    complete = all(f.collect_schema().keys() >= {*query} for f in others)
    if complete or is_rereadable(request.frame):
        return request
    if request.resources is not None:
        raise DataError(READ_ONCE.message, rule=READ_ONCE.name)
    return request._replace(frame=request.frame.cache())


def normalize(
    frame: pl.LazyFrame,
    schema: BoundSchema,
    request: Request,
    *,
    integers_late: bool = False,
) -> pl.LazyFrame:
    """Keep the best of duplicates, make ids text where they order ties, cast scores.

    With ``integers_late``, integer ids become text only where they are compared.
    """
    if request.on_duplicate == "best":
        subtopic = ["subtopic"] if "subtopic" in schema.roles else []
        frame = _best_copies(frame, [*schema.keys, "doc", *subtopic])
    convention, dtypes = request.convention, schema.by_role
    by_doc = convention.ties in ("doc_desc", "doc_asc")
    doc = dtypes.get("doc")
    late = integers_late and doc is not None and doc.is_integer()
    if by_doc and doc not in (None, pl.Binary) and not late:
        frame = frame.with_columns(pl.col("doc").cast(pl.String))
    if convention.score_dtype == "float32" and "score" in dtypes:
        frame = frame.with_columns(pl.col("score").cast(pl.Float32))
    return frame


def _best_copies(frame: pl.LazyFrame, on: list[str]) -> pl.LazyFrame:
    """The best score, rank and label of each document, at its first row.

    What cannot be compared (null, NaN) is kept, so that it is reported.
    """
    schema = frame.collect_schema()
    kept = []
    for name in (n for n in schema if n not in on):
        column = pl.col(name)
        best = {"rank": column.min(), "score": column.max(), "label": column.max()}
        value = best.get(name, column.first())
        if name in ("score", "label") and schema[name].is_float():
            value = pl.when(column.is_nan().any()).then(float("nan")).otherwise(value)
        if name == "score":
            value = pl.when(column.null_count() == 0).then(value)
        kept.append(value.alias(name))
    return (
        frame.with_row_index("row")
        .group_by(on)
        .agg(*kept, pl.col("row").min())
        .sort("row")
        .drop("row")
    )
