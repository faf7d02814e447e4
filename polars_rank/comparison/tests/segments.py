"""Test whether a difference differs between segments."""

from __future__ import annotations

import polars as pl

from polars_rank._statistics.distributions import special

PAIR = ("measure", "baseline", "system")


def between_segments(frame: pl.DataFrame, *, min_queries: int) -> pl.DataFrame:
    """Test by Welch's F the ``mean`` differences of segments, for each pair.

    Each has its own ``error`` with ``df`` degrees of freedom. Segments of fewer than
    ``min_queries`` queries, and those whose differences are all the same, are left out.
    """
    known = (pl.col("queries") >= min_queries) & (pl.col("error") > 0)
    mean, weight = pl.col("mean"), pl.col("error") ** -2
    k, whole = pl.len().cast(pl.Float64), weight.sum()
    center = (weight * mean).sum() / whole
    between = (weight * (mean - center) ** 2).sum() / (k - 1)
    spread = ((1 - weight / whole) ** 2 / pl.col("df")).sum() / (k**2 - 1)
    tested = (
        frame.filter(known)
        .group_by(PAIR, maintain_order=True)
        .agg(
            segments=pl.len(),
            statistic=between / (1 + 2 * (k - 2) * spread),
            df=k - 1,
            df_error=1 / (3 * spread),
        )
        .with_columns(
            pl.when(pl.col("segments") > 1).then(pl.col(name)).alias(name)
            for name in ("statistic", "df", "df_error")
        )
    )
    numbers = (tested[name].to_numpy() for name in ("df", "df_error", "statistic"))
    p = pl.Series(special().fdtrc(*numbers), dtype=pl.Float64).fill_nan(None)
    pairs = frame.select(PAIR).unique(maintain_order=True)
    return pairs.join(
        tested.with_columns(p_value=p), on=PAIR, how="left", maintain_order="left"
    ).with_columns(pl.col("segments").fill_null(0))


def unlike(found: pl.DataFrame, alpha: float) -> list[str]:
    """Note each pair whose difference is not the same in all segments."""
    return [
        f"Segments differ in {measure}, {system} - {baseline}: Welch's F test, "
        f"p = {p:.2g}, not adjusted."
        for measure, baseline, system, p in found.select(*PAIR, "p_value").rows()
        if p is not None and p < alpha
    ]
