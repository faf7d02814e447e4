"""The result of ``tune``: what was tried, what was chosen, and what it is worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_rank.report.table import Cell, Shown, Table, number

SHOWN = 5  # candidates in the printed table


@dataclass(frozen=True, eq=False, repr=False)
class Tuned(Shown):
    """A fusion, tuned by cross-validation.

    Attributes
    ----------
    best
        Keyword arguments of :func:`fuse`: ``method``, ``norm``, and the ``weights`` or
        parameters with the best mean over all queries. To be used on other queries.
    mean
        Cross-validated mean: each query has the value of the candidate that was chosen
        without it. It says what tuning is worth, and is the number to report.
    optimistic_mean
        Mean of ``best`` over the queries that chose it: too high, since the largest of
        several means is taken. Not to be reported.
    measure
        The measure.
    candidates
        What was tried: ``candidate`` as text, its ``mean`` over all ``queries``, in the
        order of ``tried``.
    folds
        Per ``fold``: the ``candidate`` that the other folds chose, its ``mean`` in the
        fold, and the number of ``queries`` there.
    values
        Per query: the value in the cross-validation, in a column with the name of the
        measure: rows of a system for :func:`compare`.
    tried
        Keyword arguments of each candidate.
    descending
        Whether larger values of the measure are better.
    """

    best: dict[str, Any]
    mean: float
    optimistic_mean: float
    measure: str
    candidates: pl.DataFrame
    folds: pl.DataFrame
    values: pl.DataFrame
    tried: Sequence[Mapping[str, Any]]
    descending: bool = True

    def tables(self) -> list[Table]:
        """Return the best candidates, and the choice of each fold."""
        first = self.candidates.sort(
            "mean", descending=self.descending, nulls_last=True, maintain_order=True
        )
        rows = [
            [Cell(name), Cell(number(mean)), Cell(str(queries))]
            for name, mean, queries in first.head(SHOWN).iter_rows()
        ]
        left = len(first) - len(rows)
        notes = [f"{left} more candidates."] if left else []
        choices = [
            [Cell(str(fold)), Cell(name), Cell(number(mean)), Cell(str(queries))]
            for fold, name, mean, queries in self.folds.iter_rows()
        ]
        return [
            Table(
                f"Candidates by {self.measure}, over all queries (optimistic)",
                ["candidate", "mean", "queries"],
                rows,
                1,
                notes,
            ),
            Table(
                "Choice without the queries of the fold, and its mean there",
                ["fold", "candidate", "mean", "queries"],
                choices,
                2,
                [
                    f"Cross-validated mean: {number(self.mean)}, to be reported. The "
                    "best has, on the queries that chose it, an optimistic "
                    f"{number(self.optimistic_mean)}."
                ],
            ),
        ]
