"""States of behavior that were kept: of one definition, each day once, and whole."""

from __future__ import annotations

import json
import math

import polars as pl
import pytest
from test_clicks_behavior import random_log

from polars_rank import DataError, clicks
from polars_rank.clicks.behavior.kept import UNSEEN, definitions_of
from polars_rank.clicks.behavior.measures import BEHAVIOR, parse_behavior
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.log_columns import LogColumns, LogOptions

LOG = random_log(8, impressions=120, users=60).with_columns(
    half=0.5,
)
DAYS = [LOG.filter(pl.col("user_id") % 3 == i) for i in range(3)]
IMPRESSIONS = LOG.select("impression_id", "user_id", "country").unique()
OPTIONS = {"cluster": "user_id", "by": "country", "dwell": "dwell"}
MEASURES = ["ctr", "dwell", "rr"]


def state(log=LOG, measures=MEASURES, **options):
    return clicks.behavior_state(log, measures, **OPTIONS | options)


KEPT = state()
OTHER = {  # than those of OPTIONS, or than the usual ones
    "impression": ["impression_id", "country"],
    "query": "text",
    "doc": "text",
    "position": "page",
    "page": "page",
    "clicked": "yes",
    "count": "count",
    "dwell": "half",
    "time": "when",
    "clicked_at": "when",
    "user": "user_id",
    "session": "user_id",
    "team": "text",
    "arm": "country",
    "propensity": "half",
    "seen": "yes",
    "flag": "yes",
    "page_size": 10,
    "by": [],
    "weight": "impression_id",
    "cluster": ["user_id", "country"],
    "impressions": IMPRESSIONS,
    "first_position": 0,
    "clicked_null": "zero",
    "on_duplicate": "first",
    "check": "off",
    "layout": "any",
    "memory_limit": "1GB",
    "temp_dir": ".",
    "progress": print,
}


def test_no_option_is_forgotten():
    assert {*OTHER} == {*LogOptions.__annotations__} | {*LogColumns.__annotations__}


@pytest.mark.parametrize("name", OTHER)
def test_whatever_can_change_a_value_is_in_the_definition(name):
    """A new option is in it, unless it is said to decide nothing."""
    measures, log = parse_behavior(MEASURES), ClickLog.of(LOG, {})
    plain = definitions_of(measures, log, None, OPTIONS)
    other = definitions_of(measures, log, None, OPTIONS | {name: OTHER[name]})
    for text in MEASURES:
        assert (plain[text] == other[text]) == (name in UNSEEN)
    assert json.loads(plain["ctr"])["cluster"] == "user_id"
    clusters = definitions_of(measures, log, None, OPTIONS, keep_clusters=True)
    assert not {*clusters.values()} & {*plain.values()}
    assert {*KEPT["definition"]} == {*plain.values()}


def test_sums_of_two_kinds_do_not_add_up(tmp_path):
    for options, message in (
        ({"dwell": "half"}, "dwell is 'half' there and 'dwell' here"),
        ({"unit": "impression"}, "unit is 'impression' there and None here"),
        ({"weight": "impression_id"}, "weight is 'impression_id' there and None here"),
        ({"check": "off"}, "check is 'off' there and 'strict' here"),
    ):
        with pytest.raises(DataError, match=message) as told:
            clicks.merge_behavior([state(DAYS[0]), state(DAYS[1], **options)])
        assert told.value.rule == "different_definition"
    paths = [tmp_path / "monday.parquet", tmp_path / "tuesday.parquet"]
    for day, path, k in zip(DAYS, paths, (3, 5), strict=False):
        own = {"hits": lambda i, k=k: i.clicks(k)}
        state(day, own).write_parquet(path)
    with pytest.raises(DataError, match=r"'hits' .*tuesday\.parquet and .*monday\.par"):
        clicks.merge_behavior(paths)
    with pytest.raises(DataError, match="state 2 has other columns: country"):
        clicks.merge_behavior([state(DAYS[0]), state(DAYS[1], by=[])])


