"""Estimates with propensities of the same log: each group of clusters left out."""

from __future__ import annotations

import math
import random

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from slow import slow

from polars_rank import DataWarning, clicks
from polars_rank._engine.spill.budget import Budget
from polars_rank.core.source import lazy_source

pytestmark = [
    pytest.mark.filterwarnings("ignore:the weights are those of"),
    pytest.mark.filterwarnings("ignore:a single click has"),
    pytest.mark.filterwarnings("ignore:.* of the ranking .* are documents"),
]
GROUPS = 20
T_19 = 2.0930240544082634  # of Student's t, two-sided 95 %
HARVEST = {"propensities": "harvest"}


def random_log(seed, impressions=500, docs=5):
    """Two hundred users, who click by position and document."""
    rng = random.Random(seed)
    rows = []
    for i in range(impressions):
        query = rng.randrange(4)
        shown = rng.sample(range(docs), rng.randint(2, 4))
        user = rng.randrange(200)
        for position, doc in enumerate(shown, start=1):
            clicked = rng.random() < (0.3 + 0.1 * doc) / position**0.7
            where = i, f"q{query}", f"d{doc}", position, clicked
            rows.append((*where, rng.random(), -position, doc / docs, user, user % 2))
    names = ["impression_id", "query_id", "doc_id", "position", "clicked"]
    names += ["a", "b", "r", "u", "half"]
    return pl.DataFrame(rows, schema=names, orient="row")


RANKING = pl.DataFrame(
    {
        "query_id": [f"q{i}" for i in range(4) for _ in range(4)],
        "doc_id": [f"d{(2 * i + j) % 6}" for i in range(4) for j in range(4)],
        "rank": [1, 2, 3, 4] * 4,
        "r": [0.6, 0.2, 0.4, 0.8] * 4,
    }
)


def left_out(log, unit, **options):
    """The error of every row, out of estimates without each of the groups."""
    group = pl.col(unit).hash(options.get("seed", 0)) % GROUPS
    values = []
    for i in range(GROUPS):
        rest = log.filter(group != i)
        known = clicks.propensities(rest, by=options.get("by"))
        found = clicks.counterfactual(
            rest, propensities=known, interval="none", **options
        )
        values.append(found["estimate"].to_list())
    errors = []
    for row in zip(*values, strict=True):
        mean = sum(row) / GROUPS
        squares = sum((x - mean) ** 2 for x in row)
        errors.append(math.sqrt(squares * (GROUPS - 1) / GROUPS))
    return errors


@pytest.mark.parametrize(
    "options",
    [
        {"new": ["a", "b"], "baseline": "b"},
        slow({"new": RANKING, "policy_aware": True}),
        slow({"new": "a", "method": "snips", "clip": 0.6, "seed": 3}),
        {"new": {"f": RANKING, "a": "a"}, "method": "dr", "reward": "r", "clip": 0.5},
        slow({"new": "a", "by": "half", "measure": "precision@2"}),
        slow({"new": RANKING, "policy_aware": True, "by": "half", "clip": 0.3}),
        slow({"new": RANKING, "policy_aware": True, "method": "dr", "reward": "r"}),
    ],
    ids=str,
)
@pytest.mark.parametrize("unit", ["u", slow("impression_id")])
def test_errors_are_those_of_leaving_out_groups(options, unit):
    log = random_log(1)
    measure = options.get("measure", "dcg@3")
    options = {k: v for k, v in options.items() if k != "measure"}
    options |= {"cluster": unit, "measure": measure}
    found = clicks.counterfactual(log, **HARVEST, **options)
    assert found["se"].to_list() == pytest.approx(
        left_out(log, unit, **options), rel=1e-7
    )
    for row in found.iter_rows(named=True):
        reach = T_19 * row["se"]
        ends = [row["estimate"] - reach, row["estimate"] + reach]
        assert [row["lower"], row["upper"]] == pytest.approx(ends, rel=1e-12)
    known = clicks.propensities(log, by=options.get("by"))
    wanted = clicks.counterfactual(log, propensities=known, interval="none", **options)
    ends = ["se", "lower", "upper"]
    assert_frame_equal(found.drop(ends), wanted.drop(ends), rel_tol=1e-12)
    none = clicks.counterfactual(log, interval="none", **HARVEST, **options)
    assert_frame_equal(none, wanted, rel_tol=1e-12)


@pytest.mark.slow
def test_order_files_and_buckets_change_nothing(tmp_path, monkeypatch):
    log = random_log(2)
    more = {"new": {"f": RANKING, "a": "a"}, "baseline": "a", "by": "half"}
    options = {**HARVEST, **more, "cluster": "u"}
    wanted = clicks.counterfactual(log, **options)

    def same(found):
        """But for rounding: an impression is summed in the order of its rows."""
        assert_frame_equal(found, wanted, rel_tol=1e-12)

    mixed = log.sample(fraction=1.0, shuffle=True, seed=3)
    same(clicks.counterfactual(mixed, **options))
    mixed[:900].write_parquet(tmp_path / "0.parquet")
    mixed[900:].write_parquet(tmp_path / "1.parquet")
    files = pl.scan_parquet(tmp_path / "*.parquet")
    assert isinstance(clicks.counterfactual(files, **options), pl.LazyFrame)
    same(clicks.counterfactual(files, **options).collect())
    budget = "polars_rank._engine.spill.budget.Budget.of"
    monkeypatch.setattr(budget, lambda *_: Budget(30_000, 1 << 20))
    bounded = clicks.counterfactual(files, memory_limit="1GB", **options).collect()
    same(bounded)


