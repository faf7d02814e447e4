"""Join a run and its judgments: every judged document at its rank in the run.

The queries of the judgments are numbered: a query id may be text, or several columns,
and a number is cheaper to sort and to join by.
"""

from __future__ import annotations

import polars as pl

from polars_rank._engine.stages.rank import pack, regroup_by_rank, unpack
from polars_rank._engine.stages.select import (
    document_columns,
    rank_documents,
    ranks_within_limit,
    skips_ranking,
)
from polars_rank._engine.stages.sum import Plan, sum_terms
from polars_rank._engine.trace import PlanKey, Trace, trace_measures
from polars_rank.measures.measure import Custom


def sum_judged(
    key: PlanKey, run: pl.LazyFrame, qrels: pl.LazyFrame, listed: pl.LazyFrame | None
) -> Plan:
    """Compute the values of every judged query, and of those that are ``listed``."""
    trace = trace_measures(key)
    qrels = qrels.cache()  # read for the numbers and for the labels
    numbers = number_queries(key, qrels, listed)
    rows = join_qrels(key, trace, run, qrels, numbers, doc=key.contributions)
    plan = sum_terms(key, trace, rows)
    return plan._replace(frame=restore_query_keys(plan.frame, numbers))


def number_queries(
    key: PlanKey, qrels: pl.LazyFrame, listed: pl.LazyFrame | None
) -> pl.LazyFrame:
    """Number the judged or listed queries: one row each, key columns and ``query``.

    Numbers ascend as the keys do.
    """
    keys = key.run.keys
    named = qrels.select(keys)
    if listed is not None:
        named = pl.concat([named, listed.select(keys)])
    return named.unique().sort(keys).with_row_index("query").cache()


def restore_query_keys(frame: pl.LazyFrame, numbers: pl.LazyFrame) -> pl.LazyFrame:
    """Return the same, with the keys as ``query`` in place of the number."""
    keys = [name for name in numbers.collect_schema() if name != "query"]
    rows = frame.join(numbers, on="query", how="left", maintain_order="left")
    return pack(rows.drop("query"), keys)


def join_qrels(
    key: PlanKey,
    trace: Trace,
    log: pl.LazyFrame,
    qrels: pl.LazyFrame,
    numbers: pl.LazyFrame,
    *,
    doc: bool = False,
) -> pl.LazyFrame:
    """Return documents in rank order that can change a value, and a row per query.

    ``query`` is the number. All rows of a query repeat its scalars, those of the run
    and those of the judgments. ``doc`` says whether to keep ids.
    """
    judged = qrels.join(numbers, on=key.run.keys, nulls_equal=True).cache()
    matter = judged.filter(trace.recorder.matter)
    if skips_ranking(key, trace):
        documents, queries = _rows_of_known_rank(key, trace, log, matter, numbers)
    else:
        documents, queries = _rows_to_rank(key, trace, log, qrels, matter, numbers)
    heads = queries.select("query", *trace.run_scalars, head=pl.lit(value=True))
    pools = judged.group_by("query").agg(
        **trace.qrels_scalars, head=pl.lit(value=False)
    )
    rows = pl.union([documents, heads, pools], how="diagonal_relaxed")
    words = [*document_columns(trace.recorder), *(["doc"] if doc else [])]
    return regroup_by_rank(
        rows,
        words,
        [*trace.run_scalars, *trace.qrels_scalars],
        settled=key.contributions or any(isinstance(m, Custom) for m in key.measures),
    )


def _rows_of_known_rank(
    key: PlanKey,
    trace: Trace,
    log: pl.LazyFrame,
    matter: pl.LazyFrame,
    numbers: pl.LazyFrame,
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Return judged documents with known ranks, and queries: the run is not sorted."""
    keys, log = key.run.keys, log.cache()  # read twice below
    documents = log.with_columns(ranks_within_limit(key)).join(
        matter, on=[*keys, "doc"], how="right"
    )
    queries = log.group_by(keys).agg(**trace.run_scalars)
    documents = documents.select("query", "doc", "label", "rank")
    return documents, _number(queries, numbers)


def _rows_to_rank(
    key: PlanKey,
    trace: Trace,
    log: pl.LazyFrame,
    qrels: pl.LazyFrame,
    matter: pl.LazyFrame,
    numbers: pl.LazyFrame,
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Return judged documents with the ranks they are given, and the queries."""
    keys = key.run.keys
    if key.ordered_by == "order" or key.ties in ("optimistic", "pessimistic"):
        on = [*keys, "doc"]
        log = log.join(qrels, on=on, how="left", maintain_order="left")
    if key.grouping == "contiguous":
        ranked = rank_documents(key, trace, pack(log, keys))
        queries = _number(unpack(ranked.queries, keys), numbers)
    else:
        steady = key.ties not in ("doc_desc", "doc_asc")
        log = _number(log, numbers, steady=steady)
        ranked = rank_documents(key, trace, log)
        queries = ranked.queries
    queries = queries.cache()  # read twice, here and by the caller
    documents = ranked._replace(queries=queries).documents()
    documents = documents.drop("place", "label", strict=False).join(
        matter.select("query", "doc", "label"),
        on=["query", "doc"],
        how="full" if trace.recorder.rows == "all" else "right",
        coalesce=True,
        build_side="force_right",  # else rows of the run are held to choose a side
    )
    return documents, queries


def _number(
    frame: pl.LazyFrame, numbers: pl.LazyFrame, *, steady: bool = False
) -> pl.LazyFrame:
    """Return the rows of judged queries, and those with a null query (an error)."""
    keys = [name for name in numbers.collect_schema() if name != "query"]
    rows = frame.join(
        numbers,
        on=keys,
        how="left",
        nulls_equal=True,
        maintain_order="left" if steady else "none",
        build_side="force_right",  # the queries, which are fewer than the rows
    )
    nameless = pl.any_horizontal(pl.col(keys).is_null())
    return rows.filter(pl.col("query").is_not_null() | nameless).drop(keys)
