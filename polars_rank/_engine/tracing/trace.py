"""Trace the measures: which shared columns, sums and checks they need.

No data are read: the result depends on schemas, measures and choices only, so it is
cached. On a small frame, tracing takes longer than the sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import polars as pl

from polars_rank._engine.checks.broken_rules import qrels_checks, run_checks
from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.inputs import Inputs
from polars_rank._engine.request import Grouping, Request
from polars_rank._engine.schema import BoundSchema
from polars_rank._engine.stages.rank import DocTies, OrderedBy
from polars_rank._engine.tracing.recorder import Recorder
from polars_rank._engine.tracing.shares import Shares, Sharing, shares_of
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import complete_arguments
from polars_rank.core.metric.registry import Rows, check_policy, value
from polars_rank.core.rules import NEGATIVE_GRADE, Violation
from polars_rank.core.words.ranking import Ranking, Ties
from polars_rank.core.words.subtopics import Subtopics
from polars_rank.measures.measure import (
    Custom,
    Measure,
    is_of_lists,
    needs_relevant_items,
)

ROWS: tuple[Rows, ...] = ("relevant", "judged", "all")


class PlanKey(NamedTuple):
    """Everything that determines the plan except the data; the cache key.

    Attributes
    ----------
    run, qrels
        Columns of the bound frames.
    ties
        The convention's rule, as far as it applies: without document ids, ties keep the
        input order, and known ranks have no ties.
    ordered_by
        The column that orders a query's rows; see ``Ranked``.
    retrieved_only
        Whether judgments of documents that were not retrieved are left out.
    carry
        The run's columns ``by0`` ... that must be constant within a query.
    beside
        Whether documents that change no value are apart from the others.
    measures, convention, check, grouping, few, unclaimed, max_rank, contributions
        As in :class:`Request`.
    list_depth
        How many of the first documents come with a query as a list; 0: none.
    relevant_items
        Whether the relevant documents come with it as another list.
    by_doc
        Whether ids order ties; see :class:`Request`.
    """

    run: BoundSchema
    qrels: BoundSchema | None
    measures: tuple[Measure | Custom, ...]
    convention: Convention
    ties: Ties
    ordered_by: OrderedBy
    retrieved_only: bool
    check: Check
    carry: tuple[str, ...]
    grouping: Grouping
    few: bool
    unclaimed: bool
    max_rank: int | None
    contributions: bool = False
    beside: bool = False
    list_depth: float = 0
    relevant_items: bool = False
    by_doc: bool = False

    @property
    def names_documents(self) -> bool:
        """Whether documents of a query come with its value."""
        return self.contributions or bool(self.list_depth)

    @property
    def late_ties(self) -> DocTies | None:
        """The rule by which ids break ties after documents are ordered by score.

        None without such a rule; for a small log, where two sort keys cost less; and
        for one whose documents are told apart even if their labels are equal.
        """
        at_once = self.few or self.names_documents
        if self.ordered_by != "score" or (at_once and self.qrels is None):
            return None
        return self.ties if self.ties == "doc_desc" or self.ties == "doc_asc" else None

    @classmethod
    def of(cls, request: Request, inputs: Inputs) -> PlanKey:
        """Return the key of a request whose frames are bound."""
        convention, columns = request.convention, inputs.run.schema.roles
        ties = convention.ties
        if "rank" in columns or ("doc" not in columns and ties.startswith("doc_")):
            ties = "order"
        ordered_by: OrderedBy = "rank" if "rank" in columns else "score"
        all_retrieved = inputs.qrels is None and ordered_by == "score"
        return cls(
            run=inputs.run.schema,
            qrels=None if inputs.qrels is None else inputs.qrels.schema,
            measures=request.measures,
            convention=convention,
            ties=ties,
            ordered_by="order" if convention.unjudged == "drop" else ordered_by,
            retrieved_only=convention.judgments == "retrieved" and not all_retrieved,
            check=request.check,
            carry=inputs.carry,
            grouping=request.grouping,
            few=request.few,
            unclaimed=request.unclaimed,
            max_rank=request.max_rank,
            contributions=request.contributions,
            beside=inputs.qrels is not None and request.beside is not None,
            list_depth=request.list_depth,
            relevant_items=request.relevant_items,
            by_doc=request.by_doc and "doc" in columns,
        )


@dataclass(frozen=True, eq=False)
class Trace:
    """What the measures need of the plan, and their values in terms of its sums.

    ``run_scalars`` are aggregations of a query's rows, ``qrels_scalars`` of its
    judgments; ``facts`` are in terms of the sums, and no measure needs them. Of each
    query, the plan keeps the first ``depth`` documents; None: as the recorder says.
    ``shares`` are what the documents add to the value, if that is asked for.
    """

    recorder: Recorder
    depth: int | None
    values: list[pl.Expr]
    violations: list[Violation]
    run_scalars: dict[str, pl.Expr]
    qrels_scalars: dict[str, pl.Expr]
    facts: dict[str, pl.Expr]
    shares: Shares | None = None

    @cached_property
    def results(self) -> list[pl.Expr]:
        """The facts, ``m0`` ... and ``rule0`` ... of a query."""
        values = (value.cast(pl.Float64) for value in self.values)
        counts = (v.count.cast(pl.UInt32) for v in self.violations)
        return [
            *(fact.alias(name) for name, fact in self.facts.items()),
            *(value.alias(f"m{i}") for i, value in enumerate(values)),
            *(count.alias(f"rule{i}") for i, count in enumerate(counts)),
        ]


def trace_measures(key: PlanKey) -> Trace:
    """Trace all measures. Results are cached, except with user-defined functions."""
    choices: list[object] = [key.convention.gain, key.convention.discount]
    for m in key.measures:
        choices += [m.function] if isinstance(m, Custom) else [v for _, v in m.params]
    if any(map(callable, choices)):
        return _trace(key)
    try:
        return _trace_cached(key)
    except TypeError:  # a gain that cannot be hashed
        return _trace(key)


@lru_cache(maxsize=64)
def _trace_cached(key: PlanKey) -> Trace:
    return _trace(key)


def _trace(key: PlanKey) -> Trace:
    if key.max_rank is not None and key.ties == "expected":
        msg = (
            "max_rank= has no mean over the orders of ties='expected'; use another "
            "rule, or measures with a cutoff"
        )
        raise ValueError(msg)
    filled = [
        {}
        if isinstance(m, Custom)
        else complete_arguments(m.definition, m.arguments, convention=key.convention)
        for m in key.measures
    ]
    trace = _recorded(key, filled)
    depth = _depth(key, trace)
    return trace if depth is None else _recorded(key, filled, depth)


def _depth(key: PlanKey, trace: Trace) -> int | None:
    """Return how many of a query's first documents can change a value; None: all.

    In memory, the first few are found in a quarter of the time that a sort takes, and
    nothing is computed for the others. What is 0 times a weight of 0 may be NaN instead
    where grades are infinite, or gains overflow: then it must be an error.
    """
    recorder = trace.recorder
    in_memory = key.grouping == "hash" and key.qrels is None
    ranked = key.ordered_by == "score" and key.max_rank is None
    finite = recorder.integer_grades and not trace.violations
    if key.names_documents or not in_memory or not ranked:
        return None
    if "score" in recorder.columns:
        return None
    return recorder.cutoffs.depth if finite or key.check == "strict" else None


def _recorded(
    key: PlanKey, filled: list[dict[str, Any]], depth: int | None = None
) -> Trace:
    recorder = _recorder(key, filled, top=depth is not None)
    values: list[pl.Expr] = []
    violations: list[Violation] = []
    for m, arguments in zip(key.measures, filled, strict=True):
        value, broken = _traced(key, recorder, m, arguments)
        values.append(value)
        violations += broken
    if key.convention.negative_grade == "error":
        negative = recorder.recording_ranking().count_all(pl.col("label") < 0)
        violations.append(Violation(NEGATIVE_GRADE, negative))
    once = {(v.rule, str(v.count)): v for v in violations}
    trace = _with_checks(key, recorder, depth, values, list(once.values()))
    if not key.contributions:
        return trace
    return replace(trace, shares=_shares(key, recorder, filled[0]))


def _shares(key: PlanKey, recorder: Recorder, arguments: dict[str, Any]) -> Shares:
    """Record what the documents add to the value of the only measure."""
    (measure,) = key.measures
    if isinstance(measure, Custom):
        fill = None
    else:
        policy = key.convention.no_relevant_of(measure.metric, measure.no_relevant)
        fill = 1.0 if measure.definition.adds_unweighted_one(policy) else None

    def value_of(ranking: Sharing) -> pl.Expr:
        r: Ranking = ranking
        if key.retrieved_only:
            r = r.ideal_over("retrieved")
        if isinstance(measure, Custom):
            return measure.function(r).cast(pl.Float64).fill_nan(None)
        found = value_by_rules(key, measure, r, arguments)
        return found if fill is None else found.fill_null(fill)

    return shares_of(value_of, recorder, measure.name)


def _recorder(key: PlanKey, filled: list[dict[str, Any]], *, top: bool) -> Recorder:
    """Make an empty recorder that knows which documents the measures depend on."""
    grades = (key.qrels or key.run).by_role.get("label")
    depends_on: list[Rows] = ["relevant" if key.measures else "judged"]
    if key.contributions and not key.beside:
        depends_on.append("all")
    depends_on += [
        "all" if isinstance(m, Custom) else m.definition.depends_on_with(arguments)
        for m, arguments in zip(key.measures, filled, strict=True)
        if not is_of_lists(m) or needs_relevant_items(m)
    ]
    if key.ties == "expected":
        depends_on.append("all")
    if key.convention.negative_grade == "error":
        depends_on.append("judged")
    return Recorder(
        rows=max(depends_on, key=ROWS.index),
        integer_grades=grades is not None
        and (grades.is_integer() or not grades.is_numeric()),
        scored="rank" not in key.run.roles,
        expected=key.ties == "expected",
        top=top,
        list_depth=key.list_depth if key.qrels is None else 0,
    )


def _traced(
    key: PlanKey,
    recorder: Recorder,
    measure: Measure | Custom,
    arguments: dict[str, Any],
) -> tuple[pl.Expr, list[Violation]]:
    """Return the measure's value in terms of the sums, and the rules that it adds."""
    if isinstance(measure, Custom):
        plain = recorder.ranking()
        if key.retrieved_only:
            plain = plain.ideal_over("retrieved")
        name = recorder.aggregates.add(measure.value(plain))
        violations = [
            Violation(v.rule, pl.col(recorder.aggregates.add(v.count)))
            for v in plain.violations
        ]
        return pl.col(name), violations
    if is_of_lists(measure):  # its value comes later
        check_policy(measure.definition, arguments, key.ties, "null")
        return pl.lit(None, pl.Float64), []
    if measure.definition.uses_scores and not recorder.scored:
        msg = f"{measure.metric} looks at the scores themselves: it cannot use rank="
        raise ValueError(msg)
    ranking: Ranking = recorder.recording_ranking()
    if key.retrieved_only:
        ranking = ranking.ideal_over("retrieved")
    return value_by_rules(key, measure, ranking, arguments), ranking.violations


