"""Runs under internal names, with ids of one type."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import TypeAlias, cast

import polars as pl

from polars_rank._engine.checks.column_roles import require_distinct_roles
from polars_rank._engine.opening import IN_MEMORY_ROWS, by_rank_without_scores
from polars_rank._engine.schema import (
    Column,
    Columns,
    align_ids,
    bind_columns,
    columns_by_role,
    name_of,
    names_of,
    require_columns,
)
from polars_rank.core.rules import (
    READ_TWICE,
)
from polars_rank.core.source import is_rereadable
from polars_rank.exceptions import DataError
from polars_rank.fusion.recipe import require_runs
from polars_rank.io.frames import FrameLike, as_polars, is_path, same_ids

Runs: TypeAlias = FrameLike | Mapping[str, FrameLike]


@dataclass(frozen=True)
class OpenRuns:
    """Runs that are open, under the user's names of columns."""

    frames: dict[str, pl.LazyFrame]
    sources: list[object]
    small: bool  # in memory, and few rows


@dataclass(frozen=True)
class Bound:
    """Runs under internal names: ``key0`` ..., ``doc``, and ``score`` or ``rank``.

    ``names`` are the user's, of the columns in the result.
    """

    runs: dict[str, pl.LazyFrame]
    keys: tuple[str, ...]
    names: dict[str, str]
    ranked: bool


def open_runs(
    runs: Runs,
    system: str,
    columns: Columns,
    *,
    stream: bool = False,
) -> OpenRuns:
    """Open a mapping of names to runs, or one frame with a column of systems."""
    places = (columns.names[role] for role in ("doc", "score", "rank"))
    wanted = names_of([*columns.query, *(c for c in places if c is not None)])
    if isinstance(runs, Mapping):
        if not runs:
            msg = "runs is empty; give runs by name: {'bm25': frame, 'dense': frame}"
            raise ValueError(msg)
        for name in runs:
            if not isinstance(name, str):
                msg = f"runs go by text, not {name!r}: {{'bm25': frame, ...}}"
                raise TypeError(msg)
        opened = {
            name: as_polars(run, name=f"run {name!r}", columns=wanted, stream=stream)
            for name, run in runs.items()
        }
        frames = {name: frame.lazy() for name, frame in opened.items()}
        return OpenRuns(frames, [*runs.values()], all(map(_is_small, opened.values())))
    table = as_polars(runs, name="runs")
    frame = table.lazy()
    require_columns(
        [system], frame.collect_schema(), where="the runs", argument="system"
    )
    require_read_again([frame])
    frames = {
        name: frame.filter(pl.col(system).cast(pl.String) == name)
        for name in _systems(frame, system)
    }
    return OpenRuns(frames, [runs] * len(frames), _is_small(table))


def _is_small(frame: pl.DataFrame | pl.LazyFrame) -> bool:
    return isinstance(frame, pl.DataFrame) and len(frame) <= IN_MEMORY_ROWS


def require_read_again(frames: Iterable[pl.LazyFrame]) -> None:
    """Raise ``DataError`` for a stream: its rows are gone after one pass."""
    if not all(map(is_rereadable, frames)):
        raise DataError(READ_TWICE.message, rule=READ_TWICE.name)


def _systems(frame: pl.LazyFrame, system: str) -> list[str]:
    named = frame.select(pl.col(system).cast(pl.String)).unique()
    found = named.collect(engine="streaming")[system]
    if found.null_count():
        msg = f"column {system!r} of the runs is null in some rows; name each system"
        raise ValueError(msg)
    if found.is_empty():
        msg = "the runs have no rows, so their systems are unknown; give runs by name"
        raise ValueError(msg)
    return sorted(found.to_list())


def columns_of_runs(
    *,
    query: Column | Sequence[Column],
    doc: Column,
    score: Column,
    rank: Column | None,
) -> Columns:
    """Check the columns that every run has."""
    if doc is None:
        msg = "doc must name the column of document ids: runs are joined by it"
        raise ValueError(msg)
    columns, _ = columns_by_role(
        query=query,
        doc=doc,
        score=score,
        label=None,
        rank=rank,
        descending=True,
        qrels_query=None,
        qrels_doc=None,
    )
    require_distinct_roles(columns, columns, judged=True)
    return columns


