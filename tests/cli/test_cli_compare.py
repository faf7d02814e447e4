"""The commands compare, gate and power: files in, tables, files and statuses out."""

from __future__ import annotations

import csv
import io
import json
import random
import re
import shutil
import sys
from pathlib import Path

import polars as pl
import pytest
from slow import slow

import polars_rank as pr
from polars_rank import analysis
from polars_rank.cli import main
from polars_rank.io import scan


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Runs a and b, of which b is better, and worse; judgments; queries."""
    place = tmp_path_factory.mktemp("files")
    draw = random.Random(1)
    judged, queries = [], []
    runs: dict[str, list[str]] = {"a": [], "b": [], "worse": []}
    for q in range(60):
        queries.append(f"{q},{'JP' if q < 25 else 'DE'},{1 + q % 7},u{q // 3}\n")
        for d in range(8):
            label = int(d < 3)
            judged.append(f"{q} 0 d{d} {label}\n")
            score = draw.random()
            for name, lift in (("a", 0.2), ("b", 0.5), ("worse", -0.1)):
                runs[name].append(f"{q} Q0 d{d} 0 {score + lift * label:.5f} x\n")
    (place / "qrels").write_text("".join(judged))
    (place / "queries.csv").write_text(
        "query_id,country,traffic,user\n" + "".join(queries)
    )
    for name, lines in runs.items():
        (place / f"{name}.run").write_text("".join(lines))
    return place


@pytest.fixture(scope="module")
def made_base(made, tmp_path_factory):
    """A baseline for the gate beside them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(made)
        assert gate("a.run", "qrels", *MEASURES, "--update-baseline") == 0
    return (made / "base.parquet").rename(
        tmp_path_factory.mktemp("base") / "it.parquet"
    )


