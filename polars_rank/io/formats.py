"""The file formats, one row each: how a file is recognized, read and written."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

import polars as pl

Scan: TypeAlias = Callable[[Sequence[str], bool | None], pl.LazyFrame]
Sink: TypeAlias = Callable[[pl.LazyFrame, Path], object]

_IDS = ("query_id", "doc_id", "iteration", "system")
_NUMBERS = ("score", "label")
INFERRED = 10_000  # rows of text that tell its columns and their types
TREC_TEXT = "TREC text"


class Format(NamedTuple):
    """A file format.

    Attributes
    ----------
    name
        Its name in messages.
    extensions
        How file names end; the first is the usual one.
    magic
        First and last bytes of a file; None for text.
    typed
        Whether a file has types: an id can be a number, so 007 is 7.
    scan
        ``scan(paths, hive)``; with ``hive=None`` Polars expands globs and folders.
    sink
        Writes a lazy frame.
    separator
        Separator of the fields of a line, in separated text.
    """

    name: str
    extensions: tuple[str, ...]
    magic: bytes | None
    typed: bool
    scan: Scan
    sink: Sink
    separator: str | None = None


def _scan_parquet(paths: Sequence[str], hive: bool | None) -> pl.LazyFrame:
    return pl.scan_parquet(list(paths), glob=hive is None, hive_partitioning=hive)


def _scan_ipc(paths: Sequence[str], hive: bool | None) -> pl.LazyFrame:
    return pl.scan_ipc(list(paths), glob=hive is None, hive_partitioning=hive)


def _scan_ndjson(paths: Sequence[str], hive: bool | None) -> pl.LazyFrame:
    # scan_ndjson has no glob= (Polars 2.1): names of files must not act as patterns.
    files = list(paths) if hive is None else [glob.escape(path) for path in paths]
    found = pl.scan_ndjson(files, infer_schema_length=INFERRED).collect_schema()
    numbers = {n: pl.Float64() for n in found if n in _NUMBERS}
    return pl.scan_ndjson(
        files, schema_overrides=numbers or None, infer_schema_length=INFERRED
    )


def scan_separated(
    paths: Sequence[str],
    hive: bool | None,
    *,
    separator: str,
    columns: Sequence[str] | None = None,
    names: Mapping[str, str] = MappingProxyType({}),
    keep: bool = False,
) -> pl.LazyFrame:
    """Scan CSV or the like.

    ``columns`` are those of files without a header; ``names`` are what the columns of a
    header are to be called, or to be called as well, if they ``keep`` their own.
    """
    dtypes = {
        **dict.fromkeys(_IDS, pl.String()),
        **dict.fromkeys(_NUMBERS, pl.Float64()),
    }
    ranks = {"rank": pl.Int64()}
    if columns is not None:
        known = dtypes | ranks
        return pl.scan_csv(
            list(paths),
            separator=separator,
            has_header=False,
            schema={name: known.get(name, pl.String()) for name in columns},
            glob=hive is None,
        )
    known = dtypes | ranks
    given = {name: known[own] for name, own in names.items()}
    frame = pl.scan_csv(
        list(paths),
        separator=separator,
        schema_overrides=dtypes | given,
        infer_schema_length=INFERRED,
        glob=hive is None,
    )
    if keep:
        return frame.with_columns(pl.col(n).alias(own) for n, own in names.items())
    return frame.rename(names) if names else frame


def _separated(separator: str) -> tuple[Scan, Sink]:
    def scan(paths: Sequence[str], hive: bool | None) -> pl.LazyFrame:
        return scan_separated(paths, hive, separator=separator)

    def sink(frame: pl.LazyFrame, path: Path) -> None:
        frame.sink_csv(
            path, separator=separator, check_extension=False, engine="streaming"
        )

    return scan, sink


def _sink_parquet(frame: pl.LazyFrame, path: Path) -> None:
    frame.sink_parquet(path, engine="streaming")


def _sink_ipc(frame: pl.LazyFrame, path: Path) -> None:
    frame.sink_ipc(path, engine="streaming")


def _sink_ndjson(frame: pl.LazyFrame, path: Path) -> None:
    frame.sink_ndjson(path, check_extension=False, engine="streaming")


FORMATS = {
    row.name: row
    for row in (
        Format("Parquet", (".parquet",), b"PAR1", True, _scan_parquet, _sink_parquet),
        Format(
            "Arrow IPC",
            (".arrow", ".ipc", ".feather"),
            b"ARROW1",
            True,
            _scan_ipc,
            _sink_ipc,
        ),
        Format("CSV", (".csv",), None, False, *_separated(","), ","),
        Format("TSV", (".tsv",), None, False, *_separated("\t"), "\t"),
        Format("NDJSON", (".ndjson", ".jsonl"), None, True, _scan_ndjson, _sink_ndjson),
    )
}


def format_of(path: str | Path) -> Format | None:
    """Return the format that the extension names, packed or not; None: TREC text."""
    stem = re.sub(r"\.(gz|zst)$", "", os.fspath(path).lower())
    extension = os.path.splitext(stem)[1]
    rows = (row for row in FORMATS.values() if extension in row.extensions)
    return next(rows, None)


def extensions(*, typed: bool | None = None) -> list[str]:
    """Return how file names may end: those of all formats, or of typed ones only."""
    return [
        extension
        for row in FORMATS.values()
        if typed is None or row.typed == typed
        for extension in row.extensions
    ]
