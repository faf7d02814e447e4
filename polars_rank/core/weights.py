"""Gains of grades and weights of places."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Literal, TypeAlias

import polars as pl

from polars_rank.core.parameters import Allowed, Doc, Meaning, is_number

__all__ = [
    "DISCOUNTS",
    "GAINS",
    "LARGEST_EXP2_GRADE",
    "Discount",
    "DiscountLike",
    "Gain",
    "GainLike",
    "custom_gain",
    "inverse",
    "one",
    "power",
    "reciprocal",
]

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


def is_gain(gain: object) -> bool:
    """Whether it is a name, a mapping or a function of gains."""
    if isinstance(gain, Mapping):
        numbers = all(map(is_number, [*gain, *gain.values()]))
        return bool(gain) and numbers and min(gain.values()) >= 0
    return callable(gain) or (isinstance(gain, str) and gain in GAINS)


def is_discount(discount: object) -> bool:
    """Whether it is a name or a function of discounts."""
    return callable(discount) or (isinstance(discount, str) and discount in DISCOUNTS)


GainLike: TypeAlias = Annotated[
    Literal["linear", "exp2", "binary"]
    | Mapping[float, float]
    | Callable[[pl.Expr], pl.Expr],
    Allowed(
        f"one of {', '.join(GAINS)}, a mapping of grades to gains of at least 0 "
        "or a function of an expression",
        is_gain,
    ),
]
DiscountLike: TypeAlias = Annotated[
    Literal["log2", "log2_from_2", "position"] | Callable[[pl.Expr], pl.Expr],
    Allowed(
        f"one of {', '.join(DISCOUNTS)} or a function of an expression", is_discount
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
    assert callable(gain)
    return gain
