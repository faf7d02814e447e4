"""User models: expected gain per document that the user looks at (C/W/L).

``sum of W_i g_i / sum of W_i`` over all ranks i: W_i is the probability that the user
looks at rank i, 1 at the first; g_i is the grade scaled to 0 ... 1. A document without
gain changes only the sum of W, which has a closed form between two gains.
"""

from __future__ import annotations

from collections.abc import Callable
from math import fsum, log2
from typing import Annotated, NamedTuple, TypeAlias

import polars as pl

from polars_rank.core.arguments import FiniteCutoff, Persistence, TopGrade
from polars_rank.core.expr import divide
from polars_rank.core.metric.registry import metric
from polars_rank.core.parameters import Doc, Range, refuse
from polars_rank.core.weights import inverse, one, power, reciprocal
from polars_rank.core.words.ranking import Ranking
from polars_rank.metrics._series import harmonic, inverse_squares

__all__ = [
    "insq",
    "inst",
    "nerr8",
    "nerr9",
    "nerr10",
    "nerr11",
    "sdcg",
]

MinGrade: TypeAlias = Annotated[
    float, Range(least=0), Doc("bottom of the scale of grades, which gains 0")
]
Target: TypeAlias = Annotated[float, Range(above=0), Doc("gain that the user aims for")]
Depth: TypeAlias = Annotated[
    int, Range(least=1), Doc("number of ranks that the user may look at")
]


class Patience(NamedTuple):
    """Probability that the user looks at a rank, whatever she gained so far.

    ``weight(rank)`` is 1 at the first rank; ``below(rank)`` is the sum of the weights
    of all ranks below.
    """

    depth: int
    weight: Callable[[pl.Expr], pl.Expr]
    below: Callable[[pl.Expr], pl.Expr]

    @property
    def total(self) -> pl.Expr:
        """The sum of all weights."""
        return self.below(pl.lit(0.0))


def _steady(k: int) -> Patience:
    return Patience(k, one, lambda rank: k - rank)


def _reciprocal(k: int) -> Patience:
    end = harmonic(pl.lit(float(k)))
    return Patience(k, reciprocal, lambda rank: end - harmonic(rank))


def _geometric(p: float, depth: int) -> Patience:
    def below(rank: pl.Expr) -> pl.Expr:
        return divide(pl.lit(p).pow(rank) - p**depth, 1.0 - p)

    return Patience(depth, power(p), below)


def _towards(target: float, depth: int) -> Patience:
    """The patience of a user who aims for the gain ``target``."""
    t = 2.0 * target

    def below(rank: pl.Expr) -> pl.Expr:
        return t**2 * inverse_squares(rank + t, pl.lit(depth + t))

    return Patience(depth, lambda rank: (t / (rank + (t - 1.0))).pow(2), below)


# -- places that weigh the same in every list


@metric(depends_on="relevant", tie_mean=True, aliases={"SDCG": {}})
def sdcg(
    r: Ranking,
    *,
    k: FiniteCutoff = 10,
    max_grade: TopGrade,
    min_grade: MinGrade = 0,
) -> pl.Expr:
    """Scaled DCG: DCG@k divided by that of k documents of the highest grade.

    ``sum over i <= k of g_i / log2(i + 1), divided by that sum for g = 1``, with
    ``g = (grade - min_grade) / (max_grade - min_grade)``, 0 below ``min_grade``.

    Source: Jarvelin and Kekalainen, TOIS 2002; scaled: Moffat et al., TOIS 2017.
    Equal to: ir_measures ``SDCG``.
    Example: grades 0, 4 in rank order: sdcg@2 = (1 / log2(3)) / (1 + 1 / log2(3)).
    """
    most = fsum(1.0 / log2(place + 1) for place in range(1, k + 1))
    gain = scaled_gain(r, min_grade, max_grade)
    return divide(r.sum(gain * r.weight(inverse("log2"), k)), most)


@metric(depends_on="relevant", tie_mean=True, aliases={"INSQ": {}})
def insq(
    r: Ranking,
    *,
    T: Target = 1,
    max_grade: TopGrade,
    min_grade: MinGrade = 0,
    depth: Depth = 1000,
) -> pl.Expr:
    """Gain per document of a user who aims for gain T and grows less patient (INSQ).

    ``sum of W_i g_i / sum of W_i`` over ``depth`` ranks; ``W_i = (2T / x)^2``,
    ``x = i + 2T - 1``; ``g`` as in ``sdcg``.

    Source: Moffat, Scholer and Thomas, ADCS 2012.
    Equal to: ir_measures ``INSQ``, cwl_eval.
    Example: grades 0, 4 in rank order: insq(depth=2) = (4/9) / (1 + 4/9).
    """
    patience = _towards(T, depth)
    gain = scaled_gain(r, min_grade, max_grade)
    return divide(r.sum(gain * r.weight(patience.weight, depth)), patience.total)


# -- what was gained decides how far the user looks


