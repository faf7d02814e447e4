"""One door for every file format: ``scan`` picks the reader and stays lazy."""

from __future__ import annotations

import glob
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import polars as pl

from polars_rank.errors import DataError
from polars_rank.io.files import Source, locate, magic
from polars_rank.io.trec import scan_trec

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["scan"]

_FORMATS = {
    ".parquet": "Parquet",
    ".arrow": "Arrow IPC",
    ".ipc": "Arrow IPC",
    ".feather": "Arrow IPC",
    ".csv": "CSV",
    ".tsv": "TSV",
    ".ndjson": "NDJSON",
    ".jsonl": "NDJSON",
}
_EDGES = {"Parquet": b"PAR1", "Arrow IPC": b"ARROW1"}
_TEXT = "TREC text"
_IDS = ("query_id", "doc_id", "iteration", "system")
_NUMBERS = ("score", "label")


def scan(source: str | Path, *, kind: Literal["run", "qrels"]) -> pl.LazyFrame:
    """Scan a run or judgements; only schemas and first bytes are read right away.

    Parameters
    ----------
    source
        A file, a folder (also of hive partitions), a glob or ``-`` for standard
        input. The extension names the format: ``.parquet``, ``.arrow``, ``.ipc``,
        ``.feather``, ``.csv``, ``.tsv``, ``.ndjson``, ``.jsonl``; any other is TREC
        text. Text may be gzipped. Standard input is told by its first bytes.
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
        found = _format(text)
        if found == _TEXT:
            raise ValueError(f"{text}: TREC text is read from local files: copy it.")
        return _open([text], found)
    files = _files(text)
    formats = {_sniff(f.head()) if f.spooled else _format(f.name) for f in files}
    if len(formats) > 1:
        raise DataError(
            f"{text}: holds {' and '.join(sorted(formats))}. "
            "Pick the files of one format with a glob such as 'folder/*.parquet'."
        )
    (found,) = formats
    if found == _TEXT:
        return scan_trec(files, kind)
    for file in files:
        _check(file, found)
    try:
        if found == "Parquet" and os.path.isdir(text):
            frame = pl.scan_parquet(text, glob=False, hidden_file_prefix=(".", "_"))
        else:
            frame = _open([str(file.path) for file in files], found)
        frame.collect_schema()
    except pl.exceptions.PolarsError as error:
        raise DataError(f"{text}: cannot be read as {found}: {error}") from error
    return frame


def _files(text: str) -> list[Source]:
    """List the files that a path, a folder or a glob stands for."""
    path = Path(text)
    if path.is_dir():
        inside = (p.relative_to(path) for p in path.rglob("*") if p.is_file())
        shown = (p for p in inside if not any(q[0] in "._" for q in p.parts))
        found = [locate(path / p) for p in sorted(shown)]
    elif glob.has_magic(text) and not path.exists():
        hits = sorted(map(Path, glob.glob(text, recursive=True)))
        found = [locate(p) for p in hits if not p.is_dir()]
    else:
        found = [locate(text)]
    if not found:
        what = "the folder holds no file" if path.is_dir() else "no file matches"
        raise DataError(f"{text}: {what} (looked from {Path.cwd()}). Check the path.")
    return found


def _format(name: str) -> str:
    """Name the format after the extension, compression aside."""
    stem = re.sub(r"\.(gz|zst)$", "", name.lower())
    return _FORMATS.get(os.path.splitext(stem)[1], _TEXT)


def _sniff(head: bytes) -> str:
    """Name the format after the first bytes."""
    for found, mark in _EDGES.items():
        if head.startswith(mark):
            return found
    line = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0].strip()
    if line.startswith(b"{"):
        return "NDJSON"
    names = [name.strip(b' "') for name in line.split(b",")]
    plain = all(name and not name.split()[1:] for name in names)
    header = plain and len(set(names)) == len(names) > 1
    return "CSV" if header else _TEXT


def _check(file: Source, expected: str) -> None:
    """Check the first bytes of a file and, for binary formats, the last."""
    head = file.head()
    edge = _EDGES.get(expected, b"")
    if not edge:
        found = magic(head)
        if found and found != "zstd":
            raise DataError(f"{file.name}: found {found}, expected {expected}.")
        return
    if not head.startswith(edge):
        shown = magic(head) or f"the bytes {head[:8]!r}"
        raise DataError(f"{file.name}: found {shown}, expected {expected}.")
    size = file.path.stat().st_size
    with file.path.open("rb") as stream:
        stream.seek(max(size - len(edge), 0))
        whole = stream.read() == edge and size > 2 * len(edge)
    if not whole:
        raise DataError(
            f"{file.name}: the {expected} file is cut short: {size} bytes that do not "
            f"end in {edge.decode()}. Copy or write it again."
        )


def _open(paths: Sequence[str], found: str) -> pl.LazyFrame:
    """Scan files of one format with Polars."""
    several = list(paths)
    if found == "Parquet":
        hive = len(several) > 1 and any("=" in os.path.dirname(p) for p in several)
        return pl.scan_parquet(several, glob=False, hive_partitioning=hive or None)
    if found == "Arrow IPC":
        return pl.scan_ipc(several, glob=False)
    if found == "NDJSON":
        names = pl.scan_ndjson(several).collect_schema().names()
        numbers = {n: pl.Float64() for n in names if n in _NUMBERS}
        return pl.scan_ndjson(several, schema_overrides=numbers or None)
    return pl.scan_csv(
        several,
        separator="\t" if found == "TSV" else ",",
        schema_overrides={
            **dict.fromkeys(_IDS, pl.String()),
            **dict.fromkeys(_NUMBERS, pl.Float64()),
        },
        infer_schema_length=10_000,
        glob=False,
    )
