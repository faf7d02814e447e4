"""How an estimate depends on the position bias that is assumed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, Unpack

import polars as pl

from polars_rank._engine.frame_function import like_input
from polars_rank._engine.request import AnyFrame
from polars_rank._engine.stages.rank import pack
from polars_rank.clicks.additive import AdditiveMeasure
from polars_rank.clicks.counts import rows_with_known
from polars_rank.clicks.log_options import LogOptions
from polars_rank.clicks.opening import function_of_log
from polars_rank.clicks.plan import bounded_by
from polars_rank.clicks.rankings import Systems, with_baseline
from polars_rank.clicks.weighing import Estimation
from polars_rank.core.source import is_rereadable, lazy_source

__all__ = ["sensitivity"]

KEY = "impression"


@function_of_log
def sensitivity(
    log: AnyFrame,
    /,
    measure: AdditiveMeasure = "dcg@10",
    *,
    new: Systems,
    baseline: str | None = None,
    eta: Sequence[float] = (0.0, 0.5, 1.0, 1.5, 2.0),
    **options: Unpack[LogOptions],
) -> AnyFrame:
    """Show how the winner depends on the position bias that is assumed.

    Systems are estimated as by :func:`counterfactual`, ``method="ips"``, with the
    propensity ``position ** -eta``: 0 is no bias, 1 is 1/k. The log is read once.

    Parameters
    ----------
    log, measure, new, **options
        As in :func:`counterfactual`.
    baseline
        The system that the others are compared with: one of them, or another column
        of scores. Default: the last one.
    eta
        Strengths of the bias.

    Returns
    -------
    One row per segment, eta and system: the ``by`` columns, ``eta``, ``system``,
    ``estimate``, ``difference`` to the baseline, and ``crossover``: false for the
    ``eta`` that were asked for, true in the further rows of a system and the baseline,
    where they change places between two that were asked for.

    Source: Joachims, Swaminathan and Schnabel, WSDM 2017 (propensities of a power of
    the position).

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks
    >>> simulation = clicks.simulate(20_000, queries=200, seed=1)
    >>> found = clicks.sensitivity(
    ...     simulation.log, new=["new_score", "score"], eta=[0, 1]
    ... )
    >>> asked = found.filter(~pl.col("crossover"), system="new_score")
    >>> asked.select(pl.col("eta", "difference").round(3)).rows()
    [(0.0, -0.018), (1.0, 0.072)]
    >>> found.filter("crossover")["eta"].round(2).unique().to_list()
    [0.39]
    """
    new = with_baseline(new, baseline, log)
    task: Estimation = Estimation.of(log, measure, new, 0.0, "ips", None, None, options)
    names: list[str] = [s.name for s in task.systems]
    base: str = names[-1] if baseline is None else baseline
    grid: list[float] = sorted({float(e) for e in eta})
    if not grid or not all(abs(e) < 100 for e in grid):
        msg = f"eta must be one or more numbers, not {eta!r}"
        raise ValueError(msg)
    bound = task.log
    by: list[str] = [f"by:{i}" for i in range(len(bound.by))]
    types = task.per_impression().collect_schema()
    schema: dict[str, Any] = {
        name: types[own] for name, own in zip(by, bound.own(bound.by), strict=True)
    }
    schema |= {
        "eta": pl.Float64(),
        "system": pl.String(),
        "estimate": pl.Float64(),
        "difference": pl.Float64(),
        "crossover": pl.Boolean(),
    }

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        curves = [*_curves(task, by, grid, names.index(base))]
        found = pl.DataFrame(curves, schema=schema, orient="row")
        yield found.sort(*by, "eta", nulls_last=True, maintain_order=True)

    result = lazy_source(
        read, schema, name="sensitivity", rereadable=is_rereadable(bound.rows)
    )
    return like_input(log, result.rename(dict(zip(by, bound.by, strict=True))))


def _curves(
    task: Estimation, by: Sequence[str], grid: Sequence[float], base: int
) -> Iterator[tuple[Any, ...]]:
    """One row per segment, eta and system."""
    log = rows_with_known(task.log)
    own = dict(zip(by, log.own(log.by), strict=True))
    weights = [s.weight for s in task.systems]
    names = [s.name for s in task.systems]
    weighed = replace(task, log=log).weighed()

    def worth(part: pl.LazyFrame) -> pl.LazyFrame:
        ranked = task.ranked(part, KEY).filter(pl.col("clicked") > 0)
        return ranked.group_by(*by, "position").agg(pl.col(w).sum() for w in weights)

    rows: pl.LazyFrame = pack(weighed.rows, log.keys, KEY).with_columns(
        pl.col(c).alias(name) for name, c in own.items()
    )
    parts = bounded_by(log, rows, [KEY], worth, f"worth {task.measure.name}")
    totals = parts.group_by(*by, "position").agg(pl.col(w).sum() for w in weights)
    impressions = (
        task.per_impression().select(
            pl.col(c).alias(name) for name, c in zip(by, log.own(log.by), strict=True)
        )
        if by
        else task.per_impression()
    )
    number = (
        impressions.group_by(by).agg(n=pl.len())
        if by
        else impressions.select(n=pl.len())
    )
    found, counted = pl.collect_all(
        [totals.sort("position"), number], engine="streaming"
    )
    for row in counted.iter_rows(named=True):
        key = [row[name] for name in by]
        here = [pl.col(n).eq_missing(pl.lit(v)) for n, v in zip(by, key, strict=True)]
        part = found.filter(*here)
        place = part["position"].cast(pl.Float64).to_numpy()
        sums = part.select(weights).cast(pl.Float64).fill_null(0.0).to_numpy()

        number = row["n"]

        def value(
            eta: float, place: Any = place, sums: Any = sums, number: int = number
        ) -> Any:
            return (place[:, None] ** eta * sums).sum(0) / number

        for eta in grid:
            values = value(eta)
            for name, estimate in zip(names, values, strict=True):
                yield (*key, eta, name, estimate, estimate - values[base], False)
        for system, name in enumerate(names):
            for eta in _crossings(value, grid, system, base):
                estimate = value(eta)[base]
                for both in (name, names[base]):
                    yield (*key, eta, both, estimate, 0.0, True)


def _crossings(
    value: Any, grid: Sequence[float], system: int, base: int
) -> Iterator[float]:
    """Where two systems are equal, between neighbours of the grid: by bisection."""

    def gap(eta: float) -> float:
        values = value(eta)
        return float(values[system] - values[base])

    for low, high in pairwise(grid):
        first, last = gap(low), gap(high)
        if first * last >= 0:
            continue
        for _ in range(60):
            middle = (low + high) / 2
            if gap(middle) * first > 0:
                low = middle
            else:
                high = middle
        yield (low + high) / 2
