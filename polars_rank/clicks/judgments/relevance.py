"""Estimate the relevance of documents from their clicks, with intervals."""

from __future__ import annotations

import math
from typing import Any, Literal, TypeAlias, cast

import polars as pl

from polars_rank._statistics.distributions import normal_quantile, special
from polars_rank.core.expr import ratio

Prior: TypeAlias = tuple[float, float] | Literal["log", "query"] | None


def estimated(
    table: pl.LazyFrame, method: str, prior: Prior, level: float | None
) -> pl.LazyFrame:
    """Add ``estimate``, ``lower`` and ``upper``."""
    n, c, e = (pl.col(name) for name in ("impressions", "clicks", "exposure"))
    clicks = c.cast(pl.Float64)
    if prior is not None:
        table, more, extra = _with_prior(table, prior)
        shape, rate = more + clicks, extra + e
        sure = more.is_infinite()  # nothing varies: the mean itself
        mean = pl.col("mean")
        low, high = (
            pl.when(sure).then(mean).otherwise(bound / rate)
            for bound in _gamma(shape, shape, level)
        )
        estimate = pl.when(sure).then(mean).otherwise(shape / rate)
        return table.with_columns(estimate=estimate, lower=low, upper=high)
    if method == "ctr" and level is not None:
        z = normal_quantile(0.5 + level / 2)
        rate = clicks / n
        middle = (rate + z * z / (2 * n)) / (1 + z * z / n)
        half = (rate * (1 - rate) / n + z * z / (4 * n * n)).sqrt() * z
        half = half / (1 + z * z / n)
        return table.with_columns(
            estimate=rate,
            lower=(middle - half).clip(lower_bound=0.0),
            upper=(middle + half).clip(upper_bound=1.0),
        )
    low, high = _gamma(clicks, clicks + 1.0, level)
    if method == "ips":
        # As many examinations per click as those of the document had on average.
        size = pl.when(c > 0).then(pl.col("weighted") / clicks / n).otherwise(1.0 / e)
        return table.with_columns(
            estimate=pl.col("weighted") / n, lower=low * size, upper=high * size
        )
    below = pl.col("background")
    return table.with_columns(
        estimate=ratio(clicks - below, e),
        lower=ratio(low - below, e),
        upper=ratio(high - below, e),
    )


def _gamma(low: pl.Expr, high: pl.Expr, level: float | None) -> tuple[pl.Expr, pl.Expr]:
    """Return the interval of a Poisson mean: quantiles of two gammas."""
    if level is None:
        empty = pl.lit(None, pl.Float64)
        return empty, empty
    tail = (1 - level) / 2

    def quantile(p: float) -> Any:
        def of(shape: pl.Series) -> pl.Series:
            values = special().gammaincinv(shape.to_numpy(), p)
            return pl.Series(shape.name, values).fill_nan(None)

        return of

    ends = [
        shape.map_batches(quantile(p), return_dtype=pl.Float64, is_elementwise=True)
        for shape, p in ((low, tail), (high, 1 - tail))
    ]
    return pl.when(low > 0).then(ends[0]).otherwise(0.0), ends[1]


def _with_prior(
    table: pl.LazyFrame, prior: Prior
) -> tuple[pl.LazyFrame, pl.Expr, pl.Expr]:
    """Return the table with ``mean``; clicks and examinations to be added.

    Moments: ``E (c - m e)^2 = m e + tau (m e)^2`` of clicks c, examinations e, mean m;
    the relative variance tau is one for the log.
    """
    if not isinstance(prior, str):
        a, b = cast("tuple[float, float]", prior)
        table = table.with_columns(mean=pl.lit(a / b))
        return table, pl.lit(float(a)), pl.lit(float(b))
    c, e = pl.col("clicks"), pl.col("exposure")
    mean = ratio(c.sum().cast(pl.Float64), e.sum())
    table = table.with_columns(mean=mean.over("query") if prior == "query" else mean)
    expected = pl.col("mean") * e
    excess = ((c - expected) ** 2 - c).sum()
    tau = ratio(excess, (expected**2).sum())
    shape = pl.when(tau > 0).then(1.0 / tau).otherwise(math.inf)
    table = table.with_columns(shape=shape)
    return table, pl.col("shape"), pl.col("shape") / pl.col("mean")
