"""Aggregates over queries: exact, mergeable, equal to plain arithmetic."""

from __future__ import annotations

import math
import statistics
from itertools import pairwise

import numpy as np
import polars as pl
import pytest

import polars_rank as pr
from polars_rank.core.exact.aggregate import (
    GeometricMean,
    Mean,
    Moments,
    NullIfAny,
    RatioOfSums,
    Sum,
    exact_sum,
    exact_total,
)

DRAW = np.random.default_rng(5)
VALUES = {
    "shares": DRAW.random(5000),
    "thirds": np.full(999, 1 / 3),
    "reciprocals": 1 / DRAW.integers(1, 1000, 5000),
    "signs": DRAW.normal(size=5000),
    "counts": DRAW.integers(0, 10_000, 5000).astype(float),
    "mixed": DRAW.random(4000) * 10.0 ** DRAW.integers(-12, 9, 4000),
    "canceling": np.concatenate([DRAW.normal(size=500) * 1e8, [1e-9, 0.25]]),
    "large": DRAW.random(5000) * 2e9,  # sums beyond 2^41
    "large and small": np.concatenate([DRAW.random(4000) * 2e9, DRAW.random(4000)]),
    "large below 0": DRAW.random(5000) * -2e9,
    # Half of the last bit of 2^33, and what decides how it is rounded.
    "a tie and more": np.array([2.0**30] * 8 + [2.0**-20, 2.0**-80]),
    "a tie and a carry": np.array([2.0**30] * 8 + [2.0**-20, 2.0**-63, 2.0**-63]),
    "a tie": np.array([2.0**30] * 8 + [2.0**-20]),
    "one": np.array([0.1]),
    "zeros": np.zeros(3),
}


def aggregated(
    aggregate, parts: list[pl.DataFrame], weight: pl.Expr | None = None
) -> float | None:
    """State of each part, merged, finished."""
    merged = aggregated_state(aggregate, parts, weight)
    return merged.select(
        aggregate.finish({n: pl.col(n) for n in merged.columns})
    ).item()


def aggregated_state(
    aggregate, parts: list[pl.DataFrame], weight: pl.Expr | None = None
) -> pl.DataFrame:
    """State of each part, merged."""
    state = aggregate.state(pl.col("v"), weight)
    states = [
        part.select(value.alias(name) for name, value in state.items())
        for part in parts
    ]
    return pl.concat(states).select(
        aggregate.merge(name, pl.col(name)).alias(name) for name in state
    )


def split(frame: pl.DataFrame, seed: int) -> list[pl.DataFrame]:
    rows = frame.sample(fraction=1, shuffle=True, seed=seed)
    cuts = sorted(np.random.default_rng(seed).integers(0, len(rows) + 1, 5).tolist())
    ends = [0, *cuts, len(rows)]
    return [rows[a:b] for a, b in pairwise(ends)]


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("few", [False, True])
def test_sums_are_those_of_fsum_however_split(name, few):
    values = VALUES[name].tolist()
    frame = pl.DataFrame({"v": [*values, None]})
    exact = math.fsum(values)
    assert aggregated(Sum(few=few), [frame]) == exact
    assert aggregated(Mean(few=few), [frame]) == exact / len(values)
    if not few:
        for seed in range(5):
            assert aggregated(Sum(), split(frame, seed)) == exact
            assert aggregated(Mean(), split(frame, seed)) == exact / len(values)


@pytest.mark.parametrize("name", VALUES)
def test_a_value_counts_as_often_as_said(name):
    values = VALUES[name].tolist()
    times = [7 * i % 90 for i in range(len(values))]
    frame = pl.DataFrame({"v": [*values, None], "t": [*times, 5]})
    found = frame.select(**exact_sum("s", pl.col("v"), pl.col("t")))
    parts = {name: pl.col(name) for name in found.columns}
    repeated = [v for v, t in zip(values, times, strict=True) for _ in range(t)]
    assert found.select(exact_total("s", parts)).item() == math.fsum(repeated)


@pytest.mark.parametrize("scale", [1e12, 1e-9, 1e300])
def test_beyond_the_window_sums_are_plain(scale):
    values = (VALUES["shares"] * scale).tolist()
    found = aggregated(Mean(), [pl.DataFrame({"v": values})])
    assert found == pytest.approx(statistics.fmean(values), rel=1e-13)


