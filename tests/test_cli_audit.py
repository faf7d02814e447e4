"""The commands audit and bounds: files in, what the functions return out."""

from __future__ import annotations

import csv
import io
import json

import polars as pl
import pytest

import polars_rank as pr
from polars_rank.cli import main
from polars_rank.io import scan


@pytest.fixture
def files(tmp_path, monkeypatch):
    """Runs a and b over six queries; judgments of half of the documents."""
    judged = [f"{q} 0 d{d} {(q + d) % 3}\n" for q in range(6) for d in range(3)]
    (tmp_path / "qrels").write_text("".join(judged))
    for name, step in (("a", 1), ("b", 5)):
        lines = [
            f"{q} Q0 d{d} 0 {(d * step + q) % 6} x\n"
            for q in range(6)
            for d in range(6)
        ]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    monkeypatch.chdir(tmp_path)
    qrels = scan("qrels", kind="qrels")
    return {n: scan(f"{n}.run", kind="run") for n in "ab"}, qrels


def test_audit(files, capsys):
    runs, qrels = files
    command = ["audit", "a.run", "b.run", "qrels", "-m", "ndcg@3", "--choice", "gain"]
    assert main([*command, "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)
    wanted = pr.audit(runs, "ndcg@3", qrels=qrels, choices=["gain"])
    assert found["choices"] == wanted.choices.to_dicts()
    assert {row["system"] for row in found["values"]} == {"a", "b"}
    for format in ("table", "markdown", "latex"):
        assert main([*command, "--format", format]) == 0
        assert "exp2" in capsys.readouterr().out
    assert main([*command]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["value"] for row in rows] == wanted.choices["value"].to_list()


def test_bounds(files, capsys):
    runs, qrels = files
    command = ["bounds", "a.run", "qrels", "-m", "ndcg@3", "-m", "ap"]
    assert main(command) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    wanted = pr.bounds(runs["a"], ["ndcg@3", "ap"], qrels=qrels)
    assert [float(row["high"]) for row in rows] == pytest.approx(wanted["high"])
    assert main([*command, "--format", "table", "--max-grade", "1"]) == 0
    assert capsys.readouterr().out.startswith("Bounds\n\nmeasure  queries")


def test_bounds_of_a_difference(files, capsys):
    runs, qrels = files
    command = ["bounds", "a.run", "b.run", "qrels", "-m", "ndcg@3", "--against", "a"]
    assert main([*command, "--format", "json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)
    wanted = pr.bounds(runs, "ndcg@3", qrels=qrels, against="a").row(0, named=True)
    assert found == pytest.approx(wanted)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["bounds", "a.run", "qrels", "-m", "judged@3"], "who was judged"),
        (["bounds", "a.run", "b.run", "qrels", "--against", "c"], "no system 'c'"),
        (["audit", "a.run", "qrels", "--choice", "tie"], "did you mean 'ties'"),
        (["audit"], "name a FILE"),
    ],
)
def test_usage(files, capsys, arguments, words):
    assert main(arguments) != 0
    assert words in capsys.readouterr().err


def test_duplicates(tmp_path, capsys):
    log = pl.DataFrame(
        {"query_id": [1, 1], "doc_id": ["x", "x"], "score": [2, 1], "label": [1, 1]}
    )
    log.write_parquet(tmp_path / "log.parquet")
    command = ["audit", str(tmp_path / "log.parquet"), "-m", "hits"]
    assert main([*command, "--on-duplicate", "best", "--choice", "on_duplicate"]) == 0
    assert "keep,1.0" in capsys.readouterr().out
