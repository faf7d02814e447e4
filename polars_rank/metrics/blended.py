"""Blended ratio: precision and cumulative gain in one number (NTCIR)."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import polars as pl

from polars_rank.core.arguments import Cutoff, Rel
from polars_rank.core.expr import per, ratio
from polars_rank.core.metric.registry import metric
from polars_rank.core.parameters import Doc, Range
from polars_rank.core.weights import Gain, GainLike, one, power
from polars_rank.core.words.ranking import Ranking
from polars_rank.metrics.binary import size

__all__ = ["ncu_gu", "ncu_rb", "o_measure", "p_measure", "p_plus", "q_measure"]

Beta: TypeAlias = Annotated[
    float,
    Range(least=0),
    Doc("weight of the gain in the blended ratio; 0 makes it precision"),
]


@metric(depends_on="relevant", aliases={"QMeasure": {}})
def q_measure(
    r: Ranking,
    *,
    k: Cutoff = None,
    beta: Beta = 1,
    gain: Gain,
    rel: Rel,
) -> pl.Expr:
    """Q-measure: average precision with the blended ratio in place of precision.

    ``sum over relevant ranks i <= k of BR_i, divided by min(k, R)`` with
    ``BR_i = (hits_i + beta cg_i) / (i + beta cg*_i)``: cg is the gain at or above rank
    i, cg* that of the ideal order of the judged documents. ``beta=0`` is AP.
    Documents below ``rel`` gain nothing.

    Source: Sakai, NTCIR-4, 2004; cutoff: Sakai and Song, SIGIR 2011.
    Equal to: pyNTCIREVAL ``QMeasure``.
    Example: grades 1, 0, 2 in rank order: q_measure = (2/3 + 5/6) / 2.
    """
    ratios = _of_relevant(r, rel, _blended(r, beta, gain, rel) * r.rank_weight(one, k))
    return per(r.sum(ratios), size("min_k_R", r, k, rel))


@metric(
    depends_on="relevant",
    aliases={"NCUguBR": {}, "NCUguP": {"beta": 0}},
)
def ncu_gu(
    r: Ranking,
    *,
    stop: Annotated[
        GainLike,
        Doc("probability of stopping at a grade, given in the same ways as gain"),
    ] = ("linear"),
    beta: Beta = 1,
    gain: Gain,
    rel: Rel,
) -> pl.Expr:
    """Normalized cumulative utility: users stop at relevant documents, by grade.

    ``sum over relevant ranks i of stop_i BR_i, divided by the sum of stop over all
    relevant documents``; ``BR`` as in ``q_measure``, ``stop`` a function of the grade
    as ``gain`` is. ``beta=0``: precision in place of ``BR``.

    Source: Sakai and Robertson, EVIA 2008 (graded-uniform).
    Equal to: pyNTCIREVAL ``NCUguBR``, ``NCUguP`` with ``beta=0``.
    Example: grades 1, 0, 2 in rank order: ncu_gu = (2/3 + 2 * 5/6) / 3.
    """
    chance = r.gain(stop, rel)
    ratios = _of_relevant(r, rel, chance * _blended(r, beta, gain, rel))
    return ratio(r.sum(ratios), r.sum(chance)).fill_null(0.0)


@metric(
    depends_on="relevant",
    aliases={"NCUrbBR": {}, "NCUrbP": {"beta": 0}},
)
def ncu_rb(
    r: Ranking,
    *,
    gamma: Annotated[
        float,
        Range(above=0, most=1),
        Doc("probability of continuing after a relevant document"),
    ] = 0.95,
    beta: Beta = 1,
    gain: Gain,
    rel: Rel,
) -> pl.Expr:
    """Normalized cumulative utility: users stop at relevant documents, by order.

    ``sum over relevant ranks i of gamma^(hits_i - 1) BR_i, divided by the sum of
    gamma^(j - 1) for j = 1 ... R``; ``BR`` as in ``q_measure``.

    Source: Sakai and Robertson, EVIA 2008 (rank-biased).
    Equal to: pyNTCIREVAL ``NCUrbBR``, ``NCUrbP`` with ``beta=0``.
    Example: grades 1, 0, 2 in rank order: ncu_rb = (2/3 + 0.95 * 5/6) / 1.95.
    """
    chance = power(gamma)(r.cumulative_hits(rel))
    ratios = _of_relevant(r, rel, chance * _blended(r, beta, gain, rel))
    return ratio(r.sum(ratios), r.sum(_of_relevant(r, rel, chance)))


@metric(depends_on="relevant", aliases={"OMeasure": {}})
def o_measure(r: Ranking, *, beta: Beta = 1, gain: Gain, rel: Rel) -> pl.Expr:
    """O-measure: the blended ratio at the first relevant document.

    ``BR`` as in ``q_measure``.

    Source: Sakai, IPSJ TOD 48 (SIG9), 2007.
    Equal to: pyNTCIREVAL ``OMeasure``.
    Example: grades 0, 1, 2 in rank order: o_measure = 2/5.
    """
    return r.sum(r.is_first_relevant(rel) * _blended(r, beta, gain, rel))


@metric(depends_on="relevant", aliases={"PMeasure": {}})
def p_measure(r: Ranking, *, beta: Beta = 1, gain: Gain, rel: Rel) -> pl.Expr:
    """P-measure: the blended ratio at the first of the best documents retrieved.

    ``BR`` as in ``q_measure``, at the first document of the highest grade retrieved.

    Source: Sakai, IPSJ TOD 48 (SIG9), 2007.
    Equal to: pyNTCIREVAL ``PMeasure``.
    Example: grades 0, 1, 2 in rank order: p_measure = 5/6.
    """
    best = _is_best(r, rel)
    preferred = best & (_count(r, best) == 1.0)
    ratios = pl.when(preferred).then(_blended(r, beta, gain, rel)).otherwise(0.0)
    return r.sum(ratios)


@metric(depends_on="relevant", aliases={"PPlusMeasure": {}})
def p_plus(r: Ranking, *, beta: Beta = 1, gain: Gain, rel: Rel) -> pl.Expr:
    """P+: mean blended ratio of the relevant documents down to the first best one.

    ``BR`` as in ``q_measure``; the list ends at the first document of the highest
    grade retrieved.

    Source: Sakai, IPSJ TOD 48 (SIG9), 2007.
    Equal to: pyNTCIREVAL ``PPlusMeasure``.
    Example: grades 0, 1, 2 in rank order: p_plus = (2/5 + 5/6) / 2.
    """
    best = _is_best(r, rel)
    none_above = _count(r, best) - best == 0.0
    read = r.relevant(rel) & r.rank.is_not_null() & none_above
    ratios = pl.when(read).then(_blended(r, beta, gain, rel)).otherwise(0.0)
    return ratio(r.sum(ratios), r.sum(read)).fill_null(0.0)


def _blended(r: Ranking, beta: float, gain: Gain, rel: float) -> pl.Expr:
    """The ratio ``(hits + beta cg) / (rank + beta cg*)`` at every rank."""
    gained = r.cumulative_gain(r.gain(gain, rel))
    best = r.ideal_cumulative_gain(gain, rel)
    return (r.cumulative_hits(rel) + beta * gained) / (r.rank + beta * best)


def _of_relevant(r: Ranking, rel: float, value: pl.Expr) -> pl.Expr:
    return pl.when(r.relevant(rel)).then(value).otherwise(0.0)


def _is_best(r: Ranking, rel: float) -> pl.Expr:
    """Whether the document has the highest grade of the relevant ones retrieved."""
    grade = pl.when(r.rank.is_not_null() & r.relevant(rel)).then(r.label)
    return (grade == r.broadcast(grade.max())).fill_null(value=False)


def _count(r: Ranking, which: pl.Expr) -> pl.Expr:
    return r.cached(which.cum_sum().cast(pl.Float64))
