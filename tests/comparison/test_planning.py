"""Power, orders, stability, discriminative power and standardized scores."""

from __future__ import annotations

import itertools
import math
import statistics

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats
from test_compare import A, B, C, D, values

import polars_rank as pr
from polars_rank.comparison.systems.sample_size import _for_many
from polars_rank.comparison.tests.power_of_t import (
    detectable_effect,
    power_of_t,
    queries_for,
)


def test_queries_needed():
    """As Sakai's sheets and statsmodels (198.15, 33.37, 9.94 and 12.35)."""
    assert [queries_for(d) for d in (0.2, 0.5, 1.0)] == [199, 34, 10]
    assert (
        pr.comparison.power(values(), baseline="A", difference=0.0725)["queries"][0]
        == 13
    )
    for effect in (0.07, 0.3, 2.0, 9.0):
        n = queries_for(effect)
        assert power_of_t(effect, n) >= 0.8
        assert n == 2 or power_of_t(effect, n - 1) < 0.8
    assert queries_for(0.0) is None


@pytest.mark.slow
def test_power_is_that_of_simulations():
    draw = np.random.default_rng(1)
    d = draw.normal(0.5, 1, (20_000, 12))
    t = d.mean(axis=1) / (d.std(axis=1, ddof=1) / math.sqrt(12))
    share = (np.abs(t) > 2.200985).mean()
    assert power_of_t(0.5, 12) == pytest.approx(share, abs=0.011)  # 3 errors
    assert power_of_t(0.8732289787, 12) == pytest.approx(0.7862177314, rel=1e-8)
    assert power_of_t(0.0, 30) == pytest.approx(0.05)
    assert power_of_t(3.0, 10**6) == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.4, 0.2, 0.1, 0.05, 0.001])
def test_detectable_effects_are_detected_with_the_power(alpha):
    """Where scipy's noncentral t is not a number, far out, power is 1."""
    n = np.array([*range(2, 131), 1000])
    effect = detectable_effect(n, alpha=alpha)
    critical, center = stats.t.isf(alpha / 2, n - 1), effect * np.sqrt(n)
    above = stats.nct.sf(critical, n - 1, center)
    below = stats.nct.cdf(-critical, n - 1, center)
    assert above + np.nan_to_num(below) == pytest.approx(np.full(len(n), 0.8))
    sure = power_of_t(np.linspace(1, 60, 100)[:, None] * effect, n, alpha=alpha)
    assert (np.diff(sure, axis=0) > -1e-9).all()


def test_detectable_differences():
    found = pr.comparison.power(values(), baseline="A", measures="ndcg@10").row(
        0, named=True
    )
    d = [b - a for a, b in zip(A, B, strict=True)]
    assert found["sd"] == pytest.approx(statistics.stdev(d))
    assert found["difference"] == pytest.approx(0.8886543 * statistics.stdev(d))
    assert (found["queries"], found["power"]) == (12, 0.8)
    again = pr.comparison.power(sd=0.2, difference=0.05, n_queries=100)["power"].item()
    assert again == pytest.approx(float(power_of_t(0.25, 100)))


def test_pilots_without_a_mean_difference_are_plans():
    """The spread of the differences is known, whatever their mean."""
    a, b = [0.0, 1.0, 0.5, 0.2], [1.0, 0.0, 0.2, 0.5]
    frame = pl.DataFrame(
        {"system": ["a"] * 4 + ["b"] * 4, "query_id": [*range(4)] * 2, "rr": a + b}
    )
    sd = statistics.stdev(y - x for x, y in zip(a, b, strict=True))
    for goal in ({"width": 0.1}, {"difference": 0.1}, {"n_queries": 50}):
        found = pr.comparison.power(frame, **goal).drop("measure", "baseline", "system")
        assert found.row(0) == pytest.approx(pr.comparison.power(sd=sd, **goal).row(0))


