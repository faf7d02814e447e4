"""The stage of lists, and of what measures of the catalog count in them.

A query comes with the first of its documents, as a list. These are joined with what is
known about items, and summed as other documents are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from polars_rank._engine.inputs import Inputs
from polars_rank._engine.request import Request
from polars_rank._engine.schema import names_of
from polars_rank._engine.stages.recommendation.in_parts import (
    lists_in_parts,
    needs_past,
)
from polars_rank._engine.stages.recommendation.items import (
    FEATURE,
    KNOWN,
    WORDS,
    bind_items,
)
from polars_rank._engine.stages.recommendation.recording import (
    RecordingRecommendations,
    recording_of,
)
from polars_rank._engine.stages.recommendation.rows_of_lists import (
    Known,
    known_of,
    rows_of_lists,
)
from polars_rank._engine.stages.sum import LISTS, Plan, summed, with_words
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import complete_arguments
from polars_rank.core.exact.stable_hash import key_text, stable_hash
from polars_rank.core.metric.registry import value
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
from polars_rank.core.words.list_totals import ListTotals
from polars_rank.core.words.recommended_items import (
    GROUPS,
    RecommendedItems,
    needs_groups,
)
from polars_rank.measures.measure import (
    Custom,
    Measure,
    depth_of,
    is_of_catalog,
    is_of_lists,
    is_of_totals,
    recommended_items,
)

# The rules for rows of the history and the items, each with the column that counts
OF_FRAMES = {
    NULL_INTERACTION: "null_interactions",
    EMPTY_HISTORY: "interaction_count",
    NULL_ITEM: "null_items",
    DUPLICATE_ITEM: "item_copies",
}


def evaluate_lists(request: Request, inputs: Inputs, plan: Plan) -> Plan:
    """Add the values of measures of lists, and the items that a catalog counts."""
    if not any(map(is_of_lists, request.measures)):
        return plan
    lists = _traced(request, inputs, plan)
    known = None
    if request.history is not None or request.items is not None:
        schema = plan.frame.collect_schema()
        known = bind_items(request, inputs, schema, lists.ranking.features)
    found = lists.evaluate(plan.frame, known_of(known, lists.ranking))
    if request.resources is None:
        return found
    frame = lists_in_parts(
        lambda queries, known: lists.evaluate(queries, known).frame,
        plan.frame,
        lists.ranking,
        known,
        request.resources,
        once=[name for name, rule in found.rules.items() if rule in OF_FRAMES],
    )
    return found._replace(frame=frame)


class _Lists(NamedTuple):
    """What is to be found out about lists.

    Attributes
    ----------
    request, plan
        As they are, before the lists.
    ranking
        What the measures need.
    values
        Of the measures of lists, by the name of the column.
    counted
        How often the items of a list break a rule.
    group
        The group of the user, if items are counted by it; else nothing.
    """

    request: Request
    plan: Plan
    ranking: RecordingRecommendations
    values: Mapping[str, pl.Expr]
    counted: Sequence[tuple[Rule, pl.Expr]]
    group: Sequence[pl.Expr]

    def evaluate(self, queries: pl.LazyFrame, known: Known) -> Plan:
        """Evaluate the lists of all or some queries."""
        recorder, (items, _) = self.ranking.recorder, known
        columns = queries.collect_schema()
        numbered = queries.with_row_index("query").cache()  # read twice
        past = [] if items is None or not needs_past(self.ranking) else items.keys
        lists = [name for name in LISTS if name in columns]
        rows, scalars = rows_of_lists(
            self.request,
            numbered.select("query", *past, *lists, *self.group),
            self.ranking,
            known,
        )
        sums = summed(with_words(rows, recorder, scalars), recorder, scalars)
        if "item_count" not in scalars:  # catalogs have it
            sums = sums.with_columns(item_count=pl.lit(None, pl.Float64))
        found = Plan(sums.with_columns(**self.values), self.plan.rules)
        for rule, count in self.counted:
            found = found.with_rule(rule, count)
        if self.request.check != "off":
            for rule, count in _frame_rules(scalars):
                first = pl.col("query") == 0
                found = found.with_rule(rule, pl.when(first).then(count))
        # What else is known of a query is not carried along: its list stays in place.
        new = [*self.values, *(n for n in found.rules if n not in self.plan.rules)]
        others = numbered.select(n for n in columns if n not in {*LISTS, *new})
        both = [others, found.frame.select(new)]
        frame = pl.concat(both, how="horizontal")
        return found._replace(frame=frame)


def _traced(request: Request, inputs: Inputs, plan: Plan) -> _Lists:
    """Find out what the measures need, and require it."""
    asked = {f"m{i}": m for i, m in enumerate(request.measures) if is_of_lists(m)}
    ranking = recording_of(request)
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
    broken = [] if request.check == "off" else _rules(request, ranking)
    count_of = ranking.recorder.aggregates.add
    return _Lists(
        request,
        plan,
        ranking,
        values,
        counted=[(rule, pl.col(count_of(count))) for rule, count in broken],
        group=[_group(request, inputs).alias("group")] if grouped else [],
    )


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
        names = [m.metric for m in measures if words_of(request, m) & of_history]
        msg = (
            f"{', '.join(dict.fromkeys(names))}: give the past interactions, one row "
            "each, with history="
        )
        raise ValueError(msg)
    if request.history is None and request.items is None and ranking.words:
        names = [m.metric for m in measures if is_of_catalog(m) or words_of(request, m)]
        msg = (
            f"{', '.join(dict.fromkeys(names))}: give the catalog, one row per item, "
            "with items="
        )
        raise ValueError(msg)


def words_of(request: Request, measure: Measure | Custom) -> set[str]:
    """Return the words about items that a measure reads, but those of the catalog."""
    if not is_of_lists(measure) or is_of_catalog(measure):
        return set()
    ranking = recording_of(request)
    _value(request.convention, measure, ranking, grouped=False)
    return ranking.words


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
    counts = {rule: pl.col(name) for rule, name in OF_FRAMES.items() if name in columns}
    return [
        (rule, count == 0 if rule is EMPTY_HISTORY else count)
        for rule, count in counts.items()
    ]
