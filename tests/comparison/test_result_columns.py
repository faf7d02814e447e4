"""Columns that results of comparisons share: standard errors, and counts of queries."""

import math
import random
import statistics

import polars as pl
import pytest
from polars.exceptions import InvalidOperationError

import polars_rank as pr

N = 30
COUNTS = ("queries", "wins", "ties", "losses")


def values(systems="abc"):
    draw = random.Random(5)
    return pl.DataFrame(
        [
            {"system": s, "query_id": q, "day": q % 2, "rr": draw.random()}
            for s in systems
            for q in range(N)
        ]
    )


def error(numbers):
    return statistics.stdev(numbers) / math.sqrt(len(numbers))


def of(frame, system):
    return frame.filter(system=system)["rr"].to_list()


def test_standard_errors_are_those_of_a_mean():
    frame = values()
    found = pr.compare(frame)
    for row in found.means.iter_rows(named=True):
        assert row["se"] == pytest.approx(error(of(frame, row["system"])), rel=1e-12)
    for row in found.pairs.iter_rows(named=True):
        a, b = (of(frame, row[name]) for name in ("baseline", "system"))
        d = [y - x for x, y in zip(a, b, strict=True)]
        assert row["se"] == pytest.approx(error(d), rel=1e-12)
        assert row["statistic"] == pytest.approx(row["difference"] / row["se"])


@pytest.mark.parametrize("test", ["lsd", "tukey"])
def test_pooled_tests_have_one_error_for_all_pairs(test):
    frame = values()
    found = pr.compare(frame, test=test).pairs
    wide = [of(frame, s) for s in "abc"]
    by_query = [statistics.fmean(row) for row in zip(*wide, strict=True)]
    rest = [
        x - q - statistics.fmean(system) + statistics.fmean(by_query)
        for system in wide
        for x, q in zip(system, by_query, strict=True)
    ]
    variance = sum(v * v for v in rest) / (2 * (N - 1))
    assert found["se"].to_list() == pytest.approx([math.sqrt(2 * variance / N)] * 3)


def test_the_error_of_a_geometric_mean():
    frame = values("ab").rename({"rr": "gm_map"})
    frame = frame.with_columns(pl.col("gm_map").log())
    found = pr.compare(frame).means.row(0, named=True)
    logs = frame.filter(system="a")["gm_map"].to_list()
    assert found["se"] == pytest.approx(found["mean"] * error(logs), rel=1e-12)


def test_independent_samples_have_the_error_of_both():
    frame = values("ab")
    row = pr.compare(frame, pairs="independent").pairs.row(0, named=True)
    both = math.hypot(*(error(of(frame, s)) for s in "ab"))
    assert row["se"] == pytest.approx(both, rel=1e-12)
    assert (row["wins"], row["ties"], row["losses"]) == (None, None, None)


def test_errors_of_gate_and_trend_are_those_of_compare():
    frame = values("ab")
    pair = pr.compare(frame).pairs.row(0, named=True)
    old, new = (frame.filter(system=s).drop("system", "day") for s in "ab")
    check = pr.gate(new, baseline=old).checks.row(0, named=True)
    for name in ("se", "lower", "upper", "baseline_mean", "mean", *COUNTS):
        assert check[name] == pair[name], name
    periods = pr.comparison.trend(frame, time="day", baseline="a")
    for day in (0, 1):
        part = frame.filter(day=day)
        found = pr.compare(part)
        rows = periods.filter(day=day).select("estimate", "se").rows()
        wanted = found.means.select("mean", "se").rows()
        wanted += found.pairs.select("difference", "se").rows()
        assert rows == [pytest.approx(row, rel=1e-12) for row in wanted]


def test_one_query_has_no_error():
    frame = values("ab").filter(query_id=0)
    found = pr.compare(frame)
    assert found.means["se"].to_list() == [None, None]
    assert found.pairs["se"].item() is None


def test_counts_are_uint32_everywhere():
    frame = values()
    found = pr.compare(frame, by="day", effect="dominance")
    moments = pr.comparison.moments(frame)
    old = frame.filter(system="a").drop("system")
    results = [
        found.means,
        found.pairs,
        found.anova,
        found.friedman(),
        pr.compare(frame, pairs="independent").pairs,
        pr.gate(old, baseline=old).checks,
        moments,
        pr.comparison.merge([moments, pr.comparison.moments(frame, part="again")]),
        pr.comparison.merge(
            [moments, pr.comparison.moments(frame, part="again")], unit="part"
        ),
        pr.comparison.trend(frame, time="day"),
        pr.comparison.reproduction(frame, original=frame),
    ]
    for result in results:
        kinds = {result.schema[n] for n in (*COUNTS, "n") if n in result.schema}
        assert kinds == {pl.UInt32}, result.schema
    lost = found.pairs.filter(pl.col("wins") < pl.col("losses"))
    assert (lost["effect"] < 0).all()  # no difference of counts that wraps
    assert len(lost)


def test_counts_that_are_too_large_are_refused():
    half = pr.comparison.moments(values("ab"))
    many = half.with_columns(
        queries=pl.lit(2**31, pl.UInt32),
        n=pl.lit(2**31, pl.UInt32),
        **{
            name: pl.when(pl.col("other").is_not_null()).then(pl.lit(count, pl.UInt32))
            for name, count in (("wins", 2**31), ("ties", 0), ("losses", 0))
        },
    )
    other = many.with_columns(
        digests=pr.comparison.moments(values("ab"), part="b")["digests"]
    )
    with pytest.raises(InvalidOperationError):
        pr.comparison.merge([many, other])
