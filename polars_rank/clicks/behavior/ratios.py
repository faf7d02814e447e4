"""Estimate ratios of sums with errors, over clusters of impressions.

Clusters, such as users, are the independent units. The numbers of their impressions are
added up first; errors are those of a ratio of sums over clusters.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, TypeAlias, cast

import polars as pl

from polars_rank._engine.checks.enforce import warn
from polars_rank._statistics.clusters import effective_number, inflation
from polars_rank._statistics.distributions import (
    normal_quantile,
    t_of_normal,
    t_quantile,
)
from polars_rank._statistics.intervals import require_level
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.impressions import bounded_by, held
from polars_rank.clicks.log.log_columns import require_arguments
from polars_rank.core.exact.aggregate import (
    RatioMoments,
    State,
    exact_sum,
    exact_total,
    fsum,
)
from polars_rank.core.parameters import Range
from polars_rank.core.source import lazy_source

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


IntervalChoice: TypeAlias = Literal["none", "normal", "bootstrap"]
FEW = 50  # effective clusters: below it, Student's t takes the extra stats
SCARCE = 20  # effective clusters: below it there is a warning
BUCKETS = 10_000  # of clusters that are resampled together where there are more
REPLICATES = 250  # drawn at a time
NUMBERS = ("estimate", "se", "lower", "upper", "effective_clusters")
RESAMPLING = 4  # bytes for each byte of the sums: sorted, as numbers, by segment


class Ratio(NamedTuple):
    """A measure as columns of impressions, or of clusters: ``num`` and ``den``."""

    name: str
    num: str
    den: str


class Interval(NamedTuple):
    """Method of the errors, ``"normal"`` or ``"bootstrap"``, and its parameters."""

    kind: IntervalChoice
    level: float
    n_resamples: int
    seed: int

    @classmethod
    def of(cls, kind: str, level: float, n_resamples: int, seed: int) -> Interval:
        """Check the arguments."""
        require_arguments(interval=(IntervalChoice, kind))
        require_level(level)
        require_arguments(n_resamples=(Annotated[int, Range(least=2)], n_resamples))
        return cls(kind, level, n_resamples, seed)  # type: ignore[arg-type]


def warn_of_users(log: ClickLog) -> None:
    """Warn if there are users, and impressions are treated as independent."""
    if log.user_column is None or log.cluster:
        return
    warnings.warn(
        f"intervals treat impressions as independent, but {log.user_column!r} looks "
        f"like the user: give cluster={log.user_column!r}, or the intervals are too "
        "short",
        UserWarning,
        stacklevel=4,
    )


def sums(
    frame: pl.LazyFrame,
    by: Sequence[str],
    columns: Sequence[str],
    counts: State,
    times: pl.Expr | None = None,
    *,
    few: bool = False,
) -> pl.LazyFrame:
    """Sum columns for each of ``by``, with the same bits in any order of the rows.

    ``counts`` are other aggregations, kept as they are. Integers add up exactly as they
    are; of other numbers the exact sum is taken. A row counts as often as ``times``,
    an integer, says. ``few`` says that the rows are few and in memory.
    """
    schema = frame.collect_schema()
    state: State = dict(counts)
    few = few and not by and times is None
    cut = [] if few else [name for name in columns if not schema[name].is_integer()]
    for name in columns:
        column = pl.col(name)
        if name in cut:
            state |= exact_sum(f"{name}_", column, times)
        elif not schema[name].is_integer():
            state[name] = fsum(column)
        else:
            state[name] = (column if times is None else column * times).sum()
    # Not select: a segment of nothing is no row, the whole of nothing is one.
    frame = frame.group_by(by).agg(**state) if by else frame.select(**state)
    held = {part: pl.col(part) for part in state}
    totals = [exact_total(f"{name}_", held).alias(name) for name in cut]
    return frame.with_columns(totals).select(*by, *counts, *columns)


def sums_of_clusters(
    log: ClickLog,
    impressions: pl.LazyFrame,
    groups: Sequence[str],
    values: Sequence[str],
    told: object,
) -> pl.LazyFrame:
    """Sum the values of each group and cluster, with the number ``n`` of impressions.

    Columns of ``log.clusters`` identify a cluster. ``told`` is what the values depend
    on, beside the rows.
    """
    keys = log.clusters
    parts = impressions.select(*groups, *values, **keys)
    if log.is_each_alone:
        return parts.with_columns(n=pl.lit(1, pl.Int64))

    def summed(parts: pl.LazyFrame) -> pl.LazyFrame:
        return sums(parts, [*groups, *keys], values, {"n": pl.len().cast(pl.Int64)})

    return bounded_by(log, parts, [*keys], summed, repr(told))


def estimates(
    log: ClickLog,
    clusters: pl.LazyFrame,
    ratios: Sequence[Ratio],
    interval: Interval,
    *,
    means: bool = False,
) -> pl.LazyFrame:
    """Estimate ratios: a row per segment and measure with ``n`` and errors.

    ``clusters`` has one row per segment and cluster: the sums of its impressions, their
    number ``n`` and the columns of the log that identify it. ``means`` says that all
    denominators are 1. Without an interval, errors are null.
    """
    by = [*log.segments]
    if interval.kind == "bootstrap":
        return _bootstrap(log, clusters, by, ratios, interval)
    state = states(clusters, by, ratios, means=means, few=log.small and not by)
    found = finished(state, by, interval.level)
    if interval.kind == "normal":
        return found
    nothing = dict.fromkeys(("se", "lower", "upper"), pl.lit(None, pl.Float64))
    return found.with_columns(**nothing)


def states(
    clusters: pl.LazyFrame,
    by: Sequence[str],
    ratios: Sequence[Ratio],
    *,
    means: bool = False,
    few: bool = False,
    more: Mapping[str, pl.Expr] = MappingProxyType({}),
) -> pl.LazyFrame:
    """Sum up the state of each ratio, which adds up exactly.

    Columns are ``measure``, ``impressions`` and the parts of ``RatioMoments``, of which
    ``means``, whose denominators are all 1, need two fifths; and sums of ``more``. Of
    ``few`` clusters in memory they are the sums themselves.
    """
    named: State = {"impressions": pl.col("n").sum(), **more}
    rows = []
    for i, ratio in enumerate(ratios):
        den = None if means else pl.col(ratio.den)
        state = RatioMoments(den, few).state(pl.col(ratio.num))
        named |= {f"{i}:{part}": value for part, value in state.items()}
        parts = (pl.col(f"{i}:{part}").alias(part) for part in state)
        rows.append(pl.struct(pl.lit(ratio.name).alias("measure"), *parts))
    frame = clusters.group_by(by).agg(**named) if by else clusters.select(**named)
    frame = frame.select(*by, "impressions", *more, pl.concat_list(rows).alias("row"))
    return frame.explode("row", empty_as_null=True).unnest("row")


def finished(
    states: pl.LazyFrame, by: Sequence[str], level: float, *, warns: bool = True
) -> pl.LazyFrame:
    """Finish states: estimates with errors, ``n`` and numbers of clusters."""
    parts = [
        c for c in states.collect_schema() if c not in (*by, "impressions", "measure")
    ]
    moments = RatioMoments(pl.lit(1), few="x" in parts)
    found = moments.sums({part: pl.col(part) for part in parts})
    held = {name: pl.col(f"sum:{name}") for name in found}
    frame = states.with_columns(**{f"sum:{name}": e for name, e in found.items()})
    largest = pl.col("d_high") if "d_high" in parts else pl.lit(1.0)
    se, effective = standard_error(held, largest)
    estimate = pl.when(held["d"] != 0).then(held["x"] / held["d"])
    # A column of its own: margin warns, and does so once.
    half = pl.col("half")
    return frame.with_columns(half=se * margin(effective, level, warns=warns)).select(
        *by,
        "measure",
        n=pl.col("impressions"),
        clusters=pl.col("n"),
        effective_clusters=effective,
        estimate=estimate,
        se=se,
        lower=estimate - half,
        upper=estimate + half,
    )


def standard_error(
    sums: Mapping[str, pl.Expr], largest: pl.Expr
) -> tuple[pl.Expr, pl.Expr]:
    """Return the error of a ratio over clusters, and their effective number.

    ``largest`` is the largest denominator of a cluster.
    """
    n, d, dd = sums["n"], sums["d"], sums["dd"]
    error = RatioMoments.standard_error(sums) * inflation(n, d, dd, largest)
    return error, pl.when(d != 0).then(effective_number(d, dd))


def added(states: pl.LazyFrame, by: Sequence[str]) -> pl.LazyFrame:
    """Add up the states of parts."""
    keys = [*by, "measure"]
    parts = [c for c in states.collect_schema() if c not in (*keys, "impressions")]
    moments = RatioMoments(pl.lit(1))
    merged = [moments.merge(part, pl.col(part)) for part in parts]
    return states.group_by(keys, maintain_order=True).agg(
        pl.col("impressions").sum(), *merged
    )


def margin(effective: pl.Expr, level: float, *, warns: bool = True) -> pl.Expr:
    """Return how many standard errors Student's t reaches to each side."""
    p = 0.5 + level / 2

    def quantile(n: pl.Series) -> pl.Series:
        if warns:
            warn_if_few(n)
        clusters = n.cast(pl.Float64)
        several = t_of_normal(normal_quantile(p), clusters.clip(FEW).to_numpy() - 1)
        t = pl.Series(several).fill_nan(None)
        few = (n < FEW) & (n > 1)
        if not few.any():
            return t
        exact = pl.Series(t_quantile(p, clusters.to_numpy() - 1))
        return pl.select(pl.when(few).then(exact).otherwise(t)).to_series()

    return effective.map_batches(quantile, return_dtype=pl.Float64, is_elementwise=True)


