"""From values per query to the result: means, segments, the user's names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

import polars as pl

from polars_rank._engine.checks.enforce import Check, Frame, enforce
from polars_rank._engine.checks.totals import label_facts
from polars_rank._engine.inputs import Inputs
from polars_rank._engine.layout import first_rule_first
from polars_rank._engine.options import Stat
from polars_rank._engine.request import Request, stat_name
from polars_rank._engine.schema import names_of
from polars_rank._engine.stages.recommendation.evaluate_lists import list_totals
from polars_rank._engine.stages.sum import Counted
from polars_rank._engine.tracing.shares import DOCUMENTS, FACTORS, OTHERS
from polars_rank.conventions.convention import Convention
from polars_rank.core.exact.aggregate import (
    Aggregate,
    GeometricMean,
    Mean,
    Moments,
    NullIfAny,
    Sum,
    UndefinedIsOne,
)
from polars_rank.core.exact.distribution import (
    Distribution,
    is_of_distribution,
    needs_counts,
)
from polars_rank.core.exact.state import hashed
from polars_rank.core.rules import INVALID_WEIGHT
from polars_rank.core.words.list_totals import ListTotals
from polars_rank.core.words.recommended_items import RecommendedItems, needs_groups
from polars_rank.measures.measure import (
    Custom,
    Measure,
    is_of_catalog,
    is_of_totals,
    recommended_items,
)

AGGREGATES: dict[str, type[Sum]] = {"sum": Sum, "geometric": GeometricMean}


def require_sound(request: Request, plan: Counted[Frame]) -> Frame:
    """Pass the values per query unless a rule is broken."""
    keys = [f"key{i}" for i in range(len(request.columns.query))]
    # With judgments, a sum over all queries has to wait for the last of them anyway.
    waits = request.qrels is not None and not request.part and not request.resources
    frame = plan.frame
    fatal = [n for n, r in plan.rules.items() if r.always or request.check == "strict"]
    if request.resources and len(fatal) > 1 and isinstance(frame, pl.LazyFrame):
        frame = first_rule_first(frame, fatal)
    return enforce(
        frame,
        plan.rules,
        example=_example(keys),
        check=request.check,
        exact_counts=False,
        at_once=waits,
    )


def values_per_query(request: Request, rows: Frame, segments: Sequence[str]) -> Frame:
    """Return one row per query under the user's names, sorted unless memory is bounded.

    ``segments`` are the columns to keep.
    """
    names = names_of(request.columns.query)
    kept = zip(segments, names_of(request.keep), strict=True)
    keys = [f"key{i}" for i in range(len(names))]
    as_read = request.beside is not None  # wide lists, whose order nobody asked for
    if request.grouping == "contiguous" and request.resources is None and not as_read:
        rows = rows.sort(keys)
    return rows.select(
        *(pl.col(key).alias(name) for key, name in zip(keys, names, strict=True)),
        *(pl.col(own).alias(name) for own, name in kept),
        *(_of_documents(rows) if request.contributions else []),
        *(
            _value(f"m{i}", measure, request.convention)
            for i, measure in enumerate(request.measures)
        ),
    )


def _of_documents(rows: Frame) -> list[str]:
    known = rows.collect_schema()
    return [name for name in (DOCUMENTS, OTHERS, FACTORS) if name in known]


def _value(column: str, measure: Measure | Custom, convention: Convention) -> pl.Expr:
    """Return the value of a query, named after the measure."""
    value = pl.col(column)
    if isinstance(measure, Measure):
        policy = convention.no_relevant_of(measure.metric, measure.no_relevant)
        if measure.definition.adds_unweighted_one(policy):  # null in the plan:
            value = value.fill_null(1.0)  # the weighted mean has to know
    return value.alias(measure.name)


def _example(keys: Sequence[str]) -> pl.Expr:
    """Return the example of a broken rule: the whole key of a query."""
    return pl.col(keys[0]) if len(keys) == 1 else pl.struct(keys)


class Aggregation(NamedTuple):
    """The aggregation of values of queries in two steps: sums, then means.

    The sums of parts of the data add up to the sums of the whole.

    Attributes
    ----------
    names, aggregates
        Of the measures, in order.
    by
        The user's names of segments.
    weighted
        Whether queries have weights.
    stats
        The statistics of each measure, in order.
    check
        As in :class:`Request`.
    """

    names: tuple[str, ...]
    aggregates: tuple[Aggregate, ...]
    by: tuple[str, ...]
    weighted: bool
    check: Check
    stats: tuple[Stat, ...] = ("mean",)

    @property
    def grows(self) -> bool:
        """Whether a state counts how often values, or items, occur."""
        of_items = (isinstance(own, RecommendedItems) for own in self.aggregates)
        return any(of_items) or any(map(needs_counts, self.stats))

    @property
    def alike(self) -> dict[int, int]:
        """The measures whose state is that of an earlier one, and which that is."""
        found: dict[int, int] = {}
        for i, own in enumerate(self.aggregates):
            if isinstance(own, RecommendedItems):
                first = next(
                    j for j, a in enumerate(self.aggregates) if own.counts_as(a)
                )
                found |= {i: first} if first < i else {}
        return found

    @classmethod
    def of(
        cls,
        measures: Sequence[Measure | Custom],
        *,
        by: Sequence[str],
        weighted: bool,
        convention: Convention,
        check: Check,
        stats: Sequence[Stat] = ("mean",),
        few: bool = False,
        whole: bool = False,
    ) -> Aggregation:
        """Return the aggregation of the measures under a convention.

        ``few`` says that all values are in memory and few, ``whole`` that they are no
        part of more data.
        """

        mean = Moments if {"std", "se"} & {*stats} else Mean
        if mean is Moments and weighted:
            msg = (
                "stats= has no std and se of weighted queries: leave out weight=, or "
                "ask for mean and n only"
            )
            raise ValueError(msg)

        beside = [stat for stat in stats if is_of_distribution(stat)]
        counted = any(map(needs_counts, beside))

        def aggregate(measure: Measure | Custom) -> Aggregate:
            own = plain(measure)
            inner = own.aggregate if isinstance(own, NullIfAny) else own
            # of logarithms; of no values
            without = GeometricMean | RecommendedItems | ListTotals
            if not beside or isinstance(inner, without):
                return own
            high = isinstance(measure, Measure) and (
                measure.definition.better == "lower"
            )
            return Distribution(own, counted, weighted, high, whole)

        def plain(measure: Measure | Custom) -> Aggregate:
            if isinstance(measure, Custom):
                return mean(weighted, few)
            if is_of_catalog(measure):
                assumed = convention.defaults(measure.metric)
                return recommended_items(measure, assumed, grouped=needs_groups(stats))
            if is_of_totals(measure):
                return list_totals(measure, convention)
            metric = measure.definition
            kind = AGGREGATES.get(metric.aggregate, mean)
            aggregate = kind(weighted, few)
            policy = convention.no_relevant_of(measure.metric, measure.no_relevant)
            spreads = metric.needs_relevant and policy == "null"
            if metric.adds_unweighted_one(policy):
                return UndefinedIsOne(mean(weighted, few))
            return NullIfAny(aggregate) if spreads else aggregate

        return cls(
            names=tuple(m.name for m in measures),
            aggregates=tuple(map(aggregate, measures)),
            by=tuple(by),
            weighted=weighted,
            check=check,
            stats=tuple(stats),
        )

    def sum(
        self,
        plan: Counted[Frame],
        keys: Sequence[str],
        segments: Sequence[str],
        *more: pl.Expr,
        skips: bool = False,
    ) -> Counted[Frame]:
        """Return a row, or one for each segment: a state per measure, a count per rule.

        ``keys`` are the columns of a query, ``segments`` those of ``by`` and, last, of
        the weight. ``by0`` ... are the segments, ``queries`` their number, ``m0_n`` ...
        the states; ``example`` has a query for each rule that is broken; ``more`` is
        aggregated beside them. With ``skips``, queries that are ``skipped`` count in
        ``more`` and rules only, and need no weight.
        """
        weight = segments[-1] if self.weighted else None
        if weight is not None and self.check != "off":
            plan = plan.with_rule(INVALID_WEIGHT, _invalid(weight, skips=skips))
        rules, broken = tuple(plan.rules), _may_be_broken(plan)
        sums = _states(self, weight, tuple(keys), rules, broken, skips) + more
        by = segments[: len(self.by)]
        frame = plan.frame.group_by(by).agg(sums) if by else plan.frame.select_seq(sums)
        if by or self.alike:
            own = [pl.col(name).alias(f"by{i}") for i, name in enumerate(by)]
            same = copied_states(self, frame.collect_schema())
            frame = frame.select(*own, pl.exclude(by), *same)
        return plan._replace(frame=frame)

    def require_sound(self, sums: Counted[Frame]) -> Frame:
        """Pass the sums unless a rule is broken."""
        return enforce(
            sums.frame,
            sums.rules,
            example="example",
            check=self.check,
            exact_counts=True,
        )

    def finish(self, frame: Frame) -> Frame:
        """Make means of the sums, under the user's names."""
        by = [f"by{i}" for i in range(len(self.by))]
        frame = frame.sort(by) if by else frame
        return frame.select_seq(
            *(pl.col(own).alias(name) for own, name in zip(by, self.by, strict=True)),
            pl.col("queries"),
            *_statistics(self),
        )


