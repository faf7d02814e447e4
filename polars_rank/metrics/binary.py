"""Binary relevance: a document is relevant or it is not."""

from __future__ import annotations

from typing import Annotated

import polars as pl

from polars_rank.core.arguments import (
    ApDivisor,
    Cutoff,
    PrecisionDivisor,
    RecallDivisor,
    Rel,
)
from polars_rank.core.expr import per, ratio
from polars_rank.core.metric.registry import UNBOUNDED, metric
from polars_rank.core.parameters import Doc, Range
from polars_rank.core.weights import one, reciprocal
from polars_rank.core.words.ranking import Ranking

__all__ = [
    "accuracy",
    "ap",
    "f1",
    "f_measure",
    "full_recall",
    "gm_ap",
    "precision",
    "recall",
    "rr",
    "set_ap",
    "yaap",
]


def size(divisor: str, r: Ranking, k: int | None, rel: float) -> pl.Expr:
    """Number that precision, recall and average precision are divided by."""
    if divisor == "hits":
        return r.hits_at(k, rel)
    if divisor == "R" or (divisor == "min_k_R" and k is None):
        return r.relevant_count(rel)
    if divisor == "min_k_R_n":
        return pl.min_horizontal(size("retrieved", r, k, rel), r.relevant_count(rel))
    # Polars multiplies by 1/k where it divides by a literal k: 3/5 would not be 0.6.
    depth = r.retrieved_count() if k is None else 0.0 * r.retrieved_count() + k
    if divisor == "k":
        return depth
    other = r.retrieved_count() if divisor == "retrieved" else r.relevant_count(rel)
    return pl.min_horizontal(depth, other)


@metric(
    depends_on="relevant",
    tie_mean=True,
    aliases={
        "Success": {},
        "success": {},
        "hit_rate": {},
        "hit_ratio": {},
        "HR": {},
        "hit": {},
        "hits_at": {},
        "retrieval_hit_rate": {},
        "CV_Recall": {},
    },
)
def accuracy(r: Ranking, *, k: Cutoff = None, rel: Rel) -> pl.Expr:
    """Whether any of the first k documents is relevant (success, hit rate).

    ``1 if hits(k) > 0 else 0``; MTEB's ``CV_Recall@k`` of images.

    Source: TREC "success"; Zhao, "Metrics in Learn-To-Rank", 2023.
    Equal to: trec_eval ``success``, ir_measures ``Success@k``, ranx ``hit_rate@k``.
    Example: grades 0, 0, 1 in rank order: accuracy@2 = 0, accuracy@3 = 1.
    """
    return r.weight_of_first(one, k, rel)


@metric(
    depends_on="relevant",
    tie_mean=True,
    aliases={
        "P": {},
        "PrecisionAt": {},
        "retrieval_precision": {},
        "PrecisionTopK": {},
        "pre": {},
        "SetP": {},
        "set_P": {},
        "SetRelP": {"divisor": "min_k_R"},
        "relative_P": {"divisor": "min_k_R"},
        "set_relative_P": {"divisor": "min_k_R"},
    },
)
def precision(
    r: Ranking,
    *,
    k: Cutoff = None,
    rel: Rel,
    divisor: PrecisionDivisor,
) -> pl.Expr:
    """Share of the first k that is relevant; short lists are padded with misses.

    ``hits(k) / k``; without a cutoff, k is n, the number of retrieved documents.
    ``divisor``: ``"retrieved"`` divides by min(k, n), ``"min_k_R"`` by min(k, R).

    Source: Cleverdon, 1967; van Rijsbergen, 1979, ch. 7.
    Equal to: trec_eval ``P`` (``set_P`` without k; ``relative_P`` with "min_k_R"),
    ir_measures ``P@k``, ranx ``precision@k``.
    Example: grades 1, 0, 1, 0, 1 in rank order: precision@3 = 2/3.
    """
    depth = size(divisor, r, k, rel)
    if divisor == "min_k_R" and k is None:
        depth = pl.min_horizontal(r.retrieved_count(), depth)
    hits = r.hits_at(k, rel)
    if divisor == "k" and k is not None:  # never 0, so there is nothing to ask
        return hits / depth
    return per(hits, depth).fill_null(0.0)


