"""Show how an estimate depends on the position bias that is assumed."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import pairwise
from numbers import Real
from typing import Any, Unpack

import polars as pl

from polars_rank._engine.checks.enforce import warn
from polars_rank._engine.frame_function import like_input
from polars_rank._engine.request import AnyFrame
from polars_rank.clicks.behavior.ratios import sums
from polars_rank.clicks.bias.apply import STEEPEST
from polars_rank.clicks.log.log_columns import LogOptions, require_distinct
from polars_rank.clicks.log.open_log import function_of_log
from polars_rank.clicks.off_policy.additive import AdditiveMeasure
from polars_rank.clicks.off_policy.rankings import Systems, with_baseline
from polars_rank.clicks.off_policy.system_estimates import NO_CLICKS, tell_support
from polars_rank.clicks.off_policy.weighing import Estimation
from polars_rank.core.source import is_rereadable, lazy_source

SUPPORT = ("logged", "ranked")


@function_of_log
def sensitivity(
    log: AnyFrame,
    /,
    measure: AdditiveMeasure = "dcg@10",
    *,
    new: Systems,
    baseline: str | None = None,
    eta: float | Sequence[float] = (0.0, 0.5, 1.0, 1.5, 2.0),
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
        Strengths of the bias, between -100 and 100.

    Returns
    -------
    One row per segment, eta and system: the ``by`` columns, ``eta``, ``system``,
    ``estimate``, ``difference`` to the baseline, and ``crossover``: false for the
    ``eta`` that were asked for, true in the further rows of a system and the baseline,
    where they change places between two that were asked for. Errors at a strength are
    those of ``counterfactual(..., propensities=eta)``.

    Warns
    -----
    DataWarning
        Support of a ranking below 0.95, or no clicks: estimates are null then.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for wrong arguments.
    DataError
        When collected: rows that break a rule, a new ranking without any logged
        document.

    Source: Joachims, Swaminathan and Schnabel, WSDM 2017 (propensities of a power of
    the position).

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks
    >>> simulation = clicks.simulate(20_000, n_queries=200, seed=1)
    >>> found = clicks.sensitivity(
    ...     simulation.draw(), new=["new_score", "score"], eta=[0, 1]
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
    grid: list[float] = _grid(eta)
    bound = task.log
    by: list[str] = [*bound.segments]
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
    require_distinct([*bound.by, *(schema.keys() - by)])

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        curves = [*_curves(task, by, grid, names.index(base))]
        found = pl.DataFrame(curves, schema=schema, orient="row")
        yield found.sort(*by, "eta", nulls_last=True, maintain_order=True)

    result = lazy_source(
        read, schema, name="sensitivity", rereadable=is_rereadable(bound.rows)
    )
    return like_input(log, bound.titled(result))


def _curves(
    task: Estimation, by: Sequence[str], grid: Sequence[float], base: int
) -> Iterator[tuple[Any, ...]]:
    """Yield one row per segment, eta and system."""
    log, times = task.log, task.log.times
    weights = [s.weight for s in task.systems]
    names = [s.name for s in task.systems]
    columns = log.segments
    values = {w: times * pl.col(w).cast(pl.Float64) for w in weights}
    cell = columns | {"position": pl.col("position")}
    totals = task.sums_in_cells(cell, values, clicked=True)
    framed = [s.name for s in task.systems if s.frame is not None]
    for name in framed:
        support = pl.col(f"support:{name}")
        columns[f"logged:{name}"] = support * times
        columns[f"ranked:{name}"] = pl.when(support.is_not_null()).then(times)
    impressions = task.per_impression().with_columns(**columns, n=times)
    wanted = ["n", *(f"{kind}:{name}" for name in framed for kind in SUPPORT)]
    number = sums(impressions, by, wanted, {})
    found, counted = pl.collect_all(
        [totals.sort("position"), number], engine="streaming"
    )
    for row in counted.iter_rows(named=True):
        key = [row[name] for name in by]
        here = [pl.col(n).eq_missing(pl.lit(v)) for n, v in zip(by, key, strict=True)]
        part = found.filter(*here)
        for name in framed:
            if row[f"ranked:{name}"]:
                logged, ranked = (row[f"{kind}:{name}"] for kind in SUPPORT)
                tell_support(name, logged / ranked)
        if part.is_empty() or not row["n"]:
            warn(NO_CLICKS)
            yield from (
                (*key, eta, n, None, None, False) for eta in grid for n in names
            )
            continue
        place = part["position"].cast(pl.Float64).to_numpy()
        worths = part.select(weights).fill_null(0.0).to_numpy()
        value = partial(_value, place=place, worths=worths, total=row["n"])
        for point in _points(value, names, grid, base):
            yield (*key, *point)


def _value(eta: float, *, place: Any, worths: Any, total: float) -> Any:
    """Estimate each system where examination is ``position ** -eta``."""
    return (place[:, None] ** eta * worths).sum(0) / total


def _points(
    value: Callable[[float], Any],
    names: Sequence[str],
    grid: Sequence[float],
    base: int,
) -> Iterator[tuple[Any, ...]]:
    """Yield eta, system, estimate, difference, and whether they cross there."""
    for eta in grid:
        values = value(eta)
        for name, estimate in zip(names, values, strict=True):
            yield eta, name, estimate, estimate - values[base], False
    for system, name in enumerate(names):
        for eta in _crossings(value, grid, system, base):
            estimate = value(eta)[base]
            for both in (name, names[base]):
                yield eta, both, estimate, 0.0, True


def _grid(eta: float | Sequence[float]) -> list[float]:
    """Sort the strengths."""
    given: object = [eta] if isinstance(eta, Real) else eta
    several = [*given] if isinstance(given, Iterable) else []
    grid = sorted({float(e) if isinstance(e, Real) else math.nan for e in several})
    if not grid or not all(abs(e) < STEEPEST for e in grid):
        msg = f"eta must be one or more numbers from -100 to 100, not {eta!r}"
        raise ValueError(msg)
    return grid


def _crossings(
    value: Callable[[float], Any], grid: Sequence[float], system: int, base: int
) -> Iterator[float]:
    """Find where two systems are equal, between grid points, by bisection."""

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
