"""Numbers as multiples of a unit: whole, so that sums and products of sums are exact.

The last bit of a sum of floats depends on the order of its terms. Units are powers of
two, and so small that the largest sum takes 61 bits: the rounding is far below that of
a float, relative to all terms together.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import polars as pl

BITS = 61


def units_of(largest: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Units of sums whose terms have absolute values that add up to ``largest``."""
    _, exponent = np.frexp(np.asarray(largest, dtype=np.float64))
    return np.asarray(np.ldexp(1.0, exponent - BITS), dtype=np.float64)


def in_units(value: pl.Expr, unit: float | pl.Expr) -> pl.Expr:
    """The number of units; NaN is null. Products of sums take 128 bits."""
    return (value / unit).round().cast(pl.Int64, strict=False)
