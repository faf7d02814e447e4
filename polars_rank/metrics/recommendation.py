"""Measures of a list beyond accuracy: novelty, popularity, surprise and diversity."""

from __future__ import annotations

from math import log
from typing import Annotated, Literal, TypeAlias

import polars as pl

from polars_rank.core.arguments import Cutoff, FiniteCutoff, Rel, Undefined
from polars_rank.core.expr import divide, ratio
from polars_rank.core.metric.registry import POSITIVE, metric
from polars_rank.core.parameters import Allowed, Doc, Range
from polars_rank.core.weights import inverse, one
from polars_rank.core.words.recommendations import Recommendations

__all__ = [
    "awrf",
    "category_diversity",
    "content_serendipity",
    "efd",
    "epc",
    "ild",
    "mean_popularity",
    "miscalibration",
    "novelty",
    "serendipity",
    "surprisal",
    "tail_items",
    "tail_share",
    "unseen",
    "user_coverage",
]

Of: TypeAlias = Annotated[
    Literal["users", "interactions"],
    Doc(
        "what the popularity of an item is a share of",
        {
            "users": "share of the users who interacted with the item",
            "interactions": "share of all interactions",
        },
    ),
]
Feature: TypeAlias = Annotated[
    str,
    Allowed(
        "the name of a column of items=",
        lambda name: isinstance(name, str) and bool(name),
    ),
    Doc("column of ``items`` with the feature"),
]
Head: TypeAlias = Annotated[
    float,
    Range(above=0, below=1),
    Doc("share of the interactions that the most popular items have"),
]


def self_information(r: Recommendations, of: Of = "users") -> pl.Expr:
    """Bits that an item says about who interacts with it; of a cold one, as of one."""
    if of == "users":
        return ratio(r.user_count, r.users.clip(1.0)).log(2.0)
    return ratio(r.interaction_count, r.interactions.clip(1.0)).log(2.0)


@metric(
    needs_relevant=False,
    bounds=POSITIVE,
    aliases={"miuf": {}, "MIUF": {}, "MeanInvUserFreq": {}},
)
def novelty(r: Recommendations, *, k: Cutoff = None, of: Of = "users") -> pl.Expr:
    """Mean self-information of the first k items, in bits: high if few know them.

    ``mean over the items of -log2(n(i) / N)``, where n(i) of the N users of the history
    interacted with the item. With ``of="interactions"``, n(i) and N are interactions.
    An item that the history lacks counts as if it had one.

    Undefined: the list or the history is empty.
    Source: Zhou et al., PNAS 107, 2010 (self-information); Vargas and Castells, RecSys
    2011, section 3.
    Equal to: RecTools ``MeanInvUserFreq(k)``.
    Example: a history of 4 users, items that 1 and 2 of them know: novelty@2 =
    (2 + 1) / 2.
    """
    return r.mean(self_information(r, of), k)


@metric(needs_relevant=False, aliases={"Surprisal": {}})
def surprisal(r: Recommendations, *, k: FiniteCutoff = 10) -> pl.Expr:
    """Novelty on a scale of 0 to 1: of k items that one user of all knows it is 1.

    ``sum over the first k items of log2(N / n(i)) / log2(N) / k``, where n(i) of the N
    users of the history interacted with the item; one that the history lacks counts as
    if one user had. Places that the list leaves empty count as 0.

    Undefined: the history has fewer than two users.
    Source: the documentation of RePlay, which calls it so.
    Equal to: RePlay ``Surprisal(k)``.
    Example: a history of 4 users, items that 1 and 2 of them know: surprisal@2 =
    (1 + 1/2) / 2.
    """
    most = r.user_count.log(2.0)
    bits = r.listed_count(k) * most - r.sum(r.users.clip(1.0).log(2.0) * r.in_top(k))
    return divide(ratio(bits, most), k)


