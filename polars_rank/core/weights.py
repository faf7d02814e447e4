"""Gains of grades and weights of places."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Annotated, Literal, TypeAlias

import polars as pl

from polars_rank.core.expr import is_row_separable
from polars_rank.core.parameters import Allowed, Doc, Meaning, is_number

GAINS: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "linear": lambda grade: grade,
    "exp2": lambda grade: pl.lit(2.0).pow(grade) - 1.0,
    "binary": lambda grade: (grade > 0).cast(pl.Float64),
}
DISCOUNTS: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "log2": lambda rank: (rank + 1.0).log(2.0),
    "log2_from_2": lambda rank: rank.log(2.0).clip(lower_bound=1.0),
    "position": lambda rank: rank,
}
LARGEST_EXP2_GRADE = 1023
PROBE = pl.Series(
    "x", [3.0, 1.0, 4.0, 1.0, None, 5.0, 2.0, 6.0, 0.5, 0.0, 10.0, 31.0, 100.0, 1000.0]
)
CLOSE = 1e-9  # relative; arithmetic on one row may be rounded otherwise than on many


def _is_function(function: object) -> bool:
    """Return whether it is an elementwise function of an expression; refuse another.

    Gains and discounts are computed along the rows of all queries. That an expression
    reads single rows shows in its steps, except of functions in Python: so the values
    of several rows are also compared with those of each row on its own.
    """
    if not callable(function):
        return False
    if not _gives_each_row_by_itself(function):
        msg = (
            f"{function!r} is not elementwise: a function of gains or discounts must "
            "give each row's value by itself, and not by other rows, as rank(), mean() "
            "or shift() do, or by other columns; what depends on a query as a whole is "
            "a measure of your own"
        )
        raise ValueError(msg)
    return True


@lru_cache(maxsize=256)
def _gives_each_row_by_itself(function: Callable[[pl.Expr], pl.Expr]) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Polars' own come when it is used
        expr = function(pl.col("x"))
        if not isinstance(expr, pl.Expr) or not is_row_separable(expr, PROBE.name):
            return False
        alone = [_values(expr, PROBE[i : i + 1]) for i in range(len(PROBE))]
        # A function may refuse a number, as replace_strict does: it proves nothing,
        # unless it takes the same number beside others.
        known = [i for i, value in enumerate(alone) if value is not None]
        if len(known) < len(PROBE) and _values(expr, PROBE) is not None:
            return False
        if not known:
            return True
        together = _values(expr, PROBE.gather(known))
    single = pl.concat([value for value in alone if value is not None])
    if together is None:
        return False
    same = together.eq_missing(single) | (
        (together - single).abs() <= CLOSE * single.abs()
    )
    return bool(same.fill_null(value=False).all())


def _values(expr: pl.Expr, numbers: pl.Series) -> pl.Series | None:
    try:
        rows = pl.DataFrame({"x": numbers}).with_columns(y=expr.cast(pl.Float64))
    except Exception:  # of the user's function, whatever it raises
        return None
    return rows["y"]


def is_gain(gain: object) -> bool:
    """Return whether it is a name, a mapping or a function of gains."""
    if isinstance(gain, Mapping):
        numbers = all(map(is_number, [*gain, *gain.values()]))
        return bool(gain) and numbers and min(gain.values()) >= 0
    return gain in GAINS if isinstance(gain, str) else _is_function(gain)


def is_discount(discount: object) -> bool:
    """Return whether it is a name or a function of discounts."""
    if isinstance(discount, str):
        return discount in DISCOUNTS
    return _is_function(discount)


GainLike: TypeAlias = Annotated[
    Literal["linear", "exp2", "binary"]
    | Mapping[float, float]
    | Callable[[pl.Expr], pl.Expr],
    Allowed(
        f"one of {', '.join(GAINS)}, a mapping of grades to gains of at least 0 "
        "or an elementwise function of an expression",
        is_gain,
    ),
]
DiscountLike: TypeAlias = Annotated[
    Literal["log2", "log2_from_2", "position"] | Callable[[pl.Expr], pl.Expr],
    Allowed(
        f"one of {', '.join(DISCOUNTS)} or an elementwise function of an expression",
        is_discount,
    ),
]
Gain: TypeAlias = Annotated[
    GainLike,
    Meaning("gain"),
    Doc(
        "gain of a grade: by name, as a mapping of grades to gains, or as a function "
        "of an expression"
    ),
]
Discount: TypeAlias = Annotated[
    DiscountLike,
    Meaning("discount"),
    Doc("discount of a rank: by name, or as a function of an expression"),
]


def one(rank: pl.Expr) -> pl.Expr:
    """Weight 1 at every place that exists."""
    return pl.when(rank.is_not_null()).then(1.0)


def reciprocal(rank: pl.Expr) -> pl.Expr:
    """Weight ``1 / rank``."""
    return 1.0 / rank


def power(p: float) -> Callable[[pl.Expr], pl.Expr]:
    """Weight ``p^(rank - 1)``."""
    return lambda rank: pl.lit(p).pow(rank - 1.0)


def inverse(discount: DiscountLike) -> Callable[[pl.Expr], pl.Expr]:
    """Weight ``1 / discount(rank)``."""
    f = DISCOUNTS[discount] if isinstance(discount, str) else discount
    return lambda rank: 1.0 / f(rank)


def custom_gain(gain: GainLike) -> Callable[[pl.Expr], pl.Expr]:
    """Gain by a mapping (other grades keep their value) or by a function."""
    if isinstance(gain, Mapping):
        gains = {float(grade): float(value) for grade, value in gain.items()}
        return lambda grade: pl.coalesce(
            *(pl.when(grade == g).then(value) for g, value in gains.items()), grade
        )
    _is_function(gain)
    assert callable(gain)
    return gain
