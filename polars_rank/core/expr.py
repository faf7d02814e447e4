"""Expression helpers."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Literal

import polars as pl
import polars.selectors as cs

OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "*": operator.mul,
    "&": operator.and_,
}


def as_expr(column: str | pl.Expr) -> pl.Expr:
    """Return the column as an expression; a name is one column, never a pattern."""
    if not isinstance(column, str):
        return column
    pattern = column == "*" or (column.startswith("^") and column.endswith("$"))
    return cs.by_name(column).as_expr() if pattern else pl.col(column)


def ratio(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """Divide ``part / whole``; undefined (null) where the whole is 0.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> frame = pl.DataFrame({"hits": [1, 0], "relevant": [2, 0]})
    >>> frame.select(pr.ratio(pl.col("hits"), pl.col("relevant"))).to_series().to_list()
    [0.5, None]
    """
    return pl.when(whole != 0).then(part / whole)


def per(total: pl.Expr, count: pl.Expr) -> pl.Expr:
    """Divide by a whole number: ``total / count``; undefined (null) where that is 0.

    It names the count once, unlike :func:`ratio`: what has to be summed up for it is
    summed up once. No unsigned integer is -1.
    """
    return total / ((count - 1.0).cast(pl.UInt64, strict=False) + 1)


def divide(part: pl.Expr, number: float | pl.Expr) -> pl.Expr:
    """Divide ``part / number``, correctly rounded.

    Polars divides by a literal by multiplying with its inverse: 3/10 is then inexact,
    and has another value in a frame of one row.
    """
    return part / (0.0 * part + number)  # a column in place of the literal


def places(count: pl.Expr) -> pl.Expr:
    """Count from 1 to ``count``, as Float64.

    Polars 2.1 makes the lists of all groups at once, and an ``int_range`` group by
    group.
    """
    ranges = pl.int_ranges(1, count + 1)
    return ranges.explode(empty_as_null=False).cast(pl.Float64)


def descending(value: pl.Expr) -> pl.Expr:
    """Sort from the largest down, nulls last."""
    return value.gather(value.arg_sort(descending=True, nulls_last=True))


def below_top(value: pl.Expr) -> pl.Expr:
    """Return how far each value is below the largest, as Float64, rounded once.

    Large integers may not be exact in Float64 when their differences are.
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
    """Return the positions that sort stably by the keys, nulls last, for ``gather``.

    If a sum and a running sum share a ``sort_by``, the optimizer of Polars 2.1 drops
    the sort for both; it keeps a gather.
    """
    positions = pl.int_range(0, keys[0].len())
    return positions.sort_by(
        keys, descending=list(descending), nulls_last=True, maintain_order=True
    )


def let(value: pl.Expr, f: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
    """Return ``f(value)``, a single value; ``value`` is computed once."""
    return value.implode().list.eval(f(pl.element())).list.first()


def stable_sum(term: pl.Expr) -> pl.Expr:
    """Sum within ``let`` with a last bit that no other query in the frame changes.

    If any other list has a null, Polars sums in blocks.
    """
    return term.cast(pl.Float64).fill_null(0.0).implode().list.sum()


def operands(value: pl.Expr, *operators: Literal["*", "&"]) -> list[pl.Expr]:
    """Return what one of the operators joins in the expression; nothing if none does.

    Polars names no operator: an expression is the product of its two inputs if their
    product equals it.
    """
    inputs = value.meta.pop()[::-1]
    if len(inputs) != 2:
        return []
    joined = (OPERATORS[name](*inputs) for name in operators)
    return inputs if any(other.meta.eq(value) for other in joined) else []


def is_row_separable(value: pl.Expr, column: str) -> bool:
    """Return whether it needs one row of one column; True if nobody can tell.

    Polars tells of the outermost step alone, so each is asked: the sum within
    ``e - e.sum()``, and within a branch of ``when`` that a probe may not reach.
    """
    meta = value.meta
    steps = meta.pop()
    if not steps:
        known = meta.is_column() and meta.output_name() == column
        return known or (meta.is_literal() and meta.is_scalar())
    try:
        alone = meta.is_row_separable()
        whole = meta.is_length_preserving() or meta.is_scalar()
    except pl.exceptions.PolarsError:  # Polars knows nothing of functions in Python
        alone = whole = True
    return alone and whole and all(is_row_separable(step, column) for step in steps)


def is_scalar(value: pl.Expr) -> bool:
    """Return whether it is one value, not one per row; True if nobody can tell."""
    try:
        return value.meta.is_scalar()
    except pl.exceptions.PolarsError:  # Polars knows nothing of functions in Python
        return True
