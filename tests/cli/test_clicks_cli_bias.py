"""The commands ``clicks ...`` that undo position bias: what the functions give."""

from __future__ import annotations

import csv
import io
import json
import math

import polars as pl
import pytest

from polars_rank import clicks
from polars_rank.cli import main
from polars_rank.example import clicks_path

LOG = pl.scan_parquet(clicks_path())
NEW = ["--new", "new_score", "--new", "score"]


def run(capsys, *arguments):
    status = main(["clicks", *arguments])
    printed = capsys.readouterr()
    return status, printed.out, printed.err


def table(capsys, *arguments):
    status, out, err = run(capsys, *arguments)
    assert status == 0, err
    return list(csv.DictReader(io.StringIO(out)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the propensities seem to come from this log")
def test_propensities_and_what_is_made_of_them(capsys, tmp_path):
    target = str(tmp_path / "p.parquet")
    rows = table(capsys, "propensities", "--example", "--out", target)
    found = clicks.propensities(LOG).collect()
    assert [float(r["propensity"]) for r in rows] == found["propensity"].to_list()
    assert pl.read_parquet(target).equals(found)
    rows = table(
        capsys,
        *("counterfactual", "--example", *NEW, "--baseline", "score"),
        *("--propensities", target, "--cluster", "user_id", "-m", "precision@3"),
    )
    wanted = clicks.counterfactual(
        LOG,
        "precision@3",
        new=["new_score", "score"],
        baseline="score",
        propensities=found,
        cluster="user_id",
    ).collect()
    assert [r["system"] for r in rows] == wanted["system"].to_list()
    close([float(r["estimate"]) for r in rows], wanted["estimate"])
    rows = table(
        capsys,
        *("judgments", "--example", "--propensities", target),
        *("--threshold", "0.1", "--threshold", "0.3"),
    )
    wanted = clicks.judgments(LOG, propensities=found, grades=[0.1, 0.3]).collect()
    assert [r["label"] for r in rows] == [
        "" if v is None else str(v) for v in wanted["label"]
    ]


def close(found, wanted):
    assert found == pytest.approx(wanted.to_list(), rel=1e-12)


def test_propensities_of_the_log_itself(capsys):
    rows = table(
        capsys,
        *("counterfactual", str(clicks_path()), *NEW, "--baseline", "score"),
        *("--propensities", "harvest", "--cluster", "user_id"),
    )
    wanted = clicks.counterfactual(
        LOG,
        new=["new_score", "score"],
        baseline="score",
        propensities="harvest",
        interval="jackknife",
        cluster="user_id",
    ).collect()
    for name in ("estimate", "se", "lower", "upper"):
        close([float(r[name]) for r in rows], wanted[name])
    naive = ["--propensities", "harvest", "--interval", "normal", "--new", "score"]
    status, _, err = run(capsys, "counterfactual", str(clicks_path()), *naive)
    assert status != 0
    assert "takes propensities as known" in err


def test_sensitivity(capsys):
    rows = table(capsys, "sensitivity", "--example", *NEW, "--eta", "0", "--eta", "2")
    wanted = clicks.sensitivity(LOG, new=["new_score", "score"], eta=[0, 2]).collect()
    close([float(r["estimate"]) for r in rows], wanted["estimate"])
    assert [r["crossover"] for r in rows] == [
        str(v).lower() for v in wanted["crossover"]
    ]


def test_flags_are_told_in_the_words_of_the_format(capsys):
    """Not in those of Python; JSON has its own."""
    rows = table(capsys, "propensities", "--example")
    assert {r["converged"] for r in rows} == {"true"}
    _, out, _ = run(capsys, "sensitivity", "--example", "--format", "json")
    assert {row["crossover"] for row in json.loads(out)} == {True, False}


def test_the_example_alone_compares_two_rankings(capsys):
    status, out, err = run(capsys, "counterfactual", "--example")
    assert status == 0
    assert "takes --new new_score --new score --baseline score --eta 1.0" in err
    assert "new_score - score" in out
    _, _, err = run(capsys, "counterfactual", "--example", "--baseline", "new_score")
    assert "--baseline" not in err


def test_a_model_alone_needs_no_propensities(capsys, tmp_path):
    """Each of ten documents is worth a quarter of its discount."""
    file = tmp_path / "log.parquet"
    log = pl.read_parquet(clicks_path()).with_columns(reward=pl.lit(0.25))
    log.write_parquet(file)
    model = ["--method", "dm", "--reward", "reward"]
    [row] = table(capsys, "counterfactual", str(file), "--new", "new_score", *model)
    expected = sum(0.25 / math.log2(rank + 1) for rank in range(1, 11))
    assert float(row["estimate"]) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["counterfactual", str(clicks_path()), "--eta", "1"],
            "name a column of scores",
        ),
        (
            ["counterfactual", "--example", *NEW, "--eta", "1", "--propensities", "x"],
            "not both",
        ),
        (["judgments", "--example", "--threshold", "1", "--grades", "2"], "not both"),
        (["counterfactual", "--example", *NEW, "-m", "ndcg@5", "--eta", "1"], "add up"),
        (
            ["propensities", "--example", "--method", "swap"],
            "name it with --swap",
        ),
        (["propensities"], "name a LOG"),
    ],
)
def test_wrong_arguments(capsys, arguments, message):
    status, out, err = run(capsys, *arguments)
    assert status == 2
    assert message in " ".join(err.split())
    assert not out
