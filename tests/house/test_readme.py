"""The README, the pages and the docstrings print what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
import shutil
from collections import defaultdict
from pathlib import Path

import polars as pl
import pytest
from slow import slow

import polars_rank
from polars_rank.cli import main

HOUSE = Path(__file__).parents[2]
PAGES = [HOUSE / "README.md", *sorted((HOUSE / "docs").rglob("*.md"))]
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
SESSION = re.compile(r"```pycon\n(.*?)```", re.DOTALL)
LONG = {"clicks", "comparison", "report"}  # rooms whose examples are slow tests
ENGINES = {"dask.md", "ray.md", "spark.md"}  # test_engines.py runs their pages
NEEDS = {  # pages of other tools, which are skipped where these are not installed
    "lightgbm.md": ["lightgbm"],
    "xgboost.md": ["xgboost"],
    "catboost.md": ["catboost"],
    "sentence-transformers.md": ["sentence_transformers"],
    "mlflow.md": ["mlflow"],
    "weights-and-biases.md": ["wandb", "pandas"],
    "duckdb-and-dbt.md": ["duckdb"],
    "pytorch.md": ["torch", "torchmetrics"],
    "keras.md": ["torch", "keras"],
}
ASSERTING = re.compile(r"```python\n((?:(?!```).)*^assert .*?)```", re.DOTALL | re.M)
PYTHON = re.compile(r"```python\n(.*?)```", re.DOTALL)
CONSOLE = re.compile(r"```console\n(.*?)```", re.DOTALL)
COMMAND = re.compile(r"^\$ (.*)\n", re.MULTILINE)


def name_of(page: Path) -> str:
    return str(page.relative_to(HOUSE))


def with_any(block: re.Pattern[str]) -> list[Path]:
    return [page for page in PAGES if block.search(page.read_text())]


@pytest.mark.parametrize(
    "page",
    [
        page if page.name == "README.md" else slow(page)
        for page in with_any(SESSION)
        if page.name not in ENGINES
    ],
    ids=name_of,
)
def test_python_sessions(page, tmp_path, monkeypatch):
    """All sessions of a page, one after the other: it imports what it uses."""
    for module in NEEDS.get(page.name, []):
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    pl.Config.restore_defaults()
    sessions = "\n".join(SESSION.findall(page.read_text()))
    test = doctest.DocTestParser().get_doctest(sessions, {}, name_of(page), None, 0)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(
        test, out=report.append
    )
    assert result.attempted
    assert result.failed == 0, "".join(report)


@pytest.mark.parametrize("page", [*map(slow, with_any(ASSERTING))], ids=name_of)
def test_python_that_asserts(page, tmp_path, monkeypatch):
    """All of a page that says with ``assert`` what it gives, one after the other."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for code in PYTHON.findall(page.read_text()):
        exec(code, names)


@pytest.mark.parametrize(
    "page",
    [p if p.name == "README.md" else slow(p) for p in with_any(CONSOLE)],
    ids=name_of,
)
def test_commands(page, capsys, tmp_path, monkeypatch):
    """In a folder that holds ``run.txt`` and ``qrels.txt``."""
    for file in ("run.txt", "qrels.txt"):
        shutil.copy(HOUSE / "tests" / "golden" / file, tmp_path)
    monkeypatch.chdir(tmp_path)
    for block in CONSOLE.findall(page.read_text()):
        _, *shown = COMMAND.split(block)
        assert shown
        for command, output in zip(shown[::2], shown[1::2], strict=True):
            name, *arguments = shlex.split(command)
            assert name == "polars-rank"
            assert main(arguments) == 0
            same = doctest.OutputChecker().check_output
            printed = capsys.readouterr().out
            assert same(output.strip(), printed.strip(), OPTIONS), printed


def test_what_the_readme_must_show():
    text = (HOUSE / "README.md").read_text()
    assert len(SESSION.findall(text)) >= 3
    assert len(re.findall(r"^python -m pip install .* && ", text, re.MULTILINE)) == 2
    assert len(text.splitlines()) <= 160


def modules() -> dict[str, list[str]]:
    """The names of all modules, by folder."""
    found = defaultdict(list)
    for module in pkgutil.walk_packages(polars_rank.__path__, "polars_rank."):
        if not module.name.endswith("__main__"):
            found[module.name.split(".")[1]].append(module.name)
    return found


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(names, id=folder, marks=pytest.mark.slow if folder in LONG else ())
        for folder, names in modules().items()
    ],
)
def test_docstrings(names):
    """Every module says what it is, and its examples print what they show."""
    bare, wrong = [], []
    for name in names:
        pl.Config.restore_defaults()
        module = importlib.import_module(name)
        bare += [] if module.__doc__ else [name]
        wrong += [name] if doctest.testmod(module, optionflags=OPTIONS).failed else []
    assert not bare
    assert not wrong, "python -m doctest shows how"
