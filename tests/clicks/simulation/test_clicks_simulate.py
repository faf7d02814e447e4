"""Simulated click logs are what they say: frequencies against the truth."""

from __future__ import annotations

import itertools
import math

import numpy as np
import polars as pl
import pytest
from slow import slow

from polars_rank import clicks
from polars_rank.clicks.simulation import draw as module
from polars_rank.clicks.simulation import example as sample
from polars_rank.example import clicks_path


def test_the_same_design_has_the_same_log(monkeypatch):
    design = {"n_queries": 20, "n_docs": 12, "swap_share": 0.3, "n_arms": 2, "seed": 3}
    log = clicks.simulate(500, **design).draw()
    assert log.equals(clicks.simulate(500, **design).draw())
    assert not log.equals(clicks.simulate(500, **{**design, "seed": 4}).draw())
    monkeypatch.setattr(module, "CHUNK", 200)
    several = clicks.simulate(500, **design)
    assert [len(b) for b in several.batches()] == [2000, 2000, 1000]
    assert several.scan().collect().equals(several.draw())
    assert several.draw()["impression_id"].to_list() == [
        i for i in range(500) for _ in range(10)
    ]


def test_the_sample_is_what_its_design_makes():
    assert pl.read_parquet(clicks_path()).equals(sample.log())


@pytest.mark.parametrize(("n_impressions", "n_users"), [(1, 1), (19, 1), (20, 2)])
def test_users_come_back_ten_times_unless_they_are_counted(n_impressions, n_users):
    assert clicks.simulate(n_impressions).n_users == n_users


