"""Evaluations in parts: days, files, or partitions of a cluster.

The files hold partial results and how they are merged, in any ``map``; they import the
engine of plans and evaluation. The room ``engine`` imports them.
"""

from __future__ import annotations

from polars_rank._engine.spill.progress import Progress
from polars_rank.parts.evaluation import Evaluation
from polars_rank.parts.exchange import bucketed
from polars_rank.parts.partitions import Part, cut, evaluate_parts, files

__all__ = [
    "Evaluation",
    "Part",
    "Progress",
    "bucketed",
    "cut",
    "evaluate_parts",
    "files",
]
