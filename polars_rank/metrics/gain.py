"""Cumulative gain: graded metrics that add up what each place is worth."""

from __future__ import annotations

import polars as pl

from polars_rank.metrics.registry import metric
from polars_rank.ranking import Ideal, Ranking, ratio
from polars_rank.weights import Discount, Gain, inverse, one

__all__ = ["cg", "dcg", "ndcg"]


@metric(rows="relevant")
def cg(
    r: Ranking,
    *,
    k: int | None = None,
    gain: Gain = "linear",
    rel: float | None = None,
) -> pl.Expr:
    """Cumulative gain: the sum of ``gain(label)`` over the first k.

    ``gain`` and ``rel`` as in ``dcg``.

    Undefined: no document has a gain.
    Errors: a gain below 0; ``gain="exp2"`` and a grade above 1023.
    Source: Jarvelin and Kekalainen, TOIS 2002, eq. 1.
    Example: grades 3, 2, 0 in rank order: cg@2 = 5.
    """
    return r.sum(r.worth(gain, rel) * r.weigh(one, k))


@metric(rows="relevant")
def dcg(
    r: Ranking,
    *,
    k: int | None = None,
    gain: Gain = "linear",
    discount: Discount = "log2",
    rel: float | None = None,
) -> pl.Expr:
    """Discounted cumulative gain: the sum of ``gain(label) / log2(rank + 1)``.

    ``gain``: ``"linear"``, ``"exp2"`` (2^grade - 1), ``"binary"``, a mapping of grades
    to gains (grades that it lacks keep their value), or an elementwise function of an
    expression. ``discount``: ``"log2"``, ``"log2_from_2"`` (ranks 1 and 2
    undiscounted), ``"position"``, or an elementwise function of the rank. ``rel``:
    grades below it gain nothing.

    Undefined: no document has a gain.
    Errors: a gain below 0; ``gain="exp2"`` and a grade above 1023.
    Source: Jarvelin and Kekalainen, TOIS 2002; exponential gain: Burges et al., 2005.
    Equal to: ranx ``dcg`` and ``dcg_burges``.
    Example: grades 3, 2, 0 in rank order: dcg = 3 + 2 / log2(3).
    """
    return r.sum(r.worth(gain, rel) * r.weigh(inverse(discount), k))


@metric(rows="relevant")
def ndcg(
    r: Ranking,
    *,
    k: int | None = None,
    gain: Gain = "linear",
    discount: Discount = "log2",
    ideal: Ideal = "judged",
    rel: float | None = None,
) -> pl.Expr:
    """DCG as a share of the best DCG that the judged documents allow.

    ``gain``, ``discount`` and ``rel`` as in ``dcg``. ``ideal="retrieved"``: the best
    order of the retrieved documents only.

    Undefined: no document has a gain (with ``ideal="retrieved"``: no retrieved one).
    Errors: a gain below 0; ``gain="exp2"`` and a grade above 1023.
    Source: Jarvelin and Kekalainen, TOIS 2002; exponential gain: Burges et al., 2005.
    Equal to: trec_eval ``ndcg`` and ``ndcg_cut``, ir_measures ``nDCG``, ranx ``ndcg``.
    Example: grades 0, 1 in rank order: ndcg = (1 / log2(3)) / 1.
    """
    best = r.ideal_over(ideal)
    weight = inverse(discount)
    ideal_dcg = r.sum(best.sorted_worth(gain, rel) * best.ideal.at(weight, k))
    return ratio(dcg(r, k=k, gain=gain, discount=discount, rel=rel), ideal_dcg)
