"""Several runs of each system: errors that hold for other runs, too."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank.comparison.input.procedures import IntervalName
from polars_rank.comparison.input.values import Values, cell
from polars_rank.comparison.tests.bootstrap import drawn_counts
from polars_rank.comparison.tests.estimates import Plan, t_tested
from polars_rank.exceptions import DataError

SAME = 1e-12  # smaller differences are rounding
Array: TypeAlias = npt.NDArray[np.float64]


def across_repeats(frame: pl.DataFrame, held: Values, plan: Plan) -> pl.DataFrame:
    """Queries and repeats as crossed random effects: error and t test of every pair.

    With d of query q and repeat r, and the mean squares of queries, repeats and the
    rest, the variance of the mean is (MS_q + MS_r - MS_e) / (Q R), its degrees of
    freedom are those of Satterthwaite. There is no error where that is not above 0,
    unless all differences are the same.
    """
    runs = held.repeats
    assert runs is not None
    if (count := runs["repeat"].n_unique()) < 2:
        msg = (
            f"repeats='random' needs two repeats or more, to see how they differ; "
            f"{held.columns.repeat!r} has {count}"
        )
        raise DataError(msg, rule="missing_repeat", count=1)
    found = [_crossed(matrix) for matrix in _matrices(held, plan)]
    error, df = zip(*found, strict=True)
    new = frame.with_columns(
        error=pl.Series(error, dtype=pl.Float64),
        df=pl.Series(df, dtype=pl.Float64),
    )
    return t_tested(new, plan)


def with_pigeonhole(
    frame: pl.DataFrame,
    held: Values,
    plan: Plan,
    interval: IntervalName,
    n_resamples: int,
    seed: int,
) -> pl.DataFrame:
    """Replace the intervals by quantiles of means of resampled queries and repeats.

    Queries and repeats are drawn each on their own; the spread is a little larger than
    that of other queries and repeats would be.

    Source: Owen, Annals of Applied Statistics 2007; with Dirichlet weights
    (``"bayesian"``): Owen and Eckles, 2012.
    """
    bayesian = interval == "bayesian"
    tails = [(1 - plan.interval_level) / 2, (1 + plan.interval_level) / 2]
    rows: list[tuple[float | None, ...]] = []
    for matrix in _matrices(held, plan):
        if matrix is None:
            rows.append((None, None, None))
            continue
        queries, repeats = (
            drawn_counts(n, n_resamples, seed + i, bayesian=bayesian)
            for i, n in enumerate(matrix.shape)
        )
        of_repeats = np.concatenate([*repeats])
        of_repeats /= of_repeats.sum(axis=1, keepdims=True)
        means, start = [], 0
        for counts in queries:
            by_repeat = (counts @ matrix) / counts.sum(axis=1, keepdims=True)
            end = start + len(counts)
            means.append((by_repeat * of_repeats[start:end]).sum(axis=1))
            start = end
        drawn = np.concatenate(means)
        low, high = np.quantile(drawn, tails)
        rows.append((float(low), float(high), float((drawn > 0).mean())))
    names = ["lower", "upper", "probability"]
    found = pl.DataFrame(rows, dict.fromkeys(names, pl.Float64), orient="row")
    return frame.with_columns(*(found if bayesian else found.drop("probability")))


def _matrices(held: Values, plan: Plan) -> Iterator[Array | None]:
    """Differences by query and repeat of each measure, segment and pair.

    None where some are missing, or there are fewer than two of either.
    """
    runs = held.repeats
    assert runs is not None
    parts = [runs]
    if held.by:
        runs = runs.sort(held.by, maintain_order=True)
        parts = [p for _, p in runs.group_by(held.by, maintain_order=True)]
    keys = [c for c in runs.columns if c.startswith("key")]
    for k in range(len(held.measures)):
        for part in parts:
            for a, b in plan.pairs:
                i, j = held.systems.index(a), held.systems.index(b)
                difference = pl.col(cell(k, j)) - pl.col(cell(k, i))
                d = part.select(*keys, "repeat", d=difference).drop_nulls()
                queries, repeats = len(d.unique(keys)), d["repeat"].n_unique()
                whole = len(d) == queries * repeats
                if queries < 2 or repeats < 2 or not whole:
                    yield None
                    continue
                values = d.sort(*keys, "repeat")["d"].to_numpy()
                yield values.reshape(queries, repeats)


def _crossed(matrix: Array | None) -> tuple[float | None, float | None]:
    if matrix is None:
        return None, None
    queries, repeats = matrix.shape
    mean = matrix.mean()
    if np.ptp(matrix) < SAME:
        return 0.0, float(queries - 1)
    by_query, by_repeat = matrix.mean(axis=1), matrix.mean(axis=0)
    rest = matrix - by_query[:, None] - by_repeat + mean
    squares = (
        repeats * ((by_query - mean) ** 2).sum() / (queries - 1),
        queries * ((by_repeat - mean) ** 2).sum() / (repeats - 1),
        (rest**2).sum() / ((queries - 1) * (repeats - 1)),
    )
    variance = squares[0] + squares[1] - squares[2]
    if not variance > 0:
        return None, None
    parts = (
        squares[0] ** 2 / (queries - 1),
        squares[1] ** 2 / (repeats - 1),
        squares[2] ** 2 / ((queries - 1) * (repeats - 1)),
    )
    return float(np.sqrt(variance / (queries * repeats))), float(
        variance**2 / sum(parts)
    )
