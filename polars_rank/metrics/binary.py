"""Found or not found: metrics that know relevant and not relevant only."""

from __future__ import annotations

from typing import Annotated, Literal

import polars as pl

from polars_rank.core.expr import ratio
from polars_rank.core.parameters import Range
from polars_rank.core.ranking import Ranking
from polars_rank.core.registry import metric
from polars_rank.core.weights import one, reciprocal

__all__ = [
    "accuracy",
    "ap",
    "f1",
    "f_measure",
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
    depth = r.retrieved_count() if k is None else 0.0 * r.hits_at(k, rel) + k
    if divisor == "k":
        return depth
    other = r.retrieved_count() if divisor == "retrieved" else r.relevant_count(rel)
    return pl.min_horizontal(depth, other)


@metric(
    depends_on="relevant",
    tie_mean=True,
    aliases={"Success": {}, "success": {}, "hit_rate": {}},
)
def accuracy(r: Ranking, *, k: int | None = None, rel: float = 1) -> pl.Expr:
    """Whether any relevant document stands in the first k (success, hit rate).

    ``1 if any relevant within k else 0``.

    Undefined: nothing is relevant.
    Source: TREC "success"; Zhao, "Metrics in Learn-To-Rank", 2023.
    Equal to: trec_eval ``success``, ir_measures ``Success@k``, ranx ``hit_rate@k``.
    Example: grades 0, 0, 1 in rank order: accuracy@2 = 0, accuracy@3 = 1.
    """
    return r.sum(r.is_first_relevant(rel) * r.rank_weight(one, k))


@metric(
    depends_on="relevant",
    tie_mean=True,
    aliases={
        "P": {},
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
    return ratio(r.hits_at(k, rel), whole).fill_null(0.0)


@metric(
    depends_on="relevant",
    tie_mean=True,
    aliases={"R": {}, "SetR": {}, "set_recall": {}},
)
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
    return ratio(r.hits_at(k, rel), size(divisor, r, k, rel))


@metric(depends_on="relevant", tie_mean=True)
def f1(r: Ranking, *, k: int | None = None, rel: float = 1) -> pl.Expr:
    """Harmonic mean of precision@k and recall@k.

    ``2 P R / (P + R) = 2 found(k) / (k + R)``.

    Undefined: nothing is relevant.
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
    k: int | None = None,
    rel: float = 1,
    x: Annotated[float, Range(above=0)] = 1.0,
) -> pl.Expr:
    """Weighted harmonic mean of precision@k and recall@k; x is beta squared.

    ``(x + 1) P R / (R + x P) = (x + 1) found(k) / (k + x R)``.

    Undefined: nothing is relevant.
    Source: van Rijsbergen, 1979, ch. 7 (F with beta = sqrt(x)).
    Equal to: trec_eval ``set_F`` and ir_measures ``SetF`` (their beta is x) without k.
    Example: grades 1, 0, 1, 0, 1 in rank order: f_measure(x=2)@3 = 3 * 2 / (3 + 6).
    """
    whole = size("k", r, k, rel) + x * r.relevant_count(rel)
    return (x + 1.0) * r.hits_at(k, rel) / whole


@metric(
    depends_on="relevant",
    tie_mean=True,
    no_tie_mean_when={"divisor": "hits"},
    aliases={"AP": {}, "MAP": {}, "map": {}, "map_cut": {}},
)
def ap(
    r: Ranking,
    *,
    k: int | None = None,
    rel: float = 1,
    divisor: Literal["R", "min_k_R", "min_k_R_n", "hits", "k"] = "R",
) -> pl.Expr:
    """Average precision: mean of the precision at each relevant document.

    ``sum over relevant ranks i <= k of hits_i / i, divided by R``; relevant documents
    that were not found add 0. ``divisor``: ``"min_k_R"``, ``"min_k_R_n"`` (no more than
    are retrieved, either), ``"hits"`` (relevant documents found) or ``"k"`` (n without
    a cutoff). Its mean over queries is MAP.

    Undefined: nothing is relevant.
    Errors: ``divisor="hits"`` has no closed form for ``ties="expected"``.
    Source: Harman, TREC-2, 1993; tied scores: McSherry and Najork, ECIR 2008.
    Equal to: trec_eval ``map`` and ``map_cut``, ir_measures ``AP``, ranx ``map``;
    LightGBM, XGBoost, CatBoost and RePlay with "min_k_R", LensKit with "min_k_R_n",
    torchmetrics with "hits".
    Example: grades 1, 0, 1, 0, 1 in rank order: ap = (1 + 2/3 + 3/5) / 3.
    """
    precisions = r.sum(r.relevant_hits(rel) * r.rank_weight(reciprocal, k))
    return ratio(precisions, size(divisor, r, k, rel)).fill_null(0.0)


@metric(
    depends_on="relevant",
    tie_mean=True,
    aliases={"RR": {}, "MRR": {}, "mrr": {}, "recip_rank": {}},
)
def rr(r: Ranking, *, k: int | None = None, rel: float = 1) -> pl.Expr:
    """Reciprocal rank of the first relevant document; 0 if it stands below k.

    ``1 / min{i : relevant_i}``. Its mean over queries is MRR.

    Undefined: nothing is relevant.
    Source: Kantor and Voorhees, TREC-5, 1996; tied scores: McSherry and Najork 2008.
    Equal to: trec_eval ``recip_rank``, ir_measures ``RR``, ranx ``mrr``.
    Example: grades 0, 0, 1 in rank order: rr = 1/3, rr@2 = 0.
    """
    return r.sum(r.is_first_relevant(rel) * r.rank_weight(reciprocal, k))


@metric(depends_on="relevant", aggregate="geometric", aliases={"gm_map": {}})
def gm_ap(r: Ranking, *, rel: float = 1) -> pl.Expr:
    """Average precision for a geometric mean over queries (GMAP).

    A query's value is ``log(max(ap, 1e-5))``; over queries, ``exp`` of their mean.

    Undefined: nothing is relevant.
    Errors: no closed form for ``ties="expected"``.
    Source: Robertson, CIKM 2006, "On GMAP".
    Equal to: trec_eval ``gm_map``.
    Example: grades 0, 1 in rank order: gm_ap = log(1/2).
    """
    return ap(r, rel=rel)


@metric(depends_on="relevant")
def yaap(r: Ranking, *, rel: float = 1) -> pl.Expr:
    """Yet another average precision: AP on a logistic scale.

    ``log((1 + s) / (1 + R - s))`` with ``s = sum of hits_i / i = R * ap``.

    Undefined: nothing is relevant.
    Errors: no closed form for ``ties="expected"``.
    Source: Robertson, "On Smoothing Average Precision", ECIR 2012.
    Equal to: trec_eval ``yaap``.
    Example: grades 0, 1 in rank order: yaap = log((1 + 1/2) / (1 + 1 - 1/2)) = 0.
    """
    s = r.sum(r.relevant_hits(rel) * r.rank_weight(reciprocal))
    return ((1.0 + s) / (1.0 + r.relevant_count(rel) - s)).log()


@metric(
    depends_on="relevant", tie_sensitive=False, aliases={"SetAP": {}, "set_map": {}}
)
def set_ap(r: Ranking, *, rel: float = 1) -> pl.Expr:
    """Average precision of an unranked set: precision times recall.

    ``P R`` over all retrieved documents, as if every hit had the precision of the set.

    Undefined: nothing is relevant.
    Source: trec_eval ``set_map``.
    Equal to: trec_eval ``set_map``, ir_measures ``SetAP``.
    Example: grades 1, 0 in rank order: set_ap = 1/2 * 1.
    """
    return precision(r, rel=rel) * recall(r, rel=rel)
