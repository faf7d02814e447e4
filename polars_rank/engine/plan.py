"""One lazy plan: rank, keep the rows that matter, share words, sum, one row a query."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import polars as pl

from polars_rank.convention import Convention
from polars_rank.engine.bind import Log
from polars_rank.engine.check import Check
from polars_rank.engine.rank import in_rank_order, pack, rank_documents, unpack
from polars_rank.engine.rules import data_faults, raw_faults
from polars_rank.engine.shared import Needs
from polars_rank.measure import Custom, Measure
from polars_rank.metrics.registry import Rows, check, value
from polars_rank.ranking import Fault, Ties

__all__ = ["Job", "PerQuery", "per_query_plan"]

ROWS: tuple[Rows, ...] = ("relevant", "judged", "all")
WORDS = ("label", "rank", "score", "tie_first", "tie_last")


@dataclass(frozen=True)
class Job:
    """What to evaluate: a log, or a run and its judgments.

    ``carry`` are the log's columns ``by0`` ... that must be constant within a query.
    """

    log: Log
    qrels: Log | None
    measures: Sequence[Measure | Custom]
    convention: Convention
    check: Check
    carry: Sequence[str] = ()

    @property
    def ties(self) -> Ties:
        """The convention's rule; without document ids ties keep the input order."""
        rule = self.convention.ties
        lacking = rule in ("doc_desc", "doc_asc") and not self.log.has_doc
        return "order" if lacking or self.log.ranked else rule

    @property
    def key(self) -> Literal["score", "rank", "order"]:
        """The column that orders a query's rows; see ``rank_documents``."""
        if self.convention.unjudged == "drop":
            return "order"
        return "rank" if self.log.ranked else "score"


@dataclass(frozen=True)
class PerQuery:
    """One row a query, sorted by it.

    Columns: ``query``, the carried ones, ``m0`` ... for the measures, and those of
    ``faults``, which count what breaks a rule (name -> message); ``refusals`` are those
    that the convention makes one (``no_relevant="error"``): always an error, whatever
    ``check`` says. With judgments,
    ``retrieved`` is the number of documents in the run (null: query not in it), and
    ``judged`` of judgments.
    """

    frame: pl.LazyFrame
    faults: dict[str, str]
    refusals: frozenset[str] = frozenset()


def per_query_plan(job: Job) -> PerQuery:
    """Plan the values of every query."""
    needs, values, faults = _ask(job)
    scalars, raw = raw_faults(job.log, job.carry, job.check)
    if job.qrels is not None or needs.retrieved:
        placed = pl.len() if job.key == "score" else pl.col(job.key).count()
        scalars["retrieved"] = placed
    faults += raw + data_faults(needs, joined=job.qrels is not None, check=job.check)
    pooled = []
    if job.qrels is not None:
        judged = pl.col(needs.aggregates.add(pl.col("label").count()))
        pooled = [pl.col("retrieved"), judged.alias("judged")]

    rows = _ranked(job, needs, scalars)
    if job.qrels is not None:
        rows = _judged(job.log, job.qrels, rows, needs, scalars)
    words = _words(rows, needs, list(scalars))
    sums = _sums(words, needs, list(scalars))
    counts = {f"fault{i}": fault for i, fault in enumerate(faults)}
    frame = sums.select(
        "query",
        *job.carry,
        *pooled,
        *(expr.cast(pl.Float64).alias(f"m{i}") for i, expr in enumerate(values)),
        *(fault.count.alias(name) for name, fault in counts.items()),
    )
    return PerQuery(
        frame,
        {name: fault.message for name, fault in counts.items()},
        frozenset(name for name, fault in counts.items() if fault.refusal),
    )


def _ask(job: Job) -> tuple[Needs, list[pl.Expr], list[Fault]]:
    """Let every measure say what it needs; its value in terms of a query's sums."""
    label_type = (job.qrels or job.log).label_type
    needs = Needs(
        rows="relevant" if job.qrels is None else "judged",
        whole_grades=label_type is not None
        and (label_type.is_integer() or not label_type.is_numeric()),
        scored=not job.log.ranked,
        expected=job.ties == "expected",
    )
    measures = [
        m
        if isinstance(m, Custom)
        else m.with_defaults(job.convention.defaults(m.metric))
        for m in job.measures
    ]
    asked: list[Rows] = ["all" if isinstance(m, Custom) else m.rows for m in measures]
    if needs.expected:
        asked.append("all")
    needs.rows = max([needs.rows, *asked], key=ROWS.index)
    values, faults = [], []
    for m in measures:
        ranking = needs.ranking() if isinstance(m, Custom) else needs.shared_ranking()
        if isinstance(m, Custom):
            values.append(pl.col(needs.aggregates.add(m.value(ranking))))
            counts = [needs.aggregates.add(fault.count) for fault in ranking.faults]
            named = zip(counts, ranking.faults, strict=True)
            faults += [replace(fault, count=pl.col(name)) for name, fault in named]
            continue
        check(m.definition, m.arguments, job.ties)
        if m.definition.score and not needs.scored:
            msg = (
                f"{m.metric} looks at the scores themselves: it cannot work with rank="
            )
            raise ValueError(msg)
        values.append(
            value(m.definition, ranking, m.arguments, job.convention.no_relevant)
        )
        faults += ranking.faults
    once = {(fault.message, str(fault.count)): fault for fault in faults}
    return needs, values, list(once.values())


