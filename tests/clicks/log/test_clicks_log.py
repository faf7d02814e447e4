"""Click logs: what ``check`` and ``dedupe`` say of rows, by plain loops."""

from __future__ import annotations

import random
import warnings
from collections import Counter, defaultdict
from datetime import datetime, timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from slow import slow

from polars_rank import DataError, DataWarning, clicks, example
from polars_rank.core.source import lazy_source


def random_log(seed, impressions=60, queries=5, docs=6):
    rng = random.Random(seed)
    rows = []
    for i in range(impressions):
        query = rng.randrange(queries)
        shown = rng.sample(range(docs), rng.randint(1, docs))
        for position, doc in enumerate(shown, start=1):
            if rng.random() < 0.1:
                continue  # a position that was skipped
            rows.append(
                (i, f"q{query}", f"d{doc}", position, rng.random() < 0.3, i % 7)
            )
    names = ["impression_id", "query_id", "doc_id", "position", "clicked", "user_id"]
    return pl.DataFrame(rows, schema=names, orient="row")


def facts(report):
    return dict(report.facts.iter_rows())


def plain_facts(log):
    lists, pairs, places = defaultdict(list), defaultdict(list), Counter()
    users = Counter()
    for row in log.iter_rows(named=True):
        lists[row["impression_id"]].append(row)
        pairs[row["query_id"], row["doc_id"]].append(row["position"])
        places[row["position"]] += 1
        users[row["user_id"]] += 1
    n, rows = len(lists), log.height
    spans = [[r["position"] for r in shown] for shown in lists.values()]
    clicked = [sum(r["clicked"] for r in shown) for shown in lists.values()]
    often = [len(p) for p in pairs.values() if len(p) >= 50]
    return {
        "rows": rows,
        "rows that break no rule": rows,
        "impressions": n,
        "queries": len({q for q, _ in pairs}),
        "query-document pairs": len(pairs),
        "users": len([user for user in users if user is not None]),
        "share of the busiest user": max(
            n for user, n in users.items() if user is not None
        )
        / rows,
        "share of rows without a user": users[None] / rows,
        "positions": len(places),
        "clicks": sum(clicked),
        "clicks per row that breaks no rule": sum(clicked) / rows,
        "share of impressions without a click": clicked.count(0) / n,
        "share of impressions with several clicks": sum(c > 1 for c in clicked) / n,
        "share of impressions that skip a position": sum(
            max(s) - min(s) + 1 > len(s) for s in spans
        )
        / n,
        "share of impressions that begin below position 1": sum(
            min(s) > 1 for s in spans
        )
        / n,
        "share of pairs shown at several positions": sum(
            len({*p}) > 1 for p in pairs.values()
        )
        / len(pairs),
        "share of rows whose pair was shown 50 times or more": sum(often) / rows,
        "positions that pairs link to the first": reached(pairs.values()),
    }


def reached(groups):
    """Positions that a walk over shared documents finds from the first."""
    groups = [{*group} for group in groups]
    seen = {min(map(min, groups))}
    for _ in range(100):
        for group in groups:
            if group & seen:
                seen |= group
    return len(seen)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("limit", [None, slow("1GB")])
def test_facts_are_those_of_a_plain_loop(seed, limit):
    log = random_log(seed, impressions=40 * 4**seed)
    if seed % 2:  # some users are not known
        known = pl.col("user_id") > 1
        log = log.with_columns(user_id=pl.when(known).then("user_id"))
    found = facts(clicks.report(log.lazy(), memory_limit=limit))
    wanted = plain_facts(log)
    assert found.keys() == wanted.keys()
    for name, value in wanted.items():
        assert found[name] == pytest.approx(value, rel=1e-12, abs=0), name


