"""Options shared by the commands on runs and judgments: groups, files, columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import polars as pl
from cyclopts import Group, Parameter
from cyclopts.validators import Path as PathRule

from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.options import Duplicates
from polars_rank.cli.runs import NONE_YET, Files, Reading, Run, sort_out
from polars_rank.cli.show import Format
from polars_rank.conventions.choices import Missing, Unjudged
from polars_rank.conventions.tools import DEFAULT
from polars_rank.core.ranking import NoRelevant, Ties
from polars_rank.io.frames import same_ids
from polars_rank.io.scan import FileFormat

MEASURES = ("ndcg@10", "ap", "rr", "precision@10", "recall@100")
NONE = "none"  # no such column
QUERY = ("query_id",)

FILES = Group("Files", sort_key=1)
COLUMNS = Group("Columns", sort_key=2)
CHOICES = Group("Choices", sort_key=3)
RESOURCES = Group("Resources", sort_key=4)
OUTPUT = Group("Output", sort_key=5)

LESS = Parameter(show_default=False)
COLUMN = Parameter(group=COLUMNS, metavar="COLUMN")
NAMES = Parameter(group=FILES, metavar="NAME,NAME...")
FILE = Parameter(group=FILES, metavar="FILE")
CHOICE = Parameter(group=CHOICES)
RESOURCE = Parameter(group=RESOURCES)
OUT = Parameter(group=OUTPUT, metavar="FILE")

Options: TypeAlias = dict[str, Any]  # keyword arguments of polars_rank.evaluate
Paths: TypeAlias = Annotated[str, Parameter(name="FILE", group=FILES)]
Column: TypeAlias = Annotated[str, COLUMN]
OneColumn: TypeAlias = Annotated[str | None, COLUMN]
Columns: TypeAlias = Annotated[tuple[str, ...], COLUMN, LESS]
Query: TypeAlias = Annotated[tuple[str, ...], COLUMN, Parameter(show_default=" ".join)]
SomeMeasures: TypeAlias = Annotated[
    tuple[str, ...],
    Parameter(name=("--measure", "-m"), metavar="MEASURE", show_default=False),
    CHOICE,
]
Convention: TypeAlias = Annotated[str, Parameter(group=CHOICES, metavar="NAME")]
MissingValue: TypeAlias = Annotated[Missing | None, CHOICE]
TieOrder: TypeAlias = Annotated[Ties | None, CHOICE]
NoRelevantValue: TypeAlias = Annotated[NoRelevant | None, CHOICE]
UnjudgedPlace: TypeAlias = Annotated[Unjudged | None, CHOICE]
Grade: TypeAlias = Annotated[float | None, Parameter(group=CHOICES, metavar="GRADE")]
MaxRank: TypeAlias = Annotated[
    int | None,
    Parameter(name=("--max-rank", "-M"), group=CHOICES, metavar="PLACE"),
]
Formats: TypeAlias = Annotated[Format | None, Parameter(group=OUTPUT)]
QuoteFormulas: TypeAlias = Annotated[bool, Parameter(group=OUTPUT), LESS]
Picture: TypeAlias = Annotated[
    Path | None, OUT, Parameter(validator=PathRule(ext=("png", "svg", "html", "pdf")))
]
Formatted: TypeAlias = Annotated[FileFormat | None, Parameter(group=FILES)]
Listed: TypeAlias = Annotated[str | None, NAMES]


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Input:
    """How runs and judgments are read, and the roles of their columns.

    Parameters
    ----------
    qrels
        The file with the judgments.
    run_format
        Format of the runs; default: by their extension.
    qrels_format
        Format of the judgments; default: by their extension.
    run_columns
        Columns of runs in CSV or TSV without a header, e.g. query_id,doc_id,score.
    qrels_columns
        Columns of judgments without a header, e.g. query_id,doc_id,label.
    query
        Query id; repeat the option if several columns make up the id.
    doc
        Document id; none if the files have no such column.
    score
        Score of the document.
    label
        Grade of the document; none if every judged document is relevant.
    qrels_query
        Query id in the judgments, if it has another name there.
    qrels_doc
        Document id in the judgments, if it has another name there.
    """

    qrels: Annotated[str | None, FILE] = None
    run_format: Formatted = None
    qrels_format: Formatted = None
    run_columns: Listed = None
    qrels_columns: Listed = None
    query: Query = QUERY
    doc: Column = "doc_id"
    score: Column = "score"
    label: Column = "label"
    qrels_query: Columns = ()
    qrels_doc: OneColumn = None

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


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Rules:
    """How rows are ranked and checked, for commands that evaluate before they compare.

    Parameters
    ----------
    no_relevant
        Value of a query with nothing relevant.
    ties
        Order of documents with equal scores.
    unjudged
        Whether unjudged documents keep their place.
    rel
        Lowest grade that counts as relevant.
    max_rank
        Count documents below this rank as not retrieved.
    check
        What to do about bad rows: strict raises an error, warn warns, off ignores.
    on_duplicate
        What to do about duplicate documents within a query.
    """

    no_relevant: NoRelevantValue = None
    ties: TieOrder = None
    unjudged: UnjudgedPlace = None
    rel: Grade = None
    max_rank: MaxRank = None
    check: Annotated[Check, CHOICE] = "strict"
    on_duplicate: Annotated[Duplicates, CHOICE] = "error"


DEFAULT_RULES = Rules()


@Parameter(name="*")
@dataclass(frozen=True, kw_only=True)
class Systems:
    """Measures, systems and attributes of queries, for commands that compare.

    Parameters
    ----------
    example
        Use the log of four systems that ships with the package.
    queries
        File with one row per query and the columns of --by, --weight and --cluster;
        without it, they are columns of the runs or judgments.
    measure
        Measure to compute, or column of the values; may be repeated.
    lower_is_better
        Rank low scores first, as for distances.
    rank
        Rank of the document, counted from 1, to use instead of a score.
    system
        Column that names the system.
    weight
        Weight of the query.
    cluster
        Group of queries that depend on each other, such as the user.
    seed
        Column of the values that distinguishes several runs of a system.
    convention
        Tool whose choices to follow; see: polars-rank conventions.
    missing
        Value of a judged query that is missing from a run.
    """

    example: Annotated[bool, Parameter(group=FILES), LESS] = False
    queries: Annotated[str | None, FILE] = None
    measure: SomeMeasures = ()
    lower_is_better: Annotated[bool, Parameter(group=COLUMNS), LESS] = False
    rank: OneColumn = None
    system: Column = "system"
    weight: OneColumn = None
    cluster: OneColumn = None
    seed: OneColumn = None
    convention: Convention = DEFAULT
    missing: MissingValue = None

    def arguments(self, data: Input) -> Options:
        """The columns of the values as arguments of ``compare``."""
        return Options(
            system=self.system,
            query=data.query,
            measures=several(self.measure) or None,
            weight=self.weight,
            cluster=self.cluster,
            seed=self.seed,
        )


DEFAULT_SYSTEMS = Systems()
SEPARATOR = re.compile(r",(?![^(]*\))(?!-?[\d.]+(?:=-?[\d.]+)?(?:,|$))")


def listed(names: str | None) -> tuple[str, ...]:
    """Names separated by commas."""
    return () if names is None else tuple(map(str.strip, names.split(",")))


def several(names: Sequence[str]) -> tuple[str, ...]:
    """All measures of an option that may be repeated: ``-m ndcg@10,ap -m rr``.

    Commas within parentheses separate arguments, and those before numbers the cutoffs
    of one measure, as in trec_eval's ``P.5,10``.
    """
    return tuple(map(str.strip, chain.from_iterable(map(SEPARATOR.split, names))))


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
