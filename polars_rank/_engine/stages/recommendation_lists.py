"""Measures of users' lists of items, and what measures of the catalog count.

A query comes with the first of its documents, as a list. These are joined with what is
known about items, and summed as other documents are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

import polars as pl
from polars.datatypes import DataType

from polars_rank._engine.inputs import Inputs
from polars_rank._engine.recorder import Recorder, RecordingRanking
from polars_rank._engine.request import Request
from polars_rank._engine.schema import require_columns
from polars_rank._engine.stages.items import (
    CATALOG_SHARE,
    FEATURE,
    ITEMS,
    KNOWN,
    PAST_SHARE,
    WORDS,
    bind_items,
)
from polars_rank._engine.stages.rank import LISTED
from polars_rank._engine.stages.sum import LABELED, Plan, summed, with_words
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import complete_arguments
from polars_rank.core.recommendations import Recommendations
from polars_rank.core.registry import value
from polars_rank.core.rules import (
    DUPLICATE_ITEM,
    EMPTY_HISTORY,
    ITEM_WITHOUT_HISTORY,
    NULL_FEATURE,
    NULL_INTERACTION,
    NULL_ITEM,
    UNKNOWN_ITEM,
    Rule,
)
from polars_rank.measures.measure import (
    Measure,
    depth_of,
    is_of_catalog,
    is_of_lists,
    recommended_items,
)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RecordingRecommendations(RecordingRanking, Recommendations):
    """A list over columns that records what it needs.

    ``words`` are those about items; ``features`` are columns of the items, whose types
    are ``known``.
    """

    words: set[str] = field(default_factory=set)
    features: dict[str, DataType] = field(default_factory=dict)
    catalog_shares: set[str] = field(default_factory=set)
    past_shares: set[str] = field(default_factory=set)
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

    def catalog_share(self, name: str) -> pl.Expr:
        """Note that the share of the item's category is needed."""
        self.feature(name)
        self.catalog_shares.add(name)
        return pl.col(CATALOG_SHARE + name)

    def past_share(self, name: str) -> pl.Expr:
        """Note that the share of the item's category is needed."""
        self.feature(name)
        self.words.add("past_count")
        self.past_shares.add(name)
        return pl.col(PAST_SHARE + name).fill_null(0.0)

    def retrieved_count(self) -> pl.Expr:
        """Return the number of items of the list."""
        return self.listed_count()


def evaluate_lists(request: Request, inputs: Inputs, plan: Plan) -> Plan:
    """Add the values of measures of lists, and the items that a catalog counts."""
    asked = {f"m{i}": m for i, m in enumerate(request.measures) if is_of_lists(m)}
    if not asked:
        return plan
    recorder = Recorder("all", integer_grades=False, scored=False, expected=False)
    known = None if request.items is None else request.items.collect_schema()
    ranking = RecordingRecommendations(
        **vars(recorder.recording_ranking()), known=known
    )
    values = {
        name: _items(recorder, m)
        if is_of_catalog(m)
        else _value(request.convention, m, ranking)
        for name, m in asked.items()
    }
    catalogs = [m for m in asked.values() if is_of_catalog(m)]
    if any("item_count" in recommended_items(m).reads for m in catalogs):
        ranking.about("item_count")
    _require_frames(request, ranking, asked.values())
    counted = [] if request.check == "off" else _rules(request, ranking)
    counts = [pl.col(recorder.aggregates.add(count)) for _, count in counted]
    rows, scalars = _rows(request, inputs, plan, ranking)
    words = with_words(rows, recorder, scalars)
    sums = summed(words, recorder, scalars)
    if catalogs and "item_count" not in scalars:
        sums = sums.with_columns(item_count=pl.lit(None, pl.Float64))
    found = Plan(sums.with_columns(**values), plan.rules)
    for (rule, _), count in zip(counted, counts, strict=True):
        found = found.with_rule(rule, count)
    for rule, count in [] if request.check == "off" else _frame_rules(scalars):
        found = found.with_rule(rule, pl.when(pl.col("query") == 0).then(count))
    kept = [n for n in plan.frame.collect_schema() if n not in (LISTED, LABELED)]
    new = [name for name in found.rules if name not in plan.rules]
    return found._replace(frame=found.frame.select(*kept, *new))


def _value(
    convention: Convention, measure: Measure, ranking: RecordingRecommendations
) -> pl.Expr:
    arguments = complete_arguments(
        measure.definition, measure.arguments, convention=convention
    )
    return value(measure.definition, ranking, arguments, "null")


