"""Correlation of two orders of the same documents: by score and by label."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import polars as pl

from polars_rank.core.arguments import Cutoff
from polars_rank.core.expr import below_top, let, places, ratio
from polars_rank.core.metric.registry import SIGNED, metric
from polars_rank.core.parameters import Doc
from polars_rank.core.weights import DiscountLike, inverse
from polars_rank.core.words.ranking import Ranking
from polars_rank.metrics._pairs import (
    ONE,
    Pairs,
    block_sum,
    both,
    let_pairs,
    others_tied,
    pair_sum,
)

__all__ = [
    "kendall_distance",
    "kendall_tau",
    "pearson",
    "spearman",
    "tau_ap",
    "weighted_tau",
]


EitherTop: TypeAlias = Annotated[
    Cutoff,
    Doc(
        "cutoff: the first k documents of either order count",
        {None: "all documents count"},
    ),
]
Penalty: TypeAlias = Annotated[
    float, Doc("value of a pair that is tied in one order only")
]
TauVariant: TypeAlias = Annotated[
    Literal["a", "b", "c"],
    Doc(
        "how ties are corrected for",
        {
            "a": "ties are not corrected for (tau-a)",
            "b": "tied pairs are left out of the divisor (tau-b)",
            "c": "corrected for the number of distinct values (tau-c)",
        },
    ),
]
TauApVariant: TypeAlias = Annotated[
    Literal["a", "b"],
    Doc(
        "what ties count",
        {"a": "the mean over all orders of ties", "b": "ties count as agreement"},
    ),
]


@metric(
    depends_on="judged",
    needs_relevant=False,
    uses_scores=True,
    tie_sensitive=False,
    better="lower",
)
def kendall_distance(
    r: Ranking, *, k: EitherTop = None, penalty: Penalty = 0.5
) -> pl.Expr:
    """Normalized Kendall tau distance: share of pairs on which the orders disagree.

    ``discordant pairs / (n (n - 1) / 2)`` over the documents in the first k of either
    order, by score or by label, both descending. A pair that is tied in one
    order but not in the other counts as ``penalty``. Documents without a score or a
    label are left out.

    Undefined: fewer than two documents.
    Source: Fagin, Kumar and Sivakumar, SIAM J. Discrete Math. 2003 (k); Fagin et al.,
    PODS 2004, ``K^(p)`` (ties); Knight, JASA 1966 (counting).
    Equal to: ``(1 - tau) / 2`` of ``scipy.stats.kendalltau`` where nothing is tied.
    Example: scores 3, 2, 1 and labels 3, 1, 2: one pair of three is swapped: 1/3.
    """

    def swapped(pairs: Pairs) -> pl.Expr:
        tied_once = pairs.tied_x + pairs.tied_y - 2.0 * pairs.tied_both
        return ratio(pairs.discordant + penalty * tied_once, pairs.all)

    return r.reduce(let_pairs(*_pair(r, k), swapped))


@metric(
    depends_on="judged",
    needs_relevant=False,
    tie_sensitive=False,
    aliases={"kendalltau": {}},
    bounds=SIGNED,
)
def kendall_tau(
    r: Ranking, *, k: EitherTop = None, variant: TauVariant = "b"
) -> pl.Expr:
    """Kendall's tau: concordant minus discordant pairs, normalized.

    ``(C - D) / sqrt((n0 - n1) (n0 - n2))``: of ``n0 = n (n - 1) / 2`` pairs, C are in
    the same order by score and by label, D in opposite orders, ``n1`` tied in score
    and ``n2`` in label (tau-b). ``variant="a"``: ``(C - D) / n0``;
    ``"c"``: ``2 (C - D) / (n^2 (m - 1) / m)`` with m values of the coarser of the two.
    With k, the documents in the first k of either order. Documents without a score or a
    label are left out.

    Undefined: fewer than two documents; in b and c, all tied in one of the orders.
    Source: Kendall, Biometrika 1938 (a) and 1945 (b); Stuart, Biometrika 1953 (c).
    Equal to: ``scipy.stats.kendalltau``.
    Example: scores 3, 2, 1 and labels 3, 1, 2: (2 - 1) / 3.
    """
    score, label = _pair(r, k)
    if variant == "c":
        n = label.len().cast(pl.Float64)
        m = pl.min_horizontal(score.n_unique(), label.n_unique()).cast(pl.Float64)
        most = ratio(n.pow(2) * (m - 1.0), 2.0 * m)
        return r.reduce(ratio(let_pairs(score, label, lambda p: p.difference), most))

    def tau(pairs: Pairs) -> pl.Expr:
        if variant == "a":
            return ratio(pairs.difference, pairs.all)
        scores, labels = pairs.all - pairs.tied_x, pairs.all - pairs.tied_y
        return ratio(pairs.difference, scores.sqrt() * labels.sqrt())

    return r.reduce(let_pairs(score, label, tau))


@metric(depends_on="judged", needs_relevant=False, tie_sensitive=False, bounds=SIGNED)
def tau_ap(r: Ranking, *, k: EitherTop = None, variant: TauApVariant = "a") -> pl.Expr:
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
    return r.reduce(tau)


@metric(
    depends_on="judged",
    needs_relevant=False,
    tie_sensitive=False,
    aliases={"weightedtau": {}},
    bounds=SIGNED,
)
def weighted_tau(
    r: Ranking,
    *,
    k: EitherTop = None,
    weigher: Annotated[
        DiscountLike,
        Doc("discount of a rank: by name, or as a function of an expression"),
    ] = "position",
    weigh_by: Annotated[
        Literal["both", "score", "label"],
        Doc(
            "order whose ranks set the weights",
            {
                "both": "the mean of the values by score and by label",
                "score": "places by score weigh",
                "label": "places by label weigh",
            },
        ),
    ] = "both",
    additive: Annotated[
        bool, Doc("whether the weights of a pair are added, not multiplied")
    ] = True,
) -> pl.Expr:
    """Kendall's tau-b of pairs weighted by the places of their documents.

    A pair weighs ``w_a + w_b`` (or ``w_a w_b``, ``additive=False``), a document
    ``w = 1 / weigher(place)``: hyperbolic by default. Places are those by score
    (equal ones by label), by label (equal ones by score), or the mean of both values is
    taken. Documents as in ``kendall_tau``.

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
    taus = [_vigna(score, label, weigh(_place(*way)), additive) for way in chosen]
    return r.reduce(pl.mean_horizontal(taus, ignore_nulls=False))


