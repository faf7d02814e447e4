"""Fairness of exposure: what groups of items get of the places in all lists."""

from __future__ import annotations

from typing import Annotated, NamedTuple, TypeAlias

import polars as pl

from polars_rank.core.arguments import Cutoff, Persistence, Rel
from polars_rank.core.expr import divide, places, ratio
from polars_rank.core.metric.registry import POSITIVE, metric
from polars_rank.core.parameters import Doc, Range
from polars_rank.core.weights import inverse, power
from polars_rank.core.words.list_totals import Totals
from polars_rank.core.words.recommendations import Recommendations
from polars_rank.metrics.recommendation import Feature, Head

__all__ = [
    "exposure_disparity",
    "exposure_loss",
    "exposure_relevance",
    "impact_ratio",
    "pop_reo",
    "pop_rsp",
    "rnd",
    "treatment_ratio",
]

Group: TypeAlias = Annotated[
    Feature, Doc("Boolean column of ``items``: true for items of the protected group")
]


@metric(needs_relevant=False, better="lower", aliases={"PopRSP": {}})
def pop_rsp(t: Totals, *, k: Cutoff = None, head: Head = 0.8) -> pl.Expr:
    """Bias of recommending popular items: how unequal the chances of both groups are.

    ``standard deviation / mean`` of two chances to be among the first k: of popular
    items and of the long tail (see ``tail_share``). A chance is ``recommended items of
    the group / candidates``, both summed over all users; candidates of a user are the
    items of the catalog with which the user has not interacted. 0 if both are equal, 1
    if one group is never recommended (ranking-based statistical parity).

    Undefined: a group has no candidates, or no item is recommended.
    Source: Zhu, Wang and Caverlee, SIGIR 2020 (RSP@k), with groups by popularity.
    Example: a catalog of the popular item a and the others b and c, one user without a
    past, the list a, b: chances 1 and 1/2, pop_rsp = (1/4) / (3/4).
    """
    r = t.each
    tail = r.in_tail(head)
    chances = [
        ratio(
            t.sum(r.count(group, k)),
            t.sum(r.catalog_count(group) - r.past_item_count(group)),
        )
        for group in (~tail, tail)
    ]
    return _relative_spread(*chances)


@metric(
    depends_on="relevant",
    needs_relevant=False,
    better="lower",
    aliases={"PopREO": {}},
)
def pop_reo(t: Totals, *, k: Cutoff = None, head: Head = 0.8, rel: Rel) -> pl.Expr:
    """Bias of finding popular items: how unequal the recalls of both groups are.

    As ``pop_rsp``, with the user's relevant items in place of all: a chance is
    ``relevant items of the group that are recommended / relevant items of the group``,
    both summed over all users; those with which the user has interacted before are no
    candidates (ranking-based equal opportunity).

    Undefined: a group has no relevant candidates, or none is recommended.
    Source: Zhu, Wang and Caverlee, SIGIR 2020 (REO@k), with groups by popularity.
    Example: the popular item a and the others b and c, all relevant to one user without
    a past, the list a, b: recalls 1 and 1/2, pop_reo = (1/4) / (3/4).
    """
    r = t.each
    tail, relevant = r.in_tail(head), r.relevant(rel)
    recalls = [
        ratio(
            t.sum(r.count(relevant & group, k)),
            t.sum(r.count_all(relevant & group & ~r.seen)),
        )
        for group in (~tail, tail)
    ]
    return _relative_spread(*recalls)


def _relative_spread(a: pl.Expr, b: pl.Expr) -> pl.Expr:
    """Standard deviation of two numbers, divided by their mean."""
    return ratio((a - b).abs(), a + b)


