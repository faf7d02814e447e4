"""What the user asks for, checked and bound: from arguments to per-query values."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, cast, get_args

import polars as pl
import polars.selectors as cs

from polars_rank.convention import Convention
from polars_rank.conventions import convention_of
from polars_rank.engine.ask import Question
from polars_rank.engine.bind import (
    AnyFrame,
    Columns,
    Kind,
    Log,
    align_ids,
    bind,
    require_columns,
    require_number,
)
from polars_rank.engine.bounded.progress import Listener
from polars_rank.engine.check import Check, in_common
from polars_rank.engine.layout import IN_MEMORY_ROWS, Grouping, Layout
from polars_rank.engine.memory import Memory, bucketed, memory_of
from polars_rank.engine.plan import PerQuery
from polars_rank.engine.rank import unpack
from polars_rank.engine.subtopics import plan_question, require_kind
from polars_rank.measure import Custom, Measure, Measures, parse_measures
from polars_rank.metrics.registry import OverQueries

__all__ = ["DOC", "Duplicates", "Request", "plan_request", "request_of"]

Duplicates: TypeAlias = Literal["error", "best"]

DOC = "doc_id"


class Request(NamedTuple):
    """The arguments of ``evaluate`` or ``per_query``, checked."""

    frame: pl.LazyFrame
    qrels: pl.LazyFrame | None
    queries: pl.LazyFrame | None
    columns: Columns
    measures: list[Measure | Custom]
    convention: Convention
    check: Check
    on_duplicate: Duplicates
    layout: Layout
    memory: Memory | None
    depth: int | None
    small: bool
    guess: bool = False

    @property
    def grouping(self) -> Grouping:
        """How rows of a query come together."""
        if self.layout == "adjacent":
            return "adjacent"
        return "hash" if self.small and self.memory is None else "sort"

    @property
    def sorted(self) -> bool:
        """Whether queries come in ascending order."""
        return self.grouping != "adjacent" and self.memory is None

    def require_distinct(self, others: Sequence[str]) -> None:
        """Output columns must have different names."""
        names = [*others, *(m.name for m in self.measures)]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            msg = (
                f"two output columns would be called {', '.join(map(repr, twice))}; "
                "rename the input column, or name the measure with pr.measure(name=...)"
            )
            raise ValueError(msg)

    def relevance(self, i: int) -> bool:
        """Whether measure i is 0 for a query without an answer."""
        m = self.measures[i]
        return isinstance(m, Measure) and m.definition.relevance

    def over_queries(self, i: int) -> OverQueries:
        """How the values of measure i are put together."""
        m = self.measures[i]
        return m.definition.over_queries if isinstance(m, Measure) else "mean"

    def spreads(self, i: int) -> bool:
        """Whether a null of measure i makes the mean null."""
        m = self.measures[i]
        if not isinstance(m, Measure) or not m.definition.relevance:
            return False
        return self.convention.no_relevant_of(m.metric) == "null"


def request_of(
    frame: AnyFrame,
    measures: Measures,
    qrels: AnyFrame | None,
    query: str | Sequence[str],
    doc: str | None,
    score: str,
    label: str,
    subtopic: str | None,
    rank: str | None,
    queries: AnyFrame | None,
    convention: str | Convention,
    check: Check,
    on_duplicate: Duplicates,
    layout: Layout,
    memory_limit: int | str | None,
    temp_dir: str | Path | None,
    progress: Listener | None,
    depth: int | None,
) -> Request:
    """Check the arguments; only schemas are read."""
    for name, given, allowed in (
        ("check", check, get_args(Check)),
        ("on_duplicate", on_duplicate, get_args(Duplicates)),
        ("layout", layout, get_args(Layout)),
    ):
        if given not in allowed:
            msg = f"{name} must be one of {', '.join(allowed)}, not {given!r}"
            raise ValueError(msg)
    if depth is not None and not (type(depth) is int and depth >= 1):
        msg = f"depth must be a whole number of at least 1, or None, not {depth!r}"
        raise ValueError(msg)
    keys = (query,) if isinstance(query, str) else tuple(query)
    if not keys:
        msg = "query must name at least one column"
        raise ValueError(msg)
    lazy = _lazy(frame, "the first argument")
    if doc == DOC and qrels is None and doc not in lazy.collect_schema():
        doc = None
    if doc is None and (qrels is not None or on_duplicate == "best" or check == "full"):
        reason = "judgments are joined" if qrels is not None else "duplicates are found"
        msg = f"doc must name the column of document ids: {reason} by it"
        raise ValueError(msg)
    if subtopic is not None and qrels is None:
        msg = "subtopic names a column of the judgments: give them with qrels="
        raise ValueError(msg)
    asked = parse_measures(measures)
    require_kind(asked, subtopics=subtopic is not None)
    return Request(
        lazy,
        None if qrels is None else _lazy(qrels, "qrels"),
        None if queries is None else _lazy(queries, "queries"),
        Columns(keys, doc, score, label, rank, subtopic),
        asked,
        convention_of(convention),
        check,
        on_duplicate,
        layout,
        memory_of(memory_limit, temp_dir, progress),
        depth,
        all(f is None or _is_small(f) for f in (frame, qrels)),
    )


def _is_small(frame: AnyFrame) -> bool:
    return isinstance(frame, pl.DataFrame) and len(frame) <= IN_MEMORY_ROWS


def _lazy(frame: AnyFrame, name: str) -> pl.LazyFrame:
    if not isinstance(frame, pl.DataFrame | pl.LazyFrame):
        msg = (
            f"{name} must be a polars DataFrame or LazyFrame, not "
            f"{type(frame).__name__}; wrap it with pl.DataFrame(...)"
        )
        raise TypeError(msg)
    return frame.lazy()


def plan_request(
    request: Request, by: Sequence[str] = (), weight: str | None = None
) -> PerQuery:
    """Per-query values under our names: key0 ..., by0 ..., m0 ..., fault0 ...

    ``by0`` ... are the segments, and the weight if there is one comes behind them.
    """
    names = [*by, *([] if weight is None else [weight])]
    _require_segments(request, by, weight)
    position = {name: f"key{i}" for i, name in enumerate(request.columns.query)}
    keyed = {f"by{i}": position[n] for i, n in enumerate(names) if n in position}
    segments = {f"by{i}": n for i, n in enumerate(names) if n not in position}
    asked = None
    if request.queries is not None:
        asked, segments = _bind_queries(request, request.queries, segments)
    log, qrels = _bind_frames(request, list(segments.values()))
    inside = [f"by{i}" for i in range(len(segments))]
    question = Question(
        log.kind,
        None if qrels is None else qrels.kind,
        tuple(request.measures),
        request.convention,
        request.check,
        tuple(inside),
        request.grouping,
        request.guess,
        request.depth,
    )
    kinds = [log.kind] if qrels is None else [log.kind, qrels.kind]

    def planned(frames: Sequence[pl.LazyFrame]) -> PerQuery:
        pairs = zip(frames, kinds, strict=True)
        return plan_question(question, *(_prepared(*pair, request) for pair in pairs))

    parts = [log.frame] if qrels is None else [log.frame, qrels.frame]
    if request.memory is not None and request.grouping == "sort":
        plan = bucketed(question, parts, planned, request.memory)
    else:
        plan = planned(parts)
    frame = unpack(plan.frame, log.keys).rename(
        dict(zip(inside, segments, strict=True)), strict=False
    )
    faults = dict(plan.faults)
    null_key = pl.any_horizontal(pl.col(log.keys).is_null())
    if qrels is not None:
        frame = frame.filter((pl.col("judged") > 0) | null_key)
        if request.check != "off":
            sides = request.frame, cast("pl.LazyFrame", request.qrels)
            common = in_common(*sides, request.columns.query, request.check)
            frame = frame.filter(common)
        frame = _missing_queries(request, frame, null_key, faults, plan.refusals)
    if asked is not None:
        frame = _only_asked(request, frame, asked, log.keys, faults)
    if request.check != "off":
        frame = frame.with_columns(nameless=null_key.cast(pl.UInt32))
        faults["nameless"] = NO_QUERY
    frame = frame.with_columns(pl.col(key).alias(own) for own, key in keyed.items())
    refusals = plan.refusals | (faults.keys() & {"absent", "unknown"})
    return PerQuery(frame, faults, refusals)


def _require_segments(request: Request, by: Sequence[str], weight: str | None) -> None:
    """Every segment is in ``queries`` or in the frame; a weight is a number."""
    schema = request.frame.collect_schema()
    if request.queries is not None:
        schema = pl.Schema({**schema, **request.queries.collect_schema()})
    require_columns(by, schema, where="the frame", argument="by")
    if weight is not None:
        require_columns([weight], schema, where="the frame", argument="weight")
        require_number(weight, schema[weight], "a weight")


def _bind_frames(request: Request, carry: Sequence[str]) -> tuple[Log, Log | None]:
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


def _prepared(frame: pl.LazyFrame, kind: Kind, request: Request) -> pl.LazyFrame:
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


def _bind_queries(
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


def _missing_queries(
    request: Request,
    frame: pl.LazyFrame,
    null_key: pl.Expr,
    faults: dict[str, str],
    refusals: frozenset[str],
) -> pl.LazyFrame:
    """Judged queries that are not in the run; skipped ones keep their faults."""
    missing = request.convention.missing
    absent = pl.col("retrieved").is_null()
    if missing == "skip":
        if request.check in ("strict", "full"):
            found = [pl.col(name) for name in faults if name not in refusals]
            faulty = pl.sum_horizontal(found) > 0 if found else pl.lit(value=False)
            absent = absent & ~faulty & ~null_key
        return frame.filter(~absent)
    if missing == "error":
        faults["absent"] = ABSENT
        return frame.with_columns(absent=absent.cast(pl.UInt32))
    return frame


def _only_asked(
    request: Request,
    frame: pl.LazyFrame,
    asked: pl.LazyFrame,
    keys: Sequence[str],
    faults: dict[str, str],
) -> pl.LazyFrame:
    """Exactly the queries of ``queries``; those without rows count as missing."""
    names = dict(zip(keys, request.columns.query, strict=True))
    asked, frame = align_ids(asked, frame, names, where=("queries", "the frame"))
    missing = request.convention.missing
    frame = frame.with_columns(known=pl.lit(value=True))
    joined = asked.join(frame, on=list(keys), how="left").sort(keys)
    unknown = pl.col("known").is_null()
    if missing == "skip":
        joined = joined.filter(~unknown)
    if missing == "error":
        faults["unknown"] = ABSENT
        joined = joined.with_columns(unknown=unknown.cast(pl.UInt32))
    if missing == "zero":
        zeros = {
            f"m{i}": m.definition.zero
            for i, m in enumerate(request.measures)
            if isinstance(m, Measure) and m.definition.zero is not None
        }
        joined = joined.with_columns(
            pl.when(~unknown).then(pl.col(name)).otherwise(zero).alias(name)
            for name, zero in zeros.items()
        )
    if request.check != "off":
        faults["copies"] = QUERY_TWICE
    return joined


NO_QUERY = "query ids are null; drop these rows or name their queries"
ABSENT = (
    'judged queries are missing from the run; evaluate them as 0 with missing="zero" '
    'or leave them out with missing="skip"'
)
QUERY_TWICE = "queries= has more than one row for a query; give one row each"
