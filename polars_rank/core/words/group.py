"""The documents of the group at hand: raw columns, and lists of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

import polars as pl

from polars_rank.core.expr import as_expr
from polars_rank.core.words.needs import Needs
from polars_rank.core.words.noting import (
    Columns,
    Formula,
    Kind,
    Noted,
    NotingRanking,
    noting_ranking,
)
from polars_rank.core.words.ranking import Ties, order_by

MARK = "in ideal order"


@dataclass(frozen=True, eq=False)
class Documents:
    """The documents of the group at hand, in any order: raw columns.

    ``known`` is the score, if they are ``scored``, or the rank; ``doc`` breaks ties.
    """

    label: pl.Expr
    known: pl.Expr
    doc: pl.Expr | None
    _: KW_ONLY
    scored: bool
    ties: Ties

    @classmethod
    def of(cls, columns: tuple[Any, ...], *, scored: bool, ties: Ties) -> Documents:
        """Name the columns: label, score or rank, and ids, which compare as text."""
        label, known, doc = (None if c is None else as_expr(c) for c in columns)
        assert label is not None
        assert known is not None
        text = None if doc is None else doc.cast(pl.String)
        return cls(label, known, text, scored=scored, ties=ties)

    @cached_property
    def rows(self) -> pl.Expr:
        """The numbers of each document."""
        return pl.struct(self.label.alias("label"), self.known.alias("known"))

    @cached_property
    def unsorted(self) -> Columns:
        """The columns as they come; a struct of them makes literals as long.

        Whether labels are counted, or those in ideal order, they are the same; but a
        formula notes both, under two names.
        """
        label, known = self.label, self.known
        if not (self.label.meta.is_column() and self.known.meta.is_column()):
            label, known = (self.rows.struct.field(name) for name in ("label", "known"))
        return Columns(label, known, label.alias("ideal"), pl.len())

    @property
    def grades(self) -> pl.Expr:
        """Grades as Float64: a column is cast faster than the head of each group."""
        return self.unsorted.label.cast(pl.Float64)

    def in_order(self, row: pl.Expr, depth: int | None) -> pl.Expr:
        """Put something of each document in rank order; the first ``depth`` of them."""
        keys, downwards = [self.known], [False]
        if self.scored:
            keys, downwards = order_by(
                self.known, label=self.label, doc=self.doc, ties=self.ties
            )
        row = row.sort_by(
            keys, descending=downwards, nulls_last=True, maintain_order=True
        )
        return row if depth is None else row.head(depth)

    def listed(
        self, needs: Sequence[Needs]
    ) -> tuple[dict[Kind, pl.Expr], list[Columns]]:
        """Return lists for each kind of sum, and the columns of each need.

        One has the documents in rank order, one the grades in ideal order, unless a sum
        needs both. Columns are those of the list's elements. With a cutoff they end
        there.
        """
        scored = any("known" in need.columns for need in needs)
        joint = any(need.joint for need in needs)
        depth = _deepest(needs)
        ideal_depth = _deepest([n for n in needs if joint or "ideal" in n.columns])
        rows = self.in_order(self.rows if scored else self.grades, depth)
        best = self.grades.sort(descending=True, nulls_last=True)
        best = best if ideal_depth is None else best.head(ideal_depth)
        lists: dict[Kind, pl.Expr] = {"sums": rows, "ideals": best}
        row, ideal = pl.element(), pl.element().alias(MARK)
        if joint:
            lists = {"sums": pl.struct(rows.alias("row"), best.alias("ideal"))}
            row, ideal = (pl.element().struct.field(name) for name in ("row", "ideal"))
        found = []
        for need in needs:
            own, grades = (
                list_ if need.depth in (None, cut) else list_.head(need.depth)
                for list_, cut in ((row, depth), (ideal, ideal_depth))
            )
            label = own.struct.field("label") if scored else own
            known = own.struct.field("known")
            found.append(Columns(label, known, grades, own.len()))
        return lists, found

    def read(
        self,
        formula: Formula,
        columns: Columns,
        needs: Needs,
        noted: Noted | None = None,
    ) -> tuple[pl.Expr, NotingRanking]:
        """Return the value in terms of sums and counts, and what has noted these."""
        ranking = noting_ranking(
            columns,
            needs.depth,
            noted or Noted(),
            scored=self.scored,
            expected=self.ties == "expected",
        )
        return ranking.whole(formula) if needs.whole else formula(ranking), ranking


def list_of(value: pl.Expr) -> Kind:
    """Tell of which of the lists a value is: only grades in ideal order are marked."""
    return "ideals" if MARK in str(value) else "sums"


def _deepest(needs: Sequence[Needs]) -> int | None:
    """Return how many of the first documents are enough for all; None: no number is."""
    depths = [need.depth for need in needs if need.depth is not None]
    return max(depths) if depths and len(depths) == len(needs) else None
