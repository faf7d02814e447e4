"""Moments: parts add up to the whole; what does not fit together is refused."""

from __future__ import annotations

import dataclasses
import json
import math
import random
from fractions import Fraction

import numpy as np
import polars as pl
import pytest
from scipy import special
from slow import slow

import polars_rank as pr
from polars_rank.comparison.input import reading, values
from polars_rank.comparison.sums import merging, row_sums
from polars_rank.comparison.sums.definition import Definition
from polars_rank.comparison.sums.win_counts import WinCounts

DAYS = 12
ENVELOPE = ("definition", "digests")


def log(seed: int = 1) -> pl.DataFrame:
    """Three systems, two measures, queries of several days, countries and users."""
    draw = random.Random(seed)
    rows = []
    for day in range(DAYS):
        for i in range(draw.randint(2, 9)):
            query, country = f"d{day}q{i}", draw.choice(["DE", "JP"])
            weight, user = draw.randint(1, 9), f"d{day}u{i // 2}"
            hard = draw.random()
            for system, gain in (("a", 0.0), ("b", 0.05), ("c", 0.1)):
                ndcg = min(1.0, max(0.0, hard + gain + draw.gauss(0, 0.1)))
                arp = 1000 + 300 * draw.random()
                row = (day, query, country, weight, user, system, ndcg, arp)
                rows.append(row)
    names = ["day", "query_id", "country", "weight", "user", "system", "ndcg@10", "arp"]
    return pl.DataFrame(rows, schema=names, orient="row")


def parts(frame: pl.DataFrame, **options) -> list[pl.DataFrame]:
    days = frame.partition_by("day", maintain_order=True)
    return [pr.comparison.moments(day.drop("day"), **options) for day in days]


