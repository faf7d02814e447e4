"""Values per query of several runs, for a comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any, Unpack

import polars as pl

from polars_rank._engine.opening import IN_MEMORY_ROWS
from polars_rank._engine.options import EvaluationOptions
from polars_rank._engine.request import AnyFrame
from polars_rank._engine.spill.progress import Progress
from polars_rank.comparison.input.procedures import names_of
from polars_rank.comparison.input.values import Columns
from polars_rank.conventions.tools import ConventionLike
from polars_rank.evaluation.evaluate import per_query
from polars_rank.io.frames import FrameLike, as_polars
from polars_rank.io.same_columns import concatenated
from polars_rank.measures.measure import Measures

# Arguments that only rows of documents have: a frame with one of them is a run.
OF_DOCUMENTS = {"doc", "score", "rank", "label", "history", "items"}


class RunOptions(EvaluationOptions, total=False):
    """How runs are evaluated: arguments of ``per_query`` apart from the judgments."""

    convention: ConventionLike
    queries: FrameLike | None
    segments: FrameLike | None
    history: FrameLike | None
    items: FrameLike | None
    progress: Callable[[Progress], object] | None


def values_of_runs(
    runs: FrameLike | Mapping[str, FrameLike],
    measures: Measures | None,
    columns: Columns,
    *,
    qrels: FrameLike | None = None,
    **options: Unpack[RunOptions],
) -> pl.DataFrame:
    """Evaluate runs: one frame, or a mapping of names to frames or dictionaries.

    Columns that describe queries are kept.
    """
    if measures is None:
        msg = "name the measures to compute of the runs: measures=['ndcg@10']"
        raise ValueError(msg)
    several = isinstance(runs, Mapping)
    systems = [] if several else [columns.system]
    asked = list(dict.fromkeys([*systems, *names_of(columns.repeat), *columns.keys]))
    about = [name for name in columns.about if name not in asked]

    known, few = set[str](), True
    if qrels is not None:
        judgments = as_polars(qrels, name="the judgments", kind="qrels")
        few = _are_few(judgments)
        known = {*judgments.lazy().collect_schema()}
        if not isinstance(qrels, str | PathLike):  # text files have ids of any type
            qrels = judgments

    if (queries := options.get("queries")) is not None:
        options["queries"], names = _opened(queries, "queries")
        known |= names
    if (segments := options.get("segments")) is not None:
        options["segments"], names = _opened(segments, "segments")
        known |= names

    def planned(run: Any, name: str) -> pl.LazyFrame:
        frame = as_polars(run, name=name)
        there = {*frame.lazy().collect_schema()} | known
        kept = [n for n in about if n in there]
        # Few rows are evaluated at once, in memory: a plan to stream them costs more.
        rows = frame if few and _are_few(frame) else frame.lazy()
        found = per_query(
            rows, measures, qrels=qrels, query=asked, keep=kept, **options
        )
        return found.lazy()

    if not isinstance(runs, Mapping):
        return planned(runs, "the run").collect(engine="streaming")
    parts = {}
    for name, run in runs.items():
        said = f"run {name!r}"
        part = planned(run, said).select(
            pl.lit(str(name)).alias(columns.system), pl.all()
        )
        parts[f"{run} ({said})" if isinstance(run, str | PathLike) else said] = part
    concatenated(parts)  # refuses types that differ
    return pl.concat(pl.collect_all(parts.values(), engine="streaming"))


def _opened(about: FrameLike, name: str) -> tuple[FrameLike, set[str]]:
    """Return what describes queries, to be read again for each run, and its columns."""
    opened = as_polars(about, name=name)
    # The path of a text file stays: its ids are of any type.
    kept = about if isinstance(about, str | PathLike) else opened
    return kept, {*opened.lazy().collect_schema()}


def _are_few(rows: AnyFrame) -> bool:
    return isinstance(rows, pl.DataFrame) and len(rows) <= IN_MEMORY_ROWS
