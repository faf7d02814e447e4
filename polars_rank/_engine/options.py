"""The options of an evaluation, typed once for all functions that pass them on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, TypedDict

from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.schema import Column
from polars_rank._engine.spill.progress import Progress
from polars_rank.conventions.choices import Duplicates, Missing, Unjudged
from polars_rank.conventions.tools import ConventionLike
from polars_rank.core.words.ranking import NoRelevant, Ties
from polars_rank.io.frames import FrameLike

Layout: TypeAlias = Literal["auto", "any", "contiguous"]
Stat: TypeAlias = str  # one of STATS, or a quantile such as "p10"

DOC = "doc_id"
STATS = ("mean", "n", "std", "se", "median", "min", "max", "worst_tenth")

# A type checker refuses a function that has a parameter with the name of an option that
# it also takes in its ``**options``. So the bundles are steps, and a function takes the
# largest without its own parameters.


class JudgingOptions(TypedDict, total=False):
    """Choices about ranks and judgments that replace those of the convention."""

    ties: Ties | None
    missing: Missing | None
    no_relevant: NoRelevant | None
    unjudged: Unjudged | None
    rel: float | None


class ChoiceOptions(JudgingOptions, total=False):
    """Choices that replace those of the convention."""

    on_duplicate: Duplicates | None


class RankingOptions(TypedDict, total=False):
    """Options of a run that is ranked, apart from its documents and choices."""

    score: Column
    label: Column | None
    rank: Column | None
    descending: bool
    check: Check
    layout: Layout
    max_rank: int | None


class RankingChoices(ChoiceOptions, RankingOptions, total=False):
    """The same, and choices."""


class EvaluationOptions(RankingChoices, total=False):
    """Options that a function with frames, queries and a convention passes on."""

    doc: Column | None
    subtopic: Column | None
    qrels_query: Column | Sequence[Column] | None
    qrels_doc: Column | None
    memory_limit: int | str | None
    temp_dir: str | Path | None


class QueryOptions(EvaluationOptions, total=False):
    """Options of ``per_query`` apart from its frames, ``keep`` and ``progress``."""

    query: Column | Sequence[Column]
    convention: ConventionLike


class MeanOptions(QueryOptions, total=False):
    """Options of ``evaluate`` apart from its frames and ``progress``."""

    by: Column | Sequence[Column] | None
    weight: Column | None
    stats: Stat | Sequence[Stat]


class RequestOptions(MeanOptions, total=False):
    """All keywords of ``evaluate`` and ``per_query``."""

    qrels: FrameLike | None
    queries: FrameLike | None
    segments: FrameLike | None
    history: FrameLike | None
    items: FrameLike | None
    keep: Column | Sequence[Column] | None
    progress: Callable[[Progress], object] | None
