"""The command line: what it prints, what it writes, how it fails."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
from math import log2
from pathlib import Path

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from rich.console import Console
from slow import slow

import polars_rank as pr
from polars_rank._engine.spill import budget, work
from polars_rank._engine.spill.progress import Progress
from polars_rank.cli import main
from polars_rank.cli.app import COMMANDS
from polars_rank.cli.output.bar import Bar
from polars_rank.conventions.tools import TOOLS
from polars_rank.example import make, path
from polars_rank.io import scan
from polars_rank.metrics import METRICS as ALL

COMMAND = [sys.executable, "-m", "polars_rank"]
ENV = os.environ | {
    "PYTHONPATH": str(Path(pr.__file__).parents[1]),
    "PYTHONUNBUFFERED": "",  # else a write that is cut short is no error
}

# Grades in rank order: 1, 0 for q1 and 0, 2 for q2.
LOG = pl.DataFrame(
    [
        ("q1", "a", 3.0, 1),
        ("q1", "b", 2.0, 0),
        ("q2", "c", 5.0, 0),
        ("q2", "d", 4.0, 2),
    ],
    schema=["query_id", "doc_id", "score", "label"],
    orient="row",
)
RR = {"q1": 1, "q2": 1 / 2}
NDCG = {"q1": 1, "q2": 1 / log2(3)}
ASKED = ["-m", "ndcg@10", "-m", "rr"]
MEANS = {"queries": 2, "ndcg@10": (1 + 1 / log2(3)) / 2, "rr": (1 + 1 / 2) / 2}
QRELS = "q1 0 a 1\nq1 0 b 0\nq2 0 d 2\n"
RUN = "q1 Q0 a 1 3 t\nq1 Q0 b 2 2 t\nq2 Q0 c 1 5 t\nq2 Q0 d 2 4 t\n"
OTHER = "q1 Q0 b 1 3 u\nq1 Q0 a 2 2 u\n"  # q2 is missing: it counts 0
OTHER_RR = (1 / 2 + 0) / 2


REMARKS = re.compile(r"polars-rank: (runs?|warning: .* judged queries is missing).*\n")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder with the log in three formats, two runs and their judgments."""
    monkeypatch.chdir(tmp_path)
    LOG.write_parquet("log.parquet")
    LOG.write_csv("log.csv")
    LOG.write_ndjson("log.ndjson")
    for name, text in {"one.run": RUN, "two.run": OTHER, "qrels.txt": QRELS}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def call(capsys):
    """Run the command; exit status, standard output and standard error."""

    def call(*argv: object) -> tuple[int, str, str]:
        status = main([str(word) for word in argv])
        return (status, *capsys.readouterr())

    return call


@pytest.fixture
def rows(call):
    """Run ``evaluate`` and read the rows it prints as JSON."""

    def rows(*argv: object):
        status, out, err = call("evaluate", *argv, "--format", "json")
        assert status == 0
        assert not REMARKS.sub("", err)
        return json.loads(out)

    return rows


def near(expected: object) -> object:
    return pytest.approx(expected, rel=1e-12)


# -- what is told beside the numbers


def test_the_command_says_which_file_is_what(call):
    argv = ("evaluate", "one.run", "qrels.txt", "-m", "rr")
    assert call(*argv)[2] == "polars-rank: run: one.run; judgments: qrels.txt\n"
    err = call("evaluate", "one.run", "two.run", "--qrels", "qrels.txt")[2]
    assert "polars-rank: runs: one.run, two.run; judgments: qrels.txt\n" in err
    err = call("evaluate", "log.csv", "log.parquet", "-m", "rr")[2]
    own = "runs, each with labels of its own: log.csv, log.parquet"
    assert err == f"polars-rank: {own}\n"
    assert call("evaluate", "log.parquet", "-m", "rr")[2] == ""


def test_missing_queries_are_told_once_and_with_their_number(call, tmp_path):
    argv = ("evaluate", "two.run", "qrels.txt", "-m", "rr", "--per-query", "v.csv")
    _, warning = call(*argv)[2].splitlines()
    assert "warning: two.run: 1 of 2 judged queries is missing from the run" in warning
    assert "counts as 0" in warning
    assert warning.endswith("say --missing zero")
    for choice in ("zero", "skip"):
        err = call(*argv, "--missing", choice)[2]
        assert "warning" not in err


def test_a_file_with_grades_named_score_holds_the_judgments(call, rows):
    """As BEIR's: query-id, corpus-id, score."""
    columns = ["query-id", "corpus-id", "score"]
    run = LOG.select("query_id", "doc_id", "score").rename(
        dict(zip(LOG.columns, columns, strict=False))
    )
    run.write_csv("run.tsv", separator="\t")
    qrels = LOG.select("query_id", "doc_id", score="label").filter(pl.col("score") > 0)
    qrels.columns = columns
    qrels.write_csv("qrels.tsv", separator="\t")
    argv = ("run.tsv", "qrels.tsv", "--query", "query-id", "--doc", "corpus-id")
    assert rows(*argv, "--label", "score", "-m", "rr")["rr"] == MEANS["rr"]
    status, _, err = call("evaluate", *argv)  # nothing is taken for labels
    assert status != 0
    assert "qrels.tsv: looks like judgments of BEIR" in err
    assert "--label" in err


# -- formats


def test_json_is_an_object_of_full_precision(rows):
    assert rows("log.parquet", *ASKED) == near(MEANS)


def test_csv_is_what_a_pipe_gets(call):
    status, out, _ = call("evaluate", "log.parquet", *ASKED)
    (row,) = csv.DictReader(io.StringIO(out))
    assert status == 0
    assert list(row) == list(MEANS)
    assert {name: float(value) for name, value in row.items()} == near(MEANS)


def test_markdown_has_four_decimals(call):
    _, out, _ = call("evaluate", "log.parquet", *ASKED, "--format", "markdown")
    head, rule, row = (
        [c.strip() for c in line.split("|")[1:-1]] for line in out.splitlines()
    )
    assert row == ["2", f"{MEANS['ndcg@10']:.4f}", f"{MEANS['rr']:.4f}"]
    assert (head, rule) == (list(MEANS), ["---:"] * 3)


