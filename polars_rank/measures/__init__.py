"""Measures as values and as text."""

from __future__ import annotations

import polars_rank.metrics  # noqa: F401  # registers them
