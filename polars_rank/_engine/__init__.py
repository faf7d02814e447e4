"""How a frame is evaluated: bind the columns, rank, share words, sum, check."""

from __future__ import annotations

from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.layout import Layout
from polars_rank._engine.per_query import plan_request
from polars_rank._engine.request import DOC, Duplicates, Request, request_of
from polars_rank._engine.result import collected, laid_out, mean_frame, per_query_frame
from polars_rank._engine.schema import AnyFrame, Columns, Frame, align_ids, bind, like
from polars_rank._engine.spill.progress import Progress

__all__ = [
    "DOC",
    "AnyFrame",
    "Check",
    "Columns",
    "Duplicates",
    "Frame",
    "Layout",
    "Progress",
    "Request",
    "align_ids",
    "bind",
    "collected",
    "laid_out",
    "like",
    "mean_frame",
    "per_query_frame",
    "plan_request",
    "request_of",
]
