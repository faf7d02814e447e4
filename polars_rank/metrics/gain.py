"""Cumulative gain: graded metrics that sum discounted gains."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

from polars_rank.core.arguments import Cutoff, IdealOrder, OptionalRel
from polars_rank.core.expr import ratio
from polars_rank.core.metric.registry import POSITIVE, metric
from polars_rank.core.weights import Discount, Gain, inverse, one
from polars_rank.core.words.ranking import Ranking

__all__ = ["cg", "dcg", "ndcg"]


@metric(depends_on="relevant", tie_mean=True, bounds=POSITIVE)
def cg(
    r: Ranking,
    *,
    k: Cutoff = None,
    gain: Gain,
    rel: OptionalRel = None,
) -> pl.Expr:
    """Cumulative gain: the sum of ``gain(label)`` over the first k.

    Source: Jarvelin and Kekalainen, TOIS 2002, eq. 1.
    Example: grades 3, 2, 0 in rank order: cg@2 = 5.
    """
    return r.sum(r.gain(gain, rel) * r.weight(one, k))


@metric(
    depends_on="relevant",
    tie_mean=True,
    aliases={"dcg_score": {}, "dcg_burges": {"gain": "exp2"}},
    bounds=POSITIVE,
)
def dcg(
    r: Ranking,
    *,
    k: Cutoff = None,
    gain: Gain,
    discount: Discount,
    rel: OptionalRel = None,
) -> pl.Expr:
    """Discounted cumulative gain: the sum of ``gain(label) / log2(rank + 1)``.

    A grade that is missing from a mapping keeps its value as its gain. Functions must
    work element by element.

    Source: Jarvelin and Kekalainen, TOIS 2002; exponential gain: Burges et al., 2005.
    Equal to: ranx ``dcg`` and ``dcg_burges``.
    Example: grades 3, 2, 0 in rank order: dcg = 3 + 2 / log2(3).
    """
    return r.sum(r.gain(gain, rel) * r.weight(inverse(discount), k))


@metric(
    depends_on="relevant",
    tie_mean=True,
    aliases={
        "nDCG": {},
        "NDCG": {},
        "ndcg_cut": {},
        "ndcg_score": {},
        "ndcgAt": {},
        "retrieval_normalized_dcg": {},
        "ndcg_burges": {"gain": "exp2"},
        "ndcg_p": {"discount": "log2_from_2"},
        "MSnDCG": {},
        "NCRR": {"gain": "binary", "discount": "position"},
    },
)
def ndcg(
    r: Ranking,
    *,
    k: Cutoff = None,
    gain: Gain,
    discount: Discount,
    ideal: IdealOrder,
    rel: OptionalRel = None,
) -> pl.Expr:
    """DCG divided by the ideal DCG, that of the best order of the judged documents.

    ``ideal``: the best order of all ``"judged"`` documents, of the ``"retrieved"`` ones
    only, of the judged ones, cut at the length of the list (``"min_k_n"``), or of
    ``"k"`` documents of the highest judged grade, whether they exist or not (n without
    a cutoff).

    Undefined: with ``ideal="retrieved"``, no retrieved document has one.
    Source: Jarvelin and Kekalainen, TOIS 2002; exponential gain: Burges et al., 2005.
    Equal to: trec_eval ``ndcg`` and ``ndcg_cut``, ir_measures ``nDCG``, ranx ``ndcg``;
    Elasticsearch ``dcg`` with ``normalize`` (exp2, "min_k_n"), RecTools ``NDCG``
    (binary, "k").
    Example: grades 0, 1 in rank order: ndcg = (1 / log2(3)) / 1.
    """
    return ratio(
        dcg(r, k=k, gain=gain, discount=discount, rel=rel),
        _ideal_dcg(r, k, gain, discount, ideal, rel),
    )


def _ideal_dcg(
    r: Ranking,
    k: int | None,
    gain: Gain,
    discount: Discount,
    ideal: IdealOrder,
    rel: float | None,
) -> pl.Expr:
    weight = inverse(discount)
    if ideal == "k":
        top = r.reduce(r.gain(gain, rel).max().cast(pl.Float64))
        return top * _all_weights(weight, r.retrieved_count() if k is None else k)
    best = r.ideal_over("retrieved" if ideal == "retrieved" else "judged")
    weights = best.ideal.rank_weight(weight, k)
    if ideal == "min_k_n":
        weights = pl.when(r.place <= r.retrieved_count()).then(weights).otherwise(0.0)
    return r.sum(best.ideal_gain(gain, rel) * weights)


def _all_weights(weight: Callable[[pl.Expr], pl.Expr], depth: int | pl.Expr) -> pl.Expr:
    """Sum of the weights of the places from 1 to ``depth``."""
    places = pl.int_ranges(1, depth + 1)
    return places.list.eval(weight(pl.element().cast(pl.Float64))).list.sum()