@metric(
    depends_on="relevant",
    needs_relevant=False,
    bounds=POSITIVE,
    aliases={"DTR": {}},
)
def treatment_ratio(
    t: Totals, *, k: Cutoff = None, feature: Group = "protected"
) -> pl.Expr:
    """Disparate treatment ratio: what exposure a group gets for its relevance.

    ``(E(G) / M(G)) / (E(H) / M(H))``: G are the items of the protected group, and H all
    others; E is the sum of ``1 / log2(rank + 1)`` over a group's items among the first
    k, and M the sum of the positive grades of all its items, listed or not; both over
    all users. 1 is even treatment; below 1 the group is seen less than its relevance
    would warrant. (The number of items of a group divides both E and M.)

    Undefined: a group has no relevant items, or the others have no exposure.
    Source: Singh and Joachims, KDD 2018, section 4.2, over all users.
    Example: one user, items a (protected) and b, both relevant, the list b, a:
    treatment_ratio = (1 / log2(3)) / 1.
    """
    weight = t.each.weight(inverse("log2"), k)
    return _for_merit(t, weight, feature)


@metric(
    depends_on="relevant",
    needs_relevant=False,
    bounds=POSITIVE,
    aliases={"DIR": {}},
)
def impact_ratio(
    t: Totals, *, k: Cutoff = None, feature: Group = "protected"
) -> pl.Expr:
    """Disparate impact ratio: what clicks a group gets for its relevance.

    As ``treatment_ratio``, with expected clicks in place of exposure: a grade times ``1
    / log2(rank + 1)``.

    Undefined: a group has no relevant items, or no relevant item of the others is
    listed.
    Source: Singh and Joachims, KDD 2018, section 4.3, over all users.
    Example: one user, items a (protected, of grade 1) and b (2), the list b, a:
    impact_ratio = (1 / log2(3)) / (2 / 2).
    """
    weight = t.each.weight(inverse("log2"), k) * t.each.grade
    return _for_merit(t, weight, feature)


def _for_merit(t: Totals, weight: pl.Expr, feature: str) -> pl.Expr:
    r = t.each
    marked = r.group(feature)
    protected, others = (
        ratio(t.sum(r.sum(weight * group)), t.sum(r.sum(r.grade * group)))
        for group in (marked, ~marked)
    )
    return ratio(protected, others)


# -- expected exposure


class _Exposure(NamedTuple):
    """Sums over the catalog's items: of exposures, of those due, and of products."""

    squares: pl.Expr
    products: pl.Expr
    due_squares: pl.Expr


def _exposure(r: Recommendations, k: int | None, p: float, rel: float) -> _Exposure:
    """Return the sums; none of them is known for a user without relevant items.

    The m relevant items are due the mean of the first m places, all others that of the
    places below.
    """

    def first(places: pl.Expr) -> pl.Expr:
        seen = places if k is None else places.clip(upper_bound=k)
        return divide(1.0 - pl.lit(p).pow(seen), 1.0 - p)

    n, m = r.item_count, r.relevant_count(rel)
    high = ratio(first(m), m)
    low = ratio(first(n) - first(m), n - m).fill_null(0.0)
    weight = r.weight(power(p), k)
    got, relevant = r.sum(weight), r.sum(weight * r.relevant(rel))
    squares = r.sum(weight * weight)
    return _Exposure(
        squares=pl.when(m > 0).then(squares),
        products=high * relevant + low * (got - relevant),
        due_squares=high * high * m + low * low * (n - m),
    )


@metric(
    depends_on="relevant",
    needs_relevant=False,
    bounds=POSITIVE,
    better="lower",
    aliases={"EEL": {}, "EE-L": {}},
)
def exposure_loss(
    r: Recommendations, *, k: Cutoff = None, p: Persistence = 0.5, rel: Rel
) -> pl.Expr:
    """Expected exposure loss: how far items are from the exposure that they are due.

    ``sum over the catalog of (e(i) - t(i))^2``: an item of the list is seen with ``e(i)
    = p^(rank - 1)``, others not at all, and so are items below the first k. The m
    relevant items share the first m places evenly: each ``t(i)`` is their mean; all
    others share the places below. The list is the only one of its user: a system that
    draws lists at random may be fairer than any of these.

    Undefined: the user has no relevant item.
    Source: Diaz, Mitra, Ekstrand, Biega and Carterette, CIKM 2020 (EE-L), with the
    exposure of RBP.
    Example: a catalog of 2 items, both relevant, p = 1/2, a list of one: t = 3/4,
    exposure_loss = (1 - 3/4)^2 + (3/4)^2.
    """
    sums = _exposure(r, k, p, rel)
    loss = sums.squares - 2.0 * sums.products + sums.due_squares
    return loss.clip(0.0)


