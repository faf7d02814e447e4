"""Clicks weighed by propensities: rows, impressions, and estimates of a measure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast, get_args

import polars as pl

from polars_rank._engine.checks.enforce import warn
from polars_rank._engine.request import AnyFrame, Resources
from polars_rank._engine.schema import align_ids
from polars_rank.clicks.additive import Additive, AdditiveMeasure
from polars_rank.clicks.bias import Propensities, with_propensities
from polars_rank.clicks.counts import rows_with_known
from polars_rank.clicks.log import ClickLog
from polars_rank.clicks.log_options import LogOptions
from polars_rank.clicks.plan import (
    all_bounded_by,
    bounded_by,
    enforced,
    impressions_of,
    order_of,
)
from polars_rank.clicks.rankings import System, Systems, named, ranking, with_scores
from polars_rank.clicks.ratios import Interval, Ratio, estimates, sums
from polars_rank.core.expr import ratio
from polars_rank.core.rules import NO_SUPPORT
from polars_rank.exceptions import DataError

__all__ = ["CounterfactualMethod", "Estimation"]

CounterfactualMethod: TypeAlias = Literal["ips", "snips", "affine", "dr", "dm"]
ENOUGH = 0.95  # of the new ranking's weight on documents that were logged
LARGE = 0.1  # share of one click in the sum of weights
RESULT = (
    *("system", "estimate", "se", "lower", "upper", "ess", "largest_weight_share"),
    *("clipped", "cut", "support", "relevant_per_impression"),
    *("impressions", "clicks", "clusters", "scale"),
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimation:
    """The arguments, checked, with rows that have ``alpha`` and ``beta``.

    ``sound`` is the log without them.
    """

    log: ClickLog
    measure: Additive
    systems: list[System]
    method: CounterfactualMethod
    clip: float
    rewarded: bool
    scale: str
    sound: ClickLog
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
    ) -> Estimation:
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
        systems = named(new)
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
        bound = with_scores(bound, [*scores], rewarded=reward is not None)
        sound, bound = bound, _biased(bound, propensities, method)
        found = []
        for i, (name, system) in enumerate(systems.items()):
            if isinstance(system, str):
                found.append(System(name, i, None))
                continue
            ranked = ranking(name, system, bound, additive, reward, i)
            found.append(System(name, i, ranked))
        for _ in range(2):  # a later one can widen the ids of an earlier one
            for own in found:
                if own.frame is not None:
                    own.frame, rows = align_ids(
                        own.frame,
                        bound.rows,
                        {role: bound.roles[role] for role in ("query", "doc")},
                        where=(f"the ranking {own.name!r}", "the log"),
                    )
                    bound = replace(bound, rows=rows)
        return cls(
            log=bound,
            sound=sound,
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
        framed = [s for s in self.systems if s.frame is not None]
        if not framed and not self.policy_aware:
            return replace(self.log, rows=self._terms(self.log.rows))
        log = rows_with_known(self.log)
        frames = [cast("pl.LazyFrame", s.frame) for s in framed]

        def joined(parts: Sequence[pl.LazyFrame]) -> pl.LazyFrame:
            rows, *rest = parts
            rows = self._terms(self._with_policy(log, rows))
            for system, frame in zip(framed, rest, strict=True):
                rows = self._with_ranking(log, rows, system, frame)
            return rows

        told = f"weighed {self.method} {self.clip} {self.policy_aware}"
        rows = all_bounded_by(log, [log.rows, *frames], ["query"], joined, told)
        return replace(log, rows=rows)

    def _terms(self, rows: pl.LazyFrame) -> pl.LazyFrame:
        divisor = pl.col("policy" if self.policy_aware else "alpha")
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
        return rows.with_columns(
            w=clicked / clipped,
            raw=clicked / divisor,
            low=(divisor < self.clip) & (pl.col("clicked") > 0),
            x=value,
        )

    def _with_policy(self, log: ClickLog, rows: pl.LazyFrame) -> pl.LazyFrame:
        """For each document, the mean of alpha over the impressions of its query."""
        if not self.policy_aware:
            return rows
        query = [*log.own(log.by), "query"]
        alone = rows.group_by(*query, "doc").agg(policy=pl.col("alpha").sum())
        number = pl.struct(log.keys).n_unique()
        queries = rows.group_by(query).agg(number=number)
        both = alone.join(queries, on=query, nulls_equal=True)
        return rows.join(
            both.select(*query, "doc", pl.col("policy") / pl.col("number")),
            on=[*query, "doc"],
            how="left",
            nulls_equal=True,
            maintain_order=order_of(log),
        )

    def _with_ranking(
        self, log: ClickLog, rows: pl.LazyFrame, s: System, frame: pl.LazyFrame
    ) -> pl.LazyFrame:
        """Rows with the weight of their document, and what the query has of all.

        That is the share of the ranking that was logged, and its modelled value.
        """
        keys = [*log.own(log.by), "query"]
        pairs = rows.select(*keys, "doc", seen=True).unique()
        weight, seen = pl.col(s.weight), pl.col("seen").fill_null(value=False)
        every = frame.join(pairs.select(keys).unique(), on="query").join(
            pairs, on=[*keys, "doc"], how="left", nulls_equal=True
        )
        modelled = (weight * pl.col("reward")).sum() if self.rewarded else pl.lit(0.0)
        about = every.group_by(keys).agg(
            ratio(pl.when(seen).then(weight).otherwise(0.0).sum(), weight.sum())
            .fill_null(0.0)
            .alias(s.support),
            modelled.alias(s.modelled),
        )
        own = frame.select("query", "doc", weight).filter(weight != 0)
        order = order_of(log)
        rows = rows.join(own, on=["query", "doc"], how="left", maintain_order=order)
        return rows.join(
            about, on=keys, how="left", nulls_equal=True, maintain_order=order
        )

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
            if s.frame is not None:  # the same in all rows of a query
                words[s.support] = pl.col(s.support).max()
                words[s.modelled] = pl.col(s.modelled).max()
        plan = impressions_of(log, words, documents=True, prepare=self.ranked)
        frame = enforced(log, plan).with_columns(
            pl.col(name).fill_null(0) for name in words
        )
        if not self.clip:
            frame = frame.with_columns(low=pl.lit(0, pl.Int64), raw=pl.col("w"))
        known = pl.col("query").is_not_null() if "query" in log.roles else pl.lit(True)
        for s in self.systems:
            support = f"support:{s.name}"
            if s.frame is None:
                frame = frame.with_columns(pl.lit(1, pl.Int64).alias(support))
                continue
            value = pl.col(f"value:{s.name}") + pl.col(s.modelled)
            frame = frame.with_columns(
                value.alias(f"value:{s.name}"),
                pl.when(known).then(pl.col(s.support)).alias(support),
            ).drop(s.support, s.modelled)
        return frame

    # -- of impressions

    def result(self, baseline: str | None, interval: Interval) -> pl.LazyFrame:
        """One row per segment and system."""
        log, names = self.log, [s.name for s in self.systems]
        by = {f"by:{i}": pl.col(own) for i, own in enumerate(log.own(log.by))}
        # Polars does not see that both sums below are of the same plan.
        rows = self.per_impression().with_columns(**by).cache()
        weight = pl.lit(1, pl.Int64)
        if log.weight:
            weight = pl.col(log.carried[log.weight]).cast(pl.Float64)
        values = {f"v{i}": pl.col(f"value:{n}") * weight for i, n in enumerate(names)}
        labels = dict(zip(values, names, strict=True))
        for i, name in enumerate(names):
            if baseline is not None and name != baseline:
                other = names.index(baseline)
                values[f"d{i}"] = values[f"v{i}"] - values[f"v{other}"]
                labels[f"d{i}"] = f"{name} - {baseline}"
        den = pl.col("w") if self.method == "snips" else pl.lit(1, pl.Int64)
        keys = {f"k{i}": pl.col(c) for i, c in enumerate(log.own(log.cluster))}
        keys = keys or {f"k{i}": pl.col(c) for i, c in enumerate(log.keys)}
        parts = rows.select(*by, **keys, **values, den=den * weight)
        number = {"n": pl.len().cast(pl.Int64)}

        def summed(parts: pl.LazyFrame) -> pl.LazyFrame:
            return sums(parts, [*by, *keys], [*values, "den"], number)

        clusters = bounded_by(log, parts, [*keys], summed, repr([*values.values()]))
        ratios = [Ratio(label, v, "den") for v, label in labels.items()]
        found = _estimated(clusters, [*by], ratios, interval, [*keys], log.resources)
        long = found.rename({"measure": "system", "n": "impressions"})
        about = _diagnosed(rows, by, names, weight)
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

    def _doubts(self, columns: Sequence[pl.Series]) -> pl.Series:
        """Warn of doubtful results; raise an error if nothing was logged."""
        system, support, clicks, largest = columns
        for name, low in zip(system, support, strict=True):
            if low is None or low >= ENOUGH:
                continue
            if low == 0:
                message = NO_SUPPORT.message.format(name=name)
                raise DataError(message, rule=NO_SUPPORT.name)
            warn(
                f"{1 - low:.0%} of the ranking {name!r} are documents that were not "
                "logged for their query: clicks say nothing of them, and the estimate "
                "is too low"
            )
        if (clicks == 0).any() and self.method != "dm":
            warn("there are no clicks: nothing can be estimated")
        if (largest > LARGE).any():
            share = cast("float", largest.max())
            warn(
                f"a single click has {share:.0%} of all weight; see ess, and consider "
                "clip="
            )
        return pl.repeat(True, len(system), dtype=pl.Boolean, eager=True)


def _diagnosed(
    rows: pl.LazyFrame, by: Mapping[str, pl.Expr], names: Sequence[str], weight: pl.Expr
) -> pl.LazyFrame:
    """Diagnostics of the weights of clicks, those of impressions included."""
    supports = [f"support:{name}" for name in names]
    terms = {name: weight * pl.col(name) for name in ("w", "raw", *supports)}
    terms["ww"] = weight * weight * pl.col("ww")
    terms["all"] = weight
    terms |= {
        f"of {name}": pl.when(pl.col(name).is_not_null()).then(weight)
        for name in supports
    }
    largest = weight * pl.col("largest")
    rows = rows.select(*by, "clicks", "low", **terms, largest=largest)
    counts = {
        "clicks": pl.col("clicks").sum(),
        "low": pl.col("low").sum(),
        "largest": pl.col("largest").max(),
    }
    found = sums(rows, [*by], [*terms], counts)
    w = pl.col("w")
    return found.select(
        *by,
        "clicks",
        *(ratio(pl.col(name), pl.col(f"of {name}")).alias(name) for name in supports),
        ess=ratio(w * w, pl.col("ww")),
        largest_weight_share=ratio(pl.col("largest"), w),
        clipped=ratio(pl.col("low"), pl.col("clicks")),
        cut=1.0 - ratio(w, pl.col("raw")),
        relevant_per_impression=ratio(w, pl.col("all")),
    )


def _estimated(
    clusters: pl.LazyFrame,
    by: Sequence[str],
    ratios: Sequence[Ratio],
    interval: Interval,
    keys: Sequence[str],
    resources: Resources | None,
) -> pl.LazyFrame:
    """Ratios of sums over clusters; without an interval, their errors are null."""
    if interval.kind != "none":
        return estimates(clusters, by, ratios, interval, keys, resources)
    found = estimates(clusters, by, ratios, interval._replace(kind="normal"), keys)
    empty = [pl.lit(None, pl.Float64).alias(c) for c in ("se", "lower", "upper")]
    return found.with_columns(empty)


def _biased(log: ClickLog, propensities: Propensities, method: str) -> ClickLog:
    """Rows with ``alpha`` and ``beta`` of their position."""
    if method == "dm":
        return replace(log, rows=log.rows.with_columns(alpha=1.0, beta=0.0))
    trust = method == "affine"
    if method == "dr" and isinstance(propensities, pl.DataFrame | pl.LazyFrame):
        trust = "alpha" in propensities.lazy().collect_schema()
    return with_propensities(log, propensities, trust=trust)
