"""Splits and their check, against plain loops."""

import random

import polars as pl
import pytest
from plain_ranks import plain_hash

from polars_rank import DataError, recommend
from polars_rank.core.exact.stable_hash import stable_hash
from polars_rank.recommend import split_log, split_report


def drawn(seed, rows=300):
    rng = random.Random(seed)
    pick = [
        (rng.randrange(25), rng.randrange(30), rng.randrange(20)) for _ in range(rows)
    ]
    return pl.DataFrame(pick, ["user_id", "item_id", "time"], orient="row")


@pytest.mark.parametrize("memory", [10**9, 10**3])
@pytest.mark.parametrize("ties", ["item", "hash"])
@pytest.mark.parametrize("n", [1, 3])
def test_last_is_that_of_a_loop(n, ties, memory, monkeypatch):
    """With little memory users go into buckets on disk."""
    monkeypatch.setattr(split_log, "MEMORY", memory)
    log = drawn(1, rows=300 if memory > 10**3 else 3000)
    users = {}
    for i, (user, item, time) in enumerate(log.rows()):
        tie = item if ties == "item" else plain_hash(f"7\x1f{user}\x1f{item}")
        users.setdefault(user, []).append((time, tie, i))
    last = {i for rows in users.values() for _, _, i in sorted(rows)[-n:]}
    for given in (log, log.lazy()):
        train, test = (
            part.lazy().collect()
            for part in recommend.split(given, "last", n_last=n, ties=ties, seed=7)
        )
        assert test.rows() == [r for i, r in enumerate(log.rows()) if i in last]
        assert train.rows() == [r for i, r in enumerate(log.rows()) if i not in last]


def test_the_hash_is_by_whole_steps_of_splitmix64():
    """Its published first number from state 0 is the hash of no bytes."""
    found = pl.select(stable_hash([pl.lit("")])).item()
    assert found == plain_hash("") == 0xE220A8397B1DCDAF


def test_users_are_hashed_as_documented():
    log = drawn(2)
    found = recommend.split(log, "users", test_share=0.3, seed=4)
    chosen = {u for u in range(25) if plain_hash(f"4\x1f{u}") < 0.3 * 2**64}
    assert {*found.test["user_id"]} == chosen & {*log["user_id"]}
    assert not {*found.train["user_id"]} & chosen


@pytest.mark.parametrize("cuts", [1, 3, 4096])
@pytest.mark.parametrize(
    "of",
    [
        pl.col("time"),
        pl.from_epoch("time", time_unit="d"),
        pl.format("day {}", pl.col("time") + 10),
        pl.col("time") / 7 - 1,
    ],
)
@pytest.mark.parametrize("share", [0.1, 0.25, 0.5, 0.9])
def test_time_keeps_ties_together(share, of, cuts, monkeypatch):
    monkeypatch.setattr(split_log, "CUTS", cuts)
    log = drawn(3).with_columns(of.alias("time"))
    train, test = recommend.split(log, "time", test_share=share)
    assert train["time"].max() < test["time"].min()
    assert 0 < test.height <= share * log.height
    more = log.filter(pl.col("time") >= train["time"].max()).height
    assert more > share * log.height  # one more time would be too many
    at = test["time"].min()
    assert recommend.split(log, "time", test_start=at).test.equals(test)
    lazy = recommend.split(log.lazy(), "time", test_share=share)
    assert lazy.train.collect().equals(train)
    assert lazy.test.collect().equals(test)
    assert log.filter(pl.col("time") < at).equals(train)  # in the order of the log


@pytest.mark.parametrize("memory", [10**9, 10**3])
@pytest.mark.parametrize("seed", range(3))
def test_check_is_that_of_loops(seed, memory, monkeypatch):
    """With little memory the pairs go into buckets on disk."""
    monkeypatch.setattr(split_report, "MEMORY", memory)
    sizes = (80, 60) if memory > 10**3 else (400, 200)
    old, new = drawn(seed, sizes[0]), drawn(seed + 50, sizes[1])
    a, b = old.rows(), new.rows()
    pairs = [[r[:2] for r in rows] for rows in (a, b)]
    expected = {
        "global_leak": sum(t < max(r[2] for r in a) for _, _, t in b),
        "user_leak": sum(any(r[0] == u and t < r[2] for r in a) for u, _, t in b),
        "item_leak": sum(any(r[1] == i and t > r[2] for r in b) for _, i, t in a),
        "cold_users": len({r[0] for r in b} - {r[0] for r in a}),
        "cold_items": len({r[1] for r in b} - {r[1] for r in a}),
        "pairs_in_both": len({*pairs[0]} & {*pairs[1]}),
        "repeats_in_train": len(pairs[0]) - len({*pairs[0]}),
        "repeats_in_test": len(pairs[1]) - len({*pairs[1]}),
    }
    report = recommend.check_split(old.lazy(), new)
    assert dict(report.findings.select("rule", "count").rows()) == expected
    assert all(rule in str(report) for rule in expected)


