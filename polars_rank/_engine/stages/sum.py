"""The stages that compute: words along the documents, then one row per query."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeAlias

import polars as pl

from polars_rank._engine.checks.enforce import Frame
from polars_rank._engine.stages.rank import LISTED
from polars_rank._engine.tracing.recorder import WORDS, Recorder
from polars_rank._engine.tracing.shares import DOCUMENTS
from polars_rank._engine.tracing.trace import PlanKey, Trace
from polars_rank.core.rules import Rule

LABELED = "labels of the first documents of the query"
RELEVANT = "relevant documents of the query"
LISTS = (LISTED, LABELED, RELEVANT)


class Counted(NamedTuple, Generic[Frame]):
    """One row per query: its values, and how often it breaks each rule.

    The rows are planned, or at hand.

    Attributes
    ----------
    frame
        ``query``, the carried columns, ``m0`` ... for the measures, and a count for
        each of the ``rules``. With judgments, ``retrieved`` is the number of documents
        in the run (null: query not in it), ``judged`` that of judgments and ``matched``
        that of retrieved ones among those that matter. ``highest`` is the largest label
        of these. Both are left out with ``check="off"``.
    rules
        Which rule a column counts.
    """

    frame: Frame
    rules: dict[str, Rule]

    def with_rule(  # type: ignore[misc]  # mypy: a method of a generic NamedTuple
        self, rule: Rule, count: pl.Expr
    ) -> Counted[Frame]:
        """Count another rule."""
        name = f"rule{len(self.rules)}"
        frame = self.frame.with_columns(count.cast(pl.UInt32).alias(name))
        return Counted(frame, {**self.rules, name: rule})


Plan: TypeAlias = Counted[pl.LazyFrame]


def sum_terms(key: PlanKey, trace: Trace, rows: pl.LazyFrame) -> Plan:
    """Compute the values of every query from the rows that matter to them."""
    recorder, scalars = trace.recorder, [*trace.run_scalars, *trace.qrels_scalars]
    joined = []
    if key.qrels is not None:
        joined = ["retrieved", "judged"]
        if key.grouping == "contiguous":
            joined.append("runs")
            scalars.append("runs")
    shares = trace.shares
    document = [] if shares is None else shares.document(rows.collect_schema())
    if key.list_depth:
        named = key.qrels is None or key.relevant_items
        document = [*(["doc"] if named else []), "rank", "label"]
    words = with_words(rows, recorder, scalars, document)
    lists = [] if shares is None else [shares.documents(document)]
    lists += [_first(key)] if key.list_depth else []
    lists += [_relevant(key, recorder)] if key.relevant_items else []
    sums = summed(words, recorder, scalars, lists, document)
    shared = [] if shares is None else [pl.col(DOCUMENTS), shares.factors]
    if key.list_depth:
        shared.append(pl.col(LISTED if key.qrels is None else LABELED))
        shared += [pl.col(RELEVANT)] if key.relevant_items else []
    frame = sums.select("query", *key.carry, *joined, *shared, *trace.results)
    return Plan(frame, {f"rule{i}": v.rule for i, v in enumerate(trace.violations)})


def _first(key: PlanKey) -> pl.Expr:
    """Return the first documents; of a run, the labels of those that are judged."""
    first = pl.col("rank") <= key.list_depth
    if key.qrels is None:
        return pl.struct("doc", "rank", "label").filter(first).alias(LISTED)
    return pl.struct("rank", "label").filter(first).alias(LABELED)


def _relevant(key: PlanKey, recorder: Recorder) -> pl.Expr:
    """Return the documents that can count as relevant, at any rank or none."""
    counts = recorder.matter
    if key.retrieved_only:
        counts &= pl.col("rank").is_not_null()
    return pl.struct("doc", "rank", "label").filter(counts).alias(RELEVANT)


def with_words(
    rows: pl.LazyFrame,
    recorder: Recorder,
    scalars: list[str],
    document: Sequence[str] = (),
) -> pl.LazyFrame:
    """Add the words that depend on neighboring documents, level by level.

    The columns of a ``document`` are kept, too.
    """
    if not recorder.top:  # else they are numbers already
        rows = rows.with_columns(pl.col("label").cast(pl.Float64))
    have = [w for w in WORDS if w in recorder.columns | {"label"}]
    have += [w for w in ("ideal_label",) if recorder.top and w in recorder.columns]
    have += [name for name in document if name not in have]
    constants, once = recorder.constants.named, list(scalars)
    for level, words in enumerate(recorder.word_levels):
        lists = {name: pl.col(name) for name in have} | words
        singles = {name: pl.col(name).first() for name in once}
        singles |= constants if level == 0 else {}
        lead = recorder.lead and level == 0
        rows = (
            rows.group_by("query", maintain_order=True)
            .agg(**lists, **singles)
            .with_columns(**_along_the_list(lead=lead))
            .explode(*lists, "place")
            .set_sorted("query")
        )
        have, once = list(lists), [*singles, *(["lead"] if lead else [])]
    return rows


def _along_the_list(*, lead: bool) -> dict[str, pl.Expr]:
    """Return ``place``, and whether the first row of the query is not relevant."""
    label = pl.col("label")
    place = pl.int_ranges(1, label.list.len() + 1, dtype=pl.Int64)
    columns = {"place": place.cast(pl.List(pl.Float64))}
    if lead:
        columns["lead"] = (~(label.list.first() > 0).fill_null(value=False)).cast(
            pl.Float64
        )
    return columns


def summed(
    words: pl.LazyFrame,
    recorder: Recorder,
    scalars: list[str],
    lists: Sequence[pl.Expr] = (),
    document: Sequence[str] = (),
) -> pl.LazyFrame:
    """Make a row per query: the terms as lists (to be summed), aggregates, scalars.

    Other ``lists`` are made of the columns of a ``document``.
    """
    about = [name for name in document if name not in recorder.aggregates.roots()]
    return (
        words.select("query", *about, *scalars, *recorder.summands)
        .set_sorted("query")
        .group_by("query", maintain_order=True)
        .agg(*recorder.sums, *lists, *(pl.col(name).first() for name in scalars))
    )
