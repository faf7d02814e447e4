"""Count pairs at positions, and clusters at positions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations_with_replacement

import polars as pl

from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.impressions import (
    bounded_by,
    enforced,
    impressions_of,
    in_layout,
    order_of,
    require_sound_rows,
)


def rows_with_known(log: ClickLog) -> ClickLog:
    """Add the columns that only ``impressions=`` has."""
    if log.impressions is None:
        return log
    schema = log.rows.collect_schema()
    new = [c for c in log.carried.values() if c not in schema]
    if not new:
        return log
    known = log.impressions.select(*log.keys, *new)
    rows = log.rows.join(
        known,
        on=log.keys,
        how="left",
        nulls_equal=True,
        maintain_order=order_of(log),
    )
    return replace(log, rows=rows)


def checked(log: ClickLog, *, documents: bool) -> pl.LazyFrame:
    """Count ``impressions``, or raise an error if the log breaks a rule."""
    if not log.keys:
        return require_sound_rows(log).select(impressions=shown(log).sum())
    return in_layout(
        log,
        lambda log: enforced(log, impressions_of(log, {}, documents=documents)).select(
            impressions=pl.len()
        ),
    )


def unless_faulty(
    found: pl.LazyFrame, log: ClickLog, *, documents: bool = True
) -> pl.LazyFrame:
    """Return what was found in a log, or an error if the log breaks a rule."""
    if log.check == "off":
        return found
    sound = checked(log, documents=documents).select(sound=pl.col("impressions") >= 0)
    both = found.join(sound, how="cross", maintain_order="left")
    return both.filter("sound").drop("sound")


def shown(log: ClickLog) -> pl.Expr:
    """Return the number of impressions that a row stands for."""
    if "count" in log.roles:
        return pl.col("count").cast(pl.Int64)
    return pl.lit(1, pl.Int64)


def pair_table(
    log: ClickLog,
    keys: Sequence[str],
    then: Callable[[pl.LazyFrame], pl.LazyFrame] = lambda table: table,
) -> pl.LazyFrame:
    """Count impressions ``n`` and clicks ``c`` by ``keys``, pair and position.

    ``then`` is done with the table, or with parts of it that have whole queries.
    """
    names = [*keys, "query", "doc", "position"]
    counted = "count" in log.roles
    n = pl.col("count").cast(pl.Int64).sum() if counted else pl.len().cast(pl.Int64)
    c = pl.col("clicked").sum().cast(pl.Int64)
    rows = log.rows.select(*names, "clicked", *(["count"] if counted else []))

    def grouped(rows: pl.LazyFrame) -> pl.LazyFrame:
        return then(rows.group_by(names).agg(n=n, c=c))

    return bounded_by(
        log, rows, ["query"], grouped, f"pairs {names} {then.__qualname__}"
    )


def position_totals(log: ClickLog, keys: Sequence[str]) -> pl.LazyFrame:
    """Count impressions and clicks by ``keys`` and position."""
    rows = log.rows.select(
        *keys, "position", impressions=shown(log), clicks=pl.col("clicked")
    )
    return rows.group_by(*keys, "position").agg(
        pl.col("impressions").sum(), pl.col("clicks").cast(pl.Int64).sum()
    )


def counted(
    log: ClickLog, keys: Sequence[str], *plans: pl.LazyFrame
) -> list[pl.DataFrame]:
    """Collect the totals of positions, and plans, if the log breaks no rule."""
    sound = checked(log, documents=False)
    every = [position_totals(log, keys), *plans, sound]
    return pl.collect_all(every, engine="streaming")[:-1]


def moments(
    log: ClickLog,
    by: Sequence[str],
    values: Mapping[str, pl.Expr],
    reference: pl.DataFrame,
    *,
    wide: bool = False,
) -> pl.LazyFrame:
    """Sum products of values at a position, and at the reference, over clusters.

    Per ``by`` and position: columns ``x:y`` for two values of a cluster at this
    position, ``x|y`` for one of this position and one of the reference's, and
    ``clusters`` that have this position. Values are integers, and their products have
    128 bits where they are ``wide``. ``reference`` has ``by`` and ``position``. A
    row of no position has the number of all clusters.
    """
    keys = log.clusters
    rows = log.rows.select(*by, "position", **keys, **values)
    names = [*values]

    def summed(rows: pl.LazyFrame) -> pl.LazyFrame:
        cells = rows
        if not log.is_each_alone:
            sums = [pl.col(name).sum() for name in names]
            cells = rows.group_by(*by, *keys, "position").agg(sums)
        if wide:
            cells = cells.with_columns(pl.col(names).cast(pl.Int128))
        first = cells.join(reference.lazy(), on=[*by, "position"], nulls_equal=True)
        first = first.select(*by, *keys, *(pl.col(n).alias(f"|{n}") for n in names))
        both = cells.join(first, on=[*by, *keys], how="left", nulls_equal=True)
        products = {
            f"{a}:{b}": (pl.col(a) * pl.col(b)).sum()
            for a, b in combinations_with_replacement(names, 2)
        }
        products |= {
            f"{a}|{b}": (pl.col(a) * pl.col(f"|{b}")).sum()
            for a in names
            for b in names
        }
        one = both.group_by(*by, "position").agg(**products, clusters=pl.len())
        number = pl.struct(*keys).n_unique().alias("clusters")
        every = cells.group_by(by).agg(number) if by else cells.select(number)
        return pl.concat([one, every], how="diagonal_relaxed")

    fingerprint = repr(([*values.values()], reference.rows()))
    parts = bounded_by(log, rows, [*keys], summed, fingerprint)
    return parts.group_by(*by, "position").agg(pl.all().sum())
