"""The plan of measures of diversity: rank once, sum for each subtopic, then combine.

The run is ranked as for any measure. A judgment takes the rank of its document; the
rows of a query and a subtopic are a ranked list, and its values are summed up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from polars_rank._engine.checks.counts import DUPLICATE
from polars_rank._engine.plan import PerQuery, claimed, per_query_plan, summed
from polars_rank._engine.recorder import Names
from polars_rank._engine.stages.greedy import Ideal, with_greedy_ranks
from polars_rank._engine.stages.join import judged_rows, named, query_numbers
from polars_rank._engine.trace import Question, answer
from polars_rank.core.expr import arg_sort_by, descending
from polars_rank.core.ranking import Ranking
from polars_rank.core.registry import check, value
from polars_rank.core.rules import INFINITE_GRADE, Fault
from polars_rank.core.subtopics import Subtopics
from polars_rank.measures.measure import Custom, Measure

__all__ = ["plan_question", "require_kind"]


def require_kind(measures: Sequence[Measure | Custom], *, subtopics: bool) -> None:
    """Measures of diversity need subtopics; the others one grade a document."""
    vocabulary = "subtopics" if subtopics else "ranking"
    for m in measures:
        if isinstance(m, Custom) or m.definition.vocabulary == vocabulary:
            continue
        if subtopics:
            msg = (
                f"{m.metric} needs one grade a document, not one a subtopic: ask for "
                "it without subtopic=, with judgments such as "
                "qrels.group_by('query_id', 'doc_id').agg(pl.col('label').max())"
            )
        else:
            msg = (
                f"{m.metric} looks at subtopics: give judgments (qrels=) and name "
                "their column with subtopic="
            )
        raise ValueError(msg)


def plan_question(
    question: Question, log: pl.LazyFrame, qrels: pl.LazyFrame | None = None
) -> PerQuery:
    """Plan the values of every query, with or without subtopics."""
    if qrels is None or question.qrels is None or not question.qrels.has_subtopic:
        return per_query_plan(question, log, qrels)
    sums = Sums()
    values, faults = _ask(question, sums)
    keys = question.log.keys
    documents = question.qrels._replace(has_subtopic=False)
    ranked = question._replace(measures=(), qrels=documents)
    asked = answer(ranked)
    qrels = qrels.cache()  # read for the numbers, the grades and the subtopics
    grades = qrels.group_by(*keys, "doc").agg(pl.col("label").max())
    numbers = query_numbers(ranked, qrels)
    rows = judged_rows(ranked, asked, log, grades, numbers, doc=True).cache()
    queries = summed(ranked, asked, rows)
    judgments = qrels.join(numbers, on=keys, nulls_equal=True).join(
        rows.filter(pl.col("doc").is_not_null()).select(
            "query", "doc", "rank", "retrieved"
        ),
        on=["query", "doc"],
        how="left",
        nulls_equal=True,
    )
    totals = sums.of(judgments)
    counts = {f"subtopics{i}": fault for i, fault in enumerate(faults)}
    frame = queries.frame.join(
        totals, on="query", how="left", nulls_equal=True, maintain_order="left"
    ).select(
        pl.exclude(list(sums.values.named)),
        *(v.cast(pl.Float64).alias(f"m{i}") for i, v in enumerate(values)),
        *(fault.count.alias(name) for name, fault in counts.items()),
    )
    plan = PerQuery(
        named(frame, numbers),
        queries.faults | {name: fault.message for name, fault in counts.items()},
        queries.refusals | {name for name, f in counts.items() if f.refusal},
    )
    return claimed(question, plan, log)


def _ask(question: Question, sums: Sums) -> tuple[list[pl.Expr], list[Fault]]:
    """Values of the measures in terms of the sums, and the rules for judgments."""
    values, faults = [], []
    for m in question.measures:
        subtopics = sums.subtopics()
        if isinstance(m, Custom):
            values.append(m.value(subtopics))
        else:
            m = m.with_defaults(question.convention.defaults(m.metric))
            check(m.definition, m.arguments, question.ties)
            policy = question.convention.no_relevant_of(m.metric)
            values.append(value(m.definition, subtopics, m.arguments, policy))
        faults += subtopics.faults
        each = subtopics.each.faults
        faults += [replace(fault, count=sums.add(fault.count)) for fault in each]
    if question.check != "off":
        doc, subtopic = pl.col("doc"), pl.col("subtopic")
        copies = doc.count() - doc.drop_nulls().n_unique()
        infinite = ~pl.col("label").is_finite()
        faults += [
            Fault(sums.add(copies), DUPLICATE),
            Fault(sums.add(infinite.sum()), INFINITE_GRADE),
            Fault(sums.add(subtopic.is_null().sum()), NO_SUBTOPIC),
        ]
    once = {(fault.message, str(fault.count)): fault for fault in faults}
    return values, list(once.values())


class Sums:
    """Values of each subtopic that are summed, and the ideal orders they look at."""

    def __init__(self) -> None:
        self.values = Names("sum")
        self.ideals: dict[str, tuple[Ideal, int]] = {}

    def add(self, value: pl.Expr) -> pl.Expr:
        """Sum over the subtopics, once."""
        return pl.col(self.values.add(value.cast(pl.Float64)))

    def subtopics(self) -> Subtopics:
        """Words that write down what is summed."""
        each = OneSubtopic(**vars(_ranking(pl.col("label"), pl.col("rank"))))
        return Subtopics(each=each, sum=self.add, greedy=self.greedy)

    def greedy(self, alpha: float, rel: float, k: int) -> Ranking:
        """A subtopic's documents in the greedily best order of its query."""
        ideal = Ideal(alpha, rel)
        known = (name for name, (other, _) in self.ideals.items() if other == ideal)
        name = next(known, f"greedy{len(self.ideals)}")
        _, depth = self.ideals.get(name, (ideal, 0))
        self.ideals[name] = ideal, max(depth, k)
        order = arg_sort_by([pl.col(name)])
        return _ranking(pl.col("label").gather(order), pl.col(name).gather(order))

    def of(self, judgments: pl.LazyFrame) -> pl.LazyFrame:
        """One row a query."""
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
    """The judged documents; how many were retrieved is known all the same."""

    def retrieved_count(self) -> pl.Expr:
        """``n``, counted where the rows were ranked."""
        return pl.col("retrieved").first().fill_null(0).cast(pl.Float64)


def _ranking(label: pl.Expr, rank: pl.Expr) -> Ranking:
    return Ranking(
        label=label,
        rank=rank,
        place=pl.int_range(1, pl.len() + 1).cast(pl.Float64),
        ideal_label=descending(label),
        score=-rank,
    )


NO_SUBTOPIC = "subtopics are null; drop these judgments or name their subtopics"
