"""Mutants drawn at random: an operator or a constant swapped anywhere in the package.

A written list holds the faults that its author thought of. This sample does not: it
draws from every operator and constant of the code, and runs the tests that cover the
line first. ``python tests/mutants.py --random 80 --seed 1`` uses it.
"""

from __future__ import annotations

import ast
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Container, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

__all__ = ["Change", "changes", "cover", "try_random"]

OPERATORS = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "is not": "is",
    "is": "is not",
    "not in": "in",
    "in": "not in",
    "+": "-",
    "-": "+",
    "**": "*",
    "*": "/",
    "//": "*",
    "/": "*",
    "%": "+",
    "&": "|",
    "|": "&",
    "and": "or",
    "or": "and",
}
FIRST = 40  # tests of one mutant that are tried first, taken from all over
MOST = 600  # tests of one mutant at all
LIMIT = 150  # seconds for each of the two runs


class Change(NamedTuple):
    """Replace ``old`` by ``new`` at this offset of a file."""

    path: Path
    line: int
    at: int
    old: str
    new: str

    def apply(self, text: str) -> str:
        return text[: self.at] + self.new + text[self.at + len(self.old) :]

    def __str__(self) -> str:
        return f"{self.path.name}:{self.line} {self.old!r} -> {self.new!r}"


def changes(path: Path) -> list[Change]:
    """List all changes of one file; types and docstrings are left alone."""
    text = path.read_text()
    starts = [0]
    for line in text.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def offset(line: int, column: int) -> int:
        """Offsets of ast count bytes."""
        return len(text.encode()[: starts[line - 1] + column].decode())

    def between(left: ast.expr, right: ast.expr, old: str) -> Iterator[Change]:
        start = offset(left.end_lineno or 0, left.end_col_offset or 0)
        at = text.find(old, start, offset(right.lineno, right.col_offset))
        if at >= 0:
            line = text.count("\n", 0, at) + 1
            yield Change(path, line, at, old, OPERATORS[old])

    found: list[Change] = []
    for node in code(ast.parse(text)):
        if isinstance(node, ast.Compare):
            pairs = zip([node.left, *node.comparators], node.comparators, strict=False)
            for (left, right), op in zip(pairs, node.ops, strict=True):
                found += between(left, right, SYMBOLS[type(op)])
        elif isinstance(node, ast.BinOp) and type(node.op) in SYMBOLS:
            found += between(node.left, node.right, SYMBOLS[type(node.op)])
        elif isinstance(node, ast.BoolOp):
            first, second = node.values[:2]
            found += between(first, second, SYMBOLS[type(node.op)])
        elif isinstance(node, ast.Constant) and type(node.value) in (bool, int, float):
            at = offset(node.lineno, node.col_offset)
            value = node.value
            new = str(not value if isinstance(value, bool) else value + 1)
            old = ast.get_source_segment(text, node) or ""
            found.append(Change(path, node.lineno, at, old, new))
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            at = offset(node.lineno, node.col_offset)
            found.append(Change(path, node.lineno, at, "not ", ""))
    return [change for change in found if change.old]


SYMBOLS: dict[type[ast.AST], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.And: "and",
    ast.Or: "or",
}


def code(node: ast.AST) -> Iterator[ast.AST]:
    """Walk over what is executed: no annotations, no blocks for type checkers."""
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.Subscript) and "Literal" in ast.unparse(node.value):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from code(child)


def cover(copy: Path, kept: Path) -> None:
    """Run the quick tests once, and keep which test ran which line in a file."""
    settings = copy / "coverage.ini"
    settings.write_text(f"[run]\ndata_file = {kept}\nsource = polars_rank\n")
    command = [sys.executable, "-m", "pytest", "--cov", "--cov-report="]
    command += [f"--cov-config={settings}", "--cov-context=test"]
    environment = os.environ | {"PYTHONPATH": str(copy)}
    # Tests of files that are not copied fail: what covers a line is known all the same.
    subprocess.run(command, cwd=copy, env=environment, check=False)


