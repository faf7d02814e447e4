"""Trends are comparisons period by period; reproductions are plain loops."""

from __future__ import annotations

import datetime
import math
import random
import statistics
import sys

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from slow import slow

import polars_rank as pr

DAYS = 6
START = datetime.date(2026, 3, 30)


def log(days: int = DAYS) -> pl.DataFrame:
    """Two systems and two measures; the same queries come back."""
    draw = random.Random(2)
    rows = [
        (s, q, START + datetime.timedelta(days=d), q + 1, draw.random(), draw.random())
        for s in "ab"
        for d in range(days)
        for q in range(4 + d)
    ]
    names = ["system", "query_id", "day", "visits", "ap", "rr"]
    return pl.DataFrame(rows, schema=names, orient="row")


def part(frame: pl.DataFrame) -> pl.DataFrame:
    """One row per system, query and day, as queries of their own."""
    return frame.with_columns(query_id=pl.format("{} {}", "query_id", "day"))


@pytest.mark.parametrize(
    ("window", "weight"), [slow(1, None), (3, None), slow(None, None), (2, "visits")]
)
def test_each_period_is_a_comparison(window, weight):
    frame = log()
    found = pr.comparison.trend(
        frame, time="day", window=window, measures=["ap", "rr"], weight=weight
    )
    assert found.columns == [
        "day", "measure", "baseline", "system", "queries", "estimate", "se", "lower",
        "upper",
    ]  # fmt: skip
    assert len(found) == DAYS * 2 * 3
    for i in range(DAYS):
        day = START + datetime.timedelta(days=i)
        first = START if window is None else day - datetime.timedelta(days=window - 1)
        here = part(frame.filter(pl.col("day").is_between(first, day)))
        expected = pr.compare(here, measures=["ap", "rr"], weight=weight)
        means = expected.means.rename({"mean": "estimate"})
        pairs = expected.pairs.rename({"difference": "estimate"})
        for name in ("ap", "rr"):
            rows = found.filter(day=day, measure=name).rows(named=True)
            told = [
                *means.filter(measure=name).rows(named=True),
                *pairs.filter(measure=name).rows(named=True),
            ]
            for row, other in zip(rows, told, strict=True):
                assert row["baseline"] == other.get("baseline")
                assert row["system"] == other["system"]
                assert row["queries"] == other["queries"]
                for column in ("estimate", "se", "lower", "upper"):
                    assert row[column] == pytest.approx(other[column], rel=1e-9)


@pytest.mark.parametrize("periods", [1, 2, 13])
def test_windows_of_every_length(periods):
    frame = log(periods).filter(pl.col("system") == "a")
    values = {
        day: rows["ap"].to_list()
        for (day,), rows in frame.group_by("day", maintain_order=True)
    }
    days = sorted(values)
    for window in [*range(1, periods + 2), None]:
        found = pr.comparison.trend(frame, "ap", time="day", window=window)
        assert found["day"].to_list() == days
        for i, row in enumerate(found.rows(named=True)):
            first = 0 if window is None else max(0, i + 1 - window)
            told = [value for day in days[first : i + 1] for value in values[day]]
            assert row["queries"] == len(told)
            assert row["estimate"] == pytest.approx(statistics.mean(told), rel=1e-12)
            se = statistics.stdev(told) / len(told) ** 0.5
            assert row["se"] == pytest.approx(se, rel=1e-12)


def test_systems_are_in_the_order_in_which_they_come_up():
    rows = [("d", 0), ("d", 1), ("c", 1), ("d", 2), ("b", 2), ("a", 3)]
    frame = pl.DataFrame(rows, ["system", "day"], orient="row")
    frame = frame.with_columns(query_id=1, rr=0.5)
    parts = [pr.comparison.moments(frame.filter(day=d), by="day") for d in range(4)]
    moments = pr.comparison.merge(parts)
    for window, last in ((1, "a"), (2, "dba"), (None, "dcba")):
        found = pr.comparison.trend(moments, time="day", window=window)
        means = found.filter(pl.col("baseline").is_null(), day=3)
        assert means["system"].to_list() == [*last]