def value_by_rules(
    key: PlanKey,
    measure: Measure,
    ranking: Ranking | Subtopics,
    arguments: dict[str, Any],
) -> pl.Expr:
    """Decide the value of a query: by ``missing`` first, then by ``no_relevant``.

    A query that is missing from the run counts as 0 even if nothing is relevant to it.
    """
    metric, convention = measure.definition, key.convention
    policy = convention.no_relevant_of(measure.metric, measure.no_relevant)
    check_policy(metric, arguments, key.ties, policy)
    if metric.adds_unweighted_one(policy):
        policy = "null"  # the mean has to know
    found = value(metric, ranking, arguments, policy)
    as_zero = key.qrels is not None and convention.missing == "zero"
    if not (as_zero and metric.needs_relevant) or policy == "zero":
        return found
    absent = pl.col("retrieved").is_null()
    ranking.violations[:] = [
        Violation(v.rule, pl.when(~absent).then(v.count).otherwise(0))
        if v.rule.name == "undefined"
        else v
        for v in ranking.violations
    ]
    return (
        pl.when(absent).then(value(metric, ranking, arguments, "zero")).otherwise(found)
    )


def _with_checks(
    key: PlanKey,
    recorder: Recorder,
    depth: int | None,
    values: list[pl.Expr],
    violations: list[Violation],
) -> Trace:
    """Add the rules for the rows themselves, and the counts that the plan needs."""
    run = run_checks(key.run, key.carry, key.check)
    run_scalars, qrels_scalars = run.scalars, {}
    violations = violations + run.violations
    if key.qrels is not None:
        qrels = qrels_checks(key.qrels, key.check)
        qrels_scalars = qrels.scalars
        violations += qrels.violations
    if key.qrels is not None or recorder.retrieved:
        run_scalars["retrieved"] = _retrieved_count(key)
    facts = _facts(key, recorder)
    run_scalars |= recorder.counts.named
    return Trace(recorder, depth, values, violations, run_scalars, qrels_scalars, facts)


