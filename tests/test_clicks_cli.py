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
    status, out, _ = run(capsys, "check", "--example")
    assert status == 0
    facts = {row["fact"]: float(row["value"]) for row in table(out)}
    assert facts == dict(clicks.check(LOG).facts.iter_rows())
    status, out, _ = run(
        capsys, "check", "--example", "--format", "table", "--arm", "arm"
    )
    assert status == 0
    for words in ("impressions", "position", "comparison of arms", "by 'arm'"):
        assert words in out


def test_check_shows_faults(capsys, tmp_path):
    log = clicks.simulate(10).log.with_columns(
        position=pl.col("position").cast(int) - 1
    )
    file = tmp_path / "log.parquet"
    log.write_parquet(file)
    status, out, _ = run(capsys, "check", str(file), "--format", "table")
    assert status == 0
    assert "invalid_position" in out
    status, _, err = run(capsys, "behaviour", str(file))
    assert status == 1
    assert "give --first-position" in err
    status, out, _ = run(capsys, "behaviour", str(file), "--first-position", "0")
    assert status == 0


def test_behaviour(capsys, tmp_path):
    target = tmp_path / "out.parquet"
    status, out, err = run(
        capsys,
        "behaviour",
        "--example",
        "-m",
        "ctr@3",
        "--by",
        "device",
        "--out",
        str(target),
    )
    assert (status, err) == (0, "")
    wanted = clicks.behaviour(LOG, ["ctr@3"], by="device").collect()
    assert [float(row["ctr@3"]) for row in table(out)] == wanted["ctr@3"].to_list()
    assert pl.read_parquet(target).equals(wanted)
    status, out, _ = run(
        capsys, "behaviour", "--example", "-m", "rr", "--format", "json"
    )
    assert json.loads(out)["rr"] == clicks.behaviour(LOG, ["rr"]).collect()["rr"].item()
    arguments = ["--interval", "normal", "--cluster", "user_id", "-m", "satisfied"]
    status, out, err = run(
        capsys,
        "behaviour",
        "--example",
        "--dwell",
        "dwell",
        *arguments,
        "--format",
        "table",
    )
    assert (status, err) == (0, "")
    assert "satisfied" in out
    status, _, err = run(capsys, "behaviour", "--example", "--interval", "normal")
    assert status == 0
    assert "warning: intervals treat impressions as independent" in err
    assert "--cluster user_id" in err


@pytest.mark.slow
def test_several_files_are_one_log(capsys, tmp_path):
    log = LOG.collect()
    for i, part in enumerate(log.iter_slices(60_000)):
        part.write_parquet(tmp_path / f"{i}.parquet")
    files = [str(tmp_path / f"{i}.parquet") for i in range(2)]
    status, out, _ = run(capsys, "behaviour", *files, "-m", "mean_rr")
    assert status == 0
    _, whole, _ = run(capsys, "behaviour", "--example", "-m", "mean_rr")
    assert out == whole
    text = tmp_path / "log.csv"
    log.head(1000).select("impression_id", "position", "clicked").write_csv(text)
    status, out, _ = run(capsys, "behaviour", str(text), "-m", "ctr")
    assert status == 0
    assert float(table(out)[0]["ctr"]) == log["clicked"].head(1000).mean()


def test_interleaving(capsys):
    status, out, _ = run(capsys, "interleaving", "--example", "--cluster", "user_id")
    assert status == 0
    (row,) = table(out)
    assert (row["wins"], row["losses"], row["ties"]) == ("534", "641", "454")


@pytest.mark.slow
def test_compare(capsys, tmp_path):
    status, out, _ = run(capsys, "compare", "--example", "--control", "A", "-m", "ctr")
    assert status == 0
    (row,) = table(out)
    wanted = (
        clicks.compare(LOG, "ctr", arm="arm", control="A").collect().row(0, named=True)
    )
    assert float(row["effect"]) == wanted["effect"]
    numbered = LOG.with_columns(arm=(pl.col("arm") == "B").cast(pl.Int64))
    numbered.sink_parquet(tmp_path / "n.parquet")
    status, out, _ = run(
        capsys, "compare", str(tmp_path / "n.parquet"), "--control", "0", "-m", "ctr"
    )
    assert status == 0
    assert float(table(out)[0]["effect"]) == wanted["effect"]
    status, _, err = run(capsys, "compare", "--example", "--control", "Z")
    assert status == 1
    assert "the arms of the log are: 'A', 'B'" in err


def test_simulate(capsys, tmp_path):
    log, truth = tmp_path / "log.parquet", tmp_path / "truth.parquet"
    arguments = ["--impressions", "1e3", "--seed", "3", "--arms", "2"]
    status, out, err = run(
        capsys, "simulate", "--out", str(log), "--truth", str(truth), *arguments
    )
    assert (status, out, err) == (0, "", "")
    wanted = clicks.simulate(1000, seed=3, arms=2)
    assert pl.read_parquet(log).equals(wanted.log)
    assert pl.read_parquet(truth).equals(wanted.truth)
    status, _, _ = run(capsys, "simulate", "--out", str(log), "--example")
    assert pl.read_parquet(log).equals(LOG.collect())


WRONG = [
    (["check"], "name a LOG, or try --example"),
    (["check", "--example", "x.parquet"], "--example brings its own data"),
    (
        ["behaviour", "--example", "-m", "clicsk"],
        "unknown measure of behaviour 'clicsk'",
    ),
    (["behaviour", "--example", "--page", "arm"], "--page-size belong together"),
    (
        ["simulate", "--out", "x.parquet", "--impressions", "1.5"],
        "must be a whole number",
    ),
    (["simulate", "--out", "x.parquet", "--k", "99"], "k must be at most docs"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_usage(capsys, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, *arguments)
    assert (status, out) == (2, "")
    assert message in err
