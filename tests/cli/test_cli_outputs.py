"""No command writes onto a file that it reads, whatever leads to it.

Commands, inputs and outputs are those of the grammar, so new ones are tried, too.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import polars as pl
import pytest

from polars_rank.cli import main
from polars_rank.cli.apart import EXAMPLES, files_of
from polars_rank.cli.app import _grammar
from polars_rank.example import clicks_path, path

CONTENT = b"precious"
WRITES = re.compile(r"\b(write|draw)\b.*\bfile\b", re.IGNORECASE | re.DOTALL)


def commands(app, above=()) -> Iterator[tuple[str, ...]]:
    for name in app:
        if not name.startswith("-"):
            own = app[name]
            if own.default_command is not None:
                yield *above, name
            yield from commands(own, (*above, name))


@cache
def arguments(command):
    *_, own = _grammar("plain").parse_commands(command)[1]
    return list(own.assemble_argument_collection())


def side(command, argument) -> str | None:
    *_, own = _grammar("plain").parse_commands(command)[1]
    name = argument.keys[-1] if argument.keys else argument.field_info.name
    known = files_of(own.default_command).get(name)
    return known and known.side


EACH = [
    command
    for command in commands(_grammar("plain"))
    if command != ("--install-completion",)
]


def cases(command) -> list[tuple[str, str]]:
    """Every output of a command beside every input."""
    named = {argument.name: side(command, argument) for argument in arguments(command)}
    outputs = [name for name, kind in named.items() if kind == "output"]
    return [(output, n) for output in outputs for n in named if named[n] == "input"]


def test_all_commands_that_write_are_tried():
    tried = {(command[-1], output) for command in EACH for output, _ in cases(command)}
    for known in [
        *(("gate", "--report"), ("gate", "--json"), ("evaluate", "--per-query")),
        *(("compare", "--per-query"), ("compare", "--plot"), ("trend", "--plot")),
        *(("moments", "--out"), ("merge", "--out"), ("judgments", "--out")),
    ]:
        assert known in tried


@pytest.mark.parametrize("command", EACH, ids=" ".join)
def test_every_option_says_which_side_its_file_is_on(command):
    """By its group: what else looks like a file would escape the check."""
    for argument in arguments(command):
        text = argument.parameter.help or ""
        kind, hint = side(command, argument), str(argument.hint)
        if argument.parameter.metavar == "FILE" or "Path" in hint:
            assert kind or argument.parameter.metavar == "FOLDER", argument.name
        if WRITES.search(text) and ("Path" in hint or "str" in hint):
            assert kind == "output", argument.name


def ending(command, output: str) -> str:
    """An extension that the output takes."""
    [own] = (a for a in arguments(command) if a.name == output)
    given = own.parameter.validator
    rules = given if isinstance(given, tuple) else (given,)
    known = [end for rule in rules for end in getattr(rule, "ext", None) or ()]
    return f".{known[0].lstrip('.')}" if known else ".parquet"


def line(command, one: str, read: str, output: str, written: str) -> list[str]:
    """A command line with the input, the output, and whatever else is required."""
    places, options = [], []
    for argument in arguments(command):
        name, needed = argument.name, argument.required
        value = {one: read, output: written}.get(name)
        if argument.index is not None:
            later = value is None and not needed
            if not later or any(
                a.name == one and (a.index or 0) > argument.index
                for a in arguments(command)
            ):
                places.append(value or "other.parquet")
        elif value is not None:
            options += [name, value]
        elif needed:
            options += [
                name,
                "new.parquet" if side(command, argument) == "output" else "o",
            ]
    return [*command, *places, *options]


def make(folder: Path, end: str) -> dict[str, tuple[str, str]]:
    """Ways to name a file as an input and, then, as an output."""
    inside = folder / "inside"
    inside.mkdir()
    for own in (folder / f"file{end}", inside / f"file{end}"):
        own.write_bytes(CONTENT)
    (folder / "other.parquet").write_bytes(CONTENT)
    (folder / f"link{end}").symlink_to(f"file{end}")
    (folder / f"hard{end}").hardlink_to(folder / f"file{end}")
    (inside / f"away{end}").symlink_to(folder / f"file{end}")
    return {
        "path": (f"file{end}", f"file{end}"),
        "spelling": (f"file{end}", f"./inside/../file{end}"),
        "link to the input": (f"file{end}", f"link{end}"),
        "link as the input": (f"link{end}", f"file{end}"),
        "hard link": (f"file{end}", f"hard{end}"),
        "glob": (f"f*{end}", f"file{end}"),
        "glob of links": (f"lin*{end}", f"file{end}"),
        "folder": ("inside", f"inside/file{end}"),
        "link in a folder": ("inside", f"file{end}"),
    }


@pytest.mark.parametrize("command", EACH, ids=" ".join)
def test_no_command_writes_onto_what_it_reads(command, tmp_path, monkeypatch, capsys):
    """All ways take turns: which files are the same is found out in one place."""
    for i, (output, one) in enumerate(cases(command), EACH.index(command)):
        folder = tmp_path / f"{i}"
        folder.mkdir()
        monkeypatch.chdir(folder)
        ways = [*make(folder, ending(command, output)).values()]
        read, written = ways[i % len(ways)]
        status = main(line(command, one, read, output, written))
        told = capsys.readouterr().err
        assert status == 2, (read, written, told)
        assert f"{output} " in told, told
        assert "is part of the input; name another file" in told
    files = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert {file.read_bytes() for file in files} <= {CONTENT}


VALUES = pl.DataFrame({"query_id": [*range(40)], "rr": [0.5, 0.25] * 20})
GATES: dict[str, Callable[[], list[str]]] = {
    "report": lambda: ["base.parquet", "new.parquet", "--report", "base.parquet"],
    "json": lambda: ["base.parquet", "new.parquet", "--json", "new.parquet"],
    "new": lambda: ["new.parquet", "new.parquet", "--update-baseline"],
    "queries": lambda: [
        *("base.parquet", "new.parquet", "--update-baseline"),
        *("--queries", "base.parquet"),
    ],
}


@pytest.mark.parametrize("name", GATES)
def test_a_gate_keeps_its_files(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for file in ("base.parquet", "new.parquet"):
        VALUES.write_parquet(file)
    before = Path("base.parquet").read_bytes()
    assert main(["gate", *GATES[name]()]) == 2
    assert Path("base.parquet").read_bytes() == before
    assert Path("new.parquet").read_bytes() == before


def test_the_example_is_not_overwritten(tmp_path, monkeypatch, capsys):
    """Of which there is a copy here, in case it is."""
    log, clicks = tmp_path / "log.parquet", tmp_path / "clicks.parquet"
    shutil.copy(path(), log)
    shutil.copy(clicks_path(), clicks)
    monkeypatch.setattr("polars_rank.example.path", lambda: log)
    monkeypatch.setattr("polars_rank.cli.commands.clicks.clicks_path", lambda: clicks)
    monkeypatch.setattr("polars_rank.cli.apart.EXAMPLES", str(tmp_path))
    for argv, file in (
        (["evaluate", "--example", "--per-query"], log),
        (["clicks", "simulate", "--example", "--out"], clicks),
    ):
        before = file.read_bytes()
        assert main([*argv, str(file)]) == 2
        assert "part of the input" in capsys.readouterr().err
        assert file.read_bytes() == before


def test_the_folder_of_the_examples_is_known():
    assert {Path(path()).parent, Path(clicks_path()).parent} == {Path(EXAMPLES)}


def test_standard_input_is_an_input(tmp_path, monkeypatch, capsys):
    file = tmp_path / "log.csv"
    file.write_text("query_id,score,label\n1,2,1\n")
    with file.open() as stream:
        monkeypatch.setattr("sys.stdin", stream)
        assert main(["evaluate", "-", "--per-query", str(file)]) == 2
    assert "part of the input" in capsys.readouterr().err


def test_standard_input_may_be_closed(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("sys.stdin", None)  # as by <&- in a shell
    assert main(["evaluate", "-"]) == 1
    assert "standard input: closed. Give the name of a file." in capsys.readouterr().err


def test_a_dash_is_no_file_of_a_gate(tmp_path, monkeypatch, capsys):
    """It became a file with the name "standard input"."""
    monkeypatch.chdir(tmp_path)
    for file in ("base.parquet", "new.parquet"):
        VALUES.write_parquet(file)
    for option in ("--report", "--json"):
        assert main(["gate", "base.parquet", "new.parquet", option, "-"]) == 2
        assert f"{option} - is no file to write" in capsys.readouterr().err
    assert main(["gate", "-", "new.parquet"]) == 2
    assert "BASE -: a baseline is a file" in capsys.readouterr().err
    assert {file.name for file in tmp_path.iterdir()} == {"base.parquet", "new.parquet"}


def test_two_outputs_are_two_files(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for file in ("base.parquet", "new.parquet"):
        VALUES.write_parquet(file)
    both = ["--report", "out.md", "--json", "./out.md"]
    assert main(["gate", "base.parquet", "new.parquet", *both]) == 2
    assert "--json out.md is the file of --report, too" in capsys.readouterr().err


def test_a_device_may_be_an_output(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for file in ("base.parquet", "new.parquet"):
        VALUES.write_parquet(file)
    argv = ["gate", "base.parquet", "new.parquet", "--report", "/dev/null"]
    assert main(argv) == 0
    assert main([*argv[:-1], "."]) == 2
    assert "--report . is a folder; name a file" in capsys.readouterr().err


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs /proc")
def test_a_folder_that_holds_no_files_is_named(capsys):
    assert main(["evaluate", "--example", "--per-query", "/proc/o.parquet"]) == 1
    told = capsys.readouterr().err
    assert "/proc/o.parquet: its folder, /proc, cannot be written to" in told
