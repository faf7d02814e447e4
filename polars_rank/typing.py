"""Types for annotations of code that calls the package."""

from __future__ import annotations

from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.options import Layout
from polars_rank._engine.schema import Column
from polars_rank.conventions.choices import (
    Duplicates,
    Missing,
    NegativeGrade,
    ScoreType,
    Unjudged,
)
from polars_rank.conventions.tools import ConventionLike
from polars_rank.core.arguments import (
    ApDivisor,
    IdealOrder,
    MaxGrade,
    PrecisionDivisor,
    RecallDivisor,
)
from polars_rank.core.weights import Discount, Gain
from polars_rank.core.words.ranking import Ideal, NoRelevant, Ties
from polars_rank.io.frames import FrameLike
from polars_rank.measures.measure import MeasureLike, Measures

__all__ = [
    "ApDivisor",
    "Check",
    "Column",
    "ConventionLike",
    "Discount",
    "Duplicates",
    "FrameLike",
    "Gain",
    "Ideal",
    "IdealOrder",
    "Layout",
    "MaxGrade",
    "MeasureLike",
    "Measures",
    "Missing",
    "NegativeGrade",
    "NoRelevant",
    "PrecisionDivisor",
    "RecallDivisor",
    "ScoreType",
    "Ties",
    "Unjudged",
]
