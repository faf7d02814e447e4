"""Runs and their judgments: how they are opened, told apart and named."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, count
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

import polars as pl

from polars_rank.cli.derive import UsageError
from polars_rank.cli.output.words import STDIN
from polars_rank.core.metric.registry import closest
from polars_rank.exceptions import DataError
from polars_rank.io.frames import same_ids
from polars_rank.io.lines.trec import looks_like
from polars_rank.io.scan import FileFormat, scan
from polars_rank.io.unreadable import damage_named, files_of

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
T = TypeVar("T")
Options: TypeAlias = dict[str, Any]  # keyword arguments of a function of the library
FAILED = pl.exceptions.PolarsError, pl.exceptions.PanicException
BEIR = ["query-id", "corpus-id", "score"]
TREC = ["query_id", "doc_id", "score", "system"]
TAGS = 10_000  # lines of a file that are asked for their tag
OF_JUDGMENTS = " is not in the judgments| of the judgments "
TREC_QRELS = ["query_id", "iteration", "doc_id", "label"]


@dataclass(frozen=True)
class Run:
    """A file with documents in the order of a system."""

    file: str
    name: str
    frame: pl.LazyFrame

    def require(self, column: str, hint: str) -> None:
        """Check that it has a column; else say which one comes closest."""
        names = self.frame.collect_schema().names()
        hint += f" Its columns are: {', '.join(map(repr, names))}."
        require_column(self.file, column, names, hint)

    def apart(self, system: str, options: Options) -> Options:
        """Evaluate its systems separately: as part of the query id."""
        self.require(system, "Name the column of the systems with --system.")
        query = [system, *(name for name in options["query"] if name != system)]
        judged = options["qrels_query"] and [system, *options["qrels_query"]]
        return options | {"query": query, "qrels_query": judged}

    def named(self, values: Frame, column: str) -> Frame:
        """The values with the name of the run first, if it has no such column.

        The tag of TREC text may go: there, a file is a run.
        """
        columns = self.frame.collect_schema().names()
        if column in columns and columns != TREC:
            raise DataError(
                f"{self.file}: has a column {column!r} of its own; choose another name "
                "with --system for the column that tells the files apart."
            )
        return values.select(pl.lit(self.name).alias(column), pl.all())


def require_column(file: str, column: str, known: list[str], hint: str) -> None:
    """Check that a column is known; else say which one comes closest."""
    if column not in known:
        near = closest(column, known) or "."
        raise DataError(f"{file}: no column {column!r}{near} {hint}".rstrip())


@dataclass(frozen=True)
class Files:
    """The files of a command line."""

    runs: list[Run]
    qrels: pl.LazyFrame | None
    sources: list[str]
    beside: Mapping[str, str] = field(default_factory=dict)  # other files, by argument
    judged: bool = True  # whether anything asks for labels
    before: pl.LazyFrame | None = None  # the judgments of the first run, if others

    def __str__(self) -> str:
        """Which files are what."""
        files = ", ".join(run.file for run in self.runs)
        kind = "run" if len(self.runs) == 1 else "runs"
        if self.qrels is None:
            labeled = ", each with labels of its own" if self.judged else ""
            return f"{kind}{labeled}: {files}"
        return f"{kind}: {files}; judgments: {self.sources[-1]}"

    def with_judgments(
        self, run: Run, options: Options
    ) -> tuple[pl.LazyFrame, Options]:
        """The run and its judgments, with ids of one type where a file has no types."""
        query, doc = options["query"], options["doc"]
        first = run is self.runs[0] and self.before is not None
        qrels = self.before if first else self.qrels
        if qrels is None or doc is None:
            return run.frame, options
        others = [*(options["qrels_query"] or query), options["qrels_doc"] or doc]
        ids = zip([*query, doc], others, strict=False)
        files = [run.file, self.sources[-1]]
        frame, qrels = same_ids(run.frame, qrels, files, ids)
        return frame, options | {"qrels": qrels}

    def each(
        self, function: Callable[[Run, pl.LazyFrame, Options], T], options: Options
    ) -> list[T]:
        """Call a function with each run and its judgments; errors name the file."""
        found = []
        for run in self.runs:
            with self.about(run):
                found.append(function(run, *self.with_judgments(run, options)))
        return found

    def _about(self, run: Run, message: str) -> str:
        """The message, with the name of the file that it is about."""
        for side, file in self.beside.items():
            if message.startswith(f"{side}= ") or f" is not in {side}" in message:
                return f"{file}: {message}"
        if ", and these are never equal; cast one of them" in message:
            told = message.partition("; cast one of them")[0]
            return (
                f"{run.file}: {told}; write one of the files again with ids of the "
                "other's type, or as CSV, where all ids are text"
            )
        told = message.removeprefix("judgments: ")
        if told != message or re.search(OF_JUDGMENTS, message):
            return f"{self.sources[-1]}: {told}"
        told = message.removeprefix("run: ")
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
            named = (*self.sources, *self.beside.values())
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
            said.append((show(message, *rest) or str(message)).rstrip("."))

        warnings.showwarning = both  # type: ignore[assignment]
        yield said


def open_file(
    file: str,
    kind: Literal["run", "qrels"],
    format: FileFormat | None = None,
    columns: str | None = None,
) -> pl.LazyFrame:
    """Scan a file; what the command line calls ``-`` is standard input."""
    try:
        return scan(
            "-" if file == STDIN else file,
            kind=kind,
            format=format,
            columns=None if columns is None else [*map(str.strip, columns.split(","))],
        )
    except (DataError, ValueError) as error:  # each side has options of its own
        msg = re.sub(r"\b(format|columns)=", rf"{kind}_\1=", str(error))
        raise type(error)(msg) from None


def chosen(options: Options, names: Iterable[str]) -> Options:
    """Those of the options that were given."""
    return {name: options[name] for name in names if name in options}


def taken(options: Options, names: Iterable[str]) -> Options:
    """Those of the options that were given, which are options no more."""
    return {name: options.pop(name) for name in names if name in options}


def opened(files: Mapping[str, str]) -> Options:
    """Files beside runs and judgments, as arguments."""
    return {name: open_file(file, "qrels") for name, file in files.items()}


def require_labels(runs: Sequence[Run], place: str, label: str | None) -> None:
    """Check that every run has labels of its own."""
    if label is None:
        raise UsageError("--label none is for judgments: name their file.")
    hint = "Name another with --label, or add the judgments' file, last."
    if len(runs) > 1 and label not in runs[-1].frame.collect_schema():
        hint += (
            f" {runs[-1].file} has a column {place!r}, so it was taken for a run, too; "
            "if it holds the judgments, name it with --qrels and its grades with "
            f"--label {place}."
        )
    for run in runs:
        run.require(label, hint)


def require_roles(
    runs: Mapping[str, pl.LazyFrame],
    qrels: pl.LazyFrame | None,
    last: str,
    place: str,
    label: str | None,
) -> None:
    """Raise if the files are clearly in the wrong order: judgments come last."""
    final = [*runs.values()][-1] if qrels is None else qrels
    if label == "label" and final.collect_schema().names() == BEIR:
        raise DataError(
            f"{last}: looks like judgments of BEIR ({', '.join(BEIR)}). Name it after "
            "the run, or with --qrels, and say --qrels-format beir; or name its "
            "columns with --query, --doc and --label."
        )
    judged = [
        file for file, run in runs.items() if kind_of(run, place, label) == "qrels"
    ]
    last_is_run = kind_of(final, place, label) == "run"
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


def kind_of(frame: pl.LazyFrame, place: str, label: str | None) -> str | None:
    """What a file clearly is: ``"run"``, ``"qrels"`` or neither."""
    names = frame.collect_schema().names()
    if names in (TREC, TREC_QRELS):
        return looks_like(files_of(frame)[0])
    if label is None or place == label:
        return None
    return {(True, False): "run", (False, True): "qrels"}.get(
        (not {place, "score", "rank"}.isdisjoint(names), label in names)
    )


def names_of(runs: Mapping[str, pl.LazyFrame]) -> list[str]:
    """Name each run by its tag or, if it has none of its own, by its bare file name.

    Those that share even this go by their folders, or are numbered.
    """
    files = [Path(file).name or file for file in runs]
    folders = [Path(file).parent.name or file for file in runs]
    stems = [stem(file) for file in files]
    if len(runs) == 1:
        return stems
    tags = [_tag(run) or own for run, own in zip(runs.values(), stems, strict=True)]
    names: list[str] = []
    for name in first_that_differs(tags, stems, files, folders, stems):
        numbered = (f"{name}-{i}" for i in count(2))
        names.append(next(n for n in chain([name], numbered) if n not in names))
    return names


def _tag(frame: pl.LazyFrame) -> str | None:
    """The last field of the lines of TREC text, if it is one in the first of them."""
    if frame.collect_schema().names() != TREC:
        return None
    tags = frame.select("system").head(TAGS).unique().head(2).collect().to_series()
    return tags.item() if len(tags) == 1 else None


def first_that_differs(*choices: Sequence[str]) -> list[str]:
    """Take for each the first of its names that no other has, or else the last one."""
    counts = [Counter(names) for names in choices]
    return [
        next((n for n, c in zip(own, counts, strict=True) if c[n] == 1), own[-1])
        for own in zip(*choices, strict=True)
    ]


def stem(file: str) -> str:
    """The name of a file without folder and extension; a glob as it is."""
    if any(sign in file for sign in "*?["):
        return file
    return Path(re.sub(r"\.(gz|zst)$", "", file)).stem or file