@pytest.mark.slow
def test_facts_do_not_depend_on_the_order_of_rows_or_on_buckets(tmp_path, monkeypatch):
    log = clicks.simulate(3000, n_queries=50, seed=4).draw()
    wanted = clicks.report(log).facts
    assert clicks.report(log.sample(fraction=1, shuffle=True, seed=1)).facts.equals(
        wanted
    )
    budget = "polars_rank._engine.spill.budget.Budget.of"
    from polars_rank._engine.spill.budget import Budget

    monkeypatch.setattr(budget, lambda *_: Budget(200_000, 1 << 20))
    spilled = clicks.report(log, memory_limit="1GB", temp_dir=tmp_path)
    assert spilled.facts.equals(wanted)
    assert spilled.positions.equals(clicks.report(log).positions)


def test_a_position_that_no_document_connects_is_seen():
    log = pl.DataFrame(
        {
            "impression_id": [1, 1, 2, 2],
            "query_id": [1, 1, 1, 1],
            "doc_id": ["a", "b", "b", "c"],
            "position": [1, 2, 1, 3],
            "clicked": [1, 0, 0, 0],
        }
    )
    assert facts(clicks.report(log))["positions that pairs link to the first"] == 2


def methods(report):
    return {name: (possible, why) for name, possible, why in report.methods.iter_rows()}


def test_what_can_be_estimated():
    log = pl.scan_parquet(example.clicks_path())
    named = {"dwell": "dwell", "team": "team", "arm": "arm"}
    found = methods(clicks.report(log, **named))
    assert all(possible for possible, _ in found.values())
    assert "2164 query-document pairs" in found["propensities: harvest"][1]
    bare = methods(clicks.report(log.drop("user_id", "dwell")))
    for name in ("intervals by user", "satisfied clicks", "interleaving"):
        assert not bare[name][0]
    still = log.unique(["query_id", "doc_id"])  # each document at one position
    found = methods(clicks.report(still))
    assert not found["propensities: harvest"][0]
    assert not found["propensities: em"][0]
    none = methods(clicks.report(log.with_columns(clicked=pl.lit(0))))
    assert not any(
        possible for name, (possible, _) in none.items() if name != "intervals by user"
    )


def test_a_query_for_every_impression_is_noticed():
    """The id of a search event is taken for that of a query."""
    log = pl.scan_parquet(example.clicks_path())
    found = methods(clicks.report(log, query="impression_id"))
    assert not found["propensities"][0]
    assert "an id of the search event" in found["propensities"][1]


def test_columns_of_ubi():
    log = random_log(1)
    names = dict(zip(clicks.UBI.values(), clicks.UBI, strict=True))
    own = {
        "impression": "impression_id",
        "query": "query_id",
        "doc": "doc_id",
        "position": "position",
        "user": "user_id",
    }
    ubi = log.select(
        "clicked", *(pl.col(own[role]).alias(name) for name, role in names.items())
    )
    assert facts(clicks.report(ubi, **clicks.UBI)) == facts(clicks.report(log))


def test_totals_have_the_facts_of_the_rows():
    log = random_log(3, impressions=300)
    totals = log.group_by("query_id", "doc_id", "position").agg(
        impressions=pl.len(), clicks=pl.col("clicked").sum()
    )
    found = clicks.report(totals, count="impressions", clicked="clicks")
    whole = clicks.report(log)
    assert found.positions.equals(whole.positions)
    assert (
        facts(found)["share of rows whose pair was shown 50 times or more"]
        == (facts(whole)["share of rows whose pair was shown 50 times or more"])
    )
    assert not methods(found)["behavior"][0]
    wrong = totals.with_columns(clicks=pl.col("impressions") + 1)
    faults = clicks.report(wrong, count="impressions", clicked="clicks").faults
    assert faults["rule"].to_list() == ["invalid_click"]


# -- rules


def one(**columns):
    rows = {
        "impression_id": [1, 1, 2],
        "query_id": ["a", "a", "b"],
        "doc_id": ["x", "y", "x"],
        "position": [1, 2, 1],
        "clicked": [1, 0, 1],
        "dwell": [3.0, None, 40.0],
        "time": [10.0, 10.0, 20.0],
        "clicked_at": [12.0, None, 21.0],
        "arm": ["A", "A", "B"],
        "p": [1.0, 0.5, 1.0],
        "user_id": [1, 1, 2],
    }
    return pl.DataFrame(rows | columns, strict=False)


