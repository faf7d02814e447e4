"""The gate in tests of pytest, and as an action of GitHub."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

import polars_rank as pr

HOUSE = Path(__file__).parents[2]
TEST = """
import polars as pl

def test_ranking(ranking_gate):
    values = pl.read_parquet("values.parquet")
    gate = ranking_gate(values, "ndcg@10", baseline="kept/base.parquet", margin=0.01)
    assert gate is None or gate.verdict in ("pass", "warn")
"""


def values(system: str) -> pl.DataFrame:
    runs = pl.scan_parquet(pr.example.systems_path()).filter(pl.col("system") == system)
    return runs.rank_eval.per_query(["ndcg@10"]).collect()


@pytest.fixture
def project(tmp_path):
    (tmp_path / "conftest.py").write_text(
        'pytest_plugins = ["polars_rank.integrations.pytest"]\n'
    )
    (tmp_path / "test_ranking.py").write_text(TEST)

    def run(*options: str, summary: bool = False) -> tuple[int, str]:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        place = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")} if summary else {}
        done = subprocess.run(
            [*command, *options],
            cwd=tmp_path,
            env=environment() | place,
            capture_output=True,
            text=True,
        )
        return done.returncode, done.stdout + done.stderr

    return tmp_path, run


def environment() -> dict[str, str]:
    import os

    return {n: v for n, v in os.environ.items() if not n.startswith("PYTEST")}


@pytest.mark.slow
def test_a_test_fails_if_the_ranking_got_worse(project):
    folder, run = project
    good = values("hybrid")
    good.write_parquet(folder / "values.parquet")
    code, text = run()
    assert code == 1
    assert "there is no baseline kept/base.parquet: write it by pytest" in text
    assert run("--update-ranking-baseline")[0] == 0
    assert run()[0] == 0
    worse = good.with_columns(pl.col("ndcg@10") * 0.7)
    worse.write_parquet(folder / "values.parquet")
    code, text = run(summary=True)
    assert code == 1
    assert "Ranking gate: failed (1 of 1 check)" in text
    assert "Traceback" not in text
    assert "### Ranking gate: **failed**" in (folder / "summary.md").read_text()


@pytest.mark.slow
def test_a_warning_is_a_warning_and_other_queries_fail(project):
    folder, run = project
    values("hybrid").write_parquet(folder / "values.parquet")
    run("--update-ranking-baseline")
    values("hybrid2").write_parquet(folder / "values.parquet")
    code, text = run()
    assert code == 0
    assert "DataWarning: Ranking gate: passed, with warnings" in text
    values("hybrid").head(50).write_parquet(folder / "values.parquet")
    code, text = run()
    assert code == 1
    assert "Ranking gate: invalid" in text


def script() -> str:
    """The script of the action's last step, taken from its text."""
    text = (HOUSE / "action.yml").read_text()
    block = re.split(r"^      run: \|\n", text, flags=re.MULTILINE)[-1]
    return "\n".join(line[8:] for line in block.splitlines())


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_action_fails_with_the_gate_and_writes_a_summary(tmp_path):
    for file in ("run.txt", "qrels.txt"):
        shutil.copy(HOUSE / "tests" / "golden" / file, tmp_path)
    lines = (tmp_path / "run.txt").read_text().splitlines()
    worse = (line.split() for line in lines)
    turned = (" ".join([*w[:4], str(-float(w[4])), w[5]]) for w in worse)
    (tmp_path / "worse.txt").write_text("\n".join(turned) + "\n")
    (tmp_path / "bin").mkdir()
    command = tmp_path / "bin" / "polars-rank"
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m polars_rank "$@"\n')
    command.chmod(0o755)
    files = {"GITHUB_STEP_SUMMARY": "summary.md", "GITHUB_OUTPUT": "output"}

    def run(run_file: str, options: str, measures: str = "") -> tuple[int, str]:
        for file in files.values():
            (tmp_path / file).write_text("")
        given = {
            "BASELINE": "base.parquet", "FILES": f"{run_file} qrels.txt",
            "MEASURES": measures, "OPTIONS": options, "RUNNER_TEMP": str(tmp_path),
            "PATH": f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:/usr/bin:/bin",
        }  # fmt: skip
        done = subprocess.run(
            ["bash", "-e", "-c", script()],
            cwd=tmp_path,
            env=environment() | given | files,
            capture_output=True,
            text=True,
        )
        return done.returncode, (tmp_path / "output").read_text()

    assert run("run.txt", "--update-baseline", "ndcg@10,ap")[0] == 0
    code, output = run("run.txt", "--margin 0.01")
    assert (code, output.splitlines()[0]) == (0, "verdict=pass")
    assert "### Ranking gate: **passed**" in (tmp_path / "summary.md").read_text()
    code, output = run("worse.txt", "--margin 0.01")
    assert (code, output.splitlines()[0]) == (3, "verdict=fail")
    assert "### Ranking gate: **failed**" in (tmp_path / "summary.md").read_text()
    code, output = run("nothing.txt", "")
    assert (code, output.splitlines()[0]) == (1, "verdict=invalid")


def test_inputs_of_the_action_are_used():
    """Inputs reach the script by its environment: their text is never run."""
    text = (HOUSE / "action.yml").read_text()
    inputs = text.partition("\ninputs:\n")[2].partition("\noutputs:")[0]
    names = re.findall(r"^  ([\w-]+):", inputs, re.MULTILINE)
    assert {*names} >= {"baseline", "files", "measures", "options"}
    for name in names:
        assert f"${{{{ inputs.{name} }}}}" in text
    assert "${{" not in script()
