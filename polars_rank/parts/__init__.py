"""Evaluations in parts: days, files, or partitions of a cluster."""

from __future__ import annotations

from polars_rank.parts.bucketed import bucketed
from polars_rank.parts.evaluation import Evaluation
from polars_rank.parts.partitions import Part, cut, evaluate_parts, files

__all__ = ["Evaluation", "Part", "bucketed", "cut", "evaluate_parts", "files"]