@metric(
    depends_on="judged",
    needs_relevant=False,
    uses_scores=True,
    tie_sensitive=False,
    bounds=SIGNED,
)
def spearman(r: Ranking, *, k: EitherTop = None) -> pl.Expr:
    """Spearman's rho: correlation of the ranks by score and by label.

    Ties have the mean rank. With k, the documents in the first k of either order,
    ranked among themselves. Documents without a score or a label are left out.

    Undefined: fewer than two documents, or all tied in one of the orders.
    Source: Spearman, 1904; Zhao, "Metrics in Learn-To-Rank", 2023.
    Equal to: ``scipy.stats.spearmanr``.
    Example: scores 3, 2, 1 and labels 3, 1, 2: rho = 1/2.
    """
    score, label = _pair(r, k)
    rho = pl.corr(score.rank().cast(pl.Float64), label.rank().cast(pl.Float64))
    return r.reduce(rho.fill_nan(None))


@metric(
    depends_on="judged",
    needs_relevant=False,
    uses_scores=True,
    tie_sensitive=False,
    bounds=SIGNED,
)
def pearson(r: Ranking, *, k: EitherTop = None) -> pl.Expr:
    """Pearson's r: linear correlation of score and label.

    Documents as in ``kendall_tau``.

    Undefined: fewer than two documents, or all tied in one of the orders.
    Source: Pearson, 1895.
    Equal to: ``scipy.stats.pearsonr``.
    Example: scores 3, 2, 1 and labels 3, 1, 2: 1/2.
    """
    score, label = _pair(r, k)

    def linear(doc: pl.Expr) -> pl.Expr:
        shares = (_share_of_range(doc.struct.field(name)) for name in ("x", "y"))
        return pl.corr(*shares).fill_nan(None)

    gaps = pl.struct(x=_gap(score), y=_gap(label))
    return r.reduce(pl.when(_varied(score, label)).then(let(gaps, linear)))


