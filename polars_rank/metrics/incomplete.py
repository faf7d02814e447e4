"""Incomplete judgments: metrics for lists in which some documents are unjudged."""

from __future__ import annotations

import polars as pl

from polars_rank.core.arguments import Cutoff, Rel
from polars_rank.core.expr import per
from polars_rank.core.metric.registry import metric
from polars_rank.core.words.ranking import Ranking
from polars_rank.metrics.binary import size

__all__ = ["bpref", "gm_bpref", "hole", "inf_ap", "judged", "unjudged"]

EPSILON = 1e-5


@metric(depends_on="judged", aliases={"Bpref": {}})
def bpref(r: Ranking, *, rel: Rel) -> pl.Expr:
    """Binary preference: relevant documents ranked above judged nonrelevant ones.

    ``1/R sum over relevant retrieved of 1 - min(n_above, R) / min(N, R)``; ``n_above``
    counts the judged nonrelevant documents above, ``N`` all that were judged
    nonrelevant. Unjudged documents and negative grades are ignored.

    Source: Buckley and Voorhees, SIGIR 2004; the bounds are those of trec_eval 8.
    Equal to: trec_eval ``bpref``, ir_measures ``Bpref``.
    Example: grades 1, 0, 1 in rank order: bpref = (1 + (1 - 1 / 1)) / 2.
    """
    relevant, nonrelevant = r.relevant(rel), r.nonrelevant(rel)
    most = r.broadcast(relevant.sum().cast(pl.Float64))
    others = r.broadcast(nonrelevant.sum().cast(pl.Float64))
    above = r.cached(nonrelevant.cum_sum().cast(pl.Float64))
    share = pl.min_horizontal(above, most) / pl.min_horizontal(others, most)
    preferred = pl.when(above > 0).then(1.0 - share).otherwise(1.0)
    hit = relevant & r.rank.is_not_null()
    return per(r.sum(pl.when(hit).then(preferred)), r.relevant_count(rel))


@metric(depends_on="judged", aggregate="geometric")
def gm_bpref(r: Ranking, *, rel: Rel) -> pl.Expr:
    """Binary preference for a geometric mean over queries.

    A query's value is ``log(max(bpref, 1e-5))``; over queries, ``exp`` of their mean.

    Source: Buckley and Voorhees, SIGIR 2004; Robertson, CIKM 2006 (the mean).
    Equal to: trec_eval ``gm_bpref``.
    Example: grades 1, 0, 1 in rank order: gm_bpref = log(1/2).
    """
    return bpref(r, rel=rel)


@metric(depends_on="judged", aliases={"infAP": {}})
def inf_ap(r: Ranking, *, rel: Rel) -> pl.Expr:
    """Inferred average precision: AP estimated from a sample of the pool.

    ``1/R sum over relevant ranks i of (1 + pool * p) / i`` where ``pool`` documents
    above are in the pool, and ``p = (rel + e) / (rel + nonrel + 2 e)`` of the judged
    ones among them, ``e = 1e-5``. A document with a negative grade is in the pool but
    was not judged; one without a grade is not in the pool.

    Source: Yilmaz and Aslam, CIKM 2006, eq. 1.
    Equal to: trec_eval ``infAP``, ir_measures ``infAP``.
    Example: grades 1, 0, -1, 1 in rank order: the second adds (1 + 3 * 1/2) / 4.
    """
    relevant = r.relevant(rel)
    pool = r.cached(r.label.is_not_null().cum_sum().cast(pl.Float64)) - 1.0
    above = r.cumulative_hits(rel) - 1.0
    others = r.cached(r.nonrelevant(rel).cum_sum().cast(pl.Float64))
    precision = (above + EPSILON) / (above + others + 2.0 * EPSILON)
    inferred = pl.when(relevant).then((1.0 + pool * precision) / r.rank)
    return per(r.sum(inferred), r.relevant_count(rel))


@metric(
    depends_on="judged", tie_mean=True, needs_relevant=False, aliases={"Judged": {}}
)
def judged(r: Ranking, *, k: Cutoff = None) -> pl.Expr:
    """Share of the retrieved documents among the first k that have a label.

    ``judged within k / min(k, n)``; 0 for a query with nothing retrieved.

    Undefined: never.
    Source: ir_measures ``Judged@k``.
    Equal to: ir_measures ``Judged@k``.
    Example: grades 1, unjudged in rank order: judged@5 = 1/2.
    """
    labeled = r.count(r.label.is_not_null(), k)
    return per(labeled, size("retrieved", r, k, 1)).fill_null(0.0)


@metric(
    depends_on="judged",
    tie_mean=True,
    needs_relevant=False,
    aliases={"unj": {}},
    better="lower",
)
def unjudged(r: Ranking, *, k: Cutoff = None) -> pl.Expr:
    """Share of the first k that is unjudged; short lists are padded as if judged.

    ``unjudged within k / k``; without a cutoff k is n. A negative grade is unjudged.

    Undefined: never; 0 for a query with nothing retrieved.
    Source: trec_eval ``unj``.
    Equal to: trec_eval 10 ``unj``.
    Example: grades 1, unjudged in rank order: unjudged@5 = 1/5.
    """
    judged = r.count((r.label >= 0).fill_null(value=False), k)
    others = size("retrieved", r, k, 1) - judged
    return per(others, size("k", r, k, 1)).fill_null(0.0)


@metric(depends_on="judged", tie_mean=True, needs_relevant=False, better="lower")
def hole(r: Ranking, *, k: Cutoff = None) -> pl.Expr:
    """Share of the first k that has no label; short lists are padded as if labeled.

    ``without a label within k / k``; without a cutoff k is n. Any label is one, also a
    negative grade, which ``unjudged`` takes for none. BEIR itself takes a document for
    labeled if any query has a label for it, and so counts fewer holes if queries share
    judged documents.

    Undefined: never; 0 for a query with nothing retrieved.
    Source: Thakur et al., NeurIPS 2021, "BEIR: A Heterogeneous Benchmark for Zero-shot
    Evaluation of Information Retrieval Models".
    Example: grades 1, unjudged, -1 in rank order: hole@5 = 1/5.
    """
    others = size("retrieved", r, k, 1) - r.count(r.label.is_not_null(), k)
    return per(others, size("k", r, k, 1)).fill_null(0.0)
