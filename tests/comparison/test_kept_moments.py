"""Moments that were kept: of one definition, each day once, and possible."""

from __future__ import annotations

import inspect
import json
import math

import polars as pl
import pytest
from test_moments import ENVELOPE, assert_same, crowded, log, parts

import polars_rank as pr
from polars_rank.comparison.input import reading
from polars_rank.comparison.sums.definition import Definition
from polars_rank.core.metric.registry import METRICS

MEASURES = ["ndcg@10", "arp"]
OTHER = {
    "system": "engine",
    "query": ["query_id", "country"],
    "measures": ["arp"],
    "by": "country",
    "weight": "weight",
    "cluster": "user",
    "repeat": "repeat",
    "tie": 0.01,
    "convention": "lenskit",
    "definition": Definition.of(
        MEASURES, "trec_eval", ["query_id"], options={"max_rank": 3}
    ),
}
UNSEEN = {"values", "path", "part"}  # decide no value


def made(frame=None, **options) -> pl.DataFrame:
    frame = log() if frame is None else frame
    frame = frame.with_columns(repeat=1, engine="system")
    return pr.comparison.moments(frame, **{"measures": MEASURES, **options})


def test_whatever_can_change_a_value_is_in_the_definition():
    """Those of segments are columns."""
    known = inspect.signature(pr.comparison.moments).parameters
    assert {*known} == {*OTHER} | UNSEEN
    plain = made()
    for name, value in OTHER.items():
        if name == "measures":
            continue  # each measure has a definition of its own
        found = made(**{name: value})
        same = {*found["definition"]} == {*plain["definition"]}
        assert same == (name == "by"), name
        assert ("country" in found.columns) == (name == "by")


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"weight": "weight"}, "weight is 'weight' there and None here"),
        ({"cluster": "user"}, "cluster is 'user' there and None here"),
        ({"tie": 0.5}, "tie is 0.5 there and 1e-09 here"),
    ],
)
def test_sums_of_two_kinds_do_not_add_up(option, message, tmp_path):
    """A mean of weights of 10 and of queries was 2/103 of the truth."""
    days = log().partition_by("day", include_key=False)[:2]
    plain, other = made(days[0]), made(days[1], **option)
    paths = [tmp_path / "monday.parquet", tmp_path / "tuesday.parquet"]
    for state, path in zip((plain, other), paths, strict=True):
        state.write_parquet(path)
    for call in (
        lambda: pr.comparison.merge(paths),
        lambda: pr.compare(str(tmp_path / "*.parquet")),
        lambda: pr.compare(pl.concat([plain, other])),
        lambda: pr.comparison.trend(
            pr.comparison.merge([plain]).vstack(other), time="system"
        ),
    ):
        with pytest.raises(pr.DataError, match=message) as told:
            call()
        assert told.value.rule == "different_definition"
    with pytest.raises(pr.DataError, match=r"\(.*tuesday\.parquet and .*monday\.parq"):
        pr.comparison.merge(paths)


def test_a_measure_that_changed_is_another(monkeypatch):
    kept, rest = parts(log(), measures=MEASURES)[:2]
    monkeypatch.setattr(pr, "__version__", "99.0")
    pr.comparison.merge([kept, parts(log(), measures=MEASURES)[1]])
    monkeypatch.setitem(METRICS["ndcg"].__dict__, "version", 2)
    rest = parts(log(), measures=MEASURES)[1]
    with pytest.raises(
        pr.DataError, match=r"version 2' there and 'ndcg@10, version 1'"
    ):
        pr.comparison.merge([kept, rest])


# -- each part once


def test_a_day_merged_twice_is_an_error(tmp_path):
    days = log().partition_by("day", include_key=False)
    kept = [made(day) for day in days]
    again = made(days[1].sample(fraction=1, shuffle=True, seed=3))
    systems = made(pl.concat([days[1].filter(system=name) for name in "cab"]))
    month = pr.comparison.merge(kept)
    assert len(month["digests"][0].split(" ")) == len(days)
    for given in (
        [*kept, again],
        [*kept, systems],
        [month, kept[2]],
        [pr.comparison.merge([month]), month],
        pl.concat([*kept, kept[0]]),
    ):
        with pytest.raises(pr.DataError, match="the same part twice") as told:
            pr.comparison.merge(given)
        assert told.value.rule == "part_twice"
    with pytest.raises(pr.DataError, match="the same part twice"):
        pr.compare(pl.concat([kept[0], kept[0]]))
    for i, state in enumerate((kept[0], kept[1], kept[0])):
        state.write_parquet(tmp_path / f"day{i}.parquet")
    with pytest.raises(
        pr.DataError, match=r"day0\.parquet and .*day2\.parquet: the sa"
    ):
        pr.compare(str(tmp_path / "day*.parquet"))
    measures = [kept[0].filter(measure=name) for name in MEASURES]
    assert_same(pr.comparison.merge(measures), pr.comparison.merge(kept[:1]))


def test_days_without_a_change_are_told_apart_by_name():
    day = log().filter(day=1).drop("day")
    two = [made(day, part=name) for name in ("monday", "tuesday")]
    assert pr.comparison.merge(two)["queries"][0] == 2 * day["query_id"].n_unique()
    assert pr.comparison.merge(two, unit="part")["n"][0] == 2
    with pytest.raises(pr.DataError, match="name each with part= where it is made"):
        pr.comparison.merge([made(day), made(day)], unit="part")


