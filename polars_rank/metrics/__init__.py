"""The metrics, one family a file; every formula is one decorated function."""

from __future__ import annotations

from polars_rank.metrics import binary, cascade, correlation, gain, loss
from polars_rank.metrics.registry import METRICS, Metric, metric

__all__ = [
    "METRICS",
    "Metric",
    "binary",
    "cascade",
    "correlation",
    "gain",
    "loss",
    "metric",
]
