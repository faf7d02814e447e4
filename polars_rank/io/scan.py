"""One function for every file format: ``scan`` picks the reader and stays lazy."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

from polars_rank.exceptions import DataError
from polars_rank.io.damage import Undamaged
from polars_rank.io.files import Source, locate, magic, readable
from polars_rank.io.formats import (
    FORMATS,
    TREC_TEXT,
    Format,
    format_of,
    scan_separated,
)
from polars_rank.io.header import BEIR, quepid_columns, without_header
from polars_rank.io.lines.svmlight import is_svmlight, scan_svmlight
from polars_rank.io.lines.trec import scan_trec
from polars_rank.io.objects.documents import read_json
from polars_rank.io.same_columns import concatenated, require_same_names
from polars_rank.io.unreadable import unreadable

FileFormat: TypeAlias = Literal[
    "parquet",
    "arrow",
    "csv",
    "tsv",
    "ndjson",
    "json",
    "trec",
    "svmlight",
    "msmarco",
    "beir",
]
_BY_NAME: dict[str, Format | None] = {
    **{row.extensions[0].removeprefix("."): row for row in FORMATS.values()},
    "trec": None,
    "msmarco": FORMATS["TSV"],
    "beir": FORMATS["TSV"],
    "svmlight": None,
    "json": None,
}


def scan(
    source: str | Path,
    *,
    kind: Literal["run", "qrels"] = "run",
    format: FileFormat | None = None,
    columns: Sequence[str] | None = None,
) -> pl.LazyFrame:
    """Scan a run or judgments lazily; only schemas and first bytes are read at once.

    Parameters
    ----------
    source
        A file, a folder (also of hive partitions), a glob or ``-`` for standard
        input. The extension names the format (``polars_rank.io.FORMATS``, and
        ``.json``); any other is TREC text, or svmlight text if its first line has a
        ``qid:``. Text may be gzipped. Standard input is recognized by its first bytes.
    kind
        Contents of TREC text: ``"run"`` or ``"qrels"``.
    format
        The format, whatever the extension says: ``"parquet"``, ``"arrow"``, ``"csv"``,
        ``"tsv"``, ``"ndjson"``, ``"trec"``; ``"msmarco"`` is TSV without a header
        (``query_id doc_id rank``, perhaps with a score; judgments as in TREC text), and
        ``"beir"`` is the judgments of a BEIR data set: a folder with
        ``qrels/test.tsv``, or such a file. ``"svmlight"`` is text with query ids as of
        LETOR: ``query_id``, ``doc_id`` (if lines end in ``# docid = ...``), ``label``
        and ``features``, which are text. ``"json"`` is a document, which is read at
        once: rows, a dictionary as an evaluation takes, judgments of OpenSearch, or the
        body of a ``_rank_eval`` request.
    columns
        Names of the columns of CSV or TSV without a header, such as ``query_id``,
        ``doc_id`` and ``score``. A column with any other name than the default ones
        is read as text.

    Returns
    -------
    LazyFrame
        The columns of the source. In CSV the ids are text, so that ``007`` is not
        ``7``, and scores and labels Float64. Exports of Quepid have the usual names of
        columns beside their own. The first 10,000 rows of CSV and NDJSON tell the other
        types, and the columns of NDJSON: one that begins below is not read.

    Raises
    ------
    DataError
        If a file is missing, empty or not what its extension says. Bad lines of TREC
        text are reported, with file and line, when the frame is collected; a value of
        CSV or NDJSON that does not fit its column is then an error of Polars.
    ValueError
        At once, for wrong arguments.

    Notes
    -----
    In CSV and in TSV, a field that begins with a quote goes on to the next one, over
    separators and line breaks. So in TSV that was written without quoting, lines
    between two such fields become one row, without a word: write it with quoting.

    Examples
    --------
    >>> import polars_rank as pr
    >>> from polars_rank import example
    >>> pr.scan(example.path()).collect_schema().names()
    ['query_id', 'doc_id', 'score', 'label', 'country']
    """
    if kind not in ("run", "qrels"):
        raise ValueError(f"kind must be 'run' or 'qrels', not {kind!r}")
    if format is not None and format not in _BY_NAME:
        msg = f"format must be one of {', '.join(_BY_NAME)}, not {format!r}"
        raise ValueError(msg)
    text = os.fspath(source)
    if kind == "qrels" and (beir := _beir_qrels(text, format)) is not None:
        text, format = beir, "beir"
    if format == "beir" and kind == "run":
        raise ValueError(f"{text}: BEIR has judgments only; scan them as qrels")
    if "://" in text:
        return _scan_remote(text, format)
    files, hive = _files(text)
    found = _one_format(text, files, format)
    if columns is not None and (found is None or found.separator is None):
        raise ValueError("columns= is for CSV and TSV without a header")
    if found is None and (format == "json" or (format is None and _is_json(files))):
        return concatenated({f.name: read_json(f, kind).lazy() for f in files})
    if found is None:
        return _scan_lines(text, files, kind, format)
    _require_sound(files, found, named=columns is None and format != "msmarco")
    with _damage_named(text, files, found):
        frame = _scan_local(files, found, hive, kind, format, columns)
        frame.collect_schema()
    return frame


def _require_sound(files: Sequence[Source], found: Format, *, named: bool) -> None:
    """Check that files begin as their format does, and ``named`` text alike."""
    for file in files:
        _check(file, found)
    if found.magic is None and named:
        require_same_names(files, found)


def _is_json(files: Sequence[Source]) -> bool:
    return any(file.name.lower().endswith((".json", ".json.gz")) for file in files)


def _scan_lines(
    text: str,
    files: Sequence[Source],
    kind: Literal["run", "qrels"],
    format: str | None,
) -> pl.LazyFrame:
    """Scan text with a document in each line."""
    light = [format == "svmlight" or is_svmlight(file.head()) for file in files]
    if format == "trec" or not any(light):
        return scan_trec(files, kind)
    if not all(light):
        raise DataError(
            f"{text}: holds {TREC_TEXT} and svmlight text. Pick the files of one "
            "format with a glob."
        )
    return scan_svmlight(files)


def _scan_local(
    files: Sequence[Source],
    found: Format,
    hive: bool,
    kind: Literal["run", "qrels"],
    format: str | None,
    columns: Sequence[str] | None,
) -> pl.LazyFrame:
    """Scan files of one format; separated text passes unless it shows damage."""
    paths = [str(file.path) for file in files]
    if found.separator is None:
        return found.scan(paths, hive)
    named = without_header(files, found.separator, kind, format, columns)
    quepid = quepid_columns(files, found.separator) if named is None else {}
    frame = scan_separated(
        paths,
        hive,
        separator=found.separator,
        columns=named,
        names=BEIR if format == "beir" else quepid,
        keep=bool(quepid),
    )
    if quepid:  # a query that nobody has rated is a line of its own
        frame = frame.filter(pl.col("doc_id").is_not_null())
    check = Undamaged(
        [(str(f.path), f.name) for f in files], found.separator, ragged=bool(quepid)
    )
    sound = pl.map_batches(
        [pl.lit(True)], check, return_dtype=pl.Boolean, is_elementwise=True
    )
    return frame.filter(sound)


def _scan_remote(url: str, format: str | None) -> pl.LazyFrame:
    """Scan a URL, whose files only Polars can open."""
    remote = format_of(url) if format is None else _BY_NAME[format]
    if remote is None:
        raise ValueError(
            f"{url}: TREC text is read from local files: copy it; of a folder of "
            f"another format, name the files: {url.rstrip('/')}/*.parquet"
        )
    return remote.scan([url], None)


def _one_format(
    text: str, files: Sequence[Source], format: str | None
) -> Format | None:
    """Find the format of all files, or raise; None is TREC text."""
    if format is not None:
        return _BY_NAME[format]
    formats = {_sniff(f.head()) if f.spooled else format_of(f.name) for f in files}
    if len(formats) > 1:
        names = sorted(TREC_TEXT if f is None else f.name for f in formats)
        raise DataError(
            f"{text}: holds {' and '.join(names)}. "
            "Pick the files of one format with a glob such as 'folder/*.parquet'."
        )
    return formats.pop()


@contextmanager
def _damage_named(text: str, files: Sequence[Source], format: Format) -> Iterator[None]:
    """Name the file whose schema Polars cannot read."""
    try:
        yield
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        damaged = (f.name for f in files if unreadable(f.path, rows=False))
        raise DataError(
            f"{next(damaged, text)}: cannot be read as {format.name}: {error}. "
            "Check the file, or name it after its format."
        ) from error


def scan_each(
    source: str | os.PathLike[str], *, listed: bool = False
) -> list[pl.LazyFrame]:
    """Scan each file of a path, a folder or a glob, as :func:`scan` does all of them.

    A single file that is ``listed`` among others may be in a hive partition, too. URLs
    are one scan.
    """
    text = os.fspath(source)
    if text == "-" or "://" in text:
        return [scan(text)]
    files, hive = _files(text)
    hive = hive or (listed and any("=" in name for name in Path(text).parts[:-1]))
    return [_scan_one(file.path, hive=hive) for file in files]


def _scan_one(path: Path, *, hive: bool) -> pl.LazyFrame:
    frame, format = scan(path), format_of(path)
    if hive and format is not None and format.separator is None:
        return format.scan([str(path)], True)
    return frame


def _beir_qrels(text: str, format: str | None) -> str | None:
    """Return the judgments in a folder of a BEIR data set."""
    if not Path(text).is_dir():
        return text if format == "beir" else None
    splits = sorted(Path(text, "qrels").glob("*.tsv"))
    if not splits:
        if format != "beir":
            return None
        raise DataError(
            f"{text}: no qrels/*.tsv in it, as in a BEIR data set. Check the folder."
        )
    if len(splits) > 1:
        names = ", ".join(str(path) for path in splits)
        raise DataError(
            f"{text}: has judgments of several splits: name one of {names}."
        )
    return str(splits[0])


def _files(text: str) -> tuple[list[Source], bool]:
    """List the files of a path, a folder or a glob, and whether it is partitioned."""
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
    """Return the format that the first bytes show; None: TREC text."""
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