@metric(
    depends_on="relevant",
    needs_relevant=False,
    bounds=POSITIVE,
    better="lower",
    aliases={"EED": {}, "EE-D": {}},
)
def exposure_disparity(
    r: Recommendations, *, k: Cutoff = None, p: Persistence = 0.5, rel: Rel
) -> pl.Expr:
    """Expected exposure disparity: how unevenly the items are exposed.

    ``sum over the catalog of e(i)^2``, with the exposure of ``exposure_loss``. The list
    is the only one of its user, so that it depends on its length alone.

    Undefined: the user has no relevant item.
    Source: Diaz, Mitra, Ekstrand, Biega and Carterette, CIKM 2020 (EE-D), with the
    exposure of RBP.
    Example: a list of two items, p = 1/2: exposure_disparity = 1 + 1/4.
    """
    return _exposure(r, k, p, rel).squares


@metric(
    depends_on="relevant",
    needs_relevant=False,
    bounds=POSITIVE,
    aliases={"EER": {}, "EE-R": {}},
)
def exposure_relevance(
    r: Recommendations, *, k: Cutoff = None, p: Persistence = 0.5, rel: Rel
) -> pl.Expr:
    """Expected exposure relevance: how much of the exposure is where it is due.

    ``sum over the catalog of e(i) t(i)``, with the exposures of ``exposure_loss``.

    Undefined: the user has no relevant item.
    Source: Diaz, Mitra, Ekstrand, Biega and Carterette, CIKM 2020 (EE-R), with the
    exposure of RBP.
    Example: a catalog of 2 items, one relevant, p = 1/2, a list of the other one:
    t = 1 and 1/2, exposure_relevance = 1/2.
    """
    return _exposure(r, k, p, rel).products


@metric(needs_relevant=False, better="lower", aliases={"rND": {}})
def rnd(
    r: Recommendations,
    *,
    k: Cutoff = None,
    feature: Group = "protected",
    step: Annotated[int, Range(least=2), Doc("items from one cut to the next")] = 10,
) -> pl.Expr:
    """Normalized discounted difference: how far the top is from the list as a whole.

    ``sum over cuts i of |S(i) / i - S(n) / n| / log2(i) / Z``: the cuts are after every
    ``step`` of the first k items, S(i) of the first i are in the protected group, and n
    is the number of items. Z is the larger of the sums with all protected items first
    and last. 0 is a group that is spread evenly, 1 one that is all on top or all below.

    Undefined: the list has fewer than ``step`` items, or all or none are protected.
    Source: Yang and Stoyanovich, SSDBM 2017 (rND).
    Example: the list a, b, c, d, a and b protected, step 2: the cuts 2 and 4, rnd =
    (|2/2 - 1/2| + 0) / (1/2) = 1.
    """
    mark = pl.element()
    n, size = mark.len().cast(pl.Float64), mark.sum()
    place = places(mark.len())

    def discounted(above: pl.Expr) -> pl.Expr:
        gap = (above / place - size / n).abs() / place.log(2.0)
        return gap.filter(place % step == 0.0).sum()

    first = discounted(place.clip(upper_bound=size))
    last = discounted((place - (n - size)).clip(0.0))
    value = ratio(discounted(mark.cum_sum()), pl.max_horizontal(first, last))
    marks = r.listed(r.group(feature).cast(pl.Float64), k)
    return marks.list.eval(value).list.first()
