"""A run and its judgments: every judged document at the place that the run gave it.

The queries are those of the judgments, and have numbers: a query id may be text, or
several columns, and a number is cheaper to sort and to join by.
"""

from __future__ import annotations

import polars as pl

from polars_rank._engine.stages.rank import in_rank_order, pack, unpack
from polars_rank._engine.stages.select import (
    held_ranks,
    is_placed,
    rank_documents,
    words_of,
)
from polars_rank._engine.trace import Answer, Question
from polars_rank.measures.measure import Custom

__all__ = ["judged_rows", "named", "query_numbers"]


def query_numbers(question: Question, qrels: pl.LazyFrame) -> pl.LazyFrame:
    """One row a judged query: its key columns, and ``query``, its number.

    Numbers ascend as the keys do.
    """
    keys = question.log.keys
    return qrels.select(keys).unique().sort(keys).with_row_index("query").cache()


def named(frame: pl.LazyFrame, numbers: pl.LazyFrame) -> pl.LazyFrame:
    """The same with the keys, as ``query``, in place of its number."""
    keys = [name for name in numbers.collect_schema() if name != "query"]
    rows = frame.join(numbers, on="query", how="left", maintain_order="left")
    return pack(rows.drop("query"), keys)


def judged_rows(
    question: Question,
    answer: Answer,
    log: pl.LazyFrame,
    qrels: pl.LazyFrame,
    numbers: pl.LazyFrame,
    *,
    doc: bool = False,
) -> pl.LazyFrame:
    """Documents in rank order that can change a value, and one row for each query.

    ``query`` is its number. All rows of a query repeat what is known of it: the
    scalars of the run, and those of the judgments. ``doc`` says whether to keep ids.
    """
    judged = qrels.join(numbers, on=question.log.keys, nulls_equal=True).cache()
    matter = judged.filter(answer.needs.matter)
    if is_placed(question, answer):
        documents, queries = _placed(question, answer, log, matter, numbers)
    else:
        documents, queries = _ranked(question, answer, log, qrels, matter, numbers)
    heads = queries.select("query", *answer.scalars, head=pl.lit(value=True))
    pools = judged.group_by("query").agg(**answer.judgments, head=pl.lit(value=False))
    rows = pl.union([documents, heads, pools], how="diagonal_relaxed")
    words = [*words_of(answer.needs), *(["doc"] if doc else [])]
    return in_rank_order(
        rows,
        words,
        [*answer.scalars, *answer.judgments],
        settled=any(isinstance(m, Custom) for m in question.measures),
    )


def _placed(
    question: Question,
    answer: Answer,
    log: pl.LazyFrame,
    matter: pl.LazyFrame,
    numbers: pl.LazyFrame,
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Judged documents with known ranks, and the queries: no sort of the run's rows."""
    keys, log = question.log.keys, log.cache()  # read twice below
    documents = log.with_columns(held_ranks(question)).join(
        matter, on=[*keys, "doc"], how="right"
    )
    queries = log.group_by(keys).agg(**answer.scalars)
    documents = documents.select("query", "doc", "label", "rank")
    return documents, _numbered(queries, numbers)


def _ranked(
    question: Question,
    answer: Answer,
    log: pl.LazyFrame,
    qrels: pl.LazyFrame,
    matter: pl.LazyFrame,
    numbers: pl.LazyFrame,
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Judged documents with the ranks they are given, and the queries."""
    keys = question.log.keys
    if question.key == "order" or question.ties in ("optimistic", "pessimistic"):
        on = [*keys, "doc"]
        log = log.join(qrels, on=on, how="left", maintain_order="left")
    if question.grouping == "contiguous":
        ranked = rank_documents(question, answer, pack(log, keys))
        queries = _numbered(unpack(ranked.queries, keys), numbers)
    else:
        steady = question.ties not in ("doc_desc", "doc_asc")
        log = _numbered(log, numbers, steady=steady)
        ranked = rank_documents(question, answer, log)
        queries = ranked.queries
    queries = queries.cache()  # read twice, here and by the caller
    documents = ranked._replace(queries=queries).documents()
    documents = documents.drop("place", "label", strict=False).join(
        matter.select("query", "doc", "label"),
        on=["query", "doc"],
        how="full" if answer.needs.rows == "all" else "right",
        coalesce=True,
    )
    return documents, queries


def _numbered(
    frame: pl.LazyFrame, numbers: pl.LazyFrame, *, steady: bool = False
) -> pl.LazyFrame:
    """The rows of judged queries, and those without a query: they are an error."""
    keys = [name for name in numbers.collect_schema() if name != "query"]
    rows = frame.join(
        numbers,
        on=keys,
        how="left",
        nulls_equal=True,
        maintain_order="left" if steady else "none",
    )
    nameless = pl.any_horizontal(pl.col(keys).is_null())
    return rows.filter(pl.col("query").is_not_null() | nameless).drop(keys)
