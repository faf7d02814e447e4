"""Tails, quantiles and intervals: against integrals of densities and plain loops."""

from __future__ import annotations

import math
import random
import statistics
import subprocess
import sys

import polars as pl
import pytest

import polars_rank  # noqa: F401
from polars_rank._statistics.distributions import (
    normal_of_t,
    normal_quantile,
    normal_tail,
    t_of_normal,
    t_quantile,
    t_tail,
    tail,
)
from polars_rank._statistics.intervals import interval, p_value
from polars_rank.core.exact.aggregate import Moments, RatioMoments


def t_density(x: float, df: int) -> float:
    lead = math.lgamma((df + 1) / 2) - math.lgamma(df / 2)
    return (
        math.exp(lead) / math.sqrt(df * math.pi) * (1 + x * x / df) ** (-(df + 1) / 2)
    )


def simpson(f, a: float, b: float, steps: int = 2000) -> float:
    h = (b - a) / steps
    inner = sum(f(a + i * h) * (4 if i % 2 else 2) for i in range(1, steps))
    return (f(a) + f(b) + inner) * h / 3


@pytest.mark.parametrize("df", [1, 2, 11, 240])
@pytest.mark.parametrize("t", [-1.5, 0.0, 0.3, 3.0249539157])
def test_tails_of_t_are_integrals(t, df):
    above = 0.5 - math.copysign(simpson(lambda x: t_density(x, df), 0, abs(t)), t)
    assert t_tail(t, df) == pytest.approx(above, rel=1e-10)
    assert tail(t, df, "greater") == pytest.approx(above, rel=1e-10)
    assert tail(t, df, "less") == pytest.approx(1 - above, rel=1e-10)
    assert tail(t, df) == pytest.approx(2 * min(above, 1 - above), rel=1e-10)
    p = 1 - above
    assert t_quantile(p, df) == pytest.approx(t, abs=1e-9)


def test_tails_of_the_normal_distribution():
    for z in (-2.0, 0.0, 1.0, 3.5):
        below = statistics.NormalDist().cdf(z)
        assert normal_tail(z) == pytest.approx(1 - below, rel=1e-9)
        assert normal_quantile(below) == pytest.approx(z, abs=1e-9)
    far = math.exp(-200) / (20 * math.sqrt(2 * math.pi)) * (1 - 1 / 400 + 3 / 160_000)
    assert normal_tail(20.0) == pytest.approx(far, rel=1e-6)
    assert tail([1.0, -1.0]).tolist() == tail([-1.0, 1.0]).tolist()


def found(aggregate, frame: pl.DataFrame, weight=None, parts: int = 1) -> dict:
    """What the states of the parts, merged, say."""
    state = aggregate.state(pl.col("y"), weight)
    states = [
        frame.gather_every(parts, i).select(v.alias(n) for n, v in state.items())
        for i in range(parts)
    ]
    merged = pl.concat(states).select(
        aggregate.merge(name, pl.col(name)).alias(name) for name in state
    )
    columns = {name: pl.col(name) for name in state}
    sums = aggregate.sums(columns)
    of = {name: pl.col(name) for name in sums}
    return (
        merged.select(aggregate.finish(columns).alias("value"), **sums)
        .select(
            "value",
            variance=aggregate.variance(of),
            error=aggregate.standard_error(of),
            size=aggregate.effective_size(of),
        )
        .row(0, named=True)
    )


def numbers(n: int, seed: int = 3) -> pl.DataFrame:
    draw = random.Random(seed)
    return pl.DataFrame(
        {
            "y": [draw.gauss(0.1, 1) for _ in range(n)],
            "x": [draw.random() + 0.5 for _ in range(n)],
        }
    )


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("parts", [1, 7])
def test_a_mean_and_its_error(few, parts):
    frame = numbers(50)
    y = frame["y"].to_list()
    row = found(RatioMoments(few=few), frame, parts=parts)
    assert row["value"] == pytest.approx(statistics.fmean(y), rel=1e-12)
    assert row["variance"] == pytest.approx(statistics.variance(y), rel=1e-12)
    error = statistics.stdev(y) / math.sqrt(50)
    assert row["error"] == pytest.approx(error, rel=1e-12)
    assert row["size"] == 50


@pytest.mark.parametrize("few", [False, True])
@pytest.mark.parametrize("way", ["weight", "denominator"])
def test_a_ratio_and_its_error(few, way):
    """A weighted mean is the ratio of sum w y to sum w."""
    frame = numbers(40)
    y, x = frame["y"].to_list(), frame["x"].to_list()
    if way == "weight":
        row = found(RatioMoments(few=few), frame, pl.col("x"), parts=3)
        y = [a * b for a, b in zip(y, x, strict=True)]
    else:
        row = found(RatioMoments(pl.col("x"), few=few), frame, parts=3)
    ratio = math.fsum(y) / math.fsum(x)
    rest = [(a - ratio * b) ** 2 for a, b in zip(y, x, strict=True)]
    error = math.sqrt(40 / 39 * math.fsum(rest)) / math.fsum(x)
    assert row["value"] == pytest.approx(ratio, rel=1e-12)
    assert row["error"] == pytest.approx(error, rel=1e-12)
    assert row["variance"] == pytest.approx(math.fsum(rest) / 39, rel=1e-12)
    size = math.fsum(x) ** 2 / math.fsum(v * v for v in x)
    assert row["size"] == pytest.approx(size, rel=1e-12)


