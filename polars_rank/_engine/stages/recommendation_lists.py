"""Measures of users' lists of items, and what measures of the catalog count.

A query comes with the first of its documents, as a list. These are joined with what is
known about items, and summed as other documents are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import cast

import polars as pl
from polars.datatypes import DataType

from polars_rank._engine.inputs import Inputs
from polars_rank._engine.recorder import ExprTable, Recorder, RecordingRanking
from polars_rank._engine.request import Request
from polars_rank._engine.schema import names_of, require_columns
from polars_rank._engine.stages.items import (
    CATALOG_SHARE,
    FEATURE,
    ITEMS,
    KNOWN,
    PAST,
    PAST_COUNT,
    PAST_DIRECTION,
    PAST_SHARE,
    WORDS,
    bind_items,
    with_shares,
)
from polars_rank._engine.stages.rank import LISTED
from polars_rank._engine.stages.sum import (
    LABELED,
    LISTS,
    RELEVANT,
    Plan,
    summed,
    with_words,
)
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import complete_arguments
from polars_rank.core.list_totals import ListTotals
from polars_rank.core.recommendations import Recommendations
from polars_rank.core.recommended_items import (
    GROUPS,
    RecommendedItems,
    needs_groups,
)
from polars_rank.core.registry import value
from polars_rank.core.rules import (
    DUPLICATE_ITEM,
    EMPTY_HISTORY,
    ITEM_WITHOUT_HISTORY,
    NULL_FEATURE,
    NULL_INTERACTION,
    NULL_ITEM,
    ODD_VECTOR,
    RELEVANT_WITHOUT_HISTORY,
    UNKNOWN_ITEM,
    UNKNOWN_RELEVANT,
    Rule,
)
from polars_rank.core.stable_hash import key_text, stable_hash
from polars_rank.measures.measure import (
    Measure,
    depth_of,
    is_of_catalog,
    is_of_lists,
    is_of_totals,
    recommended_items,
)


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


def evaluate_lists(request: Request, inputs: Inputs, plan: Plan) -> Plan:
    """Add the values of measures of lists, and the items that a catalog counts."""
    asked = {f"m{i}": m for i, m in enumerate(request.measures) if is_of_lists(m)}
    if not asked:
        return plan
    ranking = _recording(request)
    recorder = ranking.recorder
    catalogs = [m for m in asked.values() if is_of_catalog(m)]
    grouped = bool(catalogs) and needs_groups(request.stats)
    values = {
        name: _value(request.convention, m, ranking, grouped=grouped)
        for name, m in asked.items()
    }
    counting = [_recommended(m, request.convention) for m in catalogs]
    if any("item_count" in aggregate.reads for aggregate in counting):
        ranking.about("item_count")
    _require_frames(request, ranking, asked.values())
    counted = [] if request.check == "off" else _rules(request, ranking)
    counts = [pl.col(recorder.aggregates.add(count)) for _, count in counted]
    group = [_group(request, inputs).alias("group")] if grouped else []
    rows, scalars = _rows(request, inputs, plan, ranking, group)
    words = with_words(rows, recorder, scalars)
    sums = summed(words, recorder, scalars)
    if catalogs and "item_count" not in scalars:
        sums = sums.with_columns(item_count=pl.lit(None, pl.Float64))
    found = Plan(sums.with_columns(**values), plan.rules)
    for (rule, _), count in zip(counted, counts, strict=True):
        found = found.with_rule(rule, count)
    for rule, count in [] if request.check == "off" else _frame_rules(scalars):
        found = found.with_rule(rule, pl.when(pl.col("query") == 0).then(count))
    kept = [n for n in plan.frame.collect_schema() if n not in LISTS]
    new = [name for name in found.rules if name not in plan.rules]
    return found._replace(frame=found.frame.select(*kept, *new))


def _recording(request: Request) -> RecordingRecommendations:
    recorder = Recorder("all", integer_grades=False, scored=False, expected=False)
    known = None if request.items is None else request.items.collect_schema()
    return RecordingRecommendations(**vars(recorder.recording_ranking()), known=known)


def _value(
    convention: Convention,
    measure: Measure,
    ranking: RecordingRecommendations,
    *,
    grouped: bool,
) -> pl.Expr:
    """Return the value of a list: a number, or what an aggregate of all lists needs."""
    if is_of_catalog(measure):
        item = pl.struct(item="doc", group="group") if grouped else pl.col("doc")
        first = item.filter(pl.col("rank") <= depth_of(measure))
        items = pl.col(ranking.recorder.aggregates.add(first))
        return _recommended(measure, convention, grouped=grouped).value(items)
    if is_of_totals(measure):
        return list_totals(measure, convention).value(ranking)
    arguments = complete_arguments(
        measure.definition, measure.arguments, convention=convention
    )
    return value(measure.definition, ranking, arguments, "null")


def _recommended(
    measure: Measure, convention: Convention, *, grouped: bool = False
) -> RecommendedItems:
    """Return the aggregate of a measure of the catalog."""
    assumed = convention.defaults(measure.metric)
    return recommended_items(measure, assumed, grouped=grouped)


def list_totals(measure: Measure, convention: Convention) -> ListTotals:
    """Return the aggregate of a measure of totals."""
    metric = measure.definition
    given = complete_arguments(metric, measure.arguments, convention=convention)
    return ListTotals(metric.function, tuple(given.items()))


def _group(request: Request, inputs: Inputs) -> pl.Expr:
    """Return the group of the user: the same in every system, if ``by`` names these."""
    segments, schema = names_of(request.by), inputs.run.frame.collect_schema()
    named = zip(inputs.run.keys, names_of(request.columns.query), strict=True)
    keys = [key for key, name in named if name not in segments] or inputs.run.keys
    texts = [key_text(key, schema[key]) for key in keys]
    return (stable_hash(texts) % GROUPS).cast(pl.UInt8)


def _require_frames(
    request: Request, ranking: RecordingRecommendations, measures: Iterable[Measure]
) -> None:
    """Require the frames that the measures read."""
    of_history = {*WORDS, "seen", "user_count", "interaction_count", "past"}
    if request.history is None and ranking.words & of_history:
        names = [m.metric for m in measures if _words(request, m) & of_history]
        msg = (
            f"{', '.join(dict.fromkeys(names))}: give the past interactions, one row "
            "each, with history="
        )
        raise ValueError(msg)
    if request.history is None and request.items is None and ranking.words:
        names = [m.metric for m in measures if is_of_catalog(m) or _words(request, m)]
        msg = (
            f"{', '.join(dict.fromkeys(names))}: give the catalog, one row per item, "
            "with items="
        )
        raise ValueError(msg)


def _words(request: Request, measure: Measure) -> set[str]:
    """Return the words that a measure of lists reads."""
    if is_of_catalog(measure):
        return set()
    ranking = _recording(request)
    _value(request.convention, measure, ranking, grouped=False)
    return ranking.words


def _rows(
    request: Request,
    inputs: Inputs,
    plan: Plan,
    ranking: RecordingRecommendations,
    group: Sequence[pl.Expr],
) -> tuple[pl.LazyFrame, list[str]]:
    """Return a row per item of a list, and the columns that describe the query."""
    scalars = [n for n in plan.frame.collect_schema() if n not in LISTS]
    frame = plan.frame.with_columns(group).with_row_index("query")
    rows = _labeled(request, frame, ranking)
    if request.history is None and request.items is None:
        return rows, scalars
    known = bind_items(request, inputs, rows.collect_schema(), ranking.features)
    if known.items is not None or ranking.words & {*WORDS}:
        table = known.table(ranking.words, ranking.catalog_shares).cache()
        rows = rows.join(table, on="doc", how="left", maintain_order="left")
    if "seen" in ranking.words:
        on, rows = [*known.keys, "doc"], rows.cache()  # read twice
        rows = rows.join(known.seen(rows), on=on, how="left", maintain_order="left")
    for name in ranking.past_shares:
        shares, totals = known.past_shares(name)
        rows = with_shares(rows, shares, known.keys)
        rows = rows.join(totals, on=known.keys, how="left", maintain_order="left")
    for name in ranking.past_directions:
        dtype = cast("pl.Array", ranking.features[name])
        past = known.past_directions(name, dtype)
        rows = rows.join(past, on=[*known.keys], how="left", maintain_order="left")
    pasts = ranking.past_shares | ranking.past_directions
    scalars += [PAST_COUNT + name for name in sorted(pasts)]
    totals = known.totals(ranking.words)
    if names := [*ranking.counted.named]:
        rows = rows.cache()  # read twice, as is what is counted
        marked = known.catalog(table, totals)
        marked = marked.select("doc", *ranking.counted.aliased()).cache()
        sums = marked.select(pl.col(names).sum().cast(pl.Float64))
        totals = pl.concat([totals, sums], how="horizontal")
        past = known.past_counts(marked, rows)
        on, scalars = [*known.keys], [*scalars, *(PAST + name for name in names)]
        rows = rows.join(past, on=on, how="left", maintain_order="left")
    counts = [*totals.collect_schema()]
    rows = rows.join(totals, how="cross", maintain_order="left")
    # Polars divides by a repeated number by multiplying with its inverse, which is
    # inexact and not what it does in a plan of several parts: make columns of them.
    zero = 0 * pl.col("rank").fill_null(0)
    return rows.with_columns(pl.col(counts) + zero), [*scalars, *counts]


def _labeled(
    request: Request, frame: pl.LazyFrame, ranking: RecordingRecommendations
) -> pl.LazyFrame:
    """Return a row per item of a list with its label, and one per item that it lacks.

    These are relevant ones without a rank, where a measure needs them.
    """
    labeled = request.qrels is not None and "label" in ranking.recorder.columns
    if labeled or request.relevant_items:
        frame = frame.cache()  # read again
    rows = _exploded(frame.drop(LABELED, RELEVANT, strict=False), LISTED)
    if labeled:
        labels = _exploded(frame.select("query", LABELED), LABELED)
        on = ["query", "rank"]
        rows = rows.join(labels, on=on, how="left", maintain_order="left")
    elif request.qrels is not None:
        rows = rows.with_columns(label=pl.lit(None, pl.Float64))
    if not request.relevant_items:
        return rows
    rows = rows.cache()  # read twice
    relevant = _exploded(frame.drop(LISTED, LABELED, strict=False), RELEVANT)
    lacking = (
        relevant.filter(pl.col("doc").is_not_null())
        .join(rows, on=["query", "doc"], how="anti")
        .with_columns(rank=pl.lit(None, pl.Float64))
    )
    both = pl.concat([rows, lacking], how="diagonal")
    return both.sort("query", maintain_order=True)


def _exploded(frame: pl.LazyFrame, lists: str) -> pl.LazyFrame:
    """Return a row per element of a list of structs; one of nulls if it is empty."""
    return frame.explode(lists, empty_as_null=True).unnest(lists)


def _rules(
    request: Request, ranking: RecordingRecommendations
) -> list[tuple[Rule, pl.Expr]]:
    """Return the rules for the items of a list, each with how often it is broken."""
    listed = pl.col("rank").is_not_null()
    rules = []
    if request.items is None:
        if "item_count" in ranking.words:  # then the catalog is what the history has
            ranking.about("interactions")
            cold = pl.col("interactions").is_null()
            rules.append((ITEM_WITHOUT_HISTORY, (listed & cold).sum()))
            if ranking.all_relevant:
                lacking = pl.any_horizontal(ranking.all_relevant) & ~listed
                rules.append((RELEVANT_WITHOUT_HISTORY, (lacking & cold).sum()))
        return rules
    known = pl.col(KNOWN).is_not_null()
    rules.append((UNKNOWN_ITEM, (listed & ~known).sum()))
    if request.relevant_items:
        lacking = pl.col("doc").is_not_null() & ~listed
        rules.append((UNKNOWN_RELEVANT, (lacking & ~known).sum()))
    for name, dtype in ranking.features.items():
        feature = pl.col(FEATURE + name)
        null = known & feature.is_null()
        rule = NULL_FEATURE._replace(column=name)
        rules.append((rule, (null if name in ranking.groups else null & listed).sum()))
        if isinstance(dtype, pl.Array) and dtype.inner.is_numeric():
            odd = ~feature.arr.sum().is_finite() | feature.arr.contains(None)
            rules.append((ODD_VECTOR._replace(column=name), (listed & odd).sum()))
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
