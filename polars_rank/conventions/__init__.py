"""Every disputed choice, by name."""

from __future__ import annotations

import polars_rank.metrics  # noqa: F401  # registers them