def test_pilots_of_one_query_tell_no_spread():
    """Nor do measures that are null: others have their plan."""
    few = values("AB").with_columns(
        rr=pl.when(pl.col("query_id") == "q01").then("ndcg@10"),
        ap=pl.lit(None, pl.Float64),
    )
    measures = ["ndcg@10", "rr", "ap"]
    for goal in ({}, {"width": 0.1}, {"difference": 0.1}, {"n_queries": 50}):
        found = pr.comparison.power(few, measures, **goal)
        expected = pr.comparison.power(values("AB"), "ndcg@10", **goal)
        assert_frame_equal(found.head(1), expected)
        assert found["sd"].to_list()[1:] == [None, None]
    found = pr.comparison.power(few, measures)
    assert found["difference"].to_list()[1:] == [None, None]
    assert found["queries"].to_list() == [12, 1, 0]


def test_width_and_many_systems():
    """The examples of Sakai 2016."""
    sd = math.sqrt(0.006893)
    assert pr.comparison.power(sd=sd, width=0.1)["queries"].item() == 13
    assert pr.comparison.power(sd=sd, width=0.05)["queries"].item() == 45
    many = pr.comparison.power(sd=math.sqrt(0.05), difference=0.1, n_systems=10)
    assert many["queries"].item() == 158
    for systems, queries in ((2, 80), (10, 158)):
        apart = pr.comparison.power(
            sd=math.sqrt(0.05), difference=0.1, n_systems=systems, paired=False
        )
        assert apart["queries"].item() == queries


@pytest.mark.parametrize(
    ("systems", "paired"),
    [(3, True), (4, True), (9, True), (2, False), (3, False), (9, False)],
)
def test_many_systems_are_an_analysis_of_variance(systems, paired):
    """With effects so large that the degrees of freedom decide."""
    sd, difference = 0.5, 0.9

    def reached(n):
        dfs = systems - 1, (systems - 1 if paired else systems) * (n - 1)
        shift = n * difference**2 / (2 * sd**2)
        return stats.ncf.sf(stats.f.ppf(0.95, *dfs), *dfs, shift)

    n = next(n for n in range(2, 99) if reached(n) >= 0.8)
    found = pr.comparison.power(
        sd=sd, difference=difference, n_systems=systems, paired=paired
    )
    assert found["queries"].item() == n
    assert found["power"].item() == pytest.approx(reached(n))


def test_two_systems_are_a_paired_t_test():
    for effect in (0.3, 0.5, 1.0, 2.0):
        n, reached = _for_many(1 / math.sqrt(2), effect, 2, True, 0.05, 0.8)
        pair = pr.comparison.power(sd=1.0, difference=effect).row(0, named=True)
        assert (n, reached) == (pair["queries"], pytest.approx(pair["power"]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "name either the values of a pilot or sd=, not both or"),
        ({"sd": 1}, "name difference=, n_queries= or width="),
        ({"sd": -1, "n_queries": 3}, "sd must be a number of 0 or more"),
        ({"sd": 1, "n_queries": 1}, "n_queries must be at least 2"),
        ({"sd": 1, "n_queries": 9, "power": 80}, "power must lie between 0 and 1"),
        ({"sd": 1, "width": 0.1, "n_queries": 9}, "leave out the others"),
        (
            {"sd": 1, "n_systems": 3, "n_queries": 9},
            "n_systems= needs sd= and difference=",
        ),
        (
            {"sd": 1, "n_systems": 3, "width": 0.1},
            "n_systems= needs sd= and difference=",
        ),
        (
            {"sd": 1, "n_systems": 3, "difference": 0.1, "n_queries": 9},
            "n_systems= needs sd= and difference=, and finds the queries",
        ),
        (
            {"sd": 1, "paired": False, "n_queries": 9},
            "a plan of other queries needs sd=",
        ),
    ],
)
def test_wrong_plans(options, message):
    with pytest.raises(ValueError, match=message):
        pr.comparison.power(**options)


def test_plans_of_nothing():
    assert pr.comparison.power(sd=0.0, difference=0.1)["queries"].item() is None
    assert pr.comparison.power(sd=0.1, difference=0.0)["queries"].item() is None


def two_measures() -> pl.DataFrame:
    other = {"A": 0.1, "B": 0.5, "C": 0.4, "D": 0.2}
    shift = pl.col("system").replace_strict(other, return_dtype=pl.Float64)
    noise = pl.col("ndcg@10") * 0.1
    return values().with_columns(ap=shift + noise)