def test_windows_share_their_sums(monkeypatch):
    """All pairs of 2,000 periods would be 2 million rows."""
    rows = []
    module = sys.modules["polars_rank.comparison.systems.trend"]
    summed = module.summed

    def counted(whole, *others):
        rows.append(len(whole))
        return summed(whole, *others)

    monkeypatch.setattr(module, "summed", counted)
    frame = pl.DataFrame({"system": "a", "query_id": range(2000), "rr": 0.5})
    frame = frame.with_columns(hour="query_id")
    found = pr.comparison.trend(frame, "rr", time="hour", window=None)
    assert found["queries"].to_list() == list(range(1, 2001))
    assert sum(rows) < 2000 * 12


def test_periods_of_dates_and_moments_of_days():
    frame = log()  # Monday to Saturday, so one week; Sunday to Saturday are two
    weekly = pr.comparison.trend(
        frame, time="day", every="1w", measures="ap", baseline="a"
    )
    assert weekly["day"].unique().to_list() == [START]
    daily = [
        pr.comparison.moments(part.drop("day"), measures=["ap"]).with_columns(day=day)
        for (day,), part in frame.partition_by("day", as_dict=True).items()
    ]
    again = pr.comparison.trend(
        pr.comparison.merge(daily), time="day", every="1w", baseline="a"
    )
    assert_frame_equal(again, weekly, rel_tol=1e-12)
    assert (
        pr.comparison.trend(pr.comparison.merge(daily), time="day")["day"].n_unique()
        == DAYS
    )


def test_segments_of_moments_are_added_up():
    frame = part(log()).with_columns(even=pl.col("visits") % 2)
    made = pr.comparison.moments(frame, measures=["ap", "rr"], by=["day", "even"])
    for window in (1, 3):
        options = {"time": "day", "window": window, "measures": ["rr"]}
        expected = pr.comparison.trend(frame, **options)
        assert_frame_equal(pr.comparison.trend(made, **options), expected)


@pytest.mark.parametrize("window", [1, 3, None])
def test_one_system_has_means_only(window):
    frame = log()
    options = {"time": "day", "window": window, "measures": ["ap", "rr"]}
    options |= {"sequential": True} if window is None else {}
    both = pr.comparison.trend(frame, **options).filter(
        pl.col("baseline").is_null(), system="b"
    )
    alone = frame.filter(system="b")
    assert_frame_equal(pr.comparison.trend(alone, **options), both)
    days = pr.comparison.moments(part(alone), measures=["ap", "rr"], by="day")
    assert_frame_equal(pr.comparison.trend(days, **options), both)
    for wrong in (
        lambda: pr.compare(days),
        lambda: pr.comparison.trend(alone, time="day", measures=["ap"], baseline="b"),
    ):
        with pytest.raises(ValueError, match="nothing to compare: these are moments"):
            wrong()


def test_confidence_sequences():
    frame = log()
    plain = pr.comparison.trend(frame, time="day", window=None, measures="ap")
    found = pr.comparison.trend(
        frame, time="day", window=None, measures="ap", sequential=True, tuned_for=100
    )
    assert found["estimate"].to_list() == pytest.approx(plain["estimate"].to_list())
    rho = math.sqrt((-2 * math.log(0.05) + math.log(-2 * math.log(0.05) + 1)) / 100)
    for row in found.iter_rows(named=True):
        if row["baseline"] is not None:
            continue
        here = frame.filter(pl.col("day") <= row["day"], system=row["system"])
        t, s = len(here), statistics.stdev(here["ap"])
        grown = t * rho**2 + 1
        half = s * math.sqrt(
            2 * grown / (t**2 * rho**2) * math.log(math.sqrt(grown) / 0.05)
        )
        assert row["upper"] - row["estimate"] == pytest.approx(half, rel=1e-9)
        assert row["estimate"] - row["lower"] == pytest.approx(half, rel=1e-9)


