"""Measure how people use search, as ratios of sums over impressions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Unpack

import polars as pl

from polars_rank._engine.frame_function import like_input
from polars_rank._engine.request import AnyFrame
from polars_rank._statistics.intervals import require_level
from polars_rank.clicks.behavior.alike import sums_of_alike
from polars_rank.clicks.behavior.cluster_states import cluster_states, whole
from polars_rank.clicks.behavior.kept import (
    CLUSTER_SUMS,
    COLUMNS,
    CONTENT,
    definitions_of,
    read_behavior,
    sealed,
    warn_of_returning,
)
from polars_rank.clicks.behavior.measures import (
    DEFAULT,
    Measures,
    parse_behavior,
)
from polars_rank.clicks.behavior.ratios import (
    Interval,
    IntervalChoice,
    added,
    estimates,
    finished,
    states,
    sums,
    warn_of_users,
)
from polars_rank.clicks.behavior.shallow import plan_behavior
from polars_rank.clicks.behavior.traced import (
    Traced,
    Unit,
    cluster_sums,
    impressions_in,
    parts_in,
    parts_of,
    trace,
)
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.impressions import bounded_by, in_layout
from polars_rank.clicks.log.log_columns import LogOptions, require_distinct
from polars_rank.clicks.log.open_log import function_of_log
from polars_rank.clicks.log.position_counts import rows_with_known
from polars_rank.core.exact.state import hashed
from polars_rank.core.expr import ratio
from polars_rank.io.frames import FrameLike

COUNTS = ("impressions", "total_clicks", "queries")
_QUERIES = pl.col("query").drop_nulls().n_unique()
LONG = (
    *("measure", "estimate", "se", "lower", "upper"),
    *("impressions", "clusters", "effective_clusters"),
)


@function_of_log
def per_impression(
    log: AnyFrame,
    /,
    measures: Measures = DEFAULT,
    **options: Unpack[LogOptions],
) -> AnyFrame:
    """Compute each measure for every impression.

    Parameters
    ----------
    log, measures, **options
        As in :func:`behavior`; ``by``, ``weight`` and ``cluster`` are not used.

    Returns
    -------
    The impression columns and a Float64 column per measure, sorted by impression: the
    numerator divided by the denominator, null where that is 0.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks
    >>> log = pl.DataFrame(
    ...     {
    ...         "impression_id": [1, 1, 2, 2],
    ...         "position": [1, 2, 1, 2],
    ...         "clicked": [0, 1, 0, 0],
    ...     }
    ... )
    >>> clicks.per_impression(log, ["rr", "first_click"]).rows()
    [(1, 0.5, 2.0), (2, 0.0, None)]
    """
    parsed = parse_behavior(measures)
    bound = ClickLog.of(log, options)
    traced = trace(bound, parsed)
    require_distinct([*bound.key_names, *(m.name for m in parsed)])

    def plan(log: ClickLog) -> pl.LazyFrame:
        values = [
            ratio(pl.col(r.num), pl.col(r.den)).cast(pl.Float64).alias(f"m{i}")
            for i, r in enumerate(traced.ratios)
        ]
        # Not parts_of, which weighs them: times 0 they have no ratio.
        parts = parts_in(impressions_in(log, traced), traced)
        frame = parts.select(*log.keys, *values).sort(log.keys)
        names = dict(zip(log.keys, log.key_names, strict=True))
        names |= {f"m{i}": r.name for i, r in enumerate(traced.ratios)}
        return frame.select(pl.col(own).alias(name) for own, name in names.items())

    return like_input(log, in_layout(bound, plan), in_memory=bound.small)


@function_of_log
def behavior(
    log: AnyFrame,
    /,
    measures: Measures = DEFAULT,
    *,
    unit: Unit | None = None,
    interval: IntervalChoice = "none",
    level: float = 0.95,
    n_resamples: int = 1000,
    seed: int = 0,
    count_queries: bool = True,
    **options: Unpack[LogOptions],
) -> AnyFrame:
    """Measure how people use search: clicks, abandonment, positions, dwell times.

    A measure is a pair of numbers per impression, and its value is the ratio of their
    sums: ``ctr@3`` is the number of clicks on the first three documents divided by the
    number of documents shown there; ``abandonment`` is the share of impressions without
    a click. The result does not depend on the order of the rows, to the last bit.

    Parameters
    ----------
    log
        One row per document that an impression showed.
    measures
        One or more of: text such as ``"ctr@3"`` or ``"satisfied_clicks(dwell=45)@10"``
        (:data:`polars_rank.clicks.BEHAVIOR` lists all), or a mapping of names to
        functions of an :class:`Impression` that return a numerator and a denominator.
    unit
        ``"impression"``: the mean of the ratios per impression (where defined) instead
        of the ratio of the sums.
    interval
        ``"normal"``: standard errors by the delta method, which allow for clusters of
        unequal sizes, and Student's t of as many degrees of freedom as there are
        effective clusters, less one (below 50 it takes the extra ``stats``);
        ``"bootstrap"``: percentiles over resampled clusters.
    level
        Confidence level.
    n_resamples, seed
        Number of resamples and seed of the bootstrap.
    count_queries
        Whether to count distinct queries.
    **options
        Columns and options of :class:`LogOptions`. Name the users in ``cluster=`` for
        intervals: impressions of one user are not independent.

    Returns
    -------
    A DataFrame for a DataFrame, a LazyFrame for a LazyFrame, sorted by segment. Without
    ``interval``: the ``by`` columns, ``impressions``, ``total_clicks``, ``queries`` and
    a Float64 column per measure. With it: one row per segment and measure, with the
    ``by`` columns, ``measure``, ``estimate``, ``se``, ``lower``, ``upper``,
    ``impressions``, ``clusters``, ``effective_clusters`` (how many clusters of one size
    would tell as much, by their denominators). A ratio with denominator 0 is null, and
    so is the error of one whose denominator is that of a single cluster.

    Warns
    -----
    DataWarning
        When collected: intervals of fewer than 20 effective clusters.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for wrong arguments.
    DataError
        When collected, for rows that break a rule.

    Source: Deng, Knoblich and Lu, KDD 2018 (errors of ratios over clusters); Hanley and
    MacGibbon, 2006 (Poisson bootstrap).

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks
    >>> log = pl.DataFrame(
    ...     {
    ...         "impression_id": [1, 1, 2, 2],
    ...         "position": [1, 2, 1, 2],
    ...         "clicked": [0, 1, 0, 0],
    ...     }
    ... )
    >>> clicks.behavior(log, ["ctr", "ctr@1", "abandonment", "rr"]).rows()
    [(2, 1, 0.25, 0.0, 0.5, 0.25)]
    """
    parsed = parse_behavior(measures)
    choice = Interval.of(interval, level, n_resamples, seed)
    if unit not in (None, "impression"):
        msg = f"unit must be None or 'impression', not {unit!r}"
        raise ValueError(msg)
    bound: ClickLog = ClickLog.of(log, options)
    if interval == "none":
        require_distinct([*bound.by, *COUNTS, *(m.name for m in parsed)])
    else:
        require_distinct([*bound.by, *LONG])
        warn_of_users(bound)
    counted = count_queries and "query" in bound.roles

    def plan(log: ClickLog, traced: Traced) -> pl.LazyFrame:
        frame = (
            _values(log, traced, count_queries=counted)
            if interval == "none"
            else _intervals(log, traced, choice)
        )
        ordered = frame.sort([*log.segments], nulls_last=True, maintain_order=True)
        return log.titled(ordered)

    found = plan_behavior(bound, parsed, unit, plan)
    return like_input(log, found, in_memory=bound.small)


@function_of_log
def behavior_state(
    log: AnyFrame,
    /,
    measures: Measures = DEFAULT,
    *,
    unit: Unit | None = None,
    part: str | None = None,
    keep_clusters: bool = False,
    **options: Unpack[LogOptions],
) -> AnyFrame:
    """Sum up what a day, a file or a partition of a log adds to :func:`behavior`.

    Parameters
    ----------
    log, measures, unit, **options
        As in :func:`behavior`. An impression must lie in one part.
    part
        Name of the part, such as its day. Two parts of the same content are one part,
        which :func:`merge_behavior` refuses to count twice, unless they have two
        names.
    keep_clusters
        Whether to keep the sums of each cluster, so that a user who comes back on
        another day is still one user. Without it, clusters must lie in one part each.

    Returns
    -------
    A frame like ``log``, a row for each segment and measure: the ``by`` columns,
    ``measure``, ``impressions`` and sums that :func:`merge_behavior` adds up;
    ``definition``, all that can change a value; and ``digests``, eight bytes as text,
    of the ids of impressions or clusters and of their sums, and of ``part``. A few
    hundred bytes a row, to be kept in a file. With ``keep_clusters`` a row for each
    cluster of these: ``cluster``, a hash of 64 bits of its id (which is no secret where
    ids can be guessed), and two sums; 70 bytes in memory, 20 in a Parquet file.

    Raises
    ------
    ValueError
        If clusters are to be kept, and none are named.
    """
    parsed = parse_behavior(measures)
    bound: ClickLog = ClickLog.of(log, options)
    if keep_clusters and not bound.cluster:
        msg = "keep_clusters=True needs cluster=, such as the column of the user"
        raise ValueError(msg)
    warn_of_users(bound)
    require_distinct([*bound.by, *{*LONG, *COLUMNS}])
    definitions = definitions_of(
        parsed, bound, unit, options, keep_clusters=keep_clusters
    )

    def plan(log: ClickLog, traced: Traced) -> pl.LazyFrame:
        by: dict[str, pl.Expr] = log.segments
        clusters, keys = cluster_sums(log, traced, by), [*log.clusters]
        if keep_clusters:
            found = cluster_states(clusters, [*by], traced.ratios, keys)
            content = hashed(["measure", *CLUSTER_SUMS])
            found = found.with_columns(content.alias(CONTENT))
        else:
            own = hashed([*keys, *traced.parts, "n"]).sum()
            found = states(clusters, [*by], traced.ratios, more={CONTENT: own})
            found = found.sort([*by], nulls_last=True, maintain_order=True)
        found = sealed(found, [*by], definitions, part)
        first = [*log.by, "measure"]
        return log.titled(found).select(*first, pl.exclude(first))

    found = plan_behavior(bound, parsed, unit, plan)
    return like_input(log, found, in_memory=bound.small)


def merge_behavior(
    parts: FrameLike | Iterable[FrameLike],
    /,
    *,
    level: float = 0.95,
    whole_clusters: bool = False,
) -> pl.DataFrame:
    """Merge the states of parts into the behavior of the whole, with intervals.

    Counts and their errors are the same to the last bit; of numbers that are not whole,
    such as seconds, those of clusters that are in several parts are rounded once more.

    Parameters
    ----------
    parts
        Results of :func:`behavior_state`, of the same measures and segments: frames of
        any library, or paths.
    level
        Confidence level.
    whole_clusters
        Says that every cluster lies in one part, as if users were split, not days.

    Returns
    -------
    What ``behavior(..., interval="normal")`` of all parts together returns; of states
    that keep their clusters, and have none at all, a frame without rows.

    Warns
    -----
    DataWarning
        If parts do not keep their clusters, which may be in several of them: they are
        counted several times then, and errors are too small.

    Raises
    ------
    DataError
        If a part is no state, or damaged; if the same part is there twice, by the
        digest of its content; if parts differ in a measure's definition, or in their
        columns; if some keep their clusters, and others do not. It names the file, and
        what differs.

    Examples
    --------
    >>> import polars as pl
    >>> from polars_rank import clicks, example
    >>> log = pl.scan_parquet(example.clicks_path())
    >>> states = [
    ...     clicks.behavior_state(day, "ctr", cluster="user_id", keep_clusters=True)
    ...     for day in (log.filter(pl.col("impression_id") % 3 == i) for i in range(3))
    ... ]
    >>> clicks.merge_behavior(states).select("measure", "estimate", "clusters").row(0)
    ('ctr', 0.12065, 1497)
    """
    require_level(level)
    kept = read_behavior(parts)
    rows, by = kept.rows.lazy(), kept.by
    if kept.clusters:
        merged = whole(rows, by)
    else:
        if not whole_clusters:
            warn_of_returning(kept)
        merged = added(rows, by)
    found = finished(merged, by, level).rename({"n": "impressions"})
    result = found.sort(by, nulls_last=True, maintain_order=True) if by else found
    return result.select(*by, *LONG).collect(engine="streaming")


def _values(log: ClickLog, traced: Traced, *, count_queries: bool) -> pl.LazyFrame:
    """Compute the counts and the measures, one row per segment."""
    by = log.segments
    if traced.are_of_totals and log.weight is None and log.resources is None:
        impressions = impressions_in(log, traced).with_columns(**by)
        found = sums_of_alike(impressions, [*by], traced, count_queries=count_queries)
    else:
        frame = parts_of(log, traced).with_columns(**by)
        counts = {"impressions": pl.len(), "total_clicks": pl.col("clicks").sum()}
        if count_queries and log.resources is None:
            counts["queries"] = _QUERIES
        found = sums(frame, [*by], [*traced.parts], counts, few=log.small)
        if count_queries and log.resources is not None:
            found = _with_queries(log, found, by)
    values = [
        ratio(pl.col(r.num), pl.col(r.den)).cast(pl.Float64).alias(r.name)
        for r in traced.ratios
    ]
    number = pl.col("impressions").cast(pl.Int64)
    shown = ["total_clicks", *(["queries"] if count_queries else [])]
    return found.select(*by, number, *shown, *values)


def _with_queries(
    log: ClickLog, found: pl.LazyFrame, by: dict[str, pl.Expr]
) -> pl.LazyFrame:
    """Count the queries of each segment, bucket by bucket: each lies in one."""
    rows = rows_with_known(log).rows.select("query", **by)

    def counted(rows: pl.LazyFrame) -> pl.LazyFrame:
        number = _QUERIES.alias("queries")
        return rows.group_by(*by).agg(number) if by else rows.select(number)

    parts = bounded_by(log, rows, ["query"], counted, "queries")
    total = pl.col("queries").sum()
    if not by:
        return found.join(parts.select(total), how="cross")
    queries = parts.group_by(*by).agg(total)
    return found.join(queries, on=[*by], how="left", nulls_equal=True).with_columns(
        pl.col("queries").fill_null(0)
    )


def _intervals(log: ClickLog, traced: Traced, interval: Interval) -> pl.LazyFrame:
    """Estimate each measure with its error, one row per segment and measure."""
    by = log.segments
    clusters = cluster_sums(log, traced, by)
    found = estimates(log, clusters, traced.ratios, interval)
    return found.rename({"n": "impressions"}).select(*by, *LONG)