@metric(
    depends_on="relevant",
    tie_mean=True,
    aliases={
        "R": {},
        "SetR": {},
        "set_recall": {},
        "RecallAt": {},
        "retrieval_recall": {},
        "RecallTopK": {},
        "context_recall": {},
        "recall_cap": {"divisor": "min_k_R"},
        "R_cap": {"divisor": "min_k_R"},
    },
)
def recall(
    r: Ranking,
    *,
    k: Cutoff = None,
    rel: Rel,
    divisor: RecallDivisor,
) -> pl.Expr:
    """Share of all relevant documents that are among the first k.

    ``hits(k) / R``; ``divisor="min_k_R"`` divides by min(k, R) (capped recall, BEIR's
    ``R_cap@k``). Ragas' context recall by ids is that of the contexts retrieved.

    Source: Cleverdon, 1967; van Rijsbergen, 1979, ch. 7.
    Equal to: trec_eval ``recall``, ir_measures ``R@k``, ranx ``recall@k``; BEIR
    ``R_cap@k`` with "min_k_R".
    Example: grades 1, 0, 1, 0, 1 in rank order: recall@3 = 2/3.
    """
    return per(r.hits_at(k, rel), size(divisor, r, k, rel))


@metric(depends_on="relevant")
def full_recall(r: Ranking, *, k: Cutoff = None, rel: Rel) -> pl.Expr:
    """Whether all relevant documents are among the first k.

    ``1 if hits(k) = R else 0``: what a question needs that is answered from several
    documents together (multi-hop).

    Source: Asai et al., ICLR 2020, "Learning to Retrieve Reasoning Paths over Wikipedia
    Graph" (paragraph exact match, for two paragraphs).
    Example: grades 1, 0, 1 in rank order: full_recall@2 = 0, full_recall@3 = 1.
    """
    relevant = r.relevant_count(rel)
    return pl.when(relevant > 0).then((r.hits_at(k, rel) >= relevant).cast(pl.Float64))


@metric(depends_on="relevant", tie_mean=True, aliases={"F1Beta": {}})
def f1(r: Ranking, *, k: Cutoff = None, rel: Rel) -> pl.Expr:
    """Harmonic mean of precision@k and recall@k.

    ``2 P R / (P + R) = 2 hits(k) / (k + R)``.

    Source: van Rijsbergen, 1979, ch. 7 (effectiveness E with alpha = 1/2).
    Equal to: trec_eval ``set_F`` without k.
    Example: grades 1, 0, 1, 0, 1 in rank order: f1@3 = 2/3.
    """
    return f_measure(r, k=k, rel=rel)


@metric(
    depends_on="relevant",
    tie_mean=True,
    suffix=("x",),
    aliases={"SetF": {}, "set_F": {}},
)
def f_measure(
    r: Ranking,
    *,
    k: Cutoff = None,
    rel: Rel,
    x: Annotated[
        float, Range(above=0), Doc("weight of recall: the square of the usual beta")
    ] = 1.0,
) -> pl.Expr:
    """Weighted harmonic mean of precision@k and recall@k; x is beta squared.

    ``(x + 1) P R / (R + x P) = (x + 1) hits(k) / (k + x R)``.

    Source: van Rijsbergen, 1979, ch. 7 (F with beta = sqrt(x)).
    Equal to: trec_eval ``set_F`` and ir_measures ``SetF`` (their beta is x) without k.
    Example: grades 1, 0, 1, 0, 1 in rank order: f_measure(x=2)@3 = 3 * 2 / (3 + 6).
    """
    total = size("k", r, k, rel) + x * r.relevant_count(rel)
    return ratio((x + 1.0) * r.hits_at(k, rel), total)


