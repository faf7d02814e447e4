"""The vocabulary of a catalog: how often the lists of all users have each item.

Its measures have no value for a user. Their state is how often each item was
recommended, so that states of parts add up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import polars as pl

from polars_rank.core.aggregate import State
from polars_rank.core.distribution import counted

ITEMS, ITEMS_BY_LENGTH = "items", "items_by_length"  # columns of a state


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Catalog:
    """The items that all lists together recommend, as expressions.

    Attributes
    ----------
    counts
        How many lists have the item, of each recommended item: a list of Float64.
    shares
        The same, where an item of a list of n items counts ``1 / sqrt(n)``.
    list_count
        Number of lists with at least one item.
    item_count
        Number of items in the catalog.
    """

    counts: pl.Expr
    shares: pl.Expr
    list_count: pl.Expr
    item_count: pl.Expr

    @property
    def recommended_count(self) -> pl.Expr:
        """Number of different items in the lists."""
        return self.counts.list.len().cast(pl.Float64)

    def sum(
        self, numbers: pl.Expr, term: Callable[[pl.Expr], pl.Expr] = lambda x: x
    ) -> pl.Expr:
        """Sum a term of each of the ``counts``, or ``shares``."""
        return numbers.list.eval(term(pl.element()).sum()).list.first()


@dataclass(frozen=True)
class RecommendedItems:
    """A measure of the catalog, from the lists of users.

    The value of a user is a struct: ``listed`` are the items of the list or, if the
    formula reads ``shares``, structs of the ``item`` and the ``length`` of the list;
    ``item_count`` is the size of the catalog.
    """

    formula: Callable[..., pl.Expr]
    arguments: tuple[tuple[str, Any], ...] = ()

    @property
    def reads(self) -> set[str]:
        """The words that the formula reads."""
        words = Catalog(**{f.name: pl.col(f.name) for f in fields(Catalog)})
        return {*self.formula(words, **dict(self.arguments)).meta.root_names()}

    @property
    def by_length(self) -> bool:
        """Whether items are counted apart for lists of each length."""
        return "shares" in self.reads

    @property
    def counts(self) -> str:
        """The column of the state that counts items: one type under one name."""
        return ITEMS_BY_LENGTH if self.by_length else ITEMS

    def value(self, items: pl.Expr) -> pl.Expr:
        """Return the value of a user from the items of the list."""
        if self.by_length:
            each = pl.struct(item=pl.element(), length=pl.element().len())
            items = items.list.eval(each)
        return pl.struct(items.alias("listed"), "item_count")

    def state(self, value: pl.Expr, weight: pl.Expr | None = None) -> State:
        """Count how often items are recommended, by item and length of the list."""
        if weight is not None:
            msg = (
                "a measure of the catalog has no weights: it counts lists; leave out "
                "weight=, or ask for it in a call of its own"
            )
            raise ValueError(msg)
        listed = value.struct.field("listed")
        rows = listed.explode().drop_nulls().alias("value")
        return {
            "n": (listed.list.len() > 0).sum(),
            self.counts: rows.value_counts(name="times").sort().implode(),
            "catalog": value.struct.field("item_count").max(),
        }

    def merge(self, name: str, column: pl.Expr) -> pl.Expr:
        """Add up the counts; the catalog is the same in all parts."""
        if name == self.counts:
            return counted(column.explode().drop_nulls()).implode()
        return column.max() if name == "catalog" else column.sum()

    def finish(self, state: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return the value of the formula."""
        items, value = state[self.counts], pl.element().struct.field("value")
        times = pl.element().struct.field("times").cast(pl.Float64)
        counts = shares = items.list.eval(times)
        if self.by_length:
            item, length = (value.struct.field(name) for name in ("item", "length"))
            counts = _of_items(items, item, times)
            shares = _of_items(items, item, times / length.cast(pl.Float64).sqrt())
        catalog = Catalog(
            counts=counts,
            shares=shares,
            list_count=state["n"].cast(pl.Float64),
            item_count=state["catalog"].cast(pl.Float64),
        )
        return self.formula(catalog, **dict(self.arguments))


def _of_items(items: pl.Expr, item: pl.Expr, times: pl.Expr) -> pl.Expr:
    """Add up the numbers of an item, whatever the length of the list."""
    sums = counted(pl.struct(value=item, times=times))
    return items.list.eval(sums.struct.field("times"))
