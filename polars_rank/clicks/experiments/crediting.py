"""Credit the rankers of interleaved lists, and say who won."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any, Literal, TypeAlias

import polars as pl

from polars_rank.clicks.behavior.ratios import sums_of_clusters
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.impressions import enforced, impressions_of

NO_WEIGHT = "interleaving takes no {name}=: a list is won, lost or tied"

Credit: TypeAlias = Literal["clicks", "any", "first", "satisfied", "inverse_rank"]
Method: TypeAlias = Literal["team_draft", "balanced", "probabilistic"]
UNIT = 2.0**-40  # of credits
ZETA3 = 1.2020569031595942
at = pl.col("at")


def words_of(
    teams: Sequence[Any], method: Method, credit: str, dwell: float, *, credited: bool
) -> dict[str, pl.Expr]:
    """Aggregate the rows of an impression: credits, and who took part."""
    words = {"clicks": at.count(), "part": pl.len() > 0}
    if method == "probabilistic":
        row = pl.struct("position", "clicked", "credit0", "credit1")
        return words | {"rows": row.sort_by("position")}
    clicked = at.is_not_null()
    if method == "team_draft" and not credited:
        words["part"] = pl.col("team").count() > 0
        team = pl.when(pl.col("team").is_not_null()).then(pl.col("team").hash())
        words["mixed"] = team.min() != team.max()
    for i, team in enumerate(teams):
        if method == "balanced":
            reach = pl.min_horizontal("credit0", "credit1")
            place = pl.when(at == at.max()).then(reach).max()
            held = clicked & (pl.col(f"credit{i}") <= place)
            words[f"h{i}"] = held.sum().cast(pl.Int64)
        elif credited:
            value = pl.col(f"credit{i}").cast(pl.Float64)
            words[f"h{i}"] = _units(pl.when(clicked).then(value))
        else:
            here = clicked & (pl.col("team") == team)
            words[f"h{i}"] = _credit(here, credit, dwell)
    return words


def _credit(here: pl.Expr, credit: str, dwell: float) -> pl.Expr:
    """Credit a team, from the rows where one of its documents was clicked."""
    if credit == "clicks":
        return here.sum().cast(pl.Int64)
    if credit == "any":
        return here.any().cast(pl.Int64)
    if credit == "first":
        return (here & (at == at.min())).sum().cast(pl.Int64)
    if credit == "satisfied":
        return (here & (pl.col("dwell") >= dwell)).sum().cast(pl.Int64)
    worth = 1.0 / at if credit == "inverse_rank" else pl.col("credit0")
    return _units(pl.when(here).then(worth.cast(pl.Float64)))


def _units(value: pl.Expr) -> pl.Expr:
    """Sum in steps of ``UNIT``, with the same bits in any order."""
    return (value / UNIT).round().cast(pl.Int64, strict=False).sum()


def outcomes_of(
    log: ClickLog,
    words: dict[str, pl.Expr],
    teams: Sequence[Any],
    method: Method,
    *,
    no_click: str,
    depth: int | None,
    slack: int,
) -> pl.LazyFrame:
    """Sum wins, losses and ties of each pair, and ``n``, by segment and cluster.

    Of team drafts also ``mixed``: lists with documents of two teams.
    """
    plan = impressions_of(log, words)
    shown = enforced(log, plan).filter("part")
    if no_click == "ignore":
        shown = shown.filter(pl.col("clicks") > 0)
    counts = {"clicked": (pl.col("clicks") > 0).cast(pl.Int64)}
    outcomes: dict[str, pl.Expr] = {}
    if method == "probabilistic":
        shown = shown.with_columns(odds=_marginalized(pl.col("rows"), depth))
        won, lost = (pl.col("odds").struct.field(side) for side in ("a", "b"))
        outcomes |= {"win0": won, "loss0": lost, "tie0": 1.0 - won - lost}
    else:
        for i, (a, b) in enumerate(combinations(range(len(teams)), 2)):
            more = pl.col(f"h{a}") - pl.col(f"h{b}")
            outcomes[f"win{i}"] = (more > slack).cast(pl.Int64)
            outcomes[f"loss{i}"] = (more < -slack).cast(pl.Int64)
            outcomes[f"tie{i}"] = (more.abs() <= slack).cast(pl.Int64)
    if "mixed" in words:
        counts["mixed"] = pl.col("mixed").cast(pl.Int64)
    values = counts | outcomes
    frame = shown.with_columns(**log.segments, **values)
    return sums_of_clusters(log, frame, [*log.segments], [*values], teams)


# -- probabilistic interleaving


def _marginalized(rows: pl.Expr, depth: int | None) -> pl.Expr:
    """Compute how likely either team has more clicks, over all assignments."""
    odds = pl.Struct({"a": pl.Float64(), "b": pl.Float64()})
    return rows.map_batches(
        lambda lists: _odds(lists, depth), return_dtype=odds, is_elementwise=True
    )


def _odds(lists: pl.Series, depth: int | None) -> pl.Series:
    """Go place by place, for all lists at once; in rank order."""
    import numpy as np

    n = len(lists)
    if not n:
        dtype = pl.Struct({"a": pl.Float64(), "b": pl.Float64()})
        return pl.Series(lists.name, [], dtype=dtype)
    length = lists.list.len().to_numpy()
    flat = lists.explode(empty_as_null=False).struct.unnest()
    longest = int(length.max())
    filled = np.arange(longest) < length[:, None]
    values = np.zeros((3, n, longest))
    for i, name in enumerate(("credit0", "credit1", "clicked")):
        column = flat[name].cast(pl.Float64).fill_null(0.0).to_numpy()
        values[i][filled] = column
    with np.errstate(divide="ignore"):
        worth = np.where(values[:2] > 0, values[:2] ** -3.0, 0.0)  # tau = 3
    whole = ZETA3 if depth is None else math.fsum(r**-3.0 for r in range(1, depth + 1))
    left = whole - (np.cumsum(worth, axis=2) - worth)
    chance = np.where(left > 0, worth / np.maximum(left, 1e-300), 0.0)
    both = chance.sum(axis=0)
    first = np.where(both > 0, chance[0] / np.maximum(both, 1e-300), 0.5)
    # The distribution of clicks of A less clicks of B, from -longest to longest.
    spread = np.zeros((n, 2 * longest + 1))
    spread[:, longest] = 1.0
    for place in range(longest):
        p, clicked = first[:, place, None], values[2][:, place] > 0
        up = np.roll(spread, 1, axis=1) * p + np.roll(spread, -1, axis=1) * (1 - p)
        spread[clicked] = up[clicked]
    a, b = spread[:, longest + 1 :].sum(axis=1), spread[:, :longest].sum(axis=1)
    return pl.DataFrame({"a": a, "b": b}).to_struct(lists.name)
