"""Report the contents of a log, its faults, and what can be estimated from it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Unpack, cast

import polars as pl

from polars_rank._engine.request import AnyFrame
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.findings import ENOUGH, facts_of, faults_of, methods_of
from polars_rank.clicks.log.impressions import bounded_by
from polars_rank.clicks.log.log_columns import LogOptions
from polars_rank.clicks.log.open_log import opening
from polars_rank.clicks.log.position_counts import rows_with_known
from polars_rank.core.expr import ratio


@dataclass(frozen=True, eq=False)
class LogReport:
    """The result of :func:`report`; printing it shows all tables.

    Attributes
    ----------
    facts
        ``item`` and ``value``: how many rows, impressions, queries, clicks ... Clicks,
        positions and pairs of a query and a document are those of rows that break no
        rule; impressions and users those of all rows.
    positions
        One row per position: ``position``, ``impressions``, ``clicks``, ``ctr``; of
        rows that break no rule.
    faults
        ``rule``, ``rows`` (or impressions) that break it, and the way out in
        ``message``; empty for a sound log.
    methods
        ``method``, whether it is ``possible``, and ``why``.
    """

    facts: pl.DataFrame
    positions: pl.DataFrame
    faults: pl.DataFrame
    methods: pl.DataFrame

    def __str__(self) -> str:
        """Show all tables."""
        with pl.Config(
            tbl_rows=-1,
            fmt_str_lengths=200,
            tbl_width_chars=100,
            tbl_hide_column_data_types=True,
            tbl_hide_dataframe_shape=True,
        ):
            tables = [self.facts, self.positions, self.faults, self.methods]
            return "\n".join(str(table) for table in tables if not table.is_empty())


@opening
def report(log: AnyFrame, /, **options: Unpack[LogOptions]) -> LogReport:
    """Report what is in a log, what is wrong with it, what can be estimated from it.

    Bad rows are counted, not refused. The log is read once for each kind of group:
    positions, impressions, documents of a query, and users.

    Parameters
    ----------
    log
        One row per shown document, or totals with ``count=``.
    **options
        Columns and options of :class:`~polars_rank.clicks.LogOptions`.

    Returns
    -------
    A :class:`LogReport`.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        For wrong arguments.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks, example
    >>> report = clicks.report(pl.scan_parquet(example.clicks_path()))
    >>> report.facts.filter(pl.col("item").is_in(["rows", "impressions", "clicks"]))
    shape: (3, 2)
    ┌─────────────┬──────────┐
    │ item        ┆ value    │
    │ ---         ┆ ---      │
    │ str         ┆ f64      │
    ╞═════════════╪══════════╡
    │ rows        ┆ 100000.0 │
    │ impressions ┆ 10000.0  │
    │ clicks      ┆ 12065.0  │
    └─────────────┴──────────┘
    """
    bound = ClickLog.of(log, options, totals=True)
    if bound.keys and bound.user_column and bound.user_column not in bound.carried:
        named = cast("LogOptions", {**options, "user": bound.user_column})
        bound = ClickLog.of(log, named, totals=True)
    bound = rows_with_known(replace(bound, layout="any"))
    sound = bound.rows.filter(pl.col("fault") == 0)
    plans = {
        "faults": bound.rows.group_by("fault").agg(rows=pl.len()),
        "positions": _positions(bound, sound),
    }
    if bound.keys:
        plans["impressions"] = _impressions(bound)
        if bound.impressions is not None:
            shown = bound.rows.select(bound.keys).unique()
            missing = bound.impressions.join(
                shown, on=bound.keys, how="anti", nulls_equal=True
            )
            plans["empty"] = missing.select(empty=pl.len())
        if bound.user_column:
            plans["users"] = _users(bound, bound.carried[bound.user_column])
    if {"query", "doc"} <= {*bound.roles}:
        plans["pairs"] = _pairs(bound, sound)
    results = pl.collect_all([*plans.values()], engine="streaming")
    found = dict(zip(plans, results, strict=True))
    facts = dict(facts_of(bound, found))
    return LogReport(
        facts=pl.DataFrame(
            [*facts.items()],
            schema={"item": pl.String, "value": pl.Float64},
            orient="row",
        ),
        positions=found["positions"],
        faults=faults_of(bound, found),
        methods=pl.DataFrame(
            [*methods_of(bound, found, facts)],
            schema={"method": pl.String, "possible": pl.Boolean, "why": pl.String},
            orient="row",
        ),
    )


# -- plans


def _positions(log: ClickLog, sound: pl.LazyFrame) -> pl.LazyFrame:
    """Count impressions and clicks by position."""
    clicks = pl.col("clicked").cast(pl.Int64).sum()
    shown = pl.col("count").sum() if "count" in log.roles else pl.len()
    by_position = sound.group_by("position").agg(
        impressions=shown.cast(pl.Int64), clicks=clicks
    )
    ctr = ratio(pl.col("clicks"), pl.col("impressions"))
    return by_position.sort("position").with_columns(ctr=ctr)


def _impressions(log: ClickLog) -> pl.LazyFrame:
    """Count the impressions in which each condition holds."""
    position, clicked = pl.col("position"), pl.col("clicked") > 0
    shown, several = pl.len(), position.n_unique()
    schema = log.rows.collect_schema()
    seen: dict[str, pl.Expr] = {
        "impressions": pl.lit(value=True),
        "without_click": ~clicked.any(),
        "several_clicks": clicked.sum() > 1,
        "skips": position.max() - position.min() + 1 > several,
        "below_top": position.min() > 1,
        "two_positions": shown > several,
    }
    if "team" in schema:
        seen["mixed"] = pl.col("team").drop_nulls().n_unique() > 1
    if "doc" in schema:
        seen["two_docs"] = shown > pl.col("doc").n_unique()
    names = {"query": "two_queries"}
    names |= {own: f"two: {name}" for name, own in log.carried.items()}
    for own, fact in names.items():
        if own in schema and own not in log.keys:
            seen[fact] = pl.col(own).n_unique() > 1
    totals = [pl.col(name).cast(pl.Int64).sum() for name in seen]

    def grouped(rows: pl.LazyFrame) -> pl.LazyFrame:
        return rows.group_by(log.keys).agg(**seen).select(totals)

    plan = bounded_by(log, log.rows, log.keys, grouped, repr(seen))
    return plan.select(pl.all().sum())


def _users(log: ClickLog, user: str) -> pl.LazyFrame:
    """Count the users, and the rows of the busiest."""

    def grouped(rows: pl.LazyFrame) -> pl.LazyFrame:
        known = pl.col(user).is_not_null()
        return (
            rows.group_by(user)
            .agg(rows=pl.len())
            .select(
                users=known.sum(),
                busiest=pl.when(known).then("rows").max(),
                unknown=pl.when(~known).then("rows").sum(),
                rows=pl.col("rows").sum(),
            )
        )

    plan = bounded_by(log, log.rows, [user], grouped, "users")
    return plan.select(
        pl.col("users", "unknown", "rows").sum(), pl.col("busiest").max()
    )


def _pairs(log: ClickLog, sound: pl.LazyFrame) -> pl.LazyFrame:
    """Count documents of queries, by first position and by each other one.

    Each pair counts once, at its first position; ``queries`` are counted separately.
    """
    shown = pl.col("count").sum() if "count" in log.roles else pl.len()
    total, several = pl.col("shown").list.sum(), pl.col("position").list.len() > 1
    first, here = pl.col("first"), pl.col("position")

    def grouped(rows: pl.LazyFrame) -> pl.LazyFrame:
        table = rows.group_by("query", "doc", "position").agg(shown=shown)
        pairs = (
            table.group_by("query", "doc")
            .agg("position", "shown")
            .select(
                "position",
                first=pl.col("position").list.min(),
                several=several,
                total=total.cast(pl.Int64),
            )
        )
        once = here == first
        steps = (
            pairs.explode("position")
            .group_by("first", "position")
            .agg(
                pairs=once.sum(),
                moved=(once & pl.col("several")).sum(),
                often=(once & (pl.col("total") >= ENOUGH)).sum(),
                shown=pl.col("total").filter(once).sum(),
                shown_often=pl.col("total")
                .filter(once & (pl.col("total") >= ENOUGH))
                .sum(),
            )
        )
        queries = rows.select(queries=pl.col("query").n_unique())
        return pl.concat([steps, queries], how="diagonal")

    plan = bounded_by(log, sound, ["query"], grouped, "pairs")
    return plan.group_by("first", "position").agg(pl.all().sum())
