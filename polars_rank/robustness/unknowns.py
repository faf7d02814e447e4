"""What is not known of a value: bounds over tied orders and labels, per system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import polars as pl

from polars_rank.conventions.convention import Convention
from polars_rank.exceptions import DataError
from polars_rank.io.frames import FrameLike
from polars_rank.measures.measure import Custom, Measure
from polars_rank.report.table import Cell, Table, number
from polars_rank.robustness.bounds import Over, bounds

__all__ = ["require_known_to_bounds", "unknowns", "unknowns_table"]

WAYS: tuple[Over, ...] = ("ties", "labels")
ENDS = ("ties_low", "ties_high", "labels_low", "labels_high")


def require_known_to_bounds(options: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for an option of ``evaluate`` that bounds do not have."""
    if unknown := sorted({*options} - {*signature(bounds).parameters}):
        msg = f"bounds=True goes without {unknown[0]}=: bounds do not know it"
        raise ValueError(msg)


def unknowns(
    frame: pl.LazyFrame,
    asked: Sequence[Measure | Custom],
    *,
    qrels: FrameLike | None,
    system: str | None,
    query: str | Sequence[str],
    convention: Convention,
    options: dict[str, Any],
) -> pl.DataFrame:
    """``measure``, ``system``, ``value``, bounds, and a ``note`` where none is known.

    A measure whose bounds are not known, or would take too long, has null ones.
    """
    given = {"qrels": qrels, "system": system, "query": query, **options}
    rows = []
    for measure in asked:
        own = (
            {measure.name: measure.function} if isinstance(measure, Custom) else measure
        )
        found: dict[str | None, dict[str, Any]] = {}
        notes = []
        for way in WAYS:
            try:
                table = bounds(frame, own, over=way, convention=convention, **given)
            except DataError:
                raise
            except ValueError as error:
                notes.append(str(error))
                continue
            for row in table.iter_rows(named=True):
                name = None if system is None else str(row[system])
                ends = {f"{way}_low": row["low"], f"{way}_high": row["high"]}
                found.setdefault(name, {"value": row["value"]}).update(ends)
        for name, known in (found or {None: {}}).items():
            about = {"measure": measure.name, "system": name}
            rows.append(about | known | {"note": "; ".join(notes) or None})
    schema = {"measure": pl.String(), "system": pl.String(), "value": pl.Float64()}
    schema |= dict.fromkeys(ENDS, pl.Float64()) | {"note": pl.String()}
    return pl.DataFrame(rows, schema=schema)


def unknowns_table(found: pl.DataFrame) -> Table:
    """The same, cell by cell."""
    several = found["system"].null_count() < len(found)
    names = ["measure", *(["system"] if several else [])]
    rows = [
        [
            *(Cell(row[name] or "-") for name in names),
            Cell(number(row["value"])),
            *(Cell(_range(row[f"{w}_low"], row[f"{w}_high"])) for w in WAYS),
        ]
        for row in found.iter_rows(named=True)
    ]
    notes = (
        found.drop_nulls("note").select("measure", "note").unique(maintain_order=True)
    )
    return Table(
        "Bounds",
        [*names, "value", "over tied orders", "over unknown labels"],
        rows,
        len(names),
        [f"{measure}: {note}." for measure, note in notes.rows()],
    )


def _range(low: float | None, high: float | None) -> str:
    return "-" if low is None and high is None else f"{number(low)} .. {number(high)}"
