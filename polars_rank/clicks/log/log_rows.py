"""Clean the rows of a click log, and find those that break a rule."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, cast

import polars as pl

from polars_rank._engine.checks.enforce import warn
from polars_rank.core import rules
from polars_rank.core.source import batches_of, lazy_source, without_pushdown

FROM_ONE = (
    "first_position=0 says that positions count from 0, but the smallest is {least}, "
    "so results begin at position {first}; leave it out if positions count from 1"
)
MERGED = {  # of the rows of a document
    **dict.fromkeys(("clicked", "dwell", "flag", "fault"), "max"),
    **dict.fromkeys(("clicked_at", "wait"), "min"),
}
NARROW = (pl.Boolean, pl.Int8, pl.Int16, pl.Int32, pl.UInt8, pl.UInt16)


def clean(
    rows: pl.LazyFrame, given: dict[str, Any], keys: Sequence[str], arm: str | None
) -> tuple[pl.LazyFrame, dict[rules.Rule, pl.Expr]]:
    """Clean positions, clicks and seconds; return when a row breaks a rule, too."""
    schema = rows.collect_schema()
    if "seen" in schema:
        rows = rows.filter("seen").drop("seen")
    # Types that cannot fail are cast in a fifth of the time.
    position = pl.col("position").cast(pl.Int32, strict=schema["position"] in NARROW)
    if "page" in schema:
        before = (pl.col("page").cast(pl.Int32, strict=False) - 1) * given["page_size"]
        position = position + before
    columns = {"position": position, "clicked": _clicks(schema, given)}
    if "swap" in schema:  # is a position, too
        columns["swap"] = pl.col("swap").cast(pl.Int32)
    if given.get("first_position") == 0:
        columns |= {n: columns[n] + 1 for n in ("position", "swap") if n in columns}
    for name in ("dwell", "time", "clicked_at"):
        if name in schema:
            columns[name] = _seconds(pl.col(name), schema[name])
    if "time" in schema and "clicked_at" in schema:
        columns["wait"] = _wait(schema)
    rows = rows.with_columns(**columns).drop("page", strict=False)
    at, click = pl.col("position"), pl.col("clicked")
    most = pl.col("count") if "count" in schema else 1
    broken: dict[rules.Rule, pl.Expr] = {}
    if keys:
        broken[rules.NULL_IMPRESSION] = pl.any_horizontal(pl.col(keys).is_null())
    broken[rules.INVALID_POSITION] = at.is_null() | (at < 1)
    broken[rules.INVALID_CLICK] = click.is_null() | (click < 0) | (click > most)
    for name, rule in (("query", rules.NULL_QUERY), ("doc", rules.NULL_DOC)):
        if name in schema:
            broken[rule] = pl.col(name).is_null()
    if "dwell" in schema:
        dwell = pl.col("dwell")
        broken[rules.INVALID_DWELL] = (dwell < 0) | (dwell >= math.inf)  # NaN is above
    if "wait" in columns:
        broken[rules.CLICK_BEFORE_IMPRESSION] = pl.col("wait") < 0
    if "propensity" in schema:
        p = pl.col("propensity").cast(pl.Float64)
        broken[rules.INVALID_PROPENSITY] = ~((p > 0) & (p <= 1)).fill_null(value=False)
    if arm in schema:
        broken[rules.NULL_ARM] = pl.col(cast("str", arm)).is_null()
    fault = pl.lit(0, pl.UInt8)
    for i, condition in reversed([*enumerate(broken.values(), start=1)]):
        fault = pl.when(condition).then(pl.lit(i, pl.UInt8)).otherwise(fault)
    return rows.with_columns(fault=fault), broken


def _clicks(schema: pl.Schema, given: dict[str, Any]) -> pl.Expr:
    """Cast clicks to integers; what is not a whole number becomes -1."""
    clicked, dtype = pl.col("clicked"), schema["clicked"]
    if dtype.is_float() or dtype.is_decimal():
        whole = clicked.cast(pl.Int64, strict=False)
        clicked = pl.when(clicked.is_not_null()).then(
            pl.when(whole == clicked).then(whole).otherwise(-1)
        )
    small = pl.Int8 if dtype == pl.Boolean else pl.Int32
    whole_type = pl.Int64 if "count" in schema else small
    clicked = clicked.cast(whole_type, strict=schema["clicked"] in NARROW)
    return clicked.fill_null(0) if given.get("clicked_null") == "zero" else clicked


def _seconds(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Convert a length of time to seconds; a moment, to those since 1970."""
    if dtype == pl.Duration:
        return column.dt.total_nanoseconds() / 1e9
    if dtype.is_temporal():
        return column.dt.epoch("us") / 1e6
    return column.cast(pl.Float64)


def _wait(schema: pl.Schema) -> pl.Expr:
    """Compute the seconds from the impression to the click."""
    start, end = schema["time"], schema["clicked_at"]
    if pl.Null in (start, end):
        return pl.lit(None, pl.Float64)
    if start.is_temporal() != end.is_temporal():
        msg = (
            f"time= is {start} but clicked_at= is {end}; both must be Datetime, or "
            "both seconds"
        )
        raise TypeError(msg)
    wait = pl.col("clicked_at") - pl.col("time")
    return _seconds(wait, pl.Duration() if start.is_temporal() else start)


def watched(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Warn if positions of the rows count from 1: for ``first_position=0``.

    Positions are looked up before the rows are first read, up to one below 1: only a
    log that has none is read twice.
    """
    schema = rows.collect_schema()

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        least: Any = None
        positions = rows.select("position")
        for batch in batches_of(positions):
            least = pl.Series([least, batch["position"].min()]).min()
            if least is not None and least < 1:
                break
        else:
            if least is not None:
                warn(FROM_ONE.format(least=least, first=least + 1))
        yield pl.DataFrame(schema={name: schema[name] for name in columns})

    none = lazy_source(read, schema, name="smallest position", rereadable=True)
    return pl.concat([without_pushdown(none), rows])


def united(rows: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Keep one row per document of an impression: the upper one, with clicks merged."""
    if "doc" not in rows.collect_schema():
        msg = 'on_duplicate="first" needs a column with documents: name it with doc='
        raise ValueError(msg)
    upper = pl.col("position").arg_min()
    on = [*keys, "doc"]
    values = [
        getattr(pl.col(name), MERGED[name])()
        if name in MERGED
        else pl.col(name).min()
        if name == "position"
        else pl.col(name).get(upper)
        for name in rows.collect_schema()
        if name not in on
    ]
    return rows.group_by(on, maintain_order=True).agg(values)
