"""The vocabulary of a catalog: how often the lists of all users have each item.

Its measures have no value for a user. Their state is how often each item was
recommended, so that states of parts add up.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, fields
from math import inf
from typing import Any

import polars as pl

from polars_rank.core.exact.aggregate import State

ITEMS, ITEMS_BY_LENGTH = "items", "items_by_length"  # columns of a state
LISTS = "lists"  # the same: how many lists each group of users has
GROUPS = 20  # of users, each left out in turn: what a standard error is made of
LEFT_OUT = "left_out"  # a statistic for comparisons: the values without each of them


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


def needs_groups(stats: Collection[str]) -> bool:
    """Tell whether a statistic needs items counted by group of users."""
    return not {"se", LEFT_OUT}.isdisjoint(stats)


@dataclass(frozen=True)
class RecommendedItems:
    """A measure of the catalog, from the lists of users.

    The value of a user is a struct: ``listed`` are the items of the list or, if the
    formula reads ``shares``, structs of the ``item`` and the ``length`` of the list;
    ``item_count`` is the size of the catalog. With ``grouped`` users, for the standard
    error, an item is a struct with the ``group`` of its user. The first ``depth`` items
    of a list count.
    """

    formula: Callable[..., pl.Expr]
    arguments: tuple[tuple[str, Any], ...] = ()
    grouped: bool = False
    depth: float = inf

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

    def counts_as(self, other: object) -> bool:
        """Tell whether the state of another measure is the same."""
        return isinstance(other, RecommendedItems) and (
            (self.counts, self.grouped, self.depth)
            == (other.counts, other.grouped, other.depth)
        )

    def value(self, items: pl.Expr) -> pl.Expr:
        """Return the value of a user from the items of the list."""
        if self.by_length:
            here = pl.element()
            named = [here.alias("item")]
            if self.grouped:
                named = [here.struct.field(name) for name in ("item", "group")]
            items = items.list.eval(pl.struct(*named, here.len().alias("length")))
        return pl.struct(items.alias("listed"), "item_count")

    def state(self, value: pl.Expr, weight: pl.Expr | None = None) -> State:
        """Count how often items are recommended, by item, group and length of list."""
        if weight is not None:
            msg = (
                "a measure of the catalog has no weights: it counts lists; leave out "
                "weight=, or ask for it in a call of its own"
            )
            raise ValueError(msg)
        listed = value.struct.field("listed")
        plain = not (self.by_length or self.grouped)
        state = {
            "n": (listed.list.len() > 0).sum(),
            self.counts: _occurrences(listed.explode(), plain=plain),
            "catalog": value.struct.field("item_count").max(),
        }
        if self.grouped:
            group = listed.list.first().struct.field("group")
            state[LISTS] = _occurrences(group, plain=True)
        return state

    def merge(self, name: str, column: pl.Expr) -> pl.Expr:
        """Add up the counts; the catalog is the same in all parts."""
        if name in (self.counts, LISTS):
            return _added(column.explode().drop_nulls()).implode()
        return column.max() if name == "catalog" else column.sum()

    def finish(self, state: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return the value of the formula."""
        return self._without(state, None)

    def statistic(self, stat: str, state: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return the standard error, or the values without each group; others are null.

        Of a group, ``left_out`` has the number, its ``lists`` and the ``value`` without
        them, next to the value of the ``whole`` and the number ``n`` of its lists.
        """
        if stat not in ("se", LEFT_OUT):
            return pl.lit(None, pl.Float64)
        whole, n = self.finish(state), state["n"].cast(pl.Float64)
        rows = pl.concat_list(
            pl.struct(
                group=pl.lit(group, pl.UInt8),
                lists=_lists_of(state, group),
                value=self._without(state, group),
                whole=whole,
                n=n,
            )
            for group in range(GROUPS)
        )
        if stat == LEFT_OUT:
            return rows
        names = ("whole", "n", "value", "lists")
        found = jackknife_error(*(pl.element().struct.field(name) for name in names))
        return rows.list.eval(found).list.first()

    def _without(self, state: Mapping[str, pl.Expr], group: int | None) -> pl.Expr:
        """Return the value of the formula, without the lists of a group of users."""
        items, value = state[self.counts], pl.element().struct.field("value")
        times = pl.element().struct.field("times").cast(pl.Float64)
        n = state["n"].cast(pl.Float64)
        if group is not None:
            times = times * (value.struct.field("group") != group)
            n = n - _lists_of(state, group)
        counts = shares = items.list.eval(times)
        if self.by_length or self.grouped:
            item = value.struct.field("item")
            counts = _of_items(items, item, times)
        if self.by_length:
            length = value.struct.field("length").cast(pl.Float64)
            shares = _of_items(items, item, times / length.sqrt())
        if group is not None:
            counts = counts.list.eval(pl.element().filter(pl.element() > 0))
        catalog = Catalog(
            counts=counts,
            shares=shares,
            list_count=n,
            item_count=state["catalog"].cast(pl.Float64),
        )
        return self.formula(catalog, **dict(self.arguments))


def _occurrences(values: pl.Expr, *, plain: bool) -> pl.Expr:
    """Count how often each value occurs, in their order."""
    values = values.drop_nulls().alias("value")
    if not plain:  # structs are slow to sort
        return values.value_counts(name="times").sort().implode()
    runs = values.sort().rle().struct
    return pl.struct(value=runs.field("value"), times=runs.field("len")).implode()


def _added(rows: pl.Expr) -> pl.Expr:
    """Put equal values together: each once, sorted, with the sum of its ``times``."""
    value, times = rows.struct.field("value"), rows.struct.field("times")
    # Both by the value: to sort the structs takes ten times as long.
    value, times = value.sort(), times.sort_by(value)
    last = (value != value.shift(-1)).fill_null(value=True)
    upto = times.cum_sum().filter(last)
    added = upto - upto.shift(1, fill_value=0)
    return pl.struct(value=value.filter(last), times=added)


def _of_items(items: pl.Expr, item: pl.Expr, times: pl.Expr) -> pl.Expr:
    """Add up the numbers of an item, whatever the group and the length of the list."""
    last = (item != item.shift(-1)).fill_null(value=True)
    upto = times.cum_sum().filter(last)
    return items.list.eval(upto - upto.shift(1, fill_value=0.0))


def _lists_of(state: Mapping[str, pl.Expr], group: int) -> pl.Expr:
    """Return the number of lists of a group of users."""
    own = pl.element().struct.field("value") == group
    times = pl.element().struct.field("times").cast(pl.Float64)
    return state[LISTS].list.eval(times.filter(own).sum()).list.first()


def jackknife_error(whole: pl.Expr, n: pl.Expr, left: pl.Expr, m: pl.Expr) -> pl.Expr:
    """Return the error of the draw of n units from rows that each leave m of them out.

    ``left`` is the value without these. Groups that are drawn by hash differ in size,
    so that each has a factor of its own, n / m. Undefined for one group, and if a value
    is.

    Source: Busing, Meijer and van der Leeden, Statistics and Computing 9, 1999.
    """
    whole, n, left, m = (column.filter(m > 0) for column in (whole, n, left, m))
    factor, groups = n / m, m.len()
    estimate = (whole - (1.0 - m / n) * left).sum()
    off = factor * whole - (factor - 1.0) * left - estimate
    variance = (off * off / (factor - 1.0)).sum() / groups
    return pl.when((groups > 1) & (left.null_count() == 0)).then(variance.sqrt())
