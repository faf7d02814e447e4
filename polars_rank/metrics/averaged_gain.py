"""Gain relative to the ideal order, averaged over ranks or levels of gain."""

from __future__ import annotations

import polars as pl

from polars_rank.core.arguments import OptionalRel, Rel
from polars_rank.core.expr import per, ratio
from polars_rank.core.metric.registry import metric
from polars_rank.core.weights import Gain, inverse
from polars_rank.core.words.ranking import Ranking
from polars_rank.metrics.gain import ndcg

__all__ = ["average_ndcg", "binary_g_measure", "g_measure", "r_ndcg"]

LOG2 = inverse("log2")


@metric(depends_on="relevant", aliases={"ndcg_rel": {}})
def average_ndcg(r: Ranking, *, gain: Gain, rel: OptionalRel = None) -> pl.Expr:
    """Mean of the nDCG at the rank of each document with a positive gain.

    For a document that was not retrieved, the nDCG of the whole list counts.

    Source: Jarvelin and Kekalainen, TOIS 2002; averaged by trec_eval ``ndcg_rel``.
    Equal to: trec_eval ``ndcg_rel``.
    Example: grades 0, 1 in rank order: average_ndcg = 1 / log2(3).
    """
    gains = r.gain(gain, rel)
    dcg = r.cached((gains * r.rank_weight(LOG2)).cum_sum())
    best = r.cached((r.ideal_gain(gain, rel) * r.ideal.rank_weight(LOG2)).cum_sum())
    counted = gains > 0
    retrieved = r.sum(pl.when(counted).then(dcg / r.lookup_at_rank(best)))
    missed = r.sum(counted & r.rank.is_null())
    return ratio(retrieved + missed * _ndcg(r, gain, rel), r.sum(counted))


@metric(depends_on="relevant", aliases={"Rndcg": {}})
def r_ndcg(r: Ranking, *, gain: Gain, rel: OptionalRel = None) -> pl.Expr:
    """Mean of the nDCG at the ranks where the gain of the ideal order drops.

    With five documents of grade 3 and two of grade 1, the mean of ndcg@5 and ndcg@7;
    if the list is longer than 7 by two or more, ndcg of the whole list is included.

    Source: Jarvelin and Kekalainen, TOIS 2002; averaged by trec_eval ``Rndcg``.
    Equal to: trec_eval ``Rndcg``.
    Example: grades 0, 2, 1 in rank order: the mean of ndcg@1 = 0 and ndcg@2.
    """
    gains, best = r.gain(gain, rel), r.ideal_gain(gain, rel)
    ideal_dcg = r.cached((best * r.ideal.rank_weight(LOG2)).cum_sum())
    last = r.cached(best > best.shift(-1, fill_value=0.0))
    # DCG at every level: each document counts at the levels that reach its rank.
    reaching = pl.when(last).then(1.0 / ideal_dcg).otherwise(0.0)
    reaching = r.lookup_at_rank(r.cached(reaching.cum_sum(reverse=True)))
    size = r.broadcast((gains > 0).sum())
    reached = pl.when(r.rank <= size).then(reaching)
    at_levels = r.sum(gains * r.rank_weight(LOG2) * reached)
    longer = (r.retrieved_count() > r.sum(gains > 0) + 1.0).cast(pl.Float64)
    at_end = longer * _ndcg(r, gain, rel)
    return ratio(at_levels + at_end, r.sum(last) + longer)


@metric(depends_on="relevant", aliases={"G": {}})
def g_measure(r: Ranking, *, gain: Gain, rel: OptionalRel = None) -> pl.Expr:
    """Normalized gain G: each gain, discounted by the gain missing so far.

    ``sum of gain_i / log2(2 + ideal_i - cg_i), divided by the sum of all gains``:
    ``cg_i`` is the cumulative gain at rank i, ``ideal_i`` that of the ideal order,
    which grows by 1 per rank below its last gain.

    Source: trec_eval ``G`` (Buckley, 2008, experimental).
    Equal to: trec_eval ``G``.
    Example: grades 0, 0, 1 in rank order: g_measure = 1 / log2(2 + 2).
    """
    gains = r.gain(gain, rel)
    cumulative = r.cached(gains.cum_sum())
    best = r.cached(r.ideal_gain(gain, rel).cum_sum())
    size = r.broadcast((gains > 0).sum().cast(pl.Float64))
    ideal = r.lookup_at_rank(best) + (r.rank - size).clip(lower_bound=0.0)
    return ratio(r.sum(gains / (2.0 + ideal - cumulative).log(2.0)), r.sum(gains))


@metric(depends_on="relevant", aliases={"binG": {}})
def binary_g_measure(r: Ranking, *, rel: Rel) -> pl.Expr:
    """Normalized gain G of binary relevance: a relevant document gains 1.

    ``sum of 1 / log2(2 + m_i) over relevant documents, divided by R``, where m_i is the
    number of documents above that are not relevant.

    Source: trec_eval ``binG`` (Buckley, 2008, experimental).
    Equal to: trec_eval ``binG``.
    Example: grades 0, 2, 1 in rank order: binary_g_measure = 1 / log2(3).
    """
    missing = r.rank - r.cumulative_hits(rel)
    term = pl.when(r.relevant(rel)).then(1.0 / (2.0 + missing).log(2.0))
    return per(r.sum(term), r.relevant_count(rel))


def _ndcg(r: Ranking, gain: Gain, rel: OptionalRel) -> pl.Expr:
    """NDCG of the whole list, as used in the averages."""
    return ndcg(r, gain=gain, rel=rel, discount="log2", ideal="judged")
