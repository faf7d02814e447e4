"""From sums to differences with errors, tests, effects and notes: Polars frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from polars_rank._statistics.distributions import Alternative, special
from polars_rank._statistics.intervals import interval, p_value, wilson
from polars_rank.comparison.input.procedures import names_of, require_names
from polars_rank.comparison.input.values import metric_of
from polars_rank.comparison.tests.effects import d_z_interval, hedges_factor
from polars_rank.core.aggregate import ROUNDING
from polars_rank.core.expr import ratio
from polars_rank.core.extras import require


@dataclass(frozen=True)
class Plan:
    """The comparisons, and the segments they are made in."""

    systems: list[str]
    pairs: list[tuple[str, str]]
    segments: list[str]
    level: float
    alternative: Alternative
    interval_level: float  # of differences: higher where all of them hold at once


def pairs_of(
    systems: Sequence[str], baseline: str | Sequence[str] | None
) -> list[tuple[str, str]]:
    """Baseline and system of every comparison."""
    if baseline is None:
        return [(a, b) for i, a in enumerate(systems) for b in systems[i + 1 :]]
    baselines = names_of(baseline)
    require_names(baselines, systems, "system")
    if len({*baselines}) < len(baselines):
        msg = f"a baseline is named twice: {', '.join(baselines)}"
        raise ValueError(msg)
    return [
        (a, b)
        for i, a in enumerate(baselines)
        for b in systems
        if b != a and b not in baselines[:i]
    ]


def estimated(table: pl.DataFrame, segments: Sequence[str]) -> pl.DataFrame:
    """Sums with ``mean``, ``error``, ``df`` and ``sd``, the deviation of one query.

    The error is HC1 of a weighted mean, and CR1 over clusters. A spread within the
    rounding of the values is 0.
    """
    n, queries = (pl.col(c).cast(pl.Float64) for c in ("n", "queries"))
    d, dd, ee, squares = (pl.col(c) for c in ("d", "dd", "ee", "squares"))
    table = table.with_columns(
        mean=ratio(pl.col("x"), d),
        df=pl.when(n > 1).then(n - 1.0),
        size=ratio(d * d, dd),
    )
    keys = [*segments, "measure"]
    square = ratio(squares, d) + pl.col("mean") ** 2
    for role in ("system", "other"):
        own = table.filter(pl.col("other").is_null()).select(
            *keys, pl.col("system").alias(role), square.alias(f"square_of_{role}")
        )
        table = table.join(
            own, on=[*keys, role], how="left", nulls_equal=True, maintain_order="left"
        )
    rounding = ROUNDING**2 * pl.sum_horizontal("square_of_system", "square_of_other")
    ee = pl.when(ee > rounding * dd).then(ee).otherwise(0.0)
    squares = pl.when(squares > rounding * d).then(squares).otherwise(0.0)
    return table.with_columns(
        error=pl.when(n > 1).then((ee / (1.0 - 1.0 / n)).sqrt() / d),
        sd=pl.when(queries > 1).then((squares / d / (1.0 - 1.0 / queries)).sqrt()),
    ).drop("square_of_system", "square_of_other")


def oriented(table: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """The sums and estimates of the wanted pairs, as ``system - baseline``."""
    wanted = pl.DataFrame(
        plan.pairs, schema={"baseline": pl.String, "system": pl.String}, orient="row"
    ).with_row_index("place")
    ahead = table.filter(pl.col("other").is_not_null()).rename(
        {"system": "baseline", "other": "system"}
    )
    turned = ahead.rename({"system": "baseline", "baseline": "system"}).with_columns(
        -pl.col("x"), -pl.col("ed"), -pl.col("mean"),
        wins=pl.col("losses"), losses=pl.col("wins"),
    )  # fmt: skip
    both = pl.concat([ahead, turned.select(ahead.columns)])
    order = table.select("measure").unique(maintain_order=True).with_row_index("rank")
    return (
        both.join(wanted, on=["baseline", "system"])
        .join(order, on="measure")
        .sort("rank", *plan.segments, "place")
        .drop("rank", "place")
    )


def counts_once(table: pl.DataFrame) -> bool:
    """Whether every query is a unit of its own, and has the weight 1.

    Weights whose mean is 1 have the right sum ``d``, but not the sum of squares ``dd``.
    """
    n, d, dd, queries = (pl.col(c) for c in ("n", "d", "dd", "queries"))
    return bool(table.select(((n == queries) & (d == n) & (dd == n)).all()).item())


def means_of(own: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Mean of every system, with its interval: Wilson's, if all values are 0 or 1."""
    mean, error = pl.col("mean"), pl.col("error")
    low, high = interval(mean, error, pl.col("df"), level=plan.level)
    variance = pl.col("squares") / pl.col("d")
    binary = (variance - mean * (1.0 - mean)).abs() < 1e-12
    # Of queries that depend on each other, as many count as would have this error.
    clustered = (pl.col("n") < pl.col("queries")) & (error > 0)
    size = pl.when(clustered).then(mean * (1.0 - mean) / error**2).otherwise("size")
    for_shares = wilson(mean, size, level=plan.level)
    low, high = (
        pl.when(binary).then(share).otherwise(end)
        for share, end in zip(for_shares, (low, high), strict=True)
    )
    natural = pl.col("measure").is_in(_geometric(own))
    raised = {
        name: pl.when(natural).then(value.exp()).otherwise(value)
        for name, value in (("mean", mean), ("lower", low), ("upper", high))
    }
    scale = pl.when(natural).then(mean.exp()).otherwise(1.0)  # by the delta method
    return own.select(
        *plan.segments,
        "measure",
        "system",
        "queries",
        mean=raised["mean"],
        se=error * scale,
        lower=raised["lower"],
        upper=raised["upper"],
    )


