"""Estimate position bias from click rates: of all, shuffled, or trusted lists."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from polars_rank.clicks.behavior.ratios import sums
from polars_rank.clicks.bias.position_rows import (
    Note,
    Row,
    Task,
    in_units,
    key_of,
    units_of,
)
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.position_counts import (
    counted,
    moments,
    position_totals,
    shown,
)
from polars_rank.core import rules
from polars_rank.exceptions import DataError


def rows_of_rates(task: Task, log: ClickLog) -> Iterator[Row]:
    """Divide clicks per impression at a position by those at the reference."""
    trust = task.method == "trust"
    rows = log.rows
    if task.method == "randomized":
        rows = rows.filter("randomized")
        if task.shuffled is not None:
            rows = rows.filter(pl.col("position") <= task.shuffled)
    known = pl.col("relevance").cast(pl.Float64)
    if trust:
        rows = rows.with_columns(relevance=known).filter(known.is_not_null())
    used = replace(log, rows=rows)
    plan = _regressions(used, task.by) if trust else position_totals(used, task.by)
    totals, parts = counted(log, task.by, plan)
    if task.method == "randomized" and parts.is_empty():
        raise DataError(
            rules.NOTHING_SHUFFLED.message, rule=rules.NOTHING_SHUFFLED.name
        )
    if trust:
        require_probabilities(int(parts["outside"].sum()))
    rate = pl.col("alpha") + pl.col("beta")
    if not trust:
        rate = pl.col("clicks") / pl.col("impressions")
    parts = parts.with_columns(rate=rate).sort(*task.by, "position")
    if trust:
        parts = parts.with_columns(unit=units_of(parts["largest"].to_numpy()))
    reference = reference_of(task, parts)
    values = {"n": shown(used), "c": pl.col("clicked").cast(pl.Int64)}
    if trust:
        used, values = _influences(used, task.by, parts)
    found = moments(used, task.by, values, reference, wide=trust)
    sums = found.collect(engine="streaming")
    return compared(task, totals, parts, reference, sums)


def reference_of(task: Task, parts: pl.DataFrame) -> pl.DataFrame:
    """Return the position of each segment whose propensity is 1."""
    best = pl.col("position")
    if task.normalize == "max":
        best = best.sort_by("rate", descending=True, maintain_order=True)
    known = parts.drop_nulls("rate")
    if not task.by:
        return known.select(best.first())
    return known.group_by(task.by, maintain_order=True).agg(best.first())


def compared(
    task: Task,
    totals: pl.DataFrame,
    parts: pl.DataFrame,
    reference: pl.DataFrame,
    sums: pl.DataFrame,
    more: Callable[[tuple[Any, ...]], Sequence[Any]] = lambda _: (),
) -> Iterator[Row]:
    """Divide rates by that at the reference, with errors from influences.

    ``parts`` have the ``rate`` of a position, ``sums`` the products of the influences
    of clusters, in its ``unit``; ``more`` gives the values of further columns, of
    the fit of a segment.
    """
    found, products = (task.by_place(frame, "position") for frame in (parts, sums))
    first = {key_of(row[:-1]): row[-1] for row in reference.iter_rows()}

    def estimate(key: tuple[Any, ...], position: int) -> Sequence[Any]:
        at, base = (*key, position), (*key, first.get(key))
        part, other = found.get(at), found.get(base)
        groups = products[*key, None]["clusters"] if (*key, None) in products else 0
        lines = [*_more(task, part, products.get(at), groups), *more(key)]
        note = _why_not(task, part, other)
        if note is not None or part is None or other is None:
            support = part["impressions"] if part else 0
            return None, None, support, groups, note, *lines
        value = part["rate"] / other["rate"]
        own, its = (_weights(p, products[at]) for p in (part, other))
        variance = _variance(products[at], products[base], own, its)
        error = None
        if at == base:
            error = 0.0
        elif value > 0 and min(products[p]["clusters"] for p in (at, base)) > 1:
            error = value * math.sqrt(variance * groups / (groups - 1))
        return value, error, part["impressions"], groups, None, *lines

    return task.rows(totals, estimate)


def _why_not(
    task: Task, part: dict[str, Any] | None, other: dict[str, Any] | None
) -> str | None:
    if part is None:
        return {"randomized": Note.NOT_SHUFFLED, "regression_em": Note.UNKNOWN}.get(
            task.method, Note.CONSTANT
        )
    if part["rate"] is None:
        return Note.UNCONVERGED if task.method == "regression_em" else Note.CONSTANT
    if other is None or not other["rate"] > 0:
        return Note.NO_REFERENCE
    return None if part["rate"] > 0 else Note.NO_CLICKS


def _more(
    task: Task, part: dict[str, Any] | None, sums: dict[str, Any] | None, groups: int
) -> list[float | None]:
    """Return ``alpha`` and ``beta`` with their errors."""
    if task.method != "trust":
        return []
    if part is None or part["alpha"] is None:
        return [None] * 4
    if sums is None or sums["clusters"] < 2:
        return [part["alpha"], None, part["beta"], None]
    factor = groups / (groups - 1)
    errors = [(sums[f"{v}:{v}"] * factor) ** 0.5 * part["unit"] for v in ("a", "b")]
    return [part["alpha"], errors[0], part["beta"], errors[1]]


def _regressions(log: ClickLog, by: Sequence[str]) -> pl.LazyFrame:
    """Fit a least squares line of clicks on relevance, per position."""
    rows = log.rows.select(*by, "position", "relevance", "clicked", n=shown(log))
    x, n, c = pl.col("relevance"), pl.col("n"), pl.col("clicked").cast(pl.Int64)
    terms = {
        "impressions": n,
        "clicks": c,
        "x": n * x,
        "xx": n * x * x,
        "xc": c * x,
    }
    outside = (~x.is_between(0, 1) | x.is_nan()).cast(pl.Int64)
    rows = rows.select(*by, "position", outside=outside, **terms)
    counts = {"outside": pl.col("outside").sum()}
    found = sums(rows, [*by, "position"], [*terms], counts)
    n, c = pl.col("impressions"), pl.col("clicks")
    spread = pl.col("xx") - pl.col("x") ** 2 / n
    slope = (pl.col("xc") - pl.col("x") * c / n) / spread
    varies = spread > 1e-12 * pl.col("xx")
    found = found.with_columns(alpha=pl.when(varies).then(slope), spread=spread)
    mean, alpha = pl.col("x") / n, pl.col("alpha")
    found = found.with_columns(beta=c / n - alpha * mean, mean=mean)
    residuals = n * (1 + alpha.abs() + pl.col("beta").abs())
    return found.with_columns(largest=residuals * (2 / pl.col("spread") + 1 / n))


def _influences(
    log: ClickLog, by: Sequence[str], lines: pl.DataFrame
) -> tuple[ClickLog, dict[str, pl.Expr]]:
    """Return rows, and their influence on alpha (a), beta (b) and the sum (f)."""
    fit = lines.lazy().select(
        *(*by, "position", "alpha", "beta", "mean", "spread", "unit"),
        number="impressions",
    )
    rows = log.rows.join(fit, on=[*by, "position"], nulls_equal=True)
    x, n = pl.col("relevance"), shown(log)
    residual = pl.col("clicked") - n * (pl.col("alpha") * x + pl.col("beta"))
    off = x - pl.col("mean")
    slope = residual * off / pl.col("spread")
    level = residual / pl.col("number") - slope * pl.col("mean")
    values = {"a": slope, "b": level, "f": slope + level}
    units = {name: in_units(value, pl.col("unit")) for name, value in values.items()}
    return replace(log, rows=rows), units


def require_probabilities(wrong: int) -> None:
    """Raise an error if some are wrong."""
    if wrong:
        message = f"{rules.INVALID_RELEVANCE.message} ({wrong} found)"
        raise DataError(message, rule=rules.INVALID_RELEVANCE.name, count=wrong)


def _weights(part: dict[str, Any], products: dict[str, Any]) -> dict[str, float]:
    """Weigh the sums of a cluster in the logarithm of the rate."""
    if "f:f" in products:  # influences on the rate itself
        return {"f": part["unit"] / part["rate"]}
    return {"c": 1 / part["clicks"], "n": -1 / part["impressions"]}


def _variance(
    here: dict[str, Any],
    there: dict[str, Any],
    own: dict[str, float],
    its: dict[str, float],
) -> float:
    """Sum over clusters of the square of the difference of two influences."""

    def quadratic(row: dict[str, Any], weights: dict[str, float]) -> float:
        return sum(
            weights[a] * weights[b] * (row.get(f"{a}:{b}", row.get(f"{b}:{a}")) or 0.0)
            for a in weights
            for b in weights
        )

    cross = sum(own[a] * its[b] * (here[f"{a}|{b}"] or 0.0) for a in own for b in its)
    return max(quadratic(here, own) + quadratic(there, its) - 2 * cross, 0.0)
