"""From per-query values to the result: names, means, segments, errors."""

from __future__ import annotations

import polars as pl

from polars_rank.engine.check import raise_faults
from polars_rank.engine.plan import PerQuery
from polars_rank.engine.request import Request

__all__ = ["mean_frame", "per_query_frame"]


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
    policy = request.convention.no_relevant
    values = [
        pl.len().alias("queries"),
        *(
            _mean(f"m{i}", weight, spread=policy == "null" and request.relevance(i))
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


def _mean(name: str, weight: pl.Expr | None, *, spread: bool) -> pl.Expr:
    """Mean of the defined values; with ``spread``, null as soon as one is null."""
    value = pl.col(name)
    if weight is None:
        mean = value.mean()
    else:
        mean = (value * weight).sum() / pl.when(value.is_not_null()).then(weight).sum()
        mean = mean.fill_nan(None)
    if spread:
        mean = pl.when(value.null_count() == 0).then(mean)
    return mean.alias(name)


BAD_WEIGHT = "weights that are null, negative or not finite; give each query a weight"
