"""The command ``page``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from polars_rank import analysis, report
from polars_rank.cli.commands.page_parts import (
    SYSTEM,
    compared,
    followed,
    gated,
    judged_next,
    labeled,
    slices_of,
    values_of_runs,
)
from polars_rank.cli.commands.why import REFUSED, Explained, not_shown
from polars_rank.cli.derive import UsageError, options_of
from polars_rank.cli.input.options import Input
from polars_rank.cli.input.runs import Files, Options, open_file, recorded
from polars_rank.cli.input.values import Asked
from polars_rank.cli.output.bar import Bar
from polars_rank.cli.output.words import emit
from polars_rank.comparison.sums.definition import fingerprint
from polars_rank.comparison.sums.moments import is_moments
from polars_rank.report.web.page_content import of_values

USUAL = ("ndcg@10",)
SHOWN = ("title", "url", "text", "max_queries", "max_documents")  # how, and how much
ABOUT = ("by", "weight", "weight_before", "cluster")


@options_of(
    analysis.reasons,
    report.page,
    without=(
        *("queries", "segments", "layout", "after", SYSTEM),
        *("path", "about_documents", "about_queries"),
    ),
)
def page(
    *files: str,
    data: Input,
    output: Path,
    measures: tuple[str, ...] = (),
    queries: str | None = None,
    documents: str | None = None,
    days: tuple[str, ...] = (),
    features: tuple[str, ...] = (),
    margin: tuple[str, ...] = (),
    min_queries: int = 20,
    **options: Any,
) -> None:
    """Write one HTML file that shows why means moved, down to the documents.

    The FILEs are the run before, the run after it, or several, and their judgments, as
    for evaluate; or one file with values per query, whose first system is the one
    before; or moments of days. Of several runs or measures a reader of the page
    chooses; measures that are no sums over documents are in its table of all measures
    only. The file can be mailed: it asks nothing of any server.
    """
    about = open_file(queries, "qrels") if queries else None
    first = data.open(files[0], "run") if files else pl.LazyFrame()
    columns = first.collect_schema().names()
    place = options.get("rank", data.score)
    shown = {name: options.pop(name) for name in SHOWN if name in options}
    with Bar.of(options), recorded() as said:
        summed = is_moments(columns)
        sliced = (features, about, data, min_queries)
        if summed or (len(files) == 1 and data.qrels is None and place not in columns):
            asked = Asked.of(data, options | {"measures": measures}, queries, SYSTEM)
            content = _of_values(files, asked, sliced, margin, options)
            days = (*days, *(files if summed else ()))
        else:
            given = data.sort_out(
                files, options.get("rank"), dict.fromkeys(files[:1], first)
            )
            content = _of_runs(given, data, measures or USUAL, sliced, margin, options)
        content["notes"] = [*dict.fromkeys(said), *content.get("notes", ())]
        count = content.pop("count")
        report.page(
            path=output,
            **content,
            trend=followed(days, measures),
            query=data.query,
            about_documents=open_file(documents, "qrels") if documents else None,
            about_queries=about,
            **shown,
        )
    emit(f"{output}: {count} queries\n")


def _of_runs(
    given: Files,
    data: Input,
    measures: Sequence[str],
    sliced: tuple[Any, ...],
    margin: Sequence[str],
    options: Options,
) -> Options:
    """What a page shows of runs, down to the documents."""
    if len(given.runs) < 2:
        msg = "name the run before, the run after it, or several, and their judgments."
        raise UsageError(msg)
    runs, asked = {}, data.options(given)
    for run in given.runs:
        runs[run.name], asked = given.with_judgments(run, data.options(given))
    if "qrels_before" in options:
        options["qrels_before"] = data.open(options["qrels_before"], "qrels")
    asked |= options
    _, about, *_ = sliced
    if about is not None and any(map(options.get, ABOUT)):
        asked["segments"] = about
    why, notes = _reasons(runs, measures, asked)
    measure = why[0].settings["measure"]
    found: Options = {"comparison": None, "gate": None}
    # If the weights of the first run are others, nothing is paired.
    several = (len(measures) > 1 or len(runs) > 2) and "weight_before" not in asked
    if several or margin:
        values, names = values_of_runs(runs, measures, data, asked)
        found["gate"] = gated(values, names, margin, data, asked)
        if several:
            found["comparison"] = compared(values, names, data, asked)
    return found | {
        "reasons": why,
        "slices": slices_of(labeled(why), *sliced),
        "to_judge": judged_next(runs, measure, data, asked),
        "names": (given.runs[0].name, given.runs[1].name),
        "facts": _facts(given, data) | {"to judge": f"by {measure}"},
        "notes": notes,
        "count": why[0].queries[[*data.query]].n_unique(),
    }


def _of_values(
    files: Sequence[str],
    asked: Asked,
    sliced: tuple[Any, ...],
    margin: Sequence[str],
    options: Options,
) -> Options:
    """What a page shows of values per query, or of moments: no documents."""
    values, _ = asked.values(files)
    if is_moments(values.columns) and (margin or sliced[0]):
        raise UsageError("--margin and --features need runs, or values per query.")
    names, by = asked.measures or None, options.get("by") or None
    comparison = compared(values, names, asked.data, options, by=by)
    # Of segments, all are added up.
    counts = comparison.means.group_by("measure", "system").agg(pl.sum("queries"))
    views = [
        ({"measure": own.settings["measure"], SYSTEM: pair[1]}, own.queries)
        for own, pair in of_values(comparison)
    ]
    return {
        "comparison": comparison,
        "gate": gated(values, names, margin, asked.data, options),
        "slices": slices_of(views, *sliced),
        "facts": {"files": ", ".join(files)},
        "count": counts["queries"].max(),
    }


def _reasons(
    runs: dict[str, pl.LazyFrame], measures: Sequence[str], asked: Options
) -> tuple[list[Explained], list[str]]:
    """The reasons by measure, and a note about each measure that has none."""
    (_, before), *others = runs.items()
    after = others[0][1] if len(others) == 1 else dict(others)
    found: list[Explained] = []
    errors: dict[str, Exception] = {}
    for measure in measures:
        try:
            found.append(analysis.reasons(before, after, measure, **asked))
        except REFUSED as error:
            errors[measure] = error
    if not found:
        raise next(iter(errors.values()))
    notes = [not_shown(measure, error) for measure, error in errors.items()]
    return found, notes


def _facts(given: Files, data: Input) -> dict[str, str]:
    """The inputs of a page, with the fingerprint of the judgments."""
    found = {"files": str(given)}
    if given.qrels is not None:
        names = [*(data.qrels_query or data.query), data.qrels_doc or data.doc]
        found["judgments"] = fingerprint(given.qrels, [*names, data.label])
    return found
