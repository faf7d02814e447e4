"""Sums over pairs of documents in n log n: the pairs are never formed."""

from __future__ import annotations

import polars as pl

__all__ = ["every_bit", "running_within"]


def every_bit(value: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """All documents once for each bit of a number below their count; and the bit."""
    n = value.len().cast(pl.Int64)
    bits = n.clip(lower_bound=1).cast(pl.Float64).log(2).cast(pl.Int64) + 2
    row = pl.int_range(0, n * bits)
    return value.gather(row % n), row // n


def running_within(value: pl.Expr, block: pl.Expr) -> pl.Expr:
    """Running sum along each block; ``block`` is sorted."""
    running = value.cum_sum()
    start = block.rank("min").cast(pl.Int64) - 1
    return running - running.shift(1, fill_value=0).gather(start)
