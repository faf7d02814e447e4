"""Keep the sums of each cluster in states, so that users may come back.

A row is that of a segment, a measure and a cluster: ``impressions``, ``cluster`` (the
hash of its id), and the sums ``x`` and ``d`` of its numerators and denominators. The
rows of a cluster add up, whatever parts of the log they come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from polars_rank.clicks.behavior.ratios import Ratio, states, sums

if TYPE_CHECKING:
    import numpy as np

    Hashes: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]


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
    hashes = hashed([key_text(key, schema[key]) for key in keys])
    frame = clusters.select(
        *by, hashes, impressions="n", row=pl.concat_list(rows)
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


# -- hashes


def key_text(name: str, dtype: pl.DataType) -> pl.Expr:
    """Write the values of a key as text."""
    key = pl.col(name)
    return key.bin.encode("hex") if dtype == pl.Binary else key.cast(pl.String)


def hashed(texts: Sequence[pl.Expr]) -> pl.Expr:
    """Hash what all texts are together to a number of 64 bits.

    Polars' own hashes may change with its version, and states are kept for years. Of a
    hundred million clusters two have the same number with probability 0.0003.
    """
    text = pl.concat_str(texts, separator="\x1f")
    hashes = text.map_batches(_hashes, return_dtype=pl.UInt64, is_elementwise=True)
    return hashes.alias("cluster")


def _hashes(text: pl.Series) -> pl.Series:
    """Sum mixed bytes, each with its place in the text, and mix once more."""
    import numpy as np

    joined = np.frombuffer(text.str.join("").item().encode(), np.uint8)
    length = text.str.len_bytes().fill_null(0).to_numpy()
    ends = np.cumsum(length, dtype=np.int64)
    place = np.arange(len(joined)) - np.repeat(ends - length, length)
    mixed = _mixed(joined + place.astype(np.uint64) * np.uint64(256))
    running = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed)])
    total = running[ends] - running[ends - length]
    return pl.Series(text.name, _mixed(total + length.astype(np.uint64)))


def _mixed(numbers: Hashes) -> Hashes:
    """Mix bits by the finalizer of SplitMix64 (Steele, Lea and Flood, 2014)."""
    import numpy as np

    steps = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB))
    numbers = numbers + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in steps:
        numbers = (numbers ^ (numbers >> np.uint64(shift))) * np.uint64(factor)
    return numbers ^ (numbers >> np.uint64(31))
