"""Keep only the rows of a log that can change a value, in rank order."""

from __future__ import annotations

import polars as pl

from polars_rank._engine.layout import reject_if_shuffled
from polars_rank._engine.stages.rank import (
    Ranked,
    pack,
    rank_rows,
    regroup_by_rank,
)
from polars_rank._engine.stages.ties import settle_ties
from polars_rank._engine.tracing.recorder import WORDS, Recorder
from polars_rank._engine.tracing.trace import PlanKey, Trace


def relevant_rows(key: PlanKey, trace: Trace, log: pl.LazyFrame) -> pl.LazyFrame:
    """Return documents in rank order that can change a value, and a row per query."""
    recorder = trace.recorder
    if skips_ranking(key, trace):
        return _rows_of_known_rank(key, trace, log)
    frame = pack(log, key.run.keys)
    rows = rank_documents(key, trace, frame).documents(trace.run_scalars)
    if recorder.rows != "all":
        rows = rows.filter(recorder.kept | (pl.col("place") == 1))
    return rows.set_sorted("query")


def skips_ranking(key: PlanKey, trace: Trace) -> bool:
    """Return whether known ranks and few needed rows make sorting unnecessary."""
    known = key.ordered_by == "rank" and key.grouping != "contiguous"
    return known and trace.recorder.rows != "all"


def _rows_of_known_rank(key: PlanKey, trace: Trace, log: pl.LazyFrame) -> pl.LazyFrame:
    """Return the same if ranks are known: the rows of the log are not sorted."""
    log = pack(log, key.run.keys).cache()  # read twice below
    rank, words = ranks_within_limit(key), document_columns(trace.recorder)
    words += ["doc"] if key.names_documents else []
    documents = log.filter(trace.recorder.kept).select("query", *words, rank)
    head = pl.lit(value=True)
    heads = log.group_by("query").agg(head=head, **trace.run_scalars)
    rows = pl.concat([documents, heads], how="diagonal_relaxed")
    return regroup_by_rank(rows, words, trace.run_scalars)


def ranks_within_limit(key: PlanKey) -> pl.Expr:
    """Return the known ranks up to ``max_rank``."""
    rank = pl.col("rank").cast(pl.Float64)
    if key.max_rank is None:
        return rank
    return pl.when(rank <= key.max_rank).then(rank)


def document_columns(recorder: Recorder) -> list[str]:
    """Return the columns of a document other than its rank."""
    read = recorder.columns | {"label"}
    return [word for word in WORDS if word in read and word != "rank"]


def rank_documents(key: PlanKey, trace: Trace, frame: pl.LazyFrame) -> Ranked:
    """Return every document of the log, ranked within its ``query``.

    With judgments, labels are not known yet, unless the order depends on them.
    """
    payload = {"label"} if key.qrels is None else {"doc"}
    if key.names_documents and "doc" in key.run.roles:
        payload.add("doc")
    if "score" in trace.recorder.columns:
        payload.add("score")
    if key.unclaimed:
        frame = reject_if_shuffled(frame)
    if trace.depth is not None:  # labels are counted before they are left out
        label = pl.col("label").cast(pl.Float64)
        read = {"label"} | (trace.recorder.counts.roots() & {"ideal_label"})
        frame = frame.with_columns_seq(label.alias(name) for name in sorted(read))
    if key.ordered_by == "order":
        frame = _condensed(key, frame)
    late, carried = key.late_ties, payload
    if late:
        carried = payload | ({"doc", "score"} if key.qrels is None else {"score"})
    ranked = rank_rows(
        key.ordered_by,
        frame,
        sorted(carried),
        descending="rank" not in key.run.roles,
        ties="order" if late else key.ties,
        by_doc=key.by_doc,
        scalars=trace.run_scalars,
        grouping=key.grouping,
        depth=trace.depth,
        ideal=trace.depth is not None and "ideal_label" in trace.recorder.columns,
    )
    if key.ordered_by != "order":
        ranked = ranked._replace(max_rank=key.max_rank)
    if late and key.qrels is None:
        queries = settle_ties(ranked.queries, sorted(payload), late)
        return ranked._replace(queries=queries, payload=sorted(payload))
    return ranked._replace(ties=late)


def _condensed(key: PlanKey, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Return ``order``: score or rank of judged documents, up to ``max_rank``."""
    place = "rank" if "rank" in key.run.roles else "score"
    holds = pl.col("label") >= 0
    if key.max_rank is not None:
        if "rank" not in key.run.roles:
            frame = _with_rank_among_all(key, frame)
        rank = pl.col("rank" if "rank" in key.run.roles else "place")
        holds &= rank <= key.max_rank
    return frame.with_columns(order=pl.when(holds).then(pl.col(place)))


def _with_rank_among_all(key: PlanKey, frame: pl.LazyFrame) -> pl.LazyFrame:
    """Add the place among all documents: a ranking before the ranking."""
    ranked = rank_rows(
        "score",
        frame,
        [name for name in frame.collect_schema() if name != "query"],
        descending=True,
        ties=key.ties,
        by_doc=key.by_doc,
        scalars={},
        grouping=key.grouping,
    )
    return ranked.documents().drop("rank").set_sorted("query")
