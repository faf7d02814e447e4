"""A ranking that notes what a formula sums up, for the first binding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Literal, NamedTuple, TypeAlias

import polars as pl

from polars_rank.core.expr import is_scalar, places
from polars_rank.core.rules import (
    DUPLICATE_RANK,
    INFINITE_GRADE,
    INVALID_RANK,
    NAN_SCORE,
    NULL_SCORE,
    Violation,
)
from polars_rank.core.words.cutoffs import Cutoffs
from polars_rank.core.words.ranking import Depth, Ranking

Formula: TypeAlias = Callable[[Ranking], pl.Expr]
# Of what a formula sums up: along documents in rank order, along grades in ideal order,
# or in any order.
Kind: TypeAlias = Literal["sums", "ideals", "counts"]


class Columns(NamedTuple):
    """Columns of a query's documents.

    ``ideal`` has the grades in the ideal order, and ``number`` is how many there are.
    """

    label: pl.Expr
    known: pl.Expr
    ideal: pl.Expr
    number: pl.Expr


def _in_a_struct(_: Kind, name: str) -> pl.Expr:
    return pl.field(name)


def _in_rank_order(_: pl.Expr) -> Kind:
    return "sums"


@dataclass
class Noted:
    """What a formula sums up, each sum once, and what is known about its terms.

    Attributes
    ----------
    sums, ideals, counts
        Values of the documents in rank order, in ideal order, and in any order.
    cutoffs
        How many of the first documents can change the ``sums``.
    kind_of
        Whether a value is one of the ``sums`` or ``ideals``.
    place
        The column or field in which a formula finds a sum, or a count, of that name.
    beside
        Whether a sum is used in an expression over the documents: told by its name,
        where that is the name of a column.
    """

    place: Callable[[Kind, str], pl.Expr] = _in_a_struct
    kind_of: Callable[[pl.Expr], Kind] = _in_rank_order
    sums: dict[str, pl.Expr] = field(default_factory=dict)
    ideals: dict[str, pl.Expr] = field(default_factory=dict)
    counts: dict[str, pl.Expr] = field(default_factory=dict)
    cutoffs: Cutoffs = field(default_factory=Cutoffs)
    beside: bool = False

    def add(self, kind: Kind, value: pl.Expr) -> pl.Expr:
        """Return the place where the value will be."""
        known = getattr(self, kind)
        same = (name for name, other in known.items() if other.meta.eq(value))
        name = next(same, f"{kind}{len(known)}")
        known[name] = value
        return self.place(kind, name)

    def values(self, kind: Kind) -> list[pl.Expr]:
        """Return the values under their names."""
        return [value.alias(name) for name, value in getattr(self, kind).items()]

    def along(self, value: pl.Expr) -> pl.Expr:
        """Note a value of the documents in some order."""
        return self.add(self.kind_of(value), value)

    def sum(self, term: pl.Expr, total: pl.Expr) -> pl.Expr:
        """Note how many documents the sum of the term needs, and its value."""
        held = self.sums.keys() | self.counts.keys()
        self.beside |= not held.isdisjoint(term.meta.root_names())
        self.cutoffs.add(term)
        return self.along(total)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class NotingRanking(Ranking):
    """A ranking whose sums are computed once, over the documents that can change them.

    A formula names a sum several times, and a sum with a cutoff needs a few of the
    documents. What it reads otherwise than by sums may depend on all. ``depth`` is how
    many documents there are at most, where that is known.
    """

    noted: Noted
    scored: bool
    number: pl.Expr
    depth: int | None

    def whole(self, formula: Callable[[Ranking], pl.Expr]) -> pl.Expr:
        """Compute any formula in one piece."""
        words = {f.name: getattr(self, f.name) for f in fields(Ranking)}
        plain = Ranking(**words | {"violations": []})
        value = formula(plain)
        if not is_scalar(value):
            msg = (
                "a formula must return one number for each group, not one for each "
                "document; reduce it, e.g. r.sum(...)"
            )
            raise TypeError(msg)
        self.violations.extend(
            Violation(v.rule, self.reduce(v.count)) for v in plain.violations
        )
        return self.reduce(value)

    def cached(self, word: pl.Expr) -> pl.Expr:
        """Let the word depend on all documents."""
        self.noted.cutoffs.depths.add(None)
        return word

    def zero_below(self, k: Depth, word: pl.Expr) -> pl.Expr:
        """Note the cutoff."""
        return self.noted.cutoffs.note(word, k)

    def running(self, word: pl.Expr) -> pl.Expr:
        """Return the word: those of the first documents need no others."""
        return word

    def broadcast(self, value: pl.Expr) -> pl.Expr:
        """Let the value depend on all documents."""
        return self.cached(value)

    def sum(self, term: pl.Expr) -> pl.Expr:
        """Sum the term once."""
        return self.noted.sum(term, super().sum(term))

    def count_all(self, condition: pl.Expr) -> pl.Expr:
        """Count once; the documents need not be in order."""
        return self.noted.add("counts", super().sum(condition))

    def retrieved_count(self) -> pl.Expr:
        """Count the documents, where each has a score."""
        if not self.scored:
            return super().retrieved_count()
        return self.noted.add("counts", self.number.cast(pl.Float64))

    def reduce(self, value: pl.Expr) -> pl.Expr:
        """Compute the value once."""
        return self.noted.along(self.cached(value))

    def rank_weight(self, f: Callable[[pl.Expr], pl.Expr], k: Depth = None) -> pl.Expr:
        """Weight all documents alike, where there are none below the cutoff."""
        return super().rank_weight(f, None if self._has_no_more_than(k) else k)

    def count(self, which: pl.Expr, k: Depth = None) -> pl.Expr:
        """Count without a condition on the rank, where all documents meet it."""
        if self._has_no_more_than(k) and not self.expected:
            return self.sum(which)
        return super().count(which, k)

    def weight_of_first(
        self, f: Callable[[pl.Expr], pl.Expr], k: Depth = None, rel: float = 1
    ) -> pl.Expr:
        """Look the rank up instead of adding zeros."""
        if self.expected or not self.scored:
            return super().weight_of_first(f, k, rel)
        # Not arg_max: in a streaming select, Polars 2.1 finds the last one.
        first = self.reduce(self.relevant(rel).index_of(element=True))
        known = first.cast(pl.Float64) + 1.0
        return replace(self, rank=known, depth=None).weight(f, k).fill_null(0.0)

    def _has_no_more_than(self, k: Depth) -> bool:
        return self.scored and (k is None or (isinstance(k, int) and k == self.depth))


def noting_ranking(
    columns: Columns,
    depth: int | None,
    noted: Noted,
    *,
    scored: bool,
    expected: bool,
) -> NotingRanking:
    """Make a ranking of the documents of one query, in order: by score, or ranked."""
    label, raw = columns.label.cast(pl.Float64), columns.known
    known = raw.cast(pl.Float64)
    place = places(columns.number)

    def tie(end: Literal["min", "max"]) -> pl.Expr:
        return raw.rank(end, descending=True).cast(pl.Float64)

    tied = scored and expected
    ranking = NotingRanking(
        label=label,
        rank=place if scored else known,
        place=place,
        ideal_label=columns.ideal.cast(pl.Float64),
        score=known if scored else -known,
        raw_score=raw if scored else -known,
        tie_first=tie("min") if tied else None,
        tie_last=tie("max") if tied else None,
        noted=noted,
        scored=scored,
        number=columns.number,
        depth=depth,
    )
    number = (raw + 0).cast(pl.Float64)  # which refuses text; a cast would read it
    if scored:
        found = {NAN_SCORE: number.is_nan(), NULL_SCORE: known.is_null()}
    else:
        whole = (number >= 1) & (known.floor() == known) & known.is_finite()
        copies = known.count() - known.drop_nulls().n_unique()
        found = {INVALID_RANK: ~whole, DUPLICATE_RANK: copies}
    found[INFINITE_GRADE] = (columns.label * 0.0).is_nan()
    for rule, condition in found.items():
        ranking.forbid(condition, rule)
    return ranking
