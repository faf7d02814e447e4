"""The command ``page``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import polars as pl

from polars_rank import analysis, report
from polars_rank.cli.bar import Bar
from polars_rank.cli.derive import UsageError, options_of, told, told_output
from polars_rank.cli.options import Input, Paths, Queries
from polars_rank.cli.runs import Files, Options, open_file, recorded
from polars_rank.cli.words import emit
from polars_rank.comparison.sums.definition import fingerprint
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.exceptions import DataError


@options_of(
    analysis.reasons,
    without=("qrels_before", "weight_before", "queries", "segments", "layout"),
)
def page(
    *files: Paths,
    data: Input,
    output: Annotated[
        Path, told_output("The page to write.", "html", name=("--output", "-o"))
    ],
    measure: Annotated[str, told("measure", name=("--measure", "-m"))] = "ndcg@10",
    queries: Queries = None,
    documents: Annotated[
        str | None,
        told("file", "Attributes of documents, such as --title.", metavar="FILE"),
    ] = None,
    title: Annotated[str | None, told("title")] = None,
    url: Annotated[str | None, told("url")] = None,
    text: Annotated[str | None, told("text")] = None,
    features: Annotated[tuple[str, ...], told("features")] = (),
    max_queries: Annotated[int, told("max_queries")] = 200,
    max_documents: Annotated[int, told("max_documents")] = 20,
    **options: Any,
) -> None:
    """Write one HTML file that shows why a mean moved, down to the documents.

    The FILEs are the run before, the run after and their judgments, as for evaluate.
    The file can be mailed: it asks nothing of any server.
    """
    given = data.sort_out(files, options.get("rank"))
    if len(given.runs) != 2:
        msg = "name the run before, the run after, and their judgments."
        raise UsageError(msg)
    frames, asked = [], data.options(given)
    for run in given.runs:
        frame, asked = given.with_judgments(run, data.options(given))
        frames.append(frame)
    about = open_file(queries, "qrels") if queries else None
    asked |= options
    if about is not None and any(map(options.get, ("by", "weight", "cluster"))):
        asked["segments"] = about
    with Bar(), recorded() as said:
        why = analysis.reasons(frames[0], frames[1], measure, **asked)
        found = None
        if features:
            values = why.queries.lazy()
            if about is not None:
                more = [name for name in features if name not in why.queries.columns]
                attributes = about.select(*data.query, *more)
                values = values.join(attributes, on=list(data.query), how="left")
            found = analysis.slices(values, features, query=data.query)
        runs = dict(zip((run.name for run in given.runs), frames, strict=True))
        report.page(
            why,
            output,
            slices=found,
            to_judge=_to_judge(runs, measure, data, asked),
            query=data.query,
            about_documents=open_file(documents, "qrels") if documents else None,
            about_queries=about,
            names=(given.runs[0].name, given.runs[1].name),
            facts=_facts(given, data),
            notes=said,
            title=title,
            url=url,
            text=text,
            max_queries=max_queries,
            max_documents=max_documents,
        )
    emit(f"{output}: {len(why.queries)} queries\n")


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
