"""Two orders of the same documents: by score and by label."""

from __future__ import annotations

from typing import Literal

import polars as pl

from polars_rank.metrics.pairs import block_sum, both, pair_sum, pairs_of
from polars_rank.metrics.registry import metric
from polars_rank.ranking import Ranking, ratio
from polars_rank.weights import Discount, inverse

__all__ = [
    "kendall_distance",
    "kendall_tau",
    "pearson",
    "spearman",
    "tau_ap",
    "weighted_tau",
]


@metric(rows="judged", relevance=False, score=True, tied=False)
def kendall_distance(
    r: Ranking, *, k: int | None = None, penalty: float = 0.5
) -> pl.Expr:
    """Normalised Kendall tau distance: share of pairs that the two orders swap.

    ``discordant pairs / (n (n - 1) / 2)`` over the documents that stand in the first k
    of either order, by score or by label, both descending. A pair that is tied in one
    order only counts ``penalty``. Documents without a score or a label are left out.

    Undefined: fewer than two documents.
    Source: Fagin, Kumar and Sivakumar, SIAM J. Discrete Math. 2003 (k); Fagin et al.,
    PODS 2004, ``K^(p)`` (ties); Knight, JASA 1966 (counting).
    Equal to: ``(1 - tau) / 2`` of ``scipy.stats.kendalltau`` where nothing is tied.
    Example: scores 3, 2, 1 and labels 3, 1, 2: one pair of three is swapped: 1/3.
    """
    pairs = pairs_of(*_pair(r, k))
    tied_once = pairs.tied_x + pairs.tied_y - 2.0 * pairs.tied_both
    return r.aggregate(ratio(pairs.discordant + penalty * tied_once, pairs.all))


@metric(rows="judged", relevance=False, tied=False, aliases={"kendalltau": {}})
def kendall_tau(
    r: Ranking, *, k: int | None = None, variant: Literal["a", "b", "c"] = "b"
) -> pl.Expr:
    """Kendall's tau: concordant less discordant pairs of score and label, as a share.

    ``(C - D) / sqrt((n0 - n1) (n0 - n2))`` of the ``n0 = n (n - 1) / 2`` pairs, ``n1``
    tied in score and ``n2`` in label (tau-b). ``variant="a"``: ``(C - D) / n0``;
    ``"c"``: ``2 (C - D) / (n^2 (m - 1) / m)`` with m values of the coarser of the two.
    With k, the documents that stand in the first k of either order. Documents without a
    score or a label are left out.

    Undefined: fewer than two documents; in b and c, all tied in one of the orders.
    Source: Kendall, Biometrika 1938 (a) and 1945 (b); Stuart, Biometrika 1953 (c).
    Equal to: ``scipy.stats.kendalltau``.
    Example: scores 3, 2, 1 and labels 3, 1, 2: (2 - 1) / 3.
    """
    score, label = _pair(r, k)
    pairs = pairs_of(score, label)
    difference = pairs.concordant - pairs.discordant
    if variant == "a":
        return r.aggregate(ratio(difference, pairs.all))
    if variant == "b":
        scores, labels = pairs.all - pairs.tied_x, pairs.all - pairs.tied_y
        return r.aggregate(ratio(difference, scores.sqrt() * labels.sqrt()))
    n = label.len().cast(pl.Float64)
    m = pl.min_horizontal(score.n_unique(), label.n_unique()).cast(pl.Float64)
    return r.aggregate(ratio(2.0 * difference, n.pow(2) * (m - 1.0) / m).fill_nan(None))


