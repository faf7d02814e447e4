"""From a request to the values of exactly the queries that it asks for."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import polars as pl

from polars_rank._engine.checks.enforce import in_common
from polars_rank._engine.normalize import (
    bind_frames,
    bind_queries,
    prepared,
    require_segments,
)
from polars_rank._engine.plan import PerQuery
from polars_rank._engine.request import Request
from polars_rank._engine.schema import align_ids
from polars_rank._engine.spill.plan import bucketed
from polars_rank._engine.stages.rank import unpack
from polars_rank._engine.stages.subtopics import plan_question
from polars_rank._engine.trace import Question
from polars_rank.measures.measure import Measure

__all__ = ["plan_request"]


def plan_request(
    request: Request, by: Sequence[str] = (), weight: str | None = None
) -> PerQuery:
    """Per-query values under our names: key0 ..., by0 ..., m0 ..., fault0 ...

    ``by0`` ... are the segments, and the weight if there is one comes behind them.
    """
    names = [*by, *([] if weight is None else [weight])]
    require_segments(request, by, weight)
    position = {name: f"key{i}" for i, name in enumerate(request.columns.query)}
    keyed = {f"by{i}": position[n] for i, n in enumerate(names) if n in position}
    segments = {f"by{i}": n for i, n in enumerate(names) if n not in position}
    asked = None
    if request.queries is not None:
        asked, segments = bind_queries(request, request.queries, segments)
    log, qrels = bind_frames(request, list(segments.values()))
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
        request.max_rank,
    )
    kinds = [log.kind] if qrels is None else [log.kind, qrels.kind]

    def planned(frames: Sequence[pl.LazyFrame]) -> PerQuery:
        pairs = zip(frames, kinds, strict=True)
        return plan_question(question, *(prepared(*pair, request) for pair in pairs))

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
