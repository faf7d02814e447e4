"""TREC text, runs and judgments, as lazy frames read in blocks of whole lines.

A line is its fields between blanks (space, tab, vertical tab, form feed, carriage
return). Empty lines and lines that start with ``#`` are skipped. Ids are text, quotes
included; scores and grades are Float64, since grades such as 0.5 occur in practice.

Polars' CSV parser reads blocks in which one space separates the fields. Any other block
is first put into that form. Lines that still do not fit are reported with file and line
number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import polars as pl

from polars_rank.exceptions import DataError
from polars_rank.io.files import Source, locate
from polars_rank.io.formats import TREC_TEXT
from polars_rank.io.lines.blocks import line_error, scan_lines, shown

_BLANKS = bytes.maketrans(b"\t\v\f\r", b"    ")


@dataclass(frozen=True, slots=True)
class _Layout:
    """The fields of a line in order, the columns returned, and the numeric field."""

    kind: str
    fields_in_order: tuple[str, ...]
    given: tuple[str, ...]
    number: str
    counts: tuple[int, ...]
    form: str

    @property
    def name(self) -> str:
        """What its files hold, in plans."""
        return f"TREC {self.kind}"

    @property
    def text(self) -> str:
        """What its files are, in messages."""
        return TREC_TEXT

    @property
    def schema(self) -> dict[str, pl.DataType]:
        return self.dtypes(self.given)

    def dtypes(self, names: Sequence[str]) -> dict[str, pl.DataType]:
        return {n: pl.Float64() if n == self.number else pl.String() for n in names}

    def parse(self, block: bytes, names: Sequence[str]) -> pl.DataFrame | None:
        spaced = _spaced(block)
        frame = _parse(spaced, self, names) if _is_tidy(spaced) else None
        return _parse(_tidy(block), self, names) if frame is None else frame

    def fault(self, block: bytes, file: str, first: int) -> DataError:
        return _fault(block, self, file, first)

    def fields(self, line: str) -> list[str]:
        return _fields(line)


_LAYOUTS = {
    "run": _Layout(
        kind="run",
        fields_in_order=("query_id", "q0", "doc_id", "rank", "score", "system"),
        given=("query_id", "doc_id", "score", "system"),
        number="score",
        counts=(5, 6),
        form="query_id Q0 doc_id rank score [tag]",
    ),
    "qrels": _Layout(
        kind="qrels",
        fields_in_order=("query_id", "iteration", "doc_id", "label"),
        given=("query_id", "iteration", "doc_id", "label"),
        number="label",
        counts=(4,),
        form="query_id iteration doc_id label",
    ),
}


def scan_trec_run(path: str | Path) -> pl.LazyFrame:
    """Scan a TREC run lazily: query_id, doc_id, score and system.

    ``system`` is the tag, null if the lines have none. Lines that break the format are
    a :class:`DataError` with file and line, when the frame is collected.

    Examples
    --------
    >>> import pathlib, tempfile, polars_rank as pr
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "run.txt")
    >>> _ = file.write_text("q1 Q0 d7 1 12.5 bm25\\n")
    >>> pr.io.scan_trec_run(file).collect().rows()
    [('q1', 'd7', 12.5, 'bm25')]
    >>> folder.cleanup()
    """
    return scan_trec([locate(path)], "run")


def scan_trec_qrels(path: str | Path) -> pl.LazyFrame:
    """Scan TREC judgments lazily: query_id, iteration, doc_id and label.

    Lines that break the format are a :class:`DataError` with file and line, when the
    frame is collected.

    Examples
    --------
    >>> import pathlib, tempfile, polars_rank as pr
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "qrels.txt")
    >>> _ = file.write_text("q1 0 d7 2\\n")
    >>> pr.io.scan_trec_qrels(file).collect().rows()
    [('q1', '0', 'd7', 2.0)]
    >>> folder.cleanup()
    """
    return scan_trec([locate(path)], "qrels")


def scan_trec(files: Sequence[Source], kind: Literal["run", "qrels"]) -> pl.LazyFrame:
    """Scan TREC files one after the other as one lazy frame."""
    return scan_lines(files, _LAYOUTS[kind])


def looks_like(path: Path) -> Literal["run", "qrels"] | None:
    """Tell by the first line of TREC text: a run, judgments or neither."""
    lines = locate(path).head().decode(errors="replace").split("\n")
    fields: list[str] = next(filter(None, map(_fields, lines)), [])
    if len(fields) == 4 and fields[1] != "Q0":
        return "qrels"
    return "run" if len(fields) in _LAYOUTS["run"].counts else None


def _fields(line: str) -> list[str]:
    """Return the fields of a line; none if it is blank or a comment."""
    fields = line.split()
    return fields if fields and not fields[0].startswith("#") else []


def _spaced(block: bytes) -> bytes:
    """Turn every kind of blank into a space, one for one."""
    if b"\r" in block:
        block = block.replace(b"\r\n", b"\n")
    if any(blank in block for blank in (b"\t", b"\v", b"\f", b"\r")):
        block = block.translate(_BLANKS)
    return block


def _is_tidy(block: bytes) -> bool:
    """Return whether single spaces separate the fields and every line has some."""
    import numpy as np

    if block[0] <= 32 or block.startswith(b"#") or (b"#" in block and b"\n#" in block):
        return False
    codes = np.frombuffer(block, np.uint8)
    pairs = np.maximum(codes[1:], codes[:-1])  # 32 or less: blank follows blank
    return bool(pairs.min(initial=255) > 32)


def _tidy(block: bytes) -> bytes:
    """Put single spaces between fields, and drop blank lines and comments."""
    lines = (b" ".join(line.split()) for line in block.split(b"\n"))
    return b"\n".join(line for line in lines if line and not line.startswith(b"#"))


def _parse(block: bytes, layout: _Layout, names: Sequence[str]) -> pl.DataFrame | None:
    """Parse tidy lines; None if the fields of any line are too many, few or wrong."""
    schema = layout.dtypes((*layout.fields_in_order, "more"))
    header = " ".join(schema).encode() + b"\n"
    try:
        frame = (
            pl.scan_csv(
                header + block,  # so that no line can look like compressed data
                separator=" ",
                quote_char=None,
                schema=schema,
                glob=False,
            )
            .select({*names, layout.number, "more"})
            .collect(engine="in-memory")
        )
    except pl.exceptions.PolarsError:
        return None
    number = frame[layout.number]
    few = number.null_count() > 0
    many = frame["more"].null_count() < frame.height
    return None if few or many or number.is_nan().any() else frame


def _fault(block: bytes, layout: _Layout, name: str, first: int) -> DataError:
    """Find the first line of a block that breaks the rules and say what is wrong."""
    lines: list[tuple[int, bytes, str]] = []
    place, raw, wrong = first, b"", "these lines cannot be read."
    for place, raw in enumerate(block.split(b"\n"), first):
        fields = raw.split()
        if not fields or fields[0].startswith(b"#"):
            continue
        if len(fields) not in layout.counts:
            wrong = f"found {len(fields)} field{'s' if len(fields) > 1 else ''}."
            if not lines:
                wrong += _other(len(fields), layout)
            break
        try:
            raw.decode()
        except UnicodeDecodeError:
            wrong = "found bytes that are not UTF-8."
            break
        number = fields[layout.fields_in_order.index(layout.number)].decode()
        lines.append((place, raw, number))
    numbers = pl.Series([n for _, _, n in lines], dtype=pl.String)
    good = numbers.cast(pl.Float64, strict=False).is_not_nan().fill_null(False)
    if not good.all():
        place, raw, number = lines[good.arg_min() or 0]
        wrong = f"the {layout.number} '{shown(number.encode())}' is not a number."
    counts = " or ".join(map(str, layout.counts))
    return line_error(name, place, wrong, f"{counts} fields: {layout.form}", raw)


def _other(count: int, layout: _Layout) -> str:
    """Hint at the other kind of file if the number of fields fits that."""
    for kind, other in _LAYOUTS.items():
        if other is not layout and count in other.counts:
            return (
                f" So has a {kind} file: are runs and qrels swapped, or is one of "
                "them missing?"
            )
    return ""
