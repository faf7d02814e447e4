"""Measure how well an experiment was reproduced."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank._engine.schema import align_ids
from polars_rank._statistics.distributions import tail
from polars_rank.comparison.input.procedures import require_names
from polars_rank.comparison.input.reading import read
from polars_rank.comparison.input.values import (
    ROUNDING,
    Columns,
    Source,
    cell,
    is_geometric,
)

Array: TypeAlias = npt.NDArray[np.float64]


def reproduction(
    values: Source,
    measures: str | Sequence[str] | None = None,
    *,
    original: Source,
    baseline: str | None = None,
    system: str = "system",
    query: str | Sequence[str] = "query_id",
) -> pl.DataFrame:
    """Compare the values of an experiment with those of its reproduction.

    Parameters
    ----------
    values, original
        Values per query of the repetition and of the original, of the same systems, as
        for :func:`compare`. With the same queries it is a reproduction; with others, a
        replication. Their ids are of one type.
    baseline
        System that the others are to improve on.
    measures, system, query
        As in :func:`compare`.

    Returns
    -------
    One row per measure and system: ``queries`` and ``baseline_mean`` of the original,
    ``mean`` of the repetition; ``p_value`` of the t test between the two (paired in a
    reproduction, else Student's, with equal variances); ``rmse``, the root mean square
    error of the values per query, and ``nrmse``, the same divided by the largest that
    values in [0, 1] allow (both null in a replication). With a baseline:
    ``effect_ratio``, the mean improvement on it in the repetition divided by that in
    the original (1 is best), and ``delta_ri``, the relative improvement in the original
    minus that in the repetition (0 is best); null for the baseline, and where the
    divisor is 0. Of geometric means, as of ``gm_ap``, errors and improvements are those
    of logarithms, without ``nrmse``, and relative ones are ratios less 1.

    Source: Breuer et al., SIGIR 2020. Equal to repro_eval's ``ttest``, ``RMSE``,
    ``nRMSE``, ``ER`` and ``DRI``.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> values = pl.DataFrame(
    ...     {"system": ["a", "a", "b", "b"], "query_id": [1, 2] * 2,
    ...      "ap": [0.2, 0.4, 0.4, 0.6]}
    ... )
    >>> again = values.with_columns(ap=pl.Series([0.2, 0.4, 0.3, 0.5]))
    >>> rows = pr.comparison.reproduction(again, original=values, baseline="a")
    >>> found = rows.row(1, named=True)
    >>> round(found["rmse"], 4), round(found["effect_ratio"], 4)
    (0.1, 0.5)
    """
    first = read(original, Columns(system, query, measures))
    second = read(values, Columns(system, query, first.measures))
    if {*first.systems} != {*second.systems}:
        odd = ", ".join(sorted({*first.systems} ^ {*second.systems}))
        msg = (
            f"the experiments have different systems: {odd} is in one only; filter both"
        )
        raise ValueError(msg)
    if baseline is not None:
        require_names([baseline], first.systems, "system")
    keys = first.columns.own_keys
    asked, repeated = align_ids(
        first.ordered.lazy().select(keys),
        second.ordered.lazy().select(keys),
        dict(zip(keys, first.columns.keys, strict=True)),
        where=("the original", "the values"),
    )
    same = asked.collect().equals(repeated.collect())
    rows = []
    for k, measure in enumerate(first.measures):
        natural = is_geometric(measure)  # values are logarithms
        old, new = (
            {
                name: held.ordered[cell(k, i)].to_numpy()
                for i, name in enumerate(held.systems)
            }
            for held in (first, second)
        )
        for name in first.systems:
            x, y = old[name], new[name]
            row: dict[str, Any] = {
                "measure": measure,
                "system": name,
                "queries": int(np.isfinite(x).sum()),
                "baseline_mean": math.exp(_mean(x)) if natural else _mean(x),
                "mean": math.exp(_mean(y)) if natural else _mean(y),
                "p_value": _p(x, y, paired=same),
                "rmse": None,
                "nrmse": None,
            }
            if same:
                error = _mean((y - x) ** 2) ** 0.5
                row["rmse"] = error
                if not natural:
                    row["nrmse"] = error / _mean(np.maximum(x, 1 - x) ** 2) ** 0.5
            if baseline is not None:
                row |= _improvement(old, new, name, baseline, natural=natural)
            rows.append(row)
    text: dict[str, pl.DataType] = dict.fromkeys(("measure", "system"), pl.String())
    schema = {c: text.get(c, pl.Float64()) for c in rows[0]}
    schema |= {"queries": pl.UInt32()}
    return pl.DataFrame(rows, schema=schema).with_columns(
        pl.col(pl.Float64).fill_nan(None)
    )


def _mean(values: Array) -> float:
    known = values[np.isfinite(values)]
    return float(known.mean()) if len(known) else float("nan")


def _p(x: Array, y: Array, *, paired: bool) -> float:
    """Compute the p-value of the t test of equal means; of equal values, 1."""
    known_x, known_y = np.isfinite(x), np.isfinite(y)
    if paired:
        known_x = known_y = known_x & known_y
    x, y = x[known_x], y[known_y]
    if paired:
        d = y - x
        difference, df = _mean(d), len(d) - 1
        variance = float(((d - difference) ** 2).sum()) / max(df, 1) / max(len(d), 1)
    else:
        difference, df = _mean(y) - _mean(x), len(x) + len(y) - 2
        squares = sum(float(((v - _mean(v)) ** 2).sum()) for v in (x, y))
        parts = sum(1.0 / len(v) for v in (x, y) if len(v))
        variance = squares / max(df, 1) * parts
    if df < 1:
        return float("nan")
    rounding = ROUNDING * max(np.abs(x).max(initial=0.0), np.abs(y).max(initial=0.0))
    if abs(difference) <= rounding:
        return 1.0
    if variance <= (rounding / 1000) ** 2:  # of differences by their last bits
        return 0.0
    return float(tail(difference / variance**0.5, df))


def _improvement(
    old: Mapping[str, Array],
    new: Mapping[str, Array],
    name: str,
    baseline: str,
    *,
    natural: bool,
) -> dict[str, float]:
    if name == baseline:
        return {"effect_ratio": float("nan"), "delta_ri": float("nan")}
    first, second = (_mean(v[name]) - _mean(v[baseline]) for v in (old, new))
    bases = _mean(old[baseline]), _mean(new[baseline])
    sizes = (np.nanmax(np.abs(old[n]), initial=0.0) for n in (name, baseline))
    rounding = ROUNDING * max(sizes)
    relative = [
        math.expm1(gain) if natural else gain / base if base else float("nan")
        for gain, base in zip((first, second), bases, strict=True)
    ]
    return {
        "effect_ratio": second / first if abs(first) > rounding else float("nan"),
        "delta_ri": relative[0] - relative[1],
    }
