"""What a grade is worth and what a place weighs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal, TypeAlias

import polars as pl

__all__ = [
    "DISCOUNTS",
    "GAINS",
    "LARGEST_EXP2_GRADE",
    "Discount",
    "Gain",
    "custom_gain",
    "inverse",
    "one",
    "power",
    "reciprocal",
]

Gain: TypeAlias = (
    Literal["linear", "exp2", "binary"]
    | Mapping[float, float]
    | Callable[[pl.Expr], pl.Expr]
)
Discount: TypeAlias = (
    Literal["log2", "log2_from_2", "position"] | Callable[[pl.Expr], pl.Expr]
)

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


def one(rank: pl.Expr) -> pl.Expr:
    """Weight 1 at every place that exists."""
    return pl.when(rank.is_not_null()).then(1.0)


def reciprocal(rank: pl.Expr) -> pl.Expr:
    """Weight ``1 / rank``."""
    return 1.0 / rank


def power(p: float) -> Callable[[pl.Expr], pl.Expr]:
    """Weight ``p^(rank - 1)``."""
    return lambda rank: pl.lit(p).pow(rank - 1.0)


def inverse(discount: Discount) -> Callable[[pl.Expr], pl.Expr]:
    """Weight ``1 / discount(rank)``."""
    f = DISCOUNTS[discount] if isinstance(discount, str) else discount
    return lambda rank: 1.0 / f(rank)


def custom_gain(gain: Gain) -> Callable[[pl.Expr], pl.Expr]:
    """Gain of a mapping (grades that it lacks keep their value) or of a function."""
    if isinstance(gain, Mapping):
        listed = {float(grade): float(worth) for grade, worth in gain.items()}
        return lambda grade: pl.coalesce(
            *(pl.when(grade == g).then(worth) for g, worth in listed.items()), grade
        )
    assert callable(gain)
    return gain
