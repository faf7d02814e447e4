"""No command writes onto what it reads: one check of every command, before it runs.

An option is an output if it is a path in the group ``Output``, and an input if it is
one in the group ``Files``; so a new option is checked by where its help shows it.
"""

from __future__ import annotations

import glob
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from fnmatch import fnmatchcase
from functools import cache
from inspect import BoundArguments
from pathlib import Path
from tempfile import TemporaryFile
from typing import Annotated, Any, NamedTuple, get_args, get_origin, get_type_hints

from cyclopts import CycloptsError, Parameter

import polars_rank.example
from polars_rank.cli.derive import GROUPS
from polars_rank.cli.words import STDIN
from polars_rank.exceptions import DataError

EXAMPLES = str(Path(polars_rank.example.path()).parent)
SIDES = {GROUPS["file"].name: "input", GROUPS["output"].name: "output"}


class Named(NamedTuple):
    """A parameter of a command that names files, as users write it."""

    option: str
    side: str


def require_outputs_apart(command: Callable[..., Any], given: BoundArguments) -> None:
    """Check the files of a command line: none is both read and written."""
    outputs: dict[str, str | Path] = {}
    inputs = [EXAMPLES]  # --example reads them
    values = dict(given.arguments)
    for group in filter(is_dataclass, given.arguments.values()):
        values |= vars(group)
    for name, named in files_of(command).items():
        value = values.get(name)
        if value is None:
            continue
        if named.side == "output":
            outputs[named.option] = value
        else:
            inputs += [str(v) for v in (value if isinstance(value, tuple) else [value])]
    require_apart(outputs, [name for name in inputs if "://" not in name])


@cache
def files_of(command: Callable[..., Any]) -> dict[str, Named]:
    """The parameters of a command, or of its groups of options, that name files."""
    found: dict[str, Named] = {}
    for name, hint in get_type_hints(command, include_extras=True).items():
        if isinstance(hint, type) and is_dataclass(hint):  # a group of options
            found |= files_of(hint)
        elif named := _named(name, hint):
            found[name] = named
    return found


def _named(name: str, hint: Any) -> Named | None:
    if get_origin(hint) is not Annotated:
        return None
    kind, *extras = get_args(hint)
    marks = [extra for extra in extras if isinstance(extra, Parameter)]
    types = {kind, *get_args(kind)}
    metavars = {mark.metavar for mark in marks} - {None}
    if not types & {str, Path} or not metavars <= {"FILE"}:
        return None
    groups = [group for mark in marks for group in _several(mark.group)]
    side = next((SIDES[g.name] for g in groups if g.name in SIDES), None)
    options = [option for mark in marks for option in _several(mark.name)]
    option = options[0] if options else f"--{name.replace('_', '-')}"
    return None if side is None else Named(option, side)


def _several(value: Any) -> Sequence[Any]:
    if value is None:
        return ()
    return value if isinstance(value, tuple | list) else (value,)


def require_apart(outputs: Mapping[str, str | Path], inputs: Sequence[str]) -> None:
    """Check that files can be written, and that none is read or written by another.

    ``outputs`` are paths by option; ``inputs`` may be folders and globs.
    """
    taken: dict[Path, str] = {}
    for option, name in outputs.items():
        target = Path(name)
        if name == STDIN or (target.exists() and not target.is_file()):
            _refuse_folder(option, target)
            continue  # standard output, a pipe or a device
        _require_writable(target)
        place = target.resolve()
        if _is_read(place, inputs):
            raise CycloptsError(
                msg=f"{option} {target} is part of the input; name another file."
            )
        if place in taken:
            raise CycloptsError(
                msg=f"{option} {target} is the file of {taken[place]}, too; name "
                "another."
            )
        taken[place] = option


def _refuse_folder(option: str, target: Path) -> None:
    if target.is_dir():
        raise CycloptsError(msg=f"{option} {target} is a folder; name a file.")


def _require_writable(target: Path) -> None:
    folder = target.parent
    if not folder.is_dir():
        raise DataError(f"{target}: no such folder: {folder}")
    try:
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        msg = f"{target}: its folder, {folder}, cannot be written to"
        raise DataError(msg) from error


def _is_read(place: Path, inputs: Sequence[str]) -> bool:
    """Whether a file is an input, is inside one, matches a glob or is a link."""
    if any(_is_part(place, Path(name).resolve()) for name in inputs if name != STDIN):
        return True
    if not place.exists():
        return False
    own = os.stat(place)
    return any(os.path.samestat(own, other) for other in _stats(inputs))


def _stats(inputs: Iterable[str]) -> Iterator[os.stat_result]:
    """All files that are read, wherever links lead."""
    for name in inputs:
        if name == STDIN:
            try:
                yield os.fstat(sys.stdin.fileno())
            except (OSError, ValueError):  # it is closed, or no file at all
                continue
        path = Path(name)
        found = [path] if path.exists() else map(Path, glob.glob(name, recursive=True))
        for one in found:
            for file in one.rglob("*") if one.is_dir() else [one]:
                if file.is_file():
                    yield os.stat(file)


def _is_part(place: Path, source: Path) -> bool:
    """Whether a file is the input, is inside it, or matches its glob."""
    return place.is_relative_to(source) or _matches(place.parts, source.parts)


def _matches(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns or not parts:
        return not parts and all(pattern == "**" for pattern in patterns)
    if patterns[0] == "**":
        return _matches(parts, patterns[1:]) or _matches(parts[1:], patterns)
    same = fnmatchcase(parts[0], patterns[0])
    return same and _matches(parts[1:], patterns[1:])