def _invalid(weight: str, *, skips: bool) -> pl.Expr:
    given = pl.col(weight).cast(pl.Float64)
    invalid = ~((given >= 0) & given.is_finite()).fill_null(value=False)
    return invalid & ~pl.col("skipped") if skips else invalid


@lru_cache(maxsize=64)
def _states(
    aggregation: Aggregation,
    weight: str | None,
    keys: tuple[str, ...],
    rules: tuple[str, ...],
    broken: bool,
    skips: bool,
) -> tuple[pl.Expr, ...]:
    """Return the sums over queries: the states, then counts and examples of rules."""
    kept = ~pl.col("skipped") if skips else None
    weights = None if weight is None else _kept(pl.col(weight).cast(pl.Float64), kept)
    example = _example(keys)
    examples = [
        example.filter(pl.col(column) > 0).drop_nulls() if broken else example
        for column in rules
    ]
    named = (e.first().alias(n) for e, n in zip(examples, rules, strict=True))
    return (
        (pl.len() if kept is None else kept.sum()).alias("queries"),
        *(
            value.alias(f"m{i}_{part}")
            for i, aggregate in enumerate(aggregation.aggregates)
            if i not in aggregation.alike
            for part, value in aggregate.state(
                _kept(pl.col(f"m{i}"), kept), weights
            ).items()
        ),
        *(pl.col(column).sum() for column in rules),
        *([pl.struct(named).alias("example")] if rules else []),
    )


