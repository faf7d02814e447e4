"""What must not matter: order of rows, files, threads, names of ids, copies."""

from __future__ import annotations

import os
import subprocess
import sys

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from slow import every_other, slow

from polars_rank import clicks

IDS = ["impression_id", "query_id", "doc_id", "user_id"]
USER = {"cluster": "user_id"}
CALLS = {
    "behavior": lambda log, **o: clicks.behavior(
        log, ["ctr@3", "mean_rr", "p_skip"], interval="normal", **USER, **o
    ),
    "harvest": lambda log, **o: clicks.propensities(log, **o),
    "harvest by user": lambda log, **o: clicks.propensities(log, **USER, **o),
    "em by user": lambda log, **o: clicks.propensities(
        log, "em", min_impressions=1, **USER, **o
    ),
    "all pairs": lambda log, **o: clicks.propensities(
        log, estimator="all_pairs", tol=1e-12, max_steps=20_000, **o
    ),
    "randomized": lambda log, **o: clicks.propensities(
        log, "randomized", randomized="randomized", **USER, **o
    ),
    "swap": lambda log, **o: clicks.propensities(log, "swap", swap="swap", **USER, **o),
    "regression_em": lambda log, **o: clicks.propensities(
        log, "regression_em", relevance="relevance", **USER, **o
    ),
    "trust": lambda log, **o: clicks.propensities(
        log, "trust", relevance="relevance", **USER, **o
    ),
    "ips": lambda log, **o: clicks.counterfactual(
        log, new=["new_score", "score"], baseline="score", propensities=1.0, **USER, **o
    ),
    "ips, harvest": lambda log, **o: clicks.counterfactual(
        log,
        new=["new_score", "score"],
        baseline="score",
        propensities="harvest",
        **USER,
        **o,
    ),
    "sensitivity": lambda log, **o: clicks.sensitivity(
        log, new=["new_score", "score"], weight="heavy", **o
    ),
    "click_entropy": lambda log, **o: clicks.click_entropy(log, **o),
    "judgments": lambda log, **o: clicks.judgments(log, propensities=1.0, **o),
    "interleaving": lambda log, **o: clicks.interleaving(log, team="team", **USER, **o),
    "compare_arms": lambda log, **o: clicks.compare_arms(
        log, "ctr", arm="arm", control="A", **USER, **o
    ),
}
QUICK = ("behavior", "harvest")
EACH = [call if call in QUICK else slow(call) for call in CALLS]
# Their parts are made of queries in order of their ids, and of users by their hash.
JACKKNIFED = {"all pairs", "ips, harvest"}

pytestmark = [
    pytest.mark.filterwarnings("ignore:positions .*without a propensity"),
    pytest.mark.filterwarnings("ignore:a single click has"),
]


@pytest.fixture(scope="module")
def log():
    share = {"randomized_share": 0.3, "swap_share": 0.3, "interleaved_share": 0.3}
    design = clicks.simulate(
        800, n_queries=20, n_docs=6, k=5, n_users=90, n_arms=2, seed=8, **share
    )
    return design.draw().with_columns(
        relevance=pl.col("doc_id") % 5 / 5 + 0.1,
        heavy=pl.col("impression_id") % 3 + 0.1,
    )


@pytest.fixture(scope="module")
def values(log):
    return {name: call(log) for name, call in CALLS.items()}


def same(found, wanted):
    assert_frame_equal(found, wanted, rel_tol=1e-9, abs_tol=1e-11)


@pytest.mark.parametrize("call", every_other(CALLS))
def test_the_order_of_rows_and_files(call, log, values, tmp_path):
    shuffled = log.sample(fraction=1.0, shuffle=True, seed=2)
    assert CALLS[call](shuffled).equals(values[call])
    for part in range(3):
        rows = shuffled.filter(pl.int_range(pl.len()) % 3 == part)
        rows.write_parquet(tmp_path / f"{part}.parquet")
    files = pl.scan_parquet(tmp_path / "*.parquet")
    assert CALLS[call](files).collect().equals(values[call])


@pytest.mark.parametrize(
    "call",
    [c if c in QUICK else slow(c) for c in CALLS if c not in JACKKNIFED],
)
def test_the_names_of_ids(call, log, values):
    # As text, in another order: 9, 10 and 11 come after each other no more.
    named = log.with_columns(
        pl.format("{}-x", pl.col(i) * 7919 % 10_007).alias(i) for i in IDS
    )
    assert named["impression_id"].n_unique() == log["impression_id"].n_unique()
    found, wanted = CALLS[call](named), values[call]
    if call in ("judgments", "click_entropy"):  # the ids are in the result
        numbers = [name for name in wanted.columns if name not in IDS]
        found, wanted = (f.select(numbers).sort(numbers) for f in (found, wanted))
    same(found, wanted)


@pytest.mark.parametrize("call", EACH)
def test_positions_from_zero(call, log, values):
    counted = log.with_columns(pl.col("position").cast(pl.Int64) - 1)
    if call == "swap":  # also a column of positions, of the experiment
        counted = counted.with_columns(pl.col("swap").cast(pl.Int64) - 1)
    same(CALLS[call](counted, first_position=0), values[call])


@pytest.mark.parametrize(
    "call", ["behavior", "harvest", *map(slow, ["randomized", "trust", "ips"])]
)
def test_two_copies_of_a_log(call, log, values):
    """The same estimates; errors by the root of two, but for the factor of clusters."""
    copy = log.with_columns(pl.col(i) + 10**6 for i in IDS)
    found, wanted = CALLS[call](pl.concat([log, copy])), values[call]
    name = "propensity" if "propensity" in found else "estimate"
    same(found.select(name), wanted.select(name))
    ratio = (wanted["se"] / found["se"]).drop_nans().drop_nulls()
    # Leaving out one of few queries, as harvest does, says more than the rest by half.
    most = 1.25 if call == "harvest" else 1.01
    assert ratio.min() > 2**0.5 * 0.999
    assert ratio.max() < 2**0.5 * most


@pytest.mark.slow
def test_the_number_of_threads(tmp_path, log, values):
    log.write_parquet(tmp_path / "log.parquet")
    code = (
        "import sys, warnings; warnings.simplefilter('ignore')\n"
        "import polars as pl\n"
        "from test_clicks_invariance import CALLS\n"
        "log = pl.scan_parquet(sys.argv[1] + '/log.parquet')\n"
        "for name, call in CALLS.items():\n"
        "    call(log).collect().write_parquet(f'{sys.argv[1]}/{name}.out')\n"
    )
    for threads in ("1", "5"):
        environment = os.environ | {
            "POLARS_MAX_THREADS": threads,
            "PYTHONPATH": os.pathsep.join(sys.path),
        }
        subprocess.run(
            [sys.executable, "-c", code, str(tmp_path)], check=True, env=environment
        )
        for name, wanted in values.items():
            assert pl.read_parquet(tmp_path / f"{name}.out").equals(wanted)
