"""The commands moments, merge, trend, orders and discriminative: sums of days."""

from __future__ import annotations

import csv
import io
import json
import math
import shutil
import statistics
from datetime import date

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from slow import slow

import polars_rank as pr
from polars_rank import example
from polars_rank.cli import main

DAYS = [date(2026, 11, day) for day in (20, 21, 22, 23)]
MEASURES = ["-m", "rr,ndcg@10"]
SYSTEMS = ["bm25", "dense", "hybrid", "hybrid2"]


@pytest.fixture(scope="module")
def values() -> pl.DataFrame:
    """The example: four systems, 30 queries a day."""
    log = pl.scan_parquet(example.systems_path())
    place = pl.col("query_id").str.slice(-3).cast(pl.Int64) - 1
    found = log.rank_eval.per_query(
        ["rr", "ndcg@10"], query=["system", "query_id"], keep=["country", "traffic"]
    )
    day = pl.date(2026, 11, 20) + pl.duration(days=place // 30)
    return found.with_columns(day=day).collect()


@pytest.fixture(scope="module")
def made(values, tmp_path_factory):
    """Values of every day, and their moments."""
    place = tmp_path_factory.mktemp("days")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        for day in DAYS:  # with systems in another order every day
            own = values.filter(day=day).drop("day")
            own = own.sample(fraction=1.0, shuffle=True, seed=day.day)
            own.write_parquet(f"values-{day}.parquet")
            sums = ["moments", f"values-{day}.parquet", "-o", f"{day}.parquet"]
            assert main(sums) == 0
    return place


@pytest.fixture
def folder(made, tmp_path, monkeypatch):
    """A copy, which a test may change."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path


def rows(capsys) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def files() -> list[str]:
    return [f"{day}.parquet" for day in DAYS]


def test_days_are_a_month(folder, values, capsys):
    capsys.readouterr()
    assert main(["merge", *files(), "-o", "2026-11.parquet"]) == 0
    said = capsys.readouterr().out
    assert said.startswith("2026-11.parquet: 120 queries; ")
    assert sorted(said[:-1].split("; ")[1].split(", ")) == SYSTEMS
    assert said.endswith("; rr, ndcg@10\n")
    expected = pr.compare(values, measures=["rr", "ndcg@10"], baseline="bm25").pairs
    for given in (["2026-11.parquet"], files(), ["2026-11-2*"]):
        assert main(["compare", *given, "--baseline", "bm25"]) == 0
        found = {(r["measure"], r["system"]): r for r in rows(capsys)}
        assert len(found) == len(expected)
        for row in expected.iter_rows(named=True):
            own = found[row["measure"], row["system"]]
            for name in (
                *("queries", "difference", "lower", "upper", "p_value"),
                *("wins", "losses"),
            ):
                assert float(own[name]) == pytest.approx(row[name], rel=1e-9), name


def test_moments_through_a_pipe(folder, values, capsys, monkeypatch):
    capsys.readouterr()
    assert main(["merge", *files()]) == 0
    sums = capsys.readouterr().out.encode()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(sums)))
    assert main(["compare", "-", "--baseline", "bm25", "-m", "rr"]) == 0
    expected = pr.compare(values, measures=["rr"], baseline="bm25").pairs
    found = {r["system"]: float(r["p_value"]) for r in rows(capsys)}
    assert found == {
        s: pytest.approx(p, rel=1e-9)
        for s, p in expected.select("system", "p_value").rows()
    }


def test_runs_and_logs_may_be_piped(capsys, monkeypatch):
    log = pl.read_parquet(example.systems_path())
    text = io.BytesIO(log.write_csv().encode())
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(text))
    assert main(["compare", "-", *MEASURES]) == 0
    piped = capsys.readouterr().out
    assert main(["compare", "--example", *MEASURES]) == 0
    assert capsys.readouterr().out == piped


def test_what_a_file_of_moments_says(folder, capsys):
    log = pl.read_parquet(example.systems_path())
    for name in ("bm25", "dense"):
        log.filter(system=name).drop("system", "label").write_parquet(f"{name}.parquet")
    judged = log.filter(system="bm25").select("query_id", "doc_id", "label")
    judged.write_parquet("qrels.parquet")
    judged.with_columns(label=1).write_parquet("others.parquet")
    told = []
    for qrels in ("qrels", "others"):
        runs = ["bm25.parquet", "dense.parquet", f"{qrels}.parquet"]
        options = ["-m", "rr", "-M", "5", "--convention", "ranx"]
        capsys.readouterr()
        assert main(["moments", *runs, *options, "-o", f"{qrels}-sums.parquet"]) == 0
        metadata = pl.read_parquet_metadata(f"{qrels}-sums.parquet")["polars_rank"]
        told.append(json.loads(metadata))
        assert told[-1]["options"] == {"max_rank": 5}
        assert told[-1]["convention"]["name"] == "ranx"
        expected = f"; rr; judgments {told[-1]['judgments']}\n"
        assert capsys.readouterr().out.endswith(expected)
    one, other = (part["judgments"] for part in told)
    assert one != other
    assert one.endswith(f" of {len(judged):,} rows")
    merge = ["merge", "qrels-sums.parquet", "others-sums.parquet", "-o", "m.parquet"]
    assert main(merge) == 0
    assert capsys.readouterr().out.endswith("; judgments 2 different\n")
    metadata = json.loads(pl.read_parquet_metadata("m.parquet")["polars_rank"])
    assert sorted(metadata["judgments"].split("; ")) == sorted([one, other])
    assert main(["moments", "values-2026-11-20.parquet", "-o", "plain.parquet"]) == 0
    assert main(["merge", "qrels-sums.parquet", "plain.parquet"]) == 1
    told = "'rr' is not the same in all parts (plain.parquet and qrels-sums.parquet): "
    assert told in capsys.readouterr().err


@pytest.mark.slow
def test_segments_and_days_as_units(folder, values, capsys):
    values.select("query_id", "country").unique().write_csv("queries.csv")
    for day in DAYS:
        bare = pl.read_parquet(f"values-{day}.parquet").drop("country")
        bare.write_parquet(f"values-{day}.parquet")
        command = ["moments", f"values-{day}.parquet", "-m", "rr", "--by", "country"]
        command += ["--queries", "queries.csv", "-o", f"by-{day}.parquet"]
        assert main(command) == 0
    capsys.readouterr()
    by = [f"by-{day}.parquet" for day in DAYS]
    compare = ["compare", *by, "--baseline", "bm25", "--format", "json"]
    expected = pr.compare(values, measures="rr", by="country", baseline="bm25")
    for more, wanted in (
        ([], expected.pairs),
        (["--table", "means"], expected.means),
        (["--table", "between_segments"], expected.between_segments),
    ):
        assert main([*compare, *more]) == 0
        found = json.loads(capsys.readouterr().out)
        found = pl.DataFrame(found if more else found["pairs"], schema=wanted.schema)
        keys = [n for n in ("country", "system") if n in wanted.columns]
        assert_frame_equal(found.sort(keys), wanted.sort(keys), rel_tol=1e-9)
    assert main([*compare, "--by", "none", "--table", "pairs"]) == 0
    whole = pr.compare(values, measures="rr", baseline="bm25").pairs
    found = {r["system"]: r["p_value"] for r in json.loads(capsys.readouterr().out)}
    assert found == pytest.approx(
        dict(whole.select("system", "p_value").rows()), rel=1e-9
    )
    merge = ["merge", *files(), "--unit", "part", "-o", "days.parquet"]
    assert main(merge) == 0
    capsys.readouterr()
    assert main(["compare", "days.parquet", "-m", "rr", "--baseline", "bm25"]) == 0
    days = pr.compare(values, measures="rr", baseline="bm25", cluster="day").pairs
    found = {r["system"]: float(r["p_value"]) for r in rows(capsys)}
    assert found == pytest.approx(
        dict(days.select("system", "p_value").rows()), rel=1e-9
    )
    assert main(["merge", *by, "--unit", "country", "-o", "units.parquet"]) == 0
    capsys.readouterr()
    assert main(["compare", "units.parquet", "-m", "rr", "--baseline", "bm25"]) == 0
    units = pr.compare(values, measures="rr", baseline="bm25", cluster="country").pairs
    found = {r["system"]: float(r["p_value"]) for r in rows(capsys)}
    assert found == pytest.approx(
        dict(units.select("system", "p_value").rows()), rel=1e-9
    )
    assert main(["merge", *by, "--unit", "user"]) == 2
    assert "--unit must be one of row, part, country" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize(
    "format", ["table", slow("markdown"), "csv", slow("latex"), "html"]
)
def test_differences_between_segments_in_every_format(folder, capsys, format):
    capsys.readouterr()
    command = ["compare", "values-2026-11-20.parquet", *MEASURES, "--by", "country"]
    command += ["--format", format]
    assert main([*command, "--table", "between_segments"]) == 0
    out = capsys.readouterr().out
    title = {"csv": "measure,baseline,system,segments,statistic,df,df_error,p_value\n"}
    assert title.get(format, "Differences between segments") in out
    assert "statistic" in out
    assert main([*command, "--table", "means"]) == 0
    assert "difference" not in capsys.readouterr().out
    pairs = ["--table", "pairs"] if format == "latex" else []  # a row for each system
    assert main([*command, *pairs]) == 0
    assert "difference" in capsys.readouterr().out.lower()


def mean_and_reach(numbers: list[float]) -> tuple[float, float]:
    """Mean, and half the t interval: of 29 and 59 degrees of freedom."""
    quantile = {30: 2.045229642132703, 60: 2.0009953780882688}[len(numbers)]
    error = statistics.stdev(numbers) / math.sqrt(len(numbers))
    return statistics.fmean(numbers), quantile * error


@pytest.mark.parametrize("window", [1, 2])
def test_trend_goes_by_the_dates_in_names(folder, values, capsys, window):
    capsys.readouterr()
    command = ["trend", *files(), "-m", "rr", "--baseline", "bm25"]
    assert main([*command, "--window", str(window)]) == 0
    found = {(r["period"], r["baseline"], r["system"]): r for r in rows(capsys)}
    assert len(found) == len(DAYS) * 7
    value = {(r["day"], r["system"], r["query_id"]): r["rr"] for r in values.to_dicts()}
    for i, day in enumerate(DAYS):
        here = {*DAYS[max(0, i + 1 - window) : i + 1]}
        for name in SYSTEMS:
            own = {k: v for k, v in value.items() if k[0] in here and k[1] == name}
            deltas = [v - value[k[0], "bm25", k[2]] for k, v in own.items()]
            for baseline, numbers in (("", [*own.values()]), ("bm25", deltas)):
                if name == baseline:
                    continue
                mean, reach = mean_and_reach(numbers)
                row = found[str(day), baseline, name]
                assert int(row["queries"]) == len(numbers)
                assert float(row["estimate"]) == pytest.approx(mean, abs=1e-12)
                assert float(row["lower"]) == pytest.approx(mean - reach, abs=1e-9)
                assert float(row["upper"]) == pytest.approx(mean + reach, abs=1e-9)


@pytest.mark.slow
def test_a_trend_is_drawn(folder, capsys):
    command = ["trend", *files(), "-m", "rr", "--baseline", "bm25", "--plot", "t.svg"]
    assert main(command) == 0
    picture = (folder / "t.svg").read_text()
    assert "difference to bm25" in picture
    for day in (20, 21, 22, 23):
        assert picture.count(f">Nov {day}<") == 2  # once a panel
    assert main([*command, "--mark", "2026-11-21=v2"]) == 0
    assert (folder / "t.svg").read_text().count(">v2<") == 2
    assert main([*command, "--mark", "v2"]) == 2
    assert "--mark is PERIOD=NAME, such as 2026-11-23=v2" in capsys.readouterr().err


@pytest.mark.slow
def test_other_periods_of_a_trend(folder, values, capsys):
    capsys.readouterr()
    assert main(["trend", *files(), "--every", "1w", "--format", "json"]) == 0
    weeks = [row["period"] for row in json.loads(capsys.readouterr().out)]
    assert [*dict.fromkeys(weeks)] == ["2026-11-16", "2026-11-23"]  # Mondays
    expected = pr.comparison.trend(
        values, time="day", measures=["rr"], window=None, sequential=True
    )
    more = ["-m", "rr", "--window", "none", "--sequential"]
    for name, day in zip(("wednesday", "thursday", "a", "b"), DAYS, strict=True):
        pl.read_parquet(f"{day}.parquet").write_parquet(f"{name}.parquet")
    named = ["wednesday.parquet", "thursday.parquet", "a.parquet", "b.parquet"]
    values.select("system", "query_id", "day", "rr").write_parquet("values.parquet")
    for given, periods in (
        (files(), map(str, DAYS)),
        (["2026-11-*.parquet"], map(str, DAYS)),
        (named, ["wednesday", "thursday", "a", "b"]),
        (["values.parquet", "--time", "day"], map(str, DAYS)),
    ):
        assert main(["trend", *given, *more]) == 0
        found = rows(capsys)
        name = "day" if "--time" in given else "period"
        assert [*dict.fromkeys(row[name] for row in found)] == [*periods]
        for system in SYSTEMS:
            means = expected.filter(pl.col("baseline").is_null(), system=system)
            own = [r for r in found if not r["baseline"] and r["system"] == system]
            for column in ("estimate", "lower", "upper"):
                got = [float(row[column]) for row in own]
                assert got == pytest.approx(means[column].to_list(), rel=1e-9)


def test_one_system_is_followed(folder, values, capsys):
    for day in DAYS:
        own = pl.read_parquet(f"values-{day}.parquet").filter(system="hybrid")
        own.write_parquet(f"one-{day}.parquet")
        assert main(["moments", f"one-{day}.parquet", "-o", f"{day}.parquet"]) == 0
    said = capsys.readouterr().out.splitlines()[-1]
    assert said == "2026-11-23.parquet: 30 queries; hybrid; rr, ndcg@10"
    assert main(["trend", *files(), "-m", "rr"]) == 0
    found = {r["period"]: float(r["estimate"]) for r in rows(capsys)}
    for day in DAYS:
        own = values.filter(system="hybrid", day=day)["rr"].to_list()
        assert found[str(day)] == pytest.approx(statistics.fmean(own), rel=1e-12)
    assert len(found) == len(DAYS)
    assert main(["compare", *files()]) == 2
    assert "these are moments of 'hybrid'; see its trend" in capsys.readouterr().err


@pytest.mark.slow
def test_orders_and_discriminative(folder, values, capsys):
    capsys.readouterr()
    assert main(["orders", "--example", "-m", "rr,ndcg@10,ap"]) == 0
    found = {(r["measure"], r["other"]): r for r in rows(capsys)}
    log = pl.scan_parquet(example.systems_path())
    means = {}
    for name in ("rr", "ndcg@10", "ap"):
        means[name] = {
            s: log.filter(system=s).rank_eval.evaluate([name]).collect()[name].item()
            for s in SYSTEMS
        }
    for (one, other), row in found.items():
        pairs = [(a, b) for i, a in enumerate(SYSTEMS) for b in SYSTEMS[i + 1 :]]
        swapped = [
            f"{a}, {b}"
            for a, b in pairs
            if (means[one][a] < means[one][b]) != (means[other][a] < means[other][b])
        ]
        assert row["swapped"] == "; ".join(swapped)
        assert float(row["tau"]) == pytest.approx(1 - 2 * len(swapped) / len(pairs))
    assert len(found) == 3
    options = ["--test", "tukey", "--level", "0.9", "-m", "rr"]
    assert main(["discriminative", *files(), *options, "--format", "json"]) == 0
    pairs = pr.compare(values, measures="rr", test="tukey").pairs
    for row in json.loads(capsys.readouterr().out):
        own = pairs.filter(measure=row["measure"])
        p = sorted(own["p_value"], reverse=True)
        assert row["p_adjusted"] == pytest.approx(p, abs=1e-9)
        assert row["significant_share"] == pytest.approx(
            sum(x < 0.1 for x in p) / len(p)
        )
    options = ["--test", "t", "--format", "table"]
    assert main(["discriminative", *files(), *options]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[2].split() == ["measure", "pairs", "significant_share", "sufficient"]


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("merge", 2, "name a FILE with moments"),
        ("merge values-2026-11-20.parquet", 1, "values-2026-11-20.parquet: holds no"),
        ("merge DAY DAY", 2, "2026-11-20.parquet is given twice"),
        ("merge DAY -o DAY", 2, "--out 2026-11-20.parquet is part of the input"),
        ("merge DAY -o day.csv", 2, 'must have extension "parquet"'),
        ("moments DAY", 2, "holds moments; add them up with polars-rank merge"),
        ("moments", 2, "name a FILE: runs and judgments, or values per query"),
        ("moments --example DAY", 2, "--example brings its own data"),
        ("trend", 2, "moments of days, or values with --time"),
        ("trend values-2026-11-20.parquet", 2, "name its column of time with --time"),
        ("trend DAY --sequential", 2, "name --window none as well"),
        ("trend DAY --window 0", 2, "--window must be at least 1 period, not 0"),
        ("trend DAY --weight x", 2, "--weight is chosen when moments are made"),
        ("trend named.parquet --every 1w", 2, "name the files after dates"),
        ("compare DAY --per-query x.parquet", 2, "no values of single queries"),
        ("compare DAY --by lang", 2, "--by is chosen when moments are made"),
        ("compare DAY --table between_segments", 2, "needs segments: name --by"),
        ("compare DAY values-2026-11-20.parquet", 1, "holds no moments"),
        ("discriminative DAY", 2, "use --test t or --test tukey"),
        ("orders DAY -m rr", 2, "orders of at least two measures"),
    ],
)
def test_errors(folder, capsys, line, status, said):
    pl.read_parquet("2026-11-20.parquet").write_parquet("named.parquet")
    words = ["2026-11-20.parquet" if w == "DAY" else w for w in line.split()]
    assert main(words) == status
    assert said in capsys.readouterr().err
