"""The vocabulary of recommenders: what is known about the items of a user's list.

A list is a ranking, and its items have more words: how often the history has them, and
what their features are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import add

import polars as pl
from polars.datatypes import DataType

from polars_rank.core.expr import ratio
from polars_rank.core.words.ranking import Ranking


def is_category(dtype: DataType) -> bool:
    """Tell whether a feature is one category, and neither several nor a vector."""
    return not isinstance(dtype, pl.List | pl.Array | pl.Struct)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Recommendations(Ranking):
    """One user's list of items, as expressions with a value per item.

    The words of a :class:`Ranking` mean what they mean there; of the judgments, the
    items of the list have theirs, and a metric that ``depends_on="relevant"`` ones has
    the relevant items that the list lacks, too. ``history`` are the past interactions,
    ``items`` the catalog with its features.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> reco = pl.DataFrame({"user": 1, "item": ["a", "b"], "score": [2.0, 1.0]})
    >>> history = pl.DataFrame({"user": [2, 3, 3], "item": ["a", "a", "b"]})
    >>> pr.per_query(
    ...     reco, "mean_popularity@2", history=history, query="user", doc="item"
    ... ).rows()
    [(1, 1.5)]
    """

    def about(self, word: str) -> pl.Expr:
        """Return what the history says of the item, or of all items."""
        raise NotImplementedError

    def feature(self, name: str) -> tuple[pl.Expr, DataType]:
        """Return a column of ``items``, and its type."""
        raise NotImplementedError

    def group(self, name: str) -> pl.Expr:
        """Return whether the item is in a group: a Boolean column of ``items``."""
        marked, dtype = self.feature(name)
        if dtype != pl.Boolean:
            msg = (
                f"feature={name!r} must be Boolean, true for items of the group, not "
                f"{dtype}: make it, e.g. with pl.col({name!r}) == 'a category'"
            )
            raise TypeError(msg)
        return marked

    def catalog_share(self, name: str) -> pl.Expr:
        """Share of the catalog's items that have the category of this one.

        Of several categories, a list of shares. An item counts in each of its own with
        an equal part of 1; those without one are left out.
        """
        raise NotImplementedError

    def past_share(self, name: str) -> pl.Expr:
        """Share of the user's interactions with the category of this item.

        Of several categories, a list, as in ``catalog_share``; null without any. Only
        interactions with items of the catalog count, whose category is known.
        """
        raise NotImplementedError

    def catalog_count(self, which: pl.Expr) -> pl.Expr:
        """Number of items of the catalog for which ``which`` holds."""
        raise NotImplementedError

    def past_item_count(self, which: pl.Expr) -> pl.Expr:
        """Number of such items with which the user interacted."""
        raise NotImplementedError

    def past_count(self, name: str) -> pl.Expr:
        """Number of the user's interactions with items whose feature is known."""
        raise NotImplementedError

    def past_direction(self, name: str) -> list[pl.Expr]:
        """Mean of the unit vectors of the items with which the user interacted.

        Each of these counts as often as it did; a vector of zeros stays one.
        """
        raise NotImplementedError

    # -- of the history

    @property
    def users(self) -> pl.Expr:
        """Number of users who interacted with the item; 0 for a cold one."""
        return self.about("users")

    @property
    def interactions(self) -> pl.Expr:
        """Number of interactions with the item; 0 for a cold one."""
        return self.about("interactions")

    @property
    def popularity_rank(self) -> pl.Expr:
        """Rank of the item by its interactions; equal numbers share one, without gaps.

        Null for a cold item.
        """
        return self.about("popularity_rank")

    @property
    def interactions_above(self) -> pl.Expr:
        """Number of interactions with more popular items; null for a cold item."""
        return self.about("interactions_above")

    def in_tail(self, head: float) -> pl.Expr:
        """Return whether the item is not among the most popular ones.

        These have the share ``head`` of the interactions.
        """
        known = self.interactions_above < head * self.interaction_count
        return ~known.fill_null(value=False)

    @property
    def seen(self) -> pl.Expr:
        """Whether the user interacted with the item."""
        return self.about("seen")

    @property
    def user_count(self) -> pl.Expr:
        """Number of users of the history."""
        return self.about("user_count")

    @property
    def interaction_count(self) -> pl.Expr:
        """Number of interactions of the history."""
        return self.about("interaction_count")

    @property
    def item_count(self) -> pl.Expr:
        """Number of items in the catalog: in ``items``, or else in the history."""
        return self.about("item_count")

    # -- of the list

    def listed_count(self, k: int | None = None) -> pl.Expr:
        """Number of items among the first ``k`` places."""
        return self.sum(self.in_top(k))

    def mean(self, value: pl.Expr, k: int | None = None) -> pl.Expr:
        """Mean of a value over the items among the first ``k`` places."""
        value = value.cast(pl.Float64)
        return ratio(self.sum(value * self.in_top(k)), self.listed_count(k))

    def listed(self, value: pl.Expr, k: int | None = None) -> pl.Expr:
        """Return a value of the first ``k`` items, best first, as a list."""
        return self.reduce(value.filter(self.in_top(k)).implode())

    def category_counts(self, name: str, k: int | None = None) -> pl.Expr:
        """Count the first ``k`` items of each category of a feature, as a list.

        An item of several categories counts in each.
        """
        value, dtype = self.feature(name)
        own = value.filter(self.in_top(k))
        if isinstance(dtype, pl.List):
            own = own.explode()
        counts = own.drop_nulls().unique_counts()
        return self.reduce(counts.cast(pl.Float64).implode())

    def sum_over_categories(
        self,
        name: str,
        term: Callable[[pl.Expr, pl.Expr], pl.Expr],
        *,
        weight: pl.Expr,
        common: pl.Expr,
        k: int | None = None,
    ) -> pl.Expr:
        """Sum a term over the categories of the first ``k`` items.

        The term is of the category's share of the weights of these items, and of a
        value that all items of the category have in ``common`` (null: 0). An item of
        several categories divides its weight evenly, and has a list of such values. The
        sum is undefined if there is no category.
        """
        category, dtype = self.feature(name)
        parts = {"category": category, "weight": weight.cast(pl.Float64), "own": common}
        if isinstance(dtype, pl.List):
            n = category.list.len()
            parts["weight"] = (parts["weight"] / n).repeat_by(n)
        elif not is_category(dtype):
            msg = (
                f"feature={name!r} must have a category per item (text, a number) or a "
                f"list of categories, not {dtype}"
            )
            raise TypeError(msg)
        parts = {n: part.filter(self.in_top(k)) for n, part in parts.items()}
        if isinstance(dtype, pl.List):
            parts = {n: p.explode(empty_as_null=True) for n, p in parts.items()}
        item = pl.struct(part.alias(name) for name, part in parts.items())
        items = self.reduce(item.implode())
        category, weight, own = map(pl.element().struct.field, parts)
        known = pl.when(category.is_not_null())
        # Without nulls: if another list has one, Polars sums in blocks.
        weight = known.then(weight).otherwise(0.0)
        share = weight.sum().over(category) / weight.sum()
        each = term(share, own.fill_null(0.0)) / pl.len().over(category)
        found = pl.when(category.count() > 0).then(
            known.then(each).otherwise(0.0).sum()
        )
        return items.list.eval(found).list.first()

    def past_similarity(self, name: str) -> pl.Expr:
        """Mean similarity of the item and those with which the user interacted.

        Of two vectors (an Array) it is their cosine, of two categories 1 if they are
        equal. No pair is ever made.
        """
        vector, dtype = self.feature(name)
        if isinstance(dtype, pl.Array):
            parts, length = parts_of(vector, dtype)
            past = self.past_direction(name)
            along = reduce(add, (x * y for x, y in zip(parts, past, strict=True)))
            return ratio(along, length).fill_null(0.0)
        if is_category(dtype):
            return self.past_share(name).fill_null(0.0)
        msg = (
            f"feature={name!r} must be a category (text, a number) or a vector (an "
            f"Array of numbers), not {dtype}"
        )
        raise TypeError(msg)

    def distances(self, name: str, k: int | None = None) -> pl.Expr:
        """Sum of the distances of the first ``k`` items, over all ordered pairs.

        The distance of two vectors (an Array) is 1 less their cosine, of two categories
        1 if they differ, of two lists of categories the number of those that only one
        of them has. No pair is ever made: sums over items suffice.
        """
        _, dtype = self.feature(name)
        n = self.listed_count(k)
        if isinstance(dtype, pl.Array):
            return n * n - self._cosines(name, k) - n
        counts = self.category_counts(name, k)
        differ = n * counts.list.sum() - counts.list.eval(pl.element() ** 2).list.sum()
        return 2.0 * differ if isinstance(dtype, pl.List) else differ

    def _cosines(self, name: str, k: int | None) -> pl.Expr:
        """Sum of the cosines of all ordered pairs; 0 with a vector of zeros.

        The square of a sum of unit vectors has all pairs, and each vector with itself.
        """
        vector, dtype = self.feature(name)
        assert isinstance(dtype, pl.Array)
        parts, length = parts_of(vector, dtype)
        sums = (self.sum(ratio(part, length) * self.in_top(k)) for part in parts)
        themselves = self.count(length > 0, k)
        return reduce(add, (total * total for total in sums)) - themselves


def parts_of(vector: pl.Expr, dtype: pl.Array) -> tuple[list[pl.Expr], pl.Expr]:
    """Return the numbers of a vector, and its length."""
    parts = [vector.arr.get(i).cast(pl.Float64) for i in range(dtype.size)]
    return parts, reduce(add, (part * part for part in parts)).sqrt()