def test_confidence_sequences_of_shares_and_geometric_means():
    """Shares have no interval of Wilson's; logarithms have their sequence, then exp."""
    made = log().select(
        "system", "query_id", "day", success=(pl.col("ap") > 0.5).cast(pl.Float64),
        gm_ap=pl.col("ap").log(),
    )  # fmt: skip
    options = {"time": "day", "window": None, "sequential": True, "tuned_for": 100}
    for name in ("success", "gm_ap"):
        found = pr.comparison.trend(made, name, **options)
        for row in found.iter_rows(named=True):
            here = made.filter(pl.col("day") <= row["day"])
            a, b = (here.filter(system=s)[name] for s in "ab")
            pair = row["baseline"] is not None
            x = (b - a if pair else {"a": a, "b": b}[row["system"]]).to_list()
            middle, half = statistics.fmean(x), sequence(x, 0.05, tuned_for=100)
            ends = [middle, middle - half, middle + half]
            if name == "gm_ap" and not pair:
                ends = [math.exp(end) for end in ends]
            wanted = pytest.approx(ends, rel=1e-9)
            assert [row["estimate"], row["lower"], row["upper"]] == wanted


def sequence(x: list[float], alpha: float, tuned_for: int) -> float:
    """Half the width by theorem 2.2 of Waudby-Smith et al."""
    t = len(x)
    rho2 = (-2 * math.log(alpha) + math.log(1 - 2 * math.log(alpha))) / tuned_for
    grown = t * rho2 + 1
    reach = 2 * grown / (t**2 * rho2) * math.log(math.sqrt(grown) / alpha)
    return statistics.stdev(x) * math.sqrt(reach)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"time": "hour"}, ValueError, "no column 'hour'"),
        ({"time": "visits", "every": "1d"}, TypeError, "for dates and times"),
        ({"time": "day", "window": 0}, ValueError, "at least 1 period"),
        ({"time": "day", "sequential": True}, ValueError, "window=None"),
        ({"time": "day", "level": 95}, ValueError, "between 0 and 1"),
    ],
)
def test_wrong_trends(options, error, message):
    with pytest.raises(error, match=message):
        pr.comparison.trend(log(), **options)
    daily = pr.comparison.moments(log(), by="day", query=["query_id", "day"])
    with pytest.raises(ValueError, match="weight= is chosen when moments are made"):
        pr.comparison.trend(daily, time="day", weight="visits")


def test_periods_without_a_time_are_refused():
    """In moments as in values: they would be in no row of the trend."""
    frame = part(log()).with_columns(
        day=pl.when(pl.col("day") > START).then(pl.col("day"))
    )
    daily = pr.comparison.moments(frame, "ap", by="day")
    # Eight values are those of four queries; moments have a row for each system, and
    # one for the pair.
    for given, rows in ((frame, "8 rows"), (daily, "3 rows")):
        for every in (None, "1w"):
            with pytest.raises(pr.DataError, match=f"'day' is null in {rows}") as told:
                pr.comparison.trend(given, "ap", time="day", every=every)
            assert told.value.rule == "null_key"


# -- reproductions


def experiments(seed: int = 1) -> tuple[pl.DataFrame, pl.DataFrame]:
    draw = random.Random(seed)
    rows = [(s, q, draw.random(), draw.random()) for s in "abc" for q in range(25)]
    names = ["system", "query_id", "ap", "rr"]
    first = pl.DataFrame(rows, schema=names, orient="row")
    noise = pl.Series([draw.gauss(0, 0.1) for _ in rows])
    second = first.with_columns((pl.col("ap", "rr") + noise).clip(0, 1))
    return first, second.sample(fraction=1.0, shuffle=True, seed=3)


