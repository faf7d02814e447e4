"""Lines of text as lazy frames, read in blocks of whole lines.

A block that does not fit is looked at line by line, so that an error names file and
line.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Protocol

import polars as pl

from polars_rank.core.source import lazy_source
from polars_rank.exceptions import DataError
from polars_rank.io.damage import NUL, cut_error, last_lines, nul_error
from polars_rank.io.files import Source, magic, open_plain, readable

BLOCK = 4 << 20
LONGEST = 1 << 20
SHOWN = 200


class LineFormat(Protocol):
    """A format of lines."""

    @property
    def name(self) -> str:
        """What its files hold, in plans."""

    @property
    def text(self) -> str:
        """What its files are, in messages."""

    @property
    def form(self) -> str:
        """The form of a line, in messages."""

    @property
    def schema(self) -> Mapping[str, pl.DataType]:
        """The columns."""

    def parse(self, block: bytes, names: Sequence[str]) -> pl.DataFrame | None:
        """Parse whole lines; None if any of them breaks a rule."""

    def fault(self, block: bytes, file: str, first: int) -> DataError:
        """Find the first line that breaks a rule; ``first`` is the block's first."""

    def fields(self, line: str) -> Sequence[str]:
        """Return the fields of a line; none if it is blank or a comment."""


def scan_lines(files: Sequence[Source], format: LineFormat) -> pl.LazyFrame:
    """Scan files of one format, one after the other, as one lazy frame."""
    for file in files:
        if found := magic(file.head()):
            raise DataError(
                f"{file.name}: found {found}, expected {format.text}. "
                "Name the file after its format, or decompress it first."
            )
    return lazy_source(
        partial(_read_all, tuple(files), format),
        dict(format.schema),
        name=format.name,
        detail=", ".join(file.name for file in files[:3]),
        rereadable=True,
        files=[file.path for file in files],
    )


def _read_all(
    files: Sequence[Source], format: LineFormat, names: Sequence[str]
) -> Iterator[pl.DataFrame]:
    for file in files:
        yield from _read(file, format, names)


def _read(
    file: Source, format: LineFormat, names: Sequence[str]
) -> Iterator[pl.DataFrame]:
    """Parse one file block by block; an error names the first malformed line."""
    line, rows, end = 1, 0, b""
    for block in _blocks(file, format):
        if NUL in block:
            lines = block.count(b"\n", 0, block.index(NUL))
            raise nul_error(f"{file.name}, line {line + lines}")
        frame = format.parse(block, names)
        if frame is None:
            raise format.fault(block, file.name, line)
        yield frame.select(names) if names else pl.DataFrame(height=frame.height)
        line += block.count(b"\n")
        rows += frame.height
        end = last_lines(end, block)
    if error := cut_error(end, format.fields, f"{file.name}, line {line}"):
        raise error
    if not rows:
        raise DataError(
            f"{file.name}: holds only comments and empty lines. "
            f"Expected lines of the form: {format.form}."
        )


def _blocks(file: Source, format: LineFormat) -> Iterator[bytes]:
    """Read a file in blocks that end where a line ends."""
    with readable(file.name), open_plain(file.path) as stream:
        block = stream.read(BLOCK).removeprefix(b"\xef\xbb\xbf")
        while block:
            rest = stream.readline(LONGEST)
            if len(rest) == LONGEST and not rest.endswith(b"\n"):
                raise DataError(
                    f"{file.name}: found a line of more than {LONGEST} bytes, "
                    f"expected {format.text}. Check that this is the file you mean."
                )
            yield block + rest if rest else block
            block = stream.read(BLOCK)


def first_line(head: bytes) -> str:
    """Return the first line that is neither blank nor a comment."""
    lines = head.removeprefix(b"\xef\xbb\xbf").decode(errors="replace").split("\n")
    stripped = (line.strip() for line in lines)
    return next((line for line in stripped if line and line[0] != "#"), "")


def line_error(name: str, line: int, wrong: str, form: str, raw: bytes) -> DataError:
    """Make the error for a line: what is wrong, what is expected, what it reads."""
    return DataError(
        f"{name}, line {line}: {wrong}\n"
        f"Expected {form}.\n"
        f"The line reads: {shown(raw)}\n"
        "Fix the line, or start it with # to leave it out."
    )


def shown(raw: bytes) -> str:
    """Escape what cannot be printed and cut what is too long."""
    line = raw.strip()[: 4 * SHOWN].decode(errors="backslashreplace")
    safe = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in line)
    return safe if len(safe) <= SHOWN else safe[: SHOWN - 1] + "…"
