"""Precision where recall reaches a given level, or at a multiple of R."""

from __future__ import annotations

from functools import reduce
from operator import add
from typing import Annotated, Literal, TypeAlias

import polars as pl

from polars_rank.core.arguments import Rel, Share
from polars_rank.core.expr import ratio
from polars_rank.core.metric.registry import metric
from polars_rank.core.parameters import Doc, Range
from polars_rank.core.words.ranking import Ranking

__all__ = ["eleven_point_ap", "interpolated_precision", "r_precision"]

Rounding: TypeAlias = Annotated[
    Literal["nearest", "up"],
    Doc(
        "how recall * R is rounded to a whole number",
        {
            "nearest": "recall * R is rounded to the nearest whole number",
            "up": "recall * R is rounded by floor(recall * R + 0.9)",
        },
    ),
]


@metric(
    depends_on="relevant",
    tie_mean=True,
    suffix=("multiple",),
    aliases={"Rprec": {}, "Rprec_mult": {}, "retrieval_r_precision": {}},
)
def r_precision(
    r: Ranking,
    *,
    rel: Rel,
    multiple: Annotated[
        float, Range(above=0), Doc("the cutoff is this multiple of R")
    ] = 1.0,
) -> pl.Expr:
    """R-precision: precision at rank R, the number of relevant documents.

    ``hits(R) / R``; with ``multiple``, precision at ``floor(multiple * R + 0.9)``.

    Source: Buckley and Voorhees, TREC (MIT Press), 2005, ch. 3.
    Equal to: trec_eval ``Rprec`` and ``Rprec_mult``, ir_measures ``Rprec``.
    Example: grades 1, 0, 1, 0, 1 in rank order: R = 3, r_precision = 2/3.
    """

    def place(relevant: pl.Expr) -> pl.Expr:
        return (multiple * relevant + 0.9).floor()

    cutoff = r.broadcast(place(r.relevant(rel).sum()))
    return ratio(r.hits_at(cutoff, rel), place(r.relevant_count(rel)))


@metric(
    depends_on="relevant",
    suffix=("recall",),
    aliases={"IPrec": {}, "iprec_at_recall": {}},
)
def interpolated_precision(
    r: Ranking,
    *,
    rel: Rel,
    recall: Annotated[Share, Doc("recall to be reached")] = 0.5,
    rounding: Rounding = "nearest",
) -> pl.Expr:
    """Highest precision at any rank where recall is at least ``recall``.

    ``max of hits_i / i over the ranks i with hits_i >= recall * R``, the bound rounded
    to a whole number; 0 if none. ``rounding="up"`` is ``floor(recall * R + 0.9)``.

    Source: Salton and McGill, 1983; Manning, Raghavan and Schuetze, 2008, ch. 8.4.
    Equal to: trec_eval 10 ``iprec_at_recall`` (up to 9.0: ``rounding="up"``),
    ir_measures ``IPrec@recall``.
    Example: grades 0, 1, 1 in rank order: interpolated_precision(recall=0.5) = 2/3.
    """
    bound = recall * r.relevant(rel).sum()
    least = r.broadcast(
        bound.round(mode="half_away_from_zero")
        if rounding == "nearest"
        else (bound + 0.9).floor()
    )
    hits = r.cumulative_hits(rel)
    precision = pl.when(r.relevant(rel) & (hits >= least)).then(hits / r.rank)
    return r.reduce(precision.max().fill_null(0.0))


@metric(depends_on="relevant", aliases={"11pt_avg": {}})
def eleven_point_ap(r: Ranking, *, rel: Rel, rounding: Rounding = "nearest") -> pl.Expr:
    """Mean of the interpolated precision at recall 0, 0.1, 0.2 ... 1.

    Source: Salton and McGill, 1983; Manning, Raghavan and Schuetze, 2008, ch. 8.4.
    Equal to: trec_eval 10 ``11pt_avg`` (up to 9.0: ``rounding="up"``).
    Example: grades 0, 1 in rank order: eleven_point_ap = 1/2.
    """
    points = [
        interpolated_precision(r, rel=rel, recall=i / 10, rounding=rounding)
        for i in range(11)
    ]
    # Polars divides by a literal as it likes: by 11, or times 1/11.
    eleven = 0.0 * points[0] + 11.0
    return reduce(add, points) / eleven