def warn_if_few(effective: pl.Series) -> None:
    """Warn of errors that rest on few clusters, or on some that are much larger."""
    if few := (effective < SCARCE).sum():
        least = cast("float", effective.min())
        warn(
            f"{few} of {len(effective)} results rest on fewer than {SCARCE} effective "
            f"clusters (at least one on {least:.1f}): a few of them, such as "
            "busy users, decide, so intervals are wide, and rough; see the column "
            "effective_clusters"
        )


# -- bootstrap


def _bootstrap(
    log: ClickLog,
    clusters: pl.LazyFrame,
    by: Sequence[str],
    ratios: Sequence[Ratio],
    interval: Interval,
) -> pl.LazyFrame:
    """Estimate the same by resampling clusters, with Poisson weights.

    The sums of all clusters are held in memory, in the order of their ids: the result
    does not depend on the order of the rows.
    """
    schema = clusters.collect_schema()
    result = {
        **{name: schema[name] for name in by},
        "n": schema["n"],
        "clusters": clusters.select(pl.len()).collect_schema()["len"],
        "measure": pl.String(),
        **dict.fromkeys(NUMBERS, pl.Float64()),
    }

    # Here, and not segment by segment: each time would be a plan of its own.
    sums = pl.col({name for ratio in ratios for name in (ratio.num, ratio.den)})
    numbers = clusters.with_columns(sums.cast(pl.Float64).fill_null(0.0))

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        frame = held(
            numbers,
            log.resources,
            factor=RESAMPLING,
            what='of interval="bootstrap" the sums of all clusters',
            otherwise='take interval="normal", which holds nothing',
        ).sort(*by, *log.clusters, nulls_last=True)
        segments = (
            frame.partition_by(by, as_dict=True, maintain_order=True)
            if by
            else {(): frame}
        )
        rows = [
            (*key, segment["n"].sum(), len(segment), ratio.name, *found)
            for key, segment in segments.items()
            for ratio, found in zip(
                ratios, _resampled(segment, ratios, interval), strict=True
            )
        ]
        found = pl.DataFrame(rows, schema=result, orient="row")
        warn_if_few(found["effective_clusters"])
        yield found

    return lazy_source(read, result, name="bootstrap over clusters")


