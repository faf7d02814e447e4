"""What the user asks for: the arguments, checked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, get_args

import polars as pl

from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.layout import IN_MEMORY_ROWS, Grouping, Layout
from polars_rank._engine.schema import AnyFrame, Columns
from polars_rank._engine.spill.plan import Memory, memory_of
from polars_rank._engine.spill.progress import Listener
from polars_rank._engine.stages.subtopics import require_kind
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import convention_of
from polars_rank.core.registry import AggregateName
from polars_rank.measures.measure import Custom, Measure, Measures, parse_measures

__all__ = ["DOC", "Duplicates", "Request", "request_of"]

Duplicates: TypeAlias = Literal["error", "best"]

DOC = "doc_id"


class Request(NamedTuple):
    """The arguments of ``evaluate`` or ``per_query``, checked."""

    frame: pl.LazyFrame
    qrels: pl.LazyFrame | None
    queries: pl.LazyFrame | None
    columns: Columns
    measures: list[Measure | Custom]
    convention: Convention
    check: Check
    on_duplicate: Duplicates
    layout: Layout
    memory: Memory | None
    max_rank: int | None
    small: bool
    guess: bool = False

    @property
    def grouping(self) -> Grouping:
        """How rows of a query come together."""
        if self.layout == "contiguous":
            return "contiguous"
        return "hash" if self.small and self.memory is None else "sort"

    @property
    def sorted(self) -> bool:
        """Whether queries come in ascending order."""
        return self.grouping != "contiguous" and self.memory is None

    def require_distinct(self, others: Sequence[str]) -> None:
        """Output columns must have different names."""
        names = [*others, *(m.name for m in self.measures)]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            msg = (
                f"two output columns would be called {', '.join(map(repr, twice))}; "
                "rename the input column, or name the measure with pr.measure(name=...)"
            )
            raise ValueError(msg)

    def relevance(self, i: int) -> bool:
        """Whether measure i is 0 for a query without an answer."""
        m = self.measures[i]
        return isinstance(m, Measure) and m.definition.needs_relevant

    def aggregate(self, i: int) -> AggregateName:
        """How the values of measure i are put together."""
        m = self.measures[i]
        return m.definition.aggregate if isinstance(m, Measure) else "mean"

    def spreads(self, i: int) -> bool:
        """Whether a null of measure i makes the mean null."""
        m = self.measures[i]
        if not isinstance(m, Measure) or not m.definition.needs_relevant:
            return False
        return self.convention.no_relevant_of(m.metric) == "null"


def request_of(
    frame: AnyFrame,
    measures: Measures,
    qrels: AnyFrame | None,
    query: str | Sequence[str],
    doc: str | None,
    score: str,
    label: str,
    subtopic: str | None,
    rank: str | None,
    queries: AnyFrame | None,
    convention: str | Convention,
    check: Check,
    on_duplicate: Duplicates,
    layout: Layout,
    memory_limit: int | str | None,
    temp_dir: str | Path | None,
    progress: Listener | None,
    max_rank: int | None,
) -> Request:
    """Check the arguments; only schemas are read."""
    for name, given, allowed in (
        ("check", check, get_args(Check)),
        ("on_duplicate", on_duplicate, get_args(Duplicates)),
        ("layout", layout, get_args(Layout)),
    ):
        if given not in allowed:
            msg = f"{name} must be one of {', '.join(allowed)}, not {given!r}"
            raise ValueError(msg)
    if max_rank is not None and not (type(max_rank) is int and max_rank >= 1):
        msg = (
            f"max_rank must be a whole number of at least 1, or None, not {max_rank!r}"
        )
        raise ValueError(msg)
    keys = (query,) if isinstance(query, str) else tuple(query)
    if not keys:
        msg = "query must name at least one column"
        raise ValueError(msg)
    lazy = _lazy(frame, "the first argument")
    if doc == DOC and qrels is None and doc not in lazy.collect_schema():
        doc = None
    if doc is None and (qrels is not None or on_duplicate == "best" or check == "full"):
        reason = "judgments are joined" if qrels is not None else "duplicates are found"
        msg = f"doc must name the column of document ids: {reason} by it"
        raise ValueError(msg)
    if subtopic is not None and qrels is None:
        msg = "subtopic names a column of the judgments: give them with qrels="
        raise ValueError(msg)
    asked = parse_measures(measures)
    require_kind(asked, subtopics=subtopic is not None)
    return Request(
        lazy,
        None if qrels is None else _lazy(qrels, "qrels"),
        None if queries is None else _lazy(queries, "queries"),
        Columns(keys, doc, score, label, rank, subtopic),
        asked,
        convention_of(convention),
        check,
        on_duplicate,
        layout,
        memory_of(memory_limit, temp_dir, progress),
        max_rank,
        all(f is None or _is_small(f) for f in (frame, qrels)),
    )


def _is_small(frame: AnyFrame) -> bool:
    return isinstance(frame, pl.DataFrame) and len(frame) <= IN_MEMORY_ROWS


def _lazy(frame: AnyFrame, name: str) -> pl.LazyFrame:
    if not isinstance(frame, pl.DataFrame | pl.LazyFrame):
        msg = (
            f"{name} must be a polars DataFrame or LazyFrame, not "
            f"{type(frame).__name__}; wrap it with pl.DataFrame(...)"
        )
        raise TypeError(msg)
    return frame.lazy()
