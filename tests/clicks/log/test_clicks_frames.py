"""Logs of other libraries and in files: the same results as of Polars frames."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_rank import DataError, clicks

LOG = (
    clicks.simulate(
        200,
        n_queries=4,
        n_docs=6,
        k=4,
        n_users=20,
        n_arms=2,
        interleaved_share=0.5,
        seed=5,
    )
    .draw()
    .with_columns(pl.col("arm", "team").cast(pl.String))
)
LOG = LOG.with_columns(time=pl.lit(1.0) * pl.col("impression_id"))
OPTIONS = {"cluster": "user_id"}
CALLS = {
    "behavior": lambda log: clicks.behavior(log, "ctr", **OPTIONS),
    "behavior_state": lambda log: clicks.behavior_state(log, "ctr", **OPTIONS),
    "per_impression": lambda log: clicks.per_impression(log, "rr"),
    "report": lambda log: clicks.report(log).facts,
    "click_entropy": lambda log: clicks.click_entropy(log),
    "dedupe": lambda log: clicks.dedupe(log, time="time"),
    "propensities": lambda log: clicks.propensities(log, **OPTIONS),
    "judgments": lambda log: clicks.judgments(log, "ctr"),
    "counterfactual": lambda log: clicks.counterfactual(
        log, new="new_score", propensities=1.0, **OPTIONS
    ),
    "sensitivity": lambda log: clicks.sensitivity(log, new=["new_score", "score"]),
    "interleaving": lambda log: clicks.interleaving(log, team="team", **OPTIONS),
    "team_shares": lambda log: clicks.team_shares(log, team="team"),
    "compare_arms": lambda log: clicks.compare_arms(log, "ctr", arm="arm", control="A"),
}


def same(found, wanted):
    assert isinstance(found, pl.DataFrame)
    assert_frame_equal(found, wanted, check_dtypes=False)


@pytest.mark.parametrize("name", CALLS)
def test_a_log_in_a_file(name, tmp_path):
    file = tmp_path / "log.parquet"
    LOG.write_parquet(file)
    wanted = CALLS[name](LOG)
    same(CALLS[name](file), wanted)
    same(CALLS[name](str(file)), wanted)


@pytest.mark.parametrize("name", CALLS)
def test_a_log_of_arrow(name):
    """Whatever exports Arrow data: here a table of nothing else."""

    class Table:
        def __arrow_c_stream__(self, requested_schema=None):
            return LOG.__arrow_c_stream__(requested_schema)

    same(CALLS[name](Table()), CALLS[name](LOG))


def test_a_log_of_pandas():
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    for call in CALLS.values():
        same(call(LOG.to_pandas()), call(LOG))


def test_frames_in_arguments(tmp_path):
    file = tmp_path / "log.parquet"
    bias = clicks.propensities(LOG)
    bias.write_parquet(tmp_path / "bias.parquet")
    found = clicks.judgments(LOG, propensities=str(tmp_path / "bias.parquet"))
    same(found, clicks.judgments(LOG, propensities=bias))
    lists = LOG.select("impression_id", shop="arm").unique()
    lists.write_parquet(file)
    options = {"by": "shop"}
    found = clicks.behavior(LOG, "ctr", impressions=file, **options)
    same(found, clicks.behavior(LOG, "ctr", impressions=lists, **options))
    ranking = LOG.select("query_id", "doc_id", score="new_score").unique()
    ranking = ranking.unique(["query_id", "doc_id"])
    ranking.write_parquet(file)
    for new in (Path(file), {"new": Path(file)}):
        found = clicks.counterfactual(LOG, new=new, propensities=1.0, **OPTIONS)
        wanted = clicks.counterfactual(LOG, new=ranking, propensities=1.0, **OPTIONS)
        same(found, wanted)
    LOG.write_parquet(file)
    arms = {"arm": "arm", "control": "A"}
    found = clicks.compare_arms(LOG, "ctr", covariates=file, **arms)
    same(found, clicks.compare_arms(LOG, "ctr", covariates=LOG, **arms))


@pytest.mark.parametrize("wrong", [3, None, {"position": [1]}, [1, LOG]])
def test_what_is_no_log(wrong):
    for call in CALLS.values():
        with pytest.raises(TypeError, match="the log must be a frame"):
            call(wrong)


def test_a_file_that_is_not_there():
    with pytest.raises(DataError, match="no such file"):
        clicks.behavior("nowhere.parquet", "ctr")


class Arrow:
    """Exports Arrow data, and nothing else."""

    def __init__(self, frame):
        self.frame = frame

    def __arrow_c_stream__(self, requested_schema=None):
        return self.frame.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize("function", [clicks.agreement, clicks.confusion])
def test_judgments_of_any_library(function, tmp_path):
    left = pl.DataFrame({"query_id": 1, "doc_id": [1, 2, 3], "label": [2, 1, 0]})
    right = left.with_columns(label=pl.Series([2, 0, 0]))
    right.write_parquet(tmp_path / "right.parquet")
    wanted = function(left, right)
    assert function(Arrow(left), tmp_path / "right.parquet").equals(wanted)
    told = "reference must be a frame or a path, not dict"
    with pytest.raises(TypeError, match=told):
        function(left, {"1": {"2": 1}})


def test_states_of_any_library(tmp_path):
    parts = [LOG.filter(pl.col("user_id") % 2 == i) for i in range(2)]
    states = [clicks.behavior_state(part, "ctr", **OPTIONS) for part in parts]
    wanted = clicks.merge_behavior(states, whole_clusters=True)
    states[0].write_parquet(tmp_path / "0.parquet")
    given = [tmp_path / "0.parquet", Arrow(states[1])]
    assert clicks.merge_behavior(given, whole_clusters=True).equals(wanted)
    one = clicks.merge_behavior(states[0])
    assert clicks.merge_behavior(str(tmp_path / "0.parquet")).equals(one)


def test_methods_and_measures_may_be_named():
    log = clicks.simulate(200, k=3, n_queries=4, seed=1).draw().drop("user_id")
    named = clicks.propensities(log, method="ctr")
    assert named.equals(clicks.propensities(log, "ctr"))
    by_name = clicks.behavior(log, measures="ctr")
    assert by_name.equals(clicks.behavior(log, "ctr"))
    assert log.rank_eval.clicks.propensities(method="ctr").equals(named)
    for wrong, told in (
        ({"metod": "ctr"}, "propensities takes no metod; did you mean 'method'"),
        (
            {"clustre": "user_id"},
            "propensities takes no clustre; did you mean 'cluster'",
        ),
    ):
        with pytest.raises(TypeError, match=told):
            clicks.propensities(log, **wrong)


def test_a_count_has_one_type_in_all_results():
    """Impressions and clicks can be totals beyond 32 bits; the others are rows."""
    arms = {"arm": "arm", "control": "A", "cluster": "user_id"}
    normal = {"interval": "normal", "cluster": "user_id"}
    wide = {"impressions", "clicks", "total_clicks", "clicked"}
    counts = wide | {"queries", "clusters", "clusters_control", "clusters_treatment"}
    counts |= {"wins", "ties", "losses", "documents", "pairs"}
    qrels = clicks.judgments(LOG, "ctr")
    for found in (
        *(clicks.behavior(LOG, "ctr", **options) for options in ({}, normal)),
        clicks.compare_arms(LOG, "ctr", **arms),
        clicks.interleaving(LOG, team="team", cluster="user_id"),
        clicks.team_shares(LOG, team="team"),
        clicks.click_entropy(LOG),
        clicks.propensities(LOG, cluster="user_id"),
        clicks.counterfactual(LOG, new="new_score", propensities=1.0, **OPTIONS),
        clicks.agreement(qrels, qrels),
        clicks.confusion(qrels, qrels),
        qrels,
    ):
        for name in counts & {*found.columns}:
            assert found.schema[name] == (pl.Int64 if name in wide else pl.UInt32), name
