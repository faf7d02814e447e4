"""The rows of a log that can change a value, in rank order; no others."""

from __future__ import annotations

import polars as pl

from polars_rank._engine.layout import glanced_at
from polars_rank._engine.recorder import WORDS, Needs
from polars_rank._engine.stages.rank import (
    DocTies,
    Ranked,
    in_rank_order,
    pack,
    rank_by,
)
from polars_rank._engine.trace import Answer, Question

__all__ = ["held_ranks", "is_placed", "rank_documents", "rows_that_matter", "words_of"]


def rows_that_matter(
    question: Question, answer: Answer, log: pl.LazyFrame
) -> pl.LazyFrame:
    """Documents in rank order that can change a value, and one row for each query."""
    needs = answer.needs
    if is_placed(question, answer):
        return _placed(question, answer, log)
    frame = pack(log, question.log.keys)
    rows = rank_documents(question, answer, frame).documents(answer.scalars)
    if needs.rows != "all":
        rows = rows.filter(needs.matter | (pl.col("place") == 1))
    return rows.set_sorted("query")


def is_placed(question: Question, answer: Answer) -> bool:
    """Whether ranks are known and few rows are needed: then no row need be sorted."""
    known = question.key == "rank" and question.grouping != "contiguous"
    return known and answer.needs.rows != "all"


def _placed(question: Question, answer: Answer, log: pl.LazyFrame) -> pl.LazyFrame:
    """The same where ranks are known: no sort of the log's rows."""
    log = pack(log, question.log.keys).cache()  # read twice below
    rank, words = held_ranks(question), words_of(answer.needs)
    documents = log.filter(answer.needs.matter).select("query", *words, rank)
    head = pl.lit(value=True)
    heads = log.group_by("query").agg(head=head, **answer.scalars)
    rows = pl.concat([documents, heads], how="diagonal_relaxed")
    return in_rank_order(rows, words, answer.scalars)


def held_ranks(question: Question) -> pl.Expr:
    """The known ranks above the max_rank."""
    rank = pl.col("rank").cast(pl.Float64)
    if question.max_rank is None:
        return rank
    return pl.when(rank <= question.max_rank).then(rank)


def words_of(needs: Needs) -> list[str]:
    """What a document carries beside its rank."""
    read = needs.columns | {"label"}
    return [word for word in WORDS if word in read and word != "rank"]


def rank_documents(question: Question, answer: Answer, frame: pl.LazyFrame) -> Ranked:
    """Every document of the log, ranked within its ``query``.

    With judgments the labels are not known yet, unless the order asks for them.
    """
    joined = question.qrels is not None
    payload = {"doc"} if joined else {"label"}
    if "score" in answer.needs.columns:
        payload.add("score")
    ties = question.ties
    late: DocTies | None = None
    if joined and question.key == "score" and ties in ("doc_desc", "doc_asc"):
        late = ties
    if question.guess:
        frame = glanced_at(frame)
    if question.key == "order":
        frame = _closed_up(question, frame)
    ranked = rank_by(
        question.key,
        frame,
        sorted(payload | ({"score"} if late else set())),
        descending=not question.log.ranked,
        ties="order" if late else ties,
        scalars=answer.scalars,
        grouping=question.grouping,
    )
    max_rank = None if question.key == "order" else question.max_rank
    return ranked._replace(ties=late, max_rank=max_rank)


def _closed_up(question: Question, frame: pl.LazyFrame) -> pl.LazyFrame:
    """``order``: score or rank of the judged documents, of those above the max_rank."""
    place = "rank" if question.log.ranked else "score"
    holds = pl.col("label") >= 0
    if question.max_rank is not None:
        if not question.log.ranked:
            frame = _with_place(question, frame)
        rank = pl.col("rank" if question.log.ranked else "place")
        holds &= rank <= question.max_rank
    return frame.with_columns(order=pl.when(holds).then(pl.col(place)))


def _with_place(question: Question, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Add the place among all documents: a ranking before the ranking."""
    ranked = rank_by(
        "score",
        frame,
        [name for name in frame.collect_schema() if name != "query"],
        descending=True,
        ties=question.ties,
        scalars={},
        grouping=question.grouping,
    )
    return ranked.documents().drop("rank").set_sorted("query")