def test_reproduction_is_a_loop():
    first, second = experiments()
    found = pr.comparison.reproduction(second, original=first, baseline="b")
    assert len(found) == 6
    for row in found.iter_rows(named=True):
        name = row["measure"]
        old, new = (
            {s: dict(f.filter(system=s).select("query_id", name).rows()) for s in "abc"}
            for f in (first, second)
        )
        x, y = old[row["system"]], new[row["system"]]
        d = [y[q] - x[q] for q in x]
        error = math.sqrt(sum(v * v for v in d) / len(d))
        most = math.sqrt(sum(max(v, 1 - v) ** 2 for v in x.values()) / len(x))
        assert row["rmse"] == pytest.approx(error, rel=1e-12)
        assert row["nrmse"] == pytest.approx(error / most, rel=1e-12)
        both = pl.concat(
            [
                f.filter(system=row["system"]).with_columns(system=pl.lit(s))
                for s, f in (("1", first), ("2", second))
            ]
        )
        p = pr.compare(both, measures=name).pairs["p_value"].item()
        assert row["p_value"] == pytest.approx(p, rel=1e-9)
        a, b, a2, b2 = (
            statistics.fmean(v.values()) for v in (x, old["b"], y, new["b"])
        )
        assert (row["baseline_mean"], row["mean"]) == pytest.approx((a, a2))
        if row["system"] == "b":
            assert row["effect_ratio"] is row["delta_ri"] is None
            continue
        assert row["effect_ratio"] == pytest.approx((a2 - b2) / (a - b), rel=1e-9)
        assert row["delta_ri"] == pytest.approx((a - b) / b - (a2 - b2) / b2, rel=1e-9)


@pytest.mark.parametrize("scale", [1e-13, 1.0, 1e13])
def test_what_is_no_improvement_depends_on_the_size_of_the_values(scale):
    """0.1 + 0.2 is above 0.3 by the last bit, and 0.5 more by much, in any unit."""
    rows = [("a", 1, 0.3), ("a", 2, 0.3), ("b", 1, 0.1 + 0.2), ("b", 2, 0.3)]
    rows += [("c", 1, 0.5), ("c", 2, 0.5)]
    names = ["system", "query_id", "dcg"]
    frame = pl.DataFrame(rows, names, orient="row").with_columns(pl.col("dcg") * scale)
    found = pr.comparison.reproduction(frame, original=frame, baseline="a")
    assert found["effect_ratio"].to_list() == [None, None, 1.0]


def test_reproductions_of_geometric_means():
    first, second = (
        f.select("system", "query_id", gm_ap=(pl.col("ap") + 0.1).log())
        for f in experiments()
    )
    found = pr.comparison.reproduction(second, original=first, baseline="a")
    old, new = (
        {s: dict(f.filter(system=s).drop("system").rows()) for s in "abc"}
        for f in (first, second)
    )
    for row in found.iter_rows(named=True):
        x, y = old[row["system"]], new[row["system"]]
        means, bases = (
            [
                statistics.geometric_mean(math.exp(v) for v in values.values())
                for values in pair
            ]
            for pair in ((x, y), (old["a"], new["a"]))
        )
        assert [row["baseline_mean"], row["mean"]] == pytest.approx(means)
        error = math.sqrt(statistics.fmean((y[q] - x[q]) ** 2 for q in x))
        assert row["rmse"] == pytest.approx(error)
        assert row["nrmse"] is None  # logarithms do not lie between 0 and 1
        if row["system"] == "a":
            continue
        ratios = [mean / base for mean, base in zip(means, bases, strict=True)]
        assert row["delta_ri"] == pytest.approx(ratios[0] - ratios[1])
        effect = math.log(ratios[1]) / math.log(ratios[0])
        assert row["effect_ratio"] == pytest.approx(effect)


