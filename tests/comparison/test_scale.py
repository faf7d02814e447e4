"""Values times a power of two: p-values stay, and what has the unit is multiplied."""

from __future__ import annotations

from typing import get_args

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_rank as pr
from polars_rank.comparison.input.procedures import (
    POOLED,
    RESAMPLING,
    IntervalName,
    TestName,
)

TIE = 1e-9
IN_UNITS = [
    "baseline_mean", "mean", "difference", "se", "lower", "upper", "detectable",
]  # fmt: skip
SCALES = [2.0**-20, 2.0**20]


def table(scale: float, names: str = "abc", seed: int = 26) -> pl.DataFrame:
    """Draw sevenths: differences of the same size differ in their last bits."""
    draw = np.random.default_rng(seed)
    easy = draw.integers(0, 8, 30)
    rows = [
        (name, query, max(easy[query] + int(draw.integers(-2, 3)), 0) / 7 * scale)
        for name in names
        for query in range(30)
    ]
    return pl.DataFrame(rows, ["system", "query_id", "dcg@10"], orient="row")


@pytest.mark.filterwarnings("ignore:interval='.*' is known to be too short")
@pytest.mark.parametrize(
    ("test", "interval"),
    [
        (test, interval)
        for test in get_args(TestName)
        for interval in get_args(IntervalName)
        if test not in POOLED or interval == "t"  # they have intervals of their own
    ],
)
@pytest.mark.parametrize("scale", SCALES)
def test_pairs_of_compare(test: TestName, interval: IntervalName, scale: float):
    def pairs(scale: float) -> pl.DataFrame:
        return pr.compare(
            table(scale), test=test, interval=interval, tie=TIE * min(scale, 1.0),
            margin=0.1 * scale if test == "tost" else None, n_resamples=300, seed=1,
        ).pairs  # fmt: skip

    in_units = [*IN_UNITS, *(["statistic"] if test in RESAMPLING else [])]
    expected = pairs(1.0).with_columns(pl.col(in_units) * scale)
    assert_frame_equal(expected, pairs(scale), check_exact=True)


@pytest.mark.parametrize("scale", SCALES)
def test_systems_and_reproductions(scale: float):
    def found(scale: float) -> list[pl.DataFrame]:
        values, again = table(scale), table(scale, seed=3)
        return [
            pr.compare(values).friedman(),
            pr.comparison.stability(values, n_resamples=300),
            pr.comparison.standardize(values),
            pr.comparison.reproduction(values, original=again, baseline="a").select(
                "system", "p_value", "effect_ratio", "delta_ri"
            ),
        ]

    for plain, other in zip(found(1.0), found(scale), strict=True):
        assert_frame_equal(plain, other, check_exact=True)


@pytest.mark.parametrize("scale", SCALES)
def test_repeats_that_differ_by_rounding_alone(scale: float):
    rows = [
        (name, query, repeat, (0.1 * query + 0.3 * repeat + gain) * scale)
        for name, gain in (("a", 0.0), ("b", 0.2))
        for query in range(6)
        for repeat in range(3)
    ]
    frame = pl.DataFrame(rows, ["system", "query_id", "seed", "dcg@10"], orient="row")
    found = pr.compare(frame, repeat="seed", repeats="random").pairs
    assert found["se"].item() == 0.0


@pytest.mark.parametrize("test", ["t", "tukey", "lsd", "tost"])
@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_constant_differences_are_told_from_rounding(test: TestName, scale: float):
    """0.1 + 0.2 is above 0.3 by the last bit, and 0.4 is more by a third."""

    def p_value(a: list[float], b: list[float]) -> float:
        frame = pl.DataFrame(
            {"system": ["a"] * 4 + ["b"] * 4, "query_id": [*range(4)] * 2, "rr": a + b}
        ).with_columns(pl.col("rr") * scale)
        margin = 0.1 * scale if test == "tost" else None
        return float(pr.compare(frame, test=test, margin=margin).pairs["p_value"][0])

    a = [0.3, 0.5, 0.1, 0.3]
    alike, apart = [0.1 + 0.2, *a[1:]], [x + 0.1 for x in a]
    equivalent = test == "tost"  # whose largest difference that does not matter is 0.1
    assert p_value(a, alike) == (0.0 if equivalent else 1.0)
    assert p_value(a, apart) == (0.5 if equivalent else 0.0)
