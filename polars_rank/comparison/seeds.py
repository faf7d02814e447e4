"""Several runs of each system: errors that hold for other seeds, too."""

from __future__ import annotations

import numpy as np
import polars as pl

from polars_rank._statistics.distributions import tail
from polars_rank._statistics.intervals import interval
from polars_rank.comparison.estimates import Plan
from polars_rank.comparison.values import Values, cell

__all__ = ["across_seeds"]


def across_seeds(frame: pl.DataFrame, held: Values, plan: Plan) -> pl.DataFrame:
    """Queries and seeds as crossed random effects: error and t test of every pair.

    With d of query q and seed r, and the mean squares of queries, seeds and the rest,
    the variance of the mean is (MS_q + MS_r - MS_e) / (Q R), its degrees of freedom are
    those of Satterthwaite.
    """
    runs = held.seeds
    assert runs is not None
    if held.by:
        runs = runs.sort(held.by, maintain_order=True)
        parts = [p for _, p in runs.group_by(held.by, maintain_order=True)]
    else:
        parts = [runs]
    errors, degrees = [], []
    for k in range(len(held.measures)):
        for part in parts:
            for a, b in plan.pairs:
                i, j = held.systems.index(a), held.systems.index(b)
                d = part.select(
                    "seed",
                    pl.struct(c for c in part.columns if c.startswith("key"))
                    .rank("dense")
                    .alias("q"),
                    d=pl.col(cell(k, j)) - pl.col(cell(k, i)),
                ).drop_nulls()
                error, df = _crossed(d)
                errors.append(error)
                degrees.append(df)
    frame = frame.with_columns(
        error=pl.Series(errors, dtype=pl.Float64),
        df=pl.Series(degrees, dtype=pl.Float64),
    ).with_columns(statistic=pl.col("mean") / pl.col("error"))
    low, high = interval(
        pl.col("mean"),
        pl.col("error"),
        pl.col("df"),
        level=plan.interval_level,
        alternative=plan.alternative,
    )
    known = frame.select("statistic", "df").cast(pl.Float64)
    p = tail(known["statistic"].to_numpy(), known["df"].to_numpy(), plan.alternative)
    return frame.with_columns(low=low, high=high, p=pl.Series(p).fill_nan(None))


def _crossed(d: pl.DataFrame) -> tuple[float | None, float | None]:
    queries, seeds = d["q"].n_unique(), d["seed"].n_unique()
    if queries < 2 or seeds < 2 or len(d) != queries * seeds:
        return None, None
    matrix = d.sort("q", "seed")["d"].to_numpy().reshape(queries, seeds)
    mean = matrix.mean()
    by_query, by_seed = matrix.mean(axis=1), matrix.mean(axis=0)
    rest = matrix - by_query[:, None] - by_seed + mean
    squares = (
        seeds * ((by_query - mean) ** 2).sum() / (queries - 1),
        queries * ((by_seed - mean) ** 2).sum() / (seeds - 1),
        (rest**2).sum() / ((queries - 1) * (seeds - 1)),
    )
    variance = squares[0] + squares[1] - squares[2]
    if not variance > 0:
        return None, None
    parts = (
        squares[0] ** 2 / (queries - 1),
        squares[1] ** 2 / (seeds - 1),
        squares[2] ** 2 / ((queries - 1) * (seeds - 1)),
    )
    return float(np.sqrt(variance / (queries * seeds))), float(variance**2 / sum(parts))
