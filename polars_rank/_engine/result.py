"""From values per query to the result: means, segments, the user's names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from polars_rank._engine.checks.enforce import Check, enforce
from polars_rank._engine.request import Request
from polars_rank._engine.stages.sum import Plan
from polars_rank.core.aggregate import Aggregate, GeometricMean, Mean, NullIfAny, Sum
from polars_rank.core.rules import INVALID_WEIGHT
from polars_rank.measures.measure import Custom, Measure

__all__ = ["Aggregation", "values_per_query"]

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


class Aggregation(NamedTuple):
    """How values of queries become a result, in two steps: sums, then means.

    The sums of parts of the data add up to those of the whole.

    Attributes
    ----------
    names, aggregates
        Of the measures, in order.
    by
        The user's names of segments.
    weighted
        Whether queries have weights.
    check
        As in :class:`Request`.
    """

    names: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    by: tuple[str, ...]
    weighted: bool
    check: Check

    @classmethod
    def of(cls, request: Request) -> Aggregation:
        """That of a request."""
        return cls(
            names=tuple(m.name for m in request.measures),
            aggregates=tuple(_aggregate(request, m) for m in request.measures),
            by=request.by,
            weighted=request.weight is not None,
            check=request.check,
        )

    def sum(self, plan: Plan, segments: Sequence[str]) -> Plan:
        """One row, or one for each segment: a state per measure, a count per rule.

        ``segments`` are the columns of ``by`` and, last, of the weight. ``by0`` ... are
        the segments, ``queries`` their number, ``m0_n`` ... the states; ``example`` has
        a query for each rule that is broken.
        """
        weight = pl.col(segments[-1]).cast(pl.Float64) if self.weighted else None
        if weight is not None and self.check != "off":
            valid = (weight >= 0) & weight.is_finite()
            plan = plan.with_rule(INVALID_WEIGHT, ~valid.fill_null(value=False))
        examples = [
            pl.col("key0").filter(pl.col(column) > 0).drop_nulls().first().alias(column)
            for column in plan.rules
        ]
        sums = [
            pl.len().alias("queries"),
            *(
                value.alias(f"m{i}_{part}")
                for i, aggregate in enumerate(self.aggregates)
                for part, value in aggregate.state(pl.col(f"m{i}"), weight).items()
            ),
            *(pl.col(column).sum() for column in plan.rules),
            *([pl.struct(examples).alias("example")] if examples else []),
        ]
        by = segments[: len(self.by)]
        if not by:
            return Plan(plan.frame.select(sums), plan.rules)
        frame = plan.frame.group_by(by).agg(sums)
        own = (pl.col(name).alias(f"by{i}") for i, name in enumerate(by))
        return Plan(frame.select(*own, pl.exclude(by)), plan.rules)

    def finish(self, sums: Plan) -> pl.LazyFrame:
        """The means out of the sums, unless a rule is broken; the user's names."""
        frame = enforce(
            sums.frame,
            sums.rules,
            example="example",
            check=self.check,
            exact_counts=True,
        )
        by = [f"by{i}" for i in range(len(self.by))]
        means = (a.finish(_State(f"m{i}_")) for i, a in enumerate(self.aggregates))
        return frame.sort(by).select(
            *(pl.col(own).alias(name) for own, name in zip(by, self.by, strict=True)),
            pl.col("queries"),
            *(mean.alias(name) for mean, name in zip(means, self.names, strict=True)),
        )


class _State(dict[str, pl.Expr]):
    """The parts of a state: columns with a prefix."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def __missing__(self, part: str) -> pl.Expr:
        return pl.col(f"{self.prefix}{part}")


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