@pytest.mark.parametrize("denominator", [None, pl.col("x")])
def test_few_units_have_the_bits_of_many(denominator):
    frame = numbers(300)
    assert found(RatioMoments(denominator, few=True), frame) == found(
        RatioMoments(denominator), frame
    )


def test_exact_errors_have_the_same_bits_however_split():
    frame = numbers(300)
    one = found(RatioMoments(pl.col("x")), frame)
    assert all(
        found(RatioMoments(pl.col("x")), frame, parts=p) == one for p in (2, 9, 30)
    )


def test_units_that_lack_a_part_do_not_count():
    whole = numbers(9)
    holes = pl.concat([whole, pl.DataFrame({"y": [None, 9.0], "x": [1.0, None]})])
    for aggregate, weight in (
        (RatioMoments(pl.col("x")), None),
        (RatioMoments(), pl.col("x")),
        (RatioMoments(pl.col("x"), few=True), pl.lit(2.0)),
    ):
        assert found(aggregate, holes, weight) == found(aggregate, whole, weight)


def test_what_is_constant_has_no_error():
    """0.55 - 0.5 and 0.95 - 0.9 differ in their last bits."""
    frame = pl.DataFrame({"y": [0.55 - 0.5, 0.95 - 0.9, 0.05] * 7, "x": [2.0] * 21})
    for few in (False, True):
        assert found(RatioMoments(few=few), frame)["error"] == 0.0
        assert found(RatioMoments(pl.col("x"), few=few), frame)["error"] == 0.0


def test_one_unit_has_no_error_and_none_no_value():
    for n, known in ((1, True), (0, False)):
        row = found(RatioMoments(), numbers(n))
        assert (row["value"] is not None) == known
        assert row["error"] is None


def test_a_mean_agrees_with_moments():
    frame = numbers(30)
    state = Moments().state(pl.col("y"))
    sums = frame.select(v.alias(n) for n, v in state.items())
    error = Moments().standard_error({n: pl.col(n) for n in state})
    assert sums.select(error).item() == pytest.approx(
        found(RatioMoments(), frame)["error"], rel=1e-13
    )


def ends(**options) -> tuple:
    frame = pl.LazyFrame({"m": [0.5, None], "e": [0.1, None], "df": [11, 0]})
    df = pl.col("df") if options.pop("t", False) else None
    low, high = interval(pl.col("m"), pl.col("e"), df, **options)
    return frame.select(low.alias("low"), high.alias("high")).collect().rows()


def test_intervals():
    z = statistics.NormalDist().inv_cdf(0.95)
    low, high = ends(level=0.9)[0]
    assert (low, high) == pytest.approx((0.5 - 0.1 * z, 0.5 + 0.1 * z))
    assert ends(level=0.95, alternative="greater")[0] == (pytest.approx(low), math.inf)
    assert ends(level=0.95, alternative="less")[0] == (-math.inf, pytest.approx(high))
    low, high = ends(t=True)[0]
    inside = 2 * simpson(lambda x: t_density(x, 11), 0, (high - 0.5) / 0.1)
    assert inside == pytest.approx(0.95, rel=1e-9)
    assert high - 0.5 == pytest.approx(0.5 - low)
    for alternative in ("two-sided", "greater", "less"):
        assert ends(t=True, alternative=alternative)[1] == (None, None)
    with pytest.raises(ValueError, match="level must lie between 0 and 1"):
        ends(level=95)


def test_p_values_stay_lazy():
    frame = pl.LazyFrame({"t": [3.0249539157, None, math.inf], "df": [11, 11, 11]})
    p = frame.select(p=p_value(pl.col("t"), pl.col("df"))).collect()["p"].to_list()
    assert p == [pytest.approx(0.01155299999, rel=1e-9), None, 0.0]
    z = frame.select(p=p_value(pl.col("t"), alternative="greater")).collect()
    assert z["p"][0] == pytest.approx(normal_tail(3.0249539157))


@pytest.mark.slow
def test_without_scipy_the_extra_is_named():
    code = (
        "import sys; sys.modules['scipy'] = None\n"
        "from polars_rank._statistics.distributions import tail\n"
        "print(round(float(tail(1.96)), 3))\n"
        "tail(1.96, 11)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "0.05\n"
    needed = "ModuleNotFoundError: this needs scipy: pip install 'polars-rank[stats]'"
    assert needed in done.stderr


@pytest.mark.parametrize("df", [49, 70.5, 200, 5000])
def test_students_t_of_many_degrees_of_freedom_without_scipy(df):
    scipy_t = pytest.importorskip("scipy.stats").t
    for p in (0.9, 0.975, 0.995):
        z = normal_quantile(p)
        assert t_of_normal(z, df) == pytest.approx(scipy_t.ppf(p, df), rel=4e-5)
    for t in (0.0, 0.3, 1.96, 4.0):
        found = normal_of_t(t, df)
        near = 2e-3 if t > 3 else 2e-4  # what Wallace's formula is wrong by, far out
        assert normal_tail(found) == pytest.approx(scipy_t.sf(t, df), rel=near)
        assert t_of_normal(found, df) == pytest.approx(t, rel=1e-12)
        assert normal_of_t(-t, df) == found
