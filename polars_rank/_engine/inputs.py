"""The frames of a request under internal names: ids of one type, no duplicates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import polars as pl

from polars_rank._engine.request import Request
from polars_rank._engine.roles import is_text
from polars_rank._engine.schema import (
    JUDGMENTS,
    BoundFrame,
    BoundSchema,
    Column,
    Columns,
    align_ids,
    bind_column,
    bind_columns,
    has_column,
    name_of,
    renamed,
    require_columns,
)
from polars_rank._engine.stages.copies import (
    best_of_copies,
    number_copies,
    number_judgments,
)
from polars_rank.core.rules import (
    DUPLICATE_SEGMENT,
    READ_ONCE,
    VARYING_SEGMENT,
    Rule,
)
from polars_rank.core.source import is_rereadable
from polars_rank.exceptions import DataError


class Description(NamedTuple):
    """Attributes of queries, one row per query, and how often they break a rule."""

    frame: pl.LazyFrame
    where: str
    broken: str
    rule: Rule


class Inputs(NamedTuple):
    """The frames to evaluate, under internal names.

    Attributes
    ----------
    run, qrels
        The log, or the run and its judgments.
    queries
        One row per query asked for, with the segments found there; ``copies`` counts
        further rows of the query. None: all queries.
    descriptions
        Further frames with segments.
    carry
        Columns of the run that must be constant within a query.
    segments
        Where each of the request's attributes is found: a key column, or a ``by0`` ...
        of the run, of ``queries`` or of a description.
    """

    run: BoundFrame
    qrels: BoundFrame | None
    queries: pl.LazyFrame | None
    descriptions: tuple[Description, ...]
    carry: tuple[str, ...]
    segments: tuple[str, ...]

    @property
    def graded(self) -> BoundSchema:
        """The schema of the frame that has the labels."""
        return (self.qrels or self.run).schema

    @property
    def parts(self) -> list[BoundFrame]:
        """The frames that are ranked and joined, query by query."""
        return [self.run] if self.qrels is None else [self.run, self.qrels]


def bind_inputs(request: Request) -> Inputs:
    """Select and rename the columns that the request needs; only schemas are read."""
    segments, found = _attributes(request)
    request = _kept_if_read_twice(request, described=bool(found[JUDGMENTS]))
    run, qrels = _bind_run(request, found["the frame"])
    queries, descriptions = None, []
    if request.queries is not None:
        queries = _by_query(
            request, request.queries, where="queries", segments=found["queries"]
        )
    if request.segments is not None:
        frame = _by_query(
            request, request.segments, where="segments", segments=found["segments"]
        )
        rule = DUPLICATE_SEGMENT
        descriptions.append(Description(frame, "segments", "copies", rule))
    if request.qrels is not None and found[JUDGMENTS]:
        frame = _by_query(
            request,
            request.qrels,
            where=JUDGMENTS,
            segments=found[JUDGMENTS],
        )
        rule = VARYING_SEGMENT
        descriptions.append(Description(frame, JUDGMENTS, "varied", rule))
    return Inputs(
        run=run,
        qrels=qrels,
        queries=queries,
        descriptions=tuple(descriptions),
        carry=tuple(found["the frame"]),
        segments=tuple(segments),
    )


def places_of(request: Request) -> dict[str, str]:
    """The frame that provides each attribute, by internal name; no key columns."""
    _, found = _attributes(request)
    return {own: where for where, columns in found.items() for own in columns}


def _attributes(request: Request) -> tuple[list[str], dict[str, dict[str, Column]]]:
    """The internal name of each attribute, and the attributes that each frame provides.

    The first frame that has a column provides it.
    """
    frames = {
        "segments": request.segments,
        "queries": request.queries,
        "the frame": request.frame,
        JUDGMENTS: request.qrels,
    }
    found: dict[str, dict[str, Column]] = {where: {} for where in frames}
    if not request.attributes:
        return [], found
    schemas = {w: f.collect_schema() for w, f in frames.items() if f is not None}
    known = [name for name in request.columns.query if isinstance(name, str)]
    segments: list[str] = []
    for argument, column in request.attributes:
        if argument != "weight" and isinstance(column, str) and column in known:
            segments.append(f"key{request.columns.query.index(column)}")
            continue
        places = (w for w, schema in schemas.items() if has_column(column, schema))
        where = next(places, None)
        if where is None:
            every = {n: t for schema in schemas.values() for n, t in schema.items()}
            require_columns(
                [column], pl.Schema(every), where="the frame", argument=argument
            )
            where = "the frame"
        if argument == "weight":
            bind_column("weight", column, schemas[where], where=where)
        segments.append(f"by{len(segments)}")
        found[where][segments[-1]] = column
    return segments, found


def _bind_run(
    request: Request, carry: Mapping[str, Column]
) -> tuple[BoundFrame, BoundFrame | None]:
    columns = request.columns
    if request.qrels is None:
        roles = ["score", "rank", "label", "doc"]
        copies = request.convention.on_duplicate != "error"
        needed = request.by_doc or copies or request.contributions or request.list_depth
        if request.check == "off" and not needed:
            roles.remove("doc")
        run = bind_columns(
            request.frame, columns, where="the frame", roles=roles, carry=carry
        )
        return run, None
    where = "the run", JUDGMENTS
    run = bind_columns(
        request.frame,
        columns,
        where=where[0],
        roles=["score", "rank", "doc"],
        carry=carry,
    )
    others = request.qrels_columns
    qrels = _bind_some_keys(
        request,
        request.qrels,
        others,
        where=where[1],
        roles=["label", "doc", "subtopic"],
    )
    known = request.qrels.collect_schema()
    ids = {
        f"key{i}": name_of(column)
        for i, column in enumerate(columns.query)
        if has_column(others.query[i], known)
    }
    doc = columns.names["doc"]
    ids["doc"] = "" if doc is None else name_of(doc)
    left, right = align_ids(run.frame, qrels.frame, ids, where=where)
    return run._replace(frame=left), qrels._replace(frame=right)


def _bind_some_keys(
    request: Request,
    frame: pl.LazyFrame,
    columns: Columns,
    *,
    where: str,
    roles: Sequence[str],
    carry: Mapping[str, Column] = MappingProxyType({}),
) -> BoundFrame:
    """Bind a frame that may lack query columns: its rows apply to all their values."""
    query, schema = columns.query, frame.collect_schema()
    shared = [i for i, column in enumerate(query) if has_column(column, schema)]
    if not shared:
        argument = "qrels_query" if where == JUDGMENTS else "query"
        require_columns(query, schema, where=where, argument=argument)
    columns = columns._replace(query=tuple(query[i] for i in shared))
    bound = bind_columns(frame, columns, where=where, roles=roles, carry=carry)
    rows = bound.frame.rename({f"key{n}": f"key{i}" for n, i in enumerate(shared)})
    others = [i for i in range(len(query)) if i not in shared]
    if others:
        values = [renamed(request.columns.query[i], f"key{i}") for i in others]
        rows = rows.join(request.frame.select(values).unique(), how="cross")
    keys = tuple(f"key{i}" for i in range(len(query)))
    return BoundFrame(rows, replace(bound.schema, keys=keys))


def _by_query(
    request: Request,
    frame: pl.LazyFrame,
    *,
    where: str,
    segments: Mapping[str, Column],
) -> pl.LazyFrame:
    """One row per query: its segments, how many ``copies``, whether they ``varied``."""
    columns = request.qrels_columns if where == JUDGMENTS else request.columns
    bound = _bind_some_keys(
        request, frame, columns, where=where, roles=[], carry=segments
    )
    return bound.frame.group_by(bound.keys).agg(
        *(pl.col(name).first() for name in segments),
        copies=pl.len() - 1,
        varied=pl.sum_horizontal(
            pl.lit(0, pl.UInt32), *(pl.col(name).n_unique() - 1 for name in segments)
        ),
    )


def _kept_if_read_twice(request: Request, *, described: bool) -> Request:
    """Keep frames in memory that are needed twice but can be read only once.

    These are a run that provides key columns which judgments or queries lack,
    judgments that also provide attributes of queries, and queries beside judgments.
    """
    twice = _read_twice(request, described=described)
    # A plan for contiguous rows is collected on its own.
    apart = request.layout == "contiguous" and bool(twice.keys() - {"frame"})
    if apart or (twice and request.resources is not None):
        raise DataError(READ_ONCE.message, rule=READ_ONCE.name)
    kept: dict[str, Any] = {name: frame.cache() for name, frame in twice.items()}
    return replace(request, **kept)


def _read_twice(request: Request, *, described: bool) -> dict[str, pl.LazyFrame]:
    """Return the frames that are needed twice but can be read only once, by name."""
    query = request.columns.query
    others = [
        (request.queries, query),
        (request.segments, query),
        (request.qrels, request.qrels_columns.query),
    ]
    schemas = [(f.collect_schema(), names) for f, names in others if f is not None]
    complete = all(
        has_column(name, schema) for schema, names in schemas for name in names
    )
    needed: dict[str, pl.LazyFrame | None] = {
        "frame": None if complete else request.frame,
        "qrels": request.qrels if described else None,
        "queries": None if request.qrels is None else request.queries,
    }
    return {
        name: frame
        for name, frame in needed.items()
        if frame is not None and not is_rereadable(frame)
    }


def normalize(
    frame: pl.LazyFrame,
    schema: BoundSchema,
    request: Request,
    *,
    integers_late: bool = False,
    contiguous: bool = False,
) -> pl.LazyFrame:
    """Settle copies of documents, make ids text where they order ties, cast scores.

    With ``integers_late``, integer ids become text only where they are compared.
    """
    convention, dtypes = request.convention, schema.by_role
    ranked = "score" in dtypes or "rank" in dtypes
    keep_rank = convention.on_duplicate == "keep_rank"
    if convention.on_duplicate == "best" or (keep_rank and not ranked):
        ids = ["doc", *(["subtopic"] if "subtopic" in dtypes else [])]
        frame = best_of_copies(frame, schema.keys, ids, contiguous=contiguous)
    doc = dtypes.get("doc")
    late = integers_late and doc is not None and doc.is_integer() and not keep_rank
    # Dates, times, Booleans and bytes are in the order of their text.
    as_text = doc is not None and (doc.is_integer() or is_text(doc))
    if request.by_doc and as_text and not late:
        frame = frame.with_columns(pl.col("doc").cast(pl.String))
    if convention.score_dtype == "float32" and "score" in dtypes:
        frame = frame.with_columns(pl.col("score").cast(pl.Float32))
    if keep_rank and ranked:
        ties = convention.ties
        frame = number_copies(frame, schema.keys, ties=ties, contiguous=contiguous)
    elif keep_rank:
        frame = number_judgments(frame)
    return frame