def test_a_digest_knows_no_parts(monkeypatch):
    """Of rows that are read in parts of whole queries."""
    frame = crowded()
    options = {"measures": ["ndcg@10"], "weight": "weight", "cluster": "user"}
    whole = pr.comparison.moments(frame, **options)["digests"][0]
    monkeypatch.setattr(reading, "WHOLE", 5_000)
    assert pr.comparison.moments(frame.lazy(), **options)["digests"][0] == whole
    for column in ("ndcg@10", "weight"):
        other = frame.with_columns(pl.col(column) * 2)
        assert pr.comparison.moments(other, **options)["digests"][0] != whole


def test_days_of_one_segment_may_be_rolled():
    """Windows of a trend overlap: their days are the same parts."""
    frame = log()
    options = {"time": "day", "window": 3, "measures": ["arp"]}
    expected = pr.comparison.trend(frame, **options)
    days = [
        made(day.drop("day"), measures=["arp"]).with_columns(day=pl.lit(i))
        for (i,), day in frame.partition_by("day", as_dict=True).items()
    ]
    found = pr.comparison.trend(pr.comparison.merge(days), **options)
    assert_same(found.cast({"day": pl.Int64}), expected)


# -- damage

KEPT = made()


def put(**values) -> pl.DataFrame:
    """The last row, of a pair, changed."""
    last = pl.int_range(pl.len()) == len(KEPT) - 1
    return KEPT.with_columns(
        pl.when(last).then(pl.lit(v)).otherwise(n).alias(n) for n, v in values.items()
    )


NULLS = ["measure", "system", "queries", "n", "x", "d", "ee", "ed", "dd", "squares"]
DAMAGE = {
    **{f"{n} is null": (put(**{n: None}), "a value is null") for n in NULLS},
    **{
        f"{n} is {v}": (put(**{n: v}), "a sum is infinite or NaN")
        for n in NULLS[4:]
        for v in (math.nan, math.inf)
    },
    "n below 0": (put(n=-1), "n is not between 0 and the number of queries"),
    "n above": (put(n=10**6), "n is not between 0 and the number of queries"),
    "queries below 0": (put(queries=-5, n=-5), "n is not between 0"),
    "d is 0": (put(d=0.0), "d and dd are not those of n units"),
    "d below 0": (put(d=-4.0), "d and dd are not those of n units"),
    "dd is 0": (put(dd=0.0), "d and dd are not those of n units"),
    "ee below 0": (put(ee=-1.0), "a sum of squares is below 0"),
    "squares below 0": (put(squares=-1.0), "a sum of squares is below 0"),
    "wins": (put(wins=10**6), "wins, ties and losses do not add up"),
    "wins below 0": (put(wins=-1), "wins, ties and losses do not add up"),
    "wins are null": (put(wins=None), "wins, ties and losses do not add up"),
    "no rows": (KEPT.clear(), "has no rows"),
    "definition is null": (put(definition=None), "'definition' is null in 1 row"),
    "digests are null": (put(digests=None), "'digests' is null in 1 row"),
    "older": (
        KEPT.drop("digests").with_columns(definition=pl.lit("rr by trec_eval")),
        "was written before format 1, or",
    ),
    "text": (KEPT.cast({"x": pl.String}), "column 'x' is String, no number"),
}


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_is_told_with_the_file(name, tmp_path):
    damaged, message = DAMAGE[name]
    path = tmp_path / "monday.parquet"
    damaged.write_parquet(path)
    day = log().filter(day=0).drop("day")
    sound = made(day.with_columns(query_id="new " + pl.col("query_id")))
    for call in (
        lambda: pr.comparison.merge(path),
        lambda: pr.comparison.merge([sound, path]),
        lambda: pr.compare(path),
        lambda: pr.compare(path, measures=["arp"]),
    ):
        with pytest.raises(pr.DataError, match=message) as caught:
            call()
        assert caught.value.rule == "damaged_state"
        assert "monday.parquet" in str(caught.value)
    if len(damaged):
        with pytest.raises(pr.DataError, match=message):
            pr.compare(pl.concat([damaged, sound], how="diagonal_relaxed"))


@pytest.mark.parametrize("name", KEPT.columns)
def test_a_lost_column_is_told(name):
    with pytest.raises(pr.DataError, match=f"no moments, but|has no column '{name}'"):
        pr.comparison.merge([KEPT.drop(name)])


def test_segments_are_of_one_type():
    days = log().partition_by("day", include_key=False)
    numbered = [day.with_columns(country=pl.col("weight") % 2) for day in days[:2]]
    numbered[1] = numbered[1].cast({"country": pl.String})
    states = [made(day, by="country") for day in numbered]
    with pytest.raises(pr.DataError, match="'country' is text in part 2 and a number"):
        pr.comparison.merge(states)


def test_sound_moments_pass():
    """Of few queries and constant values, added up many times in any grouping."""
    frame = crowded()
    for options in ({}, {"weight": "weight"}, {"cluster": "user"}):
        state = None
        for i in range(15):
            shift = pl.col("ndcg@10") * 10.0 ** (i % 7 - 3) + (i % 5) * 1e3
            day = frame.filter(pl.col("query_id") < f"q{i}").with_columns(
                shift.alias("ndcg@10") if i % 3 else pl.lit(1 / 3).alias("ndcg@10")
            )
            if len(day):
                one = pr.comparison.moments(
                    day, measures=["ndcg@10"], part=f"{i}", **options
                )
                unit = "cluster" if "cluster" in options else "row"
                state = (
                    one
                    if state is None
                    else pr.comparison.merge([state, one], unit=unit)
                )
        pr.compare(state)
        assert json.loads(state["definition"][0])["tie"] == 1e-9
    assert {*ENVELOPE} <= {*state.columns}
