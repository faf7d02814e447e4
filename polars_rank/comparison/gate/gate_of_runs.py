"""A gate of runs: their values, and why the new run is worse."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Unpack

import polars as pl

from polars_rank.comparison.explained import parts_of
from polars_rank.comparison.gate.comparability import BASE, NEW
from polars_rank.comparison.gate.gate_result import Gate
from polars_rank.comparison.input.procedures import Columns
from polars_rank.comparison.input.run_values import RunOptions, values_of_runs
from polars_rank.comparison.sums.definition import Definition
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.conventions.tools import DEFAULT, convention_of
from polars_rank.io.frames import FrameLike
from polars_rank.measures.measure import Measures, parse_measures


def values_of_both(
    after: FrameLike,
    before: FrameLike,
    columns: Columns,
    qrels: FrameLike,
    **options: Unpack[RunOptions],
) -> tuple[pl.DataFrame, pl.DataFrame, Definition]:
    """Return the values of both runs, and how they were computed."""
    runs = {NEW: after, BASE: before}
    values = values_of_runs(runs, columns.measures, columns, qrels=qrels, **options)
    own = pl.col(columns.system)
    new, old = (values.filter(own == name).drop(columns.system) for name in runs)
    names = [measure.name for measure in parse_measures(columns.measures or ())]
    chosen = {name: choice for name, choice in options.items() if name in SHORTCUTS}
    convention = convention_of(options.get("convention", DEFAULT), **chosen)
    known = Definition.of(names, convention, columns.keys, options={**options})
    return new, old, known


def explained(
    own: Gate, before: FrameLike, after: FrameLike, measures: Measures, **options: Any
) -> Gate:
    """Return the gate with the parts of the first failed difference that has any.

    The verdict stands whatever comes of it: a note says why there are none.
    """
    failed = own.checks.filter(pl.col("verdict") == "fail")["measure"]
    known = {measure.name: measure for measure in parse_measures(measures)}
    notes = []
    for name in failed.unique(maintain_order=True):
        told = parts_of(before, after, known[name], **options)
        if not isinstance(told, str):
            parts = told.select(pl.lit(name).alias("measure"), pl.all())
            return replace(own, largest_parts=parts)
        notes.append(told)
    return replace(own, notes=(*own.notes, *notes))
