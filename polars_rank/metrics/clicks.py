"""Positions of clicks: measures of a list whose labels are clicks.

``p_skip(rank="position")`` of a column ``clicked`` is the value of an impression.
"""

from __future__ import annotations

import polars as pl

from polars_rank.core.arguments import Rel
from polars_rank.core.expr import ratio
from polars_rank.core.metric.registry import POSITIVE, metric
from polars_rank.core.words.ranking import Ranking

__all__ = ["first_click", "last_click", "mean_click", "mean_rr", "p_skip"]


def _hit_ranks(r: Ranking, rel: float) -> pl.Expr:
    """The rank where the document is relevant and was retrieved, else null."""
    return pl.when(r.relevant(rel)).then(r.rank)


@metric(depends_on="relevant", needs_relevant=False, bounds=POSITIVE)
def first_click(r: Ranking, *, rel: Rel) -> pl.Expr:
    """Rank of the first relevant document: the topmost click.

    Undefined: nothing relevant was retrieved.

    Source: Radlinski, Kurup and Joachims, CIKM 2008, as its reciprocal.
    Example: labels 0, 1, 1: first_click = 2.
    """
    return r.reduce(_hit_ranks(r, rel).min())


@metric(depends_on="relevant", needs_relevant=False, bounds=POSITIVE)
def last_click(r: Ranking, *, rel: Rel) -> pl.Expr:
    """Rank of the last relevant document: the lowest click.

    Undefined: nothing relevant was retrieved.

    Source: the depth that Wang, Walker and Zheng, KDD 2009, divide by.
    Example: labels 0, 1, 1, 0: last_click = 3.
    """
    return r.reduce(_hit_ranks(r, rel).max())


@metric(depends_on="relevant", needs_relevant=False, bounds=POSITIVE)
def mean_click(r: Ranking, *, rel: Rel) -> pl.Expr:
    """Mean rank of the relevant documents: the clicks.

    Undefined: nothing relevant was retrieved.

    Source: mean click rank, a measure of the depth of clicks in practice.
    Example: labels 0, 1, 1, 0: mean_click = (2 + 3) / 2.
    """
    return ratio(r.sum(_hit_ranks(r, rel)), r.hits_at(rel=rel))


@metric(depends_on="relevant", needs_relevant=False)
def mean_rr(r: Ranking, *, rel: Rel) -> pl.Expr:
    """Mean reciprocal rank of the relevant documents: the clicks.

    0 if nothing relevant was retrieved.

    Undefined: never.

    Source: Radlinski, Kurup and Joachims, CIKM 2008.
    Example: labels 1, 1, 0: mean_rr = (1 + 1/2) / 2.
    """
    reciprocals = r.sum(1.0 / _hit_ranks(r, rel))
    return ratio(reciprocals, r.hits_at(rel=rel)).fill_null(0.0)


@metric(depends_on="relevant", needs_relevant=False)
def p_skip(r: Ranking, *, rel: Rel) -> pl.Expr:
    """Share of nonrelevant documents (skips) down to the last relevant document.

    ``(last - hits) / last``.

    Undefined: nothing relevant was retrieved.

    Source: pSkip, Wang, Walker and Zheng, KDD 2009.
    Example: labels 0, 1, 1, 0: p_skip = 1/3.
    """
    last = r.reduce(_hit_ranks(r, rel).max())
    return ratio(last - r.hits_at(rel=rel), last)
