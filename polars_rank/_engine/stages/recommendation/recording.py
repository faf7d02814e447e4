"""What the measures of a list need: they are written down as their formulas run."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import polars as pl
from polars.datatypes import DataType

from polars_rank._engine.request import Request
from polars_rank._engine.schema import require_columns
from polars_rank._engine.stages.recommendation.items import (
    CATALOG_SHARE,
    FEATURE,
    ITEMS,
    PAST,
    PAST_COUNT,
    PAST_DIRECTION,
    PAST_SHARE,
)
from polars_rank._engine.tracing.recorder import ExprTable, Recorder, RecordingRanking
from polars_rank.core.words.recommendations import Recommendations


def recording_of(request: Request) -> RecordingRecommendations:
    """Return a list that has recorded nothing yet."""
    recorder = Recorder("all", integer_grades=False, scored=False, expected=False)
    known = None if request.items is None else request.items.collect_schema()
    return RecordingRecommendations(**vars(recorder.recording_ranking()), known=known)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RecordingRecommendations(RecordingRanking, Recommendations):
    """A list over columns that records what it needs.

    ``words`` are those about items; ``features`` are columns of the items, whose types
    are ``known``, and ``groups`` those that relevant items need, too. ``counted`` are
    conditions on items of the catalog. ``all_relevant`` says that the relevant items
    are compared with the catalog in number.
    """

    words: set[str] = field(default_factory=set)
    features: dict[str, DataType] = field(default_factory=dict)
    catalog_shares: set[str] = field(default_factory=set)
    past_shares: set[str] = field(default_factory=set)
    past_directions: set[str] = field(default_factory=set)
    groups: set[str] = field(default_factory=set)
    counted: ExprTable = field(default_factory=partial(ExprTable, "counted"))
    all_relevant: list[pl.Expr] = field(default_factory=list)
    known: pl.Schema | None

    def about(self, word: str) -> pl.Expr:
        """Note the word: a column of the documents, or a number of the query, too."""
        self.words.add(word)
        if word in ("users", "interactions"):
            return pl.col(word).fill_null(0.0)
        if word == "seen":
            return pl.col(word).fill_null(value=False)
        return pl.col(word)

    def feature(self, name: str) -> tuple[pl.Expr, DataType]:
        """Note the feature."""
        if self.known is None:
            msg = f"feature={name!r} is a column of items: give them with items="
            raise ValueError(msg)
        require_columns([name], self.known, where=ITEMS, argument="feature")
        self.features[name] = self.known[name]
        return pl.col(FEATURE + name), self.known[name]

    def group(self, name: str) -> pl.Expr:
        """Note that relevant items need it, too."""
        self.groups.add(name)
        return super().group(name)

    def catalog_share(self, name: str) -> pl.Expr:
        """Note that the share of the item's category is needed."""
        self.feature(name)
        self.catalog_shares.add(name)
        return pl.col(CATALOG_SHARE + name)

    def past_share(self, name: str) -> pl.Expr:
        """Note that the share of the item's category is needed."""
        self.feature(name)
        self.words.add("past")
        self.past_shares.add(name)
        return pl.col(PAST_SHARE + name)

    def past_direction(self, name: str) -> list[pl.Expr]:
        """Note that the vectors of the past are needed."""
        _, dtype = self.feature(name)
        assert isinstance(dtype, pl.Array)
        self.words.add("past")
        self.past_directions.add(name)
        return [pl.col(f"{PAST_DIRECTION}{name} {i}") for i in range(dtype.size)]

    def past_count(self, name: str) -> pl.Expr:
        """Return the number that comes with the shares, or with the vectors."""
        return pl.col(PAST_COUNT + name)

    def catalog_count(self, which: pl.Expr) -> pl.Expr:
        """Note the condition."""
        self.words.add("item_count")
        return pl.col(self.counted.add(which))

    def past_item_count(self, which: pl.Expr) -> pl.Expr:
        """Note the condition, on items of the user's past."""
        self.words.add("item_count")
        return pl.col(PAST + self.counted.add(which)).fill_null(0.0)

    def relevant_count(self, rel: float = 1) -> pl.Expr:
        """Note which items are relevant: all have to be in the catalog."""
        self.all_relevant.append(self.relevant(rel))
        return super().relevant_count(rel)

    def retrieved_count(self) -> pl.Expr:
        """Return the number of items of the list."""
        return self.listed_count()
