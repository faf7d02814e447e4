"""The roles of files: runs, their names, and the judgments."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

import polars as pl
from cyclopts import CycloptsError

from polars_rank.cli.words import STDIN
from polars_rank.core.registry import closest
from polars_rank.exceptions import DataError
from polars_rank.io.lines.trec import looks_like
from polars_rank.io.scan import FileFormat, scan
from polars_rank.io.unreadable import damage_named, files_of

FAILED = pl.exceptions.PolarsError, pl.exceptions.PanicException
BEIR = ["query-id", "corpus-id", "score"]
TREC = ["query_id", "doc_id", "score", "system"]
TREC_QRELS = ["query_id", "iteration", "doc_id", "label"]


@dataclass(frozen=True)
class Run:
    """A file with documents in the order of a system."""

    file: str
    name: str
    frame: pl.LazyFrame

    def require(self, column: str, hint: str) -> None:
        """Check that it has a column; else say which one comes closest."""
        columns = self.frame.collect_schema().names()
        if column not in columns:
            raise DataError(
                f"{self.file}: no column {column!r}{closest(column, columns) or '.'} "
                f"{hint} Its columns are: {', '.join(map(repr, columns))}."
            )

    def require_room(self, system: str) -> None:
        """Check that naming the run in a column hides no column of its own.

        The tag of TREC text may go: there, a file is a run.
        """
        columns = self.frame.collect_schema().names()
        if system in columns and columns != TREC:
            raise DataError(
                f"{self.file}: has a column {system!r} of its own; choose another name "
                "with --system for the column that tells the files apart."
            )


@dataclass(frozen=True)
class Files:
    """The files of a command line."""

    runs: list[Run]
    qrels: pl.LazyFrame | None
    sources: list[str]
    about_queries: Mapping[str, str] = field(default_factory=dict)  # by argument

    def __str__(self) -> str:
        """Which files are what."""
        files = ", ".join(run.file for run in self.runs)
        kind = "run" if len(self.runs) == 1 else "runs"
        if self.qrels is None:
            return f"{kind}, each with labels of its own: {files}"
        return f"{kind}: {files}; judgments: {self.sources[-1]}"

    def _about(self, run: Run, message: str) -> str:
        """The message, with the name of the file that it is about."""
        for side, file in self.about_queries.items():
            if message.startswith(f"{side}= ") or f" is not in {side}" in message:
                return f"{file}: {message}"
        if ", and these are never equal; cast one of them" in message:
            told = message.partition("; cast one of them")[0]
            return (
                f"{run.file}: {told}; write one of the files again with ids of the "
                "other's type, or as CSV, where all ids are text"
            )
        side, colon, rest = message.partition(": ")
        if " is not in the judgments" in message or " of the judgments " in message:
            return f"{self.sources[-1]}: {message}"
        if colon and side == "judgments":
            return f"{self.sources[-1]}: {rest}"
        told = rest if colon and side == "run" else message
        return f"{run.file}: {told.replace('not in the frame', 'not in the file')}"

    @contextmanager
    def about(self, run: Run) -> Iterator[None]:
        """Name the run in errors, unless they name a file, and in warnings."""
        show = warnings.showwarning
        frames = [f for f in (run.frame, self.qrels) if f is not None]
        try:
            with warnings.catch_warnings(), damage_named(frames):
                warnings.showwarning = lambda message, *rest: show(
                    self._about(run, str(message)), *rest
                )
                yield
        except (DataError, TypeError, *FAILED) as error:
            named = (*self.sources, *self.about_queries.values())
            if str(error).startswith(named):
                raise
            raise type(error)(self._about(run, str(error))) from error


@contextmanager
def recorded() -> Iterator[list[str]]:
    """Warnings for a report, in the words in which they are shown."""
    said: list[str] = []
    with warnings.catch_warnings():
        show: Callable[..., str | None] = warnings.showwarning

        def both(message: Warning | str, *rest: Any) -> None:
            text = show(message, *rest) or str(message)
            said.append(text.rstrip("."))

        warnings.showwarning = both  # type: ignore[assignment]
        yield said


class Reading(NamedTuple):
    """How files are read: their format, if forced; columns, without a header."""

    format: FileFormat | None = None
    columns: tuple[str, ...] = ()


PLAIN = Reading()
NONE_YET: Mapping[str, pl.LazyFrame] = {}


def open_file(
    file: str, kind: Literal["run", "qrels"], reading: Reading = PLAIN
) -> pl.LazyFrame:
    """Scan a file; what the command line calls ``-`` is standard input."""
    try:
        return scan(
            "-" if file == STDIN else file,
            kind=kind,
            format=reading.format,
            columns=reading.columns or None,
        )
    except (DataError, ValueError) as error:  # each side has options of its own
        msg = re.sub(r"\b(format|columns)=", rf"{kind}_\1=", str(error))
        raise type(error)(msg) from None


def sort_out(
    files: Sequence[str],
    qrels: str | None,
    place: str,
    label: str | None,
    readings: tuple[Reading, Reading] = (PLAIN, PLAIN),
    opened: Mapping[str, pl.LazyFrame] = NONE_YET,
) -> Files:
    """Tell runs from judgments; ``readings`` are those of both.

    A run that is ``opened`` is not opened again: a pipe can be read only once.

    The last of several files holds the judgments, unless ``qrels`` does or it has a
    column ``place`` of scores or ranks, which is not that of labels: then all of them
    are runs.
    """
    if not files:
        raise CycloptsError(msg="give a FILE to evaluate, or try --example.")
    sources = [*files, *([] if qrels is None else [qrels])]
    if twice := next((f for f in sources if sources.count(f) > 1), None):
        raise CycloptsError(msg=f"{twice} is given twice.")
    judgments = None if qrels is None else open_file(qrels, "qrels", readings[1])
    ran, last = list(files), None
    if qrels is None and len(files) > 1:
        last = open_file(files[-1], "qrels", readings[1])
        if place == label or place not in last.collect_schema():
            judgments, last = last, None
            ran.pop()
    others = ran if last is None else ran[:-1]
    frames = [
        opened[f] if f in opened else open_file(f, "run", readings[0]) for f in others
    ]
    frames += [] if last is None else [last]
    likely = frames[-1] if judgments is None else judgments
    if label == "label" and likely.collect_schema().names() == BEIR:
        raise DataError(
            f"{sources[-1]}: looks like judgments of BEIR ({', '.join(BEIR)}). Name it "
            "after the run, or with --qrels, and say --qrels-format beir; or name its "
            "columns with --query, --doc and --label."
        )
    runs = [Run(*run) for run in zip(ran, short_names(ran), frames, strict=True)]
    _require_roles(runs, judgments, sources[-1], (place, label))
    if judgments is None and label is None:
        raise CycloptsError(msg="--label none is for judgments: name their file.")
    if judgments is None and label is not None:
        hint = "Name another with --label, or add the judgments' file, last."
        if last is not None and label not in last.collect_schema():
            hint += (
                f" {files[-1]} has a column {place!r}, so it was taken for a run, too; "
                "if it holds the judgments, name it with --qrels and its grades with "
                f"--label {place}."
            )
        for run in runs:
            run.require(label, hint)
    return Files(runs, judgments, sources)


def _require_roles(
    runs: Sequence[Run],
    qrels: pl.LazyFrame | None,
    last: str,
    columns: tuple[str, str | None],
) -> None:
    """Raise if the files are clearly in the wrong order: judgments come last."""
    frames = [run.frame for run in runs] + ([] if qrels is None else [qrels])
    judged = [run.file for run in runs if _kind(run.frame, columns) == "qrels"]
    last_is_run = _kind(frames[-1], columns) == "run"
    if judged and last_is_run:
        raise DataError(
            f"{judged[0]} looks like judgments and {last} like a run: swap them "
            "(the judgments come last), or name the judgments with --qrels."
        )
    if judged:
        raise DataError(
            f"{judged[0]}: looks like judgments; name the run to evaluate before it."
        )
    if last_is_run and qrels is not None:
        raise DataError(
            f"{last}: looks like a run, and the judgments are missing: name their "
            "file last, or with --qrels."
        )


def _kind(frame: pl.LazyFrame, columns: tuple[str, str | None]) -> str | None:
    """What a file clearly is: ``"run"``, ``"qrels"`` or neither."""
    names = frame.collect_schema().names()
    if names in (TREC, TREC_QRELS):
        return looks_like(files_of(frame)[0])
    place, label = columns
    if label is None or place == label:
        return None
    return {(True, False): "run", (False, True): "qrels"}.get(
        (not {place, "score", "rank"}.isdisjoint(names), label in names)
    )


def short_names(files: Sequence[str]) -> list[str]:
    """Name each file by its stem, if that tells them apart."""
    stems = [_stem(file) for file in files]
    return [
        file if stems.count(stem) > 1 else stem
        for file, stem in zip(files, stems, strict=True)
    ]


def _stem(file: str) -> str:
    if any(sign in file for sign in "*?["):
        return file
    return Path(re.sub(r"\.(gz|zst)$", "", file)).stem or file
