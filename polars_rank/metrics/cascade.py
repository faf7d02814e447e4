"""Cascade: the user reads from the top and stops when satisfied."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal, TypeAlias

import polars as pl

from polars_rank.core.arguments import Cutoff, MaxGrade
from polars_rank.core.expr import divide, ratio
from polars_rank.core.metric.registry import metric
from polars_rank.core.parameters import Doc, Meaning, Range
from polars_rank.core.rules import GAIN_OVERFLOW
from polars_rank.core.weights import LARGEST_EXP2_GRADE, power, reciprocal
from polars_rank.core.words.ranking import Ideal, Ranking

__all__ = ["err", "nerr", "pfound"]

Stop: TypeAlias = Annotated[
    Literal["exp2", "linear", "grade"],
    Doc(
        "probability that a document satisfies the user",
        {
            "exp2": "probability (2^grade - 1) / 2^max_grade",
            "linear": "probability grade / (max_grade + 1)",
            "grade": "probability grade / max_grade",
        },
    ),
]
ErrIdeal: TypeAlias = Annotated[
    Ideal, Meaning("ideal"), Doc("documents in the ideal order")
]

STOPS: dict[Stop, Callable[[pl.Expr, pl.Expr], pl.Expr]] = {
    "exp2": lambda grade, largest: (
        (pl.lit(2.0).pow(grade) - 1.0) / pl.lit(2.0).pow(largest)
    ),
    "linear": lambda grade, largest: divide(grade, largest + 1.0),
    "grade": lambda grade, largest: divide(grade, largest),
}


@metric(depends_on="relevant", aliases={"ERR": {}, "expected_reciprocal_rank": {}})
def err(
    r: Ranking,
    *,
    k: Cutoff = None,
    max_grade: MaxGrade,
    stop: Stop = "exp2",
) -> pl.Expr:
    """Expected reciprocal rank: mean of 1 / rank at which the user is satisfied.

    ``sum over i <= k of q_i / i * product over j < i of (1 - q_j)`` with the stop
    probability ``q = (2^grade - 1) / 2^max_grade``; ``stop="linear"``:
    ``grade / (max_grade + 1)``; ``stop="grade"``: ``grade / max_grade`` (with
    ``max_grade=1`` grades are the probabilities). ``max_grade="query"`` takes the
    largest grade of the query.

    Source: Chapelle, Metzler, Zhang and Grinspan, CIKM 2009, eq. 4 and 5.
    Equal to: gdeval ``ERR@k`` with ``max_grade=4``, before it rounds; pyNTCIREVAL
    ``ERR`` with "linear"; CatBoost ``ERR`` with "grade" and ``max_grade=1``.
    Example: grades 0, 4 in rank order: err = 15/16 / 2.
    """
    return _reciprocal_stop(r, k, stop, _largest(r, max_grade, stop))


@metric(depends_on="relevant", aliases={"nERR": {}})
def nerr(
    r: Ranking,
    *,
    k: Cutoff = None,
    max_grade: MaxGrade,
    ideal: ErrIdeal,
    stop: Stop = "exp2",
) -> pl.Expr:
    """ERR divided by the ERR of the ideal order of the judged documents.

    ``err / err of the ideal order``; ``ideal`` chooses the judged or the retrieved
    documents.

    Undefined: with ``ideal="retrieved"``, no retrieved document has one.
    Source: Chapelle, Metzler, Zhang and Grinspan, CIKM 2009.
    Equal to: pyNTCIREVAL ``nERR`` with ``stop="linear"``.
    Example: grades 0, 4 in rank order: nerr = 1/2.
    """
    largest = _largest(r, max_grade, stop)
    best = r.ideal_over(ideal).ideal
    return ratio(
        _reciprocal_stop(r, k, stop, largest), _reciprocal_stop(best, k, stop, largest)
    )


@metric(depends_on="relevant", aliases={"PFound": {"max_grade": 1}})
def pfound(
    r: Ranking,
    *,
    k: Cutoff = None,
    decay: Annotated[
        float,
        Range(above=0, most=1),
        Doc("probability that a user who is not satisfied goes on"),
    ] = 0.85,
    max_grade: MaxGrade,
) -> pl.Expr:
    """Probability that the user is satisfied in the first k before she gives up.

    ``sum over i <= k of decay^(i - 1) q_i * product over j < i of (1 - q_j)`` with the
    probability ``q = grade / max_grade`` that a document satisfies the user.

    Source: Gulin, Karpovich, Raskovalov and Segalovich, ROMIP 2009.
    Equal to: CatBoost ``PFound`` with ``max_grade=1``.
    Example: grades 0, 4 in rank order: pfound = 0.85.
    """
    stop = STOPS["grade"](r.grade, _largest(r, max_grade, "grade"))
    return r.sum(r.reach_probability(stop) * stop * r.rank_weight(power(decay), k))


def _largest(r: Ranking, max_grade: float | Literal["query"], stop: Stop) -> pl.Expr:
    """The top of the scale of grades: the number, or the query's highest grade."""
    if stop == "exp2":
        r.forbid(r.label > LARGEST_EXP2_GRADE, GAIN_OVERFLOW)
    if max_grade == "query":
        return r.broadcast(pl.when(r.label > 0).then(r.label).max())
    r.forbid(
        r.label > max_grade,
        f"a grade above max_grade={max_grade:g}; give the largest grade of the scale, "
        'e.g. err(max_grade=5), or max_grade="query"',
    )
    return pl.lit(float(max_grade))


def _reciprocal_stop(
    r: Ranking, k: int | None, stop: Stop, largest: pl.Expr
) -> pl.Expr:
    chance = STOPS[stop](r.grade, largest)
    return r.sum(r.reach_probability(chance) * chance * r.rank_weight(reciprocal, k))