@pytest.mark.parametrize("few", [False, True])
def test_what_is_not_finite_is_seen(few):
    """As in plain arithmetic; and nothing that fits no float is an error."""
    inf, nan = math.inf, math.nan
    for values, total in (
        ([inf, 1.0], inf),
        ([1.0, -inf], -inf),
        ([inf, -inf], nan),
        ([0.5, nan], nan),
        ([1e308] * 3, inf),
    ):
        found = aggregated(Sum(few=few), [pl.DataFrame({"v": values})])
        assert found == pytest.approx(total, nan_ok=True), values
    frame = pl.DataFrame({"v": [0.5, 1.0], "w": [nan, 1.0]})
    mean = Mean(weighted=True, few=few)
    assert aggregated(mean, [frame], weight=pl.col("w")) is None


def test_moments_have_no_weights():
    with pytest.raises(ValueError, match="leave out weight="):
        Moments().state(pl.col("v"), pl.col("w"))


def test_weights_of_undefined_values_do_not_count():
    frame = pl.DataFrame({"v": [0.5, None, 1.0], "w": [1.0, 7.0, 3.0]})
    for few in (False, True):
        mean = Mean(weighted=True, few=few)
        assert aggregated(mean, [frame], weight=pl.col("w")) == 3.5 / 4
    total = Sum(weighted=True)
    assert aggregated(total, [frame], weight=pl.col("w")) == 3.5


def test_moments_equal_those_of_statistics():
    values = VALUES["reciprocals"].tolist()
    frame = pl.DataFrame({"v": values})
    moments = Moments()
    state = moments.state(pl.col("v"))
    one = frame.select(value.alias(name) for name, value in state.items())
    columns = {name: pl.col(name) for name in state}
    variance, error = one.select(
        v=moments.variance(columns), e=moments.standard_error(columns)
    ).row(0)
    assert variance == pytest.approx(statistics.variance(values), rel=1e-12)
    assert error == pytest.approx(
        statistics.stdev(values) / len(values) ** 0.5, rel=1e-12
    )


@pytest.mark.parametrize("seed", range(3))
def test_other_aggregates_merge(seed):
    draw = np.random.default_rng(seed)
    frame = pl.DataFrame({"v": draw.random(301), "d": draw.integers(1, 9, 301)})
    values, parts = frame["v"].to_list(), split(frame, seed)
    logs = frame.with_columns(pl.col("v").log())
    assert aggregated(GeometricMean(), split(logs, seed)) == pytest.approx(
        statistics.geometric_mean(values), rel=1e-12
    )
    ratio = RatioOfSums(pl.col("d"))
    assert aggregated(ratio, parts) == pytest.approx(
        math.fsum(values) / sum(frame["d"]), rel=1e-15
    )
    assert aggregated(NullIfAny(Mean()), parts) == aggregated(Mean(), [frame])
    holes = pl.concat(
        [frame, pl.DataFrame({"v": [None], "d": [1]}, schema=frame.schema)]
    )
    assert aggregated(NullIfAny(Mean()), split(holes, seed)) is None


def test_of_nothing_all_is_undefined():
    frame = pl.DataFrame({"v": [None, None]}, schema={"v": pl.Float64})
    for aggregate in (Sum(), Mean(), Sum(few=True), Mean(few=True)):
        assert aggregated(aggregate, [frame]) is None


def test_means_have_the_same_bits_in_every_layout_and_order(tmp_path):
    draw = np.random.default_rng(1)
    log = pl.DataFrame(
        {
            "query_id": np.repeat(np.arange(900), 7),
            "score": draw.random(6300),
            "label": draw.integers(0, 4, 6300),
            "country": np.repeat(draw.integers(0, 3, 900), 7),
            "weight": np.repeat(draw.random(900), 7),
        }
    )
    measures = ["ndcg@3", "ap", "rr", "num_rel", "gm_map", "err"]
    for options in ({}, {"by": "country"}, {"weight": "weight"}):
        few = pr.evaluate(log, measures, **options)
        for frame in (log, log.sample(fraction=1, shuffle=True, seed=2)):
            engines = ("in-memory", "streaming")[:: 1 if frame is log else -1]
            for layout, engine in zip(("any", "auto"), engines, strict=True):
                plan = pr.evaluate(frame.lazy(), measures, layout=layout, **options)
                assert plan.collect(engine=engine).equals(few)
        bounded = pr.evaluate(frame, measures, memory_limit="1GB", **options)
        assert bounded.equals(few)