NAMED = {
    "dwell": "dwell",
    "time": "time",
    "clicked_at": "clicked_at",
    "arm": "arm",
    "propensity": "p",
    "user": "user_id",
}

BROKEN = {
    "null_impression": {"impression_id": [1, None, 2]},
    "invalid_position": {"position": [1, None, 1]},
    "invalid_position ": {"position": [1, 2, 0]},
    "invalid_position  ": {"position": [1, 2, -3]},
    "invalid_click": {"clicked": [1, 0, 2]},
    "invalid_click ": {"clicked": [1, None, 1]},
    "invalid_click  ": {"clicked": [1.0, 0.5, 1.0]},
    "invalid_click   ": {"clicked": [1.0, 0.0, float("nan")]},
    "null_query": {"query_id": ["a", "a", None]},
    "null_doc": {"doc_id": ["x", None, "x"]},
    "invalid_dwell": {"dwell": [-1.0, None, 2.0]},
    "invalid_dwell ": {"dwell": [float("inf"), None, 2.0]},
    "invalid_dwell  ": {"dwell": [float("nan"), None, 2.0]},
    "click_before_impression": {"clicked_at": [9.0, None, 21.0]},
    "invalid_propensity": {"p": [1.0, 0.0, 1.0]},
    "invalid_propensity ": {"p": [1.0, None, 1.0]},
    "invalid_propensity  ": {"p": [1.0, 1.5, 1.0]},
    "invalid_propensity   ": {"p": [1.0, float("nan"), 1.0]},
    "null_arm": {"arm": ["A", "A", None]},
    "duplicate_position": {"position": [1, 1, 1]},
    "duplicate_shown": {"doc_id": ["x", "x", "x"]},
    "two_values": {"user_id": [1, 2, 3]},
    "two_values ": {"query_id": ["a", "b", "b"]},
    "two_values  ": {"arm": ["A", "B", "B"]},
}


def test_a_sound_log_has_no_faults():
    assert clicks.report(one(), **NAMED).faults.is_empty()


@pytest.mark.parametrize("rule", BROKEN)
def test_broken_rules_are_counted(rule):
    faults = clicks.report(one(**BROKEN[rule]), **NAMED).faults
    assert faults["rule"].to_list() == [rule.strip()]
    assert faults["rows"].to_list() == [1]
    assert ";" in faults["message"][0], "it says the way out"


def test_positions_from_zero_pages_and_null_clicks():
    log = one(position=[0, 1, 0], clicked=[1, None, 1], page=[1, 1, 3])
    options = {"first_position": 0, "clicked_null": "zero"}
    report = clicks.report(log, **options)
    assert report.faults.is_empty()
    assert report.positions.rows() == [(1, 2, 2, 1.0), (2, 1, 0, 0.0)]
    report = clicks.report(log, page="page", page_size=10, **options)
    assert report.positions["position"].to_list() == [1, 2, 21]


def test_rows_that_were_not_seen_do_not_count():
    report = clicks.report(one(seen=[True, False, True]), seen="seen")
    assert facts(report)["rows"] == 2


def test_one_row_per_document():
    log = one(doc_id=["x", "x", "x"], clicked=[0, 1, 0])
    report = clicks.report(log, on_duplicate="first")
    assert report.faults.is_empty()
    assert report.positions.rows() == [(1, 2, 1, 0.5)]


def test_durations_and_datetimes():
    start = datetime(2026, 1, 1)
    log = one().with_columns(
        dwell=pl.duration(seconds=pl.col("dwell")),
        time=start + pl.duration(seconds=pl.col("time")),
        clicked_at=start + pl.duration(seconds=pl.col("clicked_at")),
    )
    assert clicks.report(log, **NAMED).faults.is_empty()
    late = log.with_columns(time=pl.col("time") + timedelta(seconds=1.5))
    faults = clicks.report(late, **NAMED).faults
    assert faults.select("rule", "rows").rows() == [("click_before_impression", 1)]


