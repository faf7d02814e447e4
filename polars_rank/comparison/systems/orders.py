"""Orders of systems: agreement of measures, stability, discriminative power."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any, Unpack

import numpy as np
import polars as pl

from polars_rank.comparison.compare import compare
from polars_rank.comparison.input.procedures import TestName
from polars_rank.comparison.input.reading import read
from polars_rank.comparison.input.values import (
    ROUNDING,
    Columns,
    Source,
    cell,
    lower_is_better,
)
from polars_rank.comparison.keywords import PairOptions
from polars_rank.comparison.tests.bootstrap import resampled


def orders(
    values: Source,
    measures: str | Sequence[str] | None = None,
    *,
    test: TestName = "t",
    level: float = 0.95,
    **options: Unpack[PairOptions],
) -> pl.DataFrame:
    """Compare the orders in which measures put the systems.

    Parameters
    ----------
    values, measures
        As for :func:`compare`, with at least two measures.
    test, level, options
        As in :func:`compare`, without ``by``; the test says which swaps are
        significant.

    Returns
    -------
    One row per pair of measures, of the systems that have both: ``measure``,
    ``other``; ``tau``, Kendall's tau-b of the mean values; ``tau_ap``, AP correlation,
    with ``other`` as the truth; ``swapped``, the pairs of systems in another order, and
    ``n_significant``, how many of them differ significantly in either measure.

    Source: Yilmaz, Aslam and Robertson, SIGIR 2008 (tau_ap).

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> values = pl.DataFrame(
    ...     {"system": ["a", "a", "b", "b"], "query_id": [1, 2] * 2,
    ...      "rr": [1.0, 0.5, 0.5, 0.5], "ap": [0.2, 0.3, 0.4, 0.3]}
    ... )
    >>> pr.comparison.orders(values).row(0, named=True)["swapped"]
    ['a, b']
    """
    if options.get("by") is not None:
        msg = "orders are those of all queries: leave out by="
        raise ValueError(msg)
    _require_difference(test)
    options["by"] = []
    found = compare(values, measures, test=test, level=level, **options)
    means, names = _means(found.means)
    if len(names) < 2:
        msg = f"orders of at least two measures are compared, not of {len(names)}"
        raise ValueError(msg)
    sure = {
        (m, *sorted(pair))
        for m, *pair in found.pairs.filter("significant")
        .select("measure", "baseline", "system")
        .rows()
    }
    rows = []
    for one, other in combinations(names, 2):
        both = means.drop_nulls([one, other])
        systems = both["system"].to_list()
        ranks = _ranks(both[one]), _ranks(both[other])
        x, y = (r.to_numpy() for r in ranks)
        swapped = [
            (systems[i], systems[j])
            for i, j in combinations(range(len(systems)), 2)
            if (x[i] - x[j]) * (y[i] - y[j]) < 0
        ]
        either = sum(
            (one, *sorted(pair)) in sure or (other, *sorted(pair)) in sure
            for pair in swapped
        )
        tau, tau_ap = _correlations(*ranks)
        rows.append((one, other, tau, tau_ap, [", ".join(p) for p in swapped], either))
    schema: dict[str, Any] = {
        "measure": pl.String, "other": pl.String, "tau": pl.Float64,
        "tau_ap": pl.Float64, "swapped": pl.List(pl.String),
        "n_significant": pl.UInt32,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def _require_difference(test: str) -> None:
    """Refuse the test of which significant pairs are the same."""
    if test == "tost":
        msg = "test='tost' is for equivalence; choose a test of differences, like 't'"
        raise ValueError(msg)


def _means(means: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """Put systems in rows, measures in columns, so that higher is better in all."""
    measures = means["measure"].unique(maintain_order=True).to_list()
    wide = means.pivot("measure", index="system", values="mean")
    lower = [m for m in measures if lower_is_better(m)]
    return wide.with_columns(-pl.col(lower)) if lower else wide, measures


def _ranks(means: pl.Series) -> pl.Series:
    """Rank means, the lowest first; those that rounding alone tells apart share one."""
    known = means.drop_nulls().unique().sort()
    apart = known.diff() > ROUNDING * np.abs(known.to_numpy()).max(initial=0.0)
    ranks = apart.fill_null(value=False).cum_sum().cast(pl.Int64)
    return means.replace_strict(known, ranks, default=None)


def _correlations(
    one: pl.Series, other: pl.Series
) -> tuple[float | None, float | None]:
    frame = pl.DataFrame({"score": one, "label": other.rank("dense").cast(pl.Int64)})
    label = pl.col("label").rank_eval  # type: ignore[attr-defined]
    return frame.select(t=label.kendall_tau("score"), a=label.tau_ap("score")).row(0)


def stability(
    values: Source,
    measures: str | Sequence[str] | None = None,
    *,
    system: str = "system",
    query: str | Sequence[str] = "query_id",
    n_resamples: int = 999,
    seed: int = 0,
) -> pl.DataFrame:
    """Measure how often the order of the systems holds when queries are resampled.

    Parameters
    ----------
    values, measures, system, query
        As in :func:`compare`. Queries with a null for any system are left out.
    n_resamples, seed
        Number of bootstrap resamples of the queries, and their seed.

    Returns
    -------
    One row per measure and pair of systems: ``better`` and ``worse`` by their means,
    ``kept``, the share of resamples in which that holds, and ``first``, the share in
    which ``better`` is the best of all systems.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> values = pl.DataFrame(
    ...     {"system": ["a"] * 3 + ["b"] * 3, "query_id": [1, 2, 3] * 2,
    ...      "ap": [0.2, 0.3, 0.1, 0.4, 0.5, 0.3]}
    ... )
    >>> pr.comparison.stability(values).row(0)
    ('ap', 'b', 'a', 1.0, 1.0)
    """
    held = read(values, Columns(system, query, measures))
    rows = []
    for k, measure in enumerate(held.measures):
        sign = -1.0 if lower_is_better(measure) else 1.0
        cells = [cell(k, i) for i in range(len(held.systems))]
        x = sign * held.ordered.drop_nulls(cells).select(cells).to_numpy()
        if not len(x):
            continue
        drawn = resampled(
            x, np.ones(len(x)), n_resamples=n_resamples, seed=seed
        ).estimate
        means, same = x.mean(axis=0), ROUNDING * np.abs(x).max()
        best = (drawn >= drawn.max(axis=1, keepdims=True) - same).mean(axis=0)
        for i, j in combinations(range(len(held.systems)), 2):
            a, b = (i, j) if means[i] >= means[j] else (j, i)
            kept = float((drawn[:, a] - drawn[:, b] > same).mean())
            rows.append(
                (measure, held.systems[a], held.systems[b], kept, float(best[a]))
            )
    schema: dict[str, Any] = {
        "measure": pl.String, "better": pl.String, "worse": pl.String,
        "kept": pl.Float64, "first": pl.Float64,
    }  # fmt: skip
    return pl.DataFrame(rows, schema=schema, orient="row")


def discriminative(
    values: Source,
    measures: str | Sequence[str] | None = None,
    *,
    test: TestName = "randomized_tukey",
    level: float = 0.95,
    **options: Unpack[PairOptions],
) -> pl.DataFrame:
    """Measure discriminative power: how many pairs of systems a measure tells apart.

    Parameters
    ----------
    values, measures, options
        As for :func:`compare`.
    test, level
        The test of all pairs, and 1 - the significance level.

    Returns
    -------
    One row per measure: ``pairs``, how many there are; ``significant_share``, the share
    that differs significantly; ``sufficient``, the smallest such difference;
    ``p_adjusted``, all p-values, from the largest (the curve of achieved significance
    levels).

    Source: Sakai, SIGIR 2006.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> values = pl.DataFrame(
    ...     {"system": ["a"] * 3 + ["b"] * 3, "query_id": [1, 2, 3] * 2,
    ...      "ap": [0.2, 0.3, 0.1, 0.4, 0.51, 0.3]}
    ... )
    >>> found = pr.comparison.discriminative(values, test="t")
    >>> found.select("pairs", "significant_share").row(0)
    (1, 1.0)
    """
    _require_difference(test)
    options.setdefault("by", [])
    pairs = compare(values, measures, test=test, level=level, **options).pairs
    size = pl.col("difference").abs()
    return pairs.group_by("measure", maintain_order=True).agg(
        pairs=pl.len(),
        significant_share=pl.col("significant").mean(),
        sufficient=size.filter("significant").min(),
        p_adjusted=pl.col("p_adjusted").sort(descending=True),
    )
