"""A small evaluation in bounded memory; programs that do not live long import it."""

from __future__ import annotations

import polars as pl

from polars_rank._engine.spill.bounded import bounded
from polars_rank._engine.spill.budget import overhead

__all__ = ["lazy", "toy"]

LIMIT = overhead() + 4 * 400_000  # so that 32 buckets are enough


def toy(parts) -> pl.LazyFrame:
    score = pl.col("score")
    return parts[0].group_by("key0").agg(pl.len(), score.first(), top=score.max())


def lazy(log, temp_dir=None, *, evaluate=toy, progress=None, fingerprint="toy"):
    return bounded(
        [pl.scan_parquet(log)],
        ["key0"],
        evaluate,
        limit=LIMIT,
        temp_dir=temp_dir,
        progress=progress,
        fingerprint=fingerprint,
    )
