"""Propensities from FairPairs and by regression-EM: plain loops, and known truth."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict

import numpy as np
import polars as pl
import pytest
from slow import slow
from test_clicks_propensities import close, loop_of, random_log
from unequal import allowance

from polars_rank import DataError, clicks


def fair_pairs_log(seed, impressions=500, k=5):
    """Neighbors (1, 2), (3, 4) or (2, 3), (4, 5) are swapped by coins."""
    rng = random.Random(seed)
    rows = []
    for i in range(impressions):
        docs, start = [*range(k)], rng.choice([0, 1])
        partner = dict.fromkeys(range(1, k + 1))
        for j in range(start, k - 1, 2):
            partner[j + 1], partner[j + 2] = j + 2, j + 1
            if rng.random() < 0.5:
                docs[j], docs[j + 1] = docs[j + 1], docs[j]
        tired = rng.random()  # so that clicks of an impression go together
        for position, doc in enumerate(docs, start=1):
            chance = (0.7 - 0.1 * doc) / position * (0.4 + 0.6 * tired)
            row = i, position, rng.random() < chance, partner[position], f"u{i % 60}"
            rows.append(row)
    names = ["impression_id", "position", "clicked", "swap", "u"]
    return pl.DataFrame(rows, schema=names, orient="row")


def ratios(pairs, position):
    """Product of the ratios of clicks, of the pairs down to a position."""
    return math.prod(
        sum(pairs[j][1].values()) / sum(pairs[j][0].values())
        for j in range(1, position)
    )


@pytest.mark.parametrize("cluster", ["impression_id", "u"])
def test_fair_pairs_are_those_of_a_plain_loop(cluster):
    log = fair_pairs_log(1)
    found = clicks.propensities(log, "fair_pairs", swap="swap", cluster=cluster)
    # Clicks of each cluster at the upper and at the lower position of each pair.
    pairs = defaultdict(lambda: (defaultdict(int), defaultdict(int)))
    for r in loop_of(log):
        if r["swap"] is not None:
            upper = min(r["position"], r["swap"])
            pairs[upper][r["position"] > r["swap"]][r[cluster]] += r["clicked"]
    sizes = Counter(r[cluster] for r in loop_of(log) if r["swap"] is not None)
    factor = allowance(sizes.values())
    for row in found.iter_rows(named=True):
        k = row["position"]
        close(row["propensity"], ratios(pairs, k))
        influence = defaultdict(float)
        for j in range(1, k):
            for side, sign in ((0, -1), (1, 1)):
                total = sum(pairs[j][side].values())
                for who, count in pairs[j][side].items():
                    influence[who] += sign * count / total
        groups = len(pairs[k - 1][0]) if k > 1 else 2
        square = sum(x * x for x in influence.values()) * groups / (groups - 1)
        close(row["se"], row["propensity"] * math.sqrt(square) * factor)
        shown = log.filter(pl.col("swap") == k - 1, position=k)
        assert row["support"] == (shown.height if k > 1 else 0)


@pytest.mark.slow
def test_fair_pairs_find_the_truth():
    found = clicks.propensities(fair_pairs_log(2, 20_000), "fair_pairs", swap="swap")
    off = (found["propensity"] - 1 / found["position"])[1:] / found["se"][1:]
    assert off.abs().max() < 3.5
    assert found["se"].max() < 0.03


def test_a_chain_of_pairs_ends_where_a_link_is_missing():
    log = fair_pairs_log(3)
    cut = (pl.col("swap") == 3) & (pl.col("position") == 2)
    cut = cut | ((pl.col("swap") == 2) & (pl.col("position") == 3))
    log = log.with_columns(swap=pl.when(~cut).then("swap"))
    with pytest.warns(UserWarning, match="without a propensity: 3, 4, 5"):
        found = clicks.propensities(log, "fair_pairs", swap="swap")
    assert found["propensity"].is_null().to_list() == [False, False, True, True, True]
    assert set(found["note"][2:]) == {"the position was not shuffled or swapped"}


@pytest.mark.parametrize(
    "swap",
    [
        pl.col("position") + 2,  # not neighbors
        pl.when(pl.col("position") > 1).then(pl.col("position") - 1),  # of one side
    ],
)
def test_pairs_that_are_none(swap):
    log = fair_pairs_log(4).with_columns(swap=swap)
    with pytest.raises(DataError, match="must be the position above or below"):
        clicks.propensities(log, "fair_pairs", swap="swap")
    nothing = log.with_columns(swap=pl.lit(None, pl.Int32))
    with pytest.raises(DataError):
        clicks.propensities(nothing, "fair_pairs", swap="swap")


@pytest.mark.parametrize(
    ("method", "log"),
    [("swap", random_log(13, gaps=0)), ("fair_pairs", fair_pairs_log(5))],
)
def test_swaps_count_from_0_or_over_all_pages(method, log):
    wanted = clicks.propensities(log, method, swap="swap")
    assert wanted["propensity"].n_unique() == 5
    zero = log.with_columns(pl.col("position", "swap").cast(pl.UInt8) - 1)
    found = clicks.propensities(zero, method, swap="swap", first_position=0)
    assert found.equals(wanted)
    place = pl.col("position") - 1
    paged = log.with_columns(page=place // 2 + 1, position=place % 2 + 1)
    pages = {"swap": "swap", "page": "page", "page_size": 2}
    assert clicks.propensities(paged, method, **pages).equals(wanted)
    paged = paged.with_columns(pl.col("position", "swap") - 1)
    found = clicks.propensities(paged, method, first_position=0, **pages)
    assert found.equals(wanted)


# -- regression-EM


def maximum(rows):
    """Root of the score of one position, by bisection."""

    def score(e):
        return sum(
            1 / e if r["clicked"] else -r["gamma"] / (1 - r["gamma"] * e) for r in rows
        )

    low, high = 1e-9, 1 - 1e-12
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if score(middle) > 0 else (low, middle)
    return low


@pytest.mark.parametrize("cluster", [slow("impression_id"), "u"])
def test_regression_em_is_the_maximum_of_the_likelihood(cluster):
    log = random_log(6, impressions=600).with_columns(pl.col("gamma") * 0.9 + 0.1)
    found = clicks.propensities(
        log,
        "regression_em",
        relevance="gamma",
        cluster=cluster,
        tol=1e-13,
        max_steps=5000,
    )
    theta, influence = {}, {}
    for k in range(1, 6):
        rows = [r for r in loop_of(log) if r["position"] == k]
        e = theta[k] = maximum(rows)
        information = sum(
            1 / e**2 if r["clicked"] else (r["gamma"] / (1 - r["gamma"] * e)) ** 2
            for r in rows
        )
        influence[k] = defaultdict(float)
        for r in rows:
            miss = -r["gamma"] / (1 - r["gamma"] * e)
            influence[k][r[cluster]] += (1 / e if r["clicked"] else miss) / information
    whole = 0.0
    for r in loop_of(log):
        chance = r["gamma"] * theta[r["position"]]
        whole += math.log(chance if r["clicked"] else 1 - chance)
    groups = len(set(log[cluster]))
    factor = allowance(Counter(log[cluster]).values())
    for k, row in enumerate(found.iter_rows(named=True), start=1):
        assert row["propensity"] == pytest.approx(theta[k] / theta[1], rel=1e-9)
        assert row["converged"]
        assert row["log_likelihood"] == pytest.approx(whole, rel=1e-10)
        square = sum(
            (influence[k][g] / theta[k] - influence[1][g] / theta[1]) ** 2
            for g in set(log[cluster])
        )
        error = theta[k] / theta[1] * math.sqrt(square * groups / (groups - 1))
        assert row["se"] == pytest.approx(error * factor, rel=1e-7, abs=1e-12)


@pytest.mark.slow
def test_regression_em_with_the_true_model_finds_the_truth_on_rare_documents():
    design = clicks.simulate(20_000, n_queries=4000, seed=3)
    truth = design.truth.select("query_id", "doc_id", "relevance")
    log = design.draw().join(truth, on=["query_id", "doc_id"])
    found = clicks.propensities(
        log, "regression_em", relevance="relevance", cluster="user_id"
    )
    off = found["propensity"].to_numpy() / np.array([1 / k for k in range(1, 11)]) - 1
    assert np.abs(off).max() < 0.06
    assert clicks.propensities(log, "em", min_impressions=1)["propensity"][4] > 0.22


def test_regression_em_says_what_it_cannot_do():
    log = random_log(7).with_columns(
        gamma=pl.when(pl.col("position") < 4).then(pl.col("gamma") + 0.1)
    )
    call = {"relevance": "gamma", "cluster": "u"}
    with pytest.warns(UserWarning, match="without a propensity: 4, 5"):
        found = clicks.propensities(log, "regression_em", **call)
    assert set(found["note"][3:]) == {"relevance is not known here"}
    with pytest.warns(UserWarning, match="did not converge in 2 steps"):
        clicks.propensities(
            log.filter(pl.col("position") < 4), "regression_em", max_steps=2, **call
        )
    wrong = log.with_columns(gamma=1.5)
    with pytest.raises(DataError, match="found"):
        clicks.propensities(wrong, "regression_em", **call)


def test_segments_of_regression_em_are_fitted_one_by_one():
    rare = pl.when(pl.col("day") == 0).then(pl.col("clicked") & (pl.col("u") > "u6"))
    log = random_log(8).with_columns(
        pl.col("gamma") * 0.9 + 0.1, clicked=rare.otherwise("clicked")
    )
    unknown = log.with_columns(day=pl.lit(2, pl.Int64), gamma=pl.lit(None, pl.Float64))
    log = pl.concat([log, unknown.with_columns(pl.col("impression_id") + 1000)])
    call = {"method": "regression_em", "relevance": "gamma"}
    with pytest.warns(UserWarning, match="of 2 without a propensity"):
        both = clicks.propensities(log, by="day", **call)
    steps = {}
    for day in (0, 1):
        one = clicks.propensities(log.filter(day=day), **call)
        assert both.filter(day=day).drop("day").equals(one)
        steps[day] = one["steps"][0]
    assert steps[0] < steps[1]
    missing = both.filter(day=2).select("note", "steps", "log_likelihood").unique()
    assert missing.rows() == [("relevance is not known here", 0, 0.0)]
    words = "did not converge in 7 steps|of 2 without a propensity"
    with pytest.warns(UserWarning, match=words) as told:
        found = clicks.propensities(log, by="day", max_steps=steps[0], **call)
    assert sum("did not converge" in str(w.message) for w in told) == 1
    assert found.filter(day=0).equals(both.filter(day=0))
    assert set(found.filter(day=1)["note"]) == {"the fit did not converge"}
    assert found.filter(day=1)["propensity"].null_count() == 5
