"""What was matched: the report to read before the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

import polars as pl

__all__ = ["CoverageOptions", "coverage"]


class CoverageOptions(TypedDict, total=False):
    """Keyword arguments of :func:`coverage`."""

    query: str | Sequence[str]
    doc: str | None
    score: str
    label: str
    rank: str | None


def coverage(run: pl.LazyFrame, qrels: pl.LazyFrame | pl.DataFrame | None = None, **options: object) -> pl.LazyFrame:
    raise NotImplementedError