@metric(
    needs_relevant=False,
    bounds=POSITIVE,
    better="lower",
    aliases={"AvgRecPopularity": {}, "AveragePopularity": {}},
)
def mean_popularity(
    r: Recommendations,
    *,
    k: Cutoff = None,
    normalize: Annotated[
        bool, Doc("whether to divide by the number of all interactions")
    ] = False,
) -> pl.Expr:
    """Mean number of interactions that the history has with the first k items.

    The lower, the less is recommended because it is popular.

    ``mean over the items of their interactions``; 0 for an item that it lacks. With
    ``normalize``, divided by the number of all interactions.

    Undefined: the list is empty.
    Source: Yin, Cui, Li, Yao and Chen, VLDB 2012, section 5.1 (average recommendation
    popularity, which other tools call ARP).
    Equal to: RecTools ``AvgRecPopularity(k, normalize)``, RecBole
    ``AveragePopularity``.
    Example: items with 1 and 2 interactions: mean_popularity@2 = 1.5.
    """
    value = r.mean(r.interactions, k)
    return ratio(value, r.interaction_count) if normalize else value


@metric(needs_relevant=False, aliases={"APLT": {}})
def tail_share(r: Recommendations, *, k: Cutoff = None, head: Head = 0.8) -> pl.Expr:
    """Share of the first k items that are in the long tail.

    ``items in the tail / items``. The head are the most popular items that together
    have the share ``head`` of the interactions, down to the one that reaches it, with
    all that have as many; the tail are all others.

    Undefined: the list is empty.
    Source: Abdollahpouri, Burke and Mobasher, FLAIRS 2019, eq. 3 (average percentage of
    long tail items, APLT).
    Example: interactions of a: 8, of b: 2; the list a, b: tail_share@2 = 1/2.
    """
    return r.mean(r.in_tail(head), k)


@metric(needs_relevant=False, bounds=POSITIVE, aliases={"ACLT": {}})
def tail_items(r: Recommendations, *, k: Cutoff = None, head: Head = 0.8) -> pl.Expr:
    """Number of the first k items that are in the long tail (see ``tail_share``).

    Undefined: never; an empty list has 0.
    Source: Abdollahpouri, Burke and Mobasher, FLAIRS 2019, eq. 4 (average coverage of
    long tail items, ACLT).
    Example: interactions of a: 8, of b: 2; the list a, b: tail_items@2 = 1.
    """
    return r.sum(r.in_tail(head) & r.in_top(k))


@metric(needs_relevant=False, aliases={})
def unseen(r: Recommendations, *, k: Cutoff = None) -> pl.Expr:
    """Share of the first k items with which the user never interacted.

    ``items that the history of the user lacks / items``.

    Undefined: the list is empty.
    Source: the documentation of RePlay, which calls it novelty; an empty list has 1
    there.
    Example: the list a, b of a user who interacted with a: unseen@2 = 1/2.
    """
    return r.mean(~r.seen, k)


@metric(needs_relevant=False, aliases={"EPC": {}})
def epc(r: Recommendations, *, k: Cutoff = None, rel: Rel) -> pl.Expr:
    """Expected popularity complement: how new the relevant items at the top are.

    ``sum of d(i) rel(i) (1 - n(i) / N) / sum of d(i)`` over the first k items, where
    n(i) of the N users of the history interacted with the item, and ``d(i) = 1 /
    log2(rank + 1)``.

    Undefined: the list or the history is empty.
    Source: Vargas and Castells, RecSys 2011, eq. 8.
    Example: a history of 4 users, a relevant item at rank 1 that 1 of them knows:
    epc@1 = 3/4.
    """
    return _discounted(r, 1.0 - ratio(r.users, r.user_count), k, rel)


@metric(needs_relevant=False, bounds=POSITIVE, aliases={"EFD": {}})
def efd(r: Recommendations, *, k: Cutoff = None, rel: Rel) -> pl.Expr:
    """Expected free discovery: bits of the relevant items at the top.

    ``sum of d(i) rel(i) -log2(n(i) / N) / sum of d(i)`` over the first k items, where
    n(i) of the N interactions of the history are with the item (one that it lacks
    counts as 1), and ``d(i) = 1 / log2(rank + 1)``.

    Undefined: the list or the history is empty.
    Source: Vargas and Castells, RecSys 2011, eq. 9.
    Example: a history of 8 interactions, a relevant item at rank 1 with 2 of them:
    efd@1 = 2.
    """
    return _discounted(r, self_information(r, "interactions"), k, rel)


