"""The frames of a request under our names, each document once."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl
import polars.selectors as cs

from polars_rank._engine.request import Request
from polars_rank._engine.schema import (
    Kind,
    Log,
    align_ids,
    bind,
    require_columns,
    require_number,
)
from polars_rank.core.source import SPENT, is_rereadable
from polars_rank.exceptions import DataError

__all__ = ["bind_frames", "bind_queries", "prepared", "require_segments"]


def require_segments(request: Request, by: Sequence[str], weight: str | None) -> None:
    """Every segment is in ``queries`` or in the frame; a weight is a number."""
    schema = request.frame.collect_schema()
    if request.queries is not None:
        schema = pl.Schema({**schema, **request.queries.collect_schema()})
    require_columns(by, schema, where="the frame", argument="by")
    if weight is not None:
        require_columns([weight], schema, where="the frame", argument="weight")
        require_number(weight, schema[weight], "a weight")


def bind_frames(request: Request, carry: Sequence[str]) -> tuple[Log, Log | None]:
    """The log, or the run and its judgments; ``carry`` are columns of the log."""
    request = _readable_twice(request)
    columns, ties = request.columns, request.convention.ties
    if request.qrels is None:
        needs = ["score", "label", "doc"]
        if ties not in ("doc_desc", "doc_asc") and request.check == "off":
            needs.remove("doc")
        return bind(
            request.frame, columns, where="the frame", needs=needs, carry=carry
        ), None
    log = bind(
        request.frame, columns, where="the run", needs=["score", "doc"], carry=carry
    )
    qrels, shared = _bind_some(
        request,
        request.qrels,
        where="the judgments",
        needs=["label", "doc", "subtopic"],
    )
    names = {f"key{i}": columns.query[i] for i in shared} | {"doc": columns.doc or ""}
    run, judged = align_ids(
        log.frame, qrels.frame, names, where=("the run", "the judgments")
    )
    log = log._replace(frame=run)
    qrels = qrels._replace(frame=judged)
    return log, qrels


def _readable_twice(request: Request) -> Request:
    """Keep a run in memory whose keys judgments or queries lack: they take its values.

    Nothing is kept where it can be read again.
    """
    others = [f for f in (request.qrels, request.queries) if f is not None]
    query = request.columns.query
    whole = all(f.collect_schema().keys() >= {*query} for f in others)
    if whole or is_rereadable(request.frame):
        return request
    if request.memory is not None:
        raise DataError(SPENT)
    return request._replace(frame=request.frame.cache())


def _bind_some(
    request: Request,
    frame: pl.LazyFrame,
    *,
    where: str,
    needs: Sequence[str],
    carry: Sequence[str] = (),
) -> tuple[Log, list[int]]:
    """Bind a frame that may lack some query columns: its rows serve all their values.

    The positions of the query columns that it has come beside.
    """
    query, schema = request.columns.query, frame.collect_schema()
    shared = [i for i, name in enumerate(query) if name in schema]
    if not shared:
        require_columns(query, schema, where=where, argument="query")
    columns = request.columns._replace(query=tuple(query[i] for i in shared))
    bound = bind(frame, columns, where=where, needs=needs, carry=carry)
    rows = bound.frame.rename({f"key{n}": f"key{i}" for n, i in enumerate(shared)})
    others = [i for i in range(len(query)) if i not in shared]
    if others:
        values = [cs.by_name(query[i]).alias(f"key{i}") for i in others]
        rows = rows.join(request.frame.select(values).unique(), how="cross")
    keys = tuple(f"key{i}" for i in range(len(query)))
    kind = bound.kind._replace(keys=keys)
    return Log(rows, kind), shared


def bind_queries(
    request: Request, queries: pl.LazyFrame, segments: dict[str, str]
) -> tuple[pl.LazyFrame, dict[str, str]]:
    """The queries asked for, with their segments; and segments still to be found."""
    schema = queries.collect_schema()
    here = {own: name for own, name in segments.items() if name in schema}
    bound, _ = _bind_some(
        request, queries, where="queries", needs=[], carry=list(here.values())
    )
    segment = {own: pl.col(f"by{i}").first() for i, own in enumerate(here)}
    once = bound.frame.group_by(bound.keys).agg(**segment, copies=pl.len() - 1)
    return once, {own: name for own, name in segments.items() if own not in here}


def prepared(frame: pl.LazyFrame, kind: Kind, request: Request) -> pl.LazyFrame:
    """Documents that stand twice, ids as text where they order ties, score type."""
    if request.on_duplicate == "best":
        subtopic = ["subtopic"] if kind.has_subtopic else []
        frame = _best_copies(frame, [*kind.keys, "doc", *subtopic])
    text = request.convention.ties in ("doc_desc", "doc_asc")
    if kind.has_doc and text and frame.collect_schema()["doc"] != pl.Binary:
        frame = frame.with_columns(pl.col("doc").cast(pl.String))
    if request.convention.score_dtype == "float32" and kind.score_type is not None:
        frame = frame.with_columns(pl.col("score").cast(pl.Float32))
    return frame


def _best_copies(frame: pl.LazyFrame, on: list[str]) -> pl.LazyFrame:
    """The best score, rank and label of each document, where it first stood.

    What cannot be compared (null, NaN) is kept, so that it is found out.
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
