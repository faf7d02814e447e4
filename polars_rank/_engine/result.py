"""From per-query values to the result: names, means, segments, errors."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from polars_rank._engine.checks.enforce import Check, raise_faults
from polars_rank._engine.layout import first_that_holds
from polars_rank._engine.plan import PerQuery
from polars_rank._engine.request import Request
from polars_rank._engine.schema import Frame
from polars_rank._engine.spill.plan import fits
from polars_rank.core.registry import AggregateName
from polars_rank.core.source import is_rereadable
from polars_rank.exceptions import DataError

__all__ = ["collected", "laid_out", "mean_frame", "per_query_frame"]


def collected(frame: Frame, request: Request, result: pl.LazyFrame) -> Frame:
    """A DataFrame for a DataFrame, a LazyFrame for a LazyFrame."""
    if isinstance(frame, pl.LazyFrame):
        return result
    in_memory = request.grouping == "hash"
    return result.collect(engine="in-memory" if in_memory else "streaming")


def laid_out(
    request: Request, result: Callable[[Request], pl.LazyFrame]
) -> pl.LazyFrame:
    """The result in the layout that is asked for; ``"auto"`` tries adjacent rows."""
    if request.layout != "auto" or request.grouping == "hash":
        return result(request)
    check: Check = "strict" if request.check == "warn" else request.check
    adjacent = request._replace(layout="contiguous", check=check, guess=True)
    fallback = result(request._replace(layout="any"))
    memory, qrels = request.memory, request.qrels
    reads = [f for f in (request.frame, qrels, request.queries) if f is not None]
    if memory is not None and not all(map(is_rereadable, reads)):
        return fallback  # it puts the rows into a file first

    def attempt() -> pl.LazyFrame:
        if memory is not None and qrels is not None and not fits(qrels, memory):
            raise DataError("the judgments do not fit into memory_limit")
        return result(adjacent)

    otherwise = (
        "sorting them by query" if memory is None else "hashing them into buckets"
    )
    claim = "rows of a query stand together"
    return first_that_holds(
        attempt, fallback, claim=claim, otherwise=otherwise, reads=reads
    )


def per_query_frame(request: Request, plan: PerQuery) -> pl.LazyFrame:
    """One row a query, under the user's names."""
    keys = request.columns.query
    frame = raise_faults(
        plan.frame,
        plan.faults,
        refusals=plan.refusals,
        example="key0",
        check=request.check,
        whole=False,
    )
    if not request.sorted:
        frame = frame.sort([f"key{i}" for i in range(len(keys))])
    return frame.select(
        *(pl.col(f"key{i}").alias(name) for i, name in enumerate(keys)),
        *(pl.col(f"m{i}").alias(m.name) for i, m in enumerate(request.measures)),
    )


def mean_frame(
    request: Request, plan: PerQuery, groups: list[str], weighted: bool
) -> pl.LazyFrame:
    """Means over the queries, one row or one for each segment."""
    weight = pl.col(f"by{len(groups)}").cast(pl.Float64) if weighted else None
    by = [f"by{i}" for i in range(len(groups))]
    faults = dict(plan.faults)
    frame = plan.frame
    if weight is not None and request.check != "off":
        good = (weight >= 0) & weight.is_finite()
        bad = ~good.fill_null(value=False)
        frame = frame.with_columns(bad_weight=bad.cast(pl.UInt32))
        faults["bad_weight"] = BAD_WEIGHT
    examples = [
        pl.when(pl.col(name) > 0).then(pl.col("key0")).drop_nulls().first().alias(name)
        for name in faults
    ]
    values = [
        pl.len().alias("queries"),
        *(
            _over_queries(
                f"m{i}", request.aggregate(i), weight, spread=request.spreads(i)
            )
            for i in range(len(request.measures))
        ),
        *(pl.col(name).sum() for name in faults),
        *([pl.struct(examples).alias("example")] if faults else []),
    ]
    means = frame.group_by(by).agg(values) if by else frame.select(values)
    means = raise_faults(
        means,
        faults,
        refusals=plan.refusals,
        example="example",
        check=request.check,
        whole=True,
    )
    return means.sort(by).select(
        *(pl.col(own).alias(name) for own, name in zip(by, groups, strict=True)),
        "queries",
        *(pl.col(f"m{i}").alias(m.name) for i, m in enumerate(request.measures)),
    )


def _over_queries(
    name: str, how: AggregateName, weight: pl.Expr | None, *, spread: bool
) -> pl.Expr:
    """Mean or sum of the defined values; with ``spread``, null as soon as one is."""
    value = pl.col(name)
    found = _sum(value, weight) if how == "sum" else _mean(value, weight)
    if how == "geometric":
        found = found.exp()
    if spread:
        found = pl.when(value.null_count() == 0).then(found)
    return found.alias(name)


def _mean(value: pl.Expr, weight: pl.Expr | None) -> pl.Expr:
    if weight is None:
        return value.mean()
    weights = pl.when(value.is_not_null()).then(weight).sum()
    return ((value * weight).sum() / weights).fill_nan(None)


def _sum(value: pl.Expr, weight: pl.Expr | None) -> pl.Expr:
    """A sum of nothing is unknown, as a mean is."""
    total = (value if weight is None else value * weight).sum()
    return pl.when(value.count() > 0).then(total)


BAD_WEIGHT = "weights that are null, negative or not finite; give each query a weight"