def test_a_measure_that_changed_is_another(monkeypatch):
    newer = BEHAVIOR["ctr"]._replace(version=2)
    monkeypatch.setitem(BEHAVIOR, "ctr", newer)
    with pytest.raises(DataError, match="ctr, version 2' there and 'ctr, version 1' h"):
        clicks.merge_behavior([KEPT, state(DAYS[1])])


@pytest.mark.parametrize("make", [pl.DataFrame, pl.DataFrame.lazy])
def test_a_day_merged_twice_is_an_error(make, tmp_path):
    kept = [state(make(day)).lazy().collect() for day in DAYS]
    again = state(DAYS[1].sample(fraction=1, shuffle=True, seed=2))
    assert {*again["digests"]} == {*kept[1]["digests"]}
    for i, one in enumerate([*kept, again]):
        one.write_parquet(tmp_path / f"day{i}.parquet")
    for given in ([*kept, again], pl.concat([*kept, kept[0]]), pl.concat([again] * 2)):
        with pytest.raises(DataError, match="the same part twice") as told:
            clicks.merge_behavior(given)
        assert told.value.rule == "part_twice"
    with pytest.raises(DataError, match=r"day1\.parquet and .*day3\.parquet: the same"):
        clicks.merge_behavior(str(tmp_path / "day*.parquet"))
    whole = clicks.behavior(LOG, MEASURES, interval="normal", **OPTIONS)
    assert clicks.merge_behavior(pl.concat(kept), whole_clusters=True).equals(whole)


def test_days_without_a_change_are_told_apart_by_name():
    two = [state(part=name) for name in ("monday", "tuesday")]
    found = clicks.merge_behavior(two, whole_clusters=True)["impressions"]
    assert found.equals(2 * clicks.merge_behavior(KEPT)["impressions"])


@pytest.mark.parametrize("by", ["country", []])
def test_days_without_rows_add_nothing(by):
    empty = state(LOG.clear(), by=by)
    whole = clicks.merge_behavior(state(by=by))
    assert clicks.merge_behavior([empty, state(by=by), empty]).equals(whole)


def test_segments_are_of_one_type():
    days = [day.with_columns(country=pl.col("impression_id") % 2) for day in DAYS[:2]]
    days[1] = days[1].cast({"country": pl.String})
    with pytest.raises(DataError, match="'country' is text in state 2 and a number in"):
        clicks.merge_behavior([state(day) for day in days])


def put(**values):
    first = pl.int_range(pl.len()) == 0
    return KEPT.with_columns(
        pl.when(first).then(pl.lit(v)).otherwise(n).alias(n) for n, v in values.items()
    )


ANOTHER = state(DAYS[0], part="0")
SUMS = [n for n in KEPT.columns if n.endswith(("_plain", "_0", "_1", "_2", "_3"))]
DAMAGE = {
    **{f"{n} is null": (put(**{n: None}), "are none that imp") for n in (*SUMS, "n")},
    **{f"no {n}": (KEPT.drop(n), f"has no column '{n}'") for n in (*SUMS, "digests")},
    "NaN": (put(x_plain=math.nan), "are none that impressions have"),
    "squares": (put(xx_plain=-1.0), "are none that impressions have"),
    "n below 0": (put(n=-1), "are none that impressions have"),
    "n above": (put(n=10**6), "are none that impressions have"),
    "impressions": (put(impressions=-1), "are none that impressions have"),
    "definition": (put(definition=None), "'definition' is null in 1 row"),
    "older": (KEPT.drop("definition", "digests"), "no state of behavior, but a frame"),
    "measure": (put(measure=None), "are none that impressions have"),
    "text": (KEPT.cast({"n": pl.String}), "column 'n' is String, no number"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_told_with_the_file(name, tmp_path):
    damaged, message = DAMAGE[name]
    path = tmp_path / "monday.parquet"
    damaged.write_parquet(path)
    for given in (path, [path], [ANOTHER, path]):
        pattern = rf"monday\.parquet.*{message}|{message}"
        with pytest.raises(DataError, match=pattern) as told:
            clicks.merge_behavior(given)
        assert told.value.rule == "damaged_state"
        assert "monday.parquet" in str(told.value)
