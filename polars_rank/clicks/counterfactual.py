"""Counterfactual estimates: what another ranking would have scored on a log."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, TypeAlias, Unpack, cast, get_args

import polars as pl

from polars_rank._engine.checks.enforce import enforce
from polars_rank._engine.request import AnyFrame, Frame, like_input
from polars_rank._engine.schema import Columns, align_ids, bind_columns
from polars_rank._engine.stages.rank import pack
from polars_rank.clicks.additive import Additive, AdditiveMeasure
from polars_rank.clicks.behaviour import warn_of_users
from polars_rank.clicks.bias import Propensities, flag, order_of, with_propensities
from polars_rank.clicks.counts import rows_with_known
from polars_rank.clicks.impression import Impression
from polars_rank.clicks.log import ClickLog, LogOptions
from polars_rank.clicks.plan import bounded_by, enforced, impressions_of
from polars_rank.clicks.ratios import Interval, IntervalChoice, Ratio, estimates, sums
from polars_rank.clicks.shallow import shallow_first
from polars_rank.core.expr import ratio
from polars_rank.core.rules import (
    DUPLICATE_DOC,
    INVALID_NEW_SCORE,
    INVALID_RANK,
    INVALID_RELEVANCE,
    NO_SUPPORT,
)
from polars_rank.core.source import is_rereadable, lazy_source
from polars_rank.exceptions import DataError

__all__ = ["CounterfactualMethod", "Systems", "counterfactual", "sensitivity"]

CounterfactualMethod: TypeAlias = Literal["ips", "snips", "affine", "dr", "dm"]
Systems: TypeAlias = str | Sequence[str] | AnyFrame | Mapping[str, str | AnyFrame]
KEY = "impression"
ENOUGH = 0.95  # of the new ranking's weight on documents that were logged
LARGE = 0.1  # share of one click in the sum of weights
RESULT = (
    *("system", "estimate", "se", "lower", "upper", "ess", "largest_weight_share"),
    *("clipped", "cut", "support", "relevant_per_impression"),
    *("impressions", "clicks", "clusters", "scale"),
)


def counterfactual(
    log: Frame,
    measure: AdditiveMeasure = "dcg@10",
    /,
    *,
    new: Systems,
    propensities: Propensities = None,
    method: CounterfactualMethod = "ips",
    clip: float | None = None,
    policy_aware: bool = False,
    reward: str | None = None,
    baseline: str | None = None,
    interval: IntervalChoice = "normal",
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
    **options: Unpack[LogOptions],
) -> Frame:
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
        ``by`` that it has are joined by. Or a number eta: ``position ** -eta``.
        Default: the column named with ``propensity=``, of absolute probabilities.
    method
        ``"ips"``: clicks by propensity, unbiased if the propensities are right.

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
        error of the paired difference.
    interval, level, replicates, seed
        As in :func:`behaviour`.
    **options
        Columns and options of :class:`LogOptions`. Name the users in ``cluster=``.

    Returns
    -------
    A DataFrame for a DataFrame, a LazyFrame for a LazyFrame, one row per segment and
    system: the ``by`` columns, ``system``, ``estimate``, ``se``, ``lower``, ``upper``;
    ``ess`` (Kish's effective number of clicks), ``largest_weight_share`` (of one
    click), ``clipped`` (share of clicks), ``cut`` (share of the weight that clipping
    took), ``support`` (share of the new ranking's weight on documents that were logged
    for the query), ``relevant_per_impression``, ``impressions``, ``clicks``,
    ``clusters`` and ``scale``: ``"absolute"`` for logged probabilities and
    ``"affine"``, else ``"relative"``: in units of the examination of the first
    position. A segment without clicks has null.

    Warnings
    --------
    UserWarning
        Support below 0.95, a click with a tenth of all weight, or no clicks.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for wrong arguments.
    DataError
        When collected: rows that break a rule, a position without propensity, a new
        ranking without any logged document.

    Source: Joachims, Swaminathan and Schnabel, WSDM 2017 (IPS); Vardasbi, Oosterhuis
    and de Rijke, CIKM 2020 (affine); Oosterhuis and de Rijke, SIGIR 2020
    (policy-aware); Oosterhuis, TOIS 2023 (doubly robust).

    Examples
    --------
    >>> from polars_rank import clicks
    >>> simulation = clicks.simulate(20_000, queries=200, seed=1)
    >>> found = clicks.counterfactual(
    ...     simulation.log,
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
    choice = Interval.of(interval, level, replicates, seed)
    task = _Task.of(log, measure, new, propensities, method, clip, reward, options)
    task = replace(task, policy_aware=policy_aware)
    names = [s.name for s in task.systems]
    if baseline is not None and baseline not in names:
        msg = (
            f"baseline must be one of the systems {', '.join(names)}, not {baseline!r}"
        )
        raise ValueError(msg)
    if policy_aware and method in ("snips", "dm"):
        msg = f'policy_aware= is not for method "{method}"'
        raise ValueError(msg)
    warn_of_users(task.log)

    def plan(log: ClickLog, vocabulary: type[Impression]) -> pl.LazyFrame:
        return replace(task, log=vocabulary.prepare(log)).result(baseline, choice)

    found = shallow_first(task.log, plan)
    return like_input(log, found, in_memory=task.log.small)


class _System:
    """A ranking: a column of scores, or a frame."""

    def __init__(self, name: str, place: int, frame: pl.LazyFrame | None) -> None:
        self.name = name
        self.weight = f"weight{place}"
        self.score = f"new{place}"
        self.frame = frame


@dataclass(frozen=True, kw_only=True, eq=False)
class _Task:
    """The arguments, checked, with rows that have ``alpha`` and ``beta``."""

    log: ClickLog
    measure: Additive
    systems: list[_System]
    method: CounterfactualMethod
    clip: float
    rewarded: bool
    scale: str
    policy_aware: bool = False

    @classmethod
    def of(
        cls,
        frame: AnyFrame,
        measure: AdditiveMeasure,
        new: Systems,
        propensities: Propensities,
        method: str,
        clip: float | None,
        reward: str | None,
        options: LogOptions,
    ) -> _Task:
        """Bind the log and the rankings; only schemas are read."""
        additive = Additive.of(measure)
        if method not in get_args(CounterfactualMethod):
            allowed = ", ".join(get_args(CounterfactualMethod))
            msg = f"method must be one of {allowed}, not {method!r}"
            raise ValueError(msg)
        if (reward is not None) != (method in ("dr", "dm")):
            msg = (
                f'method "{method}" needs a model: name its column with reward='
                if reward is None
                else f'reward= is for methods "dr" and "dm", not "{method}"'
            )
            raise ValueError(msg)
        if clip is not None and (method in ("dm",) or not clip > 0):
            msg = f'clip must be above 0, and is not for method "dm": {clip!r}'
            raise ValueError(msg)
        systems = _named(new)
        scores = {
            f"new{i}": system
            for i, system in enumerate(systems.values())
            if isinstance(system, str)
        }
        columns = scores | ({} if reward is None else {"reward": reward})
        framed = len(scores) < len(systems)
        logged = propensities is None and method != "dm"
        bound = ClickLog.of(
            frame,
            options,
            needs=["query", "doc"] if framed else (),
            columns=columns,
        )
        if logged and "propensity" not in bound.roles:
            msg = (
                "propensities: give the frame of clicks.propensities(log), a number "
                "eta (position ** -eta), or name the logged column with propensity="
            )
            raise ValueError(msg)
        if bound.layout == "auto":
            bound = replace(bound, layout="any")
        bound = _with_scores(bound, [*scores], rewarded=reward is not None)
        bound = _biased(bound, propensities, method)
        found = []
        for i, (name, system) in enumerate(systems.items()):
            if isinstance(system, str):
                found.append(_System(name, i, None))
                continue
            ranked = _ranking(name, system, bound, additive, reward, i)
            found.append(_System(name, i, ranked))
        for _ in range(2):  # a later one can widen the ids of an earlier one
            for ranking in found:
                if ranking.frame is not None:
                    ranking.frame, rows = align_ids(
                        ranking.frame,
                        bound.rows,
                        {role: bound.roles[role] for role in ("query", "doc")},
                        where=(f"the ranking {ranking.name!r}", "the log"),
                    )
                    bound = replace(bound, rows=rows)
        return cls(
            log=bound,
            measure=additive,
            systems=found,
            method=cast("CounterfactualMethod", method),
            clip=0.0 if clip is None else float(clip),
            rewarded=reward is not None,
            scale="absolute" if logged or method in ("affine", "dm") else "relative",
        )

    # -- of rows

    def weighed(self) -> ClickLog:
        """Rows with the weight of a click, and the terms to be summed."""
        log = self.log
        divisor = pl.col("alpha")
        if self.policy_aware:
            rows = log.rows.join(
                self._policy(),
                on=["query", "doc"],
                how="left",
                maintain_order=order_of(log),
            )
            log = replace(log, rows=rows)
            divisor = pl.col("policy")
        clicked = pl.col("clicked").cast(pl.Float64)
        clipped = pl.max_horizontal(divisor, pl.lit(self.clip))
        value = clicked / clipped
        if self.method == "affine":
            value = (clicked - pl.col("beta")) / clipped
        elif self.method == "dr":
            error = clicked - pl.col("beta") - pl.col("alpha") * pl.col("reward")
            value = error / clipped
        elif self.method == "dm":
            value = pl.lit(0.0)
        rows = log.rows.with_columns(
            w=clicked / clipped,
            raw=clicked / divisor,
            low=(divisor < self.clip) & (pl.col("clicked") > 0),
            x=value,
        )
        for system in self.systems:
            if system.frame is not None:
                columns = ["query", "doc", system.weight]
                own = system.frame.select(columns).filter(pl.col(system.weight) != 0)
                rows = rows.join(
                    own, on=["query", "doc"], how="left", maintain_order=order_of(log)
                )
        return replace(log, rows=rows)

    def _policy(self) -> pl.LazyFrame:
        """For each document, the mean of alpha over the impressions of its query."""
        rows = self.log.rows
        alone = rows.group_by("query", "doc").agg(policy=pl.col("alpha").sum())
        number = pl.struct(self.log.keys).n_unique()
        queries = rows.group_by("query").agg(number=number)
        both = alone.join(queries, on="query")
        return both.select("query", "doc", pl.col("policy") / pl.col("number"))

    def ranked(self, rows: pl.LazyFrame, key: str) -> pl.LazyFrame:
        """Rows with the weight of their place in each new ranking."""
        return rows.with_columns(
            self.measure.weight(
                pl.col(s.score)
                .rank("ordinal", descending=True)
                .over(key, order_by="position")
                .cast(pl.Float64)
            ).alias(s.weight)
            for s in self.systems
            if s.frame is None
        )

    def per_impression(self) -> pl.LazyFrame:
        """One row per impression: keys, columns, a value for each system ..."""
        log = self.weighed()
        words = {
            "clicks": pl.col("clicked").cast(pl.Int64).sum(),
            "w": pl.col("w").sum(),
            "ww": (pl.col("w") * pl.col("w")).sum(),
            "largest": pl.col("w").max(),
        }
        if self.clip:
            words["low"] = pl.col("low").cast(pl.Int64).sum()
            words["raw"] = pl.col("raw").sum()
        for s in self.systems:
            value = pl.col("x")
            if self.rewarded and s.frame is None:
                value = value + pl.col("reward")
            words[f"value:{s.name}"] = (pl.col(s.weight) * value).sum()
        plan = impressions_of(log, words, documents=True, prepare=self.ranked)
        frame = enforced(log, plan).with_columns(
            pl.col(name).fill_null(0) for name in words
        )
        if not self.clip:
            frame = frame.with_columns(low=pl.lit(0, pl.Int64), raw=pl.col("w"))
        for s in self.systems:
            frame = self._about_query(frame, s)
        return frame

    def _about_query(self, frame: pl.LazyFrame, s: _System) -> pl.LazyFrame:
        """Add the share of the ranking that was logged, and its modelled value."""
        support = f"support:{s.name}"
        if s.frame is None:
            return frame.with_columns(pl.lit(1.0).alias(support))
        pairs = self.log.rows.select("query", "doc").unique()
        weight, seen = pl.col(s.weight), pl.col("seen").fill_null(value=False)
        ranking = s.frame.join(
            pairs.with_columns(seen=True), on=["query", "doc"], how="left"
        )
        modelled = (weight * pl.col("reward")).sum() if self.rewarded else pl.lit(0.0)
        about = ranking.group_by("query").agg(
            ratio(pl.when(seen).then(weight).otherwise(0.0).sum(), weight.sum())
            .fill_null(0.0)
            .alias(support),
            modelled.alias("modelled"),
        )
        value = pl.col(f"value:{s.name}") + pl.col("modelled").fill_null(0.0)
        known = pl.when(pl.col("query").is_not_null())
        return (
            frame.join(about, on="query", how="left")
            .with_columns(
                value.alias(f"value:{s.name}"),
                known.then(pl.col(support).fill_null(0.0)).alias(support),
            )
            .drop("modelled")
        )

    # -- of impressions

    def result(self, baseline: str | None, interval: Interval) -> pl.LazyFrame:
        """One row per segment and system."""
        log, names = self.log, [s.name for s in self.systems]
        by = {f"by:{i}": pl.col(own) for i, own in enumerate(log.own(log.by))}
        rows = self.per_impression().with_columns(**by)
        weight = pl.col(log.carried[log.weight]).cast(pl.Float64) if log.weight else 1.0
        values = {f"v{i}": pl.col(f"value:{n}") * weight for i, n in enumerate(names)}
        labels = dict(zip(values, names, strict=True))
        for i, name in enumerate(names):
            if baseline is not None and name != baseline:
                other = names.index(baseline)
                values[f"d{i}"] = values[f"v{i}"] - values[f"v{other}"]
                labels[f"d{i}"] = f"{name} - {baseline}"
        den = pl.col("w") if self.method == "snips" else pl.lit(1.0)
        keys = {f"k{i}": pl.col(c) for i, c in enumerate(log.own(log.cluster))}
        keys = keys or {f"k{i}": pl.col(c) for i, c in enumerate(log.keys)}
        parts = rows.select(*by, **keys, **values, den=den * weight)
        number = {"n": pl.len().cast(pl.Int64)}

        def summed(parts: pl.LazyFrame) -> pl.LazyFrame:
            return sums(parts, [*by, *keys], [*values, "den"], number)

        clusters = bounded_by(log, parts, [*keys], summed, repr([*values.values()]))
        ratios = [Ratio(label, v, "den") for v, label in labels.items()]
        found = _estimated(clusters, [*by], ratios, interval, [*keys])
        long = found.rename({"measure": "system", "n": "impressions"})
        about = self._diagnosed(rows, by, names)
        if by:
            long = long.join(about, on=[*by], nulls_equal=True, maintain_order="left")
        else:
            long = long.join(about, how="cross", maintain_order="left")
        support = pl.lit(None, pl.Float64)
        for name in names:
            own = pl.col("system") == name
            support = pl.when(own).then(pl.col(f"support:{name}")).otherwise(support)
        empty = (pl.col("clicks") == 0) & (self.method != "dm")
        long = long.with_columns(
            pl.when(~empty).then(pl.col(c)).alias(c)
            for c in ("estimate", "se", "lower", "upper")
        )
        long = long.with_columns(support=support, scale=pl.lit(self.scale))
        order = pl.col("system").replace_strict(
            [*labels.values()], range(len(labels)), return_dtype=pl.Int64
        )
        long = long.sort(*by, order, nulls_last=True, maintain_order=True)
        checked = pl.map_batches(
            ["system", "support", "clicks", "largest_weight_share"],
            self._doubts,
            return_dtype=pl.Boolean,
        )
        long = long.filter(checked).select(*by, *RESULT)
        return long.rename(dict(zip(by, log.by, strict=True)))

    def _diagnosed(
        self, rows: pl.LazyFrame, by: Mapping[str, pl.Expr], names: Sequence[str]
    ) -> pl.LazyFrame:
        """Diagnostics of the weights, per segment."""
        counts = {
            "clicks": pl.col("clicks").sum(),
            "low": pl.col("low").sum(),
            "largest": pl.col("largest").max(),
            "rows": pl.len(),
        }
        supports = [f"support:{name}" for name in names]
        means = {name: pl.col(name).mean().alias(name) for name in supports}
        found = sums(rows, [*by], ["w", "ww", "raw"], {**counts, **means})
        w, raw = pl.col("w"), pl.col("raw")
        return found.select(
            *by,
            "clicks",
            *supports,
            ess=ratio(w * w, pl.col("ww")),
            largest_weight_share=ratio(pl.col("largest"), w),
            clipped=ratio(pl.col("low"), pl.col("clicks")),
            cut=1.0 - ratio(w, raw),
            relevant_per_impression=w / pl.col("rows"),
        )

    def _doubts(self, columns: Sequence[pl.Series]) -> pl.Series:
        """Warn of doubtful results; raise an error if nothing was logged."""
        system, support, clicks, largest = columns
        for name, low in zip(system, support, strict=True):
            if low is None or low >= ENOUGH:
                continue
            if low == 0:
                message = NO_SUPPORT.message.format(name=name)
                raise DataError(message, rule=NO_SUPPORT.name)
            _warn(
                f"{1 - low:.0%} of the ranking {name!r} are documents that were not "
                "logged for their query: clicks say nothing of them, and the estimate "
                "is too low"
            )
        if (clicks == 0).any() and self.method != "dm":
            _warn("there are no clicks: nothing can be estimated")
        if (largest > LARGE).any():
            share = cast("float", largest.max())
            _warn(
                f"a single click has {share:.0%} of all weight; see ess, and consider "
                "clip="
            )
        return pl.repeat(True, len(system), dtype=pl.Boolean, eager=True)


def _warn(text: str) -> None:
    warnings.warn(text, UserWarning, stacklevel=2)


def _estimated(
    clusters: pl.LazyFrame,
    by: Sequence[str],
    ratios: Sequence[Ratio],
    interval: Interval,
    keys: Sequence[str],
) -> pl.LazyFrame:
    """Ratios of sums over clusters; without an interval, their errors are null."""
    if interval.kind != "none":
        return estimates(clusters, by, ratios, interval, keys)
    found = estimates(clusters, by, ratios, interval._replace(kind="normal"), keys)
    empty = [pl.lit(None, pl.Float64).alias(c) for c in ("se", "lower", "upper")]
    return found.with_columns(empty)


# -- arguments


def _named(new: Systems) -> dict[str, str | AnyFrame]:
    """The systems by name."""
    if isinstance(new, str):
        return {new: new}
    if isinstance(new, pl.DataFrame | pl.LazyFrame):
        return {"new": new}
    if isinstance(new, Mapping):
        systems = dict(new)
    else:
        systems = {name: name for name in new}
        if len(systems) < len([*new]):
            msg = f"new names a column twice: {', '.join(new)}"
            raise ValueError(msg)
    for name, system in systems.items():
        if not isinstance(system, str | pl.DataFrame | pl.LazyFrame):
            msg = (
                f"the ranking {name!r} must be a column of the log or a frame, not "
                f"{type(system).__name__}"
            )
            raise TypeError(msg)
    if not systems:
        msg = "new must name at least one ranking: a column of scores, or a frame"
        raise ValueError(msg)
    return systems


def _with_scores(log: ClickLog, scores: Sequence[str], *, rewarded: bool) -> ClickLog:
    """Further faults of rows: scores that rank nothing, rewards that cannot be."""
    rules, rows = list(log.rules), log.rows
    broken = []
    if scores:
        bad = [
            pl.col(s).is_null() | pl.col(s).cast(pl.Float64).is_nan() for s in scores
        ]
        broken.append((INVALID_NEW_SCORE, pl.any_horizontal(bad)))
    if rewarded:
        rows = rows.with_columns(pl.col("reward").cast(pl.Float64).fill_null(0.0))
        broken.append((INVALID_RELEVANCE, _improbable(pl.col("reward"))))
    fault = pl.col("fault")
    for rule, condition in broken:
        rules.append(rule)
        number = pl.lit(len(rules), pl.UInt8)
        fault = pl.when((fault == 0) & condition).then(number).otherwise(fault)
    rows = rows.with_columns(fault=fault)
    return replace(log, rows=rows, rules=tuple(rules))


def _improbable(value: pl.Expr) -> pl.Expr:
    return value.is_nan() | ~value.is_between(0, 1)


def _biased(log: ClickLog, propensities: Propensities, method: str) -> ClickLog:
    """Rows with ``alpha`` and ``beta`` of their position."""
    if method == "dm":
        return replace(log, rows=log.rows.with_columns(alpha=1.0, beta=0.0))
    trust = method == "affine"
    if method == "dr" and isinstance(propensities, pl.DataFrame | pl.LazyFrame):
        trust = "alpha" in propensities.lazy().collect_schema()
    return with_propensities(log, propensities, trust=trust)


def _ranking(
    name: str,
    frame: AnyFrame,
    log: ClickLog,
    measure: Additive,
    reward: str | None,
    place: int,
) -> pl.LazyFrame:
    """A ranking in a frame: query, doc, weight of the place, reward."""
    where = f"the ranking {name!r}"
    schema = frame.lazy().collect_schema()
    order = [column for column in ("rank", "score") if column in schema]
    if not order:
        msg = f"{where} needs a column 'score' or 'rank'; it has {', '.join(schema)}"
        raise pl.exceptions.ColumnNotFoundError(msg)
    roles = {"query": log.roles["query"], "doc": log.roles["doc"], order[0]: order[0]}
    carry = {}
    if reward is not None:
        if reward not in schema:
            msg = f"reward {reward!r} is not in {where}; every document needs one"
            raise pl.exceptions.ColumnNotFoundError(msg)
        carry = {"reward": reward}
    rows = bind_columns(
        frame.lazy(), Columns((), roles), where=where, roles=(*roles,), carry=carry
    ).frame
    if order[0] == "score":
        rank = pl.col("score").rank("ordinal", descending=True)
        rows = rows.with_columns(rank=rank.over("query", order_by="doc"))
        bad = pl.col("score").is_null() | pl.col("score").cast(pl.Float64).is_nan()
        wrong = INVALID_NEW_SCORE
    else:
        bad, wrong = pl.col("rank").is_null() | (pl.col("rank") < 1), INVALID_RANK
    rows = rows.with_columns(
        bad=flag(bad), copies=flag(pl.len().over("query", "doc") > 1)
    )
    rules = {"bad": wrong, "copies": DUPLICATE_DOC}
    if reward is not None:
        rows = rows.with_columns(pl.col("reward").cast(pl.Float64).fill_null(0.0))
        rows = rows.with_columns(improbable=flag(_improbable(pl.col("reward"))))
        rules["improbable"] = INVALID_RELEVANCE
    sound = enforce(rows, rules, example="query", check=log.check, exact_counts=False)
    weight = measure.weight(pl.col("rank").cast(pl.Float64)).alias(f"weight{place}")
    return sound.select("query", "doc", weight, *carry)


def sensitivity(
    log: Frame,
    measure: AdditiveMeasure = "dcg@10",
    /,
    *,
    new: Systems,
    baseline: str | None = None,
    eta: Sequence[float] = (0.0, 0.5, 1.0, 1.5, 2.0),
    **options: Unpack[LogOptions],
) -> Frame:
    """Show how the winner depends on the position bias that is assumed.

    Systems are estimated as by :func:`counterfactual`, ``method="ips"``, with the
    propensity ``position ** -eta``: 0 is no bias, 1 is 1/k. The log is read once.

    Parameters
    ----------
    log, measure, new, **options
        As in :func:`counterfactual`.
    baseline
        The system that the others are compared with. Default: the last one.
    eta
        Strengths of the bias.

    Returns
    -------
    One row per segment, eta and system: the ``by`` columns, ``eta``, ``system``,
    ``estimate``, ``difference`` to the baseline, and ``crossover``: false for the
    ``eta`` that were asked for, true in the further rows of a system and the baseline,
    where they change places between two that were asked for.

    Source: Joachims, Swaminathan and Schnabel, WSDM 2017 (propensities of a power of
    the position).

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks
    >>> simulation = clicks.simulate(20_000, queries=200, seed=1)
    >>> found = clicks.sensitivity(
    ...     simulation.log, new=["new_score", "score"], eta=[0, 1]
    ... )
    >>> asked = found.filter(~pl.col("crossover"), system="new_score")
    >>> asked.select(pl.col("eta", "difference").round(3)).rows()
    [(0.0, -0.018), (1.0, 0.072)]
    >>> found.filter("crossover")["eta"].round(2).unique().to_list()
    [0.39]
    """
    task: _Task = _Task.of(log, measure, new, 0.0, "ips", None, None, options)
    names: list[str] = [s.name for s in task.systems]
    base: str = names[-1] if baseline is None else baseline
    if base not in names:
        known = ", ".join(names)
        msg = f"baseline must be one of the systems {known}, not {baseline!r}"
        raise ValueError(msg)
    grid: list[float] = sorted({float(e) for e in eta})
    if not grid or not all(abs(e) < 100 for e in grid):
        msg = f"eta must be one or more numbers, not {eta!r}"
        raise ValueError(msg)
    bound = task.log
    by: list[str] = [f"by:{i}" for i in range(len(bound.by))]
    types = task.per_impression().collect_schema()
    schema: dict[str, Any] = {
        name: types[own] for name, own in zip(by, bound.own(bound.by), strict=True)
    }
    schema |= {
        "eta": pl.Float64(),
        "system": pl.String(),
        "estimate": pl.Float64(),
        "difference": pl.Float64(),
        "crossover": pl.Boolean(),
    }

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        curves = [*_curves(task, by, grid, names.index(base))]
        found = pl.DataFrame(curves, schema=schema, orient="row")
        yield found.sort(*by, "eta", nulls_last=True, maintain_order=True)

    result = lazy_source(
        read, schema, name="sensitivity", rereadable=is_rereadable(bound.rows)
    )
    return like_input(log, result.rename(dict(zip(by, bound.by, strict=True))))


def _curves(
    task: _Task, by: Sequence[str], grid: Sequence[float], base: int
) -> Iterator[tuple[Any, ...]]:
    """One row per segment, eta and system."""
    log = rows_with_known(task.log)
    own = dict(zip(by, log.own(log.by), strict=True))
    weights = [s.weight for s in task.systems]
    names = [s.name for s in task.systems]
    weighed = replace(task, log=log).weighed()

    def worth(part: pl.LazyFrame) -> pl.LazyFrame:
        ranked = task.ranked(part, KEY).filter(pl.col("clicked") > 0)
        return ranked.group_by(*by, "position").agg(pl.col(w).sum() for w in weights)

    rows: pl.LazyFrame = pack(weighed.rows, log.keys, KEY).with_columns(
        pl.col(c).alias(name) for name, c in own.items()
    )
    parts = bounded_by(log, rows, [KEY], worth, f"worth {task.measure.name}")
    totals = parts.group_by(*by, "position").agg(pl.col(w).sum() for w in weights)
    impressions = (
        task.per_impression().select(
            pl.col(c).alias(name) for name, c in zip(by, log.own(log.by), strict=True)
        )
        if by
        else task.per_impression()
    )
    number = (
        impressions.group_by(by).agg(n=pl.len())
        if by
        else impressions.select(n=pl.len())
    )
    found, counted = pl.collect_all(
        [totals.sort("position"), number], engine="streaming"
    )
    for row in counted.iter_rows(named=True):
        key = [row[name] for name in by]
        here = [pl.col(n).eq_missing(pl.lit(v)) for n, v in zip(by, key, strict=True)]
        part = found.filter(*here)
        place = part["position"].cast(pl.Float64).to_numpy()
        sums = part.select(weights).cast(pl.Float64).fill_null(0.0).to_numpy()

        number = row["n"]

        def value(
            eta: float, place: Any = place, sums: Any = sums, number: int = number
        ) -> Any:
            return (place[:, None] ** eta * sums).sum(0) / number

        for eta in grid:
            values = value(eta)
            for name, estimate in zip(names, values, strict=True):
                yield (*key, eta, name, estimate, estimate - values[base], False)
        for system, name in enumerate(names):
            for eta in _crossings(value, grid, system, base):
                estimate = value(eta)[base]
                for both in (name, names[base]):
                    yield (*key, eta, both, estimate, 0.0, True)


def _crossings(
    value: Any, grid: Sequence[float], system: int, base: int
) -> Iterator[float]:
    """Where two systems are equal, between neighbours of the grid: by bisection."""

    def gap(eta: float) -> float:
        values = value(eta)
        return float(values[system] - values[base])

    for low, high in pairwise(grid):
        first, last = gap(low), gap(high)
        if first * last >= 0:
            continue
        for _ in range(60):
            middle = (low + high) / 2
            if gap(middle) * first > 0:
                low = middle
            else:
                high = middle
        yield (low + high) / 2