def test_table_in_a_pipe_is_plain(call):
    _, out, _ = call("evaluate", "log.parquet", *ASKED, "--format", "table")
    lines = out.splitlines()
    assert lines[1].split() == ["ndcg@10", f"{MEANS['ndcg@10']:.4f}"]
    assert lines[2].split() == ["rr", f"{MEANS['rr']:.4f}"]
    assert lines[-1] == "2 queries; convention trec_eval; log.parquet"
    assert out.isascii()
    assert not any(line.endswith(" ") for line in lines)


def test_max_rank_cuts_the_lists(call, rows):
    found = rows("log.parquet", "-m", "num_ret", "--max-rank", 1)
    assert found == {"queries": 2, "num_ret": 2.0}
    argv = ("evaluate", "log.parquet", "-m", "rr", "--max-rank")
    assert "; max rank 1; " in call(*argv, 1, "--format", "table")[1]
    status, _, err = call(*argv, 0)
    assert status != 0
    assert "--max-rank must be a whole number of at least 1" in err


def test_undefined_is_null_and_never_nan(call, rows):
    LOG.with_columns(label=0).write_parquet("nothing.parquet")
    argv = ("nothing.parquet", "-m", "ap", "--no-relevant", "null")
    assert rows(*argv) == {"queries": 2, "ap": None}
    assert call("evaluate", *argv)[1] == "queries,ap\n2,\n"
    assert "ap          -" in call("evaluate", *argv, "--format", "table")[1]


def test_an_empty_log_has_no_means(call):
    LOG.clear().write_parquet("empty.parquet")
    asked = ("evaluate", "empty.parquet", "-m", "ap", "--format", "json")
    status, out, err = call(*asked)
    assert (status, json.loads(out)) == (0, {"queries": 0, "ap": None})
    assert "the frame has no rows" in err
    assert call(*asked, "--by", "query_id")[1] == "[]\n"


def test_names_stand_as_written(rows):
    asked = ["nDCG@10", "ndcg_cut_5", "ndcg(gain={0: 0, 2: 7})@3", "P_2"]
    row = rows("log.parquet", *(word for m in asked for word in ("-m", m)))
    assert list(row) == ["queries", *asked]


def test_default_measures(rows):
    names = ["queries", "ndcg@10", "ap", "rr", "precision@10", "recall@100"]
    assert list(rows("log.parquet")) == names


# -- files


@pytest.mark.parametrize("file", ["log.csv", "log.ndjson", "log.parq*t"])
def test_formats_and_globs_agree(rows, file):
    assert rows(file, *ASKED) == near(MEANS)


@pytest.mark.parametrize(
    "argv", [["one.run", "qrels.txt"], ["one.run", "--qrels", "qrels.txt"]]
)
def test_run_and_judgments(rows, argv):
    assert rows(*argv, *ASKED) == near(MEANS)


@pytest.mark.parametrize("argv", [["qrels.txt"], ["--qrels", "qrels.txt"]])
def test_several_runs_are_told_apart_by_their_tags(rows, argv):
    one, two = rows("one.run", "two.run", *argv, "-m", "rr")
    assert one == {"system": "t", "queries": 2, "rr": MEANS["rr"]}
    assert two == {"system": "u", "queries": 2, "rr": OTHER_RR}


@pytest.mark.parametrize(
    ("tags", "names"),
    [
        ({"a.run": "t", "b.run": "u"}, ["t", "u"]),
        ({"x/a.run.gz": "t", "y/a.run.gz": "u"}, ["t", "u"]),
        ({"a.run": "t", "b.run": "t", "c.run": "u"}, ["a", "b", "u"]),
        ({"a.run": "", "b.run": "u"}, ["a", "u"]),
        ({"a.run": "b", "b.run": ""}, ["a", "b"]),
        ({"x/a.run": "t", "y/a.txt": "t", "y/b.txt": "t"}, ["a.run", "a.txt", "b"]),
        ({"x/a.run.gz": "t", "y/a.run.gz": "t", "u": ""}, ["x", "y", "u"]),
        ({"x/z/a": "", "y/z/a": "", "a-2": ""}, ["a", "a-2", "a-2-2"]),
        ({"x/*.run": "t", "y/*.run": ""}, ["t", "*.run"]),
        ({"x/*.run": "", "y/*.run": ""}, ["x", "y"]),
    ],
)
def test_a_run_goes_by_its_tag_or_bare_file_name_and_never_by_a_path(
    rows, folder, tags, names
):
    for file, tag in tags.items():
        path = folder / file.replace("*", "part")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(RUN.replace(" t\n", f" {tag}\n"))
    found = rows(*tags, "qrels.txt", "--system", "file", "-m", "rr")
    assert [row["file"] for row in found] == names


def test_a_file_of_two_tags_goes_by_its_name(rows, folder):
    (folder / "both.run").write_text(RUN.replace(" t\n", " u\n", 1))
    found = rows("one.run", "both.run", "qrels.txt", "-m", "rr")
    assert [row["system"] for row in found] == ["t", "both"]


def test_runs_without_tags_go_by_their_bare_file_names(rows, folder):
    for name in ("x", "y"):
        (folder / name).mkdir()
        LOG.drop("label").write_parquet(folder / name / f"{name}.run.parquet")
    found = rows("x/x.run.parquet", "y/y.run.parquet", "qrels.txt", "-m", "rr")
    assert [row["system"] for row in found] == ["x.run", "y.run"]


def test_the_last_file_is_a_run_too_if_it_has_scores(rows):
    best = LOG.with_columns(score=pl.col("label").cast(pl.Float64))
    best.write_parquet("best.parquet")
    found = rows("log.parquet", "best.parquet", "-m", "rr")
    assert [(row["system"], row["rr"]) for row in found] == [("log", 0.75), ("best", 1)]


def test_systems_of_one_file(rows):
    best = LOG.with_columns(
        score=pl.col("label").cast(pl.Float64), system=pl.lit("best")
    )
    both = pl.concat([LOG.with_columns(system=pl.lit("first")), best])
    both.write_parquet("both.parquet")
    found = rows("both.parquet", "--system", "system", "-m", "rr")
    assert [(row["system"], row["queries"], row["rr"]) for row in found] == [
        ("best", 2, 1),
        ("first", 2, 0.75),
    ]


