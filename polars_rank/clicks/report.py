"""A report on a log: its contents, its faults, and what can be estimated from it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Unpack, cast

import polars as pl

from polars_rank._engine.request import AnyFrame
from polars_rank.clicks.log import ClickLog
from polars_rank.clicks.log_options import LogOptions
from polars_rank.clicks.opening import opening
from polars_rank.clicks.plan import bounded_by
from polars_rank.core.expr import ratio
from polars_rank.core.rules import DUPLICATE_POSITION, DUPLICATE_SHOWN, TWO_VALUES

__all__ = ["LogReport", "check"]

ENOUGH = 50  # impressions of a pair
NO_USER = "share of rows without a user"
LINKED = "positions that pairs link to the first"


@dataclass(frozen=True, eq=False)
class LogReport:
    """The result of :func:`check`; printing it shows all tables.

    Attributes
    ----------
    facts
        ``fact`` and ``value``: how many rows, impressions, queries, clicks ... Clicks,
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
        """All tables."""
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
def check(log: AnyFrame, /, **options: Unpack[LogOptions]) -> LogReport:
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
    >>> report = clicks.check(pl.scan_parquet(example.clicks_path()))
    >>> report.facts.filter(pl.col("fact").is_in(["rows", "impressions", "clicks"]))
    shape: (3, 2)
    ┌─────────────┬──────────┐
    │ fact        ┆ value    │
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
    bound = replace(bound, layout="any")
    sound = bound.rows.filter(pl.col("fault") == 0)
    plans = {
        "faults": bound.rows.group_by("fault").agg(rows=pl.len()),
        "positions": _positions(bound, sound),
    }
    if bound.keys:
        plans["impressions"] = _impressions(bound)
        if bound.user_column:
            plans["users"] = _users(bound, bound.carried[bound.user_column])
    if {"query", "doc"} <= {*bound.roles}:
        plans["pairs"] = _pairs(bound, sound)
    results = pl.collect_all([*plans.values()], engine="streaming")
    found = dict(zip(plans, results, strict=True))
    facts = dict(_facts(bound, found))
    return LogReport(
        facts=pl.DataFrame(
            [*facts.items()],
            schema={"fact": pl.String, "value": pl.Float64},
            orient="row",
        ),
        positions=found["positions"],
        faults=_faults(bound, found),
        methods=pl.DataFrame(
            [*_methods(bound, found, facts)],
            schema={"method": pl.String, "possible": pl.Boolean, "why": pl.String},
            orient="row",
        ),
    )


# -- plans


def _positions(log: ClickLog, sound: pl.LazyFrame) -> pl.LazyFrame:
    """Impressions and clicks by position."""
    clicks = pl.col("clicked").cast(pl.Int64).sum()
    shown = pl.col("count").sum() if "count" in log.roles else pl.len()
    by_position = sound.group_by("position").agg(
        impressions=shown.cast(pl.Int64), clicks=clicks
    )
    ctr = ratio(pl.col("clicks"), pl.col("impressions"))
    return by_position.sort("position").with_columns(ctr=ctr)