def copied_states(aggregation: Aggregation, columns: Iterable[str]) -> list[pl.Expr]:
    """Return the states of measures that are those of earlier ones."""
    return [
        pl.col(name).alias(f"m{i}_{name.removeprefix(f'm{first}_')}")
        for i, first in aggregation.alike.items()
        for name in columns
        if name.startswith(f"m{first}_")
    ]


def _may_be_broken(plan: Counted[Frame]) -> bool:
    """Return whether a query may break a rule: nobody knows before rows are there."""
    frame = plan.frame
    return isinstance(frame, pl.LazyFrame) or any(frame[n].sum() for n in plan.rules)


def _kept(value: pl.Expr, kept: pl.Expr | None) -> pl.Expr:
    return value if kept is None else value.filter(kept)


@lru_cache(maxsize=64)  # a fifteenth of the time of planning
def _statistics(aggregation: Aggregation) -> tuple[pl.Expr, ...]:
    named = zip(aggregation.names, aggregation.aggregates, strict=True)
    return tuple(
        _statistic(aggregate, stat, _State(f"m{i}_")).alias(stat_name(name, stat))
        for i, (name, aggregate) in enumerate(named)
        for stat in aggregation.stats
    )


def _statistic(
    aggregate: Aggregate, stat: Stat, state: Mapping[str, pl.Expr]
) -> pl.Expr:
    """Return the mean, or another statistic of the values of queries."""
    if stat == "mean":
        return aggregate.finish(state)
    if stat == "n":
        return state["n"].cast(pl.UInt32)
    moments, known = aggregate, pl.lit(value=True)
    if isinstance(aggregate, Distribution):
        moments = aggregate.aggregate
    if isinstance(moments, NullIfAny):
        moments, known = moments.aggregate, state["nulls"] == 0
    if is_of_distribution(stat):
        if not isinstance(aggregate, Distribution):  # of a geometric mean
            return pl.lit(None, pl.Float64)
        return pl.when(known).then(aggregate.statistic(stat, state))
    if isinstance(moments, UndefinedIsOne):
        moments = moments.aggregate
    if isinstance(moments, RecommendedItems):
        return moments.statistic(stat, state)
    if not isinstance(moments, Moments):  # of a sum, or a geometric mean
        return pl.lit(None, pl.Float64)
    std, se = moments.variance(state).sqrt(), moments.standard_error(state)
    return pl.when(known).then(std if stat == "std" else se)


