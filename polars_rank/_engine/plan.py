"""One lazy plan: rank, keep the rows that matter, share words, sum, one row a query."""

from __future__ import annotations

from typing import NamedTuple

import polars as pl

from polars_rank._engine.layout import (
    first_that_holds,
    one_run_each,
    proved,
    streamed,
    unpickled,
)
from polars_rank._engine.recorder import WORDS, Needs
from polars_rank._engine.stages.join import judged_rows, named, query_numbers
from polars_rank._engine.stages.rank import pack
from polars_rank._engine.stages.select import rows_that_matter
from polars_rank._engine.trace import Answer, Question, answer
from polars_rank.core.source import is_rereadable

__all__ = ["PerQuery", "claimed", "per_query_plan", "summed"]


class PerQuery(NamedTuple):
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


def per_query_plan(
    question: Question, log: pl.LazyFrame, qrels: pl.LazyFrame | None = None
) -> PerQuery:
    """Plan the values of every query of a log, or of a run and its judgments."""
    asked = answer(question)
    if qrels is not None:
        pool = qrels.cache()  # read for the numbers and for the labels
        numbers = query_numbers(question, pool)
        rows = judged_rows(question, asked, log, pool, numbers)
        plan = summed(question, asked, rows)
        return claimed(question, plan._replace(frame=named(plan.frame, numbers)), log)
    plan = summed(question, asked, rows_that_matter(question, asked, log))
    sorts = question.grouping == "sort" and question.key != "rank"
    if sorts and is_rereadable(log):
        return plan._replace(frame=_sorted_sooner(question, plan.frame, log))
    return claimed(question, plan, log)


def _sorted_sooner(
    question: Question, plan: pl.LazyFrame, log: pl.LazyFrame
) -> pl.LazyFrame:
    """The same values, from a log whose queries are sorted by something cheaper.

    Ids of 64 bits by 32, if all of them fit: nine tenths of the time. Text, or several
    columns, by a hash: a quarter of the time of the sort. Should two queries have one
    hash, their rows may be mixed; the proof finds out.
    """
    keys = list(question.log.keys)
    key, schema = keys[0], log.collect_schema()
    if len(keys) == 1 and schema[key] in (pl.Int64, pl.UInt64):
        claim = "query ids fit into 32 bits"
        near = log.with_columns(pl.col(key).cast(pl.Int32))
        rows = per_query_plan(question, near).frame
        rows = rows.with_columns(pl.col("query").cast(schema[key]))
    elif len(keys) == 1 and (schema[key].is_integer() or schema[key].is_temporal()):
        return plan
    else:
        claim = "no two queries have one hash"
        near = log.sort(_hash(keys), maintain_order=True)
        rows = per_query_plan(question._replace(grouping="contiguous"), near).frame
        rows = rows.sort("query")
    found = first_that_holds(
        lambda: rows, plan, claim=claim, otherwise="sorting them as they are", reads=[]
    )
    return unpickled(found)


def _hash(keys: list[str]) -> pl.Expr:
    return (pl.struct(keys) if len(keys) > 1 else pl.col(keys)).hash()


def summed(question: Question, asked: Answer, rows: pl.LazyFrame) -> PerQuery:
    """Values of every query from the rows that matter to them."""
    needs, scalars = asked.needs, [*asked.scalars, *asked.judgments]
    pooled = []
    if question.qrels is not None:
        pooled = ["retrieved", "judged"]
        if question.grouping == "contiguous":
            pooled.append("runs")
            scalars.append("runs")
    words = _words(rows, needs, scalars)
    sums = _sums(words, needs, scalars)
    counts = {f"fault{i}": fault for i, fault in enumerate(asked.faults)}
    frame = sums.select(
        "query",
        *question.carry,
        *pooled,
        *(expr.cast(pl.Float64).alias(f"m{i}") for i, expr in enumerate(asked.values)),
        *(fault.count.alias(name) for name, fault in counts.items()),
    )
    return PerQuery(
        frame,
        {name: fault.message for name, fault in counts.items()},
        frozenset(name for name, fault in counts.items() if fault.refusal),
    )


def claimed(question: Question, plan: PerQuery, log: pl.LazyFrame) -> PerQuery:
    """The same; where rows are said to stand together, with the proof of it."""
    if question.grouping != "contiguous":
        return plan
    if question.qrels is not None:
        return plan._replace(frame=streamed(one_run_each(plan.frame).drop("runs")))
    return plan._replace(frame=proved(plan.frame, pack(log, question.log.keys)))


def _words(rows: pl.LazyFrame, needs: Needs, scalars: list[str]) -> pl.LazyFrame:
    """Add the words that look at neighbouring documents, level by level."""
    floats = ["label", *(["score"] if "score" in needs.columns else [])]
    rows = rows.with_columns(pl.col(floats).cast(pl.Float64))
    have = [w for w in WORDS if w in needs.columns | {"label"}]
    constants, once = needs.constants.named, list(scalars)
    for level, words in enumerate(needs.word_levels):
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
