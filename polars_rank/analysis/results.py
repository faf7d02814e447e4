"""The results of an analysis: frames, and tables of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_rank._engine.request import AnyFrame
from polars_rank.report.table import Cell, Shown, Table, number

NUMBERS = {"mean", "se", "lower", "upper", "difference", "share", "baseline_share"}
NUMBERS |= {"baseline_mean", "within", "mix", "contribution"}
MOST = 20  # rows of segments in a table


@dataclass(frozen=True, eq=False, repr=False)
class Changes(Shown):
    """What changed between two runs: frames, and a table.

    Attributes
    ----------
    summary
        Per measure (and system, where there are several): ``queries`` that have a
        value, its ``mean`` with the standard error ``se``, and ``lower`` and ``upper``
        of its interval. The measures are ``overlap``, ``jaccard``, ``rbo``, ``churn``,
        ``same_top``, ``entered``, ``left``, ``moves`` and, with judgments,
        ``new_unjudged``.
    segments
        The same for each segment, with ``by``; else None.
    queries
        A row per query, sorted, with a column for each measure.
    documents
        A row per document that either run has among its first k, by query and rank:
        ``baseline_rank`` and ``rank``, beyond k too (null: not retrieved); its
        ``kind``, ``"entered"``, ``"left"``, ``"up"``, ``"down"`` or ``"same"``; and,
        with judgments, its ``label``.
    settings
        The arguments.
    """

    summary: pl.DataFrame
    segments: pl.DataFrame | None
    queries: pl.DataFrame
    documents: AnyFrame
    settings: dict[str, Any]

    def tables(self) -> list[Table]:
        """Return the table of all queries, and that of segments."""
        k, level = self.settings["k"], self.settings["level"]
        title = f"Changes of the first {k}, with {100 * level:.4g}% intervals"
        found = [as_table(title, self.summary)]
        if self.segments is not None:
            found.append(as_table(f"{title}, by segment", self.segments))
        return found


def as_table(title: str, frame: pl.DataFrame, notes: Sequence[str] = ()) -> Table:
    """Return a frame as a table: text and counts, then numbers with four decimals."""
    notes = [*notes]
    if len(frame) > MOST:
        notes.append(f"The first {MOST} of {len(frame)} rows.")
    rows = [
        [
            Cell(number(value) if name in NUMBERS else _text(value))
            for name, value in row.items()
        ]
        for row in frame.head(MOST).iter_rows(named=True)
    ]
    labels = 0
    while labels < len(frame.columns) and frame.dtypes[labels] == pl.String:
        labels += 1
    return Table(title, frame.columns, rows, labels, notes)


def _text(value: object) -> str:
    return "-" if value is None else str(value)