def test_systems_of_one_file_share_judgments_and_queries(rows):
    run = LOG.drop("label")
    worst = run.with_columns(score=-pl.col("score"), system=pl.lit("worst"))
    both = pl.concat([run.with_columns(system=pl.lit("first")), worst])
    both.write_parquet("runs.parquet")
    pl.DataFrame({"query_id": ["q2"], "country": ["DE"]}).write_csv("queries.csv")
    argv = ("runs.parquet", "qrels.txt", "--system", "system", "-m", "rr")
    assert [row["rr"] for row in rows(*argv)] == [(1 + 1 / 2) / 2, (1 / 2 + 1) / 2]
    first, worst = rows(*argv, "--queries", "queries.csv", "--by", "country")
    assert first == {"system": "first", "country": "DE", "queries": 1, "rr": 1 / 2}
    assert worst == {"system": "worst", "country": "DE", "queries": 1, "rr": 1}


def test_a_query_that_one_of_the_systems_misses_counts_0(rows):
    full = LOG.drop("label").with_columns(system=pl.lit("full"))
    half = full.filter(pl.col("query_id") == "q1").with_columns(system=pl.lit("half"))
    pl.concat([full, half]).write_parquet("runs.parquet")
    assert rows("runs.parquet", "qrels.txt", "--system", "system", "-m", "rr") == [
        {"system": "full", "queries": 2, "rr": (1 + 1 / 2) / 2},
        {"system": "half", "queries": 2, "rr": (1 + 0) / 2},
    ]


def test_rank_in_place_of_scores(rows):
    LOG.select("query_id", "label", place=pl.Series([1, 2, 1, 2])).write_csv(
        "clicks.csv"
    )
    assert rows("clicks.csv", "--rank", "place", *ASKED) == near(MEANS)


def test_columns_of_other_names(rows):
    names = {"query_id": "q", "doc_id": "d", "score": "s", "label": "l"}
    LOG.rename(names).write_parquet("renamed.parquet")
    options = ["--query", "q", "--doc", "d", "--score", "s", "--label", "l"]
    assert rows("renamed.parquet", *options, *ASKED) == near(MEANS)


def test_standard_input(rows, monkeypatch):
    class Stdin:
        buffer = io.BytesIO(RUN.encode())

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert rows("-", "qrels.txt", *ASKED) == near(MEANS)


# -- choices


def test_segments_and_weights(rows):
    queries = pl.DataFrame({"query_id": ["q1", "q2"], "w": [1, 3], "at": ["b", "a"]})
    queries.write_parquet("queries.parquet")
    argv = ("log.parquet", "--queries", "queries.parquet", "-m", "rr")
    assert rows(*argv, "--weight", "w")["rr"] == near((1 * 1 + 3 * 1 / 2) / 4)
    a, b = rows(*argv, "--by", "at")
    assert (a["at"], a["queries"], a["rr"]) == ("a", 1, near(RR["q2"]))
    assert (b["at"], b["queries"], b["rr"]) == ("b", 1, near(RR["q1"]))


@pytest.mark.parametrize(
    ("options", "queries", "expected"),
    [
        ([], 4, (1 + 0 + 0 + 1 / 2) / 4),
        (["--no-relevant", "one"], 4, (1 + 1 + 0 + 1 / 2) / 4),
        (["--no-relevant", "skip"], 4, (1 + 0 + 1 / 2) / 3),
        (["--missing", "skip"], 3, (1 + 0 + 1 / 2) / 3),
        (["--ties", "optimistic"], 4, (1 + 0 + 0 + 1) / 4),
        (["--ties", "expected"], 4, (1 + 0 + 0 + (1 + 1 / 2) / 2) / 4),
    ],
)
def test_choices(rows, folder, options, queries, expected):
    """A hit, a query with nothing relevant, a missing one, and a tie."""
    (folder / "run").write_text("1 0 a 1 1 t\n2 0 a 1 1 t\n4 0 a 1 1 t\n4 0 b 1 1 t\n")
    (folder / "qrels").write_text("1 0 a 1\n2 0 a 0\n3 0 a 1\n4 0 a 1\n")
    row = rows("run", "qrels", "-m", "rr", *options)
    assert (row["queries"], row["rr"]) == (queries, near(expected))


def test_choices_are_reported(call):
    _, out, _ = call("evaluate", "log.csv", "--ties", "order", "--format", "table")
    assert "convention trec_eval --ties order; log.csv" in out


def test_duplicates(call, rows):
    pl.concat([LOG, LOG]).write_parquet("twice.parquet")
    status, _, err = call("evaluate", "twice.parquet")
    assert status == 1
    assert "--on-duplicate best" in err
    assert rows("twice.parquet", "--on-duplicate", "best", *ASKED) == near(MEANS)


def test_a_warning_is_one_line_that_names_the_run(call):
    LOG.with_columns(score=pl.lit(float("nan"))).write_parquet("nan.parquet")
    argv = ("nan.parquet", "log.parquet", "--check", "warn")
    status, out, err = call("evaluate", *argv, "--per-query", "values.csv")
    assert status == 0
    assert out
    files, warning = err.splitlines()
    assert files.endswith(": nan.parquet, log.parquet")
    assert re.fullmatch(
        r"polars-rank: warning: nan.parquet: NaN scores .*4 found.*", warning
    )


FORMULAS = ["=1+2", "+1", "-1", "@x", "\tx"]
PLAIN = ["a=1", "1-1", "'=1", "", "ü"]


