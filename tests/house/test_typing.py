"""Type checkers see the API: on a script of a user, right and wrong lines."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import polars_rank

pytestmark = pytest.mark.slow

RIGHT = """
import polars as pl
import polars_rank as pr
from polars_rank import fusion

log = pl.DataFrame({"query_id": [1], "score": [1.0], "label": [1], "country": ["DE"]})
ndcg: pl.Expr = pr.expr("label").ndcg("score", k=10, gain="exp2", ties="expected")
rr: pl.Expr = pr.expr(pl.col("label")).rr(pl.col("score"), convention="lightgbm")
values = log.group_by("query_id").agg(ndcg=ndcg, rr=rr)
eager: pl.DataFrame = pr.evaluate(log, ["ndcg@10"], by="country", stats=["mean", "n"])
lazy: pl.LazyFrame = pr.per_query(log.lazy(), "rr", rank=pl.col("label"), rel=2)
measure: pr.Measure = pr.measure("ndcg", gain="exp2") @ 10
fused: pl.DataFrame = fusion.fuse({"a": log}, "sum", weights=[1], doc="country")
later: pl.LazyFrame = fusion.fuse({"a": log.lazy()}, k=10, doc="country")


def either(frame: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame | pl.LazyFrame:
    return pr.evaluate(frame, [measure, "ap"], convention=pr.CONVENTIONS["ranx"])


def unsure(frame: pl.LazyFrame) -> pl.DataFrame:
    print(pr.audit(frame, "rr", weight="w", rank="rank", layout="any").verdict)
    print(pr.estimate(frame, "rr", qrels=log, model_qrels=log, doc="page", rel=2))
    return pr.bounds(frame, "rr", ties="order", max_orders=9)
"""
WRONG = [
    'pr.expr("label").ndcg("score", kk=10)',
    'pr.expr("label").ndgc("score")',
    'pr.expr("label").ndcg("score", ties="nonsense")',
    'pr.expr("label").spearman()',
    'pr.evaluate(log, "rr", convnetion="trec_eval")',
    'pr.evaluate(log, "rr", check="maybe")',
    'pr.evaluate(log, "rr", stats=[50])',
    'pr.per_query(log, "rr", stats="mean")',
    'pr.bounds(log, "rr", tise="order")',
    'pr.bounds(log, "rr", max_orders="many")',
    'pr.audit(log, "rr", check="maybe")',
    'pr.estimate(log, "rr", qrels=log, model_qrels=log, rell=2)',
    'fusion.fuse({"a": log}, kk=3)',
    'fusion.fuse({"a": log}, check="maybe")',
    'mixed: pl.LazyFrame = pr.evaluate(log, "rr")',
]
ENV = os.environ | {"PYTHONPATH": str(Path(polars_rank.__file__).parents[1])}
ENV |= {"MYPYPATH": ENV["PYTHONPATH"]}


def mypy(script: Path) -> set[int]:
    """Lines that mypy reports."""
    pytest.importorskip("mypy")
    argv = [sys.executable, "-m", "mypy", "--strict", "--no-incremental", script.name]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, env=ENV, cwd=script.parent
    )
    assert done.returncode in (0, 1), done.stderr
    errors = re.findall(rf"^{script.name}:(\d+): error", done.stdout, re.MULTILINE)
    return set(map(int, errors))


def pyright(script: Path) -> set[int]:
    """Lines that pyright reports; it needs Node, and fetches itself the first time."""
    pytest.importorskip("pyright")
    config = {"extraPaths": [ENV["PYTHONPATH"]], "typeCheckingMode": "standard"}
    (script.parent / "pyrightconfig.json").write_text(json.dumps(config))
    argv = [sys.executable, "-m", "pyright", "--outputjson", script.name]
    argv += ["--pythonpath", sys.executable]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, env=ENV, cwd=script.parent
    )
    try:
        found = json.loads(done.stdout)["generalDiagnostics"]
    except (json.JSONDecodeError, KeyError):
        pytest.skip(f"pyright cannot run here: {(done.stderr or done.stdout)[-200:]}")
    errors = (row for row in found if row["severity"] == "error")
    return {row["range"]["start"]["line"] + 1 for row in errors}


@pytest.mark.parametrize("checker", [mypy, pyright])
def test_a_checker_reports_the_wrong_lines_and_no_right_one(checker, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(RIGHT + "\n".join(WRONG) + "\n")
    first = RIGHT.count("\n") + 1
    assert checker(script) == set(range(first, first + len(WRONG)))


def test_the_right_lines_run():
    exec(RIGHT, {})
