"""The command ``estimate``: few judgments by people, many by a model."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Literal

from cyclopts import CycloptsError, Parameter

import polars_rank
from polars_rank.cli.audit import runs_of
from polars_rank.cli.options import (
    CHOICE,
    COLUMNS,
    DEFAULT_INPUT,
    DEFAULT_RULES,
    FILE,
    LESS,
    MEASURES,
    Convention,
    Formats,
    Input,
    MissingValue,
    OneColumn,
    Paths,
    Rules,
    SomeMeasures,
    several,
)
from polars_rank.cli.runs import open_file
from polars_rank.cli.show import show_frame
from polars_rank.cli.values import choices_of
from polars_rank.conventions.tools import DEFAULT
from polars_rank.io.frames import same_ids

NOTE = "worth: how many times as many judgments people alone would need."


def estimate(
    *files: Paths,
    model_qrels: Annotated[str, FILE],
    data: Input = DEFAULT_INPUT,
    rules: Rules = DEFAULT_RULES,
    measure: SomeMeasures = (),
    lower_is_better: Annotated[bool, Parameter(group=COLUMNS), LESS] = False,
    rank: OneColumn = None,
    system: OneColumn = None,
    convention: Convention = DEFAULT,
    missing: MissingValue = None,
    sampled: Annotated[Literal["queries", "documents"], CHOICE] = "queries",
    share: Annotated[float | None, CHOICE] = None,
    level: Annotated[float, CHOICE] = 0.95,
    format: Formats = None,
) -> None:
    """Estimate means from few judgments by people and many by a model.

    What the model gets wrong is measured where both judged, and subtracted.

    Parameters
    ----------
    files
        Runs and, last, the judgments by people, of a random sample.
    model_qrels
        File with the labels by the model, of all queries.
    measure
        Measure to estimate; may be repeated.
    lower_is_better
        Rank low scores first, as for distances.
    rank
        Rank of the document, from 1, instead of a score.
    system
        Column that tells systems apart; several runs go by their file names.
    convention
        Tool whose choices are followed; see: polars-rank conventions.
    missing
        Value of a judged query that is missing from a run.
    sampled
        What was drawn at random for people to judge: queries with all their documents,
        or single documents, for measures that add up over documents.
    share
        Probability with which a document was drawn; default: the share of the model's
        labels that people judged.
    level
        Confidence level.
    format
        Default: table on a terminal, csv elsewhere.
    """
    run, options = runs_of(files, data, system, rank)
    human = options.pop("qrels")
    if human is None:
        raise CycloptsError(msg="name a run and, last, the judgments by people.")
    model = open_file(model_qrels, "qrels", data.readings[1])
    others = dict(zip(data.qrels_query, data.query, strict=False))
    others |= {} if data.qrels_doc is None else {data.qrels_doc: data.doc}
    model = model.rename(others)
    ids = [(name, name) for name in (*data.query, data.doc)]
    runs = run if isinstance(run, dict) else {"": run}
    sources = [*files, model_qrels]
    for _ in range(2):  # what one file makes text of another is so for all
        for name in runs:
            runs[name], human = same_ids(runs[name], human, sources, ids)
            runs[name], model = same_ids(runs[name], model, sources, ids)
    found = polars_rank.estimate(
        run if isinstance(run, dict) else runs[""],
        several(measure) or MEASURES,
        qrels=human,
        model_qrels=model,
        sampled=sampled,
        share=share,
        level=level,
        convention=convention,
        **options,
        **choices_of(
            rank=rank,
            descending=not lower_is_better,
            missing=missing,
            **asdict(rules),
        ),
    )
    keys = found.columns.index("measure") + 1
    title = f"Estimates with {100 * level:.4g} % intervals"
    show_frame(found, title, keys=keys, format=format, notes=[NOTE])
