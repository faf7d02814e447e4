"""The commands ``audit`` and ``bounds``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import polars as pl
from cyclopts import CycloptsError, Parameter

import polars_rank
from polars_rank.cli.options import (
    CHOICE,
    COLUMNS,
    DEFAULT_INPUT,
    LESS,
    MEASURES,
    OUTPUT,
    Convention,
    Formats,
    Grade,
    Input,
    MaxRank,
    MissingValue,
    NoRelevantValue,
    OneColumn,
    Options,
    Paths,
    SomeMeasures,
    TieOrder,
    UnjudgedPlace,
    several,
    with_judgments,
)
from polars_rank.cli.show import Format, emit, show_frame, show_rows, terminal
from polars_rank.cli.values import choices_of
from polars_rank.conventions.tools import DEFAULT
from polars_rank.uncertainty.bounds.labelings import grades_of


def audit(
    *files: Paths,
    data: Input = DEFAULT_INPUT,
    measure: SomeMeasures = (),
    lower_is_better: Annotated[bool, Parameter(group=COLUMNS), LESS] = False,
    rank: OneColumn = None,
    system: OneColumn = None,
    convention: Convention = DEFAULT,
    no_relevant: NoRelevantValue = None,
    ties: TieOrder = None,
    missing: MissingValue = None,
    unjudged: UnjudgedPlace = None,
    rel: Grade = None,
    max_rank: MaxRank = None,
    choice: Annotated[tuple[str, ...], Parameter(metavar="NAME"), CHOICE, LESS] = (),
    on_duplicate: Annotated[Literal["error", "best"], CHOICE] = "error",
    bounds: Annotated[bool, Parameter(group=OUTPUT), LESS] = False,
    format: Annotated[
        Format | Literal["html", "latex"] | None,
        Parameter(group=OUTPUT, metavar="CHOICE"),
    ] = None,
) -> None:
    """Measure the effect of every disputed choice: on values, on the order of systems.

    Parameters
    ----------
    files
        Runs and, last, the judgments; or one log.
    measure
        Measure to audit; may be repeated.
    lower_is_better
        Rank low scores first, as for distances.
    rank
        Rank of the document, from 1, instead of a score.
    system
        Column that tells systems apart; several runs go by their file names.
    convention
        Tool whose choices are audited; see: polars-rank conventions.
    no_relevant
        Value of a query with nothing relevant.
    ties
        Order of equal scores.
    missing
        Value of a judged query that is missing from a run.
    unjudged
        Whether unjudged documents keep their place.
    rel
        Lowest grade that is relevant.
    max_rank
        Count documents below this rank as not retrieved.
    choice
        Choice to try, such as ties, gain, k; may be repeated; default: all.
    on_duplicate
        What to do about duplicates; best keeps the best score and label.
    bounds
        Add bounds over tied orders and unknown labels, of values and of the
        differences of systems; not in csv.
    format
        Default: table on a terminal, csv elsewhere.
    """
    run, options = runs_of(files, data, system, rank)
    options |= {"rank": rank, "descending": not lower_is_better}
    options |= choices_of(max_rank=max_rank)
    found = polars_rank.audit(
        run,
        several(measure) or MEASURES,
        convention=convention,
        no_relevant=no_relevant,
        ties=ties,
        missing=missing,
        unjudged=unjudged,
        rel=rel,
        choices=choice or None,
        on_duplicate=on_duplicate,
        bounds=bounds,
        **options,
    )
    chosen = format or ("table" if terminal() else "csv")
    if chosen == "csv" or chosen == "tsv":
        joined = pl.col("swapped", "significant_swaps").list.join("; ")
        rows = found.choices.with_columns(joined)
        show_rows(rows, chosen, keys=3)
    elif chosen == "json":
        emit(json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n")
    else:
        write = {
            "table": found.__str__,
            "markdown": found.to_markdown,
            "html": found.to_html,
            "latex": found.to_latex,
        }[chosen]
        emit(write() + "\n")


def bounds(
    *files: Paths,
    data: Input = DEFAULT_INPUT,
    measure: SomeMeasures = (),
    lower_is_better: Annotated[bool, Parameter(group=COLUMNS), LESS] = False,
    rank: OneColumn = None,
    system: OneColumn = None,
    convention: Convention = DEFAULT,
    no_relevant: NoRelevantValue = None,
    ties: TieOrder = None,
    missing: MissingValue = None,
    unjudged: UnjudgedPlace = None,
    rel: Grade = None,
    over: Annotated[tuple[Literal["labels", "ties"], ...], CHOICE, LESS] = ("labels",),
    max_grade: Annotated[int | None, CHOICE] = None,
    universe: Annotated[Literal["retrieved", "pool"] | None, CHOICE] = None,
    free: Annotated[int, CHOICE] = 0,
    against: Annotated[str | None, Parameter(metavar="SYSTEM"), CHOICE] = None,
    most: Annotated[int, CHOICE] = 10_000,
    per_query: Annotated[bool, Parameter(group=OUTPUT), LESS] = False,
    format: Formats = None,
) -> None:
    """Bound the values over unknown labels, and over orders of ties.

    Parameters
    ----------
    files
        Runs and, last, the judgments; or one log, whose label is null where nobody
        judged the document.
    measure
        Measure to bound; may be repeated.
    lower_is_better
        Rank low scores first, as for distances.
    rank
        Rank of the document, from 1, instead of a score.
    system
        Column that tells systems apart; several runs go by their file names.
    convention
        Tool whose choices are followed; see: polars-rank conventions.
    no_relevant
        Value of a query with nothing relevant.
    ties
        Order of equal scores.
    missing
        Value of a judged query that is missing from a run.
    unjudged
        Whether unjudged documents keep their place.
    rel
        Lowest grade that is relevant.
    over
        Unknowns to vary: labels (of unjudged documents), ties, or both, repeated.
    max_grade
        Highest grade of an unjudged document; default: of the judgments.
    universe
        Documents that could have labels: those a system retrieved, or the pool.
    free
        Documents per query, neither retrieved nor judged, that could have labels, too.
    against
        System that the others are compared with, under the same labels.
    most
        Labelings and orders of a query to try, for measures without a shortcut.
    per_query
        Print the bounds of every query instead of the mean.
    format
        Default: table on a terminal, csv elsewhere.
    """
    run, options = runs_of(files, data, system, rank)
    options |= {"rank": rank, "descending": not lower_is_better}
    found = polars_rank.bounds(
        run,
        several(measure) or MEASURES,
        convention=convention,
        no_relevant=no_relevant,
        ties=ties,
        missing=missing,
        unjudged=unjudged,
        rel=rel,
        over=over,
        max_grade=max_grade,
        universe=universe,
        free=free,
        against=against,
        most=most,
        per_query=per_query,
        **options,
    )
    keys = found.columns.index("measure") + 1
    notes = [_labels(run, options, max_grade)] if "labels" in over else []
    show_frame(found, "Bounds", keys=keys, format=format, notes=notes)


def _labels(run: Any, options: Options, max_grade: int | None) -> str:
    """Which labels an unjudged document could have, in words."""
    judged = options["qrels"]
    if judged is None:  # the runs have labels
        judged = pl.concat(run.values()) if isinstance(run, dict) else run
    label = options["label"]  # none: all that are judged are relevant
    named = judged.select(label=pl.lit(1) if label is None else label)
    return f"Labels of unjudged documents: 0 to {grades_of(max_grade, named)[-1]}."


def runs_of(
    files: Sequence[str], data: Input, system: str | None, rank: str | None = None
) -> tuple[Any, Options]:
    """The runs that the command line named, and arguments about them.

    Columns of the judgments get the names that the runs have.
    """
    if not files:
        raise CycloptsError(msg="name a FILE: runs and judgments, or a log.")
    given = data.sort_out(files, rank)
    options = data.options(given)
    runs: dict[str, pl.LazyFrame] = {}
    for run in given.runs:
        with given.about(run):
            runs[run.name], asked = with_judgments(given, run, options)
    qrels = asked["qrels"]
    query, doc = options.pop("qrels_query"), options.pop("qrels_doc")
    if qrels is not None:
        others = {} if query is None else dict(zip(query, data.query, strict=True))
        others |= {} if doc is None else {doc: data.doc}
        qrels = qrels.rename(others)
    options |= {"qrels": qrels, "system": system}
    if len(runs) == 1:
        return next(iter(runs.values())), options
    return runs, options
