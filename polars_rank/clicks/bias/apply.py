"""Give each row of a log the propensity of its position, or a logged one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import polars as pl

from polars_rank._engine.request import AnyFrame
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.impressions import order_of, refuse_rows
from polars_rank.clicks.log.position_counts import checked, rows_with_known
from polars_rank.core import rules
from polars_rank.core.parameters import refuse
from polars_rank.core.source import is_rereadable, lazy_source
from polars_rank.exceptions import DataError

STEEPEST = 100  # eta
Propensities: TypeAlias = AnyFrame | float | None


def faults_first(result: pl.LazyFrame, log: ClickLog) -> pl.LazyFrame:
    """Return the result, and of two errors always the same one.

    Whether a row without a propensity or a row that breaks a rule of logs comes first
    depends on the threads. The second is told: the position may be what is wrong.
    """

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        try:
            found = result.select(columns).collect(engine="streaming")
        except DataError as error:
            if error.rule == rules.NO_PROPENSITY.name and is_rereadable(log.rows):
                checked(log, documents=True).collect(engine="streaming")
            raise
        yield found

    return lazy_source(
        read,
        result.collect_schema(),
        name="estimate with propensities",
        rereadable=is_rereadable(log.rows),
    )


def with_propensities(
    log: ClickLog, propensities: Propensities, *, trust: bool
) -> ClickLog:
    """Add ``alpha`` and ``beta`` of their position to the rows."""
    position = pl.col("position")
    if propensities is None:
        if "propensity" not in log.roles:
            msg = (
                "propensities: give the frame of clicks.propensities(log), a number "
                "eta (position ** -eta), or name the logged column with propensity="
            )
            raise ValueError(msg)
        alpha = pl.col("propensity").cast(pl.Float64)
        return replace(log, rows=log.rows.with_columns(alpha=alpha, beta=0.0))
    if isinstance(propensities, int | float) and not isinstance(propensities, bool):
        if not abs(propensities) < STEEPEST:
            rule = f"a frame, or a number between {-STEEPEST} and {STEEPEST}"
            refuse("propensities", rule, propensities)
        alpha = position.cast(pl.Float64) ** -float(propensities)
        return replace(log, rows=log.rows.with_columns(alpha=alpha, beta=0.0))
    if not isinstance(propensities, pl.DataFrame | pl.LazyFrame):
        msg = (
            "propensities must be a frame with position and propensity, or a number, "
            f"not {type(propensities).__name__}"
        )
        raise TypeError(msg)
    known = propensities.lazy()
    schema = known.collect_schema()
    wanted = ("alpha", "beta") if trust else ("propensity",)
    for name in ("position", *wanted):
        if name not in schema:
            msg = (
                f"propensities has no column {name!r}"
                + (': estimate it with method "trust"' if trust else "")
                + f"; its columns are {', '.join(schema)}"
            )
            raise pl.exceptions.ColumnNotFoundError(msg)
    log = rows_with_known(log)
    by = [name for name in log.by if name in schema]
    own = {log.carried[name]: name for name in by}
    alpha = pl.col("alpha" if trust else "propensity")
    beta = pl.col("beta") if trust else pl.lit(0.0)
    table = known.select(
        pl.col("position").cast(pl.Int32),
        *(pl.col(name).alias(c) for c, name in own.items()),
        alpha=alpha.cast(pl.Float64),
        beta=beta.cast(pl.Float64),
    )
    alpha, beta = pl.col("alpha"), pl.col("beta")
    sound = (alpha > 0) & alpha.is_finite() & beta.is_finite() | alpha.is_null()
    on = ["position", *own]
    broken = {
        rules.EARLY_PROPENSITY: position < 1,
        rules.UNUSABLE_PROPENSITY: ~sound,
        rules.DUPLICATE_PROPENSITY: pl.len().over(on) > 1,
    }
    table = _refused(table, broken)
    rows = log.rows.join(
        table, on=on, how="left", nulls_equal=True, maintain_order=order_of(log)
    )
    without = alpha.is_null() & ~log.faulty.fill_null(value=False)
    return replace(log, rows=_refused(rows, {rules.NO_PROPENSITY: without}))


def _refused(rows: pl.LazyFrame, broken: Mapping[rules.Rule, pl.Expr]) -> pl.LazyFrame:
    return refuse_rows(
        rows, broken, example="position", check="strict", unit="position"
    )
