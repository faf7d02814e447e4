"""The command split-check: two files in, what check_split returns out."""

from __future__ import annotations

import csv
import io
import json
from typing import get_args

import polars as pl
import pytest

from polars_rank import recommend
from polars_rank.cli import main
from polars_rank.recommend.split_report import Rule

TRAIN = "user_id,item_id,time\n1,5,10\n1,6,11\n2,5,30\n"
TEST = "user_id,item_id,time\n1,5,9\n\x1b[31m,6,40\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Both parts of a split as CSV, whose times are numbers and whose ids are text."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.csv").write_text(TRAIN)
    (tmp_path / "test.csv").write_text(TEST)


def call(capsys, *argv):
    return main(["split-check", *argv]), *capsys.readouterr()


def test_split_check_counts_what_breaks_rules(capsys):
    status, out, err = call(capsys, "train.csv", "test.csv", "--format", "json")
    assert (status, err) == (0, "")
    found = json.loads(out)
    # of the two test rows, that at 9 is before the newest of all, of its user and item
    expected = {
        "global_leak": 1,
        "user_leak": 1,
        "item_leak": 2,
        "cold_users": 1,
        "cold_items": 0,
        "pairs_in_both": 1,
        "repeats_in_train": 0,
        "repeats_in_test": 0,
    }
    assert {row["rule"]: row["count"] for row in found} == expected
    assert found[1]["examples"] == ["user 1, item 5, time 9"]
    assert [*expected] == [*get_args(Rule)]
    status, out, _ = call(capsys, "train.csv", "test.csv", "--format", "csv")
    assert status == 0
    assert [row["rule"] for row in csv.DictReader(io.StringIO(out))] == [*expected]


def test_table_is_the_report_without_what_a_terminal_obeys(capsys):
    status, out, _ = call(capsys, "train.csv", "test.csv", "--format", "table")
    assert status == 0
    report = str(recommend.check_split("train.csv", "test.csv"))
    assert out == report.replace("\x1b", "\\x1b") + "\n"


@pytest.mark.parametrize(
    ("rules", "status"),
    [(["user_leak"], 3), (["cold_items"], 0), (["cold_items", "cold_users"], 3)],
)
def test_rules_that_fail(capsys, rules, status):
    asked = [word for rule in rules for word in ("--fail-on", rule)]
    assert call(capsys, "train.csv", "test.csv", *asked)[0] == status
    status, _, err = call(capsys, "train.csv", "test.csv", "--fail-on", "cold_user")
    assert (status, "cold_users" in err) == (2, True)


def test_columns_and_files_of_different_kinds(capsys):
    columns = {"user_id": "u", "item_id": "i"}
    given = pl.DataFrame({"u": [1], "i": [5]})
    given.write_parquet("typed.parquet")  # whose ids are numbers
    pl.read_csv("train.csv").rename(columns).drop("time").write_csv("plain.csv")
    asked = ["--user", "u", "--item", "i", "--time", "none", "--format", "json"]
    status, out, _ = call(capsys, "plain.csv", "typed.parquet", *asked)
    assert status == 0
    counts = {row["rule"]: row["count"] for row in json.loads(out)}
    assert counts["pairs_in_both"] == 1
    assert counts["cold_users"] == 0
    assert "user_leak" not in counts
    status, _, err = call(capsys, "train.csv", "typed.parquet")
    assert status == 1
    assert "test" in err
    assert "user_id" in err
    assert call(capsys, "train.csv", "absent.csv")[0] == 1
    assert call(capsys, "train.csv")[0] == 2
