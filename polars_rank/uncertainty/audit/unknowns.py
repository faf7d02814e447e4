"""What is not known of a value: bounds over tied orders and labels, per system."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from inspect import signature
from typing import Any, TypeAlias

import polars as pl

from polars_rank.comparison.input.values import lower_is_better
from polars_rank.exceptions import DataError
from polars_rank.measures.measure import Custom, Measure
from polars_rank.report.table import Cell, Table, number
from polars_rank.uncertainty.audit.alternatives import as_given
from polars_rank.uncertainty.bounds.bounds import Over, bounds

SAME = 1e-12  # smaller differences are rounding
WAYS: tuple[Over, ...] = ("ties", "labels")
ENDS = ("mean", "ties_lower", "ties_upper", "labels_lower", "labels_upper")


def require_known_to_bounds(options: Mapping[str, Any]) -> None:
    """Raise ``ValueError`` for an option of ``evaluate`` that bounds do not have."""
    if unknown := sorted({*options} - {*signature(bounds).parameters}):
        msg = f"bounds=True goes without {unknown[0]}=: bounds do not know it"
        raise ValueError(msg)


Known: TypeAlias = Callable[..., pl.DataFrame]  # bounds of a log, but for the measures


def unknowns(
    known: Known, asked: Sequence[Measure | Custom], system: str | None
) -> pl.DataFrame:
    """Return the mean of each measure and system, and its bounds or a ``note``.

    A measure whose bounds are not known, or would take too long, has null ones.
    """
    rows = []
    for measure in asked:
        found: dict[str | None, dict[str, Any]] = {}
        notes = []
        for way in WAYS:
            table = _attempt(known, measure, over=way)
            if isinstance(table, str):
                notes.append(table)
                continue
            for row in table.iter_rows(named=True):
                name = None if system is None else str(row[system])
                ends = {f"{way}_lower": row["lower"], f"{way}_upper": row["upper"]}
                found.setdefault(name, {"mean": row["mean"]}).update(ends)
        for name, values in (found or {None: {}}).items():
            about = {"measure": measure.name, "system": name}
            rows.append(about | values | {"note": "; ".join(notes) or None})
    return pl.DataFrame(rows, schema=_schema("measure system", ENDS, "note"))


def sure_differences(
    known: Known, asked: Sequence[Measure | Custom], system: str, systems: Sequence[Any]
) -> pl.DataFrame:
    """Tell what is sure of each pair of systems under every order and label.

    ``measure``, ``baseline``, ``system``; ``difference``, ``lower``, ``upper``;
    ``better``, the system that is better under all of them, or null; a ``note`` where
    no bounds are known.
    """
    rows: list[dict[str, Any]] = []
    for measure in asked if len(systems) > 1 else ():
        for i, baseline in enumerate(systems[:-1]):
            about = {"measure": measure.name, "baseline": str(baseline)}
            table = _attempt(known, measure, over=WAYS, baseline=baseline)
            if isinstance(table, str):
                rows.append({"measure": measure.name, "note": table})
                break
            later = table.filter(pl.col(system).is_in(systems[i + 1 :]))
            for row in later.iter_rows(named=True):
                about |= {"system": str(row[system])}
                better = _better(measure.name, row["lower"], row["upper"])
                rows.append(row | about | {"better": better and about[better]})
    numbers = ("difference", "lower", "upper")
    return pl.DataFrame(
        rows, schema=_schema("measure baseline system", numbers, "better note")
    )


def _attempt(known: Known, measure: Measure | Custom, **how: Any) -> pl.DataFrame | str:
    """Bound a measure, or tell why its bounds are not known."""
    try:
        return known(measures=as_given(measure), **how)
    except DataError:
        raise
    except ValueError as error:
        return str(error)


def _schema(keys: str, numbers: Sequence[str], told: str) -> dict[str, pl.DataType]:
    return {
        **dict.fromkeys(keys.split(), pl.String()),
        **dict.fromkeys(numbers, pl.Float64()),
        **dict.fromkeys(told.split(), pl.String()),
    }


def _better(measure: str, lower: float | None, upper: float | None) -> str | None:
    """Tell which of the two is better at both ends."""
    if lower is None or upper is None or (lower <= SAME and upper >= -SAME):
        return None
    higher = "system" if lower > SAME else "baseline"
    if lower_is_better(measure):
        return "baseline" if higher == "system" else "system"
    return higher


def unknowns_table(found: pl.DataFrame) -> Table:
    """Show bounds cell by cell."""
    several = found["system"].null_count() < len(found)
    names = ["measure", *(["system"] if several else [])]
    rows = [
        [
            *(Cell(row[name] or "-") for name in names),
            Cell(number(row["mean"])),
            *(Cell(_range(row[f"{w}_lower"], row[f"{w}_upper"])) for w in WAYS),
        ]
        for row in found.iter_rows(named=True)
    ]
    return Table(
        "Bounds",
        [*names, "mean", "over tied orders", "over unknown labels"],
        rows,
        len(names),
        _notes(found),
    )


def differences_table(found: pl.DataFrame) -> Table:
    """Show differences cell by cell."""
    rows = [
        [
            Cell(row["measure"]),
            Cell(f"{row['system']} - {row['baseline']}"),
            Cell(number(row["difference"])),
            Cell(_range(row["lower"], row["upper"])),
            Cell(row["better"] or "-", bold=row["better"] is not None),
        ]
        for row in found.filter(pl.col("note").is_null()).iter_rows(named=True)
    ]
    return Table(
        "Differences over all tied orders and unknown labels",
        ["measure", "systems", "difference", "bounds", "always better"],
        rows,
        2,
        _notes(found),
    )


def _notes(found: pl.DataFrame) -> list[str]:
    told = found.drop_nulls("note").select("measure", "note")
    return [f"{m}: {note}." for m, note in told.unique(maintain_order=True).rows()]


def _range(lower: float | None, upper: float | None) -> str:
    if lower is None and upper is None:
        return "-"
    return f"{number(lower)} .. {number(upper)}"
