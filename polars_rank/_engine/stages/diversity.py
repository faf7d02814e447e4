"""Measures of diversity: rank once, sum per subtopic, then combine.

The run is ranked as for any measure. A judgment takes the rank of its document; the
rows of a query and a subtopic are a ranked list, and its values are summed over the
subtopics.
"""

from __future__ import annotations

import polars as pl

from polars_rank._engine.stages.greedy import Ideal, with_greedy_ranks
from polars_rank._engine.stages.join import (
    join_qrels,
    number_queries,
    restore_query_keys,
)
from polars_rank._engine.stages.sum import Plan, sum_terms
from polars_rank._engine.tracing.recorder import ExprTable
from polars_rank._engine.tracing.trace import PlanKey, trace_measures, value_by_rules
from polars_rank.conventions.tools import complete_arguments
from polars_rank.core.expr import arg_sort_by, descending
from polars_rank.core.rules import (
    DUPLICATE_DOC,
    INFINITE_GRADE,
    NULL_SUBTOPIC,
    Violation,
)
from polars_rank.core.words.ranking import Ranking
from polars_rank.core.words.subtopics import Subtopics
from polars_rank.measures.measure import Custom


def sum_subtopics(
    key: PlanKey, run: pl.LazyFrame, qrels: pl.LazyFrame, listed: pl.LazyFrame | None
) -> Plan:
    """Compute the values of queries with judged subtopics, and of those ``listed``."""
    assert key.qrels is not None
    sums = Sums()
    values, violations = _trace(key, sums)
    keys = key.run.keys
    # What any evaluation needs, without measures: ranks, counts, the rules for the run.
    ranked = key._replace(measures=(), qrels=key.qrels.without("subtopic"))
    trace = trace_measures(ranked)
    qrels = qrels.cache()  # read for the numbers, the grades and the subtopics
    grades = qrels.group_by(*keys, "doc").agg(pl.col("label").max())
    numbers = number_queries(ranked, qrels, listed)
    rows = join_qrels(ranked, trace, run, grades, numbers, doc=True).rows.cache()
    queries = sum_terms(ranked, trace, rows)
    documents = rows.filter(pl.col("doc").is_not_null())
    judgments = qrels.join(numbers, on=keys, nulls_equal=True).join(
        documents.select("query", "doc", "rank", "retrieved"),
        on=["query", "doc"],
        how="left",
        nulls_equal=True,
    )
    frame = queries.frame.join(
        sums.of(judgments),
        on="query",
        how="left",
        nulls_equal=True,
        maintain_order="left",
    )
    plan = Plan(frame, queries.rules)
    for violation in violations:
        plan = plan.with_rule(violation.rule, violation.count)
    columns = {f"m{i}": value.cast(pl.Float64) for i, value in enumerate(values)}
    frame = plan.frame.with_columns(**columns).drop(list(sums.values.named))
    return Plan(restore_query_keys(frame, numbers), plan.rules)


def _trace(key: PlanKey, sums: Sums) -> tuple[list[pl.Expr], list[Violation]]:
    """Return measures in terms of the sums, and the rules for judgments."""
    values: list[pl.Expr] = []
    violations: list[Violation] = []
    for m in key.measures:
        subtopics = sums.subtopics()
        if isinstance(m, Custom):
            values.append(m.value(subtopics))
        else:
            arguments = complete_arguments(
                m.definition, m.arguments, convention=key.convention
            )
            values.append(value_by_rules(key, m, subtopics, arguments))
        violations += subtopics.violations
        violations += [
            Violation(v.rule, sums.add(v.count)) for v in subtopics.each.violations
        ]
    if key.check != "off":
        doc, subtopic = pl.col("doc"), pl.col("subtopic")
        copies = doc.count() - doc.drop_nulls().n_unique()
        infinite = ~pl.col("label").is_finite()
        counts = {
            DUPLICATE_DOC: copies,
            INFINITE_GRADE: infinite.sum(),
            NULL_SUBTOPIC: subtopic.is_null().sum(),
        }
        violations += [
            Violation(rule._replace(side="judgments"), sums.add(count))
            for rule, count in counts.items()
        ]
    once = {(v.rule, str(v.count)): v for v in violations}
    return values, list(once.values())


class Sums:
    """Values of each subtopic that are summed, and the ideal orders that they need."""

    def __init__(self) -> None:
        self.values = ExprTable("sum")
        self.ideals: dict[str, tuple[Ideal, int]] = {}

    def add(self, value: pl.Expr) -> pl.Expr:
        """Sum over the subtopics, once."""
        return pl.col(self.values.add(value.cast(pl.Float64)))

    def subtopics(self) -> Subtopics:
        """Return words that record what is summed."""
        each = OneSubtopic(**vars(_ranking(pl.col("label"), pl.col("rank"))))
        return Subtopics(each=each, sum=self.add, greedy=self.greedy)

    def greedy(self, alpha: float, rel: float, k: int) -> Ranking:
        """Return a subtopic's documents in the greedy ideal order of its query."""
        ideal = Ideal(alpha, rel)
        known = (name for name, (other, _) in self.ideals.items() if other == ideal)
        name = next(known, f"greedy{len(self.ideals)}")
        _, depth = self.ideals.get(name, (ideal, 0))
        self.ideals[name] = ideal, max(depth, k)
        order = arg_sort_by([pl.col(name)])
        return _ranking(pl.col("label").gather(order), pl.col(name).gather(order))

    def of(self, judgments: pl.LazyFrame) -> pl.LazyFrame:
        """Return one row per query."""
        judgments = judgments.with_columns(pl.col("label").cast(pl.Float64))
        rows = with_greedy_ranks(judgments, self.ideals).with_columns(
            cell=pl.struct("query", "subtopic")
        )
        names = list(self.values.named)
        cells = (
            rows.sort("cell", "rank", nulls_last=True)
            .set_sorted("cell")
            .group_by("cell", maintain_order=True)
            .agg(**self.values.named)
        )
        return (
            cells.with_columns(query=pl.col("cell").struct.field("query"))
            .set_sorted("query")
            .group_by("query", maintain_order=True)
            .agg(names)
            .with_columns(pl.col(names).list.sum())
        )


class OneSubtopic(Ranking):
    """The judged documents of a subtopic; the number of retrieved ones is known."""

    def retrieved_count(self) -> pl.Expr:
        """Return ``n``, which was counted where the rows were ranked."""
        return pl.col("retrieved").first().fill_null(0).cast(pl.Float64)


def _ranking(label: pl.Expr, rank: pl.Expr) -> Ranking:
    return Ranking(
        label=label,
        rank=rank,
        place=pl.int_range(1, pl.len() + 1).cast(pl.Float64),
        ideal_label=descending(label),
        score=-rank,
        raw_score=-rank,
    )