@pytest.mark.parametrize(("ap", "swapped"), [(0.1 + 0.2, []), (0.31, ["a, b"])])
def test_means_that_differ_by_rounding_alone_are_not_swapped(ap, swapped):
    """0.1 + 0.2 is above 0.3 by the last bit."""
    frame = pl.DataFrame(
        {
            "system": ["a"] * 3 + ["b"] * 3,
            "query_id": [1, 2, 3] * 2,
            "rr": [0.1, 0.2, 0.3, 0.5, 0.4, 1.0],
            "ap": [ap] * 3 + [0.3] * 3,
        }
    )
    assert pr.comparison.orders(frame)["swapped"].to_list() == [swapped]


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e9])
def test_means_that_differ_by_rounding_alone_are_tied(scale):
    """The mean of 0.1 and 0.2 is above 0.15 by the last bit."""
    x, y = [0.15, 0.15, 0.3, 0.1], [0.25, 0.1, 0.5, 0.2]
    frame = pl.DataFrame(
        {
            "system": [s for s in "abcd" for _ in range(2)],
            "query_id": [1, 2] * 4,
            "rr": [0.1, 0.2, *(v for v in x[1:] for _ in range(2))],
            "ap": [v for v in y for _ in range(2)],
        }
    ).with_columns(pl.col("rr", "ap") * scale)
    found = pr.comparison.orders(frame).row(0, named=True)
    assert found["tau"] == pytest.approx(stats.kendalltau(x, y).statistic)
    tied = frame.with_columns(
        rr=pl.when(pl.col("system") == "a").then(0.15 * scale).otherwise("rr")
    )
    assert pr.comparison.orders(tied).row(0, named=True) == found


@pytest.mark.parametrize("lacks", ["ap", "ndcg@10"])
def test_orders_are_those_of_the_systems_that_have_both_measures(lacks):
    both = two_measures().drop("traffic", "user")
    parts = both.filter(pl.col("system") < "D"), both.drop(lacks)
    merged = pr.comparison.merge([pr.comparison.moments(part) for part in parts])
    (row,) = pr.comparison.orders(merged).rows(named=True)
    x = [statistics.fmean(s) for s in (A, B, C)]
    y = [o + 0.1 * m for o, m in zip((0.1, 0.5, 0.4), x, strict=True)]
    pairs = [*itertools.combinations(range(3), 2)]
    swapped = [p for p in pairs if (x[p[0]] - x[p[1]]) * (y[p[0]] - y[p[1]]) < 0]
    assert row["swapped"] == [f"{'ABC'[i]}, {'ABC'[j]}" for i, j in swapped]
    assert row["tau"] == pytest.approx(1 - 2 * len(swapped) / len(pairs))


@pytest.mark.slow
def test_orders():
    (row,) = pr.comparison.orders(two_measures()).rows(named=True)
    x = [statistics.fmean(s) for s in (A, B, C, D)]
    y = [o + 0.1 * m for o, m in zip((0.1, 0.5, 0.4, 0.2), x, strict=True)]
    pairs = list(itertools.combinations(range(4), 2))
    signs = [(x[i] - x[j]) * (y[i] - y[j]) > 0 for i, j in pairs]
    assert row["tau"] == pytest.approx((sum(signs) * 2 - 6) / 6)
    swapped = [
        ", ".join("ABCD"[k] for k in p)
        for p, s in zip(pairs, signs, strict=True)
        if not s
    ]
    assert row["swapped"] == swapped
    order = sorted(range(4), key=lambda i: -x[i])
    shares = [sum(y[order[j]] > y[order[i]] for j in range(i)) / i for i in range(1, 4)]
    assert row["tau_ap"] == pytest.approx(2 * statistics.fmean(shares) - 1)
    assert row["n_significant"] == len(swapped)
    with pytest.raises(ValueError, match="at least two measures"):
        pr.comparison.orders(values())
    for call in (pr.comparison.orders, pr.comparison.discriminative):
        with pytest.raises(ValueError, match="choose a test of differences"):
            call(two_measures(), test="tost", margin=0.1)
    alike = pr.compare(values(), measures="ndcg@10", test="tost", margin=0.1)
    with pytest.raises(ValueError, match="letters tell what differs"):
        alike.letters()


