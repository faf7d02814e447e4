"""What a question asks of the plan: the expressions, without a frame.

They depend on schemas, measures and choices only, so they are built once for each
question: on a small frame that takes longer than the sums.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import polars as pl

from polars_rank._engine.checks.counts import judged_faults, raw_faults
from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.layout import Grouping
from polars_rank._engine.recorder import Needs
from polars_rank._engine.schema import Kind
from polars_rank._engine.stages.rank import Key
from polars_rank.conventions.convention import Convention
from polars_rank.core.ranking import Ties
from polars_rank.core.registry import Rows, check, value
from polars_rank.core.rules import Fault
from polars_rank.measures.measure import Custom, Measure

__all__ = ["Answer", "Question", "answer"]

ROWS: tuple[Rows, ...] = ("relevant", "judged", "all")


class Question(NamedTuple):
    """All that decides the plan, but the frames themselves.

    ``carry`` are the log's columns ``by0`` ... that must be constant within a query.
    ``grouping`` is how the log's rows of a query come together; ``"contiguous"`` claims
    that they stand so, and ``guess`` says that nobody has claimed it. Below place
    ``max_rank`` nothing counts as retrieved.
    """

    log: Kind
    qrels: Kind | None
    measures: tuple[Measure | Custom, ...]
    convention: Convention
    check: Check
    carry: tuple[str, ...] = ()
    grouping: Grouping = "sort"
    guess: bool = False
    max_rank: int | None = None

    @property
    def ties(self) -> Ties:
        """The convention's rule; without document ids ties keep the input order."""
        rule = self.convention.ties
        lacking = rule in ("doc_desc", "doc_asc") and not self.log.has_doc
        return "order" if lacking or self.log.ranked else rule

    @property
    def pooled(self) -> bool:
        """Whether judgments of documents that were not retrieved are left out."""
        whole = self.qrels is None and not self.log.ranked
        return self.convention.judgments == "retrieved" and not whole

    @property
    def key(self) -> Key:
        """The column that orders a query's rows; see ``Ranked``."""
        if self.convention.unjudged == "drop":
            return "order"
        return "rank" if self.log.ranked else "score"


class Answer(NamedTuple):
    """What the measures need of the plan, and their values in terms of its sums.

    ``scalars`` are aggregations of a query's rows, ``judgments`` of its judgments.
    """

    needs: Needs
    values: list[pl.Expr]
    faults: list[Fault]
    scalars: dict[str, pl.Expr]
    judgments: dict[str, pl.Expr]


def answer(question: Question) -> Answer:
    """Let every measure say what it needs; a function of the user's, every time."""
    choices: list[object] = [question.convention.gain, question.convention.discount]
    for m in question.measures:
        choices += [m.function] if isinstance(m, Custom) else [v for _, v in m.params]
    if any(map(callable, choices)):
        return _answer(question)
    try:
        return _known(question)
    except TypeError:  # a gain that cannot be hashed
        return _answer(question)


@lru_cache(maxsize=64)
def _known(question: Question) -> Answer:
    return _answer(question)


def _answer(question: Question) -> Answer:
    needs, values, faults = _ask(question)
    whole = needs.rows == "all"
    scalars, raw = raw_faults(question.log, question.carry, question.check, whole=whole)
    judgments: dict[str, pl.Expr] = {}
    faults += raw
    if question.qrels is not None:
        judgments, pooled = judged_faults(question.qrels, needs, question.check)
        faults += pooled
    if question.qrels is not None or needs.retrieved:
        scalars["retrieved"] = _retrieved(question)
    return Answer(needs, values, faults, scalars, judgments)


def _retrieved(question: Question) -> pl.Expr:
    """Documents of the log that count as retrieved."""
    place = pl.col(question.key)
    if question.key == "score":
        return (
            pl.len()
            if question.max_rank is None
            else pl.len().clip(0, question.max_rank)
        )
    if question.key == "rank" and question.max_rank is not None:
        return (place <= question.max_rank).sum().cast(pl.UInt32)
    return place.count()


def _ask(question: Question) -> tuple[Needs, list[pl.Expr], list[Fault]]:
    """Let every measure say what it needs; its value in terms of a query's sums."""
    if question.max_rank is not None and question.ties == "expected":
        msg = (
            "max_rank= has no mean over the orders of ties='expected'; use another "
            "rule, or measures with a cutoff"
        )
        raise ValueError(msg)
    label_type = (question.qrels or question.log).label_type
    needs = Needs(
        rows="relevant" if question.measures else "judged",
        whole_grades=label_type is not None
        and (label_type.is_integer() or not label_type.is_numeric()),
        scored=not question.log.ranked,
        expected=question.ties == "expected",
    )
    measures = [
        m
        if isinstance(m, Custom)
        else m.with_defaults(question.convention.defaults(m.metric))
        for m in question.measures
    ]
    asked: list[Rows] = ["all" if isinstance(m, Custom) else m.rows for m in measures]
    if needs.expected:
        asked.append("all")
    if question.convention.negative_grade == "error":
        asked.append("judged")
    needs.rows = max([needs.rows, *asked], key=ROWS.index)
    values, faults = [], []
    for m in measures:
        ranking = needs.ranking() if isinstance(m, Custom) else needs.shared_ranking()
        if question.pooled:
            ranking = ranking.ideal_over("retrieved")
        if isinstance(m, Custom):
            values.append(pl.col(needs.aggregates.add(m.value(ranking))))
            counts = [needs.aggregates.add(fault.count) for fault in ranking.faults]
            named = zip(counts, ranking.faults, strict=True)
            faults += [replace(fault, count=pl.col(name)) for name, fault in named]
            continue
        check(m.definition, m.arguments, question.ties)
        if m.definition.uses_scores and not needs.scored:
            msg = (
                f"{m.metric} looks at the scores themselves: it cannot work with rank="
            )
            raise ValueError(msg)
        no_relevant = question.convention.no_relevant_of(m.metric)
        values.append(value(m.definition, ranking, m.arguments, no_relevant))
        faults += ranking.faults
    if question.convention.negative_grade == "error":
        below = needs.aggregates.add((pl.col("label") < 0).sum())
        faults.append(Fault(pl.col(below), NEGATIVE, refusal=True))
    once = {(fault.message, str(fault.count)): fault for fault in faults}
    return needs, values, list(once.values())


NEGATIVE = (
    "negative grades, which the convention refuses; count them as not relevant with "
    'negative_grade="zero"'
)
