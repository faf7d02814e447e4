"""Impressions of at most 64 positions are summed as sets, with the same bits."""

from __future__ import annotations

import logging

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from test_clicks_behavior import NAMED, random_log

from polars_rank import DataError, clicks
from polars_rank.clicks.behavior import alike
from polars_rank.clicks.behavior.traced import Traced

MEASURES = [
    *("clicks", "clicks@2", "any_click@70", "ctr", "ctr@3", "ctr_at(k=12)"),
    *("ctr_at(k=99)", "first_click", "last_click", "mean_click", "click_position"),
    *("rr", "rr@64", "mean_rr", "p_skip", "skips", "satisfied_clicks(dwell=4)@2"),
    *("satisfied(unknown=satisfied)", "satisfied_rr", "quick_back", "dwell"),
    *("time_to_first_click", "bad_abandonment", "session_success"),
]


def found(log, caplog, **options):
    """Behavior of a lazy frame, and whether it was summed as sets."""
    caplog.clear()
    with caplog.at_level(logging.INFO, logger="polars_rank"):
        result = clicks.behavior(log.lazy(), MEASURES, **NAMED, **options).collect()
    return (
        result,
        "no position is beyond 64, or twice in an impression (p" in caplog.text,
    )


def at(log, shift):
    return log.with_columns(pl.col("position") + shift)


@pytest.mark.parametrize("layout", ["any", "contiguous", "auto"])
def test_sets_have_the_same_bits(layout, caplog):
    # Shifted, positions are 53 to 64: the last bit of a set.
    for log in (random_log(1), at(random_log(2), 52)):
        log = log.sort("impression_id") if layout == "contiguous" else log
        whole = clicks.behavior(log, MEASURES, by="country", **NAMED, layout=layout)
        result, sets = found(log, caplog, by="country", layout=layout)
        assert sets
        assert_frame_equal(result, whole, check_exact=True)


LOOKS = [*MEASURES[:16], "satisfied_rr(dwell=4)", "quick_back"]
RISKY = {  # infinite without a click, and of an impression that showed nothing
    "by click": lambda i: (1.0 / i.clicks(), i.one),
    "by document": lambda i: (1.0 / i.shown(), i.one),
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("by", [None, "country", ["country", "session_id"]])
@pytest.mark.parametrize("count_queries", [True, False])
def test_impressions_that_look_alike_have_the_same_bits(by, count_queries, monkeypatch):
    monkeypatch.setattr(alike, "TOGETHER", 17)
    log = random_log(5)
    some = log["impression_id"].unique().sort()[::3].to_list()
    quiet = pl.col("impression_id").is_in(some)
    log = log.with_columns(clicked=pl.when(~quiet).then("clicked").otherwise(0))
    options = {"by": by, "count_queries": count_queries, "dwell": "dwell"}
    with pytest.MonkeyPatch.context() as patch:  # impression by impression
        patch.setattr(Traced, "are_of_totals", False)
        whole = clicks.behavior(log.lazy(), [*LOOKS, RISKY], **options).collect()
    found = clicks.behavior(log.lazy(), [*LOOKS, RISKY], **options).collect()
    assert_frame_equal(found, whole, check_exact=True)
    eager = clicks.behavior(log, [*LOOKS, RISKY], **options)
    assert_frame_equal(found, eager, check_exact=True)


def test_of_no_impressions():
    log = random_log(6).head(0).lazy()
    assert clicks.behavior(log, "rr").collect()["queries"].to_list() == [0]
    assert clicks.behavior(log, "rr", by="country").collect().is_empty()


@pytest.mark.parametrize("layout", ["any", "auto"])
def test_deeper_positions_are_summed_one_by_one(layout, caplog):
    log = at(random_log(3), 53)
    result, sets = found(log, caplog, layout=layout)
    assert not sets
    assert_frame_equal(
        result, clicks.behavior(log, MEASURES, **NAMED), check_exact=True
    )


def test_a_position_that_comes_twice(caplog):
    log = random_log(4)
    log = pl.concat([log, log.filter(impression_id=7).head(1)])
    with pytest.raises(DataError, match="7") as lazy:
        found(log, caplog)
    with pytest.raises(DataError) as eager:
        clicks.behavior(log, MEASURES, **NAMED)
    assert str(lazy.value) == str(eager.value)
    result, sets = found(log, caplog, check="off")
    assert not sets
    whole = clicks.behavior(log, MEASURES, **NAMED, check="off")
    assert_frame_equal(result, whole, check_exact=True)


def test_rows_that_break_a_rule_are_told_as_ever(caplog):
    log = random_log(5)
    log = log.with_columns(dwell=pl.when(impression_id=3).then(-1.0).otherwise("dwell"))
    with pytest.raises(DataError) as lazy:
        found(log, caplog)
    with pytest.raises(DataError) as eager:
        clicks.behavior(log, MEASURES, **NAMED)
    assert str(lazy.value) == str(eager.value)


@pytest.mark.parametrize("column", ["country", "user_id", "weight"])
def test_a_constant_that_is_null_now_and_then(column, caplog):
    """As two values: in some rows of an impression only, and not in all of them."""
    log = random_log(6)
    first = log.filter(impression_id=9)["position"].min()
    here = pl.col("impression_id") == 9
    all_null = log.with_columns(pl.when(~here).then(column))
    some = log.with_columns(pl.when(~here | (pl.col("position") > first)).then(column))
    assert found(all_null, caplog, by=column)[1]
    for frame in (some, some.lazy()):
        with pytest.raises(DataError, match="9"):
            clicks.behavior(frame, "clicks", by=column).lazy().collect()
