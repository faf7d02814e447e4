"""Join a run and its judgments: every judged document at its rank in the run.

The queries of the judgments are numbered: a query id may be text, or several columns,
and a number is cheaper to sort and to join by.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import polars as pl

from polars_rank._engine.request import BY_GRADE, Beside
from polars_rank._engine.stages.rank import LISTED, grouped_by_rank, pack, unpack
from polars_rank._engine.stages.select import (
    document_columns,
    rank_documents,
    ranks_within_limit,
    skips_ranking,
)
from polars_rank._engine.stages.sum import Plan, sum_terms
from polars_rank._engine.tracing.shares import OTHERS, Shares
from polars_rank._engine.tracing.trace import PlanKey, Trace, trace_measures
from polars_rank.measures.measure import Custom

How: TypeAlias = Literal["full", "right"]


class Joined(NamedTuple):
    """The documents that can change a value, and others that are to be listed.

    ``rows`` are the former in rank order, and a row per query. ``query`` is the number.
    ``lists`` are the first documents of each query, if anybody needs them.
    """

    rows: pl.LazyFrame
    others: pl.LazyFrame | None = None
    lists: pl.LazyFrame | None = None


def sum_judged(
    key: PlanKey,
    run: pl.LazyFrame,
    qrels: pl.LazyFrame,
    listed: pl.LazyFrame | None,
    beside: Beside | None = None,
) -> Plan:
    """Compute the values of every judged query, and of those that are ``listed``.

    Documents ``beside`` those that can change a value are listed apart.
    """
    trace = trace_measures(key)
    qrels = qrels.cache()  # read for the numbers and for the labels
    numbers = number_queries(key, qrels, listed)
    doc = key.contributions or key.relevant_items
    joined = join_qrels(key, trace, run, qrels, numbers, doc=doc, beside=beside)
    plan = sum_terms(key, trace, joined.rows)
    if trace.shares is not None and joined.others is not None:
        frame = _with_others(plan.frame, joined.others, trace.shares)
        plan = plan._replace(frame=frame)
    if joined.lists is not None:
        frame = plan.frame.join(
            joined.lists, on="query", how="left", maintain_order="left"
        )
        plan = plan._replace(frame=frame)
    return plan._replace(frame=restore_query_keys(plan.frame, numbers))


def _with_others(
    queries: pl.LazyFrame, others: pl.LazyFrame, shares: Shares
) -> pl.LazyFrame:
    """Add a list of the documents that change no value: each of their terms is 0."""
    terms = {name: pl.lit(0.0) for name in shares.terms}
    label = pl.col("label").cast(pl.Float64)
    document = shares.document(others.collect_schema())
    added = (
        others.with_columns(label, **terms)
        .group_by("query")
        .agg(shares.documents(document).alias(OTHERS))
    )
    return queries.join(added, on="query", how="left")


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
    beside: Beside | None = None,
) -> Joined:
    """Return documents that can change a value, and those ``beside`` them.

    All rows of a query repeat its scalars, those of the run and those of the judgments.
    ``doc`` says whether to keep ids.
    """
    judged = qrels.join(numbers, on=key.run.keys, nulls_equal=True).cache()
    if beside is None or trace.recorder.rows == "all":
        beside, matter = None, judged.filter(trace.recorder.matter)
    else:
        matter = _with_beside(trace, judged, beside, numbers)
    how: How = "right"
    if isinstance(beside, str) or trace.recorder.rows == "all":
        how = "full"
    if skips_ranking(key, trace):
        documents, queries = _rows_of_known_rank(key, trace, log, matter, numbers, how)
    else:
        documents, queries = _rows_to_rank(key, trace, log, qrels, matter, numbers, how)
    others = None
    if beside is not None:
        documents = documents.cache()  # read twice
        aside = pl.col("aside").fill_null(value=True)
        found = pl.col("rank").is_not_null() | pl.col("label").is_not_null()
        others = documents.filter(aside, found).drop("aside")
        documents = documents.filter(~aside).drop("aside")
    heads = queries.select_seq("query", *trace.run_scalars, head=pl.lit(value=True))
    pools = judged.group_by("query").agg(
        **trace.qrels_scalars, head=pl.lit(value=False)
    )
    rows = pl.union([documents, heads, pools], how="diagonal_relaxed")
    words = [*document_columns(trace.recorder), *(["doc"] if doc else [])]
    words += ["label"] if key.list_depth and "label" not in words else []
    listed = key.contributions and not key.beside  # in this order
    listed |= key.relevant_items
    settled = listed or any(isinstance(m, Custom) for m in key.measures)
    scalars = [*trace.run_scalars, *trace.qrels_scalars]
    grouped = grouped_by_rank(rows, words, scalars, settled=settled)
    rows = grouped.documents([*scalars, "runs"]).set_sorted("query")
    if not key.list_depth:
        return Joined(rows, others)
    return Joined(rows, others, queries.select("query", LISTED))


def _with_beside(
    trace: Trace, judged: pl.LazyFrame, beside: Beside, numbers: pl.LazyFrame
) -> pl.LazyFrame:
    """Return judgments that matter and documents beside them, which are ``aside``."""
    on, matters = ["query", "doc"], trace.recorder.matter.fill_null(value=False)
    judged = judged.select_seq(*on, "label")
    if isinstance(beside, str):
        return judged.with_columns(aside=~matters)
    numbered = _number(beside, numbers).select(on)
    labeled = numbered.join(judged, on=on, how="left")
    return pl.concat(
        [
            judged.filter(matters).with_columns(aside=pl.lit(value=False)),
            labeled.filter(~matters).with_columns(aside=pl.lit(value=True)),
        ]
    )


def _rows_of_known_rank(
    key: PlanKey,
    trace: Trace,
    log: pl.LazyFrame,
    matter: pl.LazyFrame,
    numbers: pl.LazyFrame,
    how: How,
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Return judged documents with known ranks, and queries: the run is not sorted."""
    keys, log = key.run.keys, log.cache()  # read twice below
    rank = ranks_within_limit(key)
    listed = rank <= key.list_depth
    first = pl.struct("doc", rank).filter(listed).sort_by(rank.filter(listed))
    lists = {LISTED: first} if key.list_depth else {}
    queries = log.group_by(keys).agg(**trace.run_scalars, **lists)
    ranked, on = log.with_columns(rank), [*keys, "doc"]
    columns = ["query", "doc", "label", "rank"]
    if "aside" in matter.collect_schema():  # by number, like documents beside it
        ranked, on = _number(ranked, numbers), ["query", "doc"]
        matter = matter.select(*on, "label", "aside")
        columns.append("aside")
    documents = ranked.join(matter, on=on, how=how, coalesce=True)
    queries = _number(queries, numbers)
    return documents.select_seq(columns), queries.cache() if lists else queries


def _rows_to_rank(
    key: PlanKey,
    trace: Trace,
    log: pl.LazyFrame,
    qrels: pl.LazyFrame,
    matter: pl.LazyFrame,
    numbers: pl.LazyFrame,
    how: How,
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Return judged documents with the ranks they are given, and the queries."""
    keys = key.run.keys
    if key.ordered_by == "order" or key.ties in BY_GRADE:
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
    if key.list_depth:
        queries = queries.with_columns(ranked.first(key.list_depth))
    aside = ["aside"] if "aside" in matter.collect_schema() else []
    documents = documents.drop("place", "label", strict=False).join(
        matter.select_seq("query", "doc", "label", *aside),
        on=["query", "doc"],
        how=how,
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
