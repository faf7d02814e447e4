"""Confidence intervals and p-values as expressions over an estimate and its error."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_rank._statistics.distributions import (
    Alternative,
    normal_quantile,
    special,
    t_quantile,
    tail,
)


def require_level(level: float, name: str = "level") -> None:
    """Check that a confidence level, or a power, lies between 0 and 1."""
    if not 0.0 < level < 1.0:
        msg = f"{name} must lie between 0 and 1, such as 0.95, not {level!r}"
        raise ValueError(msg)


def interval(
    estimate: pl.Expr,
    error: pl.Expr,
    df: pl.Expr | None = None,
    *,
    level: float | pl.Expr = 0.95,
    alternative: Alternative = "two-sided",
) -> tuple[pl.Expr, pl.Expr]:
    """Return the ends of the interval, null where the error is undefined.

    With ``df`` degrees of freedom Student's t is used, and ``level`` may be an
    expression; without, the normal distribution.
    The interval of a one-sided alternative has no upper (``"greater"``) or no lower end
    (``"less"``).

    Examples
    --------
    >>> low, high = interval(pl.lit(1.0), pl.lit(0.1))
    >>> pl.select(low.round(4).alias("low"), high.round(4).alias("high")).row(0)
    (0.804, 1.196)
    """
    if not isinstance(level, pl.Expr):
        require_level(level)
    p = 0.5 + level / 2 if alternative == "two-sided" else level
    if df is None:
        margin = error * normal_quantile(p)  # type: ignore[arg-type]
    else:
        special()  # what is missing is said at once, not inside a plan
        quantile = pl.map_batches(
            [df.cast(pl.Float64), p if isinstance(p, pl.Expr) else pl.lit(p)],
            _t_quantile,
            return_dtype=pl.Float64,
            is_elementwise=True,
        )
        margin = pl.when(error == 0).then(0.0).otherwise(error * quantile)
    inf = pl.when(margin.is_not_null()).then(float("inf"))
    return (
        -inf if alternative == "less" else estimate - margin,
        inf if alternative == "greater" else estimate + margin,
    )


def wilson(
    share: pl.Expr, n: pl.Expr, *, level: float = 0.95
) -> tuple[pl.Expr, pl.Expr]:
    """Compute Wilson's interval of a share of ``n``: within 0 and 1, never a point.

    Source: Wilson, JASA 1927. Equal to statsmodels'
    ``proportion_confint(method="wilson")``.
    """
    z = normal_quantile(0.5 + level / 2)
    middle = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    spread = (share * (1 - share) / n + z**2 / (4 * n**2)).sqrt() * z / (1 + z**2 / n)
    return (middle - spread).clip(0.0, 1.0), (middle + spread).clip(0.0, 1.0)


def p_value(
    statistic: pl.Expr,
    df: pl.Expr | None = None,
    alternative: Alternative = "two-sided",
) -> pl.Expr:
    """Return the p-value of a t with ``df`` degrees of freedom, or of a normal z."""
    columns = [statistic.cast(pl.Float64)]
    if df is not None:
        special()
        columns.append(df.cast(pl.Float64))

    def of(series: Sequence[pl.Series]) -> pl.Series:
        t, *degrees = (s.to_numpy() for s in series)
        p = tail(t, degrees[0] if degrees else None, alternative)
        return pl.Series(series[0].name, p).fill_nan(None)

    return pl.map_batches(columns, of, return_dtype=pl.Float64, is_elementwise=True)


def _t_quantile(series: Sequence[pl.Series]) -> pl.Series:
    df, p = (s.to_numpy() for s in series)
    return pl.Series(series[0].name, t_quantile(p, df)).fill_nan(None)
