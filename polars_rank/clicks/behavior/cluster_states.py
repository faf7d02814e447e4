"""Keep the sums of each cluster in states, so that users may come back.

A row is that of a segment, a measure and a cluster: ``impressions``, ``cluster`` (the
hash of its id), and the sums ``x`` and ``d`` of its numerators and denominators. The
rows of a cluster add up, whatever parts of the log they come from.
"""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_rank.clicks.behavior.ratios import Ratio, states, sums
from polars_rank.core.exact.stable_hash import key_text, stable_hash

SUMS = ["x", "d"]


def cluster_states(
    clusters: pl.LazyFrame,
    by: Sequence[str],
    ratios: Sequence[Ratio],
    keys: Sequence[str],
) -> pl.LazyFrame:
    """Make a row per segment, cluster and measure, in the order of the hashes."""
    rows = [
        pl.struct(
            pl.lit(ratio.name).alias("measure"),
            pl.col(ratio.num).cast(pl.Float64).alias("x"),
            pl.col(ratio.den).cast(pl.Float64).alias("d"),
        )
        for ratio in ratios
    ]
    schema = clusters.collect_schema()
    hashes = stable_hash([key_text(key, schema[key]) for key in keys])
    frame = clusters.select(
        *by, impressions="n", cluster=hashes, row=pl.concat_list(rows)
    ).sort(*by, "cluster", nulls_last=True, maintain_order=True)
    frame = frame.explode("row", empty_as_null=True).unnest("row")
    return frame.select(*by, "measure", "impressions", "cluster", *SUMS)


def by_cluster(rows: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """Sum each cluster over all parts, exactly in any order of them."""
    n = {"impressions": pl.col("impressions").sum()}
    return sums(rows, [*by, "measure", "cluster"], SUMS, n)


def whole(rows: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """Make the state of all parts: a row per segment and measure."""
    keys = [*by, "measure"]
    order = rows.group_by(keys, maintain_order=True).agg()
    clusters = by_cluster(rows, by).rename({"impressions": "n", "measure": "of"})
    found = states(clusters, [*by, "of"], [Ratio("", "x", "d")]).drop("measure")
    found = found.rename({"of": "measure"})
    return order.join(
        found, on=keys, how="left", nulls_equal=True, maintain_order="left"
    )