@pytest.mark.covering(1)
@pytest.mark.parametrize("extension", ["csv", "tsv", "parquet"])
@pytest.mark.parametrize("dtype", [pl.String, pl.Categorical])
def test_formulas_are_quoted_if_asked_for(call, extension, dtype):
    """In cells of text; numbers below 0 are none."""
    names = FORMULAS + PLAIN
    log = [LOG.with_columns(system=pl.lit(n), score=-pl.col("score")) for n in names]
    pl.concat(log).with_columns(pl.col("system").cast(dtype)).write_parquet("odd")
    os.rename("odd", "odd.parquet")
    file = f"values.{extension}"
    argv = ["odd.parquet", "--system", "system", "-m", "utility", "--per-query", file]
    for option in ([], ["--quote-formulas"]):
        status, out, err = call("evaluate", *argv, *option)
        assert (status, err) == (0, "")
        quoted = {n: f"'{n}" if option and n in FORMULAS else n for n in names}
        found = csv.DictReader(io.StringIO(out, newline=""))
        assert {row["system"] for row in found} == {*quoted.values()}
        rows = pr.io.scan(file, kind="run").collect()
        typed = extension == "parquet"
        expected = names if typed else ["" if n is None else n for n in quoted.values()]
        kept = rows["system"].cast(pl.String).fill_null("").unique().to_list()
        assert sorted(kept) == sorted(expected)
        assert rows["utility"].dtype == pl.Float64


# -- values of every query


@pytest.mark.parametrize("extension", ["parquet", "csv", "ndjson", "jsonl", "arrow"])
def test_per_query_is_the_library_call(call, rows, folder, extension):
    file = f"values.{extension}"
    assert rows("log.parquet", *ASKED, "--per-query", file) == near(MEANS)
    read = {"parquet": pl.read_parquet, "csv": pl.read_csv, "arrow": pl.read_ipc}
    found = read.get(extension, pl.read_ndjson)(folder / file)
    assert_frame_equal(found, pr.per_query(LOG, ["ndcg@10", "rr"]), check_exact=True)
    assert found["ndcg@10"].to_list() == near(list(NDCG.values()))


@pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")
def test_per_query_leaves_the_file_what_it_is(rows, folder):
    """Nobody else may read what nobody else could read; a pipe stays a pipe."""
    file, pipe = folder / "values.csv", folder / "pipe.csv"
    file.write_text("old")
    file.chmod(0o600)
    os.mkfifo(pipe)
    rows("log.parquet", *ASKED, "--per-query", file)
    assert file.stat().st_mode & 0o7777 == 0o600
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        rows("log.parquet", *ASKED, "--per-query", pipe)
        assert reader.stdout.read() == file.read_bytes()
    assert pipe.is_fifo()


def test_per_query_of_several_runs(rows):
    rows("two.run", "one.run", "qrels.txt", "-m", "rr", "--per-query", "values.csv")
    assert pl.read_csv("values.csv").rows() == [
        ("u", "q1", 1 / 2),
        ("u", "q2", 0),
        ("t", "q1", 1),
        ("t", "q2", 1 / 2),
    ]


@pytest.mark.parametrize(
    ("argv", "status"),
    [
        (["log.parquet", "nan.parquet"], 1),  # the second run fails
        (["log.parquet", "--queries", "log.parquet", "--weight", "label"], 1),
        (["log.parquet", "-m", "ap@0"], 2),
    ],
)
def test_a_failure_leaves_the_old_file_and_nothing_else(call, folder, argv, status):
    LOG.with_columns(score=pl.lit(float("nan"))).write_parquet("nan.parquet")
    (folder / "values.csv").write_text("old")
    before = sorted(os.listdir())
    found, out, err = call("evaluate", *argv, "--per-query", "values.csv")
    assert (found, out) == (status, "")
    assert err
    assert (folder / "values.csv").read_text() == "old"
    assert sorted(os.listdir()) == before


# -- what can go wrong


@pytest.mark.parametrize(
    ("argv", "status", "words"),
    [
        (["nope.parquet"], 1, "nope.parquet: no such file"),
        (["one.run"], 1, "one.run: no column 'label'"),
        (["one.run", "two.run"], 1, "looks like a run"),
        (["qrels.txt", "one.run"], 1, "swap them"),
        (["qrels.txt", "one.run", "two.run"], 1, "swap them"),
        (["log.parquet", "--label", "lable"], 1, "did you mean 'label'?"),
        (["log.parquet", "--score", "scores"], 1, "did you mean 'score'?"),
        (["log.parquet", "--system", "systems"], 1, "no column 'systems'"),
        (["log.parquet", "--by", "doc_id"], 1, "varies within a query"),
        (["log.parquet", "--score", "doc_id"], 2, "doc and score are both column"),
        (["log.parquet", "--score", "query_id"], 2, "query and score are both column"),
        (["cut.parquet"], 1, "cut.parquet: "),
        (["ragged.csv"], 1, "ragged.csv: "),
        (["words.csv"], 1, "words.csv: could not parse `high`"),
        (["one.run", "--qrels", "other.txt"], 1, "no judged query is in the run"),
        (["log.parquet", "--per-query", "x/y.csv"], 1, "no such folder: x"),
        (["log.parquet", "own.parquet"], 1, "a column 'system' of its own"),
        (["log.parquet", "-m", "ndgc@10"], 2, "did you mean 'ndcg'"),
        (["log.parquet", "-m", "ap@0"], 2, "at least 1, not '0'"),
        (["log.parquet", "-m", "ap(rel=x)"], 2, "rel must be a finite number"),
        (["log.parquet", "-m", "ap", "-m", "ap"], 2, "measure given twice: ap"),
        (["log.parquet", "-m"], 2, "requires an argument"),
        (["log.parquet", "--convention", "trec"], 2, "did you mean 'trec_eval'"),
        (["log.parquet", "--ties", "random"], 2, '"doc_desc"'),
        (["log.parquet", "--labl", "x"], 2, "Did you mean --label?"),
        (["log.parquet", "--k", "10"], 2, "A cutoff is part of the measure: -m ndcg@"),
        (["log.parquet", "--per-query", "y.txt"], 2, "end in a format: .parquet"),
        (["log.parquet", "-q", "--per-query", "y.csv"], 2, "choose one of them"),
        (["log.parquet", "--per-query", "./log.parquet"], 2, "part of the input"),
        (["parts", "--per-query", "parts/y.csv"], 2, "part of the input"),
        (["l*.parquet", "--per-query", "ln.parquet"], 2, "part of the input"),
        (["./pa*/*.parquet", "--per-query", "parts/n.parquet"], 2, "part of the input"),
        (
            ["**/l*.parquet", "--per-query", "parts/ln.parquet"],
            2,
            "part of the input",
        ),
        (["**/l*.parquet", "--per-query", "ln.parquet"], 2, "part of the input"),
        (
            ["log.parquet", "--queries", "q.csv", "--per-query", "q.csv"],
            2,
            "part of the input",
        ),
        (
            ["log.parquet", "--memory-limit", "2GB", "--temp-dir", ""],
            2,
            "a folder that exists, not ''",
        ),
        (["log.parquet", "log.parquet"], 2, "given twice"),
        (["log.parquet", "log.csv", "--system", "query_id"], 2, "query_id is taken"),
        (["log.parquet", "--example"], 2, "give no FILE"),
        ([], 2, "--example"),
    ],
)
def test_failures(call, folder, argv, status, words):
    parquet = (folder / "log.parquet").read_bytes()
    (folder / "cut.parquet").write_bytes(parquet[:200])
    (folder / "parts").mkdir()
    (folder / "parts" / "0.parquet").write_bytes(parquet)
    head = "query_id,doc_id,score,label\nq1,a,1,2\n"
    (folder / "ragged.csv").write_text(head + "q2,c,3,4,5\n")
    (folder / "words.csv").write_text(head + "q2,c,high,1\n")
    (folder / "other.txt").write_text("9 0 a 1\n")
    (folder / "q.csv").write_text("query_id\nq1\n")
    LOG.with_columns(system=pl.lit("x")).write_parquet("own.parquet")
    found, out, err = call("evaluate", *argv)
    assert (found, out) == (status, ""), err
    assert err.startswith("polars-rank: ")
    assert words in err
    assert not any(noise in err for noise in ("Traceback", "This error", "\n\n", "pr."))