ARGUMENTS = [
    ({"positoin": "position"}, TypeError, "positoin.*did you mean 'position'"),
    (
        {"position": "place"},
        pl.exceptions.ColumnNotFoundError,
        "position column 'place'",
    ),
    ({"position": "doc_id"}, TypeError, "a position must be an integer"),
    ({"clicked": "doc_id"}, TypeError, "a click must be a Boolean"),
    ({"dwell": "doc_id"}, TypeError, "a dwell time must be"),
    ({"time": "doc_id"}, TypeError, "a time must be a Datetime"),
    ({"arm": "p"}, TypeError, "an arm must be"),
    ({"seen": "clicked"}, TypeError, "a Boolean column"),
    ({"first_position": 2}, ValueError, "first_position must be one of 0, 1"),
    ({"clicked_null": "one"}, ValueError, "clicked_null must be one of error, zero"),
    ({"on_duplicate": "best"}, ValueError, "on_duplicate must be one of"),
    ({"check": "lax"}, ValueError, "check must be one of"),
    ({"page": "position"}, ValueError, "page_size= belong together"),
    ({"page": "position", "page_size": 0}, ValueError, "page_size must be"),
    ({"impression": []}, ValueError, "impression must name at least one"),
    ({"temp_dir": "x"}, ValueError, "give memory_limit too"),
    ({"on_duplicate": "first", "doc": None}, ValueError, "name it with doc="),
]


@pytest.mark.parametrize(("options", "error", "message"), ARGUMENTS)
def test_wrong_arguments(options, error, message):
    log = one().drop("doc_id") if "doc" in options else one()
    with pytest.raises(error, match=message):
        clicks.report(log, **options)
    with pytest.raises(TypeError, match="the log must be a frame"):
        clicks.report(len(log))


def test_both_times_are_of_one_kind():
    log = one(time=[datetime(2026, 1, 1)] * 3)
    with pytest.raises(TypeError, match="both must be Datetime, or both seconds"):
        clicks.report(log, time="time", clicked_at="clicked_at")


# -- dedupe


def plain_dedupe(log, keys, seconds):
    """Of each series of the same list: the first, with the clicks of all."""
    lists = defaultdict(list)
    for row in log.iter_rows(named=True):
        lists[row["impression_id"]].append(row)
    series = defaultdict(list)
    for rows in lists.values():
        shown = tuple(sorted((r["position"], r["doc_id"]) for r in rows))
        key = (*(rows[0][k] for k in keys), shown)
        series[key].append(rows)
    kept = []
    for several in series.values():
        several.sort(key=lambda rows: (rows[0]["time"], rows[0]["impression_id"]))
        last = None
        for rows in several:
            time = rows[0]["time"]
            if last is None or (time - last).total_seconds() > seconds:
                head = {r["doc_id"]: dict(r) for r in rows}
                kept += head.values()
            else:
                for r in rows:
                    into = head[r["doc_id"]]
                    into["clicked"] |= r["clicked"]
                    both = [d for d in (into["dwell"], r["dwell"]) if d is not None]
                    into["dwell"] = max(both, default=None)
            last = time
    return sorted(
        (r["impression_id"], r["position"], r["clicked"], r["dwell"]) for r in kept
    )


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("lazy", [True, False])
def test_repeated_searches_are_united(seed, lazy):
    rng = random.Random(seed)
    rows, start = [], datetime(2026, 1, 1)
    for i in range(80):
        time = start + timedelta(minutes=rng.randrange(300))
        query, user = rng.randrange(2), rng.choice([None, 1, 2])
        docs = ["a", "b"] if rng.random() < 0.7 else ["b", "a"]
        for position, doc in enumerate(docs, start=1):
            clicked = rng.random() < 0.3
            dwell = rng.randrange(90) if clicked else None
            rows.append((i, user, query, doc, position, clicked, dwell, time))
    names = ["impression_id", "user_id", "query_id", "doc_id", "position", "clicked"]
    log = pl.DataFrame(rows, schema=[*names, "dwell", "time"], orient="row")
    frame = log.lazy() if lazy else log
    found = clicks.dedupe(frame, within="20m", time="time", dwell="dwell")
    assert type(found) is type(frame)
    found = found.lazy().collect()
    assert found.schema == log.schema
    assert found.height < log.height
    wanted = plain_dedupe(log, ["user_id", "query_id"], 20 * 60)
    shown = found.select("impression_id", "position", "clicked", "dwell").rows()
    assert sorted(shown) == wanted
    assert found["impression_id"].is_sorted(), "the order of rows is kept"


