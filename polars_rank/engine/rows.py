"""The rows that can change a value: ranked, joined with judgments; no others."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from polars_rank.engine.ask import Answer, Question
from polars_rank.engine.rank import Ranked, in_rank_order, pack, rank_by, unpack
from polars_rank.engine.shared import WORDS, Needs

__all__ = ["rows_that_matter"]


def rows_that_matter(
    question: Question, answer: Answer, log: pl.LazyFrame, qrels: pl.LazyFrame | None
) -> pl.LazyFrame:
    """Documents in rank order that can change a value, and one row for each query."""
    keys, needs, scalars = question.log.keys, answer.needs, answer.scalars
    known = question.key == "rank" and needs.rows != "all"
    if known and question.grouping != "adjacent":
        return _placed(question, answer, log, qrels)
    ranked = _ranked(question, answer, log, qrels)
    if qrels is None:
        rows = ranked.documents(scalars)
        if needs.rows == "all":
            return rows
        return rows.filter(_matters(needs) | (pl.col("place") == 1))
    on, payload = [*keys, "doc"], _payload(needs)
    if needs.rows == "all":
        rows = unpack(ranked.documents(scalars), keys)
        rows = rows.with_columns(head=pl.col("place") == 1).drop("place")
        rows = rows.join(qrels, on=on, how="full", coalesce=True)
        return in_rank_order(pack(rows, keys), payload, scalars)
    ranked = replace(ranked, queries=ranked.queries.cache())  # read twice below
    rows = unpack(ranked.documents(), keys).drop("place")
    rows = rows.join(qrels, on=on, how="right", coalesce=True)
    rows = _with_heads(pack(rows, keys), ranked.heads(scalars))
    return in_rank_order(rows, payload, scalars)


def _placed(
    question: Question, answer: Answer, log: pl.LazyFrame, qrels: pl.LazyFrame | None
) -> pl.LazyFrame:
    """The same where ranks are known: no sort of the log's rows."""
    keys, needs = question.log.keys, answer.needs
    payload, log = _payload(needs), log.cache()  # read twice below
    rank = pl.col("rank").cast(pl.Float64)
    if question.depth is not None:
        rank = pl.when(rank <= question.depth).then(rank)
    documents = log.with_columns(rank)
    if qrels is None:
        documents = documents.filter(_matters(needs))
        payload = [name for name in payload if name != "doc"]
    else:
        on = [*keys, "doc"]
        documents = documents.join(qrels, on=on, how="right", coalesce=True)
    documents = documents.select(*keys, *payload, "rank")
    queries = pack(log, keys).group_by("query")
    heads = queries.agg(head=pl.lit(value=True), **answer.scalars)
    rows = _with_heads(pack(documents, keys), heads)
    return in_rank_order(rows, payload, answer.scalars)


def _with_heads(documents: pl.LazyFrame, heads: pl.LazyFrame) -> pl.LazyFrame:
    """Documents, and each query's scalars in a row that is no document."""
    return pl.concat([documents, heads], how="diagonal_relaxed")


def _payload(needs: Needs) -> list[str]:
    """What a judged document carries beside its rank."""
    words = (w for w in WORDS if w in needs.columns | {"label"})
    return ["doc", *(w for w in words if w != "rank")]


def _matters(needs: Needs) -> pl.Expr:
    label = pl.col("label")
    return label > 0 if needs.rows == "relevant" else label.is_not_null()


def _ranked(
    question: Question, answer: Answer, log: pl.LazyFrame, qrels: pl.LazyFrame | None
) -> Ranked:
    """Every document of the log, ranked within its query."""
    keys, frame = question.log.keys, log
    if qrels is not None and (
        question.key == "order" or question.ties in ("optimistic", "pessimistic")
    ):
        on = [*keys, "doc"]
        frame = frame.join(qrels, on=on, how="left", maintain_order="left")
    frame = pack(frame, keys)
    if question.key == "order":
        frame = _closed_up(question, frame)
    payload = {"doc"} if qrels is not None else {"label"}
    if "score" in answer.needs.columns:
        payload.add("score")
    ranked = rank_by(
        question.key,
        frame,
        sorted(payload),
        descending=not question.log.ranked,
        ties=question.ties,
        scalars=answer.scalars,
        grouping=question.grouping,
    )
    return ranked if question.key == "order" else replace(ranked, depth=question.depth)


def _closed_up(question: Question, frame: pl.LazyFrame) -> pl.LazyFrame:
    """``order``: score or rank of the judged documents, of those above the depth."""
    place = "rank" if question.log.ranked else "score"
    holds = pl.col("label") >= 0
    if question.depth is not None:
        if not question.log.ranked:
            frame = _with_place(question, frame)
        rank = pl.col("rank" if question.log.ranked else "place")
        holds &= rank <= question.depth
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
    return ranked.documents().drop("rank")
