"""The metrics, one family a file; every formula is one decorated function."""

from __future__ import annotations

from polars_rank.metrics import (
    binary,
    blended,
    cascade,
    correlation,
    counts,
    cutoff,
    diversity,
    gain,
    levels,
    loss,
    overlap,
    pairwise,
    partial,
    persistence,
    player,
    running,
    usermodel,
)
from polars_rank.metrics.registry import METRICS, SUBTOPIC_METRICS, Metric, metric

__all__ = [
    "METRICS",
    "SUBTOPIC_METRICS",
    "Metric",
    "binary",
    "blended",
    "cascade",
    "correlation",
    "counts",
    "cutoff",
    "diversity",
    "gain",
    "levels",
    "loss",
    "metric",
    "overlap",
    "pairwise",
    "partial",
    "persistence",
    "player",
    "running",
    "usermodel",
]
