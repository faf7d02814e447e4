"""memory_limit: the same results out of buckets, and errors where it cannot be kept."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_rank import clicks
from polars_rank._engine.request import Resources
from polars_rank.clicks.behavior import ratios
from polars_rank.clicks.bias.several_positions import harvest
from polars_rank.clicks.log.impressions import held

LIMIT = {"memory_limit": "1GB"}


@pytest.fixture(scope="module")
def log():
    design = clicks.simulate(
        600,
        n_queries=30,
        n_users=80,
        randomized_share=0.3,
        swap_share=0.3,
        interleaved_share=0.3,
        seed=4,
    )
    relevance = pl.col("doc_id") % 5 / 5
    return design.draw().with_columns(relevance=relevance)


CALLS = {
    "harvest": lambda log, **o: clicks.propensities(log, **o),
    "harvest by user": lambda log, **o: clicks.propensities(
        log, cluster="user_id", **o
    ),
    "em": lambda log, **o: clicks.propensities(log, "em", min_impressions=5, **o),
    "randomized": lambda log, **o: clicks.propensities(
        log, "randomized", randomized="randomized", cluster="user_id", **o
    ),
    "swap": lambda log, **o: clicks.propensities(
        log, "swap", swap="swap", swapped="swapped", cluster="user_id", **o
    ),
    "trust": lambda log, **o: clicks.propensities(
        log, "trust", relevance="relevance", cluster="user_id", **o
    ),
    "bootstrap": lambda log, **o: clicks.behavior(
        log, "ctr", interval="bootstrap", cluster="user_id", **o
    ),
    "permutation": lambda log, **o: clicks.interleaving(
        log, team="team", cluster="user_id", test="permutation", **o
    ),
    "counterfactual": lambda log, **o: clicks.counterfactual(
        log, new="new_score", propensities=1.0, cluster="user_id", **o
    ),
    "jackknife": lambda log, **o: clicks.counterfactual(
        log, new="new_score", propensities="harvest", cluster="user_id", **o
    ),
    "sensitivity": lambda log, **o: clicks.sensitivity(
        log, new=["new_score", "score"], **o
    ),
    "judgments": lambda log, **o: clicks.judgments(log, propensities=1.0, **o),
}


@pytest.mark.filterwarnings("ignore:positions .*without a propensity")
@pytest.mark.filterwarnings("ignore:a single click has")
@pytest.mark.parametrize("call", CALLS)
def test_buckets_change_nothing(call, log):
    wanted = CALLS[call](log)
    found = CALLS[call](log.lazy(), **LIMIT).collect()
    assert_frame_equal(found, wanted, rel_tol=1e-12, abs_tol=1e-14)


def test_what_does_not_fit_is_refused_with_a_way_out(monkeypatch):
    large = clicks.simulate(4000, n_queries=200, seed=1).draw().lazy()
    fit = clicks.propensities(large, **LIMIT)
    resampled = clicks.behavior(
        large, "ctr", interval="bootstrap", cluster="impression_id", **LIMIT
    )
    assert len(fit.collect()) == 10
    monkeypatch.setattr(harvest, "FITTING", 1e6)  # as if there was a million times more
    monkeypatch.setattr(ratios, "RESAMPLING", 1e6)
    with pytest.raises(MemoryError, match=r"shown at several positions.*split the lo"):
        fit.collect()
    with pytest.raises(MemoryError, match=r'more than memory_limit.*interval="normal"'):
        resampled.collect()


def test_little_is_held_whatever_the_limit():
    frame = pl.LazyFrame({"a": range(1000)})
    told = {"factor": 2, "what": "numbers", "otherwise": "take fewer"}
    resources = Resources(1, None, None)
    assert_frame_equal(held(frame, resources, **told), frame.collect())
    assert_frame_equal(held(frame.head(0), resources, **told), frame.head(0).collect())
    with pytest.raises(MemoryError, match=r"numbers must be held .* or take fewer"):
        held(pl.LazyFrame({"a": range(100_000)}), resources, **told)
