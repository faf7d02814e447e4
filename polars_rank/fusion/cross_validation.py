"""Choose a candidate by cross-validation, from the values of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank.exceptions import DataError
from polars_rank.fusion.tuned import Tuned
from polars_rank.measures.measure import Measure

Array = npt.NDArray[np.float64]
EQUAL = 1e-12  # means that differ by no more are equal: sums are rounded
CANDIDATE = "fusion candidate"  # a key column that judgments do not have
FIXED = {"method", "norm", "depth"}  # of all candidates


def cross_validated(
    table: pl.DataFrame,
    measure: Measure,
    tried: Sequence[Mapping[str, Any]],
    n_folds: int,
    seed: int,
) -> Tuned:
    """Choose a candidate for each fold, and one for all queries."""
    queries = table.drop(CANDIDATE, measure.name).unique(maintain_order=True)
    if len(queries) < n_folds:
        msg = (
            f"{n_folds} folds of {len(queries)} queries: give n_folds= of at most the "
            "number of judged queries"
        )
        raise ValueError(msg)
    values = _matrix(table[measure.name], len(tried))
    sign = 1 if measure.definition.better == "higher" else -1
    means = _means(values)
    best = _first_best(sign * means)
    fold = np.empty(len(queries), dtype=np.int64)
    fold[np.random.default_rng(seed).permutation(len(queries))] = (
        np.arange(len(queries)) % n_folds
    )
    held_out = np.empty(len(queries))
    rows = []
    for number in range(n_folds):
        inside = fold == number
        chosen = _first_best(sign * _means(values[:, ~inside]))
        held_out[inside] = values[chosen, inside]
        own = held_out[inside]
        rows.append((number + 1, _text(tried[chosen]), _mean(own), _known(own)))
    return Tuned(
        best=dict(tried[best]),
        mean=_mean(held_out) or 0.0,
        optimistic_mean=float(means[best]),
        measure=measure.name,
        candidates=pl.DataFrame(
            [
                (_text(arguments), _mean(own), _known(own))
                for arguments, own in zip(tried, values, strict=True)
            ],
            schema={"candidate": pl.String, "mean": pl.Float64, "queries": pl.UInt32},
            orient="row",
        ),
        folds=pl.DataFrame(
            rows,
            schema={
                "fold": pl.UInt32,
                "candidate": pl.String,
                "mean": pl.Float64,
                "queries": pl.UInt32,
            },
            orient="row",
        ),
        values=queries.with_columns(pl.Series(measure.name, held_out).fill_nan(None)),
        tried=tried,
        descending=sign > 0,
    )


def _matrix(values: pl.Series, candidates: int) -> Array:
    """Return a row for each candidate, NaN where a measure is undefined."""
    return values.to_numpy().astype(np.float64).reshape(candidates, -1)


def _known(values: Array) -> int:
    return int(np.isfinite(values).sum())


def _mean(values: Array) -> float | None:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else None


def _means(values: Array) -> Array:
    """Return the mean of each candidate over the queries that have a value."""
    known = values[:, np.isfinite(values).all(axis=0)]
    if not known.shape[1]:
        msg = (
            "no query has a value to choose by; judge more queries, or take fewer folds"
        )
        raise DataError(msg, rule="nothing_to_tune")
    return np.asarray(known.mean(axis=1))


def _first_best(means: Array) -> int:
    return int(np.argmax(means >= means.max() - EQUAL))


def _text(arguments: Mapping[str, Any]) -> str:
    """Write the arguments that differ: ``k=60``, ``bm25=0.3, dense=0.7``."""
    told: list[str] = []
    for name, value in arguments.items():
        if name == "weights" and isinstance(value, Mapping):
            told += (f"{run}={weight:g}" for run, weight in value.items())
        elif name not in FIXED:
            told.append(f"{name}={value}")
    return ", ".join(told)
