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

from cyclopts import Parameter

import polars_rank.example
from polars_rank.cli.derive import GROUPS, UsageError, is_group, tuple_of
from polars_rank.cli.output.words import STDIN
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
        for file in tuple_of(values.get(name)):
            if named.side == "output":
                outputs[named.option] = file
            elif "://" not in str(file):
                inputs.append(str(file))
    require_apart(outputs, inputs)


@cache
def files_of(command: Callable[..., Any]) -> dict[str, Named]:
    """The parameters of a command, or of its groups of options, that name files."""
    found: dict[str, Named] = {}
    for name, hint in get_type_hints(command, include_extras=True).items():
        if is_group(hint):
            found |= files_of(hint)
        elif get_origin(hint) is Annotated:
            kind, *extras = get_args(hint)
            [told] = (extra for extra in extras if isinstance(extra, Parameter))
            [group] = tuple_of(told.group)
            is_path = {kind, *get_args(kind)} & {str, Path}
            if group.name in SIDES and is_path and told.metavar in (None, "FILE"):
                option, *_ = told.name or (f"--{name.replace('_', '-')}",)
                found[name] = Named(option, SIDES[group.name])
    return found


def require_apart(outputs: Mapping[str, str | Path], inputs: Sequence[str]) -> None:
    """Check that files can be written, and that none is read or written by another.

    ``outputs`` are paths by option; ``inputs`` may be folders and globs.
    """
    taken: dict[Path, str] = {}
    for option, name in outputs.items():
        target = Path(name)
        if target == Path(STDIN) and isinstance(name, Path):
            raise UsageError(f"{option} - is no file to write; name one.")
        if name == STDIN or (target.exists() and not target.is_file()):
            if target.is_dir():
                raise UsageError(f"{option} {target} is a folder; name a file.")
            continue  # standard output, a pipe or a device
        _require_writable(target)
        place = target.resolve()
        if _is_read(place, inputs):
            raise UsageError(
                f"{option} {target} is part of the input; name another file."
            )
        if place in taken:
            raise UsageError(
                f"{option} {target} is the file of {taken[place]}, too; name another."
            )
        taken[place] = option


def _require_writable(target: Path) -> None:
    folder = target.parent
    if not folder.is_dir():
        raise DataError(f"{target}: no such folder: {folder}")
    try:
        TemporaryFile(dir=folder).close()
    except OSError as error:
        msg = f"{target}: its folder, {folder}, cannot be written to"
        raise DataError(msg) from error


def _is_read(place: Path, inputs: Sequence[str]) -> bool:
    """Whether a file is an input, is inside one, matches a glob or is a link."""
    sources = [Path(name).resolve() for name in inputs if name != STDIN]
    for source in sources:
        if place.is_relative_to(source) or _matches(place.parts, source.parts):
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
        found = [name] if os.path.exists(name) else glob.glob(name, recursive=True)
        for one in map(Path, found):
            files = filter(Path.is_file, [one, *one.rglob("*")])
            yield from map(os.stat, files)


def _matches(parts: Sequence[str], patterns: Sequence[str]) -> bool:
    if not patterns or not parts:
        return not parts and all(pattern == "**" for pattern in patterns)
    if patterns[0] == "**":
        return _matches(parts, patterns[1:]) or _matches(parts[1:], patterns)
    same = fnmatchcase(parts[0], patterns[0])
    return same and _matches(parts[1:], patterns[1:])