def _ranked(job: Job, needs: Needs, scalars: dict[str, pl.Expr]) -> pl.LazyFrame:
    """Rows of the log in rank order, without those that change no value."""
    log, frame = job.log, job.log.frame
    on = [*log.keys, "doc"]
    judged = None if job.qrels is None else job.qrels.frame
    if judged is not None and (
        job.key == "order" or job.ties in ("optimistic", "pessimistic")
    ):
        frame = frame.join(judged, on=on, how="left", maintain_order="left")
    if job.key == "order":
        order = pl.col("rank" if log.ranked else "score")
        frame = frame.with_columns(order=pl.when(pl.col("label") >= 0).then(order))
    payload = {"doc"} if judged is not None else {"label"}
    if "score" in needs.columns():
        payload.add("score")
    rows = rank_documents(
        pack(frame, log.keys),
        sorted(payload),
        key=job.key,
        descending=not log.ranked,
        ties=job.ties,
        scalars=scalars,
    )
    if judged is not None or needs.rows == "all":
        return rows
    known = pl.col("label").is_not_null()
    if needs.rows == "relevant":
        known = pl.col("label") > 0
    return rows.filter(known | (pl.col("place") == 1))


def _judged(
    log: Log,
    qrels: Log,
    ranked: pl.LazyFrame,
    needs: Needs,
    scalars: dict[str, pl.Expr],
) -> pl.LazyFrame:
    """Judged documents in rank order, not retrieved ones last; each query's first."""
    rows = unpack(ranked, log.keys).join(
        qrels.frame, on=[*log.keys, "doc"], how="full", coalesce=True
    )
    if needs.rows != "all":
        rows = rows.filter(pl.col("label").is_not_null() | (pl.col("place") == 1))
    rows = rows.drop("place")
    payload = ["doc", *(w for w in WORDS if w in needs.columns() | {"label"})]
    return in_rank_order(
        pack(rows, log.keys), [w for w in payload if w != "rank"], list(scalars)
    )


def _words(rows: pl.LazyFrame, needs: Needs, scalars: list[str]) -> pl.LazyFrame:
    """Add the words that look at neighbouring documents, level by level."""
    floats = ["label", *(["score"] if "score" in needs.columns() else [])]
    rows = rows.with_columns(pl.col(floats).cast(pl.Float64))
    have = [w for w in [*WORDS, "doc"] if w in needs.columns() | {"label"}]
    constants, once = needs.constants.named, list(scalars)
    for level, words in enumerate(needs.word_levels()):
        lists = {name: pl.col(name) for name in have} | words
        singles = {name: pl.col(name).first() for name in once}
        singles |= constants if level == 0 else {}
        lead = needs.lead and level == 0
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
    """``place``, and whether the first row of the query is not relevant."""
    label = pl.col("label")
    place = pl.int_ranges(1, label.list.len() + 1, dtype=pl.Int64)
    columns = {"place": place.cast(pl.List(pl.Float64))}
    if lead:
        columns["lead"] = (~(label.list.first() > 0).fill_null(value=False)).cast(
            pl.Float64
        )
    return columns


def _sums(words: pl.LazyFrame, needs: Needs, scalars: list[str]) -> pl.LazyFrame:
    """One row a query: the terms as lists (to be summed), aggregates, scalars."""
    roots = sorted(needs.aggregates.roots() - needs.terms.named.keys())
    return (
        words.select(
            "query",
            *roots,
            *scalars,
            *(term.alias(name) for name, term in needs.terms.named.items()),
        )
        .set_sorted("query")
        .group_by("query", maintain_order=True)
        .agg(
            *needs.terms.named,
            *(value.alias(name) for name, value in needs.aggregates.named.items()),
            *(pl.col(name).first() for name in scalars),
        )
    )