def test_replications_have_other_queries():
    first, second = experiments()
    other = second.with_columns(pl.col("query_id") + 100).filter(
        pl.col("query_id") < 118
    )
    found = pr.comparison.reproduction(other, original=first, measures="ap").row(
        0, named=True
    )
    x, y = (f.filter(system="a")["ap"].to_list() for f in (first, other))
    assert found["rmse"] is found["nrmse"] is None
    pooled = sum(statistics.variance(v) * (len(v) - 1) for v in (x, y)) / 41
    t = (statistics.fmean(y) - statistics.fmean(x)) / math.sqrt(
        pooled * (1 / 25 + 1 / 18)
    )
    assert found["p_value"] == pytest.approx(pr_t(t, 41), rel=1e-6)


def test_measures_of_a_reproduction_may_be_one_text():
    first, second = experiments()
    found, expected = (
        pr.comparison.reproduction(second, given, original=first)
        for given in ("rr, ap", ["rr", "ap"])
    )
    assert_frame_equal(found, expected)


def test_ids_of_a_reproduction_have_one_type():
    """Integers of any size are alike; a number is no text."""
    first, second = experiments()
    expected = pr.comparison.reproduction(second, original=first)
    for integer in (pl.Int32, pl.UInt64):
        other = second.with_columns(pl.col("query_id").cast(integer))
        found = pr.comparison.reproduction(other, original=first)
        assert_frame_equal(found, expected)
    text = second.with_columns(pl.col("query_id").cast(pl.String))
    told = "'query_id' is Int64 in the original but String in the values.*cast one"
    with pytest.raises(TypeError, match=told):
        pr.comparison.reproduction(text, original=first)


def pr_t(t: float, df: int) -> float:
    """Both tails of Student's t, by Simpson's rule over the angle."""

    # P(|T| > t) = c * integral of cos(a)^(df - 1) from atan(t / sqrt(df)) to pi / 2
    def area(low: float, steps: int = 2000) -> float:
        width = (math.pi / 2 - low) / steps
        ends = [math.cos(low + i * width) ** (df - 1) for i in range(steps + 1)]
        inner = 4 * sum(ends[1:-1:2]) + 2 * sum(ends[2:-1:2])
        return (ends[0] + inner + ends[-1]) * width / 3

    return area(math.atan(abs(t) / math.sqrt(df))) / area(0.0)


def test_reproductions_that_say_little():
    first, _ = experiments()
    found = pr.comparison.reproduction(first, original=first, baseline="a")
    assert found["p_value"].to_list() == [1.0] * 6
    assert found["rmse"].to_list() == [0.0] * 6
    zero = first.with_columns(
        ap=pl.when(pl.col("system") == "a").then(0.0).otherwise("ap")
    )
    row = pr.comparison.reproduction(
        first, original=zero, baseline="a", measures="ap"
    ).row(1, named=True)
    assert row["delta_ri"] is None
    with pytest.raises(ValueError, match="different systems: c is in one only"):
        pr.comparison.reproduction(
            first.filter(pl.col("system") != "c"), original=first
        )
    with pytest.raises(ValueError, match="no system 'd'"):
        pr.comparison.reproduction(first, original=first, baseline="d")


def test_users_of_several_periods_are_counted_anew():
    draw = random.Random(1)
    values = pl.DataFrame(
        {"query_id": range(90), "rr": [draw.random() for _ in range(90)]}
    ).with_columns(
        day=pl.col("query_id") % 3, user=pl.col("query_id") % 10, system=pl.lit("a")
    )
    daily = pr.comparison.moments(values, by="day", cluster="user")
    for given, columns in ((daily, {}), (values, {"cluster": "user"})):
        pr.comparison.trend(given, time="day", **columns)
        with pytest.warns(pr.DataWarning, match="clusters.*counted anew in every part"):
            pr.comparison.trend(given, time="day", window=2, **columns)
