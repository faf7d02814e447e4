"""Measures as values and as text.

A measure is a metric with its parameters: ``core`` and ``metrics`` are imported.
"""

from __future__ import annotations

import polars_rank.metrics  # noqa: F401  # registers them