def test_an_error_names_the_run_it_is_about(call):
    LOG.with_columns(score=pl.lit(float("nan"))).write_parquet("nan.parquet")
    err = call("evaluate", "log.parquet", "nan.parquet")[2]
    assert "\npolars-rank: nan.parquet: NaN scores" in err


@pytest.mark.parametrize("damaged", ["run.parquet", "judged.parquet"])
def test_a_damaged_file_is_named(call, folder, damaged):
    frames = {
        "run.parquet": LOG.drop("label"),
        "judged.parquet": LOG.drop("score"),
    }
    for name, frame in frames.items():
        frame.write_parquet(name, compression="zstd")
    whole = (folder / damaged).read_bytes()
    (folder / damaged).write_bytes(whole[:4] + b"\xff" * 200 + whole[204:])
    status, _, err = call("evaluate", "run.parquet", "--qrels", "judged.parquet")
    assert status == 1
    assert f"\npolars-rank: {damaged}: " in err


@pytest.mark.parametrize(
    ("raised", "status", "said"),
    [
        (KeyboardInterrupt(), 130, ""),
        (
            pl.exceptions.PanicException("at the disco"),
            1,
            "polars-rank: at the disco\n",
        ),
        (pl.exceptions.ComputeError("odd\n\nThis error ..."), 1, "polars-rank: odd\n"),
        (MemoryError(), 1, "polars-rank: MemoryError\n"),
        (OSError(28, "No space left"), 1, "polars-rank: No space left\n"),
    ],
)
def test_whatever_is_raised(call, monkeypatch, raised, status, said):
    def run(argv: object) -> None:
        raise raised

    monkeypatch.setattr("polars_rank.cli.app.run", run)
    assert call("evaluate") == (status, "", said)


@pytest.mark.parametrize("part", ["cyclopts", "rich"])
def test_without_the_extra(call, monkeypatch, part):
    for name in ("polars_rank.cli.app", "polars_rank.cli.output.help"):
        monkeypatch.delitem(sys.modules, name)
    for name in [n for n in sys.modules if n.partition(".")[0] == part]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, part, None)
    status, out, err = call("evaluate", "--example")
    assert (status, out) == (2, "")
    assert err == f"polars-rank: needs {part}: pip install 'polars-rank[cli]'\n"


# -- odd names


ODD = [
    "[red]x[/red]",
    "\x1b[31mx",
    "a|b*c",
    "<b>",
    "é\u202e",
    'x,"y"',
    "1\n2",
    ":smile:",
]


@pytest.fixture
def odd(folder):
    frames = [LOG.with_columns(system=pl.lit(name)) for name in ODD]
    pl.concat(frames).write_parquet("odd.parquet")
    return ("odd.parquet", "--system", "system", "-m", "rr")


def test_odd_names_come_back_from_json_and_csv(call, rows, odd):
    assert sorted(row["system"] for row in rows(*odd)) == sorted(ODD)
    out = call("evaluate", *odd)[1]
    found = [row["system"] for row in csv.DictReader(io.StringIO(out, newline=""))]
    assert sorted(found) == sorted(ODD)


def test_odd_names_do_nothing_in_tables(call, odd):
    out = call("evaluate", *odd, "--format", "table")[1]
    for name in ("[red]x[/red]", r"\x1b[31mx", "<b>", r"é\u202e", r"1\n2", ":smile:"):
        assert re.search(rf"^{re.escape(name)} +2 +0\.7500$", out, re.MULTILINE), name
    out = call("evaluate", *odd, "--format", "markdown")[1]
    for name in (r"\[red\]x\[/red\]", r"\\x1b\[31mx", r"a\|b\*c", r"\<b\>"):
        assert f"| {name} | 2 | 0.7500 |" in out
    assert all(c.isprintable() or c == "\n" for c in out)


# -- measures and explain


@pytest.mark.parametrize("format", ["table", "json", "csv", "markdown"])
def test_measures_lists_every_metric(call, format):
    status, out, _ = call("measures", "--format", format)
    assert status == 0
    for name, metric in ALL.items():
        assert name in out
        assert metric.family in out
        summary = metric.summary.replace("``", "")
        assert (summary in out) or format == "markdown"
        assert all(alias in out for alias in metric.aliases) or format == "markdown"


def test_the_measures_of_a_family_stand_together(call):
    """Blank lines are between families: the first one is below the last of its own."""
    lines = call("measures", "--format", "table")[1].split("\n")
    first = [line.split()[0] for line in lines[1 : lines.index("")]]
    family = next(iter(ALL.values())).family
    assert lines[0] == family
    assert {m.name for m in ALL.values() if m.family == family} <= {*first}


