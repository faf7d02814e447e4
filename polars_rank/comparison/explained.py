"""The largest parts of a difference between runs: analysis takes it apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

import polars as pl

from polars_rank.comparison.input.procedures import names_of
from polars_rank.comparison.input.values import Columns
from polars_rank.comparison.result import Comparison
from polars_rank.core.seams import ask
from polars_rank.io.frames import FrameLike, as_polars, is_path
from polars_rank.measures.measure import Measures, parse_measures

PARTS = "the largest parts of a difference"
OF_LISTS = ("history", "items")  # which measures of recommenders read


def with_parts(
    found: Comparison,
    runs: Mapping[str, FrameLike],
    measures: Measures,
    baseline: str | Sequence[str] | None,
    **options: Any,
) -> Comparison:
    """Add the parts of each difference from a baseline, or else from the first run.

    Where a measure has none, a note says why.
    """
    bases = names_of(baseline) or [next(iter(runs))]
    asked = product(parse_measures(measures), bases)
    frames, notes = [], [*found.settings["notes"]]
    for measure, base in asked:
        others = {name: run for name, run in runs.items() if name != base}
        told = parts_of(runs[base], others, measure, **options)
        if isinstance(told, str):
            notes.append(f"{told}.")
            continue
        named = {"measure": measure.name, "baseline": base}
        own = (pl.lit(name).alias(label) for label, name in named.items())
        frames.append(told.select(*own, pl.all()))
    settings = {**found.settings, "notes": [*dict.fromkeys(notes)]}
    return replace(
        found, settings=settings, largest_parts=pl.concat(frames or [NOTHING])
    )


NOTHING = pl.DataFrame(
    schema={
        **dict.fromkeys(("measure", "baseline", "system", "item"), pl.String),
        "queries": pl.UInt32,
        **dict.fromkeys(("difference", "share"), pl.Float64),
    }
)


def parts_of(
    before: FrameLike, after: Any, measure: Any, **options: Any
) -> pl.DataFrame | str:
    """Return the largest parts of a difference, or say why there are none.

    No sum over documents reads what measures of recommenders do.
    """
    given = {name: option for name, option in options.items() if name not in OF_LISTS}
    found: pl.DataFrame | str = ask(PARTS)(before, after, measure, **given)
    return found


def runs_to_explain(
    values: Any, qrels: FrameLike | None, columns: Columns
) -> tuple[Any, FrameLike | None]:
    """Return runs and judgments that can be read again; refuse what is no run."""
    if not isinstance(values, Mapping) and qrels is None:
        msg = "largest_parts= needs runs: give a mapping of names to runs, or qrels="
        raise ValueError(msg)
    if columns.repeat is not None:
        msg = "largest_parts= needs one run for each system: leave out repeat="
        raise ValueError(msg)
    qrels = reread(qrels, "the judgments")
    if isinstance(values, Mapping):
        return {name: reread(run, "the run") for name, run in values.items()}, qrels
    return reread(values, "the run"), qrels


def by_name(runs: Any, systems: Sequence[str], column: str) -> dict[str, FrameLike]:
    """Return each run by its name."""
    if isinstance(runs, Mapping):
        return {str(name): run for name, run in runs.items()}
    frame = as_polars(runs, name="the run")
    own = pl.col(column).cast(pl.String)
    return {name: frame.filter(own == name).drop(column) for name in systems}


def reread(frame: Any, name: str) -> Any:
    """Return what can be read more than once: a stream is read into memory."""
    if frame is None or isinstance(frame, Mapping) or is_path(frame):
        return frame
    return as_polars(frame, name=name)