@metric(rows="judged", relevance=False, tied=False)
def tau_ap(
    r: Ranking, *, k: int | None = None, variant: Literal["a", "b"] = "a"
) -> pl.Expr:
    """AP correlation: Kendall's tau in which swaps near the top cost more.

    ``2 / (n - 1) * sum over places i > 1 by score of C(i) / (i - 1) - 1``; ``C(i)``
    counts the documents above i that have a higher label. Of tied documents, in
    either order, the mean over all orders is taken (a). ``variant="b"``: ties are
    agreed; the mean of both directions (by score against label, by label against
    score), without the top block, and ``i`` is the first place of a block. Documents as
    in ``kendall_tau``.

    Undefined: fewer than two documents; in b, all tied in one of the orders.
    Source: Yilmaz, Aslam and Robertson, SIGIR 2008; ties: Urbano and Marrero, ICTIR
    2017, tau_AP,a and tau_AP,b.
    Equal to: ``tauAP``, ``tauAP_a`` and ``tauAP_b`` of the R package ircor, with
    labels first.
    Example: scores 3, 2, 1 and labels 3, 1, 2: 2/2 (1/1 + 1/2) - 1 = 1/2.
    """
    score, label = _pair(r, k)
    tau = {"a": _tau_ap_a, "b": _tau_ap_b}[variant](score, label)
    return r.aggregate(tau)


@metric(rows="judged", relevance=False, tied=False, aliases={"weightedtau": {}})
def weighted_tau(
    r: Ranking,
    *,
    k: int | None = None,
    weigher: Discount = "position",
    weigh_by: Literal["both", "score", "label"] = "both",
    additive: bool = True,
) -> pl.Expr:
    """Kendall's tau-b of pairs weighed by the places of their documents.

    A pair weighs ``w_a + w_b`` (or ``w_a w_b``, ``additive=False``), a document
    ``w = 1 / weigher(place)``: hyperbolic unless told otherwise. Places are those
    ``weigh_by`` score (equal ones by label), by label (equal ones by score), or the
    mean of both values is taken. ``weigher`` as ``discount`` in ``dcg``. Documents as
    in ``kendall_tau``.

    Undefined: fewer than two documents, or all tied in one of the orders.
    Source: Vigna, WWW 2015, tau_h; Shieh, 1998 (multiplied weights).
    Equal to: ``scipy.stats.weightedtau(score, label)``; ``weigh_by="score"`` is
    ``rank=None``, ``weigh_by="label"`` that of ``(label, score)``.
    Example: scores 2, 1 and labels 1, 2: -1.
    """
    score, label = _pair(r, k)
    ways = {"score": (score, label), "label": (label, score)}
    chosen = ways.values() if weigh_by == "both" else [ways[weigh_by]]
    weigh = inverse(weigher)
    taus = [_vigna(x, y, weigh(_place(x, y)), additive) for x, y in chosen]
    return r.aggregate(pl.mean_horizontal(taus, ignore_nulls=False))


@metric(rows="judged", relevance=False, score=True, tied=False)
def spearman(r: Ranking, *, k: int | None = None) -> pl.Expr:
    """Spearman's rho: correlation of the ranks by score and by label.

    Ties have the mean rank. With k, the documents that stand in the first k of either
    order, ranked among themselves. Documents without a score or a label are left out.

    Undefined: fewer than two documents, or all tied in one of the orders.
    Source: Spearman, 1904; Zhao, "Metrics in Learn-To-Rank", 2023.
    Equal to: ``scipy.stats.spearmanr``.
    Example: scores 3, 2, 1 and labels 3, 1, 2: rho = 1/2.
    """
    score, label = _pair(r, k)
    rho = pl.corr(score.rank().cast(pl.Float64), label.rank().cast(pl.Float64))
    return r.aggregate(rho.fill_nan(None))


@metric(rows="judged", relevance=False, score=True, tied=False)
def pearson(r: Ranking, *, k: int | None = None) -> pl.Expr:
    """Pearson's r: linear correlation of score and label.

    Documents as in ``kendall_tau``.

    Undefined: fewer than two documents, or all tied in one of the orders.
    Source: Pearson, 1895.
    Equal to: ``scipy.stats.pearsonr``.
    Example: scores 3, 2, 1 and labels 3, 1, 2: 1/2.
    """
    score, label = _pair(r, k)
    linear = pl.when(_varied(score, label)).then(pl.corr(score, label))
    return r.aggregate(linear.fill_nan(None))