class _Covered:
    """Which tests ran a line, by the file of :func:`cover`."""

    def __init__(self, kept: Path) -> None:
        from coverage import CoverageData

        self._data = CoverageData(str(kept))
        self._data.read()
        self._files = {
            path.split("/polars_rank/", 1)[1]: path
            for path in self._data.measured_files()
            if "/polars_rank/" in path
        }

    def tests(self, change: Change, package: Path) -> list[str]:
        """The tests of this line, else of its function, else of its file.

        Lines are not seen that run on import, in child processes or in threads of
        Polars: where no test is known to run a file, the tests of the files count that
        import it, and so on.
        """
        name = change.path.relative_to(package).as_posix()
        body = _body(change)
        if change.line in body:
            # A statement of several lines is known by its first.
            for line in range(change.line, body.start - 1, -1):
                if found := self._tests(name, [line]):
                    return sorted(found)
        found = self._tests(name, body)
        names, seen = {name}, {name}
        while names and not found:
            importing = {of for name in names for of in _importers(name, package)}
            found = {test for name in names | importing for test in self._tests(name)}
            names, seen = importing - seen, seen | importing
        # They read what is declared, such as the flags of measures, and run no line.
        return sorted(
            found | (set() if change.line in body else {"tests/house/test_house.py"})
        )

    def _tests(self, name: str, lines: Container[int] | None = None) -> set[str]:
        """The tests that ran one of these lines, or any line, of a file."""
        if name not in self._files:
            return set()
        by_line = self._data.contexts_by_lineno(self._files[name])
        return {
            context.rpartition("|")[0]  # parameters may have a bar of their own
            for line, contexts in by_line.items()
            if lines is None or line in lines
            for context in contexts
        } - {""}


def _body(change: Change) -> range:
    """The lines that a call of the innermost function around a change runs.

    Its decorators and defaults are not among them: they run on import, perhaps in the
    first test that has asked for the module.
    """
    found = [
        (range(min([node.lineno, *(d.lineno for d in node.decorator_list)]), end), body)
        for node in ast.walk(ast.parse(change.path.read_text()))
        if isinstance(node, ast.FunctionDef)
        for end in [(node.end_lineno or 0) + 1]
        for body in [range(node.body[0].lineno, end)]
    ]
    around = [lines for lines in found if change.line in lines[0]]
    return min(around, key=lambda lines: len(lines[0]), default=(range(0), range(0)))[1]


def _importers(name: str, package: Path) -> set[str]:
    """The files of the package that import this one."""
    parts = name.removesuffix(".py").removesuffix("/__init__").split("/")
    module = ".".join([package.name, *parts])
    return {path for path, imported in _imports(package).items() if module in imported}


@cache
def _imports(package: Path) -> dict[str, set[str]]:
    """What each file imports: modules, and names of modules."""
    return {
        path.relative_to(package).as_posix(): {
            found
            for node in ast.walk(ast.parse(path.read_text()))
            if isinstance(node, ast.ImportFrom)
            for found in [
                node.module or "",
                *(f"{node.module}.{a.name}" for a in node.names),
            ]
        }
        for path in package.rglob("*.py")
    }


def try_random(
    copy: Path,
    kept: Path,
    count: int,
    seed: int,
    failing: Callable[..., str],
    written: Callable[[Path, str], None],
) -> list[str]:
    """Try so many changes; what noticed each of them, or nothing."""
    package, covered = copy / "polars_rank", _Covered(kept)
    draw = random.Random(seed)
    every = [c for path in sorted(package.rglob("*.py")) for c in changes(path)]
    killers = []
    print(f"{len(every)} changes are possible, {count} are tried (seed {seed})")
    for change in draw.sample(every, count):
        tests = covered.tests(change, package)
        draw.shuffle(tests)
        text, start = change.path.read_text(), time.perf_counter()
        written(change.path, change.apply(text))
        try:
            killer = _killer(copy, tests, failing)
        finally:
            written(change.path, text)
        told = killer and not killer.startswith("tests/")  # of pytest, or of the clock
        if told and _killer(copy, tests, failing) == killer:
            msg = f"without {change}, too: {killer}"
            raise RuntimeError(msg)
        killers.append(killer)
        verdict = f"killed by {killer}" if killer else f"SURVIVED {len(tests)} tests"
        where = change.path.relative_to(package)
        print(
            f"{where.parent}/{change}: {verdict} ({time.perf_counter() - start:.0f} s)",
            flush=True,
        )
    return killers


def _killer(copy: Path, tests: Sequence[str], failing: Callable[..., str]) -> str:
    """The first test that fails: a few from all over, then more of them."""
    arguments = copy / "tests-of-one-mutant"

    def first(some: Sequence[str]) -> str:
        arguments.write_text("\n".join(some))
        return failing(copy, f"@{arguments}", tier="quick", limit=LIMIT)

    for some in (tests[:FIRST], tests[FIRST:MOST]):
        try:
            killer = first(some) if some else ""
        except RuntimeError as error:  # nothing was collected
            killer = str(error).strip().splitlines()[-1]
        if "no match in any of" in killer:  # a parameter is gone, which nobody notices
            killer = first([*dict.fromkeys(test.partition("[")[0] for test in some)])
        if killer:
            return killer
    return ""
