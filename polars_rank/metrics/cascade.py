"""Cascade: the user reads from the top and stops when satisfied."""

from __future__ import annotations

from typing import Literal

import polars as pl

from polars_rank.metrics.registry import metric
from polars_rank.ranking import OVERFLOW, Ideal, Ranking, ratio
from polars_rank.weights import LARGEST_EXP2_GRADE, reciprocal

__all__ = ["err", "nerr"]


@metric(rows="relevant", expected=False)
def err(
    r: Ranking, *, k: int | None = None, max_grade: float | Literal["query"] = 4
) -> pl.Expr:
    """Expected reciprocal rank: mean of 1 / rank where the user is satisfied.

    ``sum over i <= k of q_i / i * product over j < i of (1 - q_j)`` with the stop
    probability ``q = (2^grade - 1) / 2^max_grade``. ``max_grade="query"`` takes the
    largest grade of the query.

    Undefined: no document has a positive grade.
    Errors: a grade above ``max_grade``; no closed form for ``ties="expected"``.
    Source: Chapelle, Metzler, Zhang and Grinspan, CIKM 2009, eq. 4 and 5.
    Equal to: gdeval ``ERR@k`` with ``max_grade=4``, before it rounds.
    Example: grades 0, 4 in rank order: err = 15/16 / 2.
    """
    return _reciprocal_stop(r, k, _largest(r, max_grade))


@metric(rows="relevant", expected=False)
def nerr(
    r: Ranking,
    *,
    k: int | None = None,
    max_grade: float | Literal["query"] = 4,
    ideal: Ideal = "judged",
) -> pl.Expr:
    """ERR as a share of the best ERR that the judged documents allow.

    ``err / err of the best order``, of the judged or (``ideal``) retrieved documents.

    Undefined: no document has a positive grade (with ``ideal="retrieved"``: no
    retrieved one).
    Errors: a grade above ``max_grade``; no closed form for ``ties="expected"``.
    Source: Chapelle, Metzler, Zhang and Grinspan, CIKM 2009.
    Example: grades 0, 4 in rank order: nerr = 1/2.
    """
    largest = _largest(r, max_grade)
    best = r.ideal_over(ideal).ideal
    return ratio(_reciprocal_stop(r, k, largest), _reciprocal_stop(best, k, largest))


def _largest(r: Ranking, max_grade: float | Literal["query"]) -> pl.Expr:
    """The grade that satisfies for sure, nearly."""
    r.require(r.label > LARGEST_EXP2_GRADE, OVERFLOW)
    if max_grade == "query":
        return r.constant(r.label.max())
    r.require(
        r.label > max_grade,
        f"a grade above max_grade={max_grade:g}; give the largest grade of the scale, "
        'e.g. err(max_grade=5), or max_grade="query"',
    )
    return pl.lit(float(max_grade))


def _reciprocal_stop(r: Ranking, k: int | None, largest: pl.Expr) -> pl.Expr:
    stop = (pl.lit(2.0).pow(r.grade) - 1.0) / pl.lit(2.0).pow(largest)
    return r.sum(r.unstopped(stop) * stop * r.at(reciprocal, k))
