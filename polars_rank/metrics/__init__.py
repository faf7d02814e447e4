"""The metrics, one family per file; every formula is one decorated function."""

from __future__ import annotations

from polars_rank.core.registry import METRICS, SUBTOPIC_METRICS, Metric, metric
from polars_rank.metrics import (
    averaged_gain,
    binary,
    blended,
    bpm,
    cascade,
    confusion,
    correlation,
    counts,
    gain,
    incomplete,
    losses,
    overlap,
    pairwise,
    persistence,
    recall_levels,
    subtopic,
    user_models,
)

__all__ = [
    "METRICS",
    "SUBTOPIC_METRICS",
    "Metric",
    "averaged_gain",
    "binary",
    "blended",
    "bpm",
    "cascade",
    "confusion",
    "correlation",
    "counts",
    "gain",
    "incomplete",
    "losses",
    "metric",
    "overlap",
    "pairwise",
    "persistence",
    "recall_levels",
    "subtopic",
    "user_models",
]