@pytest.mark.slow
def test_stability():
    found = pr.comparison.stability(values(), n_resamples=2000)
    d = np.subtract(A, C)
    draw = np.random.default_rng(9)
    share = (d[draw.integers(0, 12, (20_000, 12))].mean(axis=1) > 0).mean()
    row = found.filter(better="A", worse="C").row(0, named=True)
    assert row["kept"] == pytest.approx(share, abs=0.02)
    assert found.filter(better="D")["first"].to_list()[0] > 0.95


def test_measures_of_stability_may_be_one_text():
    frame = two_measures()
    names = ["ap", "ndcg@10"]
    found, expected = (
        pr.comparison.stability(frame, given, n_resamples=99)
        for given in (", ".join(names), names)
    )
    assert_frame_equal(found, expected)
    assert found["measure"].unique(maintain_order=True).to_list() == names


def test_discriminative_power():
    (row,) = pr.comparison.discriminative(values(), test="t").rows(named=True)
    pairs = pr.compare(values()).pairs
    sure = pairs.filter("significant")
    assert row["pairs"] == 6
    assert row["significant_share"] == len(sure) / 6
    assert row["sufficient"] == sure["difference"].abs().min()
    assert row["p_adjusted"] == sorted(pairs["p_adjusted"], reverse=True)


@pytest.mark.parametrize("how", ["z", "phi", "ab", "cdf"])
@pytest.mark.parametrize("reference", [None, ["A", "B", "C"], "frame"])
def test_standardized_scores(how, reference):
    names = ["A", "B", "C"] if reference else ["A", "B", "C", "D"]
    given = values("BCA") if reference == "frame" else reference
    table = dict(zip("ABCD", (A, B, C, D), strict=True))
    found = pr.comparison.standardize(
        values(), measures="ndcg@10", reference=given, how=how
    )
    assert found.select("system", "query_id").equals(
        values().select("system", "query_id")
    )
    for row in found.iter_rows(named=True):
        i = int(row["query_id"][1:])
        known = [table[s][i] for s in names]
        x, sd = table[row["system"]][i], statistics.stdev(known)
        z = (x - statistics.fmean(known)) / sd if sd > 1e-12 else 0.0
        expected = {
            "z": z,
            "phi": statistics.NormalDist().cdf(z),
            "ab": min(1.0, max(0.0, 0.15 * z + 0.5)),
            "cdf": sum(v <= x for v in known) / len(known),
        }[how]
        assert row["ndcg@10"] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
@pytest.mark.parametrize("how", ["z", "phi", "ab", "cdf"])
def test_only_numbers_are_standardized(how, wrong):
    """As in compare, and in a plan when it is collected."""
    odd = pl.when(pl.col("query_id") == "q03").then(wrong).otherwise("ndcg@10")
    frame = values("AB").with_columns(odd.alias("ndcg@10"))
    told = "'ndcg@10' is NaN or infinite in 2 rows, e.g. of the query 'q03'"
    plan = pr.comparison.standardize(frame.lazy(), measures="ndcg@10", how=how)
    for call in (
        lambda: pr.comparison.standardize(frame, measures="ndcg@10", how=how),
        lambda: pr.comparison.standardize(
            values("CD"), measures="ndcg@10", reference=frame, how=how
        ),
        plan.collect,
    ):
        with pytest.raises(pr.DataError, match=told) as caught:
            call()
        assert (caught.value.rule, caught.value.count) == ("nan_value", 2)


def test_standardizing_stays_lazy_and_keeps_nulls():
    frame = values().with_columns(
        pl.when(pl.col("query_id") != "q03").then(pl.col("ndcg@10"))
    )
    for how in ("z", "cdf"):
        plan = pr.comparison.standardize(frame.lazy(), measures="ndcg@10", how=how)
        assert isinstance(plan, pl.LazyFrame)
        assert plan.collect()["ndcg@10"].null_count() == 4
    elsewhere = values("AB").filter(pl.col("query_id") > "q05")
    found = pr.comparison.standardize(values(), measures="ndcg@10", reference=elsewhere)
    assert found["ndcg@10"].null_count() == 24
    with pytest.raises(ValueError, match="how must be one of"):
        pr.comparison.standardize(values(), how="rank")