def test_measures_as_rows(call):
    found = {
        row["measure"]: row
        for row in json.loads(call("measures", "--format", "json")[1])
    }
    assert list(found) == list(ALL)
    assert found["ap"]["parameters"] == "k=none, rel=1, divisor=R"
    assert found["ap"]["family"] == "binary"
    assert "MAP, map, map_cut" in found["ap"]["aliases"]
    assert found["rbp"]["aliases"] == "RBP (p=0.8, gain=binary)"
    assert [*csv.DictReader(io.StringIO(call("measures")[1]))] == [*found.values()]


@pytest.mark.parametrize(
    "name", [slow(name) if i % 2 else name for i, name in enumerate(ALL)]
)
def test_explain_says_what_the_docstring_says(call, name):
    metric = ALL[name]
    cut = "@7" if "k" in metric.parameters else ""
    status, out, err = call("explain", name + cut)
    assert (status, err) == (0, "")
    said = " ".join(out.split())
    for line in metric.doc.splitlines():
        words = line.replace("``", "")
        words = re.sub(r"^(Undefined|Errors|Source|Equal to|Example):", r"\1", words)
        assert words in said
    for parameter in metric.parameters:
        assert re.search(rf"^  {parameter} +\S", out, re.MULTILINE)
    wanted = r"^  k +7 +the first 7 documents  \(given\)$"
    assert not cut or re.search(wanted, out, re.MULTILINE)
    assert len(re.findall(r"^(?:Undefined|Source|Example)\b", out, re.MULTILINE)) == 3
    assert not re.search(r"^ {8}", out, re.MULTILINE), "wrapped"


def test_explain_an_alias_with_parameters(call):
    out = call("explain", "map_cut(rel=2)@100")[1]
    assert out.startswith("map_cut(rel=2)@100  is  ap(rel=2)@100\n")
    assert re.search(r"^  rel +2 .*  \(given\)$", out, re.MULTILINE)
    assert re.search(r"^  divisor +R .*not$", out, re.MULTILINE)
    assert call("explain", "map_cut_100")[1].startswith("map_cut_100  is  ap@100\n")


def test_explain_follows_the_convention(call, monkeypatch):
    changed = pr.CONVENTIONS["trec_eval"].replace(
        name="other", no_relevant="skip", ap_divisor="min_k_R"
    )
    monkeypatch.setitem(pr.CONVENTIONS, "other", changed)
    out = call("explain", "ap@5", "--convention", "other")[1]
    assert re.search(r"^  divisor +min_k_R .*  \(other\)$", out, re.MULTILINE)
    assert "Such a query is left out of the mean." in out
    assert "Such a query counts as 0." in call("explain", "ap@5")[1]
    assert "Such a query is left out of the mean." in call("explain", "spearman")[1]


def test_explain_what_is_unknown(call):
    status, out, err = call("explain", "ndgc@10")
    assert (status, out) == (2, "")
    assert "unknown measure 'ndgc'; did you mean 'ndcg'" in err


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "coverage"])
def test_the_list_of_commands_says_what_their_own_help_begins_with(call, command):
    """The list reads their docstrings without an import."""
    begins = " ".join(call(command, "--help")[1].split("\n\n")[1].split())
    listed = " ".join(call("--help")[1].partition("Commands:")[2].split())
    assert re.search(rf"(?:^|\. ){command}: {re.escape(begins)}( |$)", listed)


def test_help_and_version_import_no_command():
    code = (
        "import sys; from polars_rank.cli import main; "
        "main(['--help']); main(['--version']); "
        "slow = 'numpy', 'scipy', 'pyarrow', 'polars_rank._engine', "
        "'polars_rank.cli.commands'; "
        "print([n for n in sys.modules if n.startswith(slow)])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    assert done.stdout.endswith("\n[]\n")


def test_version_and_help(call):
    assert call("--version") == (0, f"polars-rank {pr.__version__}\n", "")
    status, out, _ = call("evaluate", "-h")
    assert status == 0
    options = re.findall(r"--[a-z-]+", out)
    assert {"--qrels", "--measure", "--per-query", "--on-duplicate"} <= set(options)
    assert not any(option.startswith(("--no-e", "--empty")) for option in options)
    assert out.isascii()


# -- the example


def test_the_example_is_what_its_script_writes():
    assert_frame_equal(pl.read_parquet(path()), make.log())
    assert path().stat().st_size < 10_000


def test_the_example_is_evaluated_like_any_file(rows):
    assert rows("--example", *ASKED) == rows(path(), *ASKED)
    de, fr, us = rows("--example", "-m", "rr", "--by", "country")
    assert [row["country"] for row in (de, fr, us)] == ["DE", "FR", "US"]
    assert de["rr"] == near((1 + 1 / 6) / 2)  # jacket: first; coffee grinder: sixth
    assert fr["rr"] == 0  # nothing relevant
    assert us["rr"] == near((1 + 1 / 2) / 2)  # cable: first; shoes: second


# -- as a process


@pytest.mark.slow
def test_a_pipe_in_and_a_reader_that_leaves(folder):
    """``cat run | polars-rank evaluate - | head -1``, with more than a pipe holds."""
    lines = [f"{'q' * 100}{i} Q0 a 1 1 t\n" for i in range(3000)]
    (folder / "many.txt").write_text(
        "".join(f"{'q' * 100}{i} 0 a 1\n" for i in range(3000))
    )
    argv = ["evaluate", "-", "many.txt", "--by", "query_id", "-m", "rr"]
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [*COMMAND, *argv], stdin=pipe, stdout=pipe, stderr=pipe, env=ENV
    ) as done:
        done.stdin.write("".join(lines).encode())
        done.stdin.close()
        assert done.stdout.readline() == b"query_id,queries,rr\n"
        done.stdout.close()
        files = b"polars-rank: run: standard input; judgments: many.txt"
        assert done.stderr.read().strip() == files
    assert done.returncode == 141  # as of a program that SIGPIPE ends


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="needs a shell")
@pytest.mark.parametrize(
    "argv", ["evaluate log.parquet", *map(slow, ["measures", "-h"])]
)
def test_standard_output_is_closed(argv):
    done = subprocess.run(
        f"{sys.executable} -m polars_rank.cli {argv} >&-",
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        env=ENV,
    )
    assert done.returncode == 1
    assert done.stderr.startswith("polars-rank: standard output is closed;")
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_process_returns_the_status():
    argv = [*COMMAND, "evaluate", "nope.run"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, env=ENV)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("polars-rank: nope.run: no such file")


