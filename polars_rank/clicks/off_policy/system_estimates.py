"""Estimate systems out of weighed impressions, and warn of doubtful results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import cast

import polars as pl

from polars_rank._engine.checks.enforce import warn
from polars_rank.clicks.behavior.ratios import (
    Interval,
    Ratio,
    estimates,
    sums,
    sums_of_clusters,
)
from polars_rank.clicks.log.impressions import error_of
from polars_rank.clicks.log.log_columns import require_distinct
from polars_rank.clicks.off_policy.weighing import Estimation
from polars_rank.core.expr import ratio
from polars_rank.core.rules import NO_SUPPORT

ENOUGH = 0.95  # of the new ranking's weight on documents that were logged
HEAVY = 100  # effective number of clicks
LARGE = 0.1  # share of one click in the sum of weights
SAME_LOG = (
    "the propensities seem to come from this log, of as many clicks and impressions: "
    "intervals that take them as known are too short; give propensities='harvest' for "
    "those of a jackknife, or interval='none'"
)
NO_CLICKS = "there are no clicks: nothing can be estimated"
TOLD = ("system", "support_share", "clicks", "largest_weight_share", "effective_size")
RESULT = (
    *("system", "estimate", "se", "lower", "upper"),
    *("effective_size", "largest_weight_share"),
    *("clipped", "cut", "support_share", "relevant_per_impression"),
    *("impressions", "clicks", "clusters", "effective_clusters", "scale"),
)


def estimate_systems(
    task: Estimation, baseline: str | None, interval: Interval, *, bounded: bool
) -> pl.LazyFrame:
    """Estimate a row per segment and system; ``bounded``: with an interval."""
    log, names = task.log, [s.name for s in task.systems]
    by = log.segments
    require_distinct([*log.by, *RESULT])
    # Polars does not see that both sums below are of the same plan.
    rows = task.per_impression().with_columns(**by).cache()
    weight = log.times
    values = {f"v{i}": pl.col(f"value:{n}") * weight for i, n in enumerate(names)}
    labels = dict(zip(values, names, strict=True))
    for i, name in enumerate(names):
        if baseline is not None and name != baseline:
            other = names.index(baseline)
            values[f"d{i}"] = values[f"v{i}"] - values[f"v{other}"]
            labels[f"d{i}"] = f"{name} - {baseline}"
    den = pl.col("w") if task.method == "snips" else pl.lit(1, pl.Int64)
    summed = rows.with_columns(**values, den=den * weight)
    formulas = [*values.values()]
    clusters = sums_of_clusters(log, summed, [*by], [*values, "den"], formulas)
    ratios = [Ratio(label, v, "den") for v, label in labels.items()]
    means = log.is_each_alone and not log.weight and task.method != "snips"
    found = estimates(log, clusters, ratios, interval, means=means)
    long = found.rename({"measure": "system", "n": "impressions"})
    about = _diagnosed(task, rows, by, weight)
    if by:
        long = long.join(about, on=[*by], nulls_equal=True, maintain_order="left")
    else:
        long = long.join(about, how="cross", maintain_order="left")
    support = pl.lit(None, pl.Float64)
    for name in names:
        own = pl.col("system") == name
        support = pl.when(own).then(pl.col(f"support:{name}")).otherwise(support)
    clicked = pl.col("relevant_per_impression") > 0  # by impressions that count
    empty = ~clicked.fill_null(value=False) & (task.method != "dm")
    long = long.with_columns(
        pl.when(~empty).then(pl.col(c)).alias(c)
        for c in ("estimate", "se", "lower", "upper")
    )
    long = long.with_columns(support_share=support, scale=pl.lit(task.scale))
    order = pl.col("system").replace_strict(
        [*labels.values()], range(len(labels)), return_dtype=pl.Int64
    )
    long = long.sort(*by, order, nulls_last=True, maintain_order=True)
    told = [*TOLD]
    if task.fitted is not None and interval.kind != "none":
        told += ["impressions", *task.fitted.collect_schema()]
        long = long.join(task.fitted, how="cross", maintain_order="left")
    checked = pl.map_batches(
        told,
        partial(_doubts, modeled=task.method == "dm", bounded=bounded),
        return_dtype=pl.Boolean,
    )
    long = long.filter(checked).select(*by, *RESULT)
    return log.titled(long)


def _doubts(columns: Sequence[pl.Series], *, modeled: bool, bounded: bool) -> pl.Series:
    """Warn of doubtful results; raise an error if nothing was logged."""
    system, support, clicks, largest, size, *fitted = columns
    for name, low in zip(system, support, strict=True):
        if low is not None:
            tell_support(name, low)
    if (clicks == 0).any() and not modeled:
        warn(NO_CLICKS)
    if fitted and _are_of_this_log(system, clicks, *fitted):
        warn(SAME_LOG)
    if (largest > LARGE).any():
        share = cast("float", largest.max())
        warn(
            f"a single click has {share:.0%} of all weight; see effective_size, and "
            "consider clip="
        )
    elif (size < HEAVY).any() and bounded and not modeled:
        least = cast("float", size.min())
        warn(
            f"the weights are those of {least:.0f} clicks (effective_size): below "
            f"{HEAVY}, intervals are too short"
        )
    return pl.repeat(True, len(system), dtype=pl.Boolean, eager=True)


def _are_of_this_log(
    system: pl.Series,
    clicks: pl.Series,
    impressions: pl.Series,
    of_clicks: pl.Series,
    of_impressions: pl.Series,
) -> bool:
    """Return whether propensities come from as many clicks and impressions."""
    one = system == system.first()  # each segment once
    found = clicks.filter(one).sum(), impressions.filter(one).sum()
    return found[0] > 0 and found == (of_clicks.first(), of_impressions.first())


def tell_support(name: str, support: float) -> None:
    """Warn if much of a ranking was not logged; raise an error if nothing was."""
    if support == 0:
        raise error_of(NO_SUPPORT, name=name)
    if support < ENOUGH:
        warn(
            f"{1 - support:.0%} of the ranking {name!r} are documents that were not "
            "logged for their query: clicks say nothing of them, and the estimate "
            "is too low"
        )


def _diagnosed(
    task: Estimation, rows: pl.LazyFrame, by: Mapping[str, pl.Expr], weight: pl.Expr
) -> pl.LazyFrame:
    """Diagnose the weights of clicks, those of impressions included."""
    supports = [f"support:{system.name}" for system in task.systems]
    raw = "raw" if task.clip else "w"
    terms = {name: weight * pl.col(name) for name in ("w", raw, *supports)}
    terms["ww"] = weight * weight * pl.col("ww")
    terms["all"] = weight
    terms |= {"low": weight * pl.col("low"), "counted": weight * pl.col("clicks")}
    terms |= {
        f"of {name}": pl.when(pl.col(name).is_not_null()).then(weight)
        for name in supports
    }
    largest = weight * pl.col("largest")
    rows = rows.select(*by, "clicks", **terms, largest=largest)
    counts = {
        "clicks": pl.col("clicks").sum(),
        "largest": pl.col("largest").max(),
    }
    found = sums(rows, [*by], [*terms], counts, few=task.log.small)
    w = pl.col("w")
    return found.select(
        *by,
        "clicks",
        *(ratio(pl.col(name), pl.col(f"of {name}")).alias(name) for name in supports),
        effective_size=ratio(w * w, pl.col("ww")),
        largest_weight_share=ratio(pl.col("largest"), w),
        clipped=ratio(pl.col("low"), pl.col("counted")),
        cut=1.0 - ratio(w, pl.col(raw)),
        relevant_per_impression=ratio(w, pl.col("all")),
    )
