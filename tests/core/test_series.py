"""Sums over places in closed form equal the sums."""

from __future__ import annotations

from math import fsum

import polars as pl
import pytest

from polars_rank.metrics._series import harmonic, inverse_squares


def value(sum_of_series: pl.Expr) -> float:
    return pl.select(sum_of_series).item()


@pytest.mark.parametrize("n", [0, 1, 2, 10, 11, 999])
def test_harmonic(n):
    wanted = fsum(1 / i for i in range(1, n + 1))
    assert value(harmonic(pl.lit(float(n)))) == pytest.approx(
        wanted, rel=1e-15, abs=4e-15
    )


@pytest.mark.parametrize("start", [0.02, 0.5, 1.0, 2.25, 30.0])
@pytest.mark.parametrize("n", [0, 1, 2, 10, 999])
def test_inverse_squares(start, n):
    wanted = fsum(1 / (start + i) ** 2 for i in range(n))
    found = value(inverse_squares(pl.lit(start), pl.lit(start + n)))
    assert found == pytest.approx(wanted, rel=1e-15, abs=1e-15)