def _resampled(
    segment: pl.DataFrame, ratios: Sequence[Ratio], interval: Interval
) -> Iterator[tuple[float | None, ...]]:
    """Yield estimate, standard error and interval of each ratio.

    Source: Hanley and MacGibbon, 2006; Chamandy et al., 2012. Where there are many
    clusters, random groups of them have one weight: errors stay what they are.
    """
    import numpy as np

    rng = np.random.default_rng(interval.seed)
    columns = [segment[name] for r in ratios for name in (r.num, r.den)]
    values = np.array([c.to_numpy() for c in columns]).reshape(
        len(columns), len(segment)
    )
    total = np.array([c.sum() for c in columns])
    squares = (values[1::2] ** 2).sum(axis=1)
    if len(segment) > BUCKETS:
        bucket = rng.integers(BUCKETS, size=len(segment))
        values = np.array([np.bincount(bucket, v, BUCKETS) for v in values])
    drawn = np.concatenate(
        [
            _poisson(rng, min(REPLICATES, interval.n_resamples - done), values.shape[1])
            @ values.T
            for done in range(0, interval.n_resamples, REPLICATES)
        ]
    )
    tails = (1 - interval.level) / 2
    for i in range(len(ratios)):
        above, below = total[2 * i : 2 * i + 2]
        num, den = drawn[:, 2 * i], drawn[:, 2 * i + 1]
        if np.count_nonzero(segment[ratios[i].den]) < 2:
            estimate = None if below == 0 else above / below
            yield estimate, None, None, None, None if below == 0 else 1.0
            continue
        replicate = num[den != 0] / den[den != 0]
        lower, upper = np.quantile(replicate, [tails, 1 - tails])
        yield (
            float(above / below),
            float(replicate.std(ddof=1)),
            float(lower),
            float(upper),
            float(effective_number(below, squares[i])),
        )


def _poisson(rng: np.random.Generator, rows: int, columns: int) -> Array:
    """Draw Poisson(1) numbers from 16 random bits: mean 1, variance 0.99997."""
    import numpy as np

    bits = rng.integers(2**16, size=(rows, columns), dtype=np.uint16)
    return _table()[bits]


@cache
def _table() -> Array:
    """Compute the quantiles of Poisson(1) at (i + 1/2) / 2^16, once."""
    import numpy as np

    mass = np.exp(-1.0) / np.cumprod([1.0, *range(1, 12)])
    middle = (np.arange(2**16) + 0.5) / 2**16
    return np.searchsorted(np.cumsum(mass), middle).astype(np.float64)
