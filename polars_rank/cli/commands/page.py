"""The command ``page``."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any
from warnings import catch_warnings

import polars as pl

import polars_rank
from polars_rank import analysis, report
from polars_rank.cli.commands.why import REFUSED, Explained, not_shown
from polars_rank.cli.derive import UsageError, options_of, told, told_output
from polars_rank.cli.input.options import EVALUATING, Input, Paths, Queries
from polars_rank.cli.input.runs import Files, Options, open_file, recorded
from polars_rank.cli.output.bar import Bar
from polars_rank.cli.output.words import emit
from polars_rank.comparison.result import Comparison
from polars_rank.comparison.sums.definition import fingerprint
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.exceptions import DataError

SYSTEM = "system"
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
    *files: Paths,
    data: Input,
    output: Annotated[
        Path, told_output("The page to write.", "html", name=("--output", "-o"))
    ],
    measures: Annotated[tuple[str, ...], told("measures")] = ("ndcg@10",),
    queries: Queries = None,
    documents: Annotated[
        str | None,
        told("file", "Attributes of documents, such as --title.", metavar="FILE"),
    ] = None,
    features: Annotated[tuple[str, ...], told("features")] = (),
    min_queries: Annotated[
        int,
        told("choice", "Slices with fewer queries, in either half, are not tried."),
    ] = 20,
    **options: Any,
) -> None:
    """Write one HTML file that shows why means moved, down to the documents.

    The FILEs are the run before, the run after it, or several, and their judgments, as
    for evaluate. Of several runs or measures a reader of the page chooses; measures
    that are no sums over documents are in its table of all measures only. The file can
    be mailed: it asks nothing of any server.
    """
    given = data.sort_out(files, options.get("rank"))
    if len(given.runs) < 2:
        msg = "name the run before, the run after it, or several, and their judgments."
        raise UsageError(msg)
    runs, asked = {}, data.options(given)
    for run in given.runs:
        runs[run.name], asked = given.with_judgments(run, data.options(given))
    if "qrels_before" in options:
        options["qrels_before"] = data.open(options["qrels_before"], "qrels")
    about = open_file(queries, "qrels") if queries else None
    shown = {name: options.pop(name) for name in SHOWN if name in options}
    asked |= options
    if about is not None and any(map(options.get, ABOUT)):
        asked["segments"] = about
    with Bar.of(asked), recorded() as said:
        why, notes = _reasons(runs, measures, asked)
        first = why[0]
        report.page(
            why,
            output,
            comparison=_compared(runs, measures, data, asked),
            slices=_slices(why, features, about, data, min_queries),
            to_judge=_to_judge(runs, first.settings["measure"], data, asked),
            query=data.query,
            about_documents=open_file(documents, "qrels") if documents else None,
            about_queries=about,
            names=(given.runs[0].name, given.runs[1].name),
            facts=_facts(given, data) | {"to judge": f"by {first.settings['measure']}"},
            notes=[*dict.fromkeys(said), *notes],
            **shown,
        )
    emit(f"{output}: {first.queries[[*data.query]].n_unique()} queries\n")


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


def _compared(
    runs: dict[str, pl.LazyFrame], measures: Sequence[str], data: Input, asked: Options
) -> Comparison | None:
    """The differences of several measures, or of several runs, from the first run.

    The judgments of the first may be others. If its weights are, nothing is paired.
    """
    if (len(measures) == 1 and len(runs) == 2) or "weight_before" in asked:
        return None
    names = (*EVALUATING, "doc", "score", "label", "qrels", "qrels_query", "qrels_doc")
    given = {name: asked[name] for name in (*names, "memory_limit") if name in asked}
    roles: Options = {name: asked.get(name) for name in ("weight", "cluster")}
    keep = [*dict.fromkeys(filter(None, roles.values()))]
    given |= {"query": data.query, "keep": keep, "segments": asked.get("segments")}
    judged = dict.fromkeys(runs, given.pop("qrels"))
    first = next(iter(runs))
    judged[first] = asked.get("qrels_before", judged[first])
    with catch_warnings(action="ignore"):  # they were told with the reasons
        values = pl.concat(
            polars_rank.per_query(run, [*measures], qrels=judged[name], **given)
            .lazy()
            .select(pl.lit(name).alias(SYSTEM), pl.all())
            for name, run in runs.items()
        ).collect(engine="streaming")
        compared = [n for n in values.columns if n not in (SYSTEM, *data.query, *keep)]
        return polars_rank.compare(
            values,
            compared,
            system=SYSTEM,
            query=data.query,
            baseline=first,
            level=asked.get("level", 0.95),
            **roles,
        )


def _slices(
    why: Sequence[Explained],
    features: Sequence[str],
    about: pl.LazyFrame | None,
    data: Input,
    min_queries: int,
) -> pl.DataFrame | None:
    """The slices of each comparison, under the names of measure and run."""
    if not features:
        return None
    found = []
    for reasons in why:
        runs = reasons.of if isinstance(reasons, analysis.SeveralReasons) else None
        for name, own in ({"": reasons} if runs is None else runs).items():
            values = own.queries.lazy()
            if about is not None:
                more = [f for f in features if f not in own.queries.columns]
                attributes = about.select(*data.query, *more)
                values = values.join(attributes, on=list(data.query), how="left")
            slices = analysis.slices(
                values, features, query=data.query, min_queries=min_queries
            )
            labels = {SYSTEM: name} if runs is not None else {}
            if len(why) > 1:
                labels = {"measure": reasons.settings["measure"], **labels}
            named = [pl.lit(text).alias(label) for label, text in labels.items()]
            found.append(slices.select(*named, pl.all()))
    return pl.concat(found)


def _to_judge(
    runs: dict[str, pl.LazyFrame], measure: str, data: Input, asked: Options
) -> pl.DataFrame | None:
    """The documents to judge next; None if all are judged."""
    names = [
        *("query", "doc", "score", "rank", "descending", "label", "convention"),
        *SHORTCUTS,
    ]
    given = {name: asked[name] for name in names if name in asked}
    try:
        qrels = data.renamed(asked["qrels"])
        return analysis.to_judge(runs, measure, qrels=qrels, **given)
    except DataError as error:
        if error.rule != "nothing_to_judge":
            raise
        return None


def _facts(given: Files, data: Input) -> dict[str, str]:
    """The inputs of a page, with the fingerprint of the judgments."""
    found = {"files": str(given)}
    if given.qrels is not None:
        names = [*(data.qrels_query or data.query), data.qrels_doc or data.doc]
        found["judgments"] = fingerprint(given.qrels, [*names, data.label])
    return found