def _discounted(
    r: Recommendations, value: pl.Expr, k: int | None, rel: float
) -> pl.Expr:
    weight = r.weight(inverse("log2"), k)
    return ratio(r.sum(weight * r.relevant(rel) * value), r.sum(weight))


@metric(needs_relevant=False, aliases={"Serendipity": {}})
def serendipity(r: Recommendations, *, k: Cutoff = None, rel: Rel) -> pl.Expr:
    """How much better than by popularity the relevant items are ranked.

    ``mean over the first k items of max(p(i) - u(i), 0) rel(i)`` with ``p(i) = (n + 1 -
    rank) / n`` and ``u(i)`` the same of the item's rank by popularity, where n is the
    number of items in the catalog. Items with as many interactions share a rank,
    without gaps; u is 0 for an item that the history lacks.

    Undefined: the list is empty.
    Source: the documentation of RecTools, after Murakami, Mori and Orihara, 2008.
    Equal to: RecTools ``Serendipity(k)``.
    Example: a catalog of 4 items, one relevant at rank 1, the third by popularity:
    serendipity@1 = 1 - 2/4.
    """
    n = r.item_count
    own = ratio(n + 1.0 - r.rank, n)
    usual = ratio(n + 1.0 - r.popularity_rank, n).fill_null(0.0)
    return r.mean((own - usual).clip(0.0) * r.relevant(rel), k)


@metric(needs_relevant=False, bounds=(0.0, 2.0))
def content_serendipity(
    r: Recommendations, *, k: Cutoff = None, feature: Feature = "category", rel: Rel
) -> pl.Expr:
    """How unlike the user's past the relevant items are.

    ``mean over the first k items of (1 - s(i)) rel(i)``, where s(i) is the mean
    similarity of the item and those with which the user interacted. The similarity of
    two categories is 1 if they are equal, of two vectors (an Array of numbers) their
    cosine. Interactions with items that ``items`` lacks do not count. (The measure
    ``serendipity`` looks at popularity instead.)

    Undefined: the list or the user's history is empty.
    Errors: several categories per item.
    Source: Zhang, Seaghdha, Quercia and Jambor, WSDM 2012 (similarity to the history),
    times relevance, as the package recommenders has it.
    Equal to: recommenders ``user_serendipity``, of vectors.
    Example: a past of the categories x and y, a relevant item x: content_serendipity@1
    = 1 - 1/2.
    """
    value = (1.0 - r.past_similarity(feature)) * r.relevant(rel)
    return pl.when(r.past_count(feature) > 0).then(r.mean(value, k))


@metric(needs_relevant=False, bounds=POSITIVE, aliases={"IntraListDiversity": {}})
def ild(
    r: Recommendations,
    *,
    k: Cutoff = None,
    feature: Feature = "category",
    undefined: Undefined = None,
) -> pl.Expr:
    """Intra-list diversity: mean distance between two of the first k items.

    ``sum over pairs of the distance / pairs``. The distance of two categories is 1 if
    they differ, of two lists of categories the number of those that only one of them
    has (Hamming), of two vectors (an Array of numbers) 1 less their cosine.
    ``undefined``: the value of a list of fewer than two items.

    Undefined: the list has fewer than two items, unless ``undefined`` is given.
    Source: Ziegler, McNee, Konstan and Lausen, WWW 2005, section 3.3 (as a distance).
    Equal to: RecTools ``IntraListDiversity(k)`` of Hamming distances, with
    ``undefined=0``.
    Example: items of the categories x, x and y: ild@3 = 2/3.
    """
    n = r.listed_count(k)
    found = ratio(r.distances(feature, k), n * (n - 1.0))
    return found if undefined is None else found.fill_null(undefined)


@metric(needs_relevant=False, aliases={"CategoricalDiversity": {}})
def category_diversity(
    r: Recommendations, *, k: FiniteCutoff = 10, feature: Feature = "category"
) -> pl.Expr:
    """Number of different categories among the first k items, divided by k.

    ``different categories / k``, whatever the length of the list.

    Undefined: never; an empty list has 0.
    Source: the documentation of RePlay (categorical diversity).
    Equal to: RePlay ``CategoricalDiversity(k)``.
    Example: items of the categories x, x and y: category_diversity@3 = 2/3.
    """
    counts = r.category_counts(feature, k)
    return divide(counts.list.len().cast(pl.Float64), k)


