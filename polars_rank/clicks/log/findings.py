"""Say what the counts of a log mean: facts, faults, possible estimates.

``found`` are the counts by what was counted: rows by their ``faults``, ``positions``,
and if the log has them ``impressions``, ``empty`` ones, ``users`` and ``pairs``.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.core import rules

ENOUGH = 50  # impressions of a pair
NO_USER = "share of rows without a user"
LINKED = "positions that pairs link to the first"


def facts_of(
    log: ClickLog, found: dict[str, pl.DataFrame]
) -> Iterator[tuple[str, float]]:
    """Yield counts and shares, by name."""
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
    if "empty" in found:
        yield "impressions without results", totals["empty"]["empty"]
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
    """Find positions tied to the first one by documents that were at several."""
    steps = pairs.drop_nulls("first").select("first", "position").rows()
    groups = [{a, b} for a, b in steps]
    if not groups:
        return set()
    reached = {min(first for first, _ in steps)}
    while joined := [group for group in groups if group & reached]:
        reached = reached.union(*joined)
        groups = [group for group in groups if not group & reached]
    return reached


def faults_of(log: ClickLog, found: dict[str, pl.DataFrame]) -> pl.DataFrame:
    """List the rules that are broken."""
    rows = dict(found["faults"].iter_rows())
    broken = [(rule, rows.get(i, 0)) for i, rule in enumerate(log.rules, start=1)]
    if "impressions" in found:
        seen = found["impressions"].row(0, named=True)
        two = sum(n for fact, n in seen.items() if fact.startswith("two: "))
        broken.append((rules.DUPLICATE_POSITION, seen["two_positions"]))
        broken.append((rules.DUPLICATE_SHOWN, seen.get("two_docs", 0)))
        broken.append((rules.TWO_VALUES, seen.get("two_queries", 0) + two))
    return pl.DataFrame(
        [(rule.name, count, rule.message) for rule, count in broken if count],
        schema={"rule": pl.String, "rows": pl.Int64, "message": pl.String},
        orient="row",
    )


def methods_of(
    log: ClickLog, found: dict[str, pl.DataFrame], facts: dict[str, float]
) -> Iterator[tuple[str, bool, str]]:
    """Yield what can be estimated: a method, whether it is possible, and why."""
    clicks = facts["clicks"] > 0
    none = "there are no clicks"
    whole = bool(log.keys)
    yield (
        "behavior",
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