def test_on_a_terminal():
    """A table that fits: 50 columns wide, measures below each other if need be."""
    pty = pytest.importorskip("pty")
    LOG.with_columns(system=pl.lit("[red]x\x1b[31m")).write_parquet("odd.parquet")
    outer, inner = pty.openpty()
    argv = [*COMMAND, "evaluate", "odd.parquet", "--system", "system"]
    env = ENV | {"COLUMNS": "50", "TERM": "xterm"}
    env.pop("NO_COLOR", None)
    hush = subprocess.DEVNULL  # where a slow machine would show the bar
    with subprocess.Popen(argv, stdout=inner, stderr=hush, env=env) as done:
        os.close(inner)
        out = b""
        try:
            while part := os.read(outer, 1 << 16):
                out += part
        except OSError:  # how Linux says that the other end is closed
            pass
    os.close(outer)
    assert done.returncode == 0
    text = out.decode()
    assert "\x1b[1m" in text
    assert "\x1b[31m" not in text
    plain = re.sub(r"\x1b\[[0-9;]*m", "", text).splitlines()
    assert max(map(len, plain)) <= 50
    assert sum(line.startswith(" system") for line in plain) > 1
    assert r" [red]x\x1b[31m " in plain[2]
    assert "─" in plain[1]


def test_integer_ids_join_a_file_without_types(tmp_path, capsys):
    """Query 1 finds its document second, query 2 first: mrr = 3/4."""
    ids = {"query_id": [1, 1, 2], "doc_id": [10, 11, 10]}
    pl.DataFrame({**ids, "score": [2.0, 1.0, 1.0]}).write_parquet(
        tmp_path / "run.parquet"
    )
    (tmp_path / "q.qrels").write_text("1 0 11 1\n2 0 10 1\n")
    files = [str(tmp_path / "run.parquet"), str(tmp_path / "q.qrels")]
    assert main(["evaluate", *files, "-m", "mrr", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"queries": 2, "mrr": 3 / 4}
    typed = pl.DataFrame({"query_id": ["1"], "doc_id": ["11"], "label": [1]})
    typed.write_parquet(tmp_path / "q.parquet")
    assert main(["evaluate", files[0], str(tmp_path / "q.parquet"), "-m", "mrr"]) == 1
    assert "never equal" in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, slow(signal.SIGHUP)])
def test_told_to_end_while_it_reads(tmp_path, number):
    """What came from standard input was written to a file."""
    pipe, env = subprocess.PIPE, ENV | {"TMPDIR": str(tmp_path)}
    argv = [*COMMAND, "evaluate", "-"]
    with subprocess.Popen(argv, stdin=pipe, stderr=pipe, env=env) as running:
        running.stdin.write(b"1 Q0 a 1 1.0 t\n" * 100_000)
        running.stdin.flush()
        while not list(tmp_path.glob("*/input")):
            assert running.poll() is None, running.stderr.read()
            time.sleep(0.01)
        running.send_signal(number)
        assert running.wait(timeout=60) == 128 + number
        assert not running.stderr.read()
    assert not list(tmp_path.glob(".polars-rank-*"))


# -- other commands


@pytest.mark.parametrize("format", ["table", "json", "csv", "markdown"])
def test_conventions_are_listed(call, format):
    status, out, _ = call("conventions", "--format", format)
    assert status == 0
    for name, tool in TOOLS.items():
        assert name in out or format == "markdown"
        assert tool.follows.split(",")[0] in out or format == "markdown"


@pytest.mark.parametrize("command", ["match-report", "coverage"])
def test_match_report_is_the_library_call(call, command):
    status, out, err = call(command, "one.run", "qrels.txt", "--format", "json")
    assert (status, err) == (0, "")
    run, qrels = scan("one.run", kind="run"), scan("qrels.txt", kind="qrels")
    expected = pr.match_report(run, qrels).collect()
    assert [tuple(row.values()) for row in json.loads(out)] == expected.rows()
    lines = call(command, "one.run", "qrels.txt", "--format", "table")[1].splitlines()
    assert lines[1].split() == ["queries", "in", "both", "2"]
    assert lines[8].split()[-2:] == ["10", "0.2500"]  # one of four is not judged
    status, _, err = call(command, "one.run", "nope.txt")
    assert status == 1
    assert err.startswith("polars-rank: nope.txt: no such file")


def test_statistics_of_the_command(call, rows):
    argv = ("log.parquet", "-m", "rr", "--stats", "mean", "--stats", "n")
    assert rows(*argv, "--stats", "se") == {
        "queries": 2,
        "rr": 3 / 4,
        "rr_n": 2,
        "rr_se": near(1 / 4),
    }
    table = call("evaluate", *argv, "--format", "table")[1].splitlines()
    assert [line.split() for line in table[1:3]] == [["rr", "0.7500"], ["rr_n", "2"]]


@pytest.mark.slow
def test_completion_is_installed_for_a_shell(call, tmp_path):
    script = tmp_path / "polars-rank.bash"
    argv = ("--install-completion", "--shell", "bash", "--output", script)
    assert call(*argv)[0] == 0
    assert all(w in script.read_text() for w in ("match-report", "--memory-limit"))


def test_every_command_is_told_in_a_line(call):
    shown = call("--help")[1]
    assert "coverage: Another name for match-report." in shown
    lines = shown.partition("Commands:")[2].splitlines()
    assert all(": " in line for line in lines if re.match(r"  \S", line))


