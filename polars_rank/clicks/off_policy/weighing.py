"""Weigh clicks by propensities: rows, and impressions with their value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias, cast

import polars as pl

from polars_rank._engine.layout import try_else
from polars_rank._engine.request import AnyFrame
from polars_rank._engine.schema import align_ids
from polars_rank._engine.stages.rank import pack
from polars_rank.clicks.bias.apply import Propensities, with_propensities
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.impressions import (
    KEY,
    all_bounded_by,
    bounded_by,
    enforced,
    impressions_of,
    may_be_tried,
    order_of,
)
from polars_rank.clicks.log.log_columns import LogOptions, require_arguments
from polars_rank.clicks.log.position_counts import rows_with_known
from polars_rank.clicks.off_policy.additive import Additive, AdditiveMeasure
from polars_rank.clicks.off_policy.ranked_runs import ranked_sums
from polars_rank.clicks.off_policy.rankings import (
    System,
    Systems,
    named,
    ranking,
    with_scores,
)
from polars_rank.core.exact.aggregate import State, Sum, exact_sum, exact_total
from polars_rank.core.expr import ratio

CounterfactualMethod: TypeAlias = Literal["ips", "snips", "affine", "dr", "dm"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Estimation:
    """The arguments, checked, with rows that have ``alpha`` and ``beta``.

    ``sound`` is the log without them, ``runs`` the log if impressions are contiguous.
    ``in_runs`` says that they are, which is proved as they are summed. ``fitted`` has
    the clicks and the impressions that propensities were estimated from, if known.
    """

    log: ClickLog
    measure: Additive
    systems: list[System]
    method: CounterfactualMethod
    clip: float
    rewarded: bool
    scale: str
    sound: ClickLog
    runs: ClickLog
    fitted: pl.LazyFrame | None = None
    policy_aware: bool = False
    in_runs: bool = False

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
        _require_method(method, clip, reward)
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
        fitted = None
        if isinstance(propensities, pl.DataFrame | pl.LazyFrame):
            propensities = propensities.lazy().cache()
            fitted = _fitted(propensities, bound.by)
        if bound.layout == "auto":
            bound = replace(bound, layout="any")
        bound = with_scores(bound, [*scores], rewarded=reward is not None)
        sound, bound = bound, _biased(bound, propensities, method)
        runs = _biased(replace(sound, layout="contiguous"), propensities, method)
        found = []
        for i, (name, system) in enumerate(systems.items()):
            if isinstance(system, str):
                found.append(System(name, i, None))
                continue
            ranked = ranking(name, system, bound, additive, reward, i)
            found.append(System(name, i, ranked))
        return cls(
            log=_with_ids_of(bound, found),
            sound=sound,
            runs=runs,
            measure=additive,
            systems=found,
            method=cast("CounterfactualMethod", method),
            clip=0.0 if clip is None else float(clip),
            rewarded=reward is not None,
            fitted=fitted,
            scale="absolute" if logged or method in ("affine", "dm") else "relative",
        )

    # -- of rows

    def weighed(self) -> ClickLog:
        """Add the weight of a click, and the terms to be summed, to the rows."""
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
        """Add the mean of alpha of each document over impressions of its query."""
        if not self.policy_aware:
            return rows
        query, times = [*log.own(log.by), "query"], log.times
        alone = rows.group_by(*query, "doc").agg(
            policy=(times * pl.col("alpha")).sum(), shown=times.sum()
        )
        lists = rows.select(*dict.fromkeys([*query, *log.keys]), number=times).unique()
        queries = lists.group_by(query).agg(pl.col("number").sum())
        both = alone.join(queries, on=query, nulls_equal=True)
        mean = pl.col("policy") / pl.col("number")
        # Where no impression with the document counts, neither do clicks on it.
        mean = pl.when(pl.col("shown") != 0).then(mean).otherwise(1.0)
        return rows.join(
            both.select(*query, "doc", policy=mean),
            on=[*query, "doc"],
            how="left",
            nulls_equal=True,
            maintain_order=order_of(log),
        )

    def _with_ranking(
        self, log: ClickLog, rows: pl.LazyFrame, s: System, frame: pl.LazyFrame
    ) -> pl.LazyFrame:
        """Add the weight of the document, and what the query has of all.

        That is the share of the ranking that was logged, and its modeled value.
        """
        keys = [*log.own(log.by), "query"]
        counted = rows.filter(log.times != 0) if log.weight else rows
        pairs = counted.select(*keys, "doc", seen=True).unique()
        weight, seen = pl.col(s.weight), pl.col("seen").fill_null(value=False)
        every = frame.join(pairs.select(keys).unique(), on="query").join(
            pairs, on=[*keys, "doc"], how="left", nulls_equal=True
        )
        modeled = (weight * pl.col("reward")).sum() if self.rewarded else pl.lit(0.0)
        about = every.group_by(keys).agg(
            ratio(pl.when(seen).then(weight).otherwise(0.0).sum(), weight.sum())
            .fill_null(0.0)
            .alias(s.support),
            modeled.alias(s.modeled),
        )
        own = frame.select("query", "doc", weight).filter(weight != 0)
        order = order_of(log)
        rows = rows.join(own, on=["query", "doc"], how="left", maintain_order=order)
        return rows.join(
            about, on=keys, how="left", nulls_equal=True, maintain_order=order
        )

    def ranked(self, rows: pl.LazyFrame, key: str) -> pl.LazyFrame:
        """Add the weight of their place in each new ranking to the rows."""
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

    def sums_in_cells(
        self,
        cell: Mapping[str, pl.Expr],
        values: Mapping[str, pl.Expr],
        *,
        clicked: bool = False,
    ) -> pl.LazyFrame:
        """Sum values of rows, which know the weight of their place, exactly.

        ``clicked`` says that clicked rows are enough.
        """
        log = rows_with_known(self.log)
        state: State = {}
        for name, value in values.items():
            state |= exact_sum(name, value.cast(pl.Float64))

        def summed(rows: pl.LazyFrame) -> pl.LazyFrame:
            ranked = self.ranked(rows, KEY)
            if clicked:
                ranked = ranked.filter(pl.col("clicked") > 0)
            return ranked.group_by([*cell]).agg(**state)

        rows = replace(self, log=log).weighed().rows.with_columns(**cell)
        told = repr((self.measure.name, log.weight, [*cell.values(), *values.values()]))
        parts = bounded_by(log, pack(rows, log.keys, KEY), [KEY], summed, told)
        merged = (Sum().merge(part, pl.col(part)).alias(part) for part in state)
        found = parts.group_by([*cell]).agg(merged)
        held = {part: pl.col(part) for part in state}
        return found.select(*cell, *(exact_total(n, held).alias(n) for n in values))

    def per_impression(self) -> pl.LazyFrame:
        """Plan one row per impression: keys, columns, a value for each system ..."""
        log = self.weighed()
        words = {name: value.sum() for name, value in self._summed().items()}
        words["largest"] = pl.col("w").max()
        for s in self.systems:
            value = pl.col("x")
            if self.rewarded and s.frame is None:
                value = value + pl.col("reward")
            words[f"value:{s.name}"] = (pl.col(s.weight) * value).sum()
            if s.frame is not None:  # the same in all rows of a query
                words[s.support] = pl.col(s.support).max()
                words[s.modeled] = pl.col(s.modeled).max()
        if self.in_runs:
            plan = impressions_of(log, words, proved=self._summed_in_runs)
        else:
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
            value = pl.col(f"value:{s.name}") + pl.col(s.modeled)
            frame = frame.with_columns(
                value.alias(f"value:{s.name}"),
                pl.when(known).then(pl.col(s.support)).alias(support),
            ).drop(s.support, s.modeled)
        return frame

    def _summed(self) -> dict[str, pl.Expr]:
        """Return the values of a row whose sums are words of the impression."""
        w = pl.col("w")
        terms = {"clicks": pl.col("clicked").cast(pl.Int64), "w": w, "ww": w * w}
        if self.clip:
            terms |= {"low": pl.col("low").cast(pl.Int64), "raw": pl.col("raw")}
        return terms

    def _summed_in_runs(
        self, rows: pl.LazyFrame, key: str, constants: list[str]
    ) -> pl.LazyFrame:
        """Sum the words of impressions, by way of the runs of their rows."""
        value = pl.col("x") + pl.col("reward") if self.rewarded else pl.col("x")
        return ranked_sums(
            rows,
            key,
            constants,
            self._summed(),
            {f"value:{s.name}": s.score for s in self.systems},
            value,
            self.measure.weight,
            checked=self.log.check != "off",
        )

    def in_runs_first(
        self, plan: Callable[[Estimation], pl.LazyFrame], otherwise: pl.LazyFrame
    ) -> pl.LazyFrame:
        """Try the plan by runs of rows; ``otherwise`` where they are torn apart."""
        framed = any(s.frame is not None for s in self.systems)
        if framed or self.policy_aware or not may_be_tried(self.log):
            return otherwise
        check = "strict" if self.log.check == "warn" else self.log.check
        own = replace(self, log=replace(self.runs, check=check), in_runs=True)
        return try_else(
            lambda: plan(own),
            otherwise,
            name="ranks in runs",
            claim="rows of an impression are contiguous",
            otherwise="grouping them by impression",
            reads=[self.log.rows],
        )


def _require_method(method: str, clip: float | None, reward: str | None) -> None:
    require_arguments(method=(CounterfactualMethod, method))
    if (reward is not None) != (method in ("dr", "dm")):
        msg = (
            f'method "{method}" needs a model: name its column with reward='
            if reward is None
            else f'reward= is for methods "dr" and "dm", not "{method}"'
        )
        raise ValueError(msg)
    if clip is not None and (method == "dm" or not 0 < clip < math.inf):
        msg = f'clip must be above 0 and finite, and is not for method "dm": {clip!r}'
        raise ValueError(msg)


def _with_ids_of(log: ClickLog, systems: Sequence[System]) -> ClickLog:
    """Give the log ids of a type that those of the rankings have, too."""
    ids = {role: name for role, name in log.roles.items() if role in ("query", "doc")}
    for _ in range(2):  # a later one can widen the ids of an earlier one
        for own in systems:
            if own.frame is not None:
                where = f"the ranking {own.name!r}", "the log"
                own.frame, rows = align_ids(own.frame, log.rows, ids, where=where)
                log = replace(log, rows=rows)
    return log


def _fitted(propensities: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame | None:
    """Count clicks and impressions that propensities were estimated from."""
    schema = propensities.collect_schema()
    if not {"clicks", "impressions"} <= {*schema}:
        return None
    segments = propensities.group_by(
        [name for name in by if name in schema] or pl.lit(0)
    )
    totals = segments.agg(pl.col("clicks").sum(), pl.col("impressions").max())
    return totals.select(pl.col("clicks", "impressions").sum().name.prefix("fitted_"))


def _biased(log: ClickLog, propensities: Propensities, method: str) -> ClickLog:
    """Add ``alpha`` and ``beta`` of their position to the rows."""
    if method == "dm":
        return replace(log, rows=log.rows.with_columns(alpha=1.0, beta=0.0))
    trust = method == "affine"
    if method == "dr" and isinstance(propensities, pl.DataFrame | pl.LazyFrame):
        trust = "alpha" in propensities.lazy().collect_schema()
    return with_propensities(log, propensities, trust=trust)
