"""The commands ``clicks ...``: what the functions give, printed."""

from __future__ import annotations

import csv
import io
import json

import polars as pl
import pytest

from polars_rank import clicks
from polars_rank.cli import main
from polars_rank.example import clicks_path


def run(capsys, *arguments):
    status = main(["clicks", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


LOG = pl.scan_parquet(clicks_path())


def test_check(capsys):
    status, out, _ = run(capsys, "report", "--example")
    assert status == 0
    facts = {row["item"]: float(row["value"]) for row in table(out)}
    assert facts == dict(clicks.report(LOG).facts.iter_rows())
    status, out, _ = run(
        capsys, "report", "--example", "--format", "table", "--arm", "arm"
    )
    assert status == 0
    for words in ("impressions", "position", "comparison of arms", "by 'arm'"):
        assert words in out


@pytest.fixture
def from_zero(tmp_path):
    """A file with 10 impressions of 10 documents, whose positions count from 0."""
    log = (
        clicks.simulate(10)
        .draw()
        .with_columns(position=pl.col("position").cast(int) - 1)
    )
    file = tmp_path / "log.parquet"
    log.write_parquet(file)
    return str(file)


def test_check_shows_faults(capsys, from_zero):
    status, out, _ = run(capsys, "report", from_zero, "--format", "table")
    assert status == 0
    assert "invalid_position" in out
    status, _, err = run(capsys, "behavior", from_zero)
    assert status == 1
    assert "give --first-position" in err
    status, out, _ = run(capsys, "behavior", from_zero, "--first-position", "0")
    assert status == 0


@pytest.mark.parametrize("form", ["table", "csv", "tsv", "json", "markdown"])
def test_check_tells_faults_on_standard_error(capsys, from_zero, form):
    """In every format, and that clicks are counted of the rows that remain."""
    status, out, err = run(capsys, "report", from_zero, "--format", form)
    assert status == 0
    assert "they count from 1: give --first-position 0 if yours" in err
    assert "(10 found)" in err
    assert "10 of 100 rows break a rule; clicks, positions and pairs" in err
    if form == "csv":
        facts = {row["item"]: float(row["value"]) for row in table(out)}
        assert (facts["rows"], facts["rows that break no rule"]) == (100, 90)
        log = pl.read_parquet(from_zero).filter(pl.col("position") > 0)
        assert facts["clicks"] == log["clicked"].sum()
        shared = facts["clicks per row that breaks no rule"]
        assert shared == pytest.approx(log["clicked"].mean(), rel=1e-12)
    _, _, err = run(capsys, "report", "--example", "--format", form)
    assert err == ""


def test_check_refuses_nothing(capsys):
    """So it has no option that says what to refuse; and it speaks of options."""
    status, _, err = run(capsys, "report", "--example", "--check", "strict")
    assert status == 2
    assert "--check" in err
    _, out, _ = run(capsys, "report", "--example", "--format", "table")
    for words in ("(--dwell)", "(--team)", "(--arm)", "with --cluster user_id"):
        assert words in out
    assert "=" not in out


def test_behavior(capsys, tmp_path):
    target = tmp_path / "out.parquet"
    status, out, err = run(
        capsys,
        "behavior",
        "--example",
        "-m",
        "ctr@3",
        "--by",
        "device",
        "--out",
        str(target),
    )
    assert (status, err) == (0, "")
    wanted = clicks.behavior(LOG, ["ctr@3"], by="device").collect()
    assert [float(row["ctr@3"]) for row in table(out)] == wanted["ctr@3"].to_list()
    assert pl.read_parquet(target).equals(wanted)
    status, out, _ = run(
        capsys, "behavior", "--example", "-m", "rr", "--format", "json"
    )
    assert json.loads(out)["rr"] == clicks.behavior(LOG, ["rr"]).collect()["rr"].item()
    arguments = ["--interval", "normal", "--cluster", "user_id", "-m", "satisfied"]
    status, out, err = run(
        capsys,
        "behavior",
        "--example",
        "--dwell",
        "dwell",
        *arguments,
        "--format",
        "table",
    )
    assert (status, err) == (0, "")
    assert "satisfied" in out
    status, _, err = run(capsys, "behavior", "--example", "--interval", "normal")
    assert status == 0
    assert "warning: intervals treat impressions as independent" in err
    assert "--cluster user_id" in err


@pytest.mark.slow
def test_several_files_are_one_log(capsys, tmp_path):
    log = LOG.collect()
    for i, part in enumerate(log.iter_slices(60_000)):
        part.write_parquet(tmp_path / f"{i}.parquet")
    files = [str(tmp_path / f"{i}.parquet") for i in range(2)]
    status, out, _ = run(capsys, "behavior", *files, "-m", "mean_rr")
    assert status == 0
    _, whole, _ = run(capsys, "behavior", "--example", "-m", "mean_rr")
    assert out == whole
    text = tmp_path / "log.csv"
    log.head(1000).select("impression_id", "position", "clicked").write_csv(text)
    status, out, _ = run(capsys, "behavior", str(text), "-m", "ctr")
    assert status == 0
    assert float(table(out)[0]["ctr"]) == log["clicked"].head(1000).mean()


def test_interleaving(capsys):
    status, out, _ = run(capsys, "interleaving", "--example", "--cluster", "user_id")
    assert status == 0
    (row,) = table(out)
    assert (row["wins"], row["losses"], row["ties"]) == ("534", "641", "454")


@pytest.mark.slow
def test_compare(capsys, tmp_path):
    given = ["compare-arms", "--control", "A", "-m", "ctr"]
    status, out, _ = run(capsys, *given, "--example")
    assert status == 0
    (row,) = table(out)
    wanted = (
        clicks.compare_arms(LOG, "ctr", arm="arm", control="A")
        .collect()
        .row(0, named=True)
    )
    assert float(row["effect"]) == wanted["effect"]
    numbered = LOG.with_columns(arm=(pl.col("arm") == "B").cast(pl.Int64))
    numbered.sink_parquet(tmp_path / "n.parquet")
    status, out, _ = run(
        *(capsys, "compare-arms", str(tmp_path / "n.parquet")),
        *("--control", "0", "-m", "ctr"),
    )
    assert status == 0
    assert float(table(out)[0]["effect"]) == wanted["effect"]
    status, _, err = run(capsys, "compare-arms", "--example", "--control", "Z")
    assert status == 1
    assert "the arms of the log are: 'A', 'B'" in err


def test_simulate(capsys, tmp_path):
    log, truth = tmp_path / "log.parquet", tmp_path / "truth.parquet"
    arguments = ["--n-impressions", "1e3", "--seed", "3", "--n-arms", "2"]
    status, out, err = run(
        capsys, "simulate", "--out", str(log), "--truth", str(truth), *arguments
    )
    assert (status, out, err) == (0, "", "")
    wanted = clicks.simulate(1000, seed=3, n_arms=2)
    assert pl.read_parquet(log).equals(wanted.draw())
    assert pl.read_parquet(truth).equals(wanted.truth)
    status, _, _ = run(capsys, "simulate", "--out", str(log), "--example")
    assert pl.read_parquet(log).equals(LOG.collect())


WRONG = [
    (["report"], "name a LOG, or try --example"),
    (["report", "--example", "x.parquet"], "--example brings its own data"),
    (
        ["behavior", "--example", "-m", "clicsk"],
        "unknown measure of behavior 'clicsk'",
    ),
    (["behavior", "--example", "--page", "arm"], "--page-size belong together"),
    (
        ["simulate", "--out", "x.parquet", "--n-impressions", "1.5"],
        "must be a whole number",
    ),
    (["simulate", "--out", "x.parquet", "--k", "99"], "--k must be at most --n-docs"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_usage(capsys, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err


@pytest.mark.parametrize(
    ("command", "taken", "first"),
    [
        ("report", "", "rows,100000.0"),
        ("behavior", "", "10000,12065,"),
        ("propensities", "", "1,1.0,"),
        ("counterfactual", "--new score --baseline score --eta 1.0", "new_score,"),
        ("sensitivity", "--new new_score --new score", "0.0,new_score,"),
        ("interleaving", "", "A,B,"),
        ("compare-arms", "--control A", "any_click,B,"),
        ("judgments", "--eta 1.0", "0,"),
    ],
)
def test_the_example_is_enough(capsys, command, taken, first):
    """What an option would have to say, the example takes; and says so."""
    status, out, err = run(capsys, command, "--example")
    assert status == 0
    assert out.splitlines()[1].startswith(first)
    assert ("--example takes" in err) == bool(taken)
    assert taken in err


COMMANDS = (
    *("report", "behavior", "propensities", "counterfactual", "sensitivity"),
    *("interleaving", "compare-arms", "judgments"),
)


@pytest.mark.covering(0, rest=1)
@pytest.mark.parametrize("form", ["table", "json", "csv", "tsv", "markdown"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_in_every_format(capsys, command, form):
    """The same rows in each: as many lines, or as many dictionaries."""
    status, out, err = run(capsys, command, "--example", "--format", form)
    assert status == 0, err
    _, plain, _ = run(capsys, command, "--example", "--format", "csv")
    rows = table(plain)
    if form == "json":
        found = json.loads(out)
        assert [*map(list, found if isinstance(found, list) else [found])] == [
            list(row) for row in rows
        ]
    elif command == "report" and form == "table":
        assert "interleaving" in out
    elif command == "behavior" and form == "table":
        assert len(out.splitlines()) == 1 + len(rows[0])
    else:
        assert len(out.splitlines()) == len(rows) + 1 + (form == "markdown")


def test_words_beside_numbers_in_a_table(capsys):
    arguments = ["--format", "table", "--cluster", "user_id", "-m", "precision@1"]
    status, out, _ = run(capsys, "counterfactual", "--example", *arguments)
    assert status == 0
    header, row, *_ = out.splitlines()
    assert header.split()[-1] == "scale"
    assert row.split()[-1] == "relative"
