"""From a request to its result: the entry point, and the stages in their order.

Bind columns; trace the measures; group the rows of a query, rank them, keep those that
matter, join the judgments, sum; keep the requested queries; aggregate.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import polars as pl

from polars_rank._engine.checks.enforce import Frame, enforce
from polars_rank._engine.checks.history import check_history
from polars_rank._engine.checks.rows import with_row
from polars_rank._engine.checks.totals import check_labels, check_sums, label_facts
from polars_rank._engine.finish import (
    Aggregation,
    require_sound,
    sum_part,
    values_per_query,
)
from polars_rank._engine.fold import folded
from polars_rank._engine.inputs import Inputs, bind_inputs, normalize
from polars_rank._engine.layout import (
    in_batches,
    is_filtered,
    require_one_run,
    try_else,
    verify_contiguous,
)
from polars_rank._engine.pushdown import narrowed
from polars_rank._engine.request import Beside, Request, Resources
from polars_rank._engine.schema import names_of
from polars_rank._engine.spill.in_buckets import (
    careful_plan,
    fits_in_memory,
    held_categories,
    spill_plan,
)
from polars_rank._engine.stages.diversity import sum_subtopics
from polars_rank._engine.stages.join import sum_judged
from polars_rank._engine.stages.queries import listed_queries, select_queries
from polars_rank._engine.stages.rank import pack, unpack
from polars_rank._engine.stages.recommendation.evaluate_lists import evaluate_lists
from polars_rank._engine.stages.select import relevant_rows
from polars_rank._engine.stages.sum import Counted, Plan, sum_terms
from polars_rank._engine.tracing.trace import PlanKey, trace_measures
from polars_rank.core.source import (
    Narrow,
    Read,
    has_source,
    is_rereadable,
    lazy_source,
    without_pushdown,
)
from polars_rank.exceptions import DataError

STAGES = {"values": "values per query", "both": "means and values per query"}
# The others take a sixth of the time of an evaluation of 200 rows. This one makes the
# first rows of a sort a partial sort.
PLAIN = pl.QueryOptFlags.none()
PLAIN.simplify_expression = True

Finish: TypeAlias = Callable[[pl.LazyFrame], tuple[pl.LazyFrame, pl.LazyFrame]]


def result_of(request: Request, *, without: Sequence[str] = ()) -> pl.DataFrame:
    """The values per query, the means or the sums, at once; not all of the columns.

    A few rows of a log alone are ranked and summed; what is left to do with a row per
    query takes less time on the spot than it would take to plan.
    """
    inputs = bind_inputs(request)
    others = (inputs.qrels, inputs.queries, *inputs.descriptions)
    joins = any(frame is not None for frame in others) or bool(request.list_depth)
    in_memory = request.grouping == "hash"
    if not in_memory:
        return plan_result(request).drop(*without).collect(engine="streaming")
    if joins:  # lists of recommenders read the log more than once
        optimized = pl.QueryOptFlags() if request.list_depth else PLAIN
        planned = plan_result(request).drop(*without)
        return planned.collect(engine="in-memory", optimizations=optimized)
    plan = plan_per_query(request, inputs)
    rows = plan.frame.collect(engine="in-memory", optimizations=PLAIN)
    result = _finished(request, inputs, Counted(rows, plan.rules))
    kept = [name for name in result.columns if name not in without]
    return result[kept]  # ``drop`` would be one more plan


def plan_result(request: Request) -> pl.LazyFrame:
    """The values per query, or the means, in the requested layout."""
    result = _in_layout(request, _plan_layout)
    if request.result != "values":
        return result
    if request.resources is None:
        if request.grouping == "hash" or request.layout == "auto":
            return result
        # A Polars plan alone stays one: sources in Python hang in a forked process.
        read = request.layout == "contiguous" or has_source(result)
        return _named(request, result) if read else result
    if request.contributions:  # lists are too wide to be sorted within the limit
        return result
    return _sorted(result, request, request.resources, _narrower(request, result))


def plan_both(request: Request) -> tuple[pl.LazyFrame, Finish]:
    """The rows of one pass, and functions that make means and values from them.

    There is one row per query, to be kept in a file: values, segments, broken rules.
    """
    settled = "any" if request.layout == "auto" else request.layout
    settled_request = replace(request, layout=settled)
    inputs = bind_inputs(settled_request)
    plan = plan_per_query(settled_request, inputs)
    columns = dict.fromkeys(
        [
            *inputs.run.keys,
            *inputs.segments,
            *(f"m{i}" for i in range(len(request.measures))),
            *plan.rules,
            *([] if request.check == "off" else label_facts(inputs)),
        ]
    )

    def rows(request: Request) -> pl.LazyFrame:
        if not request.unclaimed:
            return plan.frame.select(*columns)
        guess = plan_per_query(request, bind_inputs(request))
        sound = enforce(
            guess.frame,
            guess.rules,
            example="key0",
            check=request.check,
            exact_counts=False,
        )
        none = pl.lit(0, pl.UInt32)
        return sound.with_columns(none.alias(n) for n in plan.rules).select(*columns)

    def finish(rows: pl.LazyFrame) -> tuple[pl.LazyFrame, pl.LazyFrame]:
        kept = Plan(rows, plan.rules)
        segments = inputs.segments[: len(inputs.segments) - len(request.keep)]
        means = _means(request, inputs._replace(segments=segments), kept)
        # The means tell what is wrong, once.
        unchecked = replace(request, check="off", layout="contiguous")
        sound = require_sound(unchecked, kept)
        values = values_per_query(unchecked, sound, inputs.segments[len(segments) :])
        if request.resources is not None:
            values = _sorted(values, request, request.resources)
        return means, values

    return _in_layout(request, rows), finish


def _sorted(
    values: pl.LazyFrame,
    request: Request,
    resources: Resources,
    narrow: Narrow | None = None,
) -> pl.LazyFrame:
    from polars_rank._engine.spill.order import sort_bounded  # slow to import

    by = names_of(request.columns.query)
    return sort_bounded(values, by, resources, _stages(request), narrow)


def _in_layout(
    request: Request, plan: Callable[[Request], pl.LazyFrame]
) -> pl.LazyFrame:
    """The plan of the request in the requested layout."""
    if request.layout != "auto" or request.grouping == "hash":
        return plan(request)
    resources, qrels = request.resources, request.qrels
    fallback = plan(replace(request, layout="any"))
    if resources is not None and not all(map(is_rereadable, request.inputs)):
        return fallback  # it writes the rows to a file first

    def contiguous() -> pl.LazyFrame:
        if resources and qrels is not None:
            if is_filtered(request.frame, qrels):  # see in_batches
                raise DataError("the run would not stream past the judgments")
            if not fits_in_memory(qrels, resources):
                raise DataError("the judgments do not fit into memory_limit")
        check = "strict" if request.check == "warn" else request.check
        return plan(replace(request, layout="contiguous", check=check, unclaimed=True))

    return try_else(
        contiguous,
        fallback,
        name="layout=auto",
        claim="rows of a query are contiguous",
        otherwise="spilling them to disk" if resources else "sorting them by query",
        reads=request.inputs,
        detail=_stages(request),
        narrow=_narrower(request, fallback) if request.result == "values" else None,
        spool=None if resources is None else partial(_spool, resources=resources),
        told=lambda error: with_row(error, request),
    )


def _named(request: Request, result: pl.LazyFrame) -> pl.LazyFrame:
    """Values per query in a given layout: named, and filtered early.

    As with ``layout="auto"``, filters on queries are pushed down, and errors name rows.
    """

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        try:
            yield from in_batches(result.select(columns))
        except DataError as error:
            raise with_row(error, request) from None

    return lazy_source(
        read,
        result.collect_schema(),
        name=f"layout={request.layout}",
        detail=_stages(request),
        drain=request.layout == "contiguous",
        narrow=_narrower(request, result),
    )


def _narrower(request: Request, whole: pl.LazyFrame) -> Narrow:
    """Evaluate fewer queries where the result is filtered by them."""

    def narrow(predicate: pl.Expr) -> Read | None:
        if not all(map(is_rereadable, request.inputs)):
            return None
        fewer = narrowed(request, predicate, whole.collect_schema())
        if fewer is None:
            return None

        def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
            try:
                rows = plan_result(fewer).select(columns).collect(engine="streaming")
            except DataError:  # perhaps of these queries only, such as no common one
                result = plan_result(request)
                rows = result.select(columns).collect(engine="streaming")
            yield rows

        return read

    return narrow


def _stages(request: Request) -> str:
    """The stages in words, for ``explain()``."""
    columns = request.columns.names
    order = "score" if columns["rank"] is None else "rank"
    stages = [
        f"rank by {order}",
        "select rows that matter",
        *([] if request.qrels is None else ["join judgments"]),
        *([] if columns["subtopic"] is None else ["sum by subtopic"]),
        "sum by query",
        *([] if request.queries is None else ["keep the queries asked for"]),
        *(["join items and sum lists"] if request.list_depth else []),
        *([] if request.segments is None else ["join segments"]),
        *([] if request.check == "off" else ["check"]),
        STAGES.get(request.result, request.result),
    ]
    return " -> ".join(stages)


def _spool(frame: pl.LazyFrame, resources: Resources) -> Iterator[pl.DataFrame]:
    from polars_rank._engine.spill.order import spool  # slow to import

    return spool(frame, resources)


def _plan_layout(request: Request) -> pl.LazyFrame:
    inputs = bind_inputs(request)
    return _finished(request, inputs, plan_per_query(request, inputs))


def _finished(request: Request, inputs: Inputs, plan: Counted[Frame]) -> Frame:
    """The result, from the values per query."""
    if request.result == "sums":
        return sum_part(_aggregation(request), request, inputs, plan)
    if request.result == "means":
        return _means(request, inputs, plan)
    doubts = request.check != "off" and request.qrels is None and not request.part
    frame = _in_turn(
        plan.frame,
        lambda frame: require_sound(request, plan._replace(frame=frame)),
        lambda frame: check_labels(request, inputs, frame) if doubts else frame,
    )
    return values_per_query(request, frame, inputs.segments)


def _means(request: Request, inputs: Inputs, plan: Counted[Frame]) -> Frame:
    aggregation, doubts = _aggregation(request), request.check != "off"
    more = label_facts(inputs).values() if doubts else ()

    def sum_of(values: Frame) -> Counted[Frame]:
        rows = plan._replace(frame=values)
        return aggregation.sum(rows, inputs.run.keys, inputs.segments, *more)

    values, bounded = plan.frame, request.resources is not None
    if aggregation.grows and bounded and isinstance(values, pl.LazyFrame):
        sums = folded(aggregation, values, sum_of)
    else:
        sums = sum_of(values)
    frame = _in_turn(
        sums.frame,
        lambda frame: aggregation.require_sound(sums._replace(frame=frame)),
        lambda frame: check_sums(request, inputs, frame) if doubts else frame,
    )
    return aggregation.finish(frame)


def _in_turn(
    frame: Frame, first: Callable[[Frame], Frame], then: Callable[[Frame], Frame]
) -> Frame:
    """Pass the rows by two checks; of filters in a plan, the last is applied first."""
    if isinstance(frame, pl.DataFrame):
        return then(first(frame))
    return first(then(frame))


def _aggregation(request: Request) -> Aggregation:
    return Aggregation.of(
        request.measures,
        by=names_of(request.by),
        weighted=request.weight is not None,
        convention=request.convention,
        check=request.check,
        stats=request.stats,
        few=request.few and not request.by and request.result != "sums",
        whole=request.result != "sums" and request.resources is None,
    )


def plan_per_query(request: Request, inputs: Inputs) -> Plan:
    """One row per requested query: ``key0`` ..., segments, ``m0`` ..., rules."""
    key = PlanKey.of(request, inputs)
    schemas = [part.schema for part in inputs.parts]

    def plan_parts(frames: Sequence[pl.LazyFrame]) -> Plan:
        parts = zip(frames, schemas, strict=False)  # the last may be listed queries
        late = key.late_ties is not None and key.qrels is None
        runs = [key.grouping == "contiguous", False]  # judgments may be in any order
        rows = [
            normalize(*part, request, integers_late=late, contiguous=run)
            for part, run in zip(parts, runs, strict=False)
        ]
        listed = frames[len(schemas) :]
        return plan_values(key, *rows, *listed, beside=request.beside)

    frames, resources = [part.frame for part in inputs.parts], request.resources
    if inputs.qrels is not None and inputs.queries is not None:
        frames.append(listed_queries(request, inputs.run.frame, inputs.queries))
    if resources is not None:
        frames = [held_categories(frame, resources) for frame in frames]
    if resources is not None and request.grouping == "sort":
        copies = request.convention.on_duplicate != "error"
        plan = spill_plan(plan_parts, key, frames, resources, copies=copies)
    elif resources is not None and request.grouping == "contiguous":
        plan = careful_plan(plan_parts, key, frames, resources)
    else:
        plan = plan_parts(frames)
    plan = plan._replace(frame=unpack(plan.frame, inputs.run.keys))
    plan = select_queries(request, inputs, plan)
    if request.list_depth:
        frame = check_history(request, inputs, plan.frame)
        plan = evaluate_lists(request, inputs, plan._replace(frame=frame))
    return plan


def plan_values(
    key: PlanKey,
    run: pl.LazyFrame,
    qrels: pl.LazyFrame | None = None,
    listed: pl.LazyFrame | None = None,
    *,
    beside: Beside | None = None,
) -> Plan:
    """One row per query: ``query``, ``m0`` ..., and a count for every rule."""
    if qrels is None or key.qrels is None:
        trace = trace_measures(key)
        plan = sum_terms(key, trace, relevant_rows(key, trace, run))
        if key.grouping == "contiguous":
            rows = pack(run, key.run.keys)
            return plan._replace(frame=verify_contiguous(plan.frame, rows))
        if key.grouping == "sort" and key.ordered_by != "rank" and is_rereadable(run):
            return plan._replace(frame=_sort_cheaper(key, plan.frame, run))
        return plan
    if "subtopic" not in key.qrels.roles:
        plan = sum_judged(key, run, qrels, listed, beside)
    else:
        plan = sum_subtopics(key, run, qrels, listed)
    if key.grouping == "contiguous":
        return plan._replace(frame=require_one_run(plan.frame, [run, qrels]))
    return plan


def _sort_cheaper(key: PlanKey, plan: pl.LazyFrame, run: pl.LazyFrame) -> pl.LazyFrame:
    """The same values, from a log whose queries are sorted by something cheaper.

    Ids of 64 bits are sorted as 32 bits, if all of them fit: nine tenths of the time.
    Text, or several columns, is sorted by a hash: a quarter of the time of the sort. If
    two queries have the same hash, their rows may be mixed; verification finds out.
    """
    keys = list(key.run.keys)
    first, schema = keys[0], run.collect_schema()
    if len(keys) == 1 and schema[first] in (pl.Int64, pl.UInt64):
        claim = "query ids fit into 32 bits"
        near = run.with_columns(pl.col(first).cast(pl.Int32))
        rows = plan_values(key, near).frame
        rows = rows.with_columns(pl.col("query").cast(schema[first]))
    elif len(keys) == 1 and (schema[first].is_integer() or schema[first].is_temporal()):
        return plan
    else:
        claim = "no two queries have one hash"
        near = run.sort(_hash(keys), maintain_order=True)
        rows = plan_values(key._replace(grouping="contiguous"), near).frame
        rows = rows.sort("query")
    attempt = try_else(
        lambda: rows,
        plan,
        name="cheaper sort of query ids",
        claim=claim,
        otherwise="sorting them as they are",
        reads=[run],
    )
    return without_pushdown(attempt)


def _hash(keys: list[str]) -> pl.Expr:
    return (pl.struct(keys) if len(keys) > 1 else pl.col(keys)).hash()
