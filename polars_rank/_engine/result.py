"""From values per query to the result: means, segments, the user's names."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_rank._engine.checks.enforce import enforce
from polars_rank._engine.request import Request
from polars_rank._engine.stages.sum import Plan
from polars_rank.core.aggregate import Aggregate, GeometricMean, Mean, NullIfAny, Sum
from polars_rank.core.rules import INVALID_WEIGHT
from polars_rank.measures.measure import Custom, Measure

__all__ = ["means", "values_per_query"]

AGGREGATES = {"mean": Mean, "sum": Sum, "geometric": GeometricMean}


def values_per_query(request: Request, plan: Plan) -> pl.LazyFrame:
    """One row per query, sorted, under the user's names."""
    names = request.columns.query
    keys = [f"key{i}" for i in range(len(names))]
    frame = enforce(
        plan.frame, plan.rules, example="key0", check=request.check, exact_counts=False
    )
    if request.grouping == "contiguous" or request.resources is not None:
        frame = frame.sort(keys)
    return frame.select(
        *(pl.col(key).alias(name) for key, name in zip(keys, names, strict=True)),
        *(pl.col(f"m{i}").alias(m.name) for i, m in enumerate(request.measures)),
    )


def means(request: Request, plan: Plan, segments: Sequence[str]) -> pl.LazyFrame:
    """Means over the queries, one row, or one for each segment.

    ``segments`` are the columns of ``by`` and, last, of the weight.
    """
    names = request.by or ()
    by, weight = list(segments[: len(names)]), None
    if request.weight is not None:
        weight = pl.col(segments[-1]).cast(pl.Float64)
        if request.check != "off":
            valid = (weight >= 0) & weight.is_finite()
            plan = plan.with_rule(INVALID_WEIGHT, ~valid.fill_null(value=False))
    aggregates = [_aggregate(request, m) for m in request.measures]
    values = [pl.col(f"m{i}") for i in range(len(aggregates))]
    states = [a.state(v, weight) for a, v in zip(aggregates, values, strict=True)]
    examples = [
        pl.col("key0").filter(pl.col(column) > 0).drop_nulls().first().alias(column)
        for column in plan.rules
    ]
    totals = [
        pl.len().alias("queries"),
        *(
            value.alias(f"m{i}_{name}")
            for i, state in enumerate(states)
            for name, value in state.items()
        ),
        *(pl.col(column).sum() for column in plan.rules),
        *([pl.struct(examples).alias("example")] if examples else []),
    ]
    frame = plan.frame.group_by(by).agg(totals) if by else plan.frame.select(totals)
    frame = enforce(
        frame, plan.rules, example="example", check=request.check, exact_counts=True
    )
    columns = [pl.col(own).alias(name) for own, name in zip(by, names, strict=True)]
    columns.append(pl.col("queries"))
    for i, (aggregate, m) in enumerate(zip(aggregates, request.measures, strict=True)):
        state = {name: pl.col(f"m{i}_{name}") for name in states[i]}
        columns.append(aggregate.finish(state).alias(m.name))
    return frame.sort(by).select(columns)


def _aggregate(request: Request, measure: Measure | Custom) -> Aggregate:
    """How the values of a measure are put together."""
    weighted = request.weight is not None
    few = request.grouping == "hash" and not request.by
    if isinstance(measure, Custom):
        return Mean(weighted, few)
    metric, convention = measure.definition, request.convention
    aggregate = AGGREGATES[metric.aggregate](weighted, few)
    spreads = metric.needs_relevant and (
        convention.no_relevant_of(measure.metric) == "null"
    )
    return NullIfAny(aggregate) if spreads else aggregate