def _items(recorder: Recorder, measure: Measure) -> pl.Expr:
    """Return the first k items of the list, to be counted."""
    first = pl.col("doc").filter(pl.col("rank") <= depth_of(measure))
    items = pl.col(recorder.aggregates.add(first))
    return recommended_items(measure).value(items)


def _require_frames(
    request: Request, ranking: RecordingRecommendations, measures: Iterable[Measure]
) -> None:
    """Require the frames that the measures read."""
    names = ", ".join(dict.fromkeys(m.metric for m in measures))
    of_history = {*WORDS, "seen", "user_count", "interaction_count", "past_count"}
    if request.history is None and ranking.words & of_history:
        msg = f"{names}: give the past interactions, one row each, with history="
        raise ValueError(msg)
    if request.history is None and request.items is None and ranking.words:
        msg = f"{names}: give the catalog, one row per item, with items="
        raise ValueError(msg)


def _rows(
    request: Request, inputs: Inputs, plan: Plan, ranking: RecordingRecommendations
) -> tuple[pl.LazyFrame, list[str]]:
    """Return a row per item of a list, and the columns that describe the query."""
    scalars = [n for n in plan.frame.collect_schema() if n not in (LISTED, LABELED)]
    frame = plan.frame.with_row_index("query")
    if request.qrels is None:
        rows = _exploded(frame, LISTED)
    elif "label" in ranking.recorder.columns:
        frame = frame.cache()  # read twice
        labels = _exploded(frame.select("query", LABELED), LABELED)
        rows = _exploded(frame.drop(LABELED), LISTED).join(
            labels, on=["query", "rank"], how="left", maintain_order="left"
        )
    else:
        rows = _exploded(frame.drop(LABELED), LISTED)
        rows = rows.with_columns(label=pl.lit(None, pl.Float64))
    if request.history is None and request.items is None:
        return rows, scalars
    known = bind_items(request, inputs, rows.collect_schema(), ranking.features)
    if known.items is not None or ranking.words & {*WORDS}:
        table = known.table(ranking.words, ranking.catalog_shares)
        rows = rows.join(table, on="doc", how="left", maintain_order="left")
    if "seen" in ranking.words:
        on, rows = [*known.keys, "doc"], rows.cache()  # read twice
        rows = rows.join(known.seen(rows), on=on, how="left", maintain_order="left")
    for name in ranking.past_shares:
        shares, totals = known.past_shares(name)
        on = [*known.keys, FEATURE + name]
        rows = rows.join(shares, on=on, how="left", maintain_order="left")
        if "past_count" not in scalars:
            on, scalars = [*known.keys], [*scalars, "past_count"]
            rows = rows.join(totals, on=on, how="left", maintain_order="left")
    totals = known.totals(ranking.words)
    counts = [*totals.collect_schema()]
    rows = rows.join(totals, how="cross", maintain_order="left")
    # Polars divides by a repeated number by multiplying with its inverse, which is
    # inexact and not what it does in a plan of several parts: make columns of them.
    zero = 0 * pl.col("rank").fill_null(0)
    return rows.with_columns(pl.col(counts) + zero), [*scalars, *counts]


def _exploded(frame: pl.LazyFrame, lists: str) -> pl.LazyFrame:
    """Return a row per element of a list of structs; one of nulls if it is empty."""
    return frame.explode(lists, empty_as_null=True).unnest(lists)


def _rules(
    request: Request, ranking: RecordingRecommendations
) -> list[tuple[Rule, pl.Expr]]:
    """Return the rules for the items of a list, each with how often it is broken."""
    listed = pl.col("doc").is_not_null()
    rules = []
    if request.items is None:
        if "item_count" in ranking.words:  # then the catalog is what the history has
            ranking.about("interactions")
            cold = listed & pl.col("interactions").is_null()
            rules.append((ITEM_WITHOUT_HISTORY, cold.sum()))
        return rules
    known = pl.col(KNOWN).is_not_null()
    rules.append((UNKNOWN_ITEM, (listed & ~known).sum()))
    for name in ranking.features:
        lacks = listed & known & pl.col(FEATURE + name).is_null()
        rules.append((NULL_FEATURE._replace(column=name), lacks.sum()))
    return rules


def _frame_rules(columns: Collection[str]) -> list[tuple[Rule, pl.Expr]]:
    """Return the rules for the rows of the history and the items."""
    counts = {
        NULL_INTERACTION: ("null_interactions", pl.col("null_interactions")),
        EMPTY_HISTORY: ("interaction_count", pl.col("interaction_count") == 0),
        NULL_ITEM: ("null_items", pl.col("null_items")),
        DUPLICATE_ITEM: ("item_copies", pl.col("item_copies")),
    }
    return [(rule, count) for rule, (name, count) in counts.items() if name in columns]
