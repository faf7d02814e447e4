"""How a frame is evaluated: bind the columns, rank, share words, sum, check."""

from __future__ import annotations

from polars_rank.engine.bind import AnyFrame, Columns, Frame, align_ids, bind, like
from polars_rank.engine.bounded.progress import Progress
from polars_rank.engine.check import Check
from polars_rank.engine.layout import Layout
from polars_rank.engine.per_query import plan_request
from polars_rank.engine.request import DOC, Duplicates, Request, request_of
from polars_rank.engine.result import collected, laid_out, mean_frame, per_query_frame

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
