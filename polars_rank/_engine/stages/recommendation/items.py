"""What is known about items: how often the history has them, and their features."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple, TypeAlias

import polars as pl
from polars.datatypes import DataType

from polars_rank._engine.inputs import Inputs
from polars_rank._engine.request import Request, Resources
from polars_rank._engine.schema import (
    align_ids,
    bind_column,
    bind_columns,
    has_column,
    name_of,
    require_columns,
)
from polars_rank._engine.stages.rank import LISTED
from polars_rank.core.expr import divide, ratio
from polars_rank.core.source import is_rereadable
from polars_rank.core.words.recommendations import parts_of

HISTORY, ITEMS = "history", "items"
FEATURE = "feature "  # prefix of a column of items
CATALOG_SHARE, PAST_SHARE = "share of the catalog: ", "share of the past: "
PAST_COUNT, PAST_DIRECTION = "number in the past: ", "direction of the past: "
FINEST = 2.0**-44  # of a number of a unit vector: multiples of it add up exactly
PAST = "in the past: "  # prefix of a number of items of the user's history
KNOWN = "in items"  # of an item of a list: whether it is in the catalog
HALF, HALVES = 2**32, (pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16)
COUNTING = 8  # bytes that counting in the history takes for each byte of its rows
WORDS = ("users", "interactions", "popularity_rank", "interactions_above")


Count: TypeAlias = Callable[[pl.LazyFrame], pl.LazyFrame]


class Items(NamedTuple):
    """The history, with the query columns that it has, and the items; each may lack.

    Ids have the types that they have in the lists. With ``resources``, what is counted
    for users is counted for some of them at a time.
    """

    history: pl.LazyFrame | None
    keys: tuple[str, ...]
    items: pl.LazyFrame | None
    resources: Resources | None = None

    def table(
        self, words: Collection[str], shared: Collection[str] = ()
    ) -> pl.LazyFrame:
        """Return a row per item: ``doc``, the words about it, and its features.

        ``shared`` are features with the share that the catalog has of each category.
        """
        asked = [name for name in WORDS if name in words]
        parts = []
        if self.history is not None and asked:
            parts.append(self._of_history(asked))
        if self.items is not None:
            named = self.items.filter(pl.col("doc").is_not_null())
            first = self._apart(named, ["doc"], _first_of_each)
            first = first.with_columns(pl.lit(value=True).alias(KNOWN))
            for name in shared:
                first = with_shares(first, self._catalog_shares(name))
            parts.append(first)
        if len(parts) == 1:
            return parts[0]
        return parts[0].join(parts[1], on="doc", how="full", coalesce=True)

    def _of_history(self, words: Collection[str]) -> pl.LazyFrame:
        assert self.history is not None
        table = self._counted(users="users" in words)
        count = pl.col("interactions")
        if "popularity_rank" in words:
            rank = count.rank("dense", descending=True)
            table = table.with_columns(popularity_rank=rank)
        if "interactions_above" in words:
            table = table.sort("interactions", descending=True)
            before = count.cast(pl.Int64).cum_sum() - count
            table = table.with_columns(interactions_above=before)
            first = pl.col("interactions_above").min().over("interactions")
            table = table.with_columns(interactions_above=first)
        return table.select("doc", pl.col(words).cast(pl.Float64))

    def _counted(self, *, users: bool) -> pl.LazyFrame:
        """Count the interactions with each item and, if asked for, its users."""
        assert self.history is not None
        types = self.history.collect_schema()
        if not users:
            return self.history.group_by("doc").agg(interactions=pl.len())
        narrow = len(self.keys) == 1 and types[self.keys[0]] in (*HALVES, pl.UInt32)
        if not narrow or types["doc"] not in HALVES:
            counts = {"interactions": pl.len(), "users": _different(self.keys)}
            return self._sums(lambda rows: rows.group_by("doc").agg(**counts), "doc")
        # Sorted pairs of two numbers in one cost a third of a set of users per item.
        user = pl.col(self.keys[0]).cast(pl.Int64) & (HALF - 1)
        packed, pair = pl.col("doc").cast(pl.Int64) * HALF + user, pl.col("pair")
        doc = (pair // HALF).cast(types["doc"])

        def counted(rows: pl.LazyFrame) -> pl.LazyFrame:
            pairs = rows.select(pair=packed).sort("pair")
            rows = pairs.select(doc=doc, new=pair.ne_missing(pair.shift(1)))
            new = pl.col("new").sum()
            return rows.group_by("doc").agg(interactions=pl.len(), users=new)

        return self._sums(counted, "doc")

    def _sums(self, count: Count, *by: str) -> pl.LazyFrame:
        """Count in the history; what is counted for different users adds up."""
        assert self.history is not None
        if self.resources is None:
            return count(self.history)
        counts = self._apart(self.history, self.keys, count)
        return counts.group_by(by).agg(pl.all().sum()) if by else counts.sum()

    def _apart(
        self, frame: pl.LazyFrame, keys: Sequence[str], count: Count
    ) -> pl.LazyFrame:
        """Return what is counted in the rows of some keys, and in those of others.

        Without a limit of memory, these are all rows.
        """
        if self.resources is None:
            return count(frame)
        from polars_rank._engine.spill.bounded import bounded  # slow to import

        return bounded(
            [frame],
            keys,
            lambda parts: count(parts[0]),
            limit=self.resources.memory,
            temp_dir=self.resources.temp_dir,
            progress=None,
            fingerprint=count(frame).explain(optimized=False),
            factor=COUNTING,
        )

    def totals(self, words: Collection[str]) -> pl.LazyFrame:
        """Return one row: numbers of users, interactions and items, and faults."""
        counts: list[pl.LazyFrame] = []
        nulls = pl.any_horizontal(pl.all().is_null()).sum()
        catalog = self.history if self.items is None else self.items
        if self.history is not None:
            counted = {
                "interaction_count": pl.len().cast(pl.Float64),
                "null_interactions": nulls,
            }
            if "user_count" in words:
                counted["user_count"] = _different(self.keys).cast(pl.Float64)
                counts.append(self._sums(lambda rows: rows.select(**counted)))
            else:
                counts.append(self.history.select(**counted))
        if catalog is not None:
            doc = pl.col("doc").drop_nulls()
            of_items = {"item_count": doc.n_unique().cast(pl.Float64)}
            of_items |= self._faults(doc)
            docs = catalog.select("doc")
            found = self._apart(docs, ["doc"], lambda rows: rows.select(**of_items))
            counts.append(found.sum())
        return pl.concat(counts, how="horizontal")

    def _faults(self, doc: pl.Expr) -> dict[str, pl.Expr]:
        if self.items is None:
            return {}
        nulls, copies = pl.col("doc").null_count(), doc.len() - doc.n_unique()
        return {"null_items": nulls, "item_copies": copies}

    def past_shares(self, name: str) -> tuple[pl.LazyFrame, pl.LazyFrame]:
        """Return the share of a user's interactions with each category, and of users.

        Only items whose category is known count.
        """
        assert self.history is not None
        categories, total = self._categories(name), PAST_COUNT + name
        weights = _weights(self.history.join(categories, on="doc"), name, self.keys)
        known = self.history.join(categories, on="doc", how="semi")
        totals = known.group_by(self.keys).agg(pl.len().alias(total))
        shares = weights.join(totals, on=self.keys, how="left")
        share = (pl.col("weight") / pl.col(total)).alias(PAST_SHARE + name)
        return shares.select(*self.keys, FEATURE + name, share), totals

    def _catalog_shares(self, name: str) -> pl.LazyFrame:
        """Return the share of the items with each category."""
        categories = self._categories(name)
        count = categories.select(count=pl.col("doc").n_unique())
        shares = _weights(categories, name).join(count, how="cross")
        share = divide(pl.col("weight"), pl.col("count")).alias(CATALOG_SHARE + name)
        return shares.select(FEATURE + name, share)

    def _categories(self, name: str) -> pl.LazyFrame:
        """Return a row per category of an item, and the ``size``: how many it has."""
        assert self.items is not None
        feature, size = FEATURE + name, pl.lit(1)
        own = self.items.select("doc", feature).drop_nulls().unique("doc")
        if isinstance(own.collect_schema()[feature], pl.List):
            own = own.with_columns(size=pl.col(feature).list.len())
            return own.explode(feature, empty_as_null=True).drop_nulls()
        return own.with_columns(size=size)

    def past_directions(self, name: str, dtype: pl.Array) -> pl.LazyFrame:
        """Return the mean unit vector of a user's interactions, and their number.

        The numbers are integers, multiples of ``FINEST``, and so are their sums.
        """
        assert self.history is not None
        assert self.items is not None
        feature = FEATURE + name
        vectors = self.items.select("doc", feature).drop_nulls().unique("doc")
        parts, length = parts_of(pl.col(feature), dtype)
        units = {
            f"{PAST_DIRECTION}{name} {i}": ratio(part, length * FINEST).fill_null(0.0)
            for i, part in enumerate(parts)
        }
        whole = (unit.round().cast(pl.Int64).alias(n) for n, unit in units.items())
        rows = self.history.join(vectors.select("doc", *whole), on="doc")
        means = (pl.col(n).sum() * FINEST / pl.len() for n in units)
        return rows.group_by(self.keys).agg(pl.len().alias(PAST_COUNT + name), *means)

    def catalog(self, table: pl.LazyFrame, totals: pl.LazyFrame) -> pl.LazyFrame:
        """Return the rows of the ``table`` that are of the catalog, with the totals."""
        rows = table if self.items is None else table.filter(KNOWN)
        return rows.join(totals, how="cross")

    def past_counts(self, marked: pl.LazyFrame, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Count how many items with each mark the users of the rows interacted with."""
        assert self.history is not None
        users = rows.select(self.keys)
        pairs = self.history.join(users, on=self.keys, how="semi").unique()
        marks = [n for n in marked.collect_schema() if n != "doc"]
        counts = (
            pl.col(name).sum().cast(pl.Float64).alias(PAST + name) for name in marks
        )
        return pairs.join(marked, on="doc").group_by(self.keys).agg(counts)

    def seen(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        """Return the pairs of users and items of the history that are in the rows."""
        assert self.history is not None
        pairs = [*self.keys, "doc"]
        listed = rows.select(pairs)
        found = self.history.select(pairs).join(listed, on=pairs, how="semi")
        return found.unique().with_columns(seen=pl.lit(value=True))


def bind_items(
    request: Request, inputs: Inputs, queries: pl.Schema, features: Collection[str]
) -> Items:
    """Bind history and items, whose ids get the types of the lists of ``queries``."""
    history, items = request.history, request.items
    listed = queries[LISTED].inner.to_schema()  # type: ignore[attr-defined]
    lists = pl.Schema({**queries, "doc": listed["doc"]})
    keys: tuple[str, ...] = ()
    if history is not None:
        history, keys = _history(request, inputs, history, lists)
    if items is not None:
        items = _items(request, inputs, items, lists, features)
    return Items(history, keys, items)


def _history(
    request: Request, inputs: Inputs, frame: pl.LazyFrame, lists: pl.Schema
) -> tuple[pl.LazyFrame, tuple[str, ...]]:
    query, schema = request.columns.query, frame.collect_schema()
    shared = [i for i, column in enumerate(query) if has_column(column, schema)]
    if not shared:
        require_columns(query, schema, where=HISTORY, argument="query")
    columns = request.columns._replace(query=tuple(query[i] for i in shared))
    bound = bind_columns(frame, columns, where=HISTORY, roles=["doc"])
    keys = tuple(f"key{i}" for i in shared)
    rows = bound.frame.rename(dict(zip(bound.keys, keys, strict=True)))
    names = {f"key{i}": name_of(query[i]) for i in shared}
    rows = _of_lists(rows, request, inputs, lists, names, HISTORY)
    return rows if is_rereadable(frame) else rows.cache(), keys


def _items(
    request: Request,
    inputs: Inputs,
    frame: pl.LazyFrame,
    lists: pl.Schema,
    features: Collection[str],
) -> pl.LazyFrame:
    schema = frame.collect_schema()
    doc = request.columns.names["doc"]
    assert doc is not None
    own, _ = bind_column("doc", doc, schema, where=ITEMS)
    require_columns([*features], schema, where=ITEMS, argument="feature")
    rows = frame.select(own, *(_feature(n, schema[n]) for n in features))
    rows = _of_lists(rows, request, inputs, lists, {}, ITEMS)
    return rows if is_rereadable(frame) else rows.cache()


def _feature(name: str, dtype: DataType) -> pl.Expr:
    """Return the column; several categories of an item are different ones."""
    column = pl.col(name).alias(FEATURE + name)
    if isinstance(dtype, pl.List):
        return column.list.drop_nulls().list.unique(maintain_order=True)
    return column


def _of_lists(
    rows: pl.LazyFrame,
    request: Request,
    inputs: Inputs,
    lists: pl.Schema,
    names: dict[str, str],
    where: str,
) -> pl.LazyFrame:
    """Give ids the types that they have in the lists, if they can be equal at all."""
    doc = request.columns.names["doc"]
    assert doc is not None
    names = {**names, "doc": name_of(doc)}
    align_ids(rows, inputs.run.frame, names, where=(where, "the run"))
    return rows.with_columns(pl.col(n).cast(lists[n], strict=False) for n in names)


def _weights(rows: pl.LazyFrame, name: str, keys: tuple[str, ...] = ()) -> pl.LazyFrame:
    """Sum the parts of 1 that items have in each category.

    Parts of one size are counted, so that the sum does not depend on the order.
    """
    by = [*keys, FEATURE + name]
    counts = rows.group_by(*by, "size").agg(count=pl.len())
    parts = pl.col("count") / pl.col("size")
    in_order = parts.gather(pl.col("size").arg_sort())  # a sort would be dropped
    return counts.group_by(by).agg(weight=in_order.sum())


def with_shares(
    rows: pl.LazyFrame, shares: pl.LazyFrame, keys: tuple[str, ...] = ()
) -> pl.LazyFrame:
    """Add the share of the row's category or, of several, the list of them.

    ``shares`` has ``keys``, the feature and the share.
    """
    *_, feature, share = shares.collect_schema()
    on = [*keys, feature]
    if not isinstance(rows.collect_schema()[feature], pl.List):
        return rows.join(shares, on=on, how="left", maintain_order="left")
    rows = rows.with_row_index("row").cache()  # read twice
    each = rows.select("row", *on).explode(feature, empty_as_null=True)
    each = each.join(shares, on=on, how="left", maintain_order="left")
    lists = each.group_by("row", maintain_order=True).agg(share)
    return rows.join(lists, on="row", how="left", maintain_order="left").drop("row")


def _first_of_each(items: pl.LazyFrame) -> pl.LazyFrame:
    return items.group_by("doc").agg(pl.all().first())


def _different(keys: tuple[str, ...]) -> pl.Expr:
    return (pl.col(keys[0]) if len(keys) == 1 else pl.struct(keys)).n_unique()