@pytest.fixture
def files(made, tmp_path, monkeypatch):
    """A copy, which a test may change."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def values(*names: str) -> pl.DataFrame:
    parts = [
        pr.per_query(
            scan(f"{n}.run", kind="run"),
            ["ndcg@3", "ap"],
            qrels=scan("qrels", kind="qrels"),
        )
        .collect()
        .select(pl.lit(n).alias("system"), pl.all())
        for n in names
    ]
    return pl.concat(parts)


MEASURES = ["-m", "ndcg@3", "-m", "ap"]


def test_compare_prints_the_differences(files, capsys):
    assert main(["compare", "a.run", "b.run", "qrels", *MEASURES]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    expected = pr.compare(values("a", "b")).pairs
    assert [r["measure"] for r in rows] == ["ndcg@3", "ap"]
    for row, p in zip(rows, expected["p_value"], strict=True):
        assert float(row["p_value"]) == p


@pytest.mark.slow
@pytest.mark.parametrize(
    ("format", "starts"),
    [
        ("table", "Means with 95 % intervals\n"),
        ("markdown", "**Means with 95 % intervals**\n"),
        ("latex", "\\begin{table}"),
        ("html", "<div"),
        ("json", "{"),
    ],
)
def test_formats(files, capsys, format, starts):
    command = ["compare", "a.run", "b.run", "qrels", *MEASURES, "--format", format]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert out.startswith(starts)
    assert "ndcg@3" in out
    if format == "json":
        assert json.loads(out)["settings"]["correction"] == "holm"


def test_tsv_is_csv_with_tabs(files, capsys):
    command = ["compare", "a.run", "b.run", "qrels", "-m", "ndcg@3", "--format"]
    assert main([*command, "csv"]) == 0
    rows = list(csv.reader(capsys.readouterr().out.splitlines()))
    assert main([*command, "tsv"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t") for line in lines] == rows
    assert len(rows) == 2


@pytest.mark.slow
def test_compare_takes_options_and_files_of_values(files, capsys):
    whole = ["compare", "a.run", "b.run", "worse.run", "--qrels", "qrels", *MEASURES]
    options = ["--baseline", "b", "--test", "randomization", "--correction", "bh"]
    assert main([*whole, *options, "--per-query", "v.parquet"]) == 0
    first = capsys.readouterr().out
    assert main(["compare", "v.parquet", *options]) == 0
    assert capsys.readouterr().out == first
    expected = pr.compare(
        values("a", "b", "worse"), baseline="b", test="randomization", correction="bh"
    ).pairs
    rows = list(csv.DictReader(io.StringIO(first)))
    assert [float(r["p_adjusted"]) for r in rows] == expected["p_adjusted"].to_list()
    told = json.loads(pl.read_parquet_metadata("v.parquet")["polars_rank"])
    assert told["measures"] == {"ndcg@3": "ndcg@3", "ap": "ap"}
    judged = len(Path("qrels").read_text().splitlines())
    assert told["judgments"].endswith(f" of {judged} rows")


@pytest.mark.slow
def test_compare_by_columns_of_the_queries(files, capsys):
    command = ["compare", "a.run", "b.run", "qrels", "-m", "ap"]
    command += ["--queries", "queries.csv", "--by", "country", "--cluster", "user"]
    assert main(command) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(r["country"], r["queries"]) for r in rows] == [("DE", "35"), ("JP", "25")]
    assert main([*command[:-1], "users"]) == 1
    assert (
        "queries.csv: no column 'users'; did you mean 'user'" in capsys.readouterr().err
    )


def test_segments_may_be_clusters(files, capsys):
    command = ["compare", "a.run", "b.run", "qrels", "-m", "ap", "--format", "json"]
    command += ["--queries", "queries.csv", "--by", "country", "--cluster", "country"]
    assert main(command) == 0
    rows = json.loads(capsys.readouterr().out)["pairs"]
    assert [row["note"] for row in rows] == ["one cluster"] * 2


@pytest.mark.slow
def test_choices_of_a_comparison_are_options(files, capsys):
    values("a", "b").write_parquet("v.parquet")
    command = ["compare", "v.parquet", "-m", "ap", "--format", "json"]
    assert main([*command, "--effect", "glass", "--tie", "0.2"]) == 0
    [row] = json.loads(capsys.readouterr().out)["pairs"]
    own = pr.compare(values("a", "b"), measures="ap", effect="glass", tie=0.2)
    expected = own.pairs.row(0, named=True)
    assert (row["effect"], row["ties"]) == (expected["effect"], expected["ties"])
    assert main([*command, "--simultaneous", "--family", "all", "-m", "ndcg@3"]) == 0
    [row, _] = json.loads(capsys.readouterr().out)["pairs"]
    own = pr.compare(
        values("a", "b"), measures=["ap", "ndcg@3"], simultaneous=True, family="all"
    )
    assert row["lower"] == own.pairs["lower"][0]
    zeros = ["--test", "wilcoxon", "--zero-method", "pratt"]
    assert main([*command, *zeros]) == 0
    [row] = json.loads(capsys.readouterr().out)["pairs"]
    own = pr.compare(
        values("a", "b"), measures="ap", test="wilcoxon", zero_method="pratt"
    )
    assert row["p_value"] == own.pairs["p_value"].item()
    queries = pl.read_csv("queries.csv").cast({"query_id": pl.String})
    values("a", "b").cast({"query_id": pl.String}).join(
        queries, on="query_id"
    ).write_parquet("v.parquet")
    few = [*command, "--by", "country", "--min-queries", "30"]
    assert main(few) == 0
    told = json.loads(capsys.readouterr().out)["pairs"]
    found = {r["country"]: r["p_value"] for r in told}
    assert (found["JP"], found["DE"] is None) == (None, False)


def test_the_order_of_the_systems_is_an_option(files, capsys):
    values("a", "b", "worse").write_parquet("v.parquet")
    command = ["compare", "v.parquet", "-m", "ap", "--table", "means"]
    for format, options, expected in (
        ("csv", [], ["b", "a", "worse"]),
        ("csv", ["--order", "name"], ["a", "b", "worse"]),
        ("markdown", ["--order", "mean"], ["b", "a", "worse"]),
        ("tsv", ["--order", "given"], ["a", "b", "worse"]),
    ):
        assert main([*command, "--format", format, *options]) == 0
        words = re.findall(r"\b(?:a|b|worse)\b", capsys.readouterr().out)
        assert [w for i, w in enumerate(words) if w not in words[:i]] == expected


@pytest.mark.slow
def test_plots_are_written(files, capsys):
    command = ["compare", "a.run", "b.run", "qrels", "-m", "ap", "--plot", "p.png"]
    assert main(command) == 0
    assert (files / "p.png").read_bytes().startswith(b"\x89PNG")


def gate(*more: str) -> int:
    return main(["gate", "base.parquet", *more])


@pytest.fixture
def base(files, made_base, capsys):
    shutil.copy(made_base, "base.parquet")
    capsys.readouterr()
    return files


def test_a_baseline_is_written(files, capsys):
    assert gate("a.run", "qrels", *MEASURES, "--update-baseline") == 0
    assert capsys.readouterr().out == "base.parquet: 60 queries, ndcg@3, ap\n"


def test_gate(base, capsys):
    assert gate("b.run", "qrels") == 0
    assert "Ranking gate: passed (2 checks)" in capsys.readouterr().out
    reports = ["--report", "gate.md", "--json", "gate.json"]
    assert gate("worse.run", "qrels", "--margin", "0.01", *reports) == 3
    out = capsys.readouterr().out
    assert "Ranking gate: failed (2 of 2 checks)" in out
    assert "convention trec_eval; judgments " in out
    assert (base / "gate.md").read_text().startswith("### Ranking gate: **failed**")
    told = json.loads((base / "gate.json").read_text())
    assert told["verdict"] == "fail"
    assert [c["measure"] for c in told["checks"]] == ["ndcg@3", "ap"]
    assert {row["measure"] for row in told["worst"]} == {"ndcg@3", "ap"}


def test_a_red_gate_of_runs_says_why(base, capsys):
    """As reasons says it, in the text and in the comment of a pull request."""
    asked = ["a.run", "worse.run", "qrels", *MEASURES, "--report", "gate.md"]
    assert main(["gate", *asked, "--format", "table"]) == 3
    out = capsys.readouterr().out
    why = analysis.reasons(
        *(scan(name).collect().drop("system") for name in asked[:2]),
        "ndcg@3",
        qrels=scan("qrels", kind="qrels").collect(),
    )
    assert "The largest parts of the difference in ndcg@3" in out
    comment = (base / "gate.md").read_text()
    for item, queries, *_ in why.largest().rows():
        assert re.search(rf"{item} +{queries} ", out)
        assert f"| {item} | {queries} |" in comment
    assert main(["gate", "worse.run", "a.run", "qrels", *MEASURES]) == 0
    assert "largest parts" not in capsys.readouterr().out


def test_a_red_gate_stays_red_where_no_parts_can_be_shown(base, capsys, monkeypatch):
    """A measure that is no sum gives way to one that is; a pipe is read only once."""
    order = ["gate", "a.run", "worse.run", "qrels", "-m", "kendall_tau"]
    assert main([*order, "-m", "ndcg@3"]) == 3
    assert "The largest parts of the difference in ndcg@3" in capsys.readouterr().out
    assert main(order) == 3
    out = capsys.readouterr().out
    assert "Note: The parts of the difference in kendall_tau are not shown: kend" in out
    with Path("worse.run").open() as pipe:
        monkeypatch.setattr(sys, "stdin", pipe)
        assert main(["gate", "a.run", "-", "qrels", *MEASURES]) == 3
    assert "are not shown: standard input" in capsys.readouterr().out


def test_a_red_gate_warns_once(base, capsys):
    lines = (base / "worse.run").read_text().splitlines()
    short = [line for line in lines if line.split()[0] != "0"]
    (base / "short.run").write_text("\n".join(short) + "\n")
    assert main(["gate", "a.run", "short.run", "qrels", *MEASURES]) == 3
    out, err = capsys.readouterr()
    assert "The largest parts" in out
    assert err.count("missing from the run") == 1


@pytest.mark.parametrize("baseline", ["base.parquet", "worse.run"])
def test_a_report_tells_which_queries_a_run_lacks(base, baseline, capsys):
    """Not standard error alone: the comment of a pull request shows the report."""
    lines = (base / "b.run").read_text().splitlines()
    short = [line for line in lines if line.split()[0] not in ("0", "1", "2")]
    (base / "short.run").write_text("\n".join(short))
    reports = ["--report", "gate.md", "--json", "gate.json", "--format", "table"]
    main(["gate", baseline, "short.run", "qrels", *MEASURES, *reports])
    out, err = capsys.readouterr()
    told = err.removeprefix("polars-rank: warning: ").strip()
    assert "short.run: 3 of 60 judged queries" in told
    assert "--missing" in told
    missing, empty = (told, "3 of 60 queries have no document now; in the baseline 0")
    for said in (missing, empty):
        assert f"Note: {said}" in out
        assert f"Note: {said}" in unescaped((base / "gate.md").read_text())
    notes = json.loads((base / "gate.json").read_text())["notes"]
    assert notes[0] == missing
    assert notes[1].startswith(empty)


def unescaped(markdown: str) -> str:
    """As it is shown."""
    return re.sub(r"\\([\W_])", r"\1", markdown)


@pytest.mark.slow
@pytest.mark.parametrize("new", ["b", "worse"])
@pytest.mark.parametrize("named", [[], ["--qrels"]], ids=["last", "named"])
def test_a_gate_may_be_given_the_old_run(base, new, named, capsys):
    judged = [*named, "qrels"]
    status = gate(f"{new}.run", *judged, *MEASURES, "--format", "json")
    of_values = json.loads(capsys.readouterr().out)
    again = main(
        ["gate", "a.run", f"{new}.run", *judged, *MEASURES, "--format", "json"]
    )
    of_run = json.loads(capsys.readouterr().out)
    parts = of_run.pop("largest_parts", [])
    assert (again, of_run) == (status, of_values)
    assert bool(parts) == (status == 3)  # values do not tell why
    assert {check["measure"] for check in of_run["checks"]} == {"ndcg@3", "ap"}


def test_a_run_is_not_overwritten_with_values(files, capsys):
    before = (files / "a.run").read_bytes()
    assert main(["gate", "a.run", "b.run", "qrels", "--update-baseline"]) == 1
    assert "a.run: is a run, not values per query" in capsys.readouterr().err
    assert (files / "a.run").read_bytes() == before


def test_the_gate_tells_which_document_left(files, capsys):
    def written(name: str, rows: pl.DataFrame) -> None:
        rows.write_csv(name, include_header=False, separator=" ")

    def read(name: str) -> pl.DataFrame:
        lines = [line.split() for line in Path(name).read_text().splitlines()]
        rows = pl.DataFrame(lines, list("qidrex")[: len(lines[0])], orient="row")
        return rows.with_columns(d=pl.format("{}-{}", "q", "d"))  # each has its own

    written("qrels", read("qrels"))
    written("a.run", rows := read("a.run"))
    assert gate("a.run", "qrels", *MEASURES, "--update-baseline") == 0
    score = pl.col("e").cast(pl.Float64)
    first = rows.sort(score, descending=True).unique("q", keep="first")
    written("cut.run", rows.join(first, on="d", how="anti"))
    capsys.readouterr()
    assert gate("cut.run", "qrels", "--format", "json") in (0, 3)
    told = json.loads(capsys.readouterr().out)
    assert told["documents"] == {"count": 480, "gone": 60}
    lost = dict(first.select("q", "d").rows())
    assert [r["left"] for r in told["worst"]] == [
        lost[r["query_id"]] for r in told["worst"]
    ]
    written("renamed.run", rows.with_columns(pl.col("d") + "#1"))
    assert gate("renamed.run", "qrels", "--check", "off") == 1
    said = capsys.readouterr().out
    assert "480 of 480 documents of the baseline are in no list now" in said


@pytest.mark.parametrize(
    "changed",
    [
        ["-M", "2"],
        slow(["--no-descending"]),
        slow(["--missing", "skip"]),
        slow(["--ties", "doc_asc"]),
    ],
    ids=lambda argv: argv[0],
)
def test_a_baseline_under_other_options_is_refused(base, capsys, changed):
    assert gate("a.run", "qrels", *changed) == 1
    assert "is another measure in the baseline" in capsys.readouterr().out
    assert gate("a.run", "qrels", *MEASURES, *changed, "--update-baseline") == 0
    assert gate("a.run", "qrels", *changed) == 0
    values = ["evaluate", "a.run", "qrels", *MEASURES, *changed]
    assert main([*values, "--per-query", "values.parquet"]) == 0
    assert gate("values.parquet") == 0


@pytest.mark.slow
def test_gate_statuses(base, capsys):
    assert gate("worse.run", "qrels", "--margin", "0.9") == 0  # sure, but small
    assert gate("worse.run", "qrels", "--margin", "0.9", "--strict") == 3
    assert gate("a.run", "qrels", "--floor", "ap=0.999") == 3
    assert gate("a.run", "qrels", "--margin", "ap=0.1", "--margin", "ndcg@3=0.2") == 0
    assert gate("a.run", "qrels", "--convention", "lightgbm") == 1
    assert "is another measure in the baseline" in capsys.readouterr().out
    assert gate("a.run", "qrels", "-m", "rr") == 1
    text = (base / "qrels").read_text()
    (base / "other").write_text(text.replace("0 0 d5 0", "0 0 d5 1"))
    assert gate("a.run", "other") == 1
    assert "computed with other judgments" in capsys.readouterr().out


@pytest.mark.slow
def test_gate_by_segments(base, capsys):
    options = ["--queries", "queries.csv", "--by", "country", "--format", "markdown"]
    assert gate("worse.run", "qrels", *options) == 3
    assert "| ap | country = JP | **fail** | 25 |" in capsys.readouterr().out


def evaluate(*arguments: str) -> None:
    target = ["--per-query", "v.parquet"]
    assert main(["evaluate", "a.run", "qrels", *MEASURES, *target, *arguments]) == 0


@pytest.mark.parametrize(
    "change", [["--convention", "lightgbm"], slow([]), slow(["--rel", "2"])]
)
def test_the_gate_knows_how_values_were_evaluated(base, capsys, change):
    evaluate(*change)
    capsys.readouterr()
    assert main(["gate", "v.parquet", "b.run", "qrels"]) == (1 if change else 0)
    out = capsys.readouterr().out
    assert ("is another measure in the baseline" in out) == bool(change)
    # and the other way round, which names no choices: the file's are known
    assert gate("v.parquet") == (1 if change else 0)


def test_what_evaluate_writes_about_values(files):
    evaluate("--no-relevant", "skip")
    told = json.loads(pl.read_parquet_metadata("v.parquet")["polars_rank"])
    assert told["version"] == pr.__version__
    assert told["measures"] == {"ndcg@3": "ndcg@3", "ap": "ap"}
    assert told["query"] == ["query_id"]
    assert told["convention"]["name"] == "trec_eval*"
    assert told["convention"]["no_relevant"] == "skip"
    both = ["evaluate", "a.run", "b.run", "qrels", "-m", "rr,utility"]
    assert main([*both, "--per-query", "both.parquet"]) == 0
    told = json.loads(pl.read_parquet_metadata("both.parquet")["polars_rank"])
    assert list(told["measures"]) == ["rr", "utility"]
    assert told["query"] == ["query_id"]
    assert pl.read_parquet("both.parquet").columns[0] == "system"


@pytest.mark.slow
def test_gate_of_values(base, capsys):
    values("b").drop("system").write_parquet("new.parquet")
    assert gate("new.parquet") == 0


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (
            ["gate", "none.parquet", "a.run", "qrels"],
            1,
            "write it with --update-baseline",
        ),
        (["gate", "base.parquet"], 2, "name a FILE"),
        (["gate", "base.parquet", "a.run", "b.run", "qrels"], 2, "name one new run"),
        (
            ["gate", "base.parquet", "a.run", "qrels", "--margin", "x"],
            2,
            "not a number",
        ),
        (
            ["gate", "base.parquet", "a.run", "qrels", "--floor", "1"],
            2,
            "MEASURE=NUMBER",
        ),
        (["compare", "a.run", "b.run", "qrels", "--baseline", "c"], 2, "no system 'c'"),
        (["compare", "a.run", "qrels", "-m", "ap"], 2, "nothing to compare"),
        (["compare", "a.run", "b.run", "qrels", "--test", "z"], 2, "--test"),
        (
            [
                "compare",
                "a.run",
                "b.run",
                "qrels",
                "--test",
                "tukey",
                "--correction",
                "by",
            ],
            2,
            "corrects for all pairs by itself: leave out --correction by",
        ),
        (["power", "--sd", "1"], 2, "name"),
        (
            ["power"],
            2,
            "name either the values of a pilot or --sd, not both or neither",
        ),
    ],
)
def test_errors(base, capsys, arguments, status, said):
    assert main(arguments) == status
    assert said in capsys.readouterr().err


def test_power(files, capsys):
    assert main(["power", "--sd", "0.2", "--difference", "0.02"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert rows[0]["queries"] == "787"
    plan = ["power", "--sd", "0.2", "--difference", "0.02", "--format", "markdown"]
    assert main(plan) == 0
    header, sides, _ = capsys.readouterr().out.splitlines()
    columns = header.strip("| ").split(" | ")  # all but the first, a name, to the right
    assert sides.strip("| ").split(" | ") == ["---", *["---:"] * (len(columns) - 1)]
    values("a", "b").write_parquet("v.parquet")
    apart = ["power", "--sd", "0.2", "--difference", "0.1", "--no-paired"]
    assert main([*apart, "--format", "table"]) == 0
    title = "One-way analysis of variance at significance level 0.05"
    assert title in capsys.readouterr().out
    assert main(["power", "v.parquet", "-m", "ap", "--format", "table"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Paired t test at significance level 0.05"
    assert lines[3].split()[:3] == ["ap", "a", "b"]


def test_a_table_of_topics_by_systems(tmp_path, capsys):
    """As from_wide reads it; segments may be in it, or in a file of their own."""
    lines = ["query_id,land,bm25,dense", "1,x,.1,.2", "2,y,.3,.2", "3,x,.4,.6"]
    file, plain = tmp_path / "wide.csv", tmp_path / "plain.csv"
    file.write_text("\n".join([*lines, "4,y,.4,.9\n"]))
    table = pl.read_csv(file)
    table.drop("land").write_csv(plain)
    wanted = pr.compare(pr.from_wide(table.drop("land"), "ap")).pairs.to_dicts()
    asked = ["--wide", "ap", "--format", "json"]
    assert main(["compare", str(plain), *asked]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [row["difference"] for row in found["pairs"]] == [
        pytest.approx(row["difference"]) for row in wanted
    ]
    shown = []
    for way in ([str(file)], [str(plain), "--queries", str(file)]):
        assert main(["compare", *way, *asked, "--by", "land"]) == 0
        shown.append(json.loads(capsys.readouterr().out)["pairs"])
    means = table.group_by("land").agg(pl.mean("bm25", "dense")).sort("land")
    differences = means.select(pl.col("dense") - pl.col("bm25")).to_series()
    for rows in shown:
        assert [row["difference"] for row in rows] == pytest.approx([*differences])
    for way, told in (
        ([str(file), *asked], "wide.csv: column 'land' is String, but values of a"),
        ([str(plain), str(file), *asked], "--wide names the measure of one FILE"),
        ([str(plain), *asked, "-m", "rr"], "--wide names the measure of one FILE"),
        ([str(plain)], "from_wide in Python or --wide in a shell makes one"),
    ):
        assert main(["compare", *way]) > 0
        assert told in capsys.readouterr().err