@metric(
    depends_on="relevant",
    tie_mean=True,
    no_tie_mean_when={"divisor": "hits"},
    aliases={
        "AP": {},
        "MAP": {},
        "map": {},
        "map_cut": {},
        "average_precision": {},
        "mean_average_precision": {},
        "meanAveragePrecisionAt": {},
        "retrieval_average_precision": {},
        "context_precision": {"divisor": "hits"},
        "contextual_precision": {"divisor": "hits"},
    },
)
def ap(
    r: Ranking,
    *,
    k: Cutoff = None,
    rel: Rel,
    divisor: ApDivisor,
) -> pl.Expr:
    """Average precision: mean of the precision at each relevant document.

    ``sum over relevant ranks i <= k of hits_i / i, divided by R``; relevant documents
    that are not retrieved by rank k add 0. ``divisor``: ``"min_k_R"``, ``"min_k_R_n"``
    (n documents are retrieved), ``"hits"`` (relevant documents among the first k: the
    context precision of Ragas and DeepEval) or ``"k"`` (n without a cutoff). Its mean
    over queries is MAP.

    Source: Harman, TREC-2, 1993; tied scores: McSherry and Najork, ECIR 2008.
    Equal to: trec_eval ``map`` and ``map_cut``, ir_measures ``AP``, ranx ``map``;
    LightGBM, XGBoost, CatBoost and RePlay with "min_k_R", LensKit with "min_k_R_n",
    torchmetrics, Ragas and DeepEval (context precision) with "hits".
    Example: grades 1, 0, 1, 0, 1 in rank order: ap = (1 + 2/3 + 3/5) / 3.
    """
    precisions = r.sum(r.relevant_hits(rel) * r.rank_weight(reciprocal, k))
    return per(precisions, size(divisor, r, k, rel)).fill_null(0.0)


@metric(
    depends_on="relevant",
    tie_mean=True,
    aliases={
        "RR": {},
        "MRR": {},
        "mrr": {},
        "recip_rank": {},
        "reciprocal_rank": {},
        "mean_reciprocal_rank": {},
        "retrieval_reciprocal_rank": {},
    },
)
def rr(r: Ranking, *, k: Cutoff = None, rel: Rel) -> pl.Expr:
    """Reciprocal rank of the first relevant document; 0 if it is below rank k.

    ``1 / min{i : relevant_i}``. Its mean over queries is MRR.

    Source: Kantor and Voorhees, TREC-5, 1996; tied scores: McSherry and Najork 2008.
    Equal to: trec_eval ``recip_rank``, ir_measures ``RR``, ranx ``mrr``.
    Example: grades 0, 0, 1 in rank order: rr = 1/3, rr@2 = 0.
    """
    return r.weight_of_first(reciprocal, k, rel)


@metric(depends_on="relevant", aggregate="geometric", aliases={"gm_map": {}})
def gm_ap(r: Ranking, *, rel: Rel) -> pl.Expr:
    """Average precision for a geometric mean over queries (GMAP).

    A query's value is ``log(max(ap, 1e-5))``; over queries, ``exp`` of their mean.

    Source: Robertson, CIKM 2006, "On GMAP".
    Equal to: trec_eval ``gm_map``.
    Example: grades 0, 1 in rank order: gm_ap = log(1/2).
    """
    return ap(r, rel=rel, divisor="R")


@metric(depends_on="relevant", bounds=UNBOUNDED)
def yaap(r: Ranking, *, rel: Rel) -> pl.Expr:
    """Yet another average precision: AP on a logistic scale.

    ``log((1 + s) / (1 + R - s))`` with ``s = sum of hits_i / i = R * ap``.

    Source: Robertson, "On Smoothing Average Precision", ECIR 2012.
    Equal to: trec_eval ``yaap``.
    Example: grades 0, 1 in rank order: yaap = log((1 + 1/2) / (1 + 1 - 1/2)) = 0.
    """
    s = r.sum(r.relevant_hits(rel) * r.rank_weight(reciprocal))
    return ((1.0 + s) / (1.0 + r.relevant_count(rel) - s)).log()


@metric(
    depends_on="relevant", tie_sensitive=False, aliases={"SetAP": {}, "set_map": {}}
)
def set_ap(r: Ranking, *, rel: Rel) -> pl.Expr:
    """Average precision of an unranked set: precision times recall.

    ``P R`` over all retrieved documents, as if every hit had the precision of the set.

    Source: trec_eval ``set_map``.
    Equal to: trec_eval ``set_map``, ir_measures ``SetAP``.
    Example: grades 1, 0 in rank order: set_ap = 1/2 * 1.
    """
    return precision(r, rel=rel, divisor="k") * recall(r, rel=rel, divisor="R")
