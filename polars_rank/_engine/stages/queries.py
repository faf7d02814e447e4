"""The stage that keeps the requested queries: judged ones, and in ``queries=``."""

from __future__ import annotations

import polars as pl

from polars_rank._engine.checks.totals import (
    check_judgments,
    check_queries,
    check_segments,
)
from polars_rank._engine.inputs import Description, Inputs
from polars_rank._engine.request import Request
from polars_rank._engine.schema import align_ids, name_of, names_of
from polars_rank._engine.stages.sum import Plan
from polars_rank.core.rules import DUPLICATE_QUERY, MISSING_QUERY, NULL_QUERY
from polars_rank.measures.measure import Measure


def listed_queries(
    request: Request, run: pl.LazyFrame, queries: pl.LazyFrame
) -> pl.LazyFrame:
    """Return the keys of ``queries=``, with the types of the run.

    The run's rows of a listed query are kept though nobody judged it. An id that the
    type of the run cannot hold is not in the run.
    """
    schema = run.collect_schema()
    names = _named_keys(request)
    queries, _ = align_ids(queries, run, names, where=("queries", "the frame"))
    keys = (pl.col(key).cast(schema[key], strict=False) for key in names)
    return queries.select(keys).drop_nulls()


def select_queries(request: Request, inputs: Inputs, plan: Plan) -> Plan:
    """Keep the queries that are judged and requested; count the missing ones."""
    null_key = pl.any_horizontal(pl.col(inputs.run.keys).is_null())
    if request.check != "off":  # a query without an id breaks a rule of its own
        unjudged = pl.col("unjudged") & ~null_key
        plan = plan._replace(frame=plan.frame.with_columns(unjudged=unjudged))
    if inputs.qrels is not None:
        plan = _only_judged(request, inputs, plan, null_key)
    if inputs.queries is not None:
        plan = _only_requested(request, inputs, inputs.queries, plan)
    for description in inputs.descriptions:
        plan = _described(request, inputs, description, plan)
    own = {f"by{i}": column for i, (_, column) in enumerate(request.attributes)}
    rules = {
        name: rule._replace(column=name_of(own[rule.column])) if rule.column else rule
        for name, rule in plan.rules.items()
    }
    plan = plan._replace(rules=rules)
    if request.check == "off":
        return plan
    if request.result == "sums" and (inputs.qrels or inputs.queries is not None):
        null_key = null_key & ~pl.col("skipped")
    told = plan.with_rule(NULL_QUERY, null_key)
    last, *others = reversed(told.rules)  # told first: nulls make duplicates, too
    return told._replace(rules={n: told.rules[n] for n in (last, *reversed(others))})


def _only_judged(
    request: Request, inputs: Inputs, plan: Plan, null_key: pl.Expr
) -> Plan:
    frame = plan.frame
    sums = request.result == "sums"
    if request.check != "off" and not request.part:
        frame = check_judgments(request, inputs, frame)
    missing = pl.col("retrieved").is_null()
    skipped = pl.lit(value=False)
    if request.convention.missing == "skip":
        if request.check == "strict":  # queries at fault are kept: an error
            rules = plan.rules.items()
            counts = [pl.col(name) for name, rule in rules if not rule.always]
            faulty = pl.sum_horizontal(counts) > 0 if counts else pl.lit(value=False)
            missing = missing & ~faulty & ~null_key
        skipped = missing
        frame = frame if sums else frame.filter(~missing)
    if sums:
        frame = frame.with_columns(skipped=skipped)
    plan = plan._replace(frame=frame)
    if request.convention.missing == "error":
        return plan.with_rule(MISSING_QUERY, missing)
    return plan


def _only_requested(
    request: Request, inputs: Inputs, queries: pl.LazyFrame, plan: Plan
) -> Plan:
    """Keep exactly the queries of ``queries=``; those without rows are missing."""
    keys, names = inputs.run.keys, _named_keys(request)
    queries, frame = align_ids(
        queries, plan.frame, names, where=("queries", "the frame")
    )
    frame = frame.with_columns(known=pl.lit(value=True))
    queries = queries.drop("varied")
    frame = queries.join(frame, on=list(keys), how="left").sort(keys)
    missing = pl.col("known").is_null()
    if request.check != "off" and not request.part:
        named = pl.all_horizontal(pl.col(keys).is_not_null())
        frame = check_queries(request, inputs, frame, missing & named)
    if request.result == "sums":
        skipped = pl.lit(value=False)
        if inputs.qrels is not None:
            skipped = pl.col("skipped").fill_null(value=False)
        if request.convention.missing == "skip":
            skipped = skipped | missing
        frame = frame.with_columns(skipped=skipped, unknown=missing)
    elif request.convention.missing == "skip":
        frame = frame.filter(~missing)
    if request.convention.missing == "zero":
        zeros = {
            f"m{i}": m.definition.zero
            for i, m in enumerate(request.measures)
            if isinstance(m, Measure) and m.definition.zero is not None
        }
        frame = frame.with_columns(
            pl.when(~missing).then(pl.col(name)).otherwise(zero).alias(name)
            for name, zero in zeros.items()
        )
    plan = plan._replace(frame=frame)
    if request.convention.missing == "error":
        plan = plan.with_rule(MISSING_QUERY, missing)
    if request.check != "off":
        copies = pl.col("copies")
        if request.result == "sums":
            copies = pl.when(~pl.col("skipped")).then(copies)
        plan = plan.with_rule(DUPLICATE_QUERY, copies)
    return plan


def _described(
    request: Request, inputs: Inputs, about: Description, plan: Plan
) -> Plan:
    """Add the segments of the queries; null for queries without a row there."""
    keys, names = inputs.run.keys, _named_keys(request)
    where = (about.where, "the frame")
    known, frame = align_ids(about.frame, plan.frame, names, where=where)
    count = pl.col(about.broken).alias("broken")
    known = known.select(pl.exclude("copies", "varied"), count)
    frame = frame.join(known, on=list(keys), how="left", maintain_order="left")
    plan = plan._replace(frame=frame)
    if request.check == "off":
        return plan._replace(frame=frame.drop("broken"))
    if about.where == "segments" and not request.part:
        found = pl.col("broken").is_not_null()
        frame = check_segments(request, inputs, frame, found, about.frame)
        plan = plan._replace(frame=frame)
    if about.where == "segments" and request.result == "sums":
        described = pl.col("broken").is_not_null()
        plan = plan._replace(frame=frame.with_columns(described=described))
    plan = plan.with_rule(about.rule, pl.col("broken").fill_null(0))
    return plan._replace(frame=plan.frame.drop("broken"))


def _named_keys(request: Request) -> dict[str, str]:
    """Return the user's name of each key column."""
    return {f"key{i}": name for i, name in enumerate(names_of(request.columns.query))}
