"""Fairness of exposure: what groups of items get of the places in all lists."""

from __future__ import annotations

import polars as pl

from polars_rank.core.arguments import Cutoff, Rel
from polars_rank.core.expr import ratio
from polars_rank.core.list_totals import Totals
from polars_rank.core.registry import metric
from polars_rank.metrics.recommendation import Head

__all__ = ["pop_reo", "pop_rsp"]


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
