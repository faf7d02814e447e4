"""Merge the same search, logged several times, into one impression."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import timedelta
from typing import Unpack

import polars as pl

from polars_rank._engine.frame_function import like_input
from polars_rank._engine.request import AnyFrame
from polars_rank._engine.schema import bind_column, renamed, require_columns
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.log_columns import LogOptions
from polars_rank.clicks.log.open_log import function_of_log
from polars_rank.clicks.log.position_counts import unless_faulty

MERGED = {"clicked": "max", "dwell": "max", "clicked_at": "min"}  # of a series
UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@function_of_log
def dedupe(
    log: AnyFrame,
    /,
    *,
    within: str | float | timedelta = "30m",
    keys: str | Sequence[str] = ("user_id", "query_id"),
    **options: Unpack[LogOptions],
) -> AnyFrame:
    """Make one impression of repeated ones: same keys, same list, soon after another.

    Filters, pages and reloads log a search anew. An impression that shows the same
    documents at the same positions for the same ``keys``, no later than ``within``
    after the last such one, is a repetition: its rows are dropped, and its clicks,
    dwell times and click times go to the first one of the series. Rows that were not
    ``seen``, if that is named, are dropped before.

    Parameters
    ----------
    log
        One row per shown document, with the ``time`` of the impression.
    within
        Longest time between two of a series: seconds, a timedelta, or text such as
        ``"90s"``, ``"30m"``, ``"1h"``.
    keys
        Columns that are equal within a series: the user or session, and the query.
    **options
        Columns of the log, ``clicked_null``, ``check``, as in :class:`LogOptions`;
        ``time`` is needed.

    Returns
    -------
    A frame like ``log``, with the same columns and order: the rows of first
    impressions. ``clicked`` is whether any of the series was clicked; ``dwell``, if
    named, the longest; ``clicked_at``, if named, the earliest.

    Raises
    ------
    ValueError, TypeError, polars.exceptions.ColumnNotFoundError
        At once, for wrong arguments.
    DataError
        When collected, for rows that break a rule.

    Examples
    --------
    >>> from datetime import datetime
    >>> import polars as pl
    >>> from polars_rank import clicks
    >>> log = pl.DataFrame(
    ...     {
    ...         "impression_id": [1, 2],
    ...         "user_id": [7, 7],
    ...         "query_id": ["tea", "tea"],
    ...         "doc_id": ["a", "a"],
    ...         "position": [1, 1],
    ...         "clicked": [False, True],
    ...         "time": [datetime(2026, 1, 1, 12, 0), datetime(2026, 1, 1, 12, 5)],
    ...     }
    ... )
    >>> clicks.dedupe(log, time="time").select("impression_id", "clicked").rows()
    [(1, True)]
    """
    seconds = _seconds(within)
    same = (keys,) if isinstance(keys, str) else tuple(keys)
    if not same:
        msg = "keys must name at least one column, e.g. of the user and the query"
        raise ValueError(msg)
    bound: ClickLog = ClickLog.of(log, options, needs=("doc", "time"))
    schema = log.lazy().collect_schema()
    require_columns(same, schema, where="the log", argument="keys")
    roles, own = bound.roles, [f"same{i}" for i in range(len(same))]
    given = log.lazy()
    if "seen" in roles:
        given = given.filter(roles["seen"])
    places = [roles[r] for r in ("doc", "position", "page") if r in roles]
    names = [*bound.key_names, *places]
    ids = [f"id{i}" for i in range(len(names))]
    impression, place = ids[: len(bound.key_names)], ids[len(bound.key_names) :]
    united = {roles[role]: how for role, how in MERGED.items() if role in roles}
    best = {f"best{i}": name for i, name in enumerate(united)}
    for role in ("dwell", "clicked_at"):
        if role in roles:
            bind_column(role, roles[role], schema, where="the log")
    shown = [renamed(name, key) for name, key in zip(names, ids, strict=True)]
    rows = given.select(
        *shown,
        *(renamed(name, key) for name, key in zip(same, own, strict=True)),
        renamed(roles["time"], "time"),
    )
    first = _first_of_series(rows, impression, own, place, seconds)
    merged = (
        given.select(*shown, **{value: pl.col(name) for value, name in best.items()})
        .join(first, on=impression, nulls_equal=True)
        .group_by(*(f"first{i}" for i in range(len(impression))), *place)
        .agg(getattr(pl.col(value), united[name])() for value, name in best.items())
        .rename({f"first{i}": name for i, name in enumerate(impression)})
    )
    merged = unless_faulty(merged, bound, documents=False)
    keep = (
        given.with_columns(
            pl.col(name).alias(own) for name, own in zip(names, ids, strict=True)
        )
        .join(merged, on=ids, how="inner", nulls_equal=True, maintain_order="left")
        .with_columns(pl.col(value).alias(name) for value, name in best.items())
        .select(list(schema))
    )
    return like_input(log, keep)


def _first_of_series(
    rows: pl.LazyFrame,
    impression: list[str],
    same: list[str],
    place: list[str],
    seconds: float,
) -> pl.LazyFrame:
    """Find for each impression the first one of its series, ``first0`` ..."""
    lists = rows.group_by(impression).agg(
        *(pl.col(name).first() for name in same),
        pl.col("time").first(),
        shown=pl.struct(place).sort().implode().hash(),
    )
    order = [*same, "shown", "time", *impression]
    lists = lists.sort(order, nulls_last=True)
    other = pl.any_horizontal(
        pl.col(name).ne_missing(pl.col(name).shift(1)) for name in (*same, "shown")
    )
    gap = pl.col("time") - pl.col("time").shift(1)
    if isinstance(lists.collect_schema()["time"], pl.Datetime):
        gap = gap.dt.total_microseconds() / 1e6
    late = (gap > seconds).fill_null(value=True)
    begins = (other | late).fill_null(value=True)
    begins = begins | (pl.int_range(pl.len()) == 0)
    # The row, not the id: filled forward, the id that is null would be another's.
    head = pl.when(begins).then(pl.int_range(pl.len())).forward_fill()
    return lists.select(
        *impression,
        *(
            pl.col(name).gather(head).alias(f"first{i}")
            for i, name in enumerate(impression)
        ),
    )


def _seconds(within: str | float | timedelta) -> float:
    if isinstance(within, timedelta):
        return within.total_seconds()
    if isinstance(within, str):
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([smhd])\s*", within)
        if found:
            return float(found[1]) * UNITS[found[2]]
    elif not isinstance(within, bool) and within >= 0:
        return float(within)
    msg = (
        'within must be a time such as "90s", "30m" or "1h", a timedelta or a number '
        f"of seconds, not {within!r}"
    )
    raise ValueError(msg)
