"""The README and the docstrings print what they show."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import polars as pl

import polars_rank
from polars_rank.cli import main

README = Path(__file__).parent.parent / "README.md"
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def sessions() -> str:
    """The README's Python sessions, one after the other."""
    return "\n".join(re.findall(r"```pycon\n(.*?)```", README.read_text(), re.DOTALL))


def test_python_sessions():
    pl.Config.restore_defaults()
    test = doctest.DocTestParser().get_doctest(sessions(), {}, "README", None, 0)
    report: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(
        test, out=report.append
    )
    assert result.attempted >= 12
    assert result.failed == 0, "".join(report)


def test_commands(capsys):
    shown = re.findall(r"```console\n\$ (.*?)\n(.*?)```", README.read_text(), re.DOTALL)
    assert shown
    for command, output in shown:
        name, *arguments = shlex.split(command)
        assert name == "polars-rank"
        assert main(arguments) == 0
        assert capsys.readouterr().out.strip() == output.strip()


def names() -> list[str]:
    found = pkgutil.walk_packages(polars_rank.__path__, "polars_rank.")
    return [module.name for module in found if not module.name.endswith("__main__")]


def test_docstrings():
    """Every module says what it is, and its examples print what they show."""
    bare, wrong = [], []
    for name in names():
        pl.Config.restore_defaults()
        module = importlib.import_module(name)
        bare += [] if module.__doc__ else [name]
        wrong += [name] if doctest.testmod(module, optionflags=OPTIONS).failed else []
    assert not bare
    assert not wrong, "python -m doctest shows how"
