"""Rules that data must keep, and what to tell the user who breaks one."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl

__all__ = [
    "BELOW_ONE",
    "INFINITE_GRADE",
    "NAN_SCORE",
    "NEGATIVE_GAIN",
    "NULL_SCORE",
    "OVERFLOW",
    "SAME_RANK",
    "Fault",
]

NAN_SCORE = (
    "NaN scores cannot be ranked; drop these rows or give them a score, e.g. with "
    "pl.col('score').fill_nan(...)"
)
NULL_SCORE = (
    "scores are null; drop these rows, or leave the documents to the judgments (qrels=)"
)
OVERFLOW = (
    "a grade above 1023: 2^grade overflows; rescale the grades, or use a measure with "
    'gain="linear"'
)
NEGATIVE_GAIN = (
    "gains below 0 (or NaN): the best order would leave documents out; give gains of "
    "at least 0"
)
BELOW_ONE = (
    "ranks below 1 or between two places; rank= counts places from 1 (null: not "
    "retrieved)"
)
SAME_RANK = "a rank stands twice in one query; give each place to one document"
INFINITE_GRADE = (
    "grades that are NaN or infinite; give a finite number, or null for unjudged"
)


@dataclass(frozen=True, eq=False, repr=False)
class Fault:
    """A rule that documents may break: how many do, and what to tell the user.

    A ``refusal`` is no fault of the data: the user asked for an error.
    """

    count: pl.Expr
    message: str
    refusal: bool = False
