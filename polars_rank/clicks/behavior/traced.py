"""Trace measures to numbers of impressions, and sum these over clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, TypeAlias

import polars as pl

from polars_rank._engine.tracing.recorder import ExprTable
from polars_rank.clicks.behavior.impression import Impression
from polars_rank.clicks.behavior.measures import BehaviorMeasure
from polars_rank.clicks.behavior.ratios import Ratio, sums_of_clusters
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.impressions import enforced, impressions_of
from polars_rank.core.expr import ratio
from polars_rank.core.rules import NULL_SESSION

Unit: TypeAlias = Literal["impression"]


class Traced(NamedTuple):
    """Measures as columns of impressions: words, then parts, and a ratio per measure.

    Attributes
    ----------
    impression
        Whose words they are.
    parts
        Numerators and denominators, each once.
    ratios
        Which parts a measure is made of.
    clicks
        Number of clicks of the impression.
    """

    impression: Impression
    parts: dict[str, pl.Expr]
    ratios: list[Ratio]
    clicks: pl.Expr

    @property
    def are_of_totals(self) -> bool:
        """Whether the parts follow from the totals alone."""
        impression, values = self.impression, (*self.parts.values(), self.clicks)
        read = {root for value in values for root in value.meta.root_names()}
        alone = not impression.words and not impression.steps
        return alone and read <= impression.totals.keys()


def trace(
    log: ClickLog,
    measures: Sequence[BehaviorMeasure],
    *,
    unit: Unit | None = None,
    vocabulary: type[Impression] = Impression,
) -> Traced:
    """Trace the measures: which words and parts they need. No data are touched."""
    impression = vocabulary(log.roles, log.carried)
    clicks = impression.clicks()
    table, ratios = ExprTable("part"), []
    for measure in measures:
        num, den = measure.pair(impression)
        if unit == "impression":
            value = ratio(num, den)
            num, den = value.fill_null(0.0), value.is_not_null()
        else:
            # What has no denominator does not count, as an impression without clicks.
            num = pl.when(den.is_not_null()).then(num).fill_null(0)
            den = den.fill_null(0)
        ratios.append(Ratio(measure.name, table.add(num), table.add(den)))
    return Traced(impression, table.named, ratios, clicks)


def impressions_in(log: ClickLog, traced: Traced) -> pl.LazyFrame:
    """Plan one row per impression: keys, ``by0`` ..., words and totals."""
    impression = traced.impression
    log = impression.prepare(log)
    found = impressions_of(log, impression.words, totals=impression.totals)
    if impression.steps and log.check != "off":
        session = pl.col(log.carried[log.roles["session"]])
        found = found.with_rule(NULL_SESSION, session.is_null())
    frame = enforced(log, found)
    return frame.with_columns(**impression.steps) if impression.steps else frame


def parts_of(log: ClickLog, traced: Traced) -> pl.LazyFrame:
    """Plan one row per impression: keys, ``by0`` ..., the parts, and ``clicks``."""
    parts = parts_in(impressions_in(log, traced), traced)
    if log.weight is None:
        return parts
    return parts.with_columns(pl.col(name) * log.times for name in traced.parts)


def parts_in(frame: pl.LazyFrame, traced: Traced) -> pl.LazyFrame:
    """Replace words and totals by the parts, and ``clicks``."""
    parts = {}
    for name, dtype in frame.select(**traced.parts).collect_schema().items():
        whole = dtype == pl.Boolean or dtype.is_integer()
        parts[name] = traced.parts[name].cast(pl.Int64 if whole else pl.Float64)
    words = {*traced.impression.words, *traced.impression.totals}
    kept = [name for name in frame.collect_schema() if name not in words]
    return frame.select(*kept, **parts, clicks=traced.clicks)


def cluster_sums(
    log: ClickLog, traced: Traced, groups: dict[str, pl.Expr]
) -> pl.LazyFrame:
    """Sum the parts of each group and cluster, with the number ``n`` of impressions."""
    frame = parts_of(log, traced).with_columns(**groups)
    told = [*traced.parts.values()]
    return sums_of_clusters(log, frame, [*groups], [*traced.parts], told)
