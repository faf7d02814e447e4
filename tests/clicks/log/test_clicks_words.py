"""What errors of click logs say: the name of the option at fault, and the way out."""

from __future__ import annotations

import polars as pl
import pytest

from polars_rank import DataError, clicks
from polars_rank.cli import main
from polars_rank.example import clicks_path

LOG = pl.scan_parquet(clicks_path())
MISSPELT = {
    "by": lambda: clicks.behavior(LOG, by="devise"),
    "cluster": lambda: clicks.behavior(LOG, cluster=["user"], interval="normal"),
    "weight": lambda: clicks.behavior(LOG, weight="heavy"),
    "user": lambda: clicks.behavior(LOG, user="usr"),
    "session": lambda: clicks.behavior(LOG, session="sessions"),
    "arm": lambda: clicks.compare_arms(LOG, arm="armm", control="A"),
    "within": lambda: clicks.propensities(LOG, within="day"),
    "team": lambda: clicks.interleaving(LOG, team="teams"),
}


@pytest.mark.parametrize("name", MISSPELT)
def test_a_missing_column_is_told_by_its_argument(name):
    with pytest.raises(pl.exceptions.ColumnNotFoundError) as error:
        MISSPELT[name]()
    assert str(error.value).startswith(f"{name} column '")
    assert f"Name yours with {name}=" in str(error.value)


def test_columns_that_impressions_have_are_not_missing():
    lists = LOG.select("impression_id", place="device").unique()
    options = {"impressions": lists, "by": "place", "cluster": "place"}
    found = clicks.behavior(LOG.drop("device"), "ctr", **options).collect()
    assert found["ctr"].to_list() == (
        clicks.behavior(LOG, "ctr", by="device").collect()["ctr"].to_list()
    )
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="Name yours with by="):
        clicks.behavior(LOG, impressions=lists, by="plaice")


def said(capsys, *arguments):
    status = main(["clicks", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, " ".join(printed.err.split())


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["behavior", "--by", "devise"], "Name yours with --by."),
        (["behavior", "--cluster", "user"], "Name yours with --cluster."),
        (["compare-arms", "--arm", "armm"], "Name yours with --arm."),
        (
            ["judgments", "--threshold", ".3", "--threshold", ".1"],
            "thresholds must rise: --threshold 0.1 --threshold 0.3.",
        ),
        (["compare-arms", "--control", "C"], "the arms of the log are: 'A', 'B'"),
    ],
)
def test_the_command_names_its_options(capsys, arguments, words):
    status, out, err = said(capsys, arguments[0], "--example", *arguments[1:])
    assert status
    assert not out
    assert words in err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["judgments", "--method", "ratio"], "--propensities FILE"),
        (["judgments", "--method", "ratio"], "--eta NUMBER or --propensity COLUMN"),
        (["counterfactual", "--new", "score"], "--propensities FILE"),
        (["compare-arms"], "compare with: --control A or --control B."),
        (["compare-arms", "--arm", "armm"], "compare with: --control ARM."),
    ],
)
def test_what_is_lacking_is_told_in_options(capsys, arguments, words):
    status, out, err = said(capsys, arguments[0], str(clicks_path()), *arguments[1:])
    assert (status, out) == (2, "")
    assert words in err


@pytest.mark.parametrize("command", ["behavior", "compare-arms"])
def test_measures_may_be_separated_by_commas(capsys, command):
    _, one, _ = said(capsys, command, "--example", "-m", "ctr", "-m", "rr@3")
    status, found, _ = said(capsys, command, "--example", "-m", "ctr,rr@3")
    assert (status, found) == (0, one)
    dwell = ["--dwell", "dwell", "-m", "ctr,satisfied(dwell=45,unknown=satisfied)@3"]
    assert said(capsys, command, "--example", *dwell)[0] == 0


def test_propensities_that_count_from_0():
    log = clicks.simulate(50, seed=1)
    early = log.propensities.with_columns(pl.col("position") - 1)
    for first in (0, 1):
        rows = log.draw().with_columns(pl.col("position").cast(int) + first - 1)
        with pytest.raises(DataError, match="add 1 to the column position"):
            clicks.judgments(rows, propensities=early, first_position=first)


def test_a_position_is_named_once():
    log = clicks.simulate(50, seed=1)
    short = log.propensities.filter(pl.col("position") < 9)
    with pytest.raises(DataError, match="without a propensity") as error:
        clicks.judgments(log.draw(), propensities=short)
    assert sorted(error.value.examples) == sorted({*error.value.examples})
    assert {*error.value.examples} <= {9, 10}


@pytest.mark.parametrize(
    "wrong", [{"n_impressions": "10"}, {"n_impressions": 1e3}, {"k": None}, {"k": 0}]
)
def test_simulated_impressions_are_a_whole_number(wrong):
    with pytest.raises(ValueError, match="must be a whole number of at least 1"):
        clicks.simulate(**{"n_impressions": 10, **wrong})


@pytest.mark.parametrize("command", ["report", "behavior", "judgments", "compare-arms"])
def test_help_names_the_usual_columns(capsys, command):
    status, out, _ = said(capsys, command, "--help")
    assert status == 0
    for name in ("impression_id", "query_id", "doc_id", "position", "clicked"):
        assert f"efault: {name}" in " ".join(out.split())
