"""Several runs of each system: errors that hold for other runs, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank.comparison.input.values import cell
from polars_rank.comparison.tests.bootstrap import drawn_counts
from polars_rank.comparison.tests.estimates import Study, t_tested
from polars_rank.comparison.tests.paired_tests import rounded
from polars_rank.exceptions import DataError

Array: TypeAlias = npt.NDArray[np.float64]


def across_repeats(frame: pl.DataFrame, study: Study) -> pl.DataFrame:
    """Take queries and repeats as crossed random effects: error and t of every pair.

    With d of query q and repeat r, and the mean squares of queries, repeats and the
    rest, the variance of the mean is (MS_q + MS_r - MS_e) / (Q R), its degrees of
    freedom are those of Satterthwaite. There is no error where that is not above 0,
    unless all differences are the same.
    """
    held = study.held
    assert held is not None
    assert held.repeats is not None
    if (count := held.repeats["repeat"].n_unique()) < 2:
        msg = (
            f"repeats='random' needs two repeats or more, to see how they differ; "
            f"{held.columns.repeat!r} has {count}"
        )
        raise DataError(msg, rule="missing_repeat", count=1)
    rows = [_crossed(matrix) for _, matrix in _matrices(study)]
    schema = dict.fromkeys(("error", "df"), pl.Float64)
    found = pl.DataFrame(rows, schema, orient="row")
    return t_tested(frame.with_columns(*found), study)


def pigeonhole(study: Study) -> Iterator[tuple[float | None, ...]]:
    """Yield quantiles of means of resampled queries and repeats, and the share above 0.

    Queries and repeats are drawn each on their own; the spread is a little larger than
    that of other queries and repeats would be.

    Source: Owen, Annals of Applied Statistics 2007; with Dirichlet weights
    (``"bayesian"``): Owen and Eckles, 2012.
    """
    how = study.how
    for measure, matrix in _matrices(study):
        if matrix is None:
            yield None, None, None
            continue
        bayesian = how.interval == "bayesian"
        queries, repeats = (
            drawn_counts(n, how.n_resamples, how.seed + i, bayesian=bayesian)
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
        level = study.level_of(measure)
        low, high = np.quantile(drawn, [(1 - level) / 2, (1 + level) / 2])
        yield float(low), float(high), float((drawn > 0).mean())


def parts_by(frame: pl.DataFrame, by: Sequence[str]) -> list[pl.DataFrame]:
    """Split rows by segment, in the order of the segments."""
    if not by:
        return [frame]
    ordered = frame.sort(by, maintain_order=True)
    return [part for _, part in ordered.group_by(by, maintain_order=True)]


def _matrices(study: Study) -> Iterator[tuple[str, Array | None]]:
    """Yield differences by query and repeat of each measure, segment and pair.

    None where some are missing, or there are fewer than two of either.
    """
    held = study.held
    assert held is not None
    assert held.repeats is not None
    parts = parts_by(held.repeats, held.by)
    keys = [c for c in held.repeats.columns if c.startswith("key")]
    measures = enumerate(held.measures)
    for (k, measure), part, (a, b) in product(measures, parts, study.pairs):
        i, j = held.systems.index(a), held.systems.index(b)
        both = part.select(*keys, "repeat", a=cell(k, i), b=cell(k, j))
        d = both.drop_nulls().with_columns(d=pl.col("b") - pl.col("a"))
        queries, repeats = len(d.unique(keys)), d["repeat"].n_unique()
        if queries < 2 or repeats < 2 or len(d) != queries * repeats:
            yield measure, None
        else:
            size = np.abs(d.select("a", "b").to_numpy()).max()
            values = d.sort(*keys, "repeat")["d"].to_numpy()
            yield measure, rounded(values, size).reshape(queries, repeats)


def _crossed(matrix: Array | None) -> tuple[float | None, float | None]:
    if matrix is None:
        return None, None
    queries, repeats = matrix.shape
    mean = matrix.mean()
    if not np.ptp(matrix):
        return 0.0, float(queries - 1)
    by_query, by_repeat = matrix.mean(axis=1), matrix.mean(axis=0)
    rest = matrix - by_query[:, None] - by_repeat + mean
    degrees = queries - 1, repeats - 1, (queries - 1) * (repeats - 1)
    squares = (
        repeats * ((by_query - mean) ** 2).sum() / degrees[0],
        queries * ((by_repeat - mean) ** 2).sum() / degrees[1],
        (rest**2).sum() / degrees[2],
    )
    variance = squares[0] + squares[1] - squares[2]
    if not variance > 0:
        return None, None
    parts = sum(s**2 / df for s, df in zip(squares, degrees, strict=True))
    return float(np.sqrt(variance / (queries * repeats))), float(variance**2 / parts)
