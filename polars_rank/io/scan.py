"""One door for every file format: ``scan`` picks the reader and stays lazy."""

from __future__ import annotations

import glob
import os
from pathlib import Path
from typing import Literal

import polars as pl

from polars_rank.exceptions import DataError
from polars_rank.io.damage import Undamaged
from polars_rank.io.files import Source, locate, magic, readable
from polars_rank.io.formats import FORMATS, TREC_TEXT, Format, format_of
from polars_rank.io.trec import scan_trec

__all__ = ["scan"]


def scan(source: str | Path, *, kind: Literal["run", "qrels"]) -> pl.LazyFrame:
    """Scan a run or judgements; only schemas and first bytes are read right away.

    Parameters
    ----------
    source
        A file, a folder (also of hive partitions), a glob or ``-`` for standard
        input. The extension names the format (``polars_rank.io.FORMATS``); any other
        is TREC text. Text may be gzipped. Standard input is recognised by its first
        bytes.
    kind
        What TREC text holds: ``"run"`` or ``"qrels"``.

    Returns
    -------
    LazyFrame
        The columns of the source. In CSV the ids are text, so that ``007`` is not
        ``7``, and scores and labels Float64.

    Raises
    ------
    DataError
        If a file is missing, empty or not what its extension says. Bad lines of TREC
        text are reported, with file and line, when the frame is collected.
    """
    if kind not in ("run", "qrels"):
        raise ValueError(f"kind is 'run' or 'qrels', not {kind!r}")
    text = os.fspath(source)
    if "://" in text:
        remote = format_of(text)
        if remote is None:
            raise ValueError(f"{text}: TREC text is read from local files: copy it.")
        return remote.scan([text], None)
    files, hive = _files(text)
    formats = {_sniff(f.head()) if f.spooled else format_of(f.name) for f in files}
    if len(formats) > 1:
        names = sorted(TREC_TEXT if f is None else f.name for f in formats)
        raise DataError(
            f"{text}: holds {' and '.join(names)}. "
            "Pick the files of one format with a glob such as 'folder/*.parquet'."
        )
    (format,) = formats
    if format is None:
        return scan_trec(files, kind)
    for file in files:
        _check(file, format)
    try:
        frame = format.scan([str(file.path) for file in files], hive)
        frame.collect_schema()
    except pl.exceptions.PolarsError as error:
        raise DataError(
            f"{text}: cannot be read as {format.name}: {error}. "
            "Check the file, or name it after its format."
        ) from error
    if format.separator is None:
        return frame
    check = Undamaged([(str(f.path), f.name) for f in files], format.separator)
    sound = pl.map_batches(
        [pl.lit(True)], check, return_dtype=pl.Boolean, is_elementwise=True
    )
    return frame.filter(sound)


def _files(text: str) -> tuple[list[Source], bool]:
    """List the files behind a path, a folder or a glob; tell if folders part them."""
    path = Path(text)
    if path.is_dir():
        inside = (p.relative_to(path) for p in path.rglob("*") if p.is_file())
        below = sorted(p for p in inside if not any(q[0] in "._" for q in p.parts))
        found = [path / p for p in below]
    elif glob.has_magic(text) and not path.exists():
        hits = sorted(map(Path, glob.glob(text, recursive=True)))
        below = found = [p for p in hits if not p.is_dir()]
    else:
        return [locate(text)], False
    if not found:
        what = "the folder holds no file" if path.is_dir() else "no file matches"
        raise DataError(f"{text}: {what} (looked from {Path.cwd()}). Check the path.")
    hive = any("=" in folder for p in below for folder in p.parts[:-1])
    return [locate(p) for p in found], hive


def _sniff(head: bytes) -> Format | None:
    """The format that the first bytes show; None: TREC text."""
    for format in FORMATS.values():
        if format.magic is not None and head.startswith(format.magic):
            return format
    line = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0].strip()
    if line.startswith(b"{"):
        return FORMATS["NDJSON"]
    names = [name.strip(b' "') for name in line.split(b",")]
    plain = all(name and not name.split()[1:] for name in names)
    header = plain and len(set(names)) == len(names) > 1
    return FORMATS["CSV"] if header else None


def _check(file: Source, format: Format) -> None:
    """Check the first bytes of a file and, for binary formats, the last."""
    mark, expected = format.magic, format.name
    if mark is None:
        found = magic(file.head())
        if found and found != "zstd":
            raise DataError(
                f"{file.name}: found {found}, expected {expected}. "
                "Name the file after its format."
            )
        return
    with readable(file.name), file.path.open("rb") as stream:
        head = stream.read(8)
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - len(mark), 0))
        tail = stream.read()
    if not head.startswith(mark):
        shown = magic(head) or f"the bytes {head!r}"
        raise DataError(
            f"{file.name}: found {shown}, expected {expected}. "
            "Name the file after its format."
        )
    if tail != mark or size <= 2 * len(mark):
        raise DataError(
            f"{file.name}: the {expected} file is cut short: {size} bytes that do not "
            f"end in {mark.decode()}. Copy or write it again."
        )
