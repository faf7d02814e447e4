"""Estimate position bias where a model says how attractive documents are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank.clicks.bias.position_rows import (
    Row,
    Task,
    in_units,
    segments_of,
    units_of,
    warn_unconverged,
)
from polars_rank.clicks.bias.rates import compared, reference_of, require_probabilities
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.impressions import held
from polars_rank.clicks.log.position_counts import counted, moments, shown

Array: TypeAlias = npt.NDArray[np.float64]
FITTING = 10  # bytes for each byte of the table
TINY = 1e-300


def rows_of_regression_em(task: Task, log: ClickLog) -> Iterator[Row]:
    """Estimate by EM with a fixed attractiveness."""
    a = pl.col("relevance").cast(pl.Float64)
    used = replace(log, rows=log.rows.with_columns(relevance=a).filter(a.is_not_null()))
    (totals,) = counted(log, task.by)
    keys = [*task.by, "position"]
    table = held(
        used.rows.select(*keys, "relevance", n=shown(used), c=pl.col("clicked"))
        .group_by(*keys, "relevance")
        .agg(pl.col("n").sum(), pl.col("c").cast(pl.Int64).sum()),
        log.resources,
        factor=FITTING,
        what="the probabilities of relevance, by position",
        otherwise="round them, or split the log with by=",
    ).sort(*keys, "relevance", nulls_last=True)
    outside = ~table["relevance"].is_between(0, 1) | table["relevance"].is_nan()
    require_probabilities(int(outside.sum()))
    nothing = _Fit.of(table.clear(), task)
    tables = segments_of(table, task.by)
    fits = {key: _Fit.of(part, task) for key, part in tables.items()}
    every = [*fits.values(), nothing]  # in the order of the parts below
    done = [np.full(len(fit.examined), fit.converged) for fit in every]
    parts = table.group_by(keys, maintain_order=True).agg(
        impressions=pl.col("n").sum(), clicks=pl.col("c").sum()
    )
    parts = parts.with_columns(
        rate=pl.Series(np.concatenate([fit.examined for fit in every])),
        information=pl.Series(np.concatenate([fit.information for fit in every])),
        unit=units_of(np.concatenate([fit.largest for fit in every])),
        converged=pl.Series(np.concatenate(done)),
    )
    reference = reference_of(task, parts)
    known = parts.lazy().select(*keys, "rate", "information", "unit")
    rows = used.rows.join(known, on=keys, nulls_equal=True)
    a, e, c = pl.col("relevance"), pl.col("rate"), pl.col("clicked")
    missed = (shown(used) - c) * a / (1 - a * e)
    score = (c / e - missed.fill_nan(0.0)) / pl.col("information")
    scored = replace(used, rows=rows)
    values = {"f": pl.when(e > 0).then(in_units(score, pl.col("unit")))}
    found = moments(scored, task.by, values, reference, wide=True)
    sums = found.collect(engine="streaming")
    for fit in every:
        if not fit.converged:
            warn_unconverged(fit.steps)
    parts = parts.with_columns(rate=pl.when("converged").then("rate"))

    def about(key: tuple[Any, ...]) -> Sequence[Any]:
        fit = fits.get(key, nothing)
        return fit.steps, fit.converged, fit.log_likelihood

    return compared(task, totals, parts, reference, sums, about)


@dataclass(frozen=True)
class _Fit:
    """Examination of each position of a segment, and the information of its clicks.

    ``largest`` is what the absolute influences of all impressions add up to.
    """

    examined: Array
    information: Array
    largest: Array
    steps: int
    converged: bool
    log_likelihood: float

    @classmethod
    def of(cls, table: pl.DataFrame, task: Task) -> _Fit:
        """Maximize ``sum c ln(a e) + (n - c) ln(1 - a e)`` over e.

        EM would get there in hundreds of steps; the likelihood is concave, so Newton's
        method does in few.

        Source: Wang et al., WSDM 2018, with a fixed regression function.
        """
        place = table["position"].rle_id().to_numpy()
        a, n, c = (
            table[name].cast(pl.Float64).to_numpy() for name in ("relevance", "n", "c")
        )
        size = int(place.max()) + 1 if len(place) else 0
        clicked = np.bincount(place, c, size) > 0
        e: Array = np.where(clicked, 0.5, 0.0)
        steps, converged = 0, not clicked.any()

        def slopes() -> tuple[Array, Array, Array]:
            # Score of e: sum c / e - (n - c) a / (1 - a e). Its negative slope, the
            # information, is sum c / e^2 + (n - c) (a / (1 - a e))^2.
            at = np.maximum(e[place], TINY)
            free = np.maximum(1 - a * at, TINY)
            odds = np.where(n > c, a / free, 0.0)
            score = np.bincount(place, c / at - (n - c) * odds, size)
            curvature = np.bincount(place, c / at**2 + (n - c) * odds**2, size)
            return score.astype(np.float64), curvature.astype(np.float64), free

        while not converged and steps < task.max_steps:
            steps += 1
            score, information, _ = slopes()
            step = np.divide(score, information, out=np.zeros(size), where=clicked)
            before, e = e, np.clip(e + step, e / 2, (e + 1) / 2)
            change = np.abs(e - before)[clicked] / before[clicked]
            converged = bool(change.max() < task.tol)
        _, information, free = slopes()
        at = e[place]
        with np.errstate(divide="ignore", invalid="ignore"):
            hit = np.where(c > 0, c * np.log(a * at), 0.0)
        likelihood = hit.sum() + np.where(n > c, (n - c) * np.log(free), 0.0).sum()
        odds = np.where(n > c, a / free, 0.0)
        scores = np.bincount(place, c / np.maximum(at, TINY) + (n - c) * odds, size)
        largest = np.divide(scores, information, out=np.ones(size), where=clicked)
        return cls(e, information, largest, steps, converged, float(likelihood))
