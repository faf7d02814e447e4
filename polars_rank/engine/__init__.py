"""How a frame is evaluated: bind the columns, rank, share words, sum, check."""

from __future__ import annotations

from polars_rank.engine.bind import (
    AnyFrame,
    Columns,
    Frame,
    Log,
    align_ids,
    bind,
    like,
    require_columns,
)
from polars_rank.engine.check import Check, raise_faults
from polars_rank.engine.plan import Job, PerQuery, per_query_plan
from polars_rank.engine.rank import unpack

__all__ = [
    "AnyFrame",
    "Check",
    "Columns",
    "Frame",
    "Job",
    "Log",
    "PerQuery",
    "align_ids",
    "bind",
    "like",
    "per_query_plan",
    "raise_faults",
    "require_columns",
    "unpack",
]
