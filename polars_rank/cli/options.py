"""Options shared by commands: files, the columns of runs and judgments, output."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import polars as pl
from cyclopts import Parameter
from cyclopts.validators import Path as PathRule

from polars_rank.cli.derive import GROUPS, told
from polars_rank.cli.runs import NONE_YET, Files, Reading, Run, sort_out
from polars_rank.cli.show import Format
from polars_rank.io.frames import same_ids
from polars_rank.io.scan import FileFormat
from polars_rank.measures.measure import parse_measures
from polars_rank.measures.text import BLANK, COMMA

MEASURES = ("ndcg@10", "ap", "rr", "precision@10", "recall@100")
NONE = "none"  # no such column
QUERY = ("query_id",)
EVALUATING = (  # how runs are evaluated, where values per query are made first
    *("rank", "descending", "convention", "missing", "no_relevant", "ties"),
    *("unjudged", "rel", "max_rank", "check", "on_duplicate"),
)

Options: TypeAlias = dict[str, Any]  # keyword arguments of a function of the library
Paths: TypeAlias = Annotated[
    str,
    Parameter(
        name="FILE",
        group=GROUPS["file"],
        help="Runs and, last, the judgments; or one file with all that is needed.",
    ),
]
Queries: TypeAlias = Annotated[
    str | None,
    told(
        "file",
        "File with one row per query and the columns of --by, --weight and --cluster; "
        "without it, they are columns of the runs or judgments.",
    ),
]
Example: TypeAlias = Annotated[
    bool,
    told(
        "file",
        "Use the example that ships with the package.",
        metavar=None,
    ),
]
Formats: TypeAlias = Annotated[
    Format | None, told("output", "Default: table on a terminal, csv elsewhere.")
]
QuoteFormulas: TypeAlias = Annotated[
    bool,
    told(
        "output",
        "In CSV and TSV, put ' before text that begins with =, +, - or @, which a "
        "spreadsheet would run as a formula.",
    ),
]
Picture: TypeAlias = Annotated[
    Path | None,
    told("output", "Draw the result into this file.", metavar="FILE"),
    Parameter(validator=PathRule(ext=("png", "svg", "html", "pdf"))),
]
Parquet: TypeAlias = Annotated[
    Path | None,
    told("output", "Also write the result to this Parquet file.", metavar="FILE"),
    Parameter(validator=PathRule(ext=("parquet",))),
]
Formatted: TypeAlias = Annotated[
    FileFormat | None,
    told("file", "Format of these files; default: by their name.", metavar=None),
]
Listed: TypeAlias = Annotated[
    str | None,
    told(
        "file",
        "Columns of files without a header, such as query_id,doc_id,score.",
        metavar="NAME,NAME...",
    ),
]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Input:
    """How runs and judgments are read, and the roles of their columns."""

    qrels: Annotated[str | None, told("file", "The file with the judgments.")] = None
    run_format: Formatted = None
    qrels_format: Formatted = None
    run_columns: Listed = None
    qrels_columns: Listed = None
    query: Annotated[tuple[str, ...], told("query")] = QUERY
    doc: Annotated[str, told("doc")] = "doc_id"
    score: Annotated[str, told("score")] = "score"
    label: Annotated[str, told("label")] = "label"
    qrels_query: Annotated[tuple[str, ...], told("qrels_query")] = ()
    qrels_doc: Annotated[str | None, told("qrels_doc")] = None

    @property
    def readings(self) -> tuple[Reading, Reading]:
        """How runs and judgments are read."""
        return (
            Reading(self.run_format, listed(self.run_columns)),
            Reading(self.qrels_format, listed(self.qrels_columns)),
        )

    def sort_out(
        self,
        files: Sequence[str],
        rank: str | None = None,
        opened: Mapping[str, pl.LazyFrame] = NONE_YET,
    ) -> Files:
        """Tell runs from judgments."""
        place = self.score if rank is None else rank
        label = None if self.label == NONE else self.label
        return sort_out(files, self.qrels, place, label, self.readings, opened)

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


DEFAULT_INPUT = Input()


def listed(names: str | None) -> tuple[str, ...]:
    """Names separated by commas."""
    return () if names is None else tuple(map(str.strip, names.split(",")))


def several(names: Sequence[str]) -> tuple[str, ...]:
    """All measures of an option that may be repeated: ``-m ndcg@10,ap -m rr``.

    Commas stand between names. So do blanks, unless that makes names of no measure: a
    column of values may have a name of several words.
    """
    parts = chain.from_iterable(map(COMMA.split, map(str.strip, names)))
    return tuple(chain.from_iterable(map(_at_blanks, parts)))


def _at_blanks(name: str) -> list[str]:
    try:
        parse_measures(name)
    except ValueError:
        return [name]
    return BLANK.split(name)


def with_judgments(
    given: Files, run: Run, options: Options
) -> tuple[pl.LazyFrame, Options]:
    """The run and its judgments, with ids of one type where a file has no types."""
    qrels, doc = given.qrels, options["doc"]
    if qrels is None or doc is None:
        return run.frame, options
    files = [run.file, given.sources[-1]]
    others = [
        *(options["qrels_query"] or options["query"]),
        options["qrels_doc"] or doc,
    ]
    ids = zip([*options["query"], doc], others, strict=False)
    frame, qrels = same_ids(run.frame, qrels, files, ids)
    return frame, options | Options(qrels=qrels)
