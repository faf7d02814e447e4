"""Clusters that are not known: unknown users are not one user, so null is an error."""

from __future__ import annotations

import math
from collections import defaultdict

import polars as pl
import pytest
from unequal import allowance

from polars_rank import DataError, clicks
from polars_rank.cli import main

LOG = (
    clicks.simulate(
        400,
        n_queries=5,
        n_docs=6,
        k=4,
        n_users=60,
        user_sd=1.0,
        n_arms=2,
        interleaved_share=0.5,
        seed=3,
    )
    .draw()
    .with_columns(score=pl.col("doc_id") % 5)
)
UNKNOWN = LOG.with_columns(
    user_id=pl.when(pl.col("user_id") % 4 == 0).then("user_id"),
    always=pl.col("position") > 0,
)
CALLS = {
    "behavior": lambda log, **o: clicks.behavior(log, "ctr", interval="normal", **o),
    "behavior_state": lambda log, **o: clicks.behavior_state(log, "ctr", **o),
    "bootstrap": lambda log, **o: clicks.behavior(
        log, "ctr", interval="bootstrap", n_resamples=20, **o
    ),
    "counterfactual": lambda log, **o: clicks.counterfactual(
        log, new="score", propensities=1.0, **o
    ),
    "interleaving": lambda log, **o: clicks.interleaving(log, team="team", **o),
    "compare_arms": lambda log, **o: clicks.compare_arms(
        log, "ctr", arm="arm", control="A", **o
    ),
    "harvest": lambda log, **o: clicks.propensities(log, **o),
    "ctr": lambda log, **o: clicks.propensities(log, "ctr", **o),
    "randomized": lambda log, **o: clicks.propensities(
        log, "randomized", randomized="always", **o
    ),
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("layout", ["any", "auto"])
@pytest.mark.parametrize("name", CALLS)
def test_unknown_users_are_an_error_that_says_the_way_out(name, layout):
    with pytest.raises(DataError, match="made of its id, or drop it") as error:
        CALLS[name](UNKNOWN.lazy(), cluster="user_id", layout=layout).collect()
    assert error.value.rule == "null_cluster"
    with pytest.warns(UserWarning, match="unknown users are not one user"):
        CALLS[name](UNKNOWN, cluster="user_id", check="warn")


def test_what_only_the_impressions_know():
    known = UNKNOWN.group_by("impression_id", maintain_order=True).first()
    known = known.select("impression_id", "user_id")
    log = UNKNOWN.drop("user_id")
    with pytest.raises(DataError, match="unknown users"):
        CALLS["behavior"](log, cluster="user_id", impressions=known)


def test_totals_have_no_impressions_to_fill_in():
    keys = ["query_id", "doc_id", "position", "user_id"]
    totals = UNKNOWN.group_by(keys).agg(pl.col("clicked").sum(), n=pl.len())
    with pytest.raises(DataError, match="unknown users"):
        clicks.propensities(totals, "ctr", count="n", cluster="user_id")


def test_filled_as_the_error_says_each_is_a_cluster_of_its_own():
    """The standard error of a ratio of sums over clusters, by a plain loop."""
    anonymous = pl.concat_str(pl.lit("impression "), "impression_id")
    filled = UNKNOWN.with_columns(
        user=pl.coalesce(pl.col("user_id").cast(pl.String), anonymous)
    )
    found = CALLS["behavior"](filled, cluster="user").row(0, named=True)
    sums = defaultdict(lambda: [0, 0])
    for row in UNKNOWN.iter_rows(named=True):
        known = row["user_id"] is not None
        key = ("user", row["user_id"]) if known else ("alone", row["impression_id"])
        sums[key][0] += row["clicked"]
        sums[key][1] += 1
    n, num = len(sums), sum(y for y, _ in sums.values())
    den = sum(x for _, x in sums.values())
    ratio = num / den
    spread = sum((y - ratio * x) ** 2 for y, x in sums.values()) / (n - 1)
    assert found["clusters"] == n
    usual = math.sqrt(spread / n) / (den / n)
    wanted = usual * allowance([x for _, x in sums.values()])
    assert found["se"] == pytest.approx(wanted, rel=1e-9)


def test_the_command_names_its_option(capsys, tmp_path):
    file = str(tmp_path / "log.parquet")
    UNKNOWN.write_parquet(file)
    assert main(["clicks", "interleaving", file, "--cluster", "user_id"]) == 1
    err = capsys.readouterr().err
    assert "--cluster is null, and unknown users are not one user" in err
    assert main(["clicks", "report", file, "--format", "table"]) == 0
    assert "once rows without a user have an id" in capsys.readouterr().out
