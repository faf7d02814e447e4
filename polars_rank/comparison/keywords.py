"""Keywords of comparisons that other functions pass on, typed once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict

from polars_rank._statistics.distributions import Alternative
from polars_rank.comparison.input.procedures import (
    Correction,
    EffectName,
    Family,
    IntervalName,
    Order,
    Pairing,
    Repeats,
    TestName,
    ZeroMethod,
)
from polars_rank.comparison.input.run_values import RunOptions
from polars_rank.comparison.sums.definition import Definition
from polars_rank.conventions.tools import ConventionLike
from polars_rank.io.frames import FrameLike

# The bundles are steps, since a type checker refuses a function that has a parameter
# with the name of an option: it takes the largest one without its own parameters.


class ColumnOptions(TypedDict, total=False):
    """Which column is what."""

    system: str
    query: str | Sequence[str]
    weight: str | None
    cluster: str | None
    repeat: str | None


class SumOptions(ColumnOptions, total=False):
    """Keywords of ``moments`` that decide the sums, apart from segments."""

    tie: float
    convention: ConventionLike | None
    definition: Definition | None


class PairOptions(RunOptions, ColumnOptions, total=False):
    """Keywords of ``compare`` apart from ``test``, ``level`` and ``largest_parts``."""

    baseline: str | Sequence[str] | None
    by: str | Sequence[str] | None
    repeats: Repeats
    alternative: Alternative
    correction: Correction | None
    family: Family
    interval: IntervalName
    simultaneous: bool
    effect: EffectName
    margin: float | None
    zero_method: ZeroMethod
    n_resamples: int
    seed: int
    pairs: Pairing
    tie: float
    min_queries: int
    order: Order
    qrels: FrameLike | None


class ComparisonOptions(PairOptions, total=False):
    """All keywords of ``compare``."""

    test: TestName
    level: float
    largest_parts: bool