def _pair(r: Ranking, k: int | None) -> tuple[pl.Expr, pl.Expr]:
    """Score and label of the documents that have both, of those in either top k."""
    both_known = r.raw_score.is_not_null() & r.label.is_not_null()
    score, label = r.raw_score.filter(both_known), r.label.filter(both_known)
    if k is None:
        return score, label
    top = (score.rank("min", descending=True) <= k) | (
        label.rank("min", descending=True) <= k
    )
    return score.filter(top), label.filter(top)


def _tau_ap_a(score: pl.Expr, label: pl.Expr) -> pl.Expr:
    """Tau_AP,a: the mean over all orders of tied documents.

    A document has ``C / (place - 1)``, its place running over its block; a document
    above it in the same block, or with the same label, agrees in half the orders.
    """

    def tau(doc: pl.Expr) -> pl.Expr:
        names = "score", "label", "first", "last", "harmonic"
        score, label, first, last, harmonic = map(doc.struct.field, names)
        size = (last - first + 1).cast(pl.Float64)
        through = harmonic.gather(last - 1)
        mean = (through - harmonic.gather((first - 2).clip(lower_bound=0))) / size
        mean = pl.when(first > 1).then(mean).otherwise(0.0)
        alike = both(label, -score).rank("min").cast(pl.Int64)
        same = alike - label.rank("min").cast(pl.Int64)
        above = pair_sum(score, label, [(ONE, mean)]) + (mean * same).sum() / 2.0
        run = through - harmonic.gather(first - 1)
        within = ((size - 1.0) - (first - 1.0) * run) / (2.0 * size)
        n = label.len().cast(pl.Float64)
        return pl.when(n > 1).then(2.0 * (above + within.sum()) / (n - 1.0) - 1.0)

    sums = (1.0 / places(label.len())).cum_sum()
    doc = pl.struct(
        score=score.rank("dense").cast(pl.Int64),
        label=label,
        first=score.rank("min", descending=True).cast(pl.Int64),
        last=score.rank("max", descending=True).cast(pl.Int64),
        harmonic=sums.shift(1, fill_value=0.0),
    )
    return let(doc, tau)


def _tau_ap_b(score: pl.Expr, label: pl.Expr) -> pl.Expr:
    """Tau_AP,b: the mean of both directions, over documents below the top block."""
    weights = [_place_in_blocks(value) for value in (score, label)]
    agreed = pair_sum(score, label, [(ONE, sum(weights, pl.lit(0.0)))])
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

    def weighed(doc: pl.Expr) -> pl.Expr:
        x, y, w = map(doc.struct.field, ("x", "y", "w"))
        terms = [(w, ONE), (ONE, w)] if additive else [(w, w)]
        pairs = Pairs(
            all=_tied_weight(x * 0, w, additive),  # one key for all
            concordant=pair_sum(x, y, terms),
            tied_x=_tied_weight(x, w, additive),
            tied_y=_tied_weight(y, w, additive),
            tied_both=_tied_weight(both(x, y), w, additive),
        )
        return pairs.let(tau)

    def tau(pairs: Pairs) -> pl.Expr:
        lengths = (pairs.all - pairs.tied_x).sqrt() * (pairs.all - pairs.tied_y).sqrt()
        return pairs.difference / lengths

    ranks = pl.struct(x=x.rank("dense"), y=y.rank("dense"), w=w)
    return pl.when(_varied(x, y)).then(let(ranks, weighed))


def _tied_weight(key: pl.Expr, w: pl.Expr, additive: bool) -> pl.Expr:
    """Weight of the pairs that share the key: of each ``w_a + w_b``, or ``w_a w_b``."""
    if additive:
        return (w * others_tied(key)).sum()
    return (w * (block_sum(w, key) - w)).sum() / 2.0


def _gap(value: pl.Expr) -> pl.Expr:
    """How far each value lies below the largest; and half of that, which is finite."""
    half = value.cast(pl.Float64) / 2.0
    return pl.struct(whole=below_top(value), half=half.max() - half)


def _share_of_range(gap: pl.Expr) -> pl.Expr:
    """Where each value lies between the largest (0) and the smallest (1)."""
    whole, half = gap.struct.field("whole"), gap.struct.field("half")
    most = whole.max()
    return pl.when(most.is_infinite()).then(half / half.max()).otherwise(whole / most)


def _varied(x: pl.Expr, y: pl.Expr) -> pl.Expr:
    """Whether neither order ties all documents."""
    return (x.n_unique() > 1) & (y.n_unique() > 1)
