"""The metrics, one family per file; every formula is one decorated function.

They import ``core`` only, and know no frame and no column.
"""

from __future__ import annotations

from polars_rank.core.metric.registry import METRICS, Metric, metric, of_vocabulary
from polars_rank.metrics import (
    averaged_gain,
    binary,
    blended,
    bpm,
    cascade,
    catalog,
    clicks,
    confusion,
    correlation,
    counts,
    fairness,
    gain,
    incomplete,
    losses,
    overlap,
    pairwise,
    persistence,
    recall_levels,
    recommendation,
    subtopic,
    user_models,
)

__all__ = [
    "METRICS",
    "Metric",
    "averaged_gain",
    "binary",
    "blended",
    "bpm",
    "cascade",
    "catalog",
    "clicks",
    "confusion",
    "correlation",
    "counts",
    "fairness",
    "gain",
    "incomplete",
    "losses",
    "metric",
    "of_vocabulary",
    "overlap",
    "pairwise",
    "persistence",
    "recall_levels",
    "recommendation",
    "subtopic",
    "user_models",
]