def test_a_list_is_a_list():
    log = clicks.simulate(
        2000, n_queries=30, interleaved_share=0.3, randomized_share=0.3, swap_share=0.3
    ).draw()
    lists = log.group_by("impression_id").agg(
        pl.len(),
        pl.col("doc_id").n_unique().alias("docs"),
        (pl.col("doc_id") // 15 == pl.col("query_id")).all().alias("own"),
        pl.col("position").sort(),
    )
    assert lists["len"].unique().to_list() == [10]
    assert lists["docs"].unique().to_list() == [10]
    assert lists["own"].all()
    assert lists["position"].unique().to_list() == [[*range(1, 11)]]
    clicked = log.filter("clicked")
    assert clicked["dwell"].null_count() == 0
    assert (clicked["dwell"] > 0).all()
    assert (clicked["clicked_at"] > clicked["time"]).all()
    assert (
        log.filter(~pl.col("clicked"))["dwell"].null_count()
        == log.height - clicked.height
    )
    assert log["time"].is_sorted()


def within(found, expected, n, errors=5):
    """A frequency of n draws and a probability."""
    return (
        abs(found - expected)
        <= errors * math.sqrt(expected * (1 - expected) / n) + 1e-9
    )


@pytest.mark.parametrize(
    ("user", "user_sd"), [("pbm", 1.0), ("trust", 0.0), slow("pbm", 0.0)]
)
def test_clicks_by_position_are_those_of_the_truth(user, user_sd):
    s = clicks.simulate(
        20_000, n_queries=50, user_model=user, user_sd=user_sd, n_users=20_000, seed=5
    )
    rows = (
        s.draw()
        .join(s.truth, on=["query_id", "doc_id"])
        .join(s.propensities, on="position")
    )
    rows = rows.with_columns(p=pl.col("alpha") * pl.col("relevance") + pl.col("beta"))
    by = rows.group_by("position").agg(pl.len(), pl.col("clicked", "p").mean())
    for _, n, clicked, p in by.iter_rows():
        assert within(clicked, p, n)


def probability(model, examination, attraction, satisfaction, gamma, go_on, pattern):
    """Of one pattern of clicks, by going through every hidden step."""
    if model == "ubm":
        total, distance = 1.0, 0
        for a, c in zip(attraction, pattern, strict=True):
            p = examination[distance] * a
            total *= p if c else 1 - p
            distance = 0 if c else distance + 1
        return total

    def walk(place):
        if place == len(pattern):
            return 1.0
        rest = 0.0 if any(pattern[place + 1 :]) else 1.0  # the user has gone
        a, c = attraction[place], pattern[place]
        on = {
            "cascade": 0.0 if c else 1.0,
            "dcm": go_on if c else 1.0,
            "dbn": (1 - satisfaction[place]) * gamma if c else gamma,
        }[model]
        return (a if c else 1 - a) * (on * walk(place + 1) + (1 - on) * rest)

    return walk(0)


@pytest.mark.parametrize("model", ["cascade", "dcm", "dbn", "ubm"])
def test_patterns_of_clicks_are_those_of_the_model(model):
    """One query, one order: all eight patterns of three places."""
    s = clicks.simulate(
        20_000,
        n_queries=1,
        n_docs=3,
        k=3,
        user_model=model,
        n_rankers=1,
        temperature=0.01,
        seed=8,
    )
    log = s.draw().sort("impression_id", "position")
    first = log["doc_id"].head(3).to_list()
    truth = s.truth.sort("doc_id")
    a, satisfied = (
        truth[c].gather(first).to_list() for c in ("relevance", "satisfaction")
    )
    patterns = log["clicked"].to_numpy().reshape(-1, 3)
    total = 0.0
    for pattern in itertools.product([False, True], repeat=3):
        p = probability(
            model, s.examination, a, satisfied, s.gamma, s.continuation, pattern
        )
        total += p
        assert within((patterns == pattern).all(axis=1).mean(), p, 20_000), pattern
    assert total == pytest.approx(1)


def test_shares_of_users():
    s = clicks.simulate(
        30_000, n_queries=20, user_model={"pbm": 1, "cascade": 3}, seed=2
    )
    several = (
        s.draw().group_by("impression_id").agg(pl.col("clicked").sum())["clicked"] > 1
    ).mean()
    alone = clicks.simulate(30_000, n_queries=20, user_model="pbm", seed=2).draw()
    of_pbm = (
        alone.group_by("impression_id").agg(pl.col("clicked").sum())["clicked"] > 1
    ).mean()
    assert within(several, of_pbm / 4, 30_000)  # the cascade has no second click
    with pytest.raises(ValueError, match="users of pbm, cascade have no propensities"):
        _ = s.propensities


def test_traffic_is_that_of_the_truth():
    s = clicks.simulate(30_000, n_queries=8, zipf=0.9, seed=1)
    shares = s.draw().group_by("query_id").agg(share=pl.len() / s.draw().height)
    traffic = s.truth.group_by("query_id").agg(pl.col("traffic").first())
    for _, share, expected in shares.join(traffic, on="query_id").iter_rows():
        assert within(share, expected, 30_000)
    assert traffic["traffic"].sum() == pytest.approx(1)


def test_experiments_are_marked():
    s = clicks.simulate(
        40_000, n_queries=20, randomized_share=0.25, swap_share=0.25, n_arms=2, lift=0.5
    )
    lists = (
        s.draw()
        .group_by("impression_id")
        .agg(pl.col("randomized", "swap", "swapped", "arm", "user_id").first())
    )
    assert within(lists["randomized"].mean(), 0.25, 40_000)
    assert within(lists["swap"].is_not_null().mean(), 0.25, 40_000)
    part = lists.filter(pl.col("swap").is_not_null())
    assert within(part["swapped"].mean(), 0.5, part.height)
    assert {*part["swap"].unique()} == {*range(2, 11)}
    assert not lists.filter(pl.col("swap").is_null())["swapped"].any()
    arms = lists.group_by("user_id").agg(pl.col("arm").n_unique())
    assert arms["arm"].max() == 1
    a, b = s.draw().group_by("arm").agg(pl.col("clicked").mean()).sort("arm")["clicked"]
    assert 1.3 < b / a < 1.5  # 1.5, where no probability is cut off at 1
    # A shuffled list has every document of the ranker's at each place equally often.
    one = clicks.simulate(
        30_000, n_queries=1, n_docs=4, k=4, randomized_share=1.0
    ).draw()
    for n in one.group_by("doc_id", "position").len()["len"]:
        assert within(n / 30_000, 1 / 4, 30_000)


def test_a_team_draft_is_one():
    s = clicks.simulate(500, n_queries=10, n_docs=8, k=8, interleaved_share=1.0, seed=6)
    ranked = {
        team: {
            q: d["doc_id"].to_list()
            for (q,), d in s.truth.sort(score, descending=True).group_by(
                "query_id", maintain_order=True
            )
        }
        for team, score in (("A", "score"), ("B", "new_score"))
    }
    for _, shown in s.draw().group_by("impression_id"):
        taken, size = set(), {"A": 0, "B": 0}
        for query, doc, team in (
            shown.sort("position").select("query_id", "doc_id", "team").rows()
        ):
            other = "B" if team == "A" else "A"
            assert size[team] <= size[other]
            assert doc == next(d for d in ranked[team][query] if d not in taken)
            taken.add(doc)
            size[team] += 1
    first = s.draw().filter(pl.col("position") == 1)["team"]
    assert within((first == "A").mean(), 0.5, len(first))


def test_plackett_luce():
    """The first of two documents by its share of the exponentiated scores."""
    s = clicks.simulate(
        20_000,
        n_queries=1,
        n_docs=2,
        k=2,
        logging="plackett_luce",
        temperature=2.0,
        seed=9,
    )
    a, b = (math.exp(x / 2) for x in s.truth["score"])
    first = s.draw().filter(pl.col("position") == 1)["doc_id"]
    assert within((first == 0).mean(), a / (a + b), 20_000)


def test_value_is_the_mean_over_queries_and_rankers():
    s = clicks.simulate(10, n_queries=4, n_docs=6, k=3, n_rankers=2, seed=1)
    world, truth = s._world, s.truth
    total = 0.0
    for q in range(4):
        for r in range(2):
            docs = [6 * q + int(d) for d in world.orders[r, q]]
            rows = sorted(
                (truth.row(d, named=True) for d in docs), key=lambda t: -t["new_score"]
            )
            for rank, row in enumerate(rows, start=1):
                total += row["traffic"] * row["relevance"] / math.log2(rank + 1) / 2
    assert s.value() == pytest.approx(total, rel=1e-12)
    assert s.value(truth["new_score"].to_numpy()) == s.value("new_score")
    assert s.value("new_score", lambda r: np.ones(len(r))) == pytest.approx(
        s.value("score", lambda r: np.ones(len(r)))
    )
    with pytest.raises(ValueError, match="needs logging='rankers'"):
        clicks.simulate(10, interleaved_share=0.5).value()


def test_relevance_is_the_mean_over_users():
    s = clicks.simulate(10, n_queries=3, n_users=500, user_sd=1.5, seed=2)
    effects, logit = s._world.user_effect, s._world.logit
    wanted = (1 / (1 + np.exp(-(logit[:, :, None] + effects)))).mean(axis=2).ravel()
    assert np.allclose(s.truth["relevance"].to_numpy(), wanted, atol=1e-5)


WRONG = [
    ({"n_impressions": 0}, "n_impressions must be a whole number"),
    ({"k": 20}, r"k must be at most n_docs \(15\)"),
    ({"user_model": "nobody"}, "user_model must be one or more of pbm"),
    ({"user_model": {"pbm": 0}}, "user_model must be of positive shares"),
    (
        {"randomized_share": 0.6, "swap_share": 0.6},
        "randomized_share .* must be at most 1",
    ),
    ({"randomized_share": -0.1}, "randomized_share must be between 0 and 1"),
    ({"logging": "random"}, "logging must be one of rankers, plackett_luce"),
    ({"examination": [1.0, 0.5]}, "examination must be k = 10 probabilities"),
    ({"examination": [2.0] * 10}, "examination must be k = 10 probabilities"),
    ({"temperature": 0}, "temperature must be above 0"),
    ({"user_sd": -1}, "user_sd must be at least 0"),
    ({"k": 1, "swap_share": 0.5}, "k must be at least 2"),
    ({"n_arms": 27}, "n_arms must be at most 26"),
    ({"n_queries": 2**30}, "must be below"),
]


@pytest.mark.parametrize(("design", "message"), WRONG)
def test_impossible_designs(design, message):
    with pytest.raises(ValueError, match=message):
        clicks.simulate(**({"n_impressions": 10} | design))