def _impressions(log: ClickLog) -> pl.LazyFrame:
    """One row: the number of impressions in which each condition holds."""
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
    """How many users there are, and how many rows the busiest has."""

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
    """Documents of queries, by the first of their positions and by each other.

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


# -- what they say


def _facts(
    log: ClickLog, found: dict[str, pl.DataFrame]
) -> Iterator[tuple[str, float]]:
    totals = {
        name: {
            c: float(total or 0) for c, total in frame.sum().row(0, named=True).items()
        }
        for name, frame in found.items()
    }
    positions, seen = found["positions"], totals.get("impressions")
    yield "rows", totals["faults"]["rows"]
    sound = dict(found["faults"].iter_rows()).get(0, 0)
    yield "rows that break no rule", sound
    if seen is not None:
        yield "impressions", seen["impressions"]
    if "pairs" in found:
        pairs = totals["pairs"]
        yield "queries", pairs["queries"]
        yield "query-document pairs", pairs["pairs"]
    if "users" in found:
        users = totals["users"]
        yield "users", users["users"]
        yield "share of the busiest user", _share(users["busiest"], users["rows"])
        yield NO_USER, _share(users["unknown"], users["rows"])
    yield "positions", len(positions)
    clicks, shown = (totals["positions"][c] for c in ("clicks", "impressions"))
    yield "clicks", clicks
    yield "clicks per row that breaks no rule", _share(clicks, shown)
    if seen is not None:
        for fact, name in (
            ("without a click", "without_click"),
            ("with several clicks", "several_clicks"),
            ("that skip a position", "skips"),
            ("that begin below position 1", "below_top"),
        ):
            share = _share(seen[name], seen["impressions"])
            yield f"share of impressions {fact}", share
    if "pairs" in found:
        share = _share(pairs["moved"], pairs["pairs"])
        yield "share of pairs shown at several positions", share
        share = _share(pairs["shown_often"], pairs["shown"])
        yield f"share of rows whose pair was shown {ENOUGH} times or more", share
        yield LINKED, len(_connected(found["pairs"]))


def _share(part: float, whole: float) -> float:
    return part / whole if whole else float("nan")


def _connected(pairs: pl.DataFrame) -> set[int]:
    """Positions tied to the first one by documents that were at several."""
    steps = pairs.drop_nulls("first").select("first", "position").rows()
    groups = [{a, b} for a, b in steps]
    if not groups:
        return set()
    reached = {min(first for first, _ in steps)}
    while joined := [group for group in groups if group & reached]:
        reached = reached.union(*joined)
        groups = [group for group in groups if not group & reached]
    return reached


def _faults(log: ClickLog, found: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """Rules that are broken."""
    rows = dict(found["faults"].iter_rows())
    broken = [(rule, rows.get(i, 0)) for i, rule in enumerate(log.rules, start=1)]
    if "impressions" in found:
        seen = found["impressions"].row(0, named=True)
        two = sum(n for fact, n in seen.items() if fact.startswith("two: "))
        broken.append((DUPLICATE_POSITION, seen["two_positions"]))
        broken.append((DUPLICATE_SHOWN, seen.get("two_docs", 0)))
        broken.append((TWO_VALUES, seen.get("two_queries", 0) + two))
    return pl.DataFrame(
        [(rule.name, count, rule.message) for rule, count in broken if count],
        schema={"rule": pl.String, "rows": pl.Int64, "message": pl.String},
        orient="row",
    )


def _methods(
    log: ClickLog, found: dict[str, pl.DataFrame], facts: dict[str, float]
) -> Iterator[tuple[str, bool, str]]:
    clicks = facts["clicks"] > 0
    none = "there are no clicks"
    whole = bool(log.keys)
    yield (
        "behaviour",
        whole and clicks,
        none
        if not clicks
        else "from every impression; those without results need impressions="
        if whole
        else "a log of totals has no impressions",
    )
    user = log.user_column
    yield (
        "intervals by user",
        whole and user is not None,
        "no column of users is named"
        if not user
        else f"with cluster={user!r}, once rows without a user have an id of their own"
        if facts.get(NO_USER)
        else f"with cluster={user!r}",
    )
    dwell = "dwell" in log.roles
    yield (
        "satisfied clicks",
        whole and dwell,
        "by dwell time" if dwell else "no column of dwell times is named (dwell=)",
    )
    yield from _bias_methods(found, facts)
    for method, role in (("interleaving", "team"), ("comparison of arms", "arm")):
        given = role in log.roles
        why = f"by {log.roles[role]!r}" if given else f"no column is named ({role}=)"
        if whole and given and role == "team" and not found["impressions"]["mixed"][0]:
            given = False
            why = f"{log.roles[role]!r} is one team in every list: none is interleaved"
        yield method, whole and given and clicks, why


def _bias_methods(
    found: dict[str, pl.DataFrame], facts: dict[str, float]
) -> Iterator[tuple[str, bool, str]]:
    if "pairs" not in found:
        yield "propensities", False, "it takes queries and documents"
        return
    clicks = facts["clicks"] > 0
    queries, impressions = facts["queries"], facts.get("impressions", 0)
    if impressions > 1 and queries == impressions:
        why = (
            "every impression has a query of its own: is query= an id of the search "
            "event? Name the column with the text of the query"
        )
        yield "propensities", False, why
        return
    connected, positions = facts[LINKED], facts["positions"]
    moved = found["pairs"]["moved"].sum()
    yield (
        "propensities: harvest",
        clicks and connected > 1,
        "there are no clicks"
        if not clicks
        else f"{moved} query-document pairs were shown at several positions; they link "
        f"{connected:.0f} of {positions:.0f} positions",
    )
    often = found["pairs"]["often"].sum()
    yield (
        "propensities: em",
        clicks and often > 0,
        f"{often} query-document pairs were shown {ENOUGH} times or more",
    )
    yield "propensities: ctr", clicks, "biased: it takes relevance for examination"
