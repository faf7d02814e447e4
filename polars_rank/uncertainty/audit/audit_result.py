"""The result of ``audit``: frames, and ways to show them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_rank.conventions.convention import Convention
from polars_rank.report.table import Cell, Shown, Table, number, plain
from polars_rank.uncertainty.audit.unknowns import (
    SAME,
    differences_table,
    unknowns_table,
)


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Shown):
    """The effect of every disputed choice: two frames, and ways to show them.

    Attributes
    ----------
    choices
        Per measure, choice and other value, with those that change most first:
        ``measure``, ``choice``, ``value``; ``min_difference`` and ``max_difference``,
        the lowest and highest difference, over systems, to the mean under the
        convention; ``size``, the largest absolute one; ``tau``, Kendall's tau-b of the
        two orders of the systems; ``swapped``, the pairs of systems in another order,
        and ``significant_swaps``, those of them whose difference is significant before
        or after (paired t test, 5 %, without correction); a ``note`` why a choice
        changes nothing on this log, where the log shows it.
    values
        Per measure, choice, value and system: ``baseline_mean`` (under the convention),
        ``mean`` (under the other value) and their ``difference``. Without
        systems, ``system`` is null.
    convention
        The convention that is audited.
    bounds
        With ``bounds=True``: per measure and system its ``mean``, ``ties_lower`` and
        ``ties_upper`` over all orders of tied documents, ``labels_lower`` and
        ``labels_upper`` over all labels of unjudged ones; null, with a ``note``, where
        they are not known.
    differences
        With ``bounds=True``, judgments and systems: per measure and pair the
        ``difference`` (``system`` - ``baseline``), its ``lower`` and ``upper`` over all
        those orders and labels together, the same for both systems, and ``better``: the
        system that is better under all of them, or null.
    """

    choices: pl.DataFrame
    values: pl.DataFrame
    convention: Convention
    bounds: pl.DataFrame | None = None
    differences: pl.DataFrame | None = None

    @property
    def verdict(self) -> str:
        """Tell the order of the systems in a sentence."""
        systems = self.values["system"].n_unique()
        if systems < 2:
            moved = self.choices.filter(pl.col("size") > SAME)
            return f"{len(moved)} of {len(self.choices)} alternatives change a value."
        swaps = self.choices.filter(pl.col("swapped").list.len() > 0)
        if not len(swaps):
            count = len(self.choices)
            return f"The order of the systems is the same under all {count}."
        shown = [
            f"{row['choice']}={row['value']} ({row['measure']}: "
            f"{'; '.join(row['swapped'])})"
            for row in swaps.head(5).iter_rows(named=True)
        ]
        more = [f"and {len(swaps) - 5} more"] if len(swaps) > 5 else []
        real = swaps.filter(pl.col("significant_swaps").list.len() > 0)
        return (
            f"{len(swaps)} of {len(self.choices)} alternatives swap systems, "
            f"{len(real) or 'none'} of them significantly: "
            f"{', '.join([*shown, *more])}."
        )

    def table(self) -> Table:
        """Return the table of what changes a value, cell by cell."""
        several = self.values["system"].n_unique() > 1
        headers = ["measure", "choice", "value", "difference"]
        rows = []
        moves = pl.col("size").is_null() | (pl.col("size") > SAME)
        for row in self.choices.filter(moves).iter_rows(named=True):
            cells = [Cell(row[name]) for name in ("measure", "choice", "value")]
            cells.append(Cell(_range(row["min_difference"], row["max_difference"])))
            if several:
                cells.append(Cell(number(row["tau"], 2)))
                for name in ("swapped", "significant_swaps"):
                    count = len(row[name])
                    cells.append(Cell(str(count), bold=count > 0))
            rows.append(cells)
        if several:
            headers += ["tau", "swapped", "significant"]
        title = f"Audit of the convention {self.convention.name}"
        notes = [self.verdict]
        if idle := self._idle:
            notes.append(f"No effect here: {', '.join(idle)}.")
        return Table(title, headers, rows, 3, notes)

    @property
    def _idle(self) -> list[str]:
        """Name the choices of which no value changes any measure, and say why."""
        most = self.choices.group_by("choice", maintain_order=True).agg(
            moves=(pl.col("size").is_null() | (pl.col("size") > SAME)).any(),
            note=pl.col("note").first(),
        )
        idle = most.filter(~pl.col("moves")).select("choice", "note")
        return [name if why is None else f"{name} ({why})" for name, why in idle.rows()]

    def tables(self) -> list[Table]:
        """Return the table, and those of the bounds if they were asked for."""
        found = [self.table()]
        if self.bounds is not None:
            found.append(unknowns_table(self.bounds))
        if self.differences is not None and len(self.differences):
            found.append(differences_table(self.differences))
        return found

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists and numbers; ``json.dumps`` takes it."""
        return plain(
            {
                "convention": self.convention.name,
                "verdict": self.verdict,
                "choices": self.choices,
                "values": self.values,
                "bounds": self.bounds,
                "differences": self.differences,
            }
        )


def _range(smallest: float | None, largest: float | None) -> str:
    lower, upper = number(smallest), number(largest)
    return lower if lower == upper else f"{lower} .. {upper}"
