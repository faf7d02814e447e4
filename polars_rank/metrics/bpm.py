"""Bejeweled Player Model: the user stops once she has gained or seen enough."""

from __future__ import annotations

from typing import Annotated

import polars as pl

from polars_rank.core.arguments import FiniteCutoff, Share, TopGrade
from polars_rank.core.metric.registry import metric
from polars_rank.core.parameters import Doc, Range
from polars_rank.core.weights import one
from polars_rank.core.words.ranking import Ranking
from polars_rank.metrics.user_models import MinGrade, Target, scaled_gain

__all__ = ["bpm", "bpm_dynamic"]


@metric(depends_on="relevant", aliases={"BPM": {}})
def bpm(
    r: Ranking,
    *,
    k: FiniteCutoff = 10,
    T: Target = 1,
    max_grade: TopGrade,
    min_grade: MinGrade = 0,
) -> pl.Expr:
    """Gain per document of a user who stops once she has gained T or seen k documents.

    The mean of ``g`` (as in ``sdcg``) down to the first rank where the cumulative gain
    is at least T, or down to k. The static Bejeweled Player Model.

    Source: Zhang, Liu, Li, Zhang, Xu and Ma, SIGIR 2017.
    Equal to: ir_measures ``BPM@k``, cwl_eval ``BPM``.
    Example: grades 0, 4, 4 in rank order: bpm = 1/2.
    """
    gain = scaled_gain(r, min_grade, max_grade)
    looking = r.cumulative_gain_above(gain) < T
    last = looking & (r.cumulative_gain(gain) >= T)
    unseen = pl.when(last).then(r.rank_weight(lambda rank: k - rank, k)).otherwise(0.0)
    gained = pl.when(looking).then(gain * r.rank_weight(one, k)).otherwise(0.0)
    return r.sum(gained) / (k - r.sum(unseen))


@metric(depends_on="relevant")
def bpm_dynamic(
    r: Ranking,
    *,
    k: FiniteCutoff = 10,
    T: Target = 1,
    hb: Annotated[
        float, Range(least=0), Doc("how much surplus gain raises the target")
    ] = 1,
    hc: Annotated[
        float, Range(least=0), Doc("how much surplus gain raises the cutoff")
    ] = 0,
    median: Annotated[Share, Doc("gain that changes neither of them")] = 0.5,
    max_grade: TopGrade,
    min_grade: MinGrade = 0,
) -> pl.Expr:
    """As ``bpm``, but the gain so far changes the target and how far the user looks.

    At rank i the target is ``T + hb d`` and the cutoff is ``k + hc d``, where
    ``d = sum over j < i of (g_j - median)``.

    Source: Zhang, Liu, Li, Zhang, Xu and Ma, SIGIR 2017 (dynamic).
    Equal to: cwl_eval ``BPMD``, which never changes k, with ``hc=0``.
    Example: grades 0, 4, 4 in rank order: bpm_dynamic = 1/2.
    """
    gain = scaled_gain(r, min_grade, max_grade)
    after, before = r.cumulative_gain(gain), r.cumulative_gain_above(gain)

    def quiet_end(gained: pl.Expr, above: pl.Expr) -> pl.Expr:
        """Where she stops if she gains nothing below the place ``above``."""
        ends = [(k + hc * (gained + median)) / (1.0 + hc * median)]
        if hb * median > 0:
            ends.append((T + (hb - 1.0) * gained) / (hb * median) + 1.0)
        return pl.max_horizontal(pl.min_horizontal(ends).ceil(), above + 1.0)

    surplus = before - median * (r.rank - 1.0)
    quiet = r.cached(quiet_end(before, r.rank.shift(1, fill_value=0.0)))
    enough = (after >= T + hb * surplus) | (r.rank >= k + hc * surplus)
    end = pl.when(quiet <= r.rank).then(quiet).otherwise(pl.when(enough).then(r.rank))
    ended = r.cached(end.is_not_null().cum_sum().cast(pl.Float64))
    ended_above = r.cached(ended.shift(1, fill_value=0.0))
    looking = (ended_above == 0.0) & (quiet >= r.rank)
    gained = r.sum(pl.when(looking).then(gain).otherwise(0.0))
    first_end = r.sum(pl.when(ended_above == 0.0).then(end))
    all_gained = r.sum(pl.when(r.rank.is_not_null()).then(gain))
    last = r.reduce(r.rank.max())
    seen = pl.when(first_end > 0).then(first_end).otherwise(quiet_end(all_gained, last))
    return gained / seen
