"""Compute intervals of propensities that allow for clusters of unequal sizes."""

from __future__ import annotations

import math
import sys

import polars as pl

from polars_rank._statistics.clusters import effective_number, inflation
from polars_rank.clicks.behavior.ratios import margin, warn_if_few
from polars_rank.clicks.bias.position_rows import Task, is_by_query
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.impressions import bounded_by
from polars_rank.clicks.log.position_counts import shown

LARGEST = math.log(sys.float_info.max)  # of what exp takes
ERRORS = ("se", "alpha_se", "beta_se")


def with_intervals(found: pl.DataFrame, task: Task, log: ClickLog) -> pl.DataFrame:
    """Add the ends of intervals, computed for the logarithm.

    Errors over clusters that were named are those of clusters of unequal sizes. Those
    over queries are jackknifed already.
    """
    jackknifed = task.method in ("harvest", "em") and is_by_query(log)
    named = bool(log.cluster) and not jackknifed
    if named:
        sizes = _sizes(task, log).collect(engine="streaming")
        on = task.by or ["one"]
        found = found.with_columns(one=pl.lit(1)).join(
            sizes, on=on, how="left", nulls_equal=True, maintain_order="left"
        )
        errors = [name for name in ERRORS if name in found.columns]
        found = found.with_columns(
            pl.col(errors) * pl.col("inflation"), effective_clusters="effective"
        )
        known = found.filter(pl.col("se").is_not_null())
        warn_if_few(known.unique(on)["effective_clusters"])
    units = pl.col("effective_clusters" if named else "clusters")
    value, error = pl.col("propensity"), pl.col("se")
    # Few clusters, or a few that are much larger: Student's t of the effective number,
    # (sum size)^2 / sum size^2 (Kish, Survey Sampling, 1965).
    reach = margin(units.cast(pl.Float64), task.level, warns=False) * error / value
    factor = pl.when(reach < LARGEST).then(reach.exp()).otherwise(math.inf)
    # An error of 0 is that of the reference, or of no click at all.
    factor = pl.when(error > 0).then(factor).when(error == 0).then(1.0)
    found = found.with_columns(factor=factor)
    return found.with_columns(
        lower=value / pl.col("factor"), upper=value * pl.col("factor")
    ).drop("factor", "one", "effective", "inflation", strict=False)


def _sizes(task: Task, log: ClickLog) -> pl.LazyFrame:
    """Compute the effective number of clusters, and the factor on errors.

    The size of a cluster is the number of documents that it was shown, of the rows that
    the method uses.
    """
    used = {
        "randomized": pl.col("randomized"),
        "swap": pl.col("swap").is_not_null(),
        "fair_pairs": pl.col("swap").is_not_null(),
    }
    keys = log.clusters
    rows = log.rows.filter(used.get(task.method, pl.lit(value=True)))
    rows = rows.select(*task.by, **keys, size=shown(log))
    size = pl.col("size")

    def summed(rows: pl.LazyFrame) -> pl.LazyFrame:
        clusters = rows.group_by(*task.by, *keys).agg(size.sum().cast(pl.Int128))
        return clusters.group_by(task.by or pl.lit(1).alias("one")).agg(
            n=pl.len().cast(pl.Int64),
            total=size.sum(),
            squares=(size * size).sum(),
            largest=size.max(),
        )

    parts = bounded_by(log, rows, [*keys], summed, "sizes of clusters")
    sums = parts.group_by(task.by or "one").agg(
        pl.col("n", "total", "squares").sum(), pl.col("largest").max()
    )
    names = ("n", "total", "squares", "largest")
    n, total, squares, largest = (pl.col(name).cast(pl.Float64) for name in names)
    factor = pl.when(n > 1).then(inflation(n, total, squares, largest))
    return sums.select(
        *(task.by or ["one"]),
        effective=effective_number(total, squares),
        inflation=factor.fill_null(1.0),
    )
