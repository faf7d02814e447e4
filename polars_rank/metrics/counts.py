"""Counts, summed over queries, and the utility of a retrieved set."""

from __future__ import annotations

from typing import Annotated

import polars as pl

from polars_rank.core.arguments import OptionalRel, Rel
from polars_rank.core.metric.registry import POSITIVE, UNBOUNDED, metric
from polars_rank.core.parameters import Doc
from polars_rank.core.words.ranking import Ranking

__all__ = [
    "num_nonrel_judged_ret",
    "num_q",
    "num_rel",
    "num_rel_ret",
    "num_ret",
    "utility",
]


@metric(
    depends_on="relevant",
    needs_relevant=False,
    tie_sensitive=False,
    aggregate="sum",
    aliases={"NumQ": {}},
    bounds=POSITIVE,
)
def num_q(r: Ranking) -> pl.Expr:
    """Number of queries: 1 for each, summed.

    Undefined: never.
    Source: trec_eval ``num_q``.
    Equal to: trec_eval ``num_q``, ir_measures ``NumQ``.
    Example: any list: num_q = 1.
    """
    return pl.lit(1.0)


@metric(
    depends_on="relevant",
    needs_relevant=False,
    tie_sensitive=False,
    aggregate="sum",
    aliases={"NumRet": {}},
    bounds=POSITIVE,
)
def num_ret(
    r: Ranking,
    *,
    rel: Annotated[
        OptionalRel,
        Doc("lowest grade that is counted", {None: "all retrieved documents count"}),
    ] = None,
) -> pl.Expr:
    """Number of retrieved documents, summed over queries; with rel, relevant ones.

    With ``rel``, only documents with ``label >= rel`` count.

    Undefined: never.
    Source: trec_eval ``num_ret`` and ``num_rel_ret``.
    Equal to: trec_eval ``num_ret``, ir_measures ``NumRet``; with ``rel`` ir_measures
    ``NumRet(rel)``.
    Example: grades 1, 0 in rank order: num_ret = 2, num_ret(rel=1) = 1.
    """
    return r.retrieved_count() if rel is None else r.hits_at(rel=rel)


@metric(
    depends_on="relevant",
    needs_relevant=False,
    tie_sensitive=False,
    aggregate="sum",
    aliases={"NumRel": {}},
    bounds=POSITIVE,
)
def num_rel(r: Ranking, *, rel: Rel) -> pl.Expr:
    """Number of relevant documents, retrieved or not, summed over queries.

    Undefined: never.
    Source: trec_eval ``num_rel``.
    Equal to: trec_eval ``num_rel``, ir_measures ``NumRel``. In its sum over queries
    trec_eval 10 with ``-c`` counts grades above 0, whatever the level.
    Example: grades 1, 0 in rank order: num_rel = 1.
    """
    return r.relevant_count(rel)


@metric(
    depends_on="relevant",
    needs_relevant=False,
    tie_sensitive=False,
    aggregate="sum",
    bounds=POSITIVE,
)
def num_rel_ret(r: Ranking, *, rel: Rel) -> pl.Expr:
    """Number of relevant documents that were retrieved, summed over queries.

    Undefined: never.
    Source: trec_eval ``num_rel_ret``.
    Equal to: trec_eval ``num_rel_ret``.
    Example: grades 1, 0, 2 in rank order: num_rel_ret = 2.
    """
    return r.hits_at(rel=rel)


@metric(
    depends_on="judged",
    needs_relevant=False,
    tie_sensitive=False,
    aggregate="sum",
    bounds=POSITIVE,
)
def num_nonrel_judged_ret(r: Ranking, *, rel: Rel) -> pl.Expr:
    """Number of retrieved documents that were judged not relevant, summed.

    Undefined: never.
    Source: trec_eval ``num_nonrel_judged_ret``.
    Equal to: trec_eval ``num_nonrel_judged_ret``.
    Example: grades 1, 0, unjudged in rank order: num_nonrel_judged_ret = 1.
    """
    return r.count(r.nonrelevant(rel))


@metric(
    depends_on="relevant",
    needs_relevant=False,
    tie_sensitive=False,
    suffix=("tp", "fp", "fn", "tn"),
    bounds=UNBOUNDED,
)
def utility(
    r: Ranking,
    *,
    rel: Rel,
    tp: Annotated[float, Doc("weight of a relevant document that was retrieved")] = 1.0,
    fp: Annotated[float, Doc("weight of another document that was retrieved")] = -1.0,
    fn: Annotated[
        float, Doc("weight of a relevant document that was not retrieved")
    ] = 0.0,
    tn: Annotated[
        float, Doc("weight of another document that was not retrieved")
    ] = 0.0,
    collection: Annotated[float, Doc("number of documents in the collection")] = 0,
) -> pl.Expr:
    """Utility of the retrieved set: a weighted sum of its contingency table.

    ``tp * a + fp * b + fn * c + tn * d`` where, of the retrieved documents, a are
    relevant and b are not; of the others, c are relevant and d are not. ``collection``
    is the number of all documents.

    Undefined: never.
    Source: Hull, TREC-7 filtering track, 1998 (linear utility).
    Equal to: trec_eval ``utility`` (``-N`` is ``collection``).
    Example: grades 1, 0, 0 in rank order: utility = 1 - 2.
    """
    hits, retrieved = r.hits_at(rel=rel), r.retrieved_count()
    misses = r.relevant_count(rel) - hits
    outside = collection - retrieved - misses
    value = tp * hits + fp * (retrieved - hits)
    return value + fn * misses + tn * outside