class _State(dict[str, pl.Expr]):
    """The parts of a state: columns with a prefix."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def __missing__(self, part: str) -> pl.Expr:
        return pl.col(f"{self.prefix}{part}")


VIOLATION = pl.Struct(
    {
        "rule": pl.String,
        "message": pl.String,
        "always": pl.Boolean,
        "count": pl.Int64,
        "example": pl.String,
    }
)


def sum_part(
    aggregation: Aggregation, request: Request, inputs: Inputs, plan: Counted[Frame]
) -> Frame:
    """Sum a part of the data, with the facts that only the whole can answer for.

    ``violations`` lists the rules with their counts instead of raising any. ``keys``
    are the queries themselves, and ``content`` is a number of them and their values.
    The other columns are the facts for ``checks/warnings``: with judgments, ``judged``
    queries were looked for, and ``found`` of them are in the run; of ``asked`` queries
    some are ``unknown``; segments have ``described`` some.
    """
    grouped = inputs.segments[: len(aggregation.by)]
    own = {*inputs.run.keys, *inputs.segments}.difference(grouped)
    own |= {f"m{i}" for i in range(len(aggregation.aggregates))}
    more = [pl.struct(inputs.run.keys).implode().alias("keys")]
    more.append(hashed(sorted(own)).sum().alias("content"))
    facts: dict[str, pl.Expr] = {}
    skips = request.qrels is not None or request.queries is not None
    if request.qrels is not None:
        known = pl.col("judged") > 0
        facts["judged"] = known.sum()
        facts["found"] = (known & pl.col("retrieved").is_not_null()).sum()
    if request.queries is not None:
        named = pl.all_horizontal(pl.col(inputs.run.keys).is_not_null())
        facts |= {"asked": pl.len(), "unknown": (pl.col("unknown") & named).sum()}
    if request.check != "off":
        labels = label_facts(inputs)
        more.append(labels.pop("highest").cast(pl.Float64).alias("highest"))
        facts |= labels
        if request.qrels is not None:
            facts["matched"] = pl.col("matched").sum()
        if any(about.where == "segments" for about in inputs.descriptions):
            described = pl.col("described")
            counted = described & ~pl.col("skipped") if skips else described
            facts["described"] = counted.sum()
    more += [fact.cast(pl.Int64).alias(name) for name, fact in facts.items()]
    sums = aggregation.sum(plan, inputs.run.keys, inputs.segments, *more, skips=skips)
    schema = inputs.run.frame.collect_schema()
    binary = [schema[key] for key in inputs.run.keys] == [pl.Binary]

    def shown(column: str) -> pl.Expr:
        example = pl.col("example").struct.field(column)
        if binary:
            return example.bin.encode("hex")
        return example.cast(pl.String, strict=False)

    listed = [
        pl.struct(
            rule=pl.lit(rule.name),
            message=pl.lit(rule.told),
            always=pl.lit(rule.always),
            count=pl.col(column).cast(pl.Int64),
            example=shown(column),
        )
        for column, rule in sums.rules.items()
    ]
    violations = (
        pl.concat_list(listed) if listed else pl.lit([], dtype=pl.List(VIOLATION))
    )
    frame = sums.frame.with_columns(violations=violations)
    return frame.drop(*sums.rules, "example", strict=False)