def _pair(r: Ranking, k: int | None) -> tuple[pl.Expr, pl.Expr]:
    """Score and label of the documents that have both, of those in either top k."""
    known = r.score.is_not_null() & r.label.is_not_null()
    score, label = r.score.filter(known), r.label.filter(known)
    if k is None:
        return score, label
    top = (score.rank("min", descending=True) <= k) | (
        label.rank("min", descending=True) <= k
    )
    return score.filter(top), label.filter(top)


def _tau_ap_a(score: pl.Expr, label: pl.Expr) -> pl.Expr:
    """The mean over all orders of tied documents.

    A document has ``C / (place - 1)``, its place running over its block; a document
    above it in the same block, or with the same label, agrees in half the orders.
    """
    first = score.rank("min", descending=True).cast(pl.Int64)
    last = score.rank("max", descending=True).cast(pl.Int64)
    size = (last - first + 1).cast(pl.Float64)
    sums = (1.0 / pl.int_range(1, label.len() + 1).cast(pl.Float64)).cum_sum()
    harmonic = sums.shift(1, fill_value=0.0)
    below = first > 1
    through = harmonic.gather(last - 1)
    mean = (through - harmonic.gather((first - 2).clip(lower_bound=0))) / size
    mean = pl.when(below).then(mean).otherwise(0.0)
    alike = both(label, -score).rank("min").cast(pl.Int64)
    same = alike - label.rank("min").cast(pl.Int64)
    above = pair_sum(score, label, [(pl.lit(1), mean)]) + (mean * same).sum() / 2.0
    run = through - harmonic.gather(first - 1)
    within = ((size - 1.0) - (first - 1.0) * run) / (2.0 * size)
    n = label.len().cast(pl.Float64)
    return pl.when(n > 1).then(2.0 * (above + within.sum()) / (n - 1.0) - 1.0)


def _tau_ap_b(score: pl.Expr, label: pl.Expr) -> pl.Expr:
    """The mean of both directions; the documents below the top block are compared."""
    weights = [_place_in_blocks(value) for value in (score, label)]
    agreed = pair_sum(score, label, [(pl.lit(1), sum(weights, pl.lit(0.0)))])
    return pl.when(_varied(score, label)).then(agreed - 1.0)


def _place_in_blocks(value: pl.Expr) -> pl.Expr:
    """``1 / (first place of the block - 1)``, 0 for the top; shared by those below."""
    above = value.rank("min", descending=True).cast(pl.Float64) - 1.0
    below = (above > 0).sum().cast(pl.Float64)
    return pl.when(above > 0).then(1.0 / above).otherwise(0.0) / below


def _place(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    """Place by ``x``, descending; equal ones by ``y``."""
    return both(x, y, descending=True).rank("ordinal").cast(pl.Float64)


def _vigna(x: pl.Expr, y: pl.Expr, w: pl.Expr, additive: bool) -> pl.Expr:
    """``<x, y> / (|x| |y|)``, where ``<x, y>`` sums the weights of pairs with signs."""

    def tied(key: pl.Expr) -> pl.Expr:
        if additive:
            others = key.rank("max").cast(pl.Int64) - key.rank("min").cast(pl.Int64)
            return (w * others).sum()
        return (w * (block_sum(w, key) - w)).sum() / 2.0

    one = pl.lit(1)
    terms = [(w, one), (one, w)] if additive else [(w, w)]
    every, same_x, same_y = tied(w * 0.0), tied(x), tied(y)
    apart = every - same_x - same_y + tied(both(x, y))
    signed = 2.0 * pair_sum(x, y, terms) - apart
    lengths = (every - same_x).sqrt() * (every - same_y).sqrt()
    return pl.when(_varied(x, y)).then(signed / lengths)


def _varied(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    """Whether neither order ties all documents."""
    return (x.n_unique() > 1) & (y.n_unique() > 1)
