"""What the user asks for: the arguments of an evaluation, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, TypeAlias, TypeVar, get_args

import polars as pl

from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.schema import Columns
from polars_rank._engine.spill.progress import Listener
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import ConventionLike, convention_of
from polars_rank.measures.measure import (
    Custom,
    Measure,
    Measures,
    parse_measures,
)

__all__ = [
    "DOC",
    "IN_MEMORY_ROWS",
    "AnyFrame",
    "Duplicates",
    "Frame",
    "Grouping",
    "Layout",
    "Request",
    "Resources",
    "Result",
    "like_input",
]

AnyFrame: TypeAlias = pl.DataFrame | pl.LazyFrame
Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
Duplicates: TypeAlias = Literal["error", "best"]
Layout: TypeAlias = Literal["auto", "any", "contiguous"]
Grouping: TypeAlias = Literal["sort", "contiguous", "hash"]
Result: TypeAlias = Literal["values", "means", "sums"]

DOC = "doc_id"
IN_MEMORY_ROWS = 200_000


class Resources(NamedTuple):
    """A memory limit in bytes, the folder for spill files, who hears of progress."""

    memory: int
    temp_dir: str | Path | None
    progress: Listener | None

    @classmethod
    def of(
        cls,
        memory_limit: int | str | None,
        temp_dir: str | Path | None,
        progress: Listener | None,
    ) -> Resources | None:
        """Check the arguments; None without a limit."""
        if memory_limit is not None:
            from polars_rank._engine.spill.budget import parse_memory_limit

            return cls(parse_memory_limit(memory_limit), temp_dir, progress)
        for name, value in (("temp_dir", temp_dir), ("progress", progress)):
            if value is not None:
                msg = f"{name} is for bounded memory: give memory_limit too"
                raise ValueError(msg)
        return None


class Request(NamedTuple):
    """An evaluation: of what, by which measures, how.

    Attributes
    ----------
    result
        Values per query, their means, or the sums that means are made of.
    by, weight
        Segments and weights of the mean.
    small
        Whether all frames are in memory and small: then no streaming is worth while.
    unclaimed
        Whether ``layout="contiguous"`` is a guess that nobody made: it is given up as
        soon as the first rows speak against it.
    """

    frame: pl.LazyFrame
    qrels: pl.LazyFrame | None
    queries: pl.LazyFrame | None
    columns: Columns
    measures: tuple[Measure | Custom, ...]
    result: Result
    by: tuple[str, ...]
    weight: str | None
    convention: Convention
    check: Check
    on_duplicate: Duplicates
    layout: Layout
    resources: Resources | None
    max_rank: int | None
    small: bool
    unclaimed: bool = False

    @classmethod
    def of(
        cls,
        frame: AnyFrame,
        measures: Measures,
        *,
        qrels: AnyFrame | None,
        queries: AnyFrame | None,
        query: str | Sequence[str],
        doc: str | None,
        score: str,
        label: str,
        subtopic: str | None,
        rank: str | None,
        convention: ConventionLike,
        check: Check,
        on_duplicate: Duplicates,
        layout: Layout,
        memory_limit: int | str | None,
        temp_dir: str | Path | None,
        progress: Listener | None,
        max_rank: int | None,
        result: Result,
        by: str | Sequence[str] | None = None,
        weight: str | None = None,
    ) -> Request:
        """Check the arguments of ``evaluate``, or of ``per_query``.

        Only schemas are read.
        """
        for name, value, choices in (
            ("check", check, get_args(Check)),
            ("on_duplicate", on_duplicate, get_args(Duplicates)),
            ("layout", layout, get_args(Layout)),
        ):
            if value not in choices:
                msg = f"{name} must be one of {', '.join(choices)}, not {value!r}"
                raise ValueError(msg)
        if max_rank is not None and not (type(max_rank) is int and max_rank >= 1):
            msg = (
                "max_rank must be a whole number of at least 1, or None, not "
                f"{max_rank!r}"
            )
            raise ValueError(msg)
        keys = (query,) if isinstance(query, str) else tuple(query)
        if not keys:
            msg = "query must name at least one column"
            raise ValueError(msg)
        log = _lazy(frame, "the first argument")
        if doc == DOC and qrels is None and doc not in log.collect_schema():
            doc = None
        if doc is None and qrels is not None:
            msg = "doc must name the column of document ids: judgments are joined by it"
            raise ValueError(msg)
        if doc is None and (on_duplicate == "best" or check == "full"):
            msg = "doc must name the column of document ids: duplicates are found by it"
            raise ValueError(msg)
        if subtopic is not None and qrels is None:
            msg = "subtopic names a column of the judgments: give them with qrels="
            raise ValueError(msg)
        parsed = parse_measures(measures)
        _require_vocabulary(parsed, subtopics=subtopic is not None)
        request = cls(
            frame=log,
            qrels=None if qrels is None else _lazy(qrels, "qrels"),
            queries=None if queries is None else _lazy(queries, "queries"),
            columns=Columns(
                query=keys,
                names={
                    "doc": doc,
                    "score": score if rank is None else None,
                    "label": label,
                    "rank": rank,
                    "subtopic": subtopic,
                },
            ),
            measures=tuple(parsed),
            result=result,
            by=(by,) if isinstance(by, str) else tuple(by or ()),
            weight=weight,
            convention=convention_of(convention),
            check=check,
            on_duplicate=on_duplicate,
            layout=layout,
            resources=Resources.of(memory_limit, temp_dir, progress),
            max_rank=max_rank,
            small=all(
                isinstance(f, pl.DataFrame) and len(f) <= IN_MEMORY_ROWS
                for f in (frame, qrels)
                if f is not None
            ),
        )
        request._require_distinct_names()
        return request

    @property
    def grouping(self) -> Grouping:
        """How the rows of a query come together."""
        if self.layout == "contiguous":
            return "contiguous"
        return "hash" if self.small and self.resources is None else "sort"

    @property
    def inputs(self) -> list[pl.LazyFrame]:
        """All frames."""
        return [f for f in (self.frame, self.qrels, self.queries) if f is not None]

    def _require_distinct_names(self) -> None:
        per_query = self.result == "values"
        others = self.columns.query if per_query else (*self.by, "queries")
        names = [*others, *(m.name for m in self.measures)]
        if duplicates := sorted({name for name in names if names.count(name) > 1}):
            msg = (
                f"two output columns would be called "
                f"{', '.join(map(repr, duplicates))}; rename the input column, or name "
                "the measure with pr.measure(name=...)"
            )
            raise ValueError(msg)


def like_input(frame: Frame, result: pl.LazyFrame, *, in_memory: bool = False) -> Frame:
    """A DataFrame for a DataFrame, a LazyFrame for a LazyFrame."""
    if isinstance(frame, pl.LazyFrame):
        return result
    return result.collect(engine="in-memory" if in_memory else "streaming")


def _require_vocabulary(
    measures: Sequence[Measure | Custom], *, subtopics: bool
) -> None:
    """Measures of diversity need subtopics; the others one grade per document."""
    vocabulary = "subtopics" if subtopics else "ranking"
    for m in measures:
        if isinstance(m, Custom) or m.definition.vocabulary == vocabulary:
            continue
        if subtopics:
            msg = (
                f"{m.metric} needs one grade per document, not one per subtopic: ask "
                "for it without subtopic=, with judgments such as "
                "qrels.group_by('query_id', 'doc_id').agg(pl.col('label').max())"
            )
        else:
            msg = (
                f"{m.metric} looks at subtopics: give judgments (qrels=) and name "
                "their column with subtopic="
            )
        raise ValueError(msg)


def _lazy(frame: AnyFrame, name: str) -> pl.LazyFrame:
    if not isinstance(frame, pl.DataFrame | pl.LazyFrame):
        msg = (
            f"{name} must be a polars DataFrame or LazyFrame, not "
            f"{type(frame).__name__}; wrap it with pl.DataFrame(...)"
        )
        raise TypeError(msg)
    return frame.lazy()