@pytest.mark.parametrize("rule", [r for r in BROKEN if r != "duplicate_shown"])
def test_no_broken_log_is_united(rule):
    log = one(**BROKEN[rule])
    with pytest.raises(DataError) as error:
        clicks.dedupe(log, **NAMED)
    assert error.value.rule == rule.strip()


def test_no_row_is_lost_where_an_impression_is_unknown():
    log = pl.DataFrame(
        {
            "impression_id": [1, 1, None, None],
            "user_id": 1,
            "query_id": "q",
            "doc_id": ["a", "b", "a", "c"],
            "position": [1, 2, 1, 2],
            "clicked": [0, 0, 1, 0],
            "time": [0.0, 0.0, 9e5, 9e5],
        }
    )
    assert clicks.dedupe(log, time="time", check="off").equals(log)
    with pytest.warns(DataWarning, match="impression ids are null"):
        assert clicks.dedupe(log, time="time", check="warn").equals(log)


def test_repeated_searches_in_pages_and_with_rows_that_were_not_seen():
    rng = random.Random(4)
    rows = []
    for i in range(60):
        docs = rng.choice([["a", "b", "c"], ["a", "c", "b"]])
        depth = rng.randrange(1, 4)  # rows that were seen
        for position, doc in enumerate(docs, start=1):
            seen, clicked = position <= depth, rng.random() < 0.3
            rows.append((i, "u", "q", doc, position, clicked, 60.0 * i, seen))
    names = ["impression_id", "user_id", "query_id", "doc_id", "position", "clicked"]
    log = pl.DataFrame(rows, schema=[*names, "time", "seen"], orient="row")
    wanted = clicks.dedupe(log, time="time", within=120)
    place = pl.col("position") - 1
    paged = log.with_columns(page=place + 1, position=pl.lit(1))  # one per page
    pages = {"page": "page", "page_size": 1}
    found = clicks.dedupe(paged, time="time", within=120, **pages)
    assert found.drop("page", "position").equals(wanted.drop("position"))
    wanted = clicks.dedupe(log.filter("seen"), time="time", within=120)
    assert wanted.height < log.filter("seen").height
    found = clicks.dedupe(log, time="time", within=120, seen="seen")
    assert found.equals(wanted)


def test_times_in_words():
    log = one(doc_id=["x", "y", "x"], query_id=["a", "a", "a"], user_id=[1, 1, 1])
    log = log.filter(pl.col("position") == 1)  # the same list, ten seconds apart
    for within, rows in (("10s", 1), (9.5, 2), (timedelta(seconds=10), 1), ("1 h", 1)):
        assert clicks.dedupe(log, within=within, time="time").height == rows
    for wrong in ("soon", "-1s", -1, True):
        with pytest.raises(ValueError, match='"30m" or "1h"'):
            clicks.dedupe(log, within=wrong, time="time")
    with pytest.raises(ValueError, match="times of impressions: name it with time="):
        clicks.dedupe(log)
    with pytest.raises(ValueError, match="keys must name"):
        clicks.dedupe(log, keys=[], time="time")


@pytest.mark.parametrize("name", ["dwell", "clicked_at"])
def test_a_column_that_is_unknown_everywhere(name):
    log = clicks.simulate(200, n_queries=5, seed=1).draw()
    typed = log.with_columns(pl.lit(None, log.schema[name]).alias(name))
    untyped = log.with_columns(pl.lit(None).alias(name))
    options = {"time": "time", name: name}
    measure = {
        "dwell": "satisfied_clicks(dwell=5)",
        "clicked_at": "time_to_first_click",
    }
    found = [
        clicks.behavior(frame, ["ctr", measure[name]], **options)
        for frame in (typed, untyped)
    ]
    assert_frame_equal(*found)
    keys = ["user_id", "query_id"]
    united = [clicks.dedupe(f, keys=keys, **options) for f in (typed, untyped)]
    assert_frame_equal(*(frame.drop(name) for frame in united))


