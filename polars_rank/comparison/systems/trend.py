"""Follow means and differences over time, from moments of periods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Unpack

import polars as pl

from polars_rank._statistics.intervals import require_level
from polars_rank.comparison.compare import compare
from polars_rank.comparison.input.procedures import names_of
from polars_rank.comparison.input.values import Source, lazy
from polars_rank.comparison.keywords import SumOptions
from polars_rank.comparison.sums.merging import (
    read_moments,
    selected,
    summed,
    warn_of_returning,
)
from polars_rank.comparison.sums.moments import is_moments, moments
from polars_rank.comparison.tests.estimates import estimated, geometric, means_of
from polars_rank.exceptions import DataError, counted


def trend(
    values: Source,
    measures: str | Sequence[str] | None = None,
    *,
    time: str,
    every: str | None = None,
    window: int | None = 1,
    baseline: str | Sequence[str] | None = None,
    level: float = 0.95,
    sequential: bool = False,
    tuned_for: int = 5000,
    **columns: Unpack[SumOptions],
) -> pl.DataFrame:
    """Follow systems and their differences over time.

    Parameters
    ----------
    values
        Values per query, or :func:`moments` of them, with a column of time. The same
        query in another period is a new observation; other segments of moments are
        added up. One system will do.
    measures
        As in :func:`compare`.
    time, every
        The column of time: any type that can be sorted. Dates and times are truncated
        to periods, such as ``"1d"`` or ``"1w"``, if ``every`` says so.
    window
        Number of periods, up to the present one, that each row sums up: a rolling
        mean. None: all so far.
    baseline, level
        As in :func:`compare`. No p-value is corrected for the number of periods.
    sequential
        Whether the intervals of all periods hold at once, however often one looks:
        asymptotic confidence sequences. Needs ``window=None``.
    tuned_for
        Number of queries for which these are shortest.
    columns
        ``system``, ``query``, ``weight`` and so on, as in :func:`moments`.

    Returns
    -------
    One row per period, measure and system (``baseline`` is null): ``queries`` and
    the mean as ``estimate``, with ``se``, ``lower`` and ``upper``; and per pair, whose
    ``estimate`` is the mean difference ``system - baseline``. Whether systems differ is
    read off the interval of the difference, not off those of the means. ``se``,
    ``lower`` and ``upper`` are null for fewer than two queries.

    Warns
    -----
    DataWarning
        If sums over clusters, such as users, are added up, as :func:`merge` does.

    Source: Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, Annals of Statistics 2024,
    theorem 2.2 (``sequential``).

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> values = pl.DataFrame(
    ...     {"system": ["a", "b"] * 6, "query_id": [i // 2 for i in range(12)],
    ...      "day": [i // 4 for i in range(12)],
    ...      "rr": [0.5, 0.5, 0.2, 0.4, 0.1, 0.1, 1.0, 0.5, 0.3, 0.9, 0.1, 0.5]}
    ... )
    >>> daily = pr.comparison.trend(values, time="day", baseline="a")
    >>> daily.filter(baseline="a")["estimate"].round(3).to_list()
    [0.1, -0.25, 0.5]
    """
    require_level(level)
    if window is not None and window < 1:
        msg = f"window must be at least 1 period, not {window}"
        raise ValueError(msg)
    if sequential and window is not None:
        msg = "sequential=True sums up all periods so far: name window=None as well"
        raise ValueError(msg)
    parts = _parts(values, measures, time, every, columns)
    if window != 1:
        warn_of_returning(parts.drop(time))
    whole = _rolled(parts, time, window)
    own = whole.filter(pl.col("other").is_null())
    null = pl.lit(None, dtype=pl.String)
    ends = ["queries", "estimate", "se", "lower", "upper"]
    means = means_of(estimated(own, [time]), [time], level)
    means = means.rename({"mean": "estimate"})
    table = means.select(time, "measure", "system", *ends, baseline=null)
    if whole["other"].count() or baseline is not None:
        found = compare(
            whole,
            by=time,
            baseline=baseline,
            level=level,
            correction="none",
            min_queries=2,
        )
        pairs = found.pairs.rename({"difference": "estimate"}).select(table.columns)
        table = pl.concat([table, pairs])
    if sequential:
        units = own.select(time, "measure", "system", "n")
        table = _sequential(table, units, level, tuned_for)
    order = table.select("measure").unique(maintain_order=True).with_row_index("rank")
    return (
        table.join(order, on="measure", maintain_order="left")
        .sort("rank", time, maintain_order=True)
        .select(time, "measure", "baseline", "system", *ends)
    )


def _parts(
    values: Source,
    measures: str | Sequence[str] | None,
    time: str,
    every: str | None,
    columns: SumOptions,
) -> pl.DataFrame:
    """Compute moments by period."""
    frame = lazy(values)
    schema = frame.collect_schema()
    if time not in schema:
        msg = f"time: the values have no column {time!r}"
        raise ValueError(msg)
    if every is not None and not schema[time].is_temporal():
        msg = f"every= is for dates and times: {time!r} is {schema[time]}"
        raise TypeError(msg)
    period = pl.col(time) if every is None else pl.col(time).dt.truncate(every)
    if not is_moments(schema.names()):
        keys = names_of(columns.get("query", "query_id"))
        columns["query"] = keys if time in keys else [*keys, time]
        own = f"period of {time}"
        found = moments(
            frame.with_columns(period.alias(own)), measures, by=own, **columns
        )
        return found.rename({own: time})
    if columns:
        msg = f"{next(iter(columns))}= is chosen when moments are made"
        raise ValueError(msg)
    whole = read_moments(frame)
    if nulls := whole[time].null_count():
        msg = (
            f"{time!r} is null in {counted(nulls, 'row')} of the moments; fill or drop "
            "them"
        )
        raise DataError(msg, rule="null_key", count=nulls)
    return selected(whole.with_columns(period), [time], measures)


def _rolled(parts: pl.DataFrame, time: str, window: int | None) -> pl.DataFrame:
    """Sum, for each period, those of the window that ends with it.

    A window is cut into runs of 1, 2, 4 ... periods, two of a length at most, which
    other windows share: n windows of n periods ask for n log n sums instead of n^2.
    """
    periods = parts.select(pl.col(time).unique().sort()).with_row_index("run")
    stop = pl.col("run").cast(pl.Int64) + 1
    left = periods.select(
        time,
        start=0 if window is None else (stop - window).clip(0),
        stop=stop,
    )
    runs = parts.join(periods, on=time, maintain_order="left").drop(time)
    start, stop = pl.col("start"), pl.col("stop")
    found = []
    while len(left := left.filter(start < stop)):
        # Of the runs at an end of the window, those that no longer run covers.
        for alone, run in ((start % 2 == 1, start), (stop % 2 == 1, stop - 1)):
            ends = left.filter(alone).select(time, run=run.cast(pl.UInt32))
            found.append(ends.join(runs, on="run", maintain_order="left").drop("run"))
        left = left.with_columns(start=(start + 1) // 2, stop=stop // 2)
        runs = summed(runs.with_columns(pl.col("run") // 2), ["run"])
    # By time, since systems are in the order in which they come up.
    return summed(pl.concat(found).sort(time, maintain_order=True), [time])


def _sequential(
    table: pl.DataFrame, units: pl.DataFrame, level: float, tuned_for: int
) -> pl.DataFrame:
    """Replace intervals by confidence sequences of the same ``n`` units.

    Those of geometric means are the exponentials of sequences on the logarithms.
    """
    keys = [c for c in units.columns if c != "n"]
    table = table.join(units, on=keys, how="left", maintain_order="left")
    n, alpha = pl.col("n").cast(pl.Float64), 1.0 - level
    rho2 = (-2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha))) / tuned_for
    grown = n * rho2 + 1.0
    reach = (2.0 * grown / (n * rho2) * (grown.sqrt() / alpha).log()).sqrt()
    middle, half = pl.col("estimate"), pl.col("se") * reach
    # Means are raised, with their errors; differences stay those of logarithms.
    natural = pl.col("baseline").is_null() & pl.col("measure").is_in(geometric(table))
    factor = (half / middle).exp()
    return table.with_columns(
        lower=pl.when(natural).then(middle / factor).otherwise(middle - half),
        upper=pl.when(natural).then(middle * factor).otherwise(middle + half),
    )
