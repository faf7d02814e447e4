"""Sums over places in closed form: places without a gain need no row."""

from __future__ import annotations

import polars as pl

__all__ = ["harmonic", "inverse_squares"]

EULER_GAMMA = 0.5772156649015329
FAR = 12  # from here on the expansions below are exact to the last bit
# B_2m, the Bernoulli numbers of Euler and Maclaurin's formula
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730)


def harmonic(n: pl.Expr) -> pl.Expr:
    """``1 + 1/2 + ... + 1/n``; 0 for n = 0."""
    far = n + float(FAR)
    series: pl.Expr = far.log() + EULER_GAMMA + 0.5 / far
    for m, b in enumerate(BERNOULLI, 1):
        series = series - b / (2 * m) / far.pow(2 * m)
    return series - sum((1.0 / (n + float(j)) for j in range(1, FAR + 1)), pl.lit(0.0))


def inverse_squares(start: pl.Expr, end: pl.Expr) -> pl.Expr:
    """``1/x^2`` summed over x = start, start + 1, ... below end; start above 0."""
    return _inverse_squares_from(start) - _inverse_squares_from(end)


def _inverse_squares_from(x: pl.Expr) -> pl.Expr:
    """``1/x^2 + 1/(x + 1)^2 + ...`` without end: the trigamma function."""
    far = x + float(FAR)
    series: pl.Expr = 1.0 / far + 0.5 / far.pow(2)
    for m, b in enumerate(BERNOULLI, 1):
        series = series + b / far.pow(2 * m + 1)
    return series + sum((1.0 / (x + float(j)).pow(2) for j in range(FAR)), pl.lit(0.0))