Alpha: TypeAlias = Annotated[
    float,
    Range(above=0, below=1),
    Doc("part of the past in the smoothed list, so that no share of it is 0"),
]


@metric(needs_relevant=False, bounds=POSITIVE, better="lower")
def miscalibration(
    r: Recommendations,
    *,
    k: Cutoff = None,
    feature: Feature = "category",
    alpha: Alpha = 0.01,
) -> pl.Expr:
    """How far the categories of the list are from those of the user's past, in nats.

    ``sum over categories of p log(p / q')`` with ``q' = (1 - alpha) q + alpha p``: p is
    the category's share of the user's interactions, q of the first k items. 0 is a list
    like the past. An item of several categories (a list) counts in each with an equal
    part of 1. Interactions with items that ``items`` lacks do not count.

    Undefined: no category is in the list, or none in the user's history.
    Source: Steck, RecSys 2018, eqs. 2 to 5, with items of equal weight.
    Example: a past of x and y, a list of x alone: miscalibration@1 =
    (log(0.5 / 0.995) + log(0.5 / 0.005)) / 2.
    """

    def term(q: pl.Expr, p: pl.Expr) -> pl.Expr:
        mixed = (1.0 - alpha) * q + alpha * p
        return pl.when(p > 0).then(p * (p / mixed).log()).otherwise(0.0)

    past = r.past_share(feature)
    weight = r.weight(one, k)
    diverging = r.sum_over_categories(feature, term, weight=weight, common=past, k=k)
    listed = r.sum_over_categories(
        feature, lambda _, p: p, weight=weight, common=past, k=k
    )
    # A category that the list lacks has q' = alpha p.
    found = diverging + (1.0 - listed).clip(0.0) * -log(alpha)
    return pl.when(r.past_count(feature) > 0).then(found)


@metric(needs_relevant=False, aliases={"AWRF": {}})
def awrf(
    r: Recommendations, *, k: Cutoff = None, feature: Feature = "category"
) -> pl.Expr:
    """Attention-weighted rank fairness: how near groups are to their share of the top.

    ``1 - JSD(e, t)``: e is the share of a group in the discounts ``1 / log2(rank + 1)``
    of the first k items, t its share of the items of the catalog, and JSD the
    Jensen-Shannon divergence with logarithms of base 2. 1 if both are equal. An item of
    several groups (a list) divides its discount, or its 1, evenly among them; those of
    no group are left out.

    Undefined: no item of the list is in a group.
    Source: Sapiezynski, Zeng, Robertson, Mislove and Wilson, WWW 2019 companion
    (attention and population); TREC Fair Ranking 2022 (the divergence).
    Example: a catalog of as many x as y, a list of x alone: awrf@1 = 1 - JSD((1, 0),
    (1/2, 1/2)) = 0.689.
    """

    def term(e: pl.Expr, t: pl.Expr) -> pl.Expr:
        middle = (e + t) / 2.0
        return e * (e / middle).log(2.0) + t * (t / middle).log(2.0)

    weight, share = r.weight(inverse("log2"), k), r.catalog_share(feature)
    listed = r.sum_over_categories(feature, term, weight=weight, common=share, k=k)
    there = r.sum_over_categories(
        feature, lambda _, t: t, weight=weight, common=share, k=k
    )
    # A group that the list lacks has e = 0, and t log2(t / (t / 2)) = t.
    divergence = (listed + 1.0 - there) / 2.0
    return 1.0 - divergence


@metric(needs_relevant=False, aliases={"CoveredUsers": {}})
def user_coverage(
    r: Recommendations,
    *,
    k: Cutoff = None,
    least: Annotated[int, Range(least=1), Doc("items that a list needs")] = 1,
) -> pl.Expr:
    """Share of users with at least so many items in the first k places.

    ``1 if the list has ``least`` items among its first k, else 0``, on average.

    Undefined: never.
    Source: the documentation of RecTools (covered users; sufficient recommendations).
    Equal to: RecTools ``CoveredUsers(k)`` and, with ``least=k``, ``SufficientReco(k)``.
    Example: the list a, b: user_coverage@10 = 1, user_coverage(least=10)@10 = 0.
    """
    return (r.listed_count(k) >= least).cast(pl.Float64)