def assert_same(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    assert found.columns == expected.columns
    assert len(found) == len(expected)
    for name in set(found.columns) - {"note"}:
        for a, b in zip(found[name], expected[name], strict=True):
            if isinstance(b, float):
                near = 1e-9 if "effect_" in name else 1e-12  # scipy's roots
                assert a == pytest.approx(b, rel=near, abs=near), name
            else:
                assert a == b, name


@pytest.mark.parametrize(
    "options",
    [
        {},
        slow({"weight": "weight"}),
        slow({"cluster": "user"}),
        {"weight": "weight", "cluster": "user"},
        {"by": "country"},
    ],
)
def test_the_sum_of_the_days_is_the_whole(options):
    frame = log()
    expected = pr.compare(frame, measures=["ndcg@10", "arp"], min_queries=5, **options)
    daily = parts(frame, measures=["ndcg@10", "arp"], **options)
    random.Random(2).shuffle(daily)
    unit = "cluster" if "cluster" in options else "row"
    found = pr.compare(pr.comparison.merge(daily, unit=unit), min_queries=5)
    assert_same(found.pairs, expected.pairs)
    keys = [c for c in ("country", "measure", "system") if c in found.means.columns]
    assert_same(found.means.sort(keys), expected.means.sort(keys))


@pytest.mark.parametrize("options", [{}, {"by": "country"}])
def test_systems_may_come_in_another_order_every_day(tmp_path, options):
    frame = log()
    expected = pr.compare(frame, measures=["ndcg@10", "arp"], min_queries=5, **options)
    draw = random.Random(7)
    days = frame.partition_by("day")
    for i, day in enumerate(days):
        order = "abc" if i == 0 else draw.sample("abc", 3)
        rows = pl.concat([day.filter(system=name) for name in order])
        daily = pr.comparison.moments(rows, measures=["ndcg@10", "arp"], **options)
        daily.write_parquet(tmp_path / f"{i:02}.parquet")
    whole = pr.comparison.merge(tmp_path / "*.parquet")
    alone = whole.filter(pl.col("other").is_null())
    assert (
        alone.select("wins", "ties", "losses").null_count().row(0) == (len(alone),) * 3
    )
    for found in (whole, str(tmp_path / "*.parquet")):  # merged by compare itself
        got = pr.compare(found, min_queries=5)
        assert_same(got.pairs, expected.pairs)
        assert_same(got.means, expected.means)


def test_segments_that_are_not_asked_for_are_added_up():
    frame = log().with_columns(half=pl.col("day") // 6)
    made = pr.comparison.moments(
        frame, measures=["ndcg@10", "arp"], by=["half", "country"]
    )
    options = {"measures": "arp", "by": "half", "min_queries": 5}
    found, expected = pr.compare(made, **options), pr.compare(frame, **options)
    assert_same(found.pairs, expected.pairs)
    assert_same(found.means, expected.means)
    measures = ["ndcg@10", "arp"]
    all_of_them = pr.compare(frame, measures=measures).pairs
    assert_same(pr.compare(made, by=[]).pairs, all_of_them)
    for function, more in (
        (pr.comparison.orders, {}),
        (pr.comparison.discriminative, {"test": "t"}),
    ):
        whole = function(frame, measures=measures, **more)
        for name, column in function(made, **more).to_dict().items():
            near = [pytest.approx(v) for v in whole[name].to_list()]
            assert column.to_list() == near, name
    with pytest.raises(ValueError, match="no segments by 'user'"):
        pr.compare(made, by="user")
    with pytest.raises(ValueError, match="no measure 'ap'; did you mean 'arp'"):
        pr.compare(made, measures="ap")
    with pytest.raises(ValueError, match="leave out by="):
        pr.comparison.orders(frame, by="country")


def unlike(rows: list[tuple], names: list[str]) -> dict[str, pl.DataFrame]:
    """The same rows by system, by query, shuffled, and with systems of other order."""
    by_system = sorted(rows, key=lambda r: r[0])
    backwards = [*by_system[40:80], *by_system[:40], *by_system[80:]]
    shuffled = random.Random(4).sample(rows, len(rows))
    orders = {
        "by query": sorted(rows, key=lambda r: r[1]),
        "by system, queries in another order": [
            *sorted(by_system, key=lambda r: (r[0], r[1] * 7 % 40))
        ],
        "shuffled": shuffled,
        "other systems first": backwards,
        "one system in another order": [*by_system[:80], *by_system[:79:-1]],
    }
    return {
        name: pl.DataFrame(given, schema=names, orient="row")
        for name, given in orders.items()
    }


@pytest.mark.parametrize("block", [7, 40, 8192])
def test_sums_of_rows_are_a_loop(monkeypatch, block):
    monkeypatch.setattr(row_sums, "BLOCK", block)
    draw = random.Random(3)
    rows = []
    for query in range(40):
        known = query % 9 != 4  # else undefined for all systems
        for system in "abc":
            near = draw.choice([0.0, 5e-10, 2e-9, 0.25])
            rows.append((system, query, 0.5 + near if known else None, draw.random()))
    names = ["system", "query_id", "arp", "ndcg@10"]
    expected = pr.comparison.moments(
        pl.DataFrame(sorted(rows), schema=names, orient="row")
    )
    for k, (measure, sense) in enumerate((("arp", -1), ("ndcg@10", 1)), 2):
        value = {(r[0], r[1]): r[k] for r in rows if r[k] is not None}
        queries = sorted({q for _, q in value})
        for low, high in ("ab", "ac", "bc"):
            d = [value[high, q] - value[low, q] for q in queries]
            found = expected.filter(
                pl.col("measure") == measure, system=low, other=high
            ).row(0, named=True)
            mean = math.fsum(d) / len(d)
            spread = math.fsum((v - mean) ** 2 for v in d)
            assert found["queries"] == found["n"] == found["d"] == len(d)
            assert found["x"] == pytest.approx(math.fsum(d), rel=1e-12, abs=1e-14)
            assert found["ee"] == pytest.approx(spread, rel=1e-12)
            assert found["squares"] == found["ee"]
            assert found["wins"] == sum(v * sense > 1e-9 for v in d)
            assert found["losses"] == sum(v * sense < -1e-9 for v in d)
            assert found["ties"] == sum(abs(v) <= 1e-9 for v in d)
    keys = ["measure", "baseline", "system"]
    whole = pr.compare(expected).pairs.drop("note").sort(keys)
    for name, frame in unlike(rows, names).items():
        found = pr.compare(frame, baseline=["a", "b"]).pairs.drop("note")
        found = found.sort(keys).with_columns(pl.col(pl.Float64) + 0.0)
        assert found.equals(whole), name


@pytest.mark.parametrize("options", [{"weight": "w"}, {"cluster": "user"}])
@pytest.mark.parametrize("test", ["sign", "tukey", "lsd"])
def test_moments_with_weights_or_clusters_refuse_what_rows_refuse(test, options):
    values = pl.DataFrame(
        {
            "system": ["a"] * 8 + ["b"] * 8,
            "query_id": [*range(8)] * 2,
            "ap": [0.5] * 8 + [0.6, 0.7, 0.6, 0.8, 0.6, 0.7, 0.9, 0.4],
            "user": [0, 0, 0, 0, 0, 1, 1, 2] * 2,
            "w": [0.5, 1.5] * 8,  # their mean is 1, as without weights
        }
    )
    with pytest.raises(ValueError, match="cannot be used"):
        pr.compare(values, test=test, **options)
    state = pr.comparison.moments(values, measures=["ap"], **options)
    with pytest.raises(ValueError, match=r"weights or clusters|unweighted"):
        pr.compare(state, test=test)
    plain = pr.comparison.moments(values, measures=["ap"])
    assert pr.compare(plain, test=test).pairs["p_value"].item() is not None
    assert pr.compare(state).pairs["p_value"].item() is not None


@pytest.mark.slow
@pytest.mark.parametrize("test", ["tukey", "lsd", "sign", "tost"])
def test_other_tests_of_moments(test):
    frame = log()
    options = {"test": test} | ({"margin": 0.2} if test == "tost" else {})
    expected = pr.compare(frame, measures="ndcg@10", **options)
    merged = pr.comparison.merge(parts(frame, measures=["ndcg@10", "arp"]))
    found = pr.compare(merged, measures="ndcg@10", **options)
    assert_same(found.pairs, expected.pairs)
    assert_same(found.anova, expected.anova)


@pytest.mark.parametrize("order", ["abc", "cab"])
def test_parts_that_lack_a_system_have_no_analysis_of_variance(order):
    """Not of the queries of the first, whichever that is; t has those of each pair."""
    whole, *rest = log().partition_by("day", maintain_order=True)
    systems = pl.col("system")
    days = [pl.concat(whole.filter(systems == name) for name in order)]
    days += [day.filter(systems != "c") for day in rest]
    merged = pr.comparison.merge(
        [pr.comparison.moments(day.drop("day"), "ndcg@10") for day in days]
    )
    for options in ({"test": "tukey"}, {"test": "lsd"}, {"effect": "sakai"}):
        with pytest.raises(ValueError, match="all pairs, unweighted, of the same"):
            pr.compare(merged, **options)
    found = pr.compare(merged)
    assert found.anova is None
    together = {"a", "b"}
    for row in found.pairs.iter_rows(named=True):
        of = [whole, *rest] if {row["baseline"], row["system"]} == together else [whole]
        assert row["queries"] == sum(len(day) // 3 for day in of)


@pytest.mark.covering(1, rest=2)
@pytest.mark.parametrize("n", [500, 2_500])  # of one block, and of one's own
@pytest.mark.parametrize("size", [1.0, 1e6])
@pytest.mark.parametrize("spread", [0.1, 1e-5, 1e-9])
@pytest.mark.parametrize("close", [1.0, 1e-3, 1e-6])
def test_a_small_spread_keeps_its_digits(n, size, spread, close):
    """Of means: by their size. Of differences: by that of the systems' values."""
    draw = random.Random(3)
    a = [size * (1 + spread * draw.gauss(0, 1)) for _ in range(n)]
    b = [x + size * spread * close * draw.gauss(0.05, 1) for x in a]
    parts = [range(n // 5), range(n // 5, n)]
    frames = [
        pl.DataFrame(
            {
                "system": ["a"] * len(part) + ["b"] * len(part),
                "query_id": [*part] * 2,
                "v": [*(a[i] for i in part), *(b[i] for i in part)],
            }
        )
        for part in parts
    ]
    d = [Fraction(y) - Fraction(x) for x, y in zip(a, b, strict=True)]
    if max(map(abs, d)) < 1e-13 * size:
        pytest.skip("within the rounding of the values")
    whole = pr.compare(pl.concat(frames))
    merged = pr.compare(
        pr.comparison.merge([pr.comparison.moments(frame) for frame in frames])
    )
    t = float(special.stdtrit(n - 1, 0.975))
    for found, near in ((whole, 1e-11), (merged, 1e-6)):
        rows = [*found.means.to_dicts(), *found.pairs.to_dicts()]
        exact = [[*map(Fraction, a)], [*map(Fraction, b)], d]
        for row, numbers in zip(rows, exact, strict=True):
            mean = sum(numbers) / n
            error = math.sqrt(sum((v - mean) ** 2 for v in numbers) / (n - 1) / n)
            own = (row["lower"] + row["upper"]) / 2
            half = (row["upper"] - row["lower"]) / 2
            rounding = 1e-15 * size  # of the ends themselves
            assert half == pytest.approx(t * error, rel=near, abs=rounding)
            assert own == pytest.approx(float(mean), rel=0, abs=near * error + rounding)
        expected = float(mean) / error
        known = found.pairs["statistic"].item()
        assert known == pytest.approx(expected, rel=near, abs=rounding / error)


@pytest.mark.parametrize("kind", ["many", "tied", "near", "huge"])
@pytest.mark.parametrize("tie", [0.0, 1e-9, 0.1])
def test_wins_are_a_loop(kind, tie):
    """In blocks of any length; single precision tells the first kind only."""
    draw = random.Random(f"{kind} {tie}")
    kinds = {
        "many": draw.random,
        "tied": lambda: draw.randint(0, 4) / 4,
        "near": lambda: draw.choice([0.5, 0.5 + 5e-10, 0.5 + 2e-9]),
        "huge": lambda: draw.choice([-1e300, 0.0, 1.0, 1e300]),
    }
    pairs = [(0, 1), (0, 3), (2, 0), (2, 1), (3, 4), (1, 4)]
    counts = WinCounts(pairs, tie)
    rows = []
    for size in (1, 30, 1024, 1100):
        block = [[kinds[kind]() for _ in range(size)] for _ in range(5)]
        counts.add([np.array(column) for column in block])
        rows += zip(*block, strict=True)
    for place, (i, j) in enumerate(pairs):
        assert counts.wins[place] == sum(row[j] - row[i] > tie for row in rows)
        assert counts.losses[place] == sum(row[i] - row[j] > tie for row in rows)


@pytest.mark.parametrize("unit", [0.1, -0.1, 1e5, 1e-7])
def test_differences_of_tie_are_ties_in_any_part(unit):
    """0.4 - 0.3 is more than 0.1 by rounding alone; in 1,024 rows or more of them."""
    draw, n, tie = random.Random(7), 3000, abs(unit)
    values = {name: [draw.randint(0, 4) for _ in range(n)] for name in "ab"}
    frame = pl.DataFrame(
        [
            (name, query, place * unit)
            for name, own in values.items()
            for query, place in enumerate(own)
        ],
        schema=["system", "query_id", "v"],
        orient="row",
    )
    parts = [
        pr.comparison.moments(frame.filter(pl.col("query_id") % 3 == k), tie=tie)
        for k in range(3)
    ]
    d = [b - a for a, b in zip(values["a"], values["b"], strict=True)]
    sense = 1 if unit > 0 else -1
    won = [sum(v * sense > 1 for v in d), sum(v * sense < -1 for v in d)]
    whole = pr.comparison.moments(frame, tie=tie)
    for found in (whole, pr.comparison.merge(parts)):
        counts = found.filter(system="a", other="b").select("wins", "losses")
        assert counts.row(0) == (*won,)


@pytest.mark.slow
def test_merging_is_associative_and_takes_files(tmp_path):
    daily = parts(log(), measures=["ndcg@10"])
    whole = pr.comparison.merge(daily)
    two = pr.comparison.merge(
        [pr.comparison.merge(daily[:5]), pr.comparison.merge(daily[5:])]
    )
    assert_same(two, whole)
    for i, part in enumerate(daily):
        part.write_parquet(tmp_path / f"{i:02}.parquet")
    keys = ["measure", "system", "other"]
    again = pr.comparison.merge(str(tmp_path / "*.parquet"))
    assert_same(again.sort(keys), whole.sort(keys))
    lazy = pr.comparison.merge(pl.scan_parquet(tmp_path / "*.parquet"))
    assert_same(lazy.sort(keys), whole.sort(keys))


def test_days_as_units():
    """The variance of the daily sums: queries of a day are not independent."""
    frame = log()
    by_day = parts(frame, measures=["ndcg@10"])
    found = pr.compare(pr.comparison.merge(by_day, unit="part"), baseline="a")
    expected = pr.compare(frame, measures="ndcg@10", cluster="day", baseline="a")
    columns = ["difference", "lower", "upper", "p_value", "queries", "df"]
    assert_same(found.pairs.select(columns), expected.pairs.select(columns))


@pytest.mark.covering(1)
@pytest.mark.parametrize("segments", [[], ["country"]])
@pytest.mark.parametrize("weight", [None, "weight"])
def test_queries_that_come_back_as_units(segments, weight):
    """The same queries on several days: one observation each, as a cluster is."""
    own = pl.col("query_id").str.split("q").list.last()
    country = pl.when(own < "4").then(pl.lit("DE")).otherwise(pl.lit("JP"))
    frame = log().with_columns(query_id=own, country=country)
    told = {"measures": ["ndcg@10", "arp"], "weight": weight}
    daily = parts(frame, by=["query_id", *segments], **told)
    weeks = [pr.comparison.merge(daily[5:]), pr.comparison.merge(daily[:5])]
    found = pr.compare(
        pr.comparison.merge(weeks, unit="query_id"), baseline="a", min_queries=2
    )
    expected = pr.compare(
        frame,
        query=["day", "query_id"],
        cluster="query_id",
        by=segments,
        baseline="a",
        min_queries=2,
        **told,
    )
    assert_same(found.pairs, expected.pairs)
    assert found.pairs["df"].max() == (4 if segments else 8)
    assert found.pairs["note"].str.contains("fewer than 10 clusters").all()


@pytest.mark.parametrize("given", ["frames", "a glob"])
def test_rows_of_a_few_parts_are_held_at_once(tmp_path, monkeypatch, given):
    """Each day has all queries again; a year of them took gigabytes."""
    own = pl.col("query_id").str.split("q").list.last()
    frame = log().with_columns(query_id=own)
    daily = parts(frame, by="query_id", measures=["arp"])
    for i, day in enumerate(daily):
        day.write_parquet(tmp_path / f"{i:02}.parquet")
    heights, summed = [], merging.summed
    monkeypatch.setattr(merging, "AT_ONCE", 2)
    monkeypatch.setattr(
        merging, "summed", lambda f, *a: (heights.append(len(f)), summed(f, *a))[1]
    )
    source = daily if given == "frames" else str(tmp_path / "*.parquet")
    merged = pr.comparison.merge(source, unit="query_id")
    queries = frame["query_id"].n_unique()
    assert max(heights) <= 3 * queries * 6  # 2 days and a state, of 3 systems, 3 pairs
    expected = pr.compare(
        frame,
        query=["day", "query_id"],
        cluster="query_id",
        measures=["arp"],
        min_queries=2,
    )
    found = pr.compare(merged, min_queries=2)
    assert_same(found.pairs.drop("note"), expected.pairs.drop("note"))


@pytest.mark.parametrize("weight", [None, "weight"])
def test_users_who_come_back_are_units(weight):
    """300 users on 12 days: moments by user say what the rows of all days say."""
    draw = np.random.default_rng(7)
    n = 2000
    shown = pl.DataFrame(
        {
            "day": draw.integers(0, DAYS, n),
            "user": draw.integers(0, 300, n),
            "weight": draw.integers(1, 5, n),
            "query_id": range(n),
        }
    ).sort("day")
    taste = draw.normal(0, 0.3, 300)[shown["user"].to_numpy()]
    values = pl.concat(
        shown.with_columns(system=pl.lit(name), rr=draw.normal(0.5, 0.1, n) + gain)
        for name, gain in (("a", 0.0), ("b", 0.02 + taste))
    )
    told = {"measures": "rr", "weight": weight}
    whole = pr.compare(values, cluster="user", **told)
    daily = parts(values, by="user", **told)
    found = pr.compare(pr.comparison.merge(daily, unit="user"))
    assert_same(found.pairs, whole.pairs)
    assert found.pairs["df"].item() == values["user"].n_unique() - 1
    without = parts(values, cluster="user", **told)
    for wrong in (lambda: pr.comparison.merge(without), lambda: pl.concat(without)):
        with pytest.warns(pr.DataWarning, match="clusters.*counted anew in every part"):
            pairs = pr.compare(wrong()).pairs
        width, right = ((t["upper"] - t["lower"]).item() for t in (pairs, whole.pairs))
        assert width < 0.8 * right
    pr.comparison.merge(without[:1])  # one part
    with pytest.raises(pr.DataError, match="not the same in all parts"):
        pr.comparison.merge([without[0], parts(values, **told)[1]])


def test_what_a_file_says_about_itself(tmp_path):
    path = tmp_path / "monday.parquet"
    made = pr.comparison.moments(log(), measures=["ndcg@10", "arp"], path=path)
    assert pl.read_parquet(path).equals(made)
    told = json.loads(pl.read_parquet_metadata(path)["polars_rank"])
    assert told["version"] == pr.__version__
    assert told["measures"] == {"ndcg@10": "ndcg@10", "arp": "arp"}
    assert told["convention"]["ties"] == "doc_desc"
    assert told["query"] == ["query_id"]
    with pytest.raises(ValueError, match=r"must end in \.parquet"):
        pr.comparison.moments(log(), measures=["arp"], path=tmp_path / "monday.csv")


def told(path) -> dict:
    return json.loads(pl.read_parquet_metadata(path)["polars_rank"])


def test_what_values_and_parts_say_about_themselves_is_kept(tmp_path):
    """Convention, options and judgments; other judgments are no other measure."""
    whole = log().select("system", "query_id", "ndcg@10", "arp", "day")
    lower = Definition.of(["ndcg@10"], "lightgbm", [], options={"max_rank": 7})
    for day, judged in ((0, "ab of 9 rows"), (1, "cd of 8 rows"), (2, "ab of 9 rows")):
        definition = dataclasses.replace(lower, judgments=judged)
        values = tmp_path / f"values{day}.parquet"
        definition.write(whole.filter(day=day).drop("day"), values)
        made = pr.comparison.moments(values, path=tmp_path / f"day{day}.parquet")
        for name, text in made.select("measure", "definition").unique().rows():
            meant = json.loads(text)
            assert meant["measure"] == f"{name}, version 1"
            chosen = pr.CONVENTIONS["lightgbm"]
            assert meant["gain"] == chosen.gain != pr.CONVENTIONS["trec_eval"].gain
            assert (meant["ties"], meant["max_rank"]) == (chosen.ties, 7)
        frame = pl.read_parquet(values)
        assert pr.comparison.moments(frame, definition=definition).equals(made)
        assert told(tmp_path / f"day{day}.parquet")["judgments"] == judged
    days = tmp_path / "day*.parquet"
    both = tmp_path / "both.parquet"
    assert pr.comparison.merge(days, path=both).equals(pl.read_parquet(both))
    assert told(both)["judgments"] == "ab of 9 rows; cd of 8 rows"
    assert told(both)["measures"] == {"ndcg@10": "ndcg@10", "arp": "arp"}
    again = [both, str(tmp_path / "more.parquet")]
    more = whole.filter(day=4).drop("day")
    pr.comparison.moments(more, definition=definition, path=again[1])
    pr.comparison.merge(again, path=tmp_path / "again.parquet")
    assert told(tmp_path / "again.parquet") == told(both)
    other = pr.comparison.moments(
        whole.filter(day=3).drop("day"), definition=definition
    )
    pr.comparison.merge(
        [both, other], path=tmp_path / "frame.parquet"
    )  # of a frame, who knows?
    assert "polars_rank" not in pl.read_parquet_metadata(tmp_path / "frame.parquet")
    own = pr.comparison.moments(values, convention="trec_eval")
    assert json.loads(own["definition"][0])["gain"] == "linear"
    with pytest.raises(ValueError, match="leave out convention="):
        pr.comparison.moments(frame, convention="trec_eval", definition=definition)
    with pytest.raises(ValueError, match=r"must end in \.parquet"):
        pr.comparison.merge(days, path=tmp_path / "month.csv")


def test_other_definitions_are_not_merged():
    frame = log()
    here = pr.comparison.moments(frame, measures=["ndcg@10"])
    changed = pr.CONVENTIONS["trec_eval"].replace(ties="expected")
    for convention in ("lightgbm", changed):
        there = pr.comparison.moments(
            frame, measures=["ndcg@10"], convention=convention
        )
        with pytest.raises(
            pr.DataError, match=r"'ndcg@10' is not the same in all .*ties is"
        ):
            pr.comparison.merge([here, there])
    named = pr.comparison.moments(
        frame.rename({"ndcg@10": "nDCG@10"}), measures=["nDCG@10"]
    )
    assert named["definition"][0] == here["definition"][0]
    both = [part.with_columns(day=i) for i, part in enumerate((here, there))]
    with pytest.raises(pr.DataError, match="'ndcg@10' is not the same in all"):
        pr.comparison.trend(pl.concat(both), time="day")
    with pytest.raises(pr.DataError, match="part 2 has other columns: country"):
        pr.comparison.merge(
            [here, pr.comparison.moments(frame, measures=["ndcg@10"], by="country")]
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "wilcoxon"}, "test='wilcoxon' needs the values of the queries"),
        ({"interval": "bca"}, "interval='bca' needs the values of the queries"),
        ({"weight": "weight"}, "weight= is chosen when moments are made"),
        ({"effect": "cliff"}, "effect='cliff' needs values"),
    ],
)
def test_what_moments_cannot_tell(options, message):
    with pytest.raises(ValueError, match=message):
        pr.compare(pr.comparison.moments(log(), measures=["arp"]), **options)


def test_wrong_parts():
    made = pr.comparison.moments(log(), measures=["arp"])
    for wrong, message in (
        (lambda: pr.comparison.merge([]), "nothing to merge"),
        (
            lambda: pr.comparison.merge([log()]),
            "no moments, but a frame of day, query_id",
        ),
        (
            lambda: pr.comparison.merge(made, unit="day"),
            "unit must be one of row, part",
        ),
        (lambda: pr.compare(made).plot.deltas(), "no values of single queries"),
    ):
        with pytest.raises(ValueError, match=message):
            wrong()


def crowded(seed: int = 5) -> pl.DataFrame:
    """Segments of 1 to 60 queries, one unknown; users of very unequal size."""
    draw = random.Random(seed)
    rows = []
    for i in range(150):
        land = draw.choice(["DE"] * 8 + ["FR", "JP", None, f"only {i}"])
        user = "much" if draw.random() < 0.5 else draw.randint(1, 60)
        weight, known = draw.choice([0.001, 1, 3, 1e4]), i % 11 != 3
        hard = draw.random()
        for system in "abc":
            near = draw.choice([0.0, 5e-10, draw.gauss(0, 0.1)])
            value = hard + near if known else None
            rows.append((system, f"q{i}", land, f"{land} {user}", weight, value))
    names = ["system", "query_id", "country", "user", "weight", "ndcg@10"]
    return pl.DataFrame(draw.sample(rows, len(rows)), schema=names, orient="row")


@pytest.mark.covering(2)
@pytest.mark.parametrize(("block", "small"), [(7, 3), (40, 20), (8192, 1024)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("clustered", [False, True])
def test_sums_of_units_are_a_loop(monkeypatch, block, small, weighted, clustered):
    monkeypatch.setattr(row_sums, "BLOCK", block)
    monkeypatch.setattr(row_sums, "SMALL", small)
    frame = crowded()
    options = {"by": "country"}
    options |= {"weight": "weight"} if weighted else {}
    options |= {"cluster": "user"} if clustered else {}
    rows = frame.rows(named=True)
    for found in pr.comparison.moments(
        frame, measures=["ndcg@10"], **options
    ).to_dicts():
        value = {
            (r["system"], r["query_id"]): r["ndcg@10"]
            for r in rows
            if r["country"] == found["country"] and r["ndcg@10"] is not None
        }
        units: dict[str, list[Fraction]] = {}
        queries, squares, won = 0, Fraction(0), [0, 0, 0]
        for r in rows:
            key = (found["system"], r["query_id"])
            if r["system"] != "a" or key not in value:
                continue
            v, w = Fraction(value[key]), Fraction(r["weight"] if weighted else 1.0)
            if found["other"] is not None:
                v = Fraction(value[found["other"], r["query_id"]]) - v
                won[(v > 1e-9) - (v < -1e-9)] += 1
            unit = units.setdefault(
                r["user" if clustered else "query_id"], [Fraction(0)] * 2
            )
            unit[0] += w * v
            unit[1] += w
            queries, squares = queries + 1, squares + w * v * v
        x, d = (sum(u[i] for u in units.values()) for i in range(2))
        mean = x / d if d else 0
        rest = [(x - mean * d, d) for x, d in units.values()]
        expected = {
            "queries": queries,
            "n": len(units),
            "x": x,
            "d": d,
            "ee": sum(e * e for e, _ in rest),
            "ed": sum(e * d for e, d in rest),
            "dd": sum(d * d for _, d in rest),
            "squares": squares - mean * x,
        }
        if found["other"] is not None:
            expected |= {"ties": won[0], "wins": won[1], "losses": won[-1]}
        size = {"ed": float(sum(abs(e * d) for e, d in rest))}
        for name, number in expected.items():
            near = 1e-12 * size.get(name, 0.0) + 1e-18
            assert found[name] == pytest.approx(float(number), 1e-12, near), name


@pytest.mark.parametrize("small", [5, 1024])
def test_all_ways_are_one(monkeypatch, small):
    """Weights of 1, clusters of one query; bit by bit: segments without the others."""
    monkeypatch.setattr(row_sums, "BLOCK", 16)
    monkeypatch.setattr(row_sums, "SMALL", small)
    frame = crowded().sort("system", maintain_order=True).with_columns(one=1.0)
    plain = pr.comparison.moments(frame, measures=["ndcg@10"])
    for options in ({"weight": "one"}, {"cluster": "query_id"}):
        found = pr.comparison.moments(frame, measures=["ndcg@10"], **options)
        assert_same(found.drop(ENVELOPE), plain.drop(ENVELOPE))
    for options in ({}, {"weight": "weight"}, {"cluster": "user"}):
        options = {"measures": ["ndcg@10"], **options}
        whole = pr.comparison.moments(frame, by="country", **options)
        for land in ("DE", "FR", None):
            here = pl.col("country").eq_missing(land)
            alone = pr.comparison.moments(frame.filter(here), **options)
            found = whole.filter(here).drop("country", *ENVELOPE)
            assert found.equals(alone.drop(ENVELOPE))


@pytest.mark.covering(0, rest=2)
@pytest.mark.parametrize("buckets", [2, 12])
@pytest.mark.parametrize("given", ["lazy", "path", "categories"])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"weight": "weight", "baseline": "b"},
        {"cluster": "user", "by": "country"},
        {"test": "tukey", "query": ["user", "query_id"]},
    ],
)
def test_lazy_rows_that_are_many_are_summed_in_parts(
    monkeypatch, tmp_path, buckets, given, options
):
    frame = crowded()
    options = {"measures": "ndcg@10", "min_queries": 5, **options}
    expected = pr.compare(frame, **options)
    rows: object = frame.lazy()
    if given == "path":
        rows = tmp_path / "values.parquet"
        frame.write_parquet(rows, row_group_size=50)
    elif given == "categories":
        named = pl.col("query_id", "system").cast(pl.Categorical)
        rows = frame.lazy().with_columns(named)
    monkeypatch.setattr(reading, "WHOLE", 5_000)
    monkeypatch.setattr(reading, "BUCKETS", buckets)
    found = pr.compare(rows, **options)
    assert found.values is None
    assert_same(found.means, expected.means)
    assert_same(found.pairs, expected.pairs)
    if expected.anova is not None:
        assert_same(found.anova, expected.anova)
    with pytest.raises(ValueError, match="compare a DataFrame"):
        found.friedman()


def test_parts_are_few_bytes_and_whole(monkeypatch):
    """Every query and user is in one part; a part is not much more than allowed."""
    frame = crowded()
    monkeypatch.setattr(reading, "WHOLE", 3_000)
    for cluster, name in ((None, "key0"), ("user", "cluster")):
        columns = values.Columns(measures=["ndcg@10"], cluster=cluster)
        parts = list(reading.read_parts(frame.lazy(), columns))
        assert len(parts) > 2
        seen = [key for part in parts for key in part.frame[name].unique()]
        assert len({*seen}) == len(seen)
        assert sum(len(part.frame) for part in parts) == 150
    assert len(list(reading.read_parts(frame, columns))) == 1


def test_faults_in_parts_are_told(monkeypatch):
    monkeypatch.setattr(reading, "WHOLE", 2_000)
    frame = crowded()
    lacking = frame.filter((pl.col("system") != "b") | (pl.col("query_id") < "q4"))
    with pytest.raises(ValueError, match=r"'b' lacks .* counts a part") as found:
        pr.compare(lacking.lazy(), measures="ndcg@10")
    assert found.value.rule == "unpaired_query"
    with pytest.raises(ValueError, match="several rows for a query"):
        pr.compare(pl.concat([frame, frame]).lazy(), measures="ndcg@10")
    with pytest.raises(ValueError, match="one system, 'a'"):
        pr.compare(frame.filter(system="a").lazy(), measures="ndcg@10")
    unknown = frame.with_columns(pl.when(pl.col("query_id") != "q7").then("user"))
    with pytest.raises(ValueError, match="'user' is null in"):
        pr.compare(unknown.lazy(), measures="ndcg@10", cluster="user")
