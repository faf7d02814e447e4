"""Runs of several systems as one frame."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeAlias, cast

import polars as pl

from polars_rank._engine.schema import require_columns
from polars_rank.core.rules import DUPLICATE_DOC
from polars_rank.exceptions import DataError
from polars_rank.io.frames import FrameLike, as_polars
from polars_rank.io.objects.retrieved import is_list
from polars_rank.io.same_columns import concatenated

Runs: TypeAlias = FrameLike | Mapping[str, FrameLike]


def stacked(runs: Runs, system: str | None) -> tuple[pl.LazyFrame, str | None]:
    """Return one lazy frame, and its column of systems.

    A mapping of names to frames, paths or dictionaries is concatenated; its column is
    ``"system"``, unless ``system`` names it; names replace what such a column holds.
    """
    if not (isinstance(runs, Mapping) and _hold_runs(runs)):
        frame = as_polars(cast("FrameLike", runs), name="run").lazy()
        if system is not None:
            require_columns(
                [system], frame.collect_schema(), where="the run", argument="system"
            )
        return frame, system
    column = system or "system"
    parts = {
        f"run {name!r}": as_polars(run, name=f"run {name!r}")
        .lazy()
        .select(pl.lit(name).alias(column), pl.exclude(column))
        for name, run in runs.items()
    }
    _require_one_order(parts)
    return concatenated(parts, "diagonal_relaxed"), column


@contextmanager
def system_asked(frame: pl.LazyFrame, system: str | None) -> Iterator[None]:
    """Ask for ``system=`` where documents come twice, perhaps once for each system."""
    try:
        yield
    except DataError as error:
        if system is not None or error.rule != DUPLICATE_DOC.name:
            raise
        if "system" not in frame.collect_schema():
            raise
        raise DataError(
            "a query has a document more than once, and the run has a column 'system': "
            'if it holds several systems, name that column with system="system"; if '
            f"not: {error}",
            rule=error.rule,
            count=error.count,
            examples=error.examples,
        ) from None


def apart(runs: Runs, system: str | None) -> tuple[dict[str, Any], str | None]:
    """Return the runs by the names of their systems, and the column of the systems.

    A single run has no name. Of one frame, its systems are read.
    """
    if isinstance(runs, Mapping) and _hold_runs(runs):
        return {str(name): run for name, run in runs.items()}, system or "system"
    if system is None:
        return {"": runs}, None
    frame, _ = stacked(runs, system)
    names = frame.select(pl.col(system).unique().sort()).collect(engine="streaming")
    return {
        str(name): frame.filter(pl.col(system).eq_missing(pl.lit(name))).drop(system)
        for name in names[system]
    }, system


def _require_one_order(runs: Mapping[str, pl.LazyFrame]) -> None:
    """Refuse runs of which some have ranks alone, as lists do, and others scores."""
    known = {name: {*run.collect_schema()} for name, run in runs.items()}
    if any({"score", "rank"} <= columns for columns in known.values()):
        return
    ranked = [name for name, columns in known.items() if "rank" in columns]
    scored = [name for name, columns in known.items() if "score" in columns]
    if ranked and scored:
        msg = (
            f"{ranked[0]} has ranks and no scores, as lists do, and {scored[0]} has "
            "scores and no ranks; give lists, or scores, for both"
        )
        raise ValueError(msg)


def _hold_runs(runs: Mapping[str, object]) -> bool:
    """Tell whether these are runs by name, and not one by query.

    A run by query is ``{query: {document: score}}`` or ``{query: [document, ...]}``.
    """
    return bool(runs) and all(map(_is_run, runs.values()))


def _is_run(given: object) -> bool:
    """Tell a run from the documents of a query."""
    if isinstance(given, Mapping):
        return all(isinstance(v, Mapping) or is_list(v) for v in given.values())
    frames = isinstance(given, pl.DataFrame | pl.LazyFrame) or not is_list(given)
    return frames or any(
        isinstance(row, Mapping) or hasattr(row, "__arrow_c_stream__")
        for row in cast("Sequence[object]", given)
    )


def keys_of(query: str | Sequence[str], system: str | None) -> list[str]:
    """Return the columns that name a query of a system."""
    keys = [query] if isinstance(query, str) else list(query)
    return keys if system is None else [system, *(k for k in keys if k != system)]
