"""Signs of damage in a text file: bytes never written, lines cut short."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import polars as pl

from polars_rank.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence


NUL = b"\0"
QUOTE = b'"'  # what is between two of them may hold separators and newlines
TAIL = 1 << 16  # bytes at the end of a file that its last line is compared with
BLOCK = 1 << 20
PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # these have sums of their own


def nul_error(place: str) -> DataError:
    """Make the error for NUL bytes, which a lost or unwritten part of a disk holds."""
    return DataError(
        f"{place}: found NUL bytes, which no text holds: a part of the file is lost. "
        "Copy or write it again.",
        rule="nul_bytes",
    )


def last_lines(before: bytes, block: bytes) -> bytes:
    """Return the last whole lines of a file, called block after block."""
    end = before + block if len(block) <= TAIL else block
    return end if len(end) <= TAIL else end[-TAIL:].partition(b"\n")[2]


def cut_error(
    lines: bytes,
    split: Callable[[str], Sequence[str]],
    place: str,
    *,
    width: int | None = None,
) -> DataError | None:
    """Return the error for a last line that looks cut short.

    Only a line without a newline can be. It counts as complete unless it has fewer
    fields than all ``lines`` above, or its last field looks incomplete: a number with
    fewer decimals than another (or fewer digits, if none has decimals), or the
    beginning of another text. A file that was cut between two lines looks complete.

    Parameters
    ----------
    lines
        The end of the file, from where a line begins.
    split
        Gives the fields of a line; none for a comment.
    place
        File and, if known, line.
    width
        Number of fields, where a header tells.
    """
    *above, last = lines.decode(errors="replace").split("\n")
    fields = split(last)
    others = [other for line in above if (other := split(line))]
    widths = {len(other) for other in others} | (set() if width is None else {width})
    if not fields or len(widths) != 1:
        return None  # nothing to compare it with, or they differ anyway
    (most,) = widths
    found = len(fields)
    if found < most:
        wrong = f"has {found} field{'s' if found > 1 else ''}, all others {most}"
    elif last.endswith(fields[-1]) and _continued(fields[-1], [o[-1] for o in others]):
        wrong = f"ends in {fields[-1]!r}, which may be the beginning of a field"
    else:
        return None
    return DataError(
        f"{place}: the last line has no newline and looks cut short: it {wrong}. "
        "Copy or write the file again; if the line is whole, end it with a newline.",
        rule="cut_short",
    )


def _continued(field: str, others: Sequence[str]) -> bool:
    """Return whether the other fields suggest that this one is incomplete."""
    if not is_number(field):
        return any(other != field and other.startswith(field) for other in others)
    numbers = [other for other in others if is_number(other)]
    decimals = any("." in number for number in numbers)

    def length(number: str) -> int:
        return len(number.partition(".")[2] if decimals else number.lstrip("+-"))

    return any(length(field) < length(number) for number in numbers)


def is_number(text: str) -> bool:
    """Return whether a field can be read as a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True


class Undamaged:
    """A filter that passes all rows of separated text, or raises ``DataError``.

    Polars itself reads a NUL byte as a letter, and missing fields as nulls. The files
    are read once more, with the first rows, and again if a file has changed.
    """

    def __init__(
        self, files: Sequence[tuple[str, str]], separator: str, *, ragged: bool = False
    ) -> None:
        """Take the paths of ``files`` with their names in messages.

        Lines of ``ragged`` files may lack fields.
        """
        self.files = files
        self.separator = separator
        self.ragged = ragged
        self.seen: list[tuple[int, int]] = []

    def __reduce__(self) -> tuple[object, ...]:
        """Forget what was seen: plans are compared by their bytes."""
        return partial(Undamaged, ragged=self.ragged), (self.files, self.separator)

    def __call__(self, columns: Sequence[pl.Series]) -> pl.Series:
        """Check the files unless that was done."""
        states = [os.stat(path) for path, _ in self.files]
        state = [(status.st_size, status.st_mtime_ns) for status in states]
        if state != self.seen:
            for path, name in self.files:
                self._check(path, name)
            self.seen = state
        return pl.Series([True]).new_from_index(0, len(columns[0]))

    def _check(self, path: str, name: str) -> None:
        with open(path, "rb") as file:
            header = file.readline(BLOCK)
            if header.startswith(PACKED):
                return
            width = len(self._split(header.decode(errors="replace").rstrip("\n")))
            quoted, number = QUOTE in header, 1
            end, rest, block = b"", b"", header
            while block:
                if NUL in block:
                    raise nul_error(name)
                block = file.read(BLOCK)
                end = last_lines(end, block)
                endless = len(rest) > BLOCK  # a line that is not kept in memory
                quoted = quoted or QUOTE in block or endless or self.ragged
                if not quoted:
                    lines, newline, rest = (rest + block).rpartition(b"\n")
                    self._require_width(lines + newline, width, name, number)
                    number += lines.count(b"\n") + len(newline)
        error = cut_error(end, self._split, name, width=width)
        if error is not None and not self.ragged:
            raise error

    def _require_width(self, lines: bytes, width: int, name: str, number: int) -> None:
        """Raise for whole lines, without quotes, of which one has too few fields.

        Polars itself refuses lines with too many. ``number`` lines are above these.
        """
        separator = self.separator.encode()
        if lines.count(separator) >= (width - 1) * lines.count(b"\n"):
            return
        for line in lines.splitlines():
            number += 1
            if (found := line.count(separator) + 1) < width:
                wrong = "is blank. Remove it."
                if line.strip():
                    wrong = (
                        f"has {found} of {width} fields, as if it had been cut. Write "
                        "the others, too; they may be empty between separators."
                    )
                raise DataError(f"{name}: line {number} {wrong}", rule="short_line")

    def _split(self, line: str) -> list[str]:
        """Split roughly: lines with quoted separators differ, and prove nothing."""
        return line.removesuffix("\r").split(self.separator) if line.strip() else []
