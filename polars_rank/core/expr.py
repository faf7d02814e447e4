"""Small expressions that formulas are written with."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import polars as pl

__all__ = [
    "arg_sort_by",
    "below_top",
    "descending",
    "divide",
    "let",
    "ratio",
    "stable_sum",
]


def ratio(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """``part / whole``; undefined (null) where the whole is 0."""
    return pl.when(whole != 0).then(part / whole)


def divide(part: pl.Expr, number: float | pl.Expr) -> pl.Expr:
    """``part / number``, to the last bit.

    By a literal 10 Polars multiplies by 1/10 instead: no exact 3/10, and in a frame of
    one row another value.
    """
    return part / (0.0 * part + number)


def descending(value: pl.Expr) -> pl.Expr:
    """Sorted from the largest down, nulls last."""
    return value.gather(value.arg_sort(descending=True, nulls_last=True))


def below_top(value: pl.Expr) -> pl.Expr:
    """How far each value lies below the largest, as Float64: rounded after, not before.

    Large integers are no exact Float64, but their differences may be.
    """
    # The sum is of a type in which the difference is exact, or Float64.
    wide = value + pl.lit(0, dtype=pl.UInt32)
    gap = (wide.max() - wide).cast(pl.Float64)
    rounded = value.cast(pl.Float64)
    overflown = gap < 0
    return pl.when(overflown).then(rounded.max() - rounded).otherwise(gap)


def arg_sort_by(
    keys: Sequence[pl.Expr], *, descending: Sequence[bool] = (False,)
) -> pl.Expr:
    """Positions that sort by the keys, stably, nulls last; to be gathered.

    Of a plain ``sort_by`` that a sum and a running sum share, the optimiser of Polars
    2.1 drops the sort for both; a gather stays.
    """
    positions = pl.int_range(0, keys[0].len())
    return positions.sort_by(
        keys, descending=list(descending), nulls_last=True, maintain_order=True
    )


def let(value: pl.Expr, f: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
    """``f(value)``, a single value, with ``value`` computed once however often used."""
    return value.implode().list.eval(f(pl.element())).list.first()


def stable_sum(term: pl.Expr) -> pl.Expr:
    """Sum within ``let``: the last bit does not depend on the queries beside this.

    With a null in any list beside this one, Polars adds in blocks.
    """
    return term.cast(pl.Float64).fill_null(0.0).implode().list.sum()
