"""Cascade: the user reads from the top and stops when satisfied."""

from __future__ import annotations

from typing import Literal

import polars as pl

from polars_rank.metrics.registry import metric
from polars_rank.ranking import Ideal, Ranking, ratio, reciprocal

__all__ = ["err", "nerr"]


@metric(rows="relevant", expected=False)
def err(
    r: Ranking, *, k: int | None = None, max_grade: float | Literal["query"] = 4
) -> pl.Expr:
    """Expected reciprocal rank: mean of 1 / the rank where the user is satisfied.

    ``sum over i <= k of q_i / i * product over j < i of (1 - q_j)`` with the stop
    probability ``q = (2^grade - 1) / 2^max_grade``. ``max_grade="query"`` takes the
    largest grade of the query.

    Undefined: no document has a positive grade.
    Errors: a grade above ``max_grade``; no closed form for ``ties="expected"``.
    Source: Chapelle, Metzler, Zhang and Grinspan, CIKM 2009, eq. 4 and 5.
    Equal to: gdeval ``ERR@k`` with ``max_grade=4``, before it rounds.
    Example: grades 0, 4 in rank order: err = 15/16 / 2.
    """
    if max_grade != "query":
        r.require(
            r.label > max_grade,
            f"a grade above max_grade={max_grade:g}; give the largest grade of the "
            'scale, e.g. err(max_grade=5), or max_grade="query"',
        )
        largest = pl.lit(float(max_grade))
    else:
        largest = r.share(r.label.max().repeat_by(1).explode())
    stop = (pl.lit(2.0).pow(r.grade) - 1.0) / pl.lit(2.0).pow(largest)
    return r.sum(r.unstopped(stop) * stop * r.at(reciprocal, k))


@metric(rows="relevant", expected=False)
def nerr(
    r: Ranking,
    *,
    k: int | None = None,
    max_grade: float | Literal["query"] = 4,
    ideal: Ideal = "judged",
) -> pl.Expr:
    """ERR as a share of the best ERR that the judged documents allow.

    Undefined: no document has a positive grade.
    Errors: a grade above ``max_grade``; no closed form for ``ties="expected"``.
    Source: Chapelle, Metzler, Zhang and Grinspan, CIKM 2009.
    Example: grades 0, 4 in rank order: nerr = 1/2.
    """
    best = r.ideal_over(ideal).ideal
    return ratio(err(r, k=k, max_grade=max_grade), err(best, k=k, max_grade=max_grade))