@pytest.mark.parametrize("cuts", [1, 2, 3, 4096])
def test_a_share_that_times_have_exactly(cuts, monkeypatch):
    monkeypatch.setattr(split_log, "CUTS", cuts)
    log = pl.DataFrame({"time": [*range(16)]})
    for tested in (1, 4, 8, 12, 15):
        test = recommend.split(log, "time", test_share=tested / 16).test
        assert test["time"].to_list() == [*range(16 - tested, 16)]


def test_a_share_is_as_it_is_written():
    """As floats, 1 - 0.7 is above 0.3, and 0.29 x 100 below 29."""
    log = pl.DataFrame({"time": [i // 10 for i in range(1000)]})
    for percent in range(1, 100):
        test = recommend.split(log, "time", test_share=percent / 100).test
        assert test.height == 10 * percent


def test_ids_of_categories_are_as_text():
    text = drawn(7).with_columns(pl.col("user_id", "item_id").cast(pl.String))
    log = text.with_columns(pl.col("user_id", "item_id").cast(pl.Categorical))
    for how in ("last", "time", "users"):
        found, expected = recommend.split(log, how), recommend.split(text, how)
        assert [part.schema for part in found] == [log.schema] * 2
        assert [p.rows() for p in found] == [p.rows() for p in expected]
    found, expected = (recommend.check_split(rows, rows) for rows in (log, text))
    assert found.findings.equals(expected.findings)


def test_one_time_and_no_rows():
    """Then there is nothing to test on."""
    log = drawn(4).with_columns(time=7)
    assert recommend.split(log, "time").train.equals(log)
    for how in ("last", "time", "users"):
        assert [part.height for part in recommend.split(log[:0], how)] == [0, 0]


@pytest.mark.parametrize("how", ["last", "time"])
def test_a_stream_that_is_read_once_is_refused(how):
    parts = recommend.split(pl.scan_arrow_c_stream(drawn(4)), how)
    with pytest.raises(DataError, match="can be read only once"):
        parts.test.collect()


def test_a_clean_split_and_bad_input():
    log = drawn(5).unique(["user_id", "item_id"])
    report = recommend.check_split(*recommend.split(log, "time"))
    counts = dict(report.findings.select("rule", "count").rows())
    assert not any(counts[name] for name in counts if "cold" not in name)
    with pytest.raises(DataError, match="'user_id' is null in 1 row"):
        recommend.split(pl.DataFrame({"user_id": [None, 1]}), "users")
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="with time="):
        recommend.check_split(log.drop("time"), log)
    with pytest.raises(ValueError, match="n_last must be a whole number"):
        recommend.split(log, n_last=1.5)
    with pytest.raises(ValueError, match="how must be one of"):
        recommend.split(log, "first")


def test_last_is_that_of_rectools():
    splitters = pytest.importorskip("rectools.model_selection")
    rectools = pytest.importorskip("rectools.dataset")
    log = drawn(6).unique(["user_id", "time"], keep="first").sort("user_id", "time")
    pandas = pytest.importorskip("pandas")
    days = pandas.DataFrame(log.to_dict(as_series=False)).assign(weight=1.0)
    days["datetime"] = pandas.to_datetime(days.pop("time"), unit="D")
    splitter = splitters.LastNSplitter(
        2,
        1,
        filter_cold_users=False,
        filter_cold_items=False,
        filter_already_seen=False,
    )
    given = rectools.Interactions(days)
    [(train, test, _)] = splitter.split(given)
    found = recommend.split(log, "last", n_last=2)
    rows = log.rows()
    assert found.train.rows() == [rows[i] for i in sorted(train)]
    assert found.test.rows() == [rows[i] for i in sorted(test)]