def _geometric(table: pl.DataFrame) -> list[str]:
    found = []
    for name in table["measure"].unique(maintain_order=True):
        metric = metric_of(name)
        if metric is not None and metric.aggregate == "geometric":
            found.append(name)
    return found


def compared(
    pairs: pl.DataFrame, own: pl.DataFrame, plan: Plan, *, independent: bool
) -> pl.DataFrame:
    """Differences with interval and t test."""
    keys = [*plan.segments, "measure"]
    kept = own.select(*keys, "system", "mean", "sd", "error", "df", "queries")
    mine = kept.rename(
        {
            "mean": "own",
            "sd": "sd_own",
            "error": "error_own",
            "df": "df_own",
            "queries": "queries_own",
        }
    )
    base = kept.rename(
        {
            "system": "baseline",
            "mean": "base",
            "sd": "sd_base",
            "error": "error_base",
            "df": "df_base",
            "queries": "queries_base",
        }
    )
    frame = pairs.join(
        base,
        on=[*keys, "baseline"],
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    frame = frame.join(
        mine, on=[*keys, "system"], how="left", nulls_equal=True, maintain_order="left"
    )
    if independent:  # Welch
        a, b = pl.col("error_base") ** 2, pl.col("error_own") ** 2
        frame = frame.with_columns(
            mean=pl.col("own") - pl.col("base"),
            error=(a + b).sqrt(),
            df=(a + b) ** 2 / (a**2 / pl.col("df_base") + b**2 / pl.col("df_own")),
            sd=((pl.col("sd_base") ** 2 + pl.col("sd_own") ** 2) / 2).sqrt(),
            queries=pl.min_horizontal("queries_base", "queries_own"),
            **{c: pl.lit(None, dtype=pl.UInt32) for c in ("wins", "ties", "losses")},
        )
    frame = t_tested(frame, plan)
    natural = pl.col("measure").is_in(_geometric(own))
    return frame.with_columns(
        relative=pl.when(natural)
        .then(pl.col("mean").exp() - 1.0)
        .otherwise(ratio(pl.col("mean"), pl.col("base"))),
        baseline_mean=pl.when(natural)
        .then(pl.col("base").exp())
        .otherwise(pl.col("base")),
        system_mean=pl.when(natural).then(pl.col("own").exp()).otherwise(pl.col("own")),
        logarithmic=natural,
    )


def t_tested(frame: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Interval, statistic and p-value of t, from ``mean``, ``error`` and ``df``."""
    mean, error, df = pl.col("mean"), pl.col("error"), pl.col("df")
    low, high = interval(
        mean, error, df, level=plan.interval_level, alternative=plan.alternative
    )
    frame = frame.with_columns(
        statistic=_statistic(mean, error), se=error, lower=low, upper=high
    )
    p = p_value(pl.col("statistic"), df, plan.alternative)
    nothing = (error == 0) & (pl.col("statistic") == 0)
    return frame.with_columns(p_value=pl.when(nothing).then(1.0).otherwise(p))


def _statistic(mean: pl.Expr, error: pl.Expr) -> pl.Expr:
    """Mean by error; 0 for no difference at all, infinite for a constant one."""
    constant = (
        pl.when(mean.abs() < 1e-12).then(0.0).otherwise(mean.sign() * float("inf"))
    )
    return pl.when(error == 0).then(constant).otherwise(mean / error)


def equivalence(frame: pl.DataFrame, margin: float, level: float) -> pl.DataFrame:
    """Two one-sided tests: the difference lies within the margin (TOST).

    ``p_value`` is the larger of both; it is below 1 - level if and only if the interval
    of level 1 - 2 (1 - level) lies within the margin.
    """
    mean, error, df = pl.col("mean"), pl.col("error"), pl.col("df")
    low, high = interval(mean, error, df, level=2 * level - 1)
    above = _statistic(mean + margin, error)
    below = _statistic(mean - margin, error)
    return (
        frame.with_columns(above=above, below=below, lower=low, upper=high)
        .with_columns(
            p_value_lower=p_value(pl.col("above"), df, "greater"),
            p_value_upper=p_value(pl.col("below"), df, "less"),
        )
        .with_columns(
            p_value=pl.max_horizontal("p_value_lower", "p_value_upper"),
            statistic=pl.when(pl.col("p_value_lower") > pl.col("p_value_upper"))
            .then(pl.col("above"))
            .otherwise(pl.col("below")),
        )
    )


def with_effect(frame: pl.DataFrame, effect: str, level: float) -> pl.DataFrame:
    """The effect size, and the interval of d_z or Hedges' g."""
    d, n = pl.col("mean"), pl.col("queries").cast(pl.Float64)
    d_z = ratio(d, pl.col("sd"))
    both = ((pl.col("sd_base") ** 2 + pl.col("sd_own") ** 2) / 2).sqrt()
    factor = pl.lit(pl.Series(hedges_factor(frame["queries"].to_numpy()))).fill_nan(
        None
    )
    value = {
        "d_z": d_z,
        "hedges": d_z * factor,
        "d_av": ratio(d, both),
        "glass": ratio(d, pl.col("sd_base")),
        "dominance": (pl.col("wins").cast(pl.Float64) - pl.col("losses")) / n,
    }.get(effect)
    frame = frame.with_columns(d_z=d_z)
    if value is not None:
        frame = frame.with_columns(effect=value)
    if effect in ("d_z", "hedges"):
        low, high = d_z_interval(
            frame["d_z"].to_numpy(), frame["queries"].to_numpy(), level
        )
        scale = factor if effect == "hedges" else pl.lit(1.0)
        known = pl.col("d_z").is_not_null()
        return frame.with_columns(
            effect_lower=pl.when(known).then(pl.Series(low).fill_nan(None) * scale),
            effect_upper=pl.when(known).then(pl.Series(high).fill_nan(None) * scale),
        )
    null = pl.lit(None, dtype=pl.Float64)
    return frame.with_columns(effect_lower=null, effect_upper=null)


# -- many systems


def analysis_of_variance(
    table: pl.DataFrame, own: pl.DataFrame, plan: Plan
) -> pl.DataFrame:
    """Two-way analysis of variance without replication: systems and queries.

    ``table`` holds the estimates of all pairs. The residual variance is half the mean
    variance of the differences.
    """
    m = len(plan.systems)
    keys = [*plan.segments, "measure"]
    residual = (
        table.group_by(keys, maintain_order=True)
        .agg(pairs=pl.len(), residual=(pl.col("sd") ** 2).mean() / 2)
        .filter(pl.col("pairs") == m * (m - 1) // 2)
    )
    q = pl.col("queries").cast(pl.Float64)
    between = (
        own.group_by(keys, maintain_order=True)
        .agg(
            pl.col("queries").first(),
            ss_system=((pl.col("mean") - pl.col("mean").mean()) ** 2).sum(),
            ss_within=pl.col("squares").sum(),
        )
        .with_columns(ss_system=q * pl.col("ss_system"))
        .join(residual, on=keys, nulls_equal=True, maintain_order="left")
    )
    df_error = (q - 1.0) * (m - 1)
    frame = between.with_columns(
        df_system=pl.lit(m - 1.0),
        df_error=df_error,
        ss_error=pl.col("residual") * df_error,
        ss_total=pl.col("ss_within") + pl.col("ss_system"),
        f=ratio(pl.col("ss_system") / (m - 1), pl.col("residual")),
    )
    p = special().fdtrc(
        frame["df_system"].to_numpy(),
        frame["df_error"].to_numpy(),
        frame["f"].to_numpy(),
    )
    system, error, v = pl.col("ss_system"), pl.col("ss_error"), pl.col("residual")
    return frame.select(
        *keys,
        "queries",
        "ss_system",
        ss_query=pl.col("ss_total") - system - error,
        ss_error=error,
        variance=v,
        f=pl.col("f"),
        df_system=pl.col("df_system"),
        df_error=pl.col("df_error"),
        p_value=pl.Series(np.asarray(p, dtype=np.float64)).fill_nan(None),
        omega_squared=ratio(system - (m - 1) * v, pl.col("ss_total") + v),
        partial_eta_squared=ratio(system, system + error),
    )


def tukey(frame: pl.DataFrame, anova: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Tukey's honestly significant difference for paired systems.

    The statistic is the difference by the root of residual variance / queries; it
    controls the whole family. Source: Carterette, TOIS 2012.
    """
    distribution = require("scipy.stats", "stats").studentized_range
    m = len(plan.systems)
    keys = [*plan.segments, "measure"]
    critical = [
        None if v is None or not df > 0 else float(distribution.ppf(plan.level, m, df))
        for v, df in anova.select("variance", "df_error").rows()
    ]
    known = anova.select(
        *keys, "variance", "df_error", critical=pl.Series(critical, dtype=pl.Float64)
    )
    frame = frame.join(
        known, on=keys, how="left", nulls_equal=True, maintain_order="left"
    )
    scale = (pl.col("variance") / pl.col("queries")).sqrt()
    frame = frame.with_columns(
        statistic=_statistic(pl.col("mean").abs(), scale),
        df=pl.col("df_error"),
        se=scale * 2.0**0.5,
        lower=pl.col("mean") - pl.col("critical") * scale,
        upper=pl.col("mean") + pl.col("critical") * scale,
    )
    p = [
        None if q is None or not df > 0 else float(distribution.sf(q, m, df))
        for q, df in frame.select("statistic", "df").rows()
    ]
    return frame.with_columns(p_value=pl.Series(p, dtype=pl.Float64))


def fisher_lsd(frame: pl.DataFrame, anova: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Fisher's least significant difference: t with the pooled residual variance."""
    keys = [*plan.segments, "measure"]
    known = anova.select(*keys, "variance", "df_error")
    frame = frame.join(
        known, on=keys, how="left", nulls_equal=True, maintain_order="left"
    )
    error = (2.0 * pl.col("variance") / pl.col("queries")).sqrt()
    low, high = interval(
        pl.col("mean"), error, pl.col("df_error"), level=plan.interval_level
    )
    return frame.with_columns(
        statistic=_statistic(pl.col("mean"), error),
        df=pl.col("df_error"),
        se=error,
        lower=low,
        upper=high,
    ).with_columns(p_value=p_value(pl.col("statistic"), pl.col("df")))
