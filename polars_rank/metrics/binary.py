"""Found or not found: metrics that know relevant and not relevant only."""

from __future__ import annotations

from typing import Literal

import polars as pl

from polars_rank.metrics.registry import metric
from polars_rank.ranking import Ranking, ratio
from polars_rank.weights import one, reciprocal

__all__ = ["accuracy", "ap", "f1", "precision", "recall", "rr"]


def size(divisor: str, r: Ranking, k: int | None, rel: float) -> pl.Expr:
    """Number that precision, recall and average precision are divided by."""
    if divisor == "hits":
        return r.found(k, rel)
    if divisor == "R" or (divisor == "min_k_R" and k is None):
        return r.relevant_count(rel)
    # Polars multiplies by 1/k where it divides by a literal k: 3/5 would not be 0.6.
    depth = r.retrieved_count() if k is None else 0.0 * r.found(k, rel) + k
    if divisor == "k":
        return depth
    other = r.retrieved_count() if divisor == "retrieved" else r.relevant_count(rel)
    return pl.min_horizontal(depth, other)


@metric(rows="relevant")
def accuracy(r: Ranking, *, k: int | None = None, rel: float = 1) -> pl.Expr:
    """Whether any relevant document stands in the first k (success, hit rate).

    ``1 if any relevant within k else 0``.

    Undefined: nothing is relevant.
    Source: TREC "success"; Zhao, "Metrics in Learn-To-Rank", 2023.
    Equal to: trec_eval ``success``, ir_measures ``Success@k``, ranx ``hit_rate@k``.
    Example: grades 0, 0, 1 in rank order: accuracy@2 = 0, accuracy@3 = 1.
    """
    return r.sum(r.first(rel) * r.at(one, k))


@metric(rows="relevant")
def precision(
    r: Ranking,
    *,
    k: int | None = None,
    rel: float = 1,
    divisor: Literal["k", "retrieved", "min_k_R"] = "k",
) -> pl.Expr:
    """Share of the first k that is relevant; short lists are filled with misses.

    ``found(k) / k``; without a cutoff k is n, the retrieved documents. ``divisor``:
    ``"retrieved"`` divides by min(k, n), ``"min_k_R"`` by min(k, R).

    Undefined: nothing is relevant.
    Source: Cleverdon, 1967; van Rijsbergen, 1979, ch. 7.
    Equal to: trec_eval ``P`` (``set_P`` without k; ``relative_P`` with "min_k_R"),
    ir_measures ``P@k``, ranx ``precision@k``.
    Example: grades 1, 0, 1, 0, 1 in rank order: precision@3 = 2/3.
    """
    whole = size(divisor, r, k, rel)
    if divisor == "min_k_R" and k is None:
        whole = pl.min_horizontal(r.retrieved_count(), whole)
    return ratio(r.found(k, rel), whole).fill_null(0.0)


@metric(rows="relevant")
def recall(
    r: Ranking,
    *,
    k: int | None = None,
    rel: float = 1,
    divisor: Literal["R", "min_k_R"] = "R",
) -> pl.Expr:
    """Share of all relevant documents that stand in the first k.

    ``found(k) / R``; ``divisor="min_k_R"`` divides by min(k, R) (capped recall).

    Undefined: nothing is relevant.
    Source: Cleverdon, 1967; van Rijsbergen, 1979, ch. 7.
    Equal to: trec_eval ``recall``, ir_measures ``R@k``, ranx ``recall@k``.
    Example: grades 1, 0, 1, 0, 1 in rank order: recall@3 = 2/3.
    """
    return ratio(r.found(k, rel), size(divisor, r, k, rel))


@metric(rows="relevant")
def f1(r: Ranking, *, k: int | None = None, rel: float = 1) -> pl.Expr:
    """Harmonic mean of precision@k and recall@k.

    ``2 P R / (P + R) = 2 found(k) / (k + R)``.

    Undefined: nothing is relevant.
    Source: van Rijsbergen, 1979, ch. 7 (effectiveness E with alpha = 1/2).
    Equal to: trec_eval ``set_F`` without k.
    Example: grades 1, 0, 1, 0, 1 in rank order: f1@3 = 2/3.
    """
    return 2.0 * r.found(k, rel) / (size("k", r, k, rel) + r.relevant_count(rel))


@metric(rows="relevant")
def ap(
    r: Ranking,
    *,
    k: int | None = None,
    rel: float = 1,
    divisor: Literal["R", "min_k_R", "hits", "k"] = "R",
) -> pl.Expr:
    """Average precision: mean of the precision at each relevant document.

    ``sum over relevant ranks i <= k of hits_i / i, divided by R``; relevant documents
    that were not found add 0. ``divisor``: ``"min_k_R"``, ``"hits"`` (relevant
    documents found) or ``"k"`` (n without a cutoff). Its mean over queries is MAP.

    Undefined: nothing is relevant.
    Errors: ``divisor="hits"`` has no closed form for ``ties="expected"``.
    Source: Harman, TREC-2, 1993; tied scores: McSherry and Najork, ECIR 2008.
    Equal to: trec_eval ``map`` and ``map_cut``, ir_measures ``AP``, ranx ``map``.
    Example: grades 1, 0, 1, 0, 1 in rank order: ap = (1 + 2/3 + 3/5) / 3.
    """
    precisions = r.sum(r.relevant_hits(rel) * r.at(reciprocal, k))
    return ratio(precisions, size(divisor, r, k, rel)).fill_null(0.0)


@metric(rows="relevant")
def rr(r: Ranking, *, k: int | None = None, rel: float = 1) -> pl.Expr:
    """Reciprocal rank of the first relevant document; 0 if it stands below k.

    ``1 / min{i : relevant_i}``. Its mean over queries is MRR.

    Undefined: nothing is relevant.
    Source: Kantor and Voorhees, TREC-5, 1996; tied scores: McSherry and Najork 2008.
    Equal to: trec_eval ``recip_rank``, ir_measures ``RR``, ranx ``mrr``.
    Example: grades 0, 0, 1 in rank order: rr = 1/3, rr@2 = 0.
    """
    return r.sum(r.first(rel) * r.at(reciprocal, k))