def test_impressions_of_two_columns_and_without_results():
    """What is not named in cluster= is the impression; those without results count."""
    log = random_log(3, impressions=300)
    parts = {"day": pl.col("impression_id") % 3, "number": pl.col("impression_id") // 3}
    split = log.with_columns(**parts).drop("impression_id")
    every = pl.DataFrame({"number": range(150)}).join(
        pl.DataFrame({"day": range(3)}), how="cross"
    )
    found = clicks.counterfactual(
        split, new="a", impression=["day", "number"], impressions=every, **HARVEST
    )
    whole = clicks.counterfactual(log, new="a", **HARVEST)
    assert found["impressions"].item() == 450
    assert found["estimate"].item() == pytest.approx(
        whole["estimate"].item() * 300 / 450
    )
    assert 0.5 < found["se"].item() / (whole["se"].item() * 300 / 450) < 2


def test_the_log_is_not_read_for_each_group():
    log, reads = random_log(4), []

    def read(columns):
        reads.append(columns)
        yield log.select(columns)

    source = lazy_source(read, log.schema, name="log", rereadable=True)
    clicks.counterfactual(
        source, new="a", cluster="u", layout="any", **HARVEST
    ).collect()
    assert len(reads) <= 5  # propensities, the estimate, and the sums by group


def test_a_position_that_one_group_ties_has_no_error():
    log = random_log(5).filter(pl.col("position") < 4)
    group = pl.col("u").hash(0) % GROUPS
    only_here = pl.concat_str(pl.lit("only here "), "doc_id")
    elsewhere = (pl.col("position") != 3) | (group == 3)
    doc = pl.when(elsewhere).then(pl.col("doc_id")).otherwise(only_here)
    log = log.with_columns(doc_id=doc)
    with pytest.warns(DataWarning, match="without some group of clusters"):
        found = clicks.counterfactual(log, new="a", cluster="u", **HARVEST)
    assert found["estimate"].item() > 0
    assert found.select("se", "lower", "upper").row(0) == (None, None, None)


# -- propensities of the same log, taken as known


SAME = "seem to come from this log"


@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("by", [None, "half"])
@pytest.mark.parametrize("interval", ["normal", slow("bootstrap")])
def test_intervals_that_are_too_short_are_told(lazy, by, interval):
    log = random_log(6)
    log = log.lazy() if lazy else log
    known = clicks.propensities(log, by=by)
    options = {"new": ["a", "b"], "cluster": "u", "by": by}
    with pytest.warns(DataWarning, match=SAME):
        clicks.counterfactual(
            log, propensities=known, interval=interval, **options
        ).lazy().collect()
    # Neither without intervals, nor for what another log says, or the truth.
    clicks.counterfactual(log, propensities=known, interval="none", **options)
    other = clicks.propensities(random_log(60), by=by)
    clicks.counterfactual(log, propensities=other, **options).lazy().collect()
    true = other.select(*([by] if by else []), "position", "propensity")
    clicks.counterfactual(log, propensities=true, **options).lazy().collect()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"interval": "normal"}, "takes propensities as known"),
        ({"interval": "bootstrap"}, "takes propensities as known"),
        ({"method": "affine"}, 'not for method "affine", which needs alpha and beta'),
        ({"method": "dm", "reward": "r"}, 'not for method "dm"'),
        ({"weight": "half"}, "takes no weight="),
        ({"propensities": 1.0, "interval": "jackknife"}, 'propensities="harvest" anew'),
        ({"interval": "best"}, "interval must be one of none, normal, bootstrap, jack"),
    ],
)
def test_wrong_arguments_are_refused_at_once(options, message):
    with pytest.raises(ValueError, match=message):
        clicks.counterfactual(
            random_log(1).lazy(), new="a", cluster="u", **{**HARVEST, **options}
        )


# -- truth


@pytest.mark.slow
def test_intervals_hold_the_truth():
    """Of 30 logs 26; of those that take propensities as known, at most 24."""
    held, naive = 0, 0
    for seed in range(30):
        design = clicks.simulate(4000, n_queries=100, n_users=2000, seed=700 + seed)
        truth, options = design.value("new_score"), {"cluster": "user_id"}
        log = design.draw()
        row = clicks.counterfactual(log, new="new_score", **HARVEST, **options)
        held += row["lower"].item() <= truth <= row["upper"].item()
        known = clicks.propensities(log).select("position", "propensity")
        row = clicks.counterfactual(log, new="new_score", propensities=known, **options)
        naive += row["lower"].item() <= truth <= row["upper"].item()
    assert held >= 26
    assert naive <= 24
