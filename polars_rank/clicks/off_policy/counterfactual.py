"""Estimate what another ranking would have scored on a log."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal, TypeAlias, Unpack, cast

import polars as pl

from polars_rank._engine.frame_function import like_input
from polars_rank._engine.request import AnyFrame
from polars_rank.clicks.behavior.impression import Impression
from polars_rank.clicks.behavior.ratios import Interval, warn_of_users
from polars_rank.clicks.behavior.shallow import shallow_first
from polars_rank.clicks.bias.apply import Propensities, faults_first
from polars_rank.clicks.bias.propensities import propensities as propensities_of
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.log_columns import (
    LogOptions,
    refuse_options,
    require_arguments,
)
from polars_rank.clicks.log.open_log import function_of_log
from polars_rank.clicks.off_policy.additive import AdditiveMeasure
from polars_rank.clicks.off_policy.jackknife import with_jackknife
from polars_rank.clicks.off_policy.rankings import Systems, with_baseline
from polars_rank.clicks.off_policy.system_estimates import estimate_systems
from polars_rank.clicks.off_policy.weighing import CounterfactualMethod, Estimation

CounterfactualInterval: TypeAlias = Literal["none", "normal", "bootstrap", "jackknife"]


@function_of_log
def counterfactual(
    log: AnyFrame,
    /,
    measure: AdditiveMeasure = "dcg@10",
    *,
    new: Systems,
    propensities: Propensities | Literal["harvest"] = None,
    method: CounterfactualMethod = "ips",
    clip: float | None = None,
    policy_aware: bool = False,
    reward: str | None = None,
    baseline: str | None = None,
    interval: CounterfactualInterval | None = None,
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
    **options: Unpack[LogOptions],
) -> AnyFrame:
    """Estimate what other rankings would have scored, from clicks on the logged one.

    Clicks are weighted by the inverse of the examination probability of their position,
    so that the result is that of the documents' true relevance. The measure must add up
    over documents: ``sum over documents of weight(new rank) * relevance``, a mean over
    impressions.

    Parameters
    ----------
    log
        One row per document that an impression showed.
    measure
        ``"dcg@10"``, ``"precision@5"``, ``"hits@10"``, ``"rbp(p=0.8)"``,
        ``"inverse_rank"`` or ``"average_rank"``; or a mapping of a name to a function
        of the 1-based rank, an expression. nDCG, AP, ERR and others are refused: the
        contribution of a document depends on the relevance of others.
    new
        The new rankings: one or more columns of the log with scores, by which the
        documents of each impression are ranked anew (equal scores in their logged
        order); or a frame with the query and document columns of the log and ``score``
        or ``rank``, which may have documents that were never shown; or a mapping of
        names to either.
    propensities
        A frame with ``position`` and ``propensity`` (or ``alpha`` and ``beta``, for
        ``"affine"`` and ``"dr"``), such as :func:`propensities` returns; columns of
        ``by`` that it has are joined by. Or a number eta, between -100 and 100:
        ``position ** -eta``.
        Default: the column named with ``propensity=``, of absolute probabilities.
        These are taken as known: errors and intervals leave out theirs. ``"harvest"``
        estimates them from this log, segment by segment, as :func:`propensities` does,
        and its errors are in the intervals.
    method
        ``"ips"``: inverse propensity scoring: clicks divided by propensities, unbiased
        if these are right.

        ``"snips"``: the same per relevant document, not per impression: the mean weight
        of its new rank. Multiplied by ``relevant_per_impression`` it is ``"ips"``: it
        is not a better estimate of DCG, but another quantity.

        ``"affine"``: ``(clicked - beta) / alpha`` of all shown documents, unbiased
        under trust bias.

        ``"dr"``: doubly robust: ``reward`` for every document of the new ranking, and
        the weighted error of it for those shown.

        ``"dm"``: ``reward`` alone.
    clip
        Propensities below it are raised to it: less variance, bias towards 0.
    policy_aware
        Divide by the mean propensity of a document over all impressions of the query,
        those that did not show it included, instead of that of the position. For
        rankings in a frame, where documents are not always shown.
    reward
        Column with a model's probability that the document is clicked if examined; of
        the log, and of the frames in ``new``. Null: 0.
    baseline
        The system that all others are compared with: further rows ``"a - b"``, with the
        error of the paired difference. One of them, or another column of scores.
    interval, level, n_resamples, seed
        As in :func:`behavior`, ``"normal"`` by default. With
        ``propensities="harvest"``, ``"jackknife"``, which takes the extra ``stats``:
        clusters are put into 20 groups by their hash, each is left out in turn, and
        propensities and estimates are made anew; Student's t with a degree of freedom
        less than groups. ``seed`` draws other groups. The log is read once for it.
    **options
        Columns and options of :class:`LogOptions`. Name the users in ``cluster=``.

    Returns
    -------
    A DataFrame for a DataFrame, a LazyFrame for a LazyFrame, one row per segment and
    system: the ``by`` columns, ``system``, ``estimate``, ``se``, ``lower``, ``upper``;
    ``effective_size`` (Kish's effective number of clicks), ``largest_weight_share``
    (that of one click), ``clipped`` (share of clicks), ``cut`` (share of the weight
    that clipping took), ``support_share`` (share of the new ranking's weight on
    documents that were logged for the query in the segment),
    ``relevant_per_impression``,
    ``impressions``, ``clicks``, ``clusters``, ``effective_clusters`` (how many of one
    size would tell as much) and ``scale``: ``"absolute"`` for logged
    probabilities and ``"affine"``, else ``"relative"``: in units of the examination of
    the first position. A segment without clicks has null.

    Warns
    -----
    DataWarning
        Support below 0.95, a click with a tenth of all weight, an effective number of
        clicks below 100 (intervals are too short), or no clicks. Propensities in a
        frame that were estimated from as many clicks and impressions as the log has, so
        from this log: intervals are too short. Intervals of fewer than 20 effective
        clusters.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for wrong arguments.
    DataError
        When collected: rows that break a rule, a position without propensity, a new
        ranking without any logged document.

    Source: Joachims, Swaminathan and Schnabel, WSDM 2017 (IPS); Vardasbi, Oosterhuis
    and de Rijke, CIKM 2020 (affine); Oosterhuis and de Rijke, SIGIR 2020
    (policy-aware); Oosterhuis, TOIS 2023 (doubly robust); Kott, Journal of Official
    Statistics, 2001 (delete-a-group jackknife).

    Examples
    --------
    >>> from polars_rank import clicks
    >>> simulation = clicks.simulate(20_000, n_queries=200, seed=1)
    >>> found = clicks.counterfactual(
    ...     simulation.draw(),
    ...     new=["new_score", "score"],
    ...     baseline="score",
    ...     propensities=simulation.propensities,
    ...     cluster="user_id",
    ... )
    >>> found.select("system", found["estimate"].round(2)).rows()
    [('new_score', 1.7), ('score', 1.63), ('new_score - score', 0.07)]
    >>> round(simulation.value("new_score"), 2)  # the truth
    1.69
    """
    refitted = isinstance(propensities, str)
    kind = interval or ("jackknife" if refitted else "normal")
    require_arguments(interval=(CounterfactualInterval, kind))
    naive = "none" if kind == "jackknife" else kind
    choice = Interval.of(naive, level, n_resamples, seed)
    new = with_baseline(new, baseline, log)
    known: Propensities = None
    if refitted:
        _require_harvest(method, kind, options)
        own = {n: v for n, v in options.items() if n not in ("cluster", "propensity")}
        known = propensities_of(log.lazy(), **cast("LogOptions", own))
    elif kind == "jackknife":
        msg = 'interval="jackknife" estimates propensities="harvest" anew; give these'
        raise ValueError(msg)
    else:
        known = cast("Propensities", propensities)
    task = Estimation.of(log, measure, new, known, method, clip, reward, options)
    task = replace(task, policy_aware=policy_aware)
    if policy_aware and method in ("snips", "dm"):
        msg = f'policy_aware= is not for method "{method}"'
        raise ValueError(msg)
    warn_of_users(task.log)

    def plan(log: ClickLog, vocabulary: type[Impression]) -> pl.LazyFrame:
        own = replace(task, log=vocabulary.prepare(log))
        return estimate(own)

    def estimate(task: Estimation) -> pl.LazyFrame:
        return estimate_systems(task, baseline, choice, bounded=kind != "none")

    found = task.in_runs_first(estimate, shallow_first(task.log, plan))
    if kind == "jackknife":
        bare = Estimation.of(log, measure, new, 0.0, method, clip, reward, options)
        bare = replace(bare, policy_aware=policy_aware)
        found = with_jackknife(found, bare, baseline, level, seed)
    found = faults_first(found, task.sound)
    return like_input(log, found, in_memory=task.log.small)


def _require_harvest(method: str, kind: str, options: LogOptions) -> None:
    """Refuse what propensities of the same log cannot be used with."""
    if method in ("affine", "dm"):
        needs = "alpha and beta" if method == "affine" else "no propensities"
        msg = (
            f'propensities="harvest" is not for method "{method}", which needs {needs}'
        )
        raise ValueError(msg)
    if kind not in ("jackknife", "none"):
        msg = (
            f'interval="{kind}" takes propensities as known, but "harvest" estimates '
            'them from the same log: give interval="jackknife" or "none"'
        )
        raise ValueError(msg)
    refuse_options(
        options,
        ["weight"],
        'propensities="harvest" takes no {name}=; filter the log, or give a frame',
    )
