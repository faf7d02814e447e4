"""Check that the files of a scan have the same columns."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

from polars_rank.exceptions import DataError
from polars_rank.io.files import Source, given_name
from polars_rank.io.formats import FORMATS, Format

Columns: TypeAlias = Mapping[str, pl.DataType | None]  # None: no type is known
OURS = {"query_id", "doc_id", "score", "label", "rank"}


def concatenated(
    parts: Mapping[str, pl.LazyFrame],
    how: Literal["vertical", "vertical_relaxed", "diagonal_relaxed"] = "vertical",
) -> pl.LazyFrame:
    """Concatenate all parts; ``DataError`` names two whose types have none in common.

    Time zones are such types: a time in Berlin is not silently one in UTC.
    """
    first: dict[str, tuple[str, pl.DataType]] = {}
    for name, part in parts.items():
        for column, dtype in part.collect_schema().items():
            whose, other = first.setdefault(column, (name, dtype))
            both = [pl.DataFrame(schema={"": kind}) for kind in (other, dtype)]
            try:
                pl.concat(both, how=how)
            except pl.exceptions.SchemaError:
                zones = dtype == pl.Datetime and other == pl.Datetime
                way = "bring both to one time zone" if zones else "make both one type"
                msg = f"{column!r} is {dtype} in {name}, but {other} in {whose}; {way}"
                raise DataError(msg, rule="different_columns", count=1) from None
    return pl.concat(parts.values(), how=how)


def require_same_columns(files: Iterable[Path]) -> None:
    """Raise ``DataError`` if binary files differ in the names or types of columns."""
    _require_same(
        (given_name(file), format.scan([os.fspath(file)], False).collect_schema())
        for file in files
        if file.is_file() and (format := binary_format(file)) is not None
    )


def require_same_names(files: Sequence[Source], format: Format) -> None:
    """Raise ``DataError`` if text files differ in the names of columns.

    A line of NDJSON may leave out a column, and so may a whole file, except columns
    with a default name: if none of its first lines has one, it has another name there.
    """
    if len(files) > 1:
        names = _names_of_lines if format.separator is None else _header
        found = ((file.name, names(file, format.separator)) for file in files)
        _require_same((name, columns) for name, columns in found if columns)


def binary_format(file: Path) -> Format | None:
    """Return the binary format that the first bytes show, if any."""
    with file.open("rb") as stream:
        head = stream.read(8)
    marked = (row for row in FORMATS.values() if row.magic is not None)
    return next((row for row in marked if head.startswith(row.magic or b"")), None)


def _require_same(files: Iterable[tuple[str, Columns]]) -> None:
    first = None
    for name, columns in files:
        first = first or (name, columns)
        wanted = first[1]
        differ = [
            *(f"has no {c!r}" for c in wanted if c not in columns),
            *(f"has {c!r} besides" for c in columns if c not in wanted),
            *(
                f"has {c!r} as {columns[c]}, not {dtype}"
                for c, dtype in wanted.items()
                if c in columns and columns[c] != dtype
            ),
        ]
        if not differ and list(columns) != list(wanted) and None in columns.values():
            differ = [f"has them in another order: {', '.join(columns)}"]
        if differ:
            raise DataError(
                f"{name}: its columns are not those of {first[0]}: it "
                f"{', '.join(differ[:3])}. Give all files of a scan the same columns, "
                "or scan them on their own and join them with pl.concat.",
                rule="different_columns",
            )


def _header(file: Source, separator: str | None) -> Columns:
    line = _head(file).partition("\n")[0].strip("\r")
    return dict.fromkeys(next(csv.reader([line], delimiter=separator or ",")))


def _names_of_lines(file: Source, _: str | None) -> Columns:
    names: set[str] = set()
    for line in _head(file).split("\n"):
        try:
            row = json.loads(line)
        except ValueError:  # the last one may be cut here; others, Polars reports
            continue
        names |= row.keys() if isinstance(row, dict) else set()
    return dict.fromkeys(sorted(names & OURS))


def _head(file: Source) -> str:
    return file.head().removeprefix(b"\xef\xbb\xbf").decode(errors="replace")
