"""What is not known of a value: bounds over tied orders and labels, per system."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import polars as pl

from polars_rank.comparison.input.values import lower_is_better
from polars_rank.conventions.convention import Convention
from polars_rank.exceptions import DataError
from polars_rank.io.frames import FrameLike
from polars_rank.measures.measure import Custom, Measure
from polars_rank.report.table import Cell, Table, number
from polars_rank.uncertainty.audit.alternatives import as_given
from polars_rank.uncertainty.bounds.bounds import Over, bounds

SAME = 1e-12  # smaller differences are rounding
WAYS: tuple[Over, ...] = ("ties", "labels")
ENDS = ("ties_lower", "ties_upper", "labels_lower", "labels_upper")


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
    """Return the mean of each measure and system, and its bounds or a ``note``.

    A measure whose bounds are not known, or would take too long, has null ones.
    """
    given = {"qrels": qrels, "system": system, "query": query, **options}
    rows = []
    for measure in asked:
        found: dict[str | None, dict[str, Any]] = {}
        notes = []
        for way in WAYS:
            try:
                table = bounds(
                    frame, as_given(measure), over=way, convention=convention, **given
                )
            except DataError:
                raise
            except ValueError as error:
                notes.append(str(error))
                continue
            for row in table.iter_rows(named=True):
                name = None if system is None else str(row[system])
                ends = {f"{way}_lower": row["lower"], f"{way}_upper": row["upper"]}
                found.setdefault(name, {"mean": row["mean"]}).update(ends)
        for name, known in (found or {None: {}}).items():
            about = {"measure": measure.name, "system": name}
            rows.append(about | known | {"note": "; ".join(notes) or None})
    schema = {"measure": pl.String(), "system": pl.String(), "mean": pl.Float64()}
    schema |= dict.fromkeys(ENDS, pl.Float64()) | {"note": pl.String()}
    return pl.DataFrame(rows, schema=schema)


def sure_differences(
    frame: pl.LazyFrame,
    asked: Sequence[Measure | Custom],
    *,
    qrels: FrameLike | None,
    system: str | None,
    query: str | Sequence[str],
    convention: Convention,
    options: dict[str, Any],
) -> pl.DataFrame:
    """Tell what is sure of each pair of systems under every order and label.

    ``measure``, ``baseline``, ``system``; ``difference``, ``lower``, ``upper``;
    ``better``, the system that is better under all of them, or null; a ``note`` where
    no bounds are known. Bounds of differences need systems and judgments.
    """
    rows: list[dict[str, Any]] = []
    names = [] if system is None or qrels is None else _systems(frame, system)
    given = {"qrels": qrels, "system": system, "query": query, **options}
    for measure in asked if len(names) > 1 else ():
        for i, baseline in enumerate(names[:-1]):
            about = {"measure": measure.name, "baseline": str(baseline)}
            try:
                table = bounds(
                    frame, as_given(measure), over=WAYS, baseline=baseline,
                    convention=convention, **given,
                )  # fmt: skip
            except DataError:
                raise
            except ValueError as error:
                rows.append({"measure": measure.name, "note": str(error)})
                break
            later = table.filter(pl.col(str(system)).is_in(names[i + 1 :]))
            for row in later.iter_rows(named=True):
                about |= {"system": str(row[str(system)])}
                better = _better(measure.name, row["lower"], row["upper"])
                rows.append(row | about | {"better": better and about[better]})
    text, number = pl.String(), pl.Float64()
    return pl.DataFrame(
        rows,
        schema={
            **dict.fromkeys(("measure", "baseline", "system"), text),
            **dict.fromkeys(("difference", "lower", "upper"), number),
            **dict.fromkeys(("better", "note"), text),
        },
    )


def _systems(frame: pl.LazyFrame, system: str) -> list[Any]:
    found = frame.select(pl.col(system).unique().sort()).collect(engine="streaming")
    return found.to_series().drop_nulls().to_list()


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