def order_of_runs(opened: OpenRuns, columns: Columns) -> Columns:
    """Order runs by ``rank`` if none has the default scores, as lists have none."""
    by_rank = [by_rank_without_scores(columns, run) for run in opened.frames.values()]
    ranked = [found != columns for found in by_rank]
    if any(ranked) and not all(ranked):
        names = [*opened.frames]
        msg = (
            f"run {names[ranked.index(True)]!r} has ranks and no scores, as lists do, "
            f"and run {names[ranked.index(False)]!r} has others; give scores, or ranks "
            "with rank=, for all"
        )
        raise ValueError(msg)
    return by_rank[0]


def bind_runs(
    opened: OpenRuns, columns: Columns, descending: bool | Mapping[str, bool]
) -> Bound:
    """Give all runs internal names and ids of the same types; read schemas alone."""
    names = [*opened.frames]
    downwards = dict.fromkeys(names, descending)
    if isinstance(descending, Mapping):
        require_runs("descending", descending, names)
        downwards = dict(descending)
    for value in downwards.values():
        if value not in (True, False):
            msg = f"descending must be True or False, not {value!r}"
            raise TypeError(msg)
    ranked = columns.names["rank"] is not None
    if ranked and not all(downwards.values()):
        msg = "descending=False is for scores; the first rank is always 1"
        raise ValueError(msg)
    doc, place = columns.names["doc"], columns.names["score"]
    ids = [c for c in (*columns.query, doc) if isinstance(c, str)]
    frames = _same_ids([*opened.frames.values()], opened.sources, ids)
    bound = [
        bind_columns(
            frame,
            columns._replace(descending=bool(downwards[name])),
            where=f"run {name!r}",
            roles=["score", "rank", "doc"],
        )
        for name, frame in zip(names, frames, strict=True)
    ]
    keys = bound[0].keys
    own = dict(zip(keys, names_of(columns.query), strict=True))
    own["doc"] = name_of(cast("Column", doc))
    aligned = _aligned(
        {name: run.frame for name, run in zip(names, bound, strict=True)}, own
    )
    own["score"] = "score" if place is None else name_of(place)
    if len({*own.values()}) < len(own):
        twice = ", ".join(own.values())
        msg = f"two output columns would have one name: {twice}; rename a column"
        raise ValueError(msg)
    return Bound(aligned, keys, own, ranked)


def _same_ids(
    frames: list[pl.LazyFrame], sources: Sequence[object], ids: Sequence[str]
) -> list[pl.LazyFrame]:
    """Read integer ids as text in all runs, if one is a file without types."""
    pairs = [(column, column) for column in ids]
    for witness in (sources[0], *filter(is_path, sources)):
        for i in range(1, len(frames)):
            both = [witness, sources[i]]
            frames[0], frames[i] = same_ids(frames[0], frames[i], both, pairs)
    return frames


def same_types(
    rows: pl.LazyFrame,
    sources: Sequence[object],
    qrels: FrameLike,
    ids: Sequence[tuple[str, str]],
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Open the judgments; ids of text files are text in both."""
    wanted = [*(theirs for _, theirs in ids), "label"]
    judged = as_polars(qrels, name="the judgments", kind="qrels", columns=wanted).lazy()
    for source in (sources[0], *filter(is_path, sources)):
        rows, judged = same_ids(rows, judged, [source, qrels], ids)
    return rows, judged


def _aligned(
    runs: dict[str, pl.LazyFrame], names: Mapping[str, str]
) -> dict[str, pl.LazyFrame]:
    """Give the ids one type: that of the first run, widened by each of the others."""

    def widened(first: pl.LazyFrame, name: str) -> pl.LazyFrame:
        where = f"run {next(iter(runs))!r}", f"run {name!r}"
        return align_ids(first, runs[name], names, where=where)[0]

    first = reduce(widened, runs, next(iter(runs.values())))
    types = first.collect_schema()
    ids = [pl.col(column).cast(types[column]) for column in names]
    return {name: run.with_columns(ids) for name, run in runs.items()}