def _facts(key: PlanKey, recorder: Recorder) -> dict[str, pl.Expr]:
    """Return counts that reveal doubtful results."""
    if key.check == "off":
        return {}
    label, rank = pl.col("label"), pl.col("rank")
    add = (recorder.counts if recorder.top else recorder.aggregates).add
    # A maximum of lists takes half the time of one in a group-by, and more memory.
    if recorder.top and "ideal_label" in recorder.columns:
        first = recorder.aggregates.add(pl.col("ideal_label").first())
        facts = {"highest": pl.col(first)}
    elif key.qrels is None and not recorder.top:
        # A maximum of lists takes half the time of one in a group-by, and more memory.
        facts = {"highest": pl.col(add(label.implode())).list.max()}
    else:
        facts = {"highest": pl.col(add(label.max()))}
    if key.qrels is not None:
        matched = label.filter(rank.is_not_null()).count()
        facts["matched"] = pl.col(add(matched))
    unjudged = pl.col("judged").fill_null(0) == 0
    if key.qrels is not None:
        unjudged &= pl.col("retrieved").is_not_null()
    facts["unjudged"] = unjudged
    if (key.qrels or key.run).has_fractions:
        facts["fractions"] = pl.col(add(((label > 0) & (label < 1)).sum()))
    return facts


def _retrieved_count(key: PlanKey) -> pl.Expr:
    """Count the documents of the run that are retrieved."""
    if key.ordered_by == "order":
        return pl.col("order").count()
    if "rank" not in key.run.roles:
        return pl.len() if key.max_rank is None else pl.len().clip(0, key.max_rank)
    rank = pl.col("rank")
    if key.max_rank is None:
        return rank.count()
    return (rank <= key.max_rank).sum().cast(pl.UInt32)