@pytest.mark.filterwarnings("ignore:intervals treat")
@pytest.mark.parametrize("layout", ["any", "auto", "contiguous"])
@pytest.mark.parametrize("kind", ["frame", "lazy", "file"])
def test_first_position_0_of_a_log_from_1_is_warned_of(kind, layout, tmp_path):
    """And nothing else changes: neither the result nor what a log from 0 gives."""
    log = (
        clicks.simulate(300, n_queries=9, seed=2)
        .draw()
        .with_columns(pl.col("position").cast(pl.Int16))
    )

    def given(log):
        if kind == "file":
            log.write_parquet(tmp_path / "log.parquet")
            return pl.scan_parquet(tmp_path / "log.parquet")
        return log.lazy() if kind == "lazy" else log

    options = {"layout": layout, "first_position": 0}
    wanted = clicks.behavior(log, ["ctr@3", "rr"], layout=layout)
    zero = log.with_columns(pl.col("position") - 1)
    found = clicks.behavior(given(zero), ["ctr@3", "rr"], **options)
    assert_frame_equal(found.lazy().collect(), wanted)
    shifted = clicks.behavior(log.with_columns(pl.col("position") + 1), ["ctr@3"])
    with pytest.warns(
        DataWarning, match="but the smallest is 1, so results begin at position 2"
    ):
        found = clicks.behavior(given(log), ["ctr@3"], **options).lazy().collect()
    assert_frame_equal(found, shifted)


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 1])
def test_first_position_0_reads_a_log_from_0_once(first):
    """Positions are looked up as far as the first 0: here, in the first part."""
    row = pl.DataFrame({"position": first, "clicked": True})
    parts, read = 150, []

    def ids(columns):
        for i in range(parts):
            read.append(i)
            yield row.with_columns(impression_id=i).select(columns)

    schema = {"impression_id": pl.Int32, **row.schema}
    log = lazy_source(ids, schema, name="parts", rereadable=True)
    options = {"first_position": 0, "layout": "contiguous", "check": "warn"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clicks.behavior(log, "ctr", **options).collect()
    assert read.count(parts - 1) == 1 + first
    assert (len(read) > 1.5 * parts) == bool(first)


def test_first_position_0_is_watched_by_every_function(tmp_path):
    log = clicks.simulate(
        300, n_queries=9, n_users=40, interleaved_share=1.0, seed=2
    ).draw()
    zero = log.with_columns(pl.col("position").cast(pl.Int16) - 1).lazy()
    options = {"first_position": 0, "cluster": "user_id"}
    for given, first in ((log, 1), (zero, 0)):
        options["first_position"] = first
        team = clicks.interleaving(given, team="team", **options).lazy().collect()
        bias = clicks.propensities(given, **options).lazy().collect()
        score = clicks.counterfactual(
            given, new="new_score", propensities=1.0, **options
        )
        whole = clicks.report(given, first_position=first).facts
        limited = clicks.behavior(
            given, "rr", memory_limit="1GB", temp_dir=tmp_path, first_position=first
        )
        found = [team, bias, score.lazy().collect(), whole, limited.lazy().collect()]
        if first:
            wanted = found
    for one, other in zip(found, wanted, strict=True):
        assert_frame_equal(one, other)


def test_a_report_knows_all_impressions():
    """Those without results, and users that only their frame knows."""
    log = clicks.simulate(30, n_queries=3, n_users=9, k=3, n_docs=5, seed=1).draw()
    every = log.select("impression_id", "user_id").unique()
    more = pl.DataFrame({"impression_id": [90, 91], "user_id": [1, 2]})
    every = pl.concat([every, more.cast(dict(every.schema))])
    for frame in (log, log.drop("user_id")):
        facts = clicks.report(frame, impressions=every, user="user_id").facts
        found = dict(facts.iter_rows())
        assert found["impressions"] == 30
        assert found["impressions without results"] == 2
        assert found["users"] == log["user_id"].n_unique()
    assert "impressions without results" not in clicks.report(log).facts["item"]
