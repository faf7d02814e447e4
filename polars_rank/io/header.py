"""Names of the columns of separated text: from its header, or for files without one."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from typing import Literal

from polars_rank.exceptions import DataError
from polars_rank.io.damage import is_number
from polars_rank.io.files import Source

MSMARCO = {
    "run": {
        3: ["query_id", "doc_id", "rank"],
        4: ["query_id", "doc_id", "rank", "score"],
    },
    "qrels": {4: ["query_id", "iteration", "doc_id", "label"]},
}
BEIR = {"query-id": "query_id", "corpus-id": "doc_id", "score": "label"}
# Quepid's exports of ratings and of snapshots, and the names that its columns mean.
QUEPID = (
    {"query": "query_id", "docid": "doc_id", "rating": "label"},
    {"Query Text": "query_id", "Doc ID": "doc_id", "Rating": "label"},
    {"Query Text": "query_id", "Doc ID": "doc_id", "Doc Position": "rank"},
)
NAMES = {"query_id", "doc_id", "score", "label", "rank", *BEIR}


def quepid_columns(files: Sequence[Source], separator: str) -> Mapping[str, str]:
    """Return what the columns of an export of Quepid mean; none of another file."""
    first = files[0].head().removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
    fields = next(csv.reader([first.decode(errors="replace")], delimiter=separator))
    for known in QUEPID:
        if known.keys() == {*fields} or (
            known.keys() < {*fields} and "Doc ID" in known
        ):
            return known
    return {}


def without_header(
    files: Sequence[Source],
    separator: str,
    kind: Literal["run", "qrels"],
    format: str | None,
    columns: Sequence[str] | None,
) -> Sequence[str] | None:
    """Name the columns of files without a header; None: the first line has them.

    A first line that looks like data, or like another format, is an error.
    """
    for file in files:
        line = file.head().removeprefix(b"\xef\xbb\xbf").partition(b"\n")[0]
        first = line.decode(errors="replace").strip("\r")
        if "\r" in first:
            raise DataError(
                f"{file.name}: its lines end in a carriage return alone, as on an old "
                "Mac, so it looks like a single line. Write it with newlines: "
                "tr '\\r' '\\n'."
            )
        fields = [field.strip('"') for field in first.split(separator)]
        if format == "msmarco" and columns is None:
            known = MSMARCO[kind]
            if len(fields) not in known:
                forms = " or ".join(" ".join(names) for names in known.values())
                raise DataError(
                    f"{file.name}: the first line has {_counted(len(fields))}, but "
                    f"MS MARCO's are: {forms}."
                )
            columns = known[len(fields)]
        if columns is not None:
            if len(columns) != len(fields):
                _refuse_comment(file.name, first)
                raise DataError(
                    f"{file.name}: the first line has {_counted(len(fields))}, but "
                    f"the names of its columns are: {', '.join(columns)}."
                )
            continue
        if format != "beir":
            _require_header(file.name, first, fields, separator)
        elif not BEIR.keys() <= {*fields}:
            raise DataError(
                f"{file.name}: the first line is not the header of BEIR's judgments, "
                f"which names {', '.join(BEIR)}: {first[:80]!r}. Add that line, or "
                "read it with format='tsv', columns=['query_id', 'doc_id', 'label']."
            )
        if twice := [name for name in fields if fields.count(name) > 1]:
            raise DataError(
                f"{file.name}: the first line names column {twice[0]!r} twice. "
                "Rename one of them."
            )
    return columns


def _require_header(name: str, line: str, fields: list[str], separator: str) -> None:
    """Raise if the first line is not a header in this format."""
    if {*fields} & NAMES:
        return
    _refuse_comment(name, line)
    if len(fields) == 1 and {n.strip('"') for n in line.split(";")} & NAMES:
        raise DataError(
            f"{name}: its columns are separated by ';', not by {separator!r}: "
            f"{line[:80]!r}. Write it with commas, or read it with "
            "pl.scan_csv(..., separator=';') and give the frame."
        )
    others = {"\t": "tsv", ",": "csv"}
    for other, format in others.items():
        if len(fields) == 1 and other != separator and other in line:
            raise DataError(
                f"{name}: the first line looks like {format.upper()}: {line[:80]!r}. "
                f"Read it with format='{format}', or name it after its format."
            )
    words = line.split()
    grade_or_score = {4: 3, 6: 4}.get(len(words))  # of judgments, of a run
    if grade_or_score and len(fields) == 1 and is_number(words[grade_or_score]):
        raise DataError(
            f"{name}: the first line looks like TREC text: {line[:80]!r}. Read it with "
            "format='trec', or give it another extension."
        )
    place = 4 if len(fields) == 6 else -1  # the score of a TREC run
    if len(fields) > 1 and is_number(fields[place]):
        trec = "; six fields are those of a TREC run: format='trec'"
        raise DataError(
            f"{name}: the first line looks like data, not like names of columns: "
            f"{line[:80]!r}. Name them with columns=, or read MS MARCO's files with "
            f"format='msmarco'{trec if len(fields) == 6 else ''}."
        )


def _refuse_comment(name: str, line: str) -> None:
    if line.startswith("#"):
        raise DataError(
            f"{name}: the first line is a comment: {line[:80]!r}. Remove such lines: "
            "CSV and TSV have none here."
        )


def _counted(fields: int) -> str:
    return f"{fields} field{'s' * (fields != 1)}"
