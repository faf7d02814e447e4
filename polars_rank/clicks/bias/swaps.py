"""Estimate position bias where a coin decided whether documents change places."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import polars as pl

from polars_rank.clicks.bias.position_rows import (
    Cells,
    Note,
    Row,
    Task,
)
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.impressions import bounded_by, error_of
from polars_rank.clicks.log.position_counts import counted
from polars_rank.core import rules
from polars_rank.exceptions import DataError


def rows_of_swaps(task: Task, log: ClickLog) -> Iterator[Row]:
    """Divide clicks at the other position by clicks at the first."""
    totals, found = counted(log, task.by, _sums_of_swaps(task, log))
    if found.is_empty():
        raise DataError(
            rules.NOTHING_SHUFFLED.message, rule=rules.NOTHING_SHUFFLED.name
        )
    by_place = task.by_place(found, "other")

    def estimate(key: tuple[Any, ...], position: int) -> Sequence[Any]:
        if position == 1:
            mine = [r for k, r in by_place.items() if k[:-1] == key]
            support = sum(r[f"sum n1{h}"] for r in mine for h in _halves(task))
            return 1.0, 0.0, support, sum(r["clusters"] for r in mine), None
        row = by_place.get((*key, position))
        if row is None:
            return None, None, 0, 0, Note.NOT_SHUFFLED
        value, weights, note = _ratio(task, row)
        support = sum(row[f"sum n0{h}"] for h in _halves(task))
        return value, _error(value, weights, row), support, row["clusters"], note

    return task.rows(totals, estimate)


def _sums_of_swaps(task: Task, log: ClickLog) -> pl.LazyFrame:
    """Sum over clusters, one row per segment and other position.

    ``n01`` is the number of rows at the other position (0; the first is 1) whose coin
    fell to the second half (1), and ``c01`` that of clicks on them.
    """
    other = pl.col("swap")
    half = pl.col("swapped").cast(pl.Int32) if task.halves else pl.lit(0)
    place = pl.col("position")
    part = other.is_not_null() & ((place == 1) | (place == other))
    keys = log.clusters
    clicks = pl.col("clicked").cast(pl.Int64)
    own = place == other
    values = {
        f"{kind}{side}{h}": pl.when((own == (side == 0)) & (half == h))
        .then(value)
        .otherwise(0)
        .sum()
        for h in _halves(task)
        for side in range(2)
        for kind, value in (("n", pl.lit(1, pl.Int64)), ("c", clicks))
    }
    names = [*values]
    products = {f"{a}:{b}": (pl.col(a) * pl.col(b)).sum() for a in names for b in names}
    rows = log.rows.filter(part).with_columns(**keys, other=other)

    def summed(rows: pl.LazyFrame) -> pl.LazyFrame:
        cells = rows.group_by(*task.by, "other", *keys).agg(**values)
        return cells.group_by(*task.by, "other").agg(
            **{f"sum {n}": pl.col(n).sum() for n in names},
            **products,
            clusters=pl.len(),
        )

    parts = bounded_by(log, rows, [*keys], summed, f"swaps {names}")
    return parts.group_by(*task.by, "other").agg(pl.all().sum())


def _halves(task: Task) -> range:
    return range(2) if task.halves else range(1)


def _ratio(
    task: Task, row: dict[str, Any]
) -> tuple[float | None, dict[str, float], str | None]:
    """Return the ratio, and the weights of a cluster's sums in its logarithm."""
    shown = [row[f"sum n{side}{h}"] for side in range(2) for h in _halves(task)]
    if not all(shown):
        raise error_of(rules.ONE_HALF)
    means = {
        (side, h): row[f"sum c{side}{h}"] / row[f"sum n{side}{h}"]
        for side in range(2)
        for h in _halves(task)
    }
    rates = [sum(means[side, h] for h in _halves(task)) for side in range(2)]
    if not all(rates):
        return None, {}, Note.NO_REFERENCE if not rates[1] else Note.NO_CLICKS
    weights = {}
    for h, side in product(_halves(task), range(2)):
        one = (1 if side == 0 else -1) / row[f"sum n{side}{h}"] / rates[side]
        weights[f"n{side}{h}"] = -means[side, h] * one
        weights[f"c{side}{h}"] = one
    return rates[0] / rates[1], weights, None


def _error(
    value: float | None, weights: Mapping[str, float], row: Mapping[str, Any]
) -> float | None:
    """Compute the standard error of a ratio, by the delta method over clusters."""
    groups = row["clusters"]
    if value is None or groups < 2:
        return None
    variance = sum(
        x * y * row[f"{a}:{b}"] for a, x in weights.items() for b, y in weights.items()
    )
    return value * math.sqrt(max(variance, 0.0) * groups / (groups - 1))


