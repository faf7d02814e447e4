"""The vocabulary of totals: sums over the lists of all users, and a formula of these.

Its measures have no value for a user. Their state is a few sums, so that states of
parts add up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
from polars.datatypes import DataType

from polars_rank.core.exact.aggregate import ExactSums, State, exact_sum, exact_total
from polars_rank.core.words.recommendations import Recommendations


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Totals:
    """Sums over the lists of all users.

    Attributes
    ----------
    each
        The list of one user: a value of it can be summed.
    sum
        Sum of such a value over all users.
    """

    each: Recommendations
    sum: Callable[[pl.Expr], pl.Expr]


@dataclass(frozen=True)
class ListTotals(ExactSums):
    """A measure of totals, from the lists of users.

    The value of a user is a struct of what the list adds to each of the sums.
    """

    formula: Callable[..., pl.Expr]
    arguments: tuple[tuple[str, Any], ...] = ()

    def value(self, each: Recommendations) -> pl.Expr:
        """Return the value of a user from the list."""
        added = self._added(each)
        return pl.struct(x.cast(pl.Float64).alias(f"x{i}") for i, x in enumerate(added))

    def state(self, value: pl.Expr, weight: pl.Expr | None = None) -> State:
        """Sum what each list adds, times its weight."""
        state: State = {"n": value.count()}
        for i in range(len(self._added(ANY_LIST))):
            added = value.struct.field(f"x{i}")
            state |= exact_sum(f"x{i}", added if weight is None else added * weight)
        return state

    def finish(self, state: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return the value of the formula."""
        sums = (exact_total(f"x{i}", state) for i in range(len(self._added(ANY_LIST))))
        return self._traced(ANY_LIST, lambda _: next(sums))

    def _added(self, each: Recommendations) -> list[pl.Expr]:
        """Return what a list adds to the sums, in the order of the formula."""
        added: list[pl.Expr] = []

        def note(value: pl.Expr) -> pl.Expr:
            added.append(value)
            return value

        self._traced(each, note)
        return added

    def _traced(
        self, each: Recommendations, total: Callable[[pl.Expr], pl.Expr]
    ) -> pl.Expr:
        return self.formula(Totals(each=each, sum=total), **dict(self.arguments))


class _AnyList(Recommendations):
    """A list of which nothing is known: it tells how many sums a formula has."""

    def about(self, word: str) -> pl.Expr:
        return pl.col(word)

    def feature(self, name: str) -> tuple[pl.Expr, DataType]:
        return pl.col(name), pl.Boolean()

    def catalog_count(self, which: pl.Expr) -> pl.Expr:
        return which

    def past_item_count(self, which: pl.Expr) -> pl.Expr:
        return which


ANY_LIST = _AnyList(
    label=pl.col("label"),
    rank=pl.col("rank"),
    place=pl.col("place"),
    ideal_label=pl.col("ideal_label"),
    score=pl.col("score"),
    raw_score=pl.col("score"),
)