def test_judgments_of_beir_without_their_format_are_told_the_option(call):
    head = "query-id\tcorpus-id\tscore\n"
    Path("test.tsv").write_text(head + "q1\td1\t1\nq1\td2\t0\n")
    Path("a.run").write_text("q1 Q0 d1 1 2.0 x\nq1 Q0 d2 2 1.0 x\n")
    for argv in (["a.run", "test.tsv"], ["a.run", "--qrels", "test.tsv"], ["test.tsv"]):
        status, _, err = call("evaluate", *argv, "-m", "rr")
        assert status == 1
        assert "test.tsv: looks like judgments of BEIR" in err
        assert "--qrels-format beir" in err
    argv = ("a.run", "test.tsv", "-m", "rr", "--format", "csv")
    assert call("evaluate", *argv, "--qrels-format", "beir")[0] == 0
    names = ("--query", "query-id", "--doc", "corpus-id", "--label", "score")
    Path("b.tsv").write_text(head + "q1\td1\t2\n")
    assert "looks like" not in call("evaluate", "b.tsv", "test.tsv", *names)[2]


def test_the_bar_goes_on_while_nobody_tells_how_far_it_is(monkeypatch):
    """First of unknown length, then as told; gone in the end."""
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=80)
    monkeypatch.setattr("polars_rank.cli.output.bar.Console", lambda **_: console)
    monkeypatch.setattr("polars_rank.cli.output.bar.SOON", 0)
    with Bar() as bar:
        bar.timer.join()
        assert [task.description for task in bar.display.tasks] == ["evaluating"]
        bar.told(Progress("evaluate", 1, 4, "buckets"))
        (task,) = bar.display.tasks
        assert (task.completed, task.total) == (1, 4)
        assert "buckets evaluated" in task.description
    assert "evaluating" in screen.getvalue()


def test_no_bar_where_it_is_done_soon():
    with Bar() as bar:
        pass
    assert not bar.tasks
    assert not bar.timer.is_alive()


def test_no_bar_beside_a_terminal():
    """Nor what draws it, which is slow to import."""
    code = (
        "import sys; from polars_rank.cli import main; "
        "main(['evaluate', '--example', '--memory-limit', '2GB']); "
        "print('rich.progress' in sys.modules)"
    )
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, check=True, capture_output=True, text=True, env=ENV)
    assert done.stdout.endswith("\nFalse\n")
    assert done.stderr == ""


def test_an_error_names_the_file_at_fault(call):
    Path("twice.txt").write_text(QRELS + QRELS)
    _, _, err = call("evaluate", "one.run", "twice.txt")
    assert err.splitlines()[-1].startswith(
        "polars-rank: twice.txt: duplicate documents"
    )
    assert "--query" in err
    Path("twice.run").write_text(RUN + RUN)
    _, _, err = call("evaluate", "twice.run", "qrels.txt")
    assert err.splitlines()[-1].startswith(
        "polars-rank: twice.run: duplicate documents"
    )


# -- in bounded memory


@pytest.fixture
def passes(monkeypatch):
    """Buckets of a few rows; how often all rows are read and put into buckets."""
    small, found = budget.Budget(bucket=64, buffers=1 << 20), []
    first = work._first_split

    def counting(*arguments):
        found.append(arguments)
        return first(*arguments)

    monkeypatch.setattr(budget.Budget, "of", lambda limit, factor: small)
    monkeypatch.setattr(work, "_first_split", counting)
    return lambda: len(found)


@pytest.mark.slow
@pytest.mark.parametrize("layout", ["any", slow("auto")])
def test_one_pass_for_means_and_values(call, folder, passes, layout):
    i = pl.int_range(60)
    pl.select(
        query_id=pl.format("q{}", i % 6),
        doc_id=pl.format("d{}", i),
        score=i * 7 % 31,
        label=i % 3,
        part=i % 2,
    ).write_parquet("many.parquet")
    asked = ["evaluate", "many.parquet", *ASKED, "--by", "part", "--format", "csv"]
    whole = call(*asked, "--per-query", "whole.csv")
    limit = ["--memory-limit", "1GB", "--layout", layout, "--temp-dir", "."]
    assert call(*asked, *limit, "--per-query", "values.csv") == whole
    assert Path("values.csv").read_bytes() == Path("whole.csv").read_bytes()
    assert passes() == 1
    assert not list(folder.glob(".polars-rank-*"))


def test_the_history_and_the_catalog_are_files(call, rows, folder):
    """History of 2 users: both know a, one knows c; the catalog has 8 items."""
    Path("train.csv").write_text("query_id,doc_id\nx,a\ny,a\ny,c\n")
    items = "".join(f"{item},{item}\n" for item in "abcdefgh")
    Path("items.csv").write_text(f"doc_id,genre\n{items}")
    about = ["--history", "train.csv", "--items", "items.csv"]
    asked = ["-m", "rr", "-m", "novelty@1", "-m", "coverage@1", "-m", "ild(genre)"]
    found = rows("one.run", "qrels.txt", *about, *asked)
    assert found == {
        "queries": 2,
        "rr": (1 + 1 / 2) / 2,
        "novelty@1": (0 + 1) / 2,
        "coverage@1": 2 / 8,
        "ild(genre)": 1,
    }
    unjudged = [word for word in asked if word not in ("rr", "-m")]
    unjudged = [w for m in unjudged for w in ("-m", m)]
    alone = rows("one.run", *about, *unjudged)
    assert alone == {n: v for n, v in found.items() if n != "rr"}
    both = rows("one.run", "two.run", *about, *unjudged)
    assert both[0] == {"system": "t", **alone}
    Path("three.run").write_text(RUN.replace("Q0 a", "Q0 d"))
    for judged, own in (
        (["qrels.txt"], ["-m", "rr", "-m", "coverage@1"]),
        ([], unjudged),
    ):
        command = ["one.run", "three.run", *judged, *about, *own, "--format", "json"]
        code, out, said = call("compare", *command)
        assert code == 0, said
        pairs = {row["measure"]: row for row in json.loads(out)["pairs"]}
        assert [*pairs] == own[1::2]
        means = [pairs["coverage@1"][n] for n in ("baseline_mean", "mean")]
        assert means == [2 / 8, 2 / 8]
    code, _, said = call("evaluate", "one.run", *about, *asked)
    assert code != 0
    assert "one.run: no column 'label'" in said
    code, _, said = call("evaluate", "one.run", "qrels.txt", *about, *asked, "-q")
    assert code != 0
    assert "coverage is a number of all lists together" in said
    about[1] = "items.csv"
    code, _, said = call("evaluate", "one.run", "qrels.txt", *about, *asked)
    assert code != 0
    assert "items.csv: query column 'query_id' is not in history" in said
