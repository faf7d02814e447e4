"""Quantiles, ends and the worst tenth of values: exact, mergeable, or near enough."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import polars as pl
import pytest

from polars_rank.core.exact import distribution
from polars_rank.core.exact.aggregate import Mean
from polars_rank.core.exact.distribution import Distribution, percent_of
from tests.core.test_aggregate import aggregated_state, split

STATS = ["median", "p0", "p10", "p37.5", "p99.5", "p100", "min", "max", "worst_tenth"]
DRAW = np.random.default_rng(11)
VALUES = {
    "shares": DRAW.random(997),
    "few": DRAW.integers(0, 11, 500) / 10,
    "signs": DRAW.normal(size=301),
    "one": np.array([0.25]),
    "two": np.array([0.5, -1.0]),
    "eleven": np.arange(11.0),
    "zeros": np.zeros(7),
}


def worst(values: list[float], weights: list[float], *, high: bool) -> float:
    """Take from the worst until a tenth of the weights is used up."""
    left = total = sum(map(Fraction, weights)) / 10
    found = Fraction(0)
    for value, weight in sorted(zip(values, weights, strict=True), reverse=high):
        used = min(left, Fraction(weight))
        found, left = found + used * Fraction(value), left - used
    return float(found / total)


def wanted(
    stat: str, values: list[float], weights: list[float] | None, *, high: bool
) -> float:
    if stat in ("min", "max"):
        return min(values) if stat == "min" else max(values)
    if stat == "worst_tenth":
        return worst(values, weights or [1.0] * len(values), high=high)
    q = 0.5 if stat == "median" else float(stat[1:]) / 100
    if weights is None:
        return float(np.quantile(values, q))
    return float(np.quantile(values, q, weights=weights, method="inverted_cdf"))


def found(
    parts: list[pl.DataFrame], stats: list[str] = STATS, **options: bool
) -> dict[str, float | None]:
    weight = pl.col("w") if options.get("weighted") else None
    aggregate = Distribution(Mean(options.get("weighted", False)), **options)
    merged = aggregated_state(aggregate, parts, weight)
    state = {name: pl.col(name) for name in merged.columns}
    row = merged.select(aggregate.statistic(s, state).alias(s) for s in stats)
    return row.row(0, named=True)


@pytest.mark.covering(2)
@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("high", [False, True])
def test_statistics_are_those_of_numpy_however_split(name, weighted, high):
    values = VALUES[name].tolist()
    weights = DRAW.integers(1, 9, len(values)).astype(float).tolist()
    frame = pl.DataFrame({"v": [*values, None], "w": [*weights, 5.0]})
    options = {"weighted": weighted, "worst_is_high": high}
    at_once = found([frame], **options, whole=True)
    for stat in STATS:
        told = wanted(stat, values, weights if weighted else None, high=high)
        assert at_once[stat] == pytest.approx(told, rel=1e-13, abs=1e-15), stat
    for seed in range(3):
        assert found(split(frame, seed), **options) == at_once


def test_decimal_weights_reach_a_share_that_rounding_would_miss():
    """Ten times .1 is less than 1 in floating point; half of it is reached at 5."""
    values, weights = [float(i) for i in range(10)], [0.1] * 10
    frame = pl.DataFrame({"v": values, "w": weights})
    row = found([frame], weighted=True)
    for stat, least in (("p10", 0.0), ("p37.5", 3.0), ("median", 4.0), ("p100", 9.0)):
        assert row[stat] == least
    assert row["worst_tenth"] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_frames_and_plans_have_the_last_bit_of_numpy(seed):
    """In memory and streamed, by segment; numpy adds from the nearer end."""
    draw = np.random.default_rng(seed)
    n = int(draw.integers(5, 120))
    queries = pl.DataFrame({"q": range(n)}).with_columns(by=pl.col("q") % 5)
    rows = queries.select(pl.all().repeat_by(3).explode()).with_columns(
        score=pl.Series(draw.random(3 * n)),
        label=pl.Series(draw.integers(0, 4, 3 * n)).cast(pl.Float64),
    )
    percents = [10, 33, 37.5, 50, 66.6, 90, 99.5]
    stats = [f"p{percent:g}" for percent in percents]
    asked = {"query": "q", "doc": None, "no_relevant": "zero"}
    values = rows.rank_eval.per_query("ndcg", keep="by", **asked)
    told = {
        by: [float(np.quantile(own["ndcg"], p / 100)) for p in percents]
        for (by,), own in values.group_by("by")
    }
    for frame in (rows, rows.lazy()):
        plan = frame.rank_eval.evaluate("ndcg", by="by", stats=stats, **asked)
        means = plan.lazy().collect().drop("queries")
        assert {row[0]: [*row[1:]] for row in means.iter_rows()} == told


def test_weights_of_zero_count_for_nothing():
    frame = pl.DataFrame({"v": [0.0, 0.5, 1.0], "w": [0.0, 1.0, 0.0]})
    stats = ["p0", "median", "p100", "worst_tenth", "min", "max"]
    row = found([frame], stats, weighted=True)
    assert set(row.values()) == {0.5}
    nothing = frame.with_columns(w=0.0)
    assert set(found([nothing], stats, weighted=True).values()) == {None}


@pytest.mark.parametrize("weighted", [False, True])
def test_of_nothing_all_is_undefined(weighted):
    frame = pl.DataFrame(
        {"v": [None, None], "w": [1.0, 2.0]}, schema={"v": pl.Float64, "w": pl.Float64}
    )
    for parts in ([frame], [frame, frame.clear()], [frame.clear()]):
        assert set(found(parts, weighted=weighted).values()) == {None}


@pytest.mark.parametrize("scale", [1.0, -300.0, 2.0**40])
def test_many_values_are_rounded_alike_in_every_split(monkeypatch, scale):
    monkeypatch.setattr(distribution, "KEPT", 400)
    values = (VALUES["shares"] * scale).tolist()
    frame = pl.DataFrame({"v": values})
    exact = found([frame], whole=True)
    rounded = found([frame])
    assert rounded != exact
    assert rounded["min"] == exact["min"]
    assert rounded["max"] == exact["max"]
    for stat in STATS:
        assert rounded[stat] == pytest.approx(exact[stat], rel=2.0**-16, abs=0), stat
    for seed in range(4):
        assert found(split(frame, seed)) == rounded
    uneven = [frame[:900], frame[900:990], frame[990:]]  # the first alone is rounded
    assert found(uneven) == rounded == found(uneven[::-1])


def test_rounding_keeps_what_has_few_digits_and_is_done_once():
    values = [0.0, -0.75, 1 / 3, math.pi, 1e-300, 2.0**52 + 1, math.inf, 65535.0]
    frame = pl.DataFrame({"v": values})
    once = frame.select(distribution._rounded(pl.col("v")))
    assert once.select(distribution._rounded(pl.col("v"))).equals(once)
    for value, near in zip(values[:-2], once["v"], strict=False):
        assert near == pytest.approx(value, rel=2.0**-16, abs=0)
    assert [once["v"][i] for i in (0, 1, 7)] == [0.0, -0.75, 65535.0]


def test_names_of_quantiles():
    named = {"p0": 0, "p5": 5, "p99.99": 99.99, "p100": 100, "median": 50}
    assert {name: percent_of(name) for name in named} == named
    for bad in ("p", "p-1", "p100.5", "10", "P10", "p1e1", "quantile", "p.5", "p10%"):
        assert percent_of(bad) is None
