"""Measures of the catalog: how the lists of all users share its items."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

import polars as pl

from polars_rank.core.arguments import Cutoff
from polars_rank.core.expr import places, ratio
from polars_rank.core.metric.registry import POSITIVE, metric
from polars_rank.core.parameters import Doc
from polars_rank.core.words.recommended_items import Catalog

__all__ = ["coverage", "effective_items", "entropy", "gini", "personalization"]

Over: TypeAlias = Annotated[
    Literal["catalog", "recommended"],
    Doc(
        "items whose numbers are compared",
        {
            "catalog": "all items of the catalog: those never recommended count as 0",
            "recommended": "only items that some list has",
        },
    ),
]


@metric(
    needs_relevant=False,
    aliases={
        "catalog_coverage": {},
        "CatalogCoverage": {},
        "Coverage": {},
        "ItemCoverage": {},
    },
)
def coverage(c: Catalog, *, k: Cutoff = None) -> pl.Expr:
    """Share of the catalog's items that at least one list has in its first k.

    ``different items in all lists / items of the catalog``.

    Undefined: there is no catalog, or it has no items.
    Source: Ge, Delgado-Battenfeld and Jannach, RecSys 2010, section 2 (catalog
    coverage).
    Equal to: RecTools ``CatalogCoverage(k, normalize=True)``.
    Example: lists a, b and a, c, and a catalog of 4 items: 3/4.
    """
    return ratio(c.recommended_count, c.item_count)


@metric(
    needs_relevant=False,
    better="lower",
    aliases={
        "gini_index": {},
        "GiniIndex": {"normalize": False},
        "ListGini": {"normalize": False},
    },
)
def gini(
    c: Catalog,
    *,
    k: Cutoff = None,
    over: Over = "catalog",
    normalize: Annotated[
        bool, Doc("whether one item that has all recommendations is 1, not 1 - 1/n")
    ] = True,
) -> pl.Expr:
    """Gini index of the items: 0 if all are recommended equally often, 1 if one is.

    ``sum over j of (2 j - n - 1) p(j) / (n - 1)``, where p(j) are the shares of n items
    in all recommendations, from the smallest. ``normalize=False`` divides by n.

    Undefined: there is no recommendation or, with ``normalize``, only one item.
    Source: Gini, 1912; Castells, Hurley and Vargas, in Recommender Systems Handbook,
    3rd ed., 2022, section 16.2.
    Equal to: LensKit ``ListGini(k)`` and RecBole ``GiniIndex``, with
    ``normalize=False``.
    Example: lists a, b and a, c: gini(over=recommended) = (2 * 1/2 - 2 * 1/4) / 2.
    """
    m = c.recommended_count
    n = c.item_count if over == "catalog" else m
    total = c.sum(c.counts)
    placed = c.sum(c.counts.list.sort(), lambda count: count * places(pl.len()))
    # Items without a recommendation come first, so that place r is place n - m + r.
    most = n - 1.0 if normalize else n
    return ratio(2.0 * ratio(placed, total) + (n - 2.0 * m - 1.0), most)


@metric(
    needs_relevant=False,
    bounds=POSITIVE,
    aliases={
        "shannon_entropy": {},
        "ShannonEntropy": {},
        "distributional_coverage": {},
    },
)
def entropy(c: Catalog, *, k: Cutoff = None) -> pl.Expr:
    """Entropy of the recommendations, in bits: how evenly they spread over items.

    ``-sum over items of p log2 p``, where p is the share of an item in all
    recommendations.

    Undefined: there is no recommendation.
    Source: Shannon, 1948; Castells, Hurley and Vargas, in Recommender Systems Handbook,
    3rd ed., 2022, section 16.2.
    Equal to: recommenders ``distributional_coverage``.
    Example: lists a, b and a, c: 1/2 + 2 * 2/4 = 1.5.
    """
    total = c.sum(c.counts)
    spread = c.sum(c.counts, lambda count: count * count.log(2.0))
    return pl.when(total > 0).then(total.log(2.0) - spread / total)


@metric(needs_relevant=False, bounds=POSITIVE)
def effective_items(c: Catalog, *, k: Cutoff = None) -> pl.Expr:
    """Number of items that, equally often recommended, would have this entropy.

    ``2^entropy``: the true diversity of order 1.

    Undefined: there is no recommendation.
    Source: Hill, Ecology 54, 1973, with a = 1.
    Example: lists a, b and a, c: 2^1.5.
    """
    return pl.lit(2.0).pow(entropy(c, k=k))


@metric(needs_relevant=False, aliases={"Personalization": {}})
def personalization(c: Catalog, *, k: Cutoff = None) -> pl.Expr:
    """How much the lists of users differ: 1 less the mean cosine of two of them.

    The cosine of two lists is the number of common items, divided by the root of the
    product of their lengths. No pair of users is ever made: ``1 - (sum over items of
    s^2 - U) / (U (U - 1))``, where U is the number of lists, and s the sum over the
    lists with the item of 1 / sqrt(length).

    Undefined: there are fewer than two lists with items.
    Source: the mean over pairs of the cosine of Salton, 1971; other tools call 1 less
    it personalization, or inter-list diversity.
    Example: lists a, b and a, c: 1 - 1/2.
    """
    lists = c.list_count
    alike = c.sum(c.shares, lambda share: share * share)
    return 1.0 - ratio(alike - lists, lists * (lists - 1.0))
