"""Text of svmlight with query ids, as LETOR, RankLib and XGBoost have it.

A line is ``label qid:query 1:0.5 2:0 # docid = GX000-00``. The id of the document is in
the comment, if anywhere. Features stay text until they are asked for: there may be
hundreds, and a file does not say how many.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from polars_rank.exceptions import DataError
from polars_rank.io.files import Source
from polars_rank.io.lines.blocks import first_line, line_error, scan_lines

FORM = "label qid:query feature:value ... [# docid = document]"
PARTS = re.compile(
    r"^\s*(?P<label>[^\s#]+)\s+qid:(?P<query_id>[^\s#]+)"
    r"(?P<features>(?:\s+[^\s:#]+:[^\s#]+)*)\s*"
    r"(?:#\s*(?i:(?:doc_?)?id\s*[=:]\s*)?(?P<doc_id>\S*?);?(?:\s.*)?)?$"
)


@dataclass(frozen=True, slots=True)
class SvmLight:
    """Lines of labels, query ids and features; with documents, also their ids."""

    documents: bool

    @property
    def name(self) -> str:
        """What its files hold, in plans."""
        return "svmlight with query ids"

    @property
    def text(self) -> str:
        """What its files are, in messages."""
        return "svmlight text with query ids"

    @property
    def form(self) -> str:
        """The form of a line, in messages."""
        return FORM

    @property
    def schema(self) -> dict[str, pl.DataType]:
        """The columns."""
        doc = {"doc_id": pl.String()} if self.documents else {}
        return {
            "query_id": pl.String(),
            **doc,
            "label": pl.Float64(),
            "features": pl.String(),
        }

    def parse(self, block: bytes, names: Sequence[str]) -> pl.DataFrame | None:
        """Parse lines, those of comments left out; None if one breaks a rule."""
        try:
            text = pl.Series("line", [block]).cast(pl.String)
        except pl.exceptions.PolarsError:
            return None
        lines = text.str.split("\n").explode().str.strip_chars()
        lines = lines.filter((lines != "") & ~lines.str.starts_with("#"))
        parts = lines.to_frame().select(
            pl.col("line").str.extract_groups(PARTS.pattern).struct.unnest()
        )
        label = pl.col("label").cast(pl.Float64, strict=False)
        frame = parts.with_columns(label, pl.col("features").str.strip_chars())
        if frame["query_id"].null_count() or not frame["label"].is_finite().all():
            return None
        named = frame["doc_id"].fill_null("") != ""
        if not (named.all() if self.documents else (~named).all()):
            return None
        frame = frame if self.documents else frame.drop("doc_id")
        return None if frame["label"].null_count() else frame

    def fault(self, block: bytes, file: str, first: int) -> DataError:
        """Find the first line that breaks the rules and say what is wrong."""
        lines = list(enumerate(block.split(b"\n"), first))
        for place, raw in lines:
            if (wrong := self._wrong(raw)) is not None:
                return line_error(file, place, wrong, FORM, raw)
        return line_error(file, *lines[0][:1], "cannot be read.", FORM, lines[0][1])

    def _wrong(self, raw: bytes) -> str | None:
        """Say what is wrong with a line."""
        try:
            line = raw.decode().strip()
        except UnicodeDecodeError:
            return "found bytes that are not UTF-8."
        if not line or line.startswith("#"):
            return None
        parts = PARTS.match(line)
        if parts is None:
            fields = line.partition("#")[0].split()
            if len(fields) < 2 or not fields[1].startswith("qid:"):
                return "found no qid: after the label."
            odd = next((f for f in fields[2:] if not re.fullmatch("[^:]+:.+", f)), "")
            return f"the feature '{odd}' is not of the form number:value."
        label = pl.Series([parts["label"]]).cast(pl.Float64, strict=False)
        if label.null_count() or not label.is_finite().all():
            return f"the label '{parts['label']}' is not a number."
        if self.documents and not parts["doc_id"]:
            return "found no document after #, as the first line has."
        if parts["doc_id"] and not self.documents:
            return (
                f"found the document '{parts['doc_id']}' after #, and the first line "
                "has none; name one in each line or in none."
            )
        return None

    def fields(self, line: str) -> list[str]:
        """Return the fields of a line; none if it is blank or a comment."""
        fields = line.split()
        return fields if fields and not fields[0].startswith("#") else []


def is_svmlight(head: bytes) -> bool:
    """Tell by the first line of data whether this is svmlight text with query ids."""
    second = first_line(head).split(maxsplit=2)[1:2]
    return second != [] and second[0].startswith("qid:")


def scan_svmlight(files: Sequence[Source]) -> pl.LazyFrame:
    """Scan svmlight files one after the other as one lazy frame."""
    having = [f for f in files if _names_document(first_line(f.head()))]
    if having and len(having) < len(files):
        other = next(file for file in files if file not in having)
        raise DataError(
            f"{other.name}: its first line names no document after #, as that of "
            f"{having[0].name} does. Scan them on their own."
        )
    return scan_lines(files, SvmLight(bool(having)))


def _names_document(line: str) -> bool:
    parts = PARTS.match(line)
    return parts is not None and bool(parts["doc_id"])