@metric(depends_on="relevant", aliases={"INST": {}})
def inst(
    r: Ranking,
    *,
    T: Target = 1,
    max_grade: TopGrade,
    min_grade: MinGrade = 0,
    depth: Depth = 1000,
) -> pl.Expr:
    """Gain per document of a user whose patience falls as she nears gain T (INST).

    ``sum of W_i g_i / sum of W_i`` over ``depth`` ranks; from i to i + 1, W is
    multiplied by ``((x - 1) / x)^2``, ``x = i + 2T - G_i``; ``G`` is the gain so far,
    ``g`` as in ``sdcg``.

    Source: Moffat, Bailey, Scholer and Thomas, ADCS 2015.
    Equal to: ir_measures ``INST``, cwl_eval.
    Example: grades 0, 4 in rank order: inst(depth=2) = (4/9) / (1 + 4/9).
    """
    # While nothing is gained W_i x_(i-1)^2 stays as it is: every gain sets it anew.
    gain, t = scaled_gain(r, min_grade, max_grade), 2.0 * T
    after, before = r.cumulative_gain(gain), r.cumulative_gain_above(gain)
    change = ((r.rank + (t - 1.0) - after) / (r.rank + (t - 1.0) - before)).pow(2)
    will = r.cached(t**2 * change.cum_prod())
    will_above = r.cached(will.shift(1, fill_value=t**2))

    def looks_below(rank: pl.Expr) -> pl.Expr:
        """What the gain here changes in the sum of W below it."""
        end = depth + t
        return will * inverse_squares(
            rank + t - after, end - after
        ) - will_above * inverse_squares(rank + t - before, end - before)

    def look(rank: pl.Expr) -> pl.Expr:
        return will_above / (rank + (t - 1.0) - before).pow(2)

    looks = _towards(T, depth).total + r.sum(r.rank_weight(looks_below, depth))
    return r.sum(gain * r.rank_weight(look, depth)) / looks


# -- nearly expected reciprocal rank: a gain satisfies, so that the user stops


@metric(depends_on="relevant", aliases={"NERR8": {}})
def nerr8(
    r: Ranking,
    *,
    k: FiniteCutoff = 10,
    max_grade: TopGrade,
    min_grade: MinGrade = 0,
) -> pl.Expr:
    """Gain per document of a user who stops when satisfied, or at rank k.

    ``sum of W_i g_i / sum of W_i``; ``W_(i+1) = W_i (1 - g_i)`` for i below k, then 0;
    ``g`` as in ``sdcg``.

    Source: Azzopardi, Mackenzie and Moffat, ICTIR 2021, eq. 8.
    Equal to: ir_measures ``NERR8@k``, cwl_eval.
    Example: grades 2, 4 in rank order: nerr8@2 = (1/2 + 1/2) / (1 + 1/2).
    """
    return _unsatisfied(r, scaled_gain(r, min_grade, max_grade), _steady(k))


@metric(depends_on="relevant", aliases={"NERR9": {}})
def nerr9(
    r: Ranking,
    *,
    k: FiniteCutoff = 10,
    max_grade: TopGrade,
    min_grade: MinGrade = 0,
) -> pl.Expr:
    """As ``nerr8``, but she also leaves after rank i with probability 1 / (i + 1).

    ``W_(i+1) = W_i (1 - g_i) i / (i + 1)`` for i below k, then 0.

    Source: Azzopardi, Mackenzie and Moffat, ICTIR 2021, eq. 9.
    Equal to: ir_measures ``NERR9@k``, cwl_eval.
    Example: grades 2, 4 in rank order: nerr9@2 = (1/2 + 1/4) / (1 + 1/4).
    """
    return _unsatisfied(r, scaled_gain(r, min_grade, max_grade), _reciprocal(k))


@metric(depends_on="relevant", aliases={"NERR10": {}})
def nerr10(
    r: Ranking,
    *,
    p: Persistence = 0.9,
    max_grade: TopGrade,
    min_grade: MinGrade = 0,
    depth: Depth = 1000,
) -> pl.Expr:
    """As ``nerr8`` without k, but she goes on with probability p only.

    ``W_(i+1) = W_i (1 - g_i) p`` over ``depth`` ranks.

    Source: Azzopardi, Mackenzie and Moffat, ICTIR 2021, eq. 10.
    Equal to: ir_measures ``NERR10``, cwl_eval.
    Example: grades 2, 4 in rank order: nerr10 = (1/2 + 0.9/2) / (1 + 0.9/2).
    """
    return _unsatisfied(r, scaled_gain(r, min_grade, max_grade), _geometric(p, depth))


@metric(depends_on="relevant", aliases={"NERR11": {}})
def nerr11(
    r: Ranking,
    *,
    T: Target = 1,
    max_grade: TopGrade,
    min_grade: MinGrade = 0,
    depth: Depth = 1000,
) -> pl.Expr:
    """As ``nerr8`` without k, but she grows less patient, as in ``insq``.

    ``W_(i+1) = W_i (1 - g_i) ((i + 2T - 1) / (i + 2T))^2`` over ``depth`` ranks.

    Source: Azzopardi, Mackenzie and Moffat, ICTIR 2021, eq. 11.
    Equal to: ir_measures ``NERR11``, cwl_eval.
    Example: grades 2, 4 in rank order: nerr11 = (1/2 + 2/9) / (1 + 2/9).
    """
    return _unsatisfied(r, scaled_gain(r, min_grade, max_grade), _towards(T, depth))


def scaled_gain(r: Ranking, min_grade: float, max_grade: float) -> pl.Expr:
    """The grade scaled to 0 ... 1."""
    if min_grade >= max_grade:
        refuse("min_grade", f"below max_grade={max_grade:g}", min_grade)
    r.forbid(
        r.label > max_grade,
        f"a grade above max_grade={max_grade:g}; give the largest grade of the scale",
    )
    return r.normalized_grade(min_grade, max_grade)


def _unsatisfied(r: Ranking, gain: pl.Expr, patience: Patience) -> pl.Expr:
    """Gain per document of a user who is satisfied with the gain as probability."""
    satisfied = gain * r.reach_probability(gain)
    gained = r.sum(satisfied * r.rank_weight(patience.weight, patience.depth))
    missed = r.sum(satisfied * r.rank_weight(patience.below, patience.depth))
    return gained / (patience.total - missed)
