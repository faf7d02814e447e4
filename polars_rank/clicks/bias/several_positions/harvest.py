"""Harvest position bias from documents that were shown at several positions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl

from polars_rank.clicks.bias.position_rows import (
    Note,
    Row,
    Task,
    in_units,
    is_by_query,
    segments_of,
    units_of,
    warn_unconverged,
)
from polars_rank.clicks.bias.several_positions import fits
from polars_rank.clicks.bias.several_positions.fit_errors import Fit
from polars_rank.clicks.bias.several_positions.pair_counts import Counts
from polars_rank.clicks.bias.several_positions.pair_ratios import jackknifed
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.impressions import all_held, bounded_by
from polars_rank.clicks.log.position_counts import (
    checked,
    pair_table,
    position_totals,
    shown,
)

FITTING = 12  # bytes for each byte of the table: sorted, as numbers, and their products


def rows_of_pairs(task: Task, log: ClickLog) -> Iterator[Row]:
    """Estimate one row per segment and position, by harvesting or EM."""
    plans = [position_totals(log, task.by), checked(log, documents=True)]
    totals, _, table = all_held(
        log,
        [*plans, informative_table(task, log)],
        factor=FITTING,
        what="the documents that were shown at several positions",
        otherwise="split the log with by=, or leave out rare documents or queries",
    )
    order = [*task.by, "query", *task.within, "doc", "position"]
    table = table.sort(order, nulls_last=True)
    totals = totals.sort(*task.by, "position", nulls_last=True)
    tables = segments_of(table, task.by)
    found: dict[tuple[Any, ...], Sequence[Any]] = {}
    for key, segment in segments_of(totals, task.by).items():
        positions = segment["position"]
        if positions.is_empty():  # nothing was logged
            continue
        part = tables.get(key, table.clear())
        counts = arrays(part, positions, [*task.within, "doc"])
        fit = _fit(task, counts, 0)
        if fit.converged is False:
            nothing = np.full_like(fit.theta, np.nan)
            why: list[str | None] = [note or Note.UNCONVERGED for note in fit.notes]
            fit = replace(fit, theta=nothing, notes=why)
        if fit.scores is not None and not is_by_query(log):
            fit = _clustered(task, log, fit, part, dict(zip(task.by, key, strict=True)))
        if task.normalize == "max" and np.isfinite(fit.theta).any():
            fit = fit.relative_to(int(np.nanargmax(fit.theta)))
        used = counts.informative(least=task.least, unclicked=task.unclicked)
        support = used.of_position(used.n)
        if fit.converged is False:
            warn_unconverged(fit.steps)
        more: list[Any] = [fit.steps, fit.converged][: len(task.columns)]
        if task.method == "em":
            more.append(fit.log_likelihood)
        numbers = zip(fit.theta, fit.se, map(int, support), fit.notes, strict=True)
        for position, (value, error, size, note) in zip(
            positions, numbers, strict=True
        ):
            found[*key, position] = (value, error, size, fit.groups, note, *more)
    return task.rows(totals, lambda key, position: found[*key, position])


def informative_table(task: Task, log: ClickLog, *parts: str) -> pl.LazyFrame:
    """Plan the rows of documents at several positions, clicked or all.

    ``parts`` are columns that split the impressions of a document.
    """
    keys, values = [*task.by, *task.within, "query", "doc"], ["position", "n", "c"]

    def informative(pairs: pl.LazyFrame) -> pl.LazyFrame:
        lists = pairs.group_by(keys).agg(*values, *parts)
        several = pl.col("position").list.n_unique() > 1
        clicked = (pl.col("c").list.sum() > 0) | task.unclicked
        kept = lists.filter(several & clicked)
        return kept.explode(*values, *parts, empty_as_null=True)

    return pair_table(log, [*task.by, *task.within, *parts], informative)


def _fit(task: Task, counts: Counts, reference: int) -> Fit:
    steps, tol = task.max_steps, task.tol
    if task.method == "em":
        return fits.em(counts, reference, least=task.least, max_steps=steps, tol=tol)
    counts = counts.informative(least=task.least, unclicked=task.unclicked)
    if task.estimator == "poisson":
        return fits.poisson(counts, reference, max_steps=steps, tol=tol)
    return jackknifed(
        counts,
        reference,
        task.estimator,
        task.weighting,
        max_steps=steps,
        tol=tol,
    )


def _clustered(
    task: Task, log: ClickLog, fit: Fit, table: pl.DataFrame, segment: dict[str, Any]
) -> Fit:
    """Compute errors of clusters that are not queries: scores row by row."""
    scores = fit.scores
    assert scores is not None
    k = scores.rows.positions
    share = np.zeros((int(scores.rows.pair.max(initial=-1)) + 1, k))
    share[scores.rows.pair, scores.rows.position] = scores.share
    keys = [*task.within, "query", "doc", "position"]
    known = table[scores.rows.row].select(
        *keys,
        at=pl.Series(scores.rows.position),
        mean=pl.Series(scores.mean),
        scale=pl.Series(scores.scale),
        **{f"s{i}": pl.Series(share[scores.rows.pair, i]) for i in range(k)},
    )
    here = [pl.col(name).eq_missing(value) for name, value in segment.items()]
    clusters = {f"c{i}": pl.col(c) for i, c in enumerate(log.own(log.cluster))}
    rows = log.rows.filter(*here).select(
        *keys, n=shown(log), c=pl.col("clicked"), **clusters
    )
    residual = (pl.col("c") - pl.col("n") * pl.col("mean")) * pl.col("scale")
    units = units_of(scores.largest)
    sums = {
        f"u{i}": in_units(
            pl.col("residual") * ((pl.col("at") == i) - pl.col(f"s{i}")), units[i]
        )
        .sum()
        .cast(pl.Int128)
        for i in range(k)
    }
    products = [
        (pl.col(f"u{i}") * pl.col(f"u{j}")).sum().alias(f"{i}:{j}")
        for i in range(k)
        for j in range(i + 1)
    ]
    here_too = {f"at{i}": (pl.col("at") == i).any() for i in range(k)}
    scored = (
        rows.join(known.lazy(), on=keys, nulls_equal=True)
        .with_columns(residual=residual)
        .drop(*keys, "n", "c", "mean", "scale")
    )

    def summed(rows: pl.LazyFrame) -> pl.LazyFrame:
        scores = rows.group_by([*clusters]).agg(**sums, **here_too)
        counted = [pl.col(name).sum() for name in here_too]
        return scores.select(*products, *counted, groups=pl.len())

    fingerprint = repr((fit.theta.tolist(), segment))
    parts = bounded_by(log, scored, [*clusters], summed, fingerprint)
    found = parts.sum().collect(engine="streaming").row(0, named=True)
    meat = np.zeros((k, k))
    for i in range(k):
        for j in range(i + 1):
            meat[i, j] = meat[j, i] = found[f"{i}:{j}"] * units[i] * units[j]
    several = np.array([found[name] for name in here_too])
    groups = found["groups"]
    covariance = scores.covariance(meat, several, groups)
    return replace(fit, covariance=covariance, groups=groups)


def arrays(table: pl.DataFrame, positions: pl.Series, names: Sequence[str]) -> Counts:
    """Convert a sorted table to arrays."""
    codes = table.select(
        pair=pl.struct("query", *names).rle_id(),
        group=pl.col("query").rle_id(),
        position=pl.col("position").replace_strict(
            positions, range(len(positions)), return_dtype=pl.Int64
        ),
        n=pl.col("n").cast(pl.Float64),
        c=pl.col("c").cast(pl.Float64),
    ).with_columns(pl.col("pair", "group").cast(pl.Int64))
    arrays = {name: codes[name].to_numpy() for name in codes.columns}
    return Counts(**arrays, row=np.arange(len(table)), positions=len(positions))
