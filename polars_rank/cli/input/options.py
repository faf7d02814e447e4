"""Options shared by commands: files, the columns of runs and judgments, output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl

import polars_rank
from polars_rank.cli.derive import F, UsageError, group, options_of
from polars_rank.cli.input.runs import (
    Files,
    Options,
    Run,
    chosen,
    kind_of,
    names_of,
    open_file,
    require_labels,
    require_roles,
)
from polars_rank.comparison.sums.definition import fingerprint
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import DEFAULT, convention_of
from polars_rank.io.scan import FileFormat

NONE = "none"  # no such column
NONE_YET: Mapping[str, pl.LazyFrame] = {}
MEASURES = ("ndcg@10", "ap", "rr", "precision@10", "recall@100")
QUERY = ("query_id",)
# How runs are evaluated, where values per query are made first.
EVALUATING = ("rank", "descending", "convention", *SHORTCUTS, "max_rank", "check")
ABOUT_ITEMS = ("history", "items")  # files, for measures of recommenders


@group
class Input:
    """How runs and judgments are read, and the roles of their columns."""

    qrels: str | None = None
    run_format: FileFormat | None = None
    qrels_format: FileFormat | None = None
    run_columns: str | None = None
    qrels_columns: str | None = None
    query: tuple[str, ...] = QUERY
    doc: str = "doc_id"
    score: str = "score"
    label: str = "label"
    qrels_query: tuple[str, ...] = ()
    qrels_doc: str | None = None

    def open(self, file: str, kind: Literal["run", "qrels"]) -> pl.LazyFrame:
        """Scan runs or judgments."""
        if kind == "run":
            return open_file(file, kind, self.run_format, self.run_columns)
        return open_file(file, kind, self.qrels_format, self.qrels_columns)

    def options(self, given: Files) -> Options:
        """The judgments, and the columns as arguments of ``evaluate``."""
        return Options(
            qrels=given.qrels,
            query=self.query,
            doc=None if self.doc == NONE else self.doc,
            score=self.score,
            label=None if self.label == NONE else self.label,
            qrels_query=self.qrels_query or None,
            qrels_doc=self.qrels_doc,
        )

    def renamed(self, qrels: pl.LazyFrame) -> pl.LazyFrame:
        """Judgments whose columns of ids have the names that those of runs have."""
        if self.qrels_query:
            names = dict(zip(self.qrels_query, self.query, strict=True))
            qrels = qrels.rename(names)
        return qrels.rename({self.qrels_doc: self.doc} if self.qrels_doc else {})

    def only_example(self, files: Sequence[str], example: Path) -> tuple[str, ...]:
        """The file of the example, which goes with no other."""
        if files or self.qrels:
            raise UsageError("--example brings its own data; give no FILE with it.")
        return (str(example),)

    def sort_out(
        self,
        files: Sequence[str],
        rank: str | None = None,
        opened: Mapping[str, pl.LazyFrame] = NONE_YET,
        *,
        judged: bool = True,
    ) -> Files:
        """Tell runs from judgments, which may be absent if they need not be ``judged``.

        The last of several files holds the judgments, unless ``qrels`` does or it has a
        column of scores or ranks, which is not that of labels: then all are runs. One
        that is ``opened`` is not opened again: a pipe can be read only once.
        """
        if not files:
            raise UsageError("give a FILE to evaluate, or try --example.")
        sources = [*files, *filter(None, [self.qrels])]
        if twice := next((f for f in sources if sources.count(f) > 1), None):
            raise UsageError(f"{twice} is given twice.")
        place = self.score if rank is None else rank
        label = None if self.label == NONE else self.label
        judgments, ran = None, files
        if self.qrels is not None:
            judgments = self.open(self.qrels, "qrels")
        elif len(files) > 1:
            last = self.open(files[-1], "qrels")
            if not judged and kind_of(last, place, label) == "run":
                pass  # TREC text has other columns as a run: it is opened again
            elif place == label or place not in last.collect_schema():
                judgments, ran = last, files[:-1]
            else:
                opened = {**opened, files[-1]: last}
        frames = {f: opened[f] if f in opened else self.open(f, "run") for f in ran}
        require_roles(frames, judgments, sources[-1], place, label)
        names = zip(ran, names_of(frames), strict=True)
        runs = [Run(file, name, frames[file]) for file, name in names]
        if judgments is None and judged:
            require_labels(runs, place, label)
        return Files(runs, judgments, sources, judged=judged)

    def runs(
        self, files: Sequence[str], options: Options, *, judged: bool = True
    ) -> tuple[Any, Options]:
        """The run, or all by name, and the options with those about them."""
        if not files:
            raise UsageError("name a FILE: runs and judgments, or a log.")
        given = self.sort_out(files, options.get("rank"), judged=judged)
        runs, about = self.named(given)
        run = runs if len(runs) > 1 else runs[given.runs[0].name]
        return run, options | about

    def named(self, given: Files) -> tuple[dict[str, pl.LazyFrame], Options]:
        """All runs by name, and what they are as arguments.

        Columns of the judgments get the names that the runs have.
        """
        about = self.options(given)
        found = given.each(lambda run, frame, own: (run.name, frame, own), about)
        qrels = found[-1][-1]["qrels"]
        about = {name: about[name] for name in ("query", "doc", "score", "label")}
        about["qrels"] = None if qrels is None else self.renamed(qrels)
        return {name: frame for name, frame, _ in found}, about

    def fingerprint(self, given: Files, system: str | None = None) -> str | None:
        """The fingerprint of the judgments, if there are any in a file of theirs."""
        query, doc = self.qrels_query or self.query, self.qrels_doc or self.doc
        names = [n for n in (*query, doc, self.label) if n not in (NONE, system)]
        return None if given.qrels is None else fingerprint(given.qrels, names)


@group
class Queried(Input):
    """How runs and judgments are read, and a file about their queries."""

    queries: str | None = None

    def segments(self) -> Options:
        """What is known of queries, as an argument, if there is a file of it."""
        return {"segments": open_file(self.queries, "qrels")} if self.queries else {}


@group
class Systems(Queried):
    """How the files of several systems are read."""

    example: bool = False
    wide: str | None = None


def convention_in(options: Options) -> Convention:
    """The convention that the options name and change."""
    named = options.get("convention", DEFAULT)
    return convention_of(named, **chosen(options, SHORTCUTS))


def evaluating(command: F) -> F:
    """Give a command the options that say how runs are evaluated."""
    named = (*EVALUATING, *ABOUT_ITEMS)
    return options_of(polars_rank.per_query, only=named)(command)
