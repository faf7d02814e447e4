"""Few users, and users of unequal sizes: how often errors err, and warnings."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest

from polars_rank import DataWarning, clicks

pytest.importorskip("scipy")  # few clusters have Student's t


def unequal_log(seed, users=20, runs=400):
    """Nothing differs: users have tastes and sizes of their own; a run is a segment."""
    rng = np.random.default_rng(seed)
    sizes = np.ceil(np.exp(rng.normal(1, 1.2, users * runs))).astype(int)
    user = np.repeat(np.arange(len(sizes)), sizes)
    rate = 1 / (1 + np.exp(-rng.normal(0, 1.5, len(sizes))))[user]
    lists = pl.DataFrame({"run": user // users, "user_id": user, "arm": user % 2})
    return lists.with_row_index("impression_id").with_columns(
        position=pl.lit(1), clicked=pl.Series(rng.random(len(user)) < rate)
    )


def test_arms_that_are_the_same_are_seldom_told_apart():
    """Of 400 comparisons of ten users an arm, 5 % in the mean (0.033: 3 errors)."""
    found = clicks.compare_arms(unequal_log(1), "ctr", arm="arm", control=0, by="run")
    assert (found["p_value"] < 0.05).sum() / 400 < 0.083


def test_rankers_that_are_the_same_are_seldom_told_apart():
    log = unequal_log(2, users=50)
    rows = [
        log.with_columns(
            team=pl.lit(team), position=pl.lit(k), clicked=pl.col("clicked") == won
        )
        for k, (team, won) in enumerate((("A", True), ("B", False)), start=1)
    ]
    options = {"team": "team", "cluster": "user_id", "by": "run"}
    found = clicks.interleaving(pl.concat(rows), **options)
    assert (found["p_value"] < 0.05).sum() / 400 < 0.083
    outside = (found["lower"] > 0) | (found["upper"] < 0)
    assert outside.sum() / 400 < 0.083


def test_users_of_one_size_have_the_usual_error():
    rng = np.random.default_rng(3)
    sums = rng.integers(0, 6, 30)
    log = pl.DataFrame({"user_id": np.repeat(np.arange(30), 5)}).with_columns(
        position=pl.int_range(5).over("user_id", mapping_strategy="explode") + 1,
        impression_id="user_id",
    )
    log = log.with_columns(
        clicked=pl.Series([k < sums[u] for u in range(30) for k in range(5)])
    )
    row = clicks.behavior(log, "ctr", cluster="user_id", interval="normal")
    means = sums / 5
    left_out = [np.delete(means, i).mean() for i in range(30)]  # the jackknife
    spread = ((left_out - np.mean(left_out)) ** 2).sum() * 29 / 30
    assert row["se"].item() == pytest.approx(math.sqrt(spread), rel=1e-9)
    assert row["effective_clusters"].item() == pytest.approx(30, rel=1e-12)


def test_a_busy_user_widens_the_interval_at_least_as_the_jackknife_does():
    """One user has half of the documents: the others are as if there were few."""
    rng = np.random.default_rng(4)
    sizes = np.array([60, *[3] * 20])
    clicked = rng.binomial(sizes, np.linspace(0.2, 0.8, 21))
    rows = [
        (u, f"{u} {i}", 1, i < c)
        for u, (size, c) in enumerate(zip(sizes, clicked, strict=True))
        for i in range(size)
    ]
    names = ["user_id", "impression_id", "position", "clicked"]
    log = pl.DataFrame(rows, schema=names, orient="row")
    with pytest.warns(DataWarning, match="1 of 1 results rest on fewer than 20"):
        row = clicks.behavior(log, "ctr", cluster="user_id", interval="normal")
    whole = clicked.sum() / sizes.sum()
    left_out = (clicked.sum() - clicked) / (sizes.sum() - sizes)
    spread = ((left_out - whole) ** 2).sum() * 20 / 21
    ratio = row["se"].item() / math.sqrt(spread)
    assert 0.9 < ratio < 1.5, ratio
    assert row["effective_clusters"].item() == pytest.approx(120**2 / (3600 + 180))


def test_each_function_warns_of_few_users():
    log = unequal_log(5, users=12, runs=1)
    before = log.drop("arm")
    few = r"rest on fewer than 20 effective clusters \(at least one on \d"
    with pytest.warns(DataWarning, match="2 of 2 results " + few):
        clicks.compare_arms(log, "ctr", arm="arm", control=0, covariates=before)
    both = pl.concat(
        [log, log.with_columns(position=pl.lit(2), clicked=~pl.col("clicked"))]
    ).with_columns(team="position")
    for found in (
        lambda: clicks.interleaving(both, team="team", cluster="user_id"),
        lambda: clicks.propensities(both, "ctr", cluster="user_id"),
        lambda: clicks.behavior(
            both, "ctr", cluster="user_id", interval="bootstrap", n_resamples=20
        ),
    ):
        with pytest.warns(DataWarning, match="1 of 1 results " + few):
            assert found()["effective_clusters"].max() < 20
