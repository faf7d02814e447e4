"""The commands ``audit`` and ``bounds``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import polars as pl
from cyclopts import CycloptsError

import polars_rank
from polars_rank.cli.derive import options_of, told
from polars_rank.cli.options import (
    DEFAULT_INPUT,
    MEASURES,
    Formats,
    Input,
    Options,
    Paths,
    several,
    with_judgments,
)
from polars_rank.cli.show import Format, show_frame, show_rows
from polars_rank.cli.words import emit, terminal
from polars_rank.uncertainty.bounds.labelings import grades_of

OF_DATA = ("qrels", "query", "doc", "score", "label")  # which Input tells


@options_of(polars_rank.audit, without=OF_DATA, measures=MEASURES)
@options_of(
    polars_rank.per_query,
    only=(
        *("rank", "descending", "no_relevant", "ties", "missing", "unjudged", "rel"),
        "max_rank",
    ),
)
def audit(
    *files: Paths,
    data: Input = DEFAULT_INPUT,
    format: Annotated[
        Format | Literal["html", "latex"] | None,
        told(
            "output", "Default: table on a terminal, csv elsewhere.", metavar="CHOICE"
        ),
    ] = None,
    **chosen: Any,
) -> None:
    """Measure the effect of every disputed choice: on values, on the order of systems.

    The FILEs are runs and, last, the judgments; or one log.
    """
    run, options = runs_of(files, data, chosen.get("rank"))
    measures = several(chosen.pop("measures"))
    found = polars_rank.audit(run, measures, **options, **chosen)
    written = format or ("table" if terminal() else "csv")
    if written == "csv" or written == "tsv":
        joined = pl.col("swapped", "significant_swaps").list.join("; ")
        rows = found.choices.with_columns(joined)
        show_rows(rows, written, keys=3)
    elif written == "json":
        emit(json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n")
    else:
        write = {
            "table": found.__str__,
            "markdown": found.to_markdown,
            "html": found.to_html,
            "latex": found.to_latex,
        }[written]
        emit(write() + "\n")


@options_of(polars_rank.bounds, without=OF_DATA, measures=MEASURES)
@options_of(
    polars_rank.per_query,
    only=("no_relevant", "ties", "missing", "unjudged", "rel", "on_duplicate"),
)
def bounds(
    *files: Paths, data: Input = DEFAULT_INPUT, format: Formats = None, **chosen: Any
) -> None:
    """Bound the values over unknown labels, and over orders of ties.

    The FILEs are runs and, last, the judgments; or one log, whose label is null where
    nobody judged the document.
    """
    run, options = runs_of(files, data, chosen.get("rank"))
    measures = several(chosen.pop("measures"))
    found = polars_rank.bounds(run, measures, **options, **chosen)
    keys = found.columns.index("measure") + 1
    over, grade = chosen.get("over", ("labels",)), chosen.get("max_grade")
    notes = [_labels(run, options, grade)] if "labels" in over else []
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
    files: Sequence[str], data: Input, rank: str | None = None
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
    options["qrels"] = qrels
    if len(runs) == 1:
        return next(iter(runs.values())), options
    return runs, options