# -- pairs of neighbors


def rows_of_fair_pairs(task: Task, log: ClickLog) -> Iterator[Row]:
    """Multiply the ratios of clicks at neighboring positions, of pairs tossed."""
    place, other = pl.col("position"), pl.col("swap")
    keys = log.clusters
    clicks = pl.col("clicked").cast(pl.Int64)
    rows = log.rows.filter(other.is_not_null()).select(
        *task.by,
        **keys,
        upper=pl.min_horizontal(place, other),
        high=pl.when(place < other).then(clicks).otherwise(0),
        low=pl.when(place > other).then(clicks).otherwise(0),
        sides=(other - place).cast(pl.Int64),
        far=((other - place).abs() != 1).cast(pl.Int64),
    )
    cell = [*task.by, *keys, "upper"]

    def summed(rows: pl.LazyFrame) -> pl.LazyFrame:
        columns = ["high", "low", "sides", "far"]
        cells = rows.group_by(cell).agg(pl.col(columns).sum(), n=pl.len())
        cells = cells.with_columns(pl.col("sides").abs())
        one = cells.group_by(*task.by, "upper").agg(
            pl.col("n", *columns).sum(), clusters=pl.len()
        )
        both = cells.join(
            cells, on=[*task.by, *keys], suffix=" too", nulls_equal=True
        ).group_by(*task.by, "upper", "upper too")
        products = {
            f"{a}:{b}": (pl.col(a) * pl.col(f"{b} too")).sum()
            for a in ("high", "low")
            for b in ("high", "low")
        }
        return pl.concat([one, both.agg(**products)], how="diagonal_relaxed")

    parts = bounded_by(log, rows, [*keys], summed, "fair pairs")
    sums = parts.group_by(*task.by, "upper", "upper too").agg(pl.all().sum())
    totals, found = counted(log, task.by, sums)
    if found.is_empty():
        raise DataError(
            rules.NOTHING_SHUFFLED.message, rule=rules.NOTHING_SHUFFLED.name
        )
    if found.select(pl.col("far", "sides").sum()).sum_horizontal().item():
        raise error_of(rules.NOT_NEIGHBORS)
    cells = task.by_place(found, "upper", "upper too")
    chains: dict[tuple[Any, ...], _Chain] = {}

    def estimate(key: tuple[Any, ...], position: int) -> Sequence[Any]:
        chain = chains.setdefault(key, _Chain())
        if position > 1:
            chain.go_on(cells, key, position - 1)
        return chain.value, chain.error, chain.support, chain.clusters, chain.note

    return task.rows(totals.sort(*task.by, "position"), estimate)


class _Chain:
    """The product of ratios down to a position, and its error.

    A cluster adds ``low / sum of low - high / sum of high`` to the logarithm of each
    ratio: those of neighboring pairs have clusters in common.
    """

    def __init__(self) -> None:
        self.value: float | None = 1.0
        self.error: float | None = 0.0
        self.support = self.clusters = 0
        self.note: str | None = None
        self.links: list[dict[str, Any]] = []

    def go_on(self, cells: Cells, key: tuple[Any, ...], upper: int) -> None:
        """Add the pair of ``upper`` and the position below."""
        link = cells.get((*key, upper, None))
        expected = self.links[-1]["upper"] + 1 if self.links else 1
        self.support = link["n"] // 2 if link else 0
        self.clusters = link["clusters"] if link else 0
        if self.note is None and (link is None or upper != expected):
            self.note = Note.NOT_SHUFFLED
        elif self.note is None and link is not None and not link["high"] * link["low"]:
            self.note = Note.NO_CLICKS
        if self.note is not None or link is None or self.value is None:
            self.value = self.error = None
            return
        self.links.append(link)
        self.value *= link["low"] / link["high"]
        groups = self.clusters
        self.error = None
        if min(a["clusters"] for a in self.links) > 1:
            factor = groups / (groups - 1)
            self.error = self.value * math.sqrt(self._variance(cells, key) * factor)

    def _variance(self, cells: Cells, key: tuple[Any, ...]) -> float:
        """Compute the variance of the logarithm: the sum of squares over clusters.

        The square of a sum over links is a sum over pairs of links. A pair with no
        cluster in common has no cell.
        """
        variance: float = sum(
            (1 if side == other else -1) * row[f"{side}:{other}"] / a[side] / b[other]
            for a in self.links
            for b in self.links
            if (row := cells.get((*key, a["upper"], b["upper"]))) is not None
            for side in ("high", "low")
            for other in ("high", "low")
        )
        return max(variance, 0.0)
