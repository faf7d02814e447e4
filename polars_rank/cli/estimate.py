"""The command ``estimate``: few judgments by people, many by a model."""

from __future__ import annotations

from typing import Annotated, Any

from cyclopts import CycloptsError

import polars_rank
from polars_rank.cli.audit import OF_DATA, runs_of
from polars_rank.cli.derive import options_of, told
from polars_rank.cli.options import (
    DEFAULT_INPUT,
    EVALUATING,
    MEASURES,
    Formats,
    Input,
    Paths,
    several,
)
from polars_rank.cli.runs import open_file
from polars_rank.cli.show import show_frame
from polars_rank.io.frames import same_ids

NOTE = "worth: how many times as many judgments people alone would need."


@options_of(polars_rank.estimate, without=OF_DATA, measures=MEASURES)
@options_of(polars_rank.per_query, only=EVALUATING)
def estimate(
    *files: Paths,
    model_qrels: Annotated[str, told("model_qrels", metavar="FILE")],
    data: Input = DEFAULT_INPUT,
    format: Formats = None,
    **chosen: Any,
) -> None:
    """Estimate means from few judgments by people and many by a model.

    What the model gets wrong is measured where both judged, and subtracted. The FILEs
    are runs and, last, the judgments by people, of a random sample.
    """
    run, options = runs_of(files, data, chosen.get("rank"))
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
        several(chosen.pop("measures")),
        qrels=human,
        model_qrels=model,
        **options,
        **chosen,
    )
    keys = found.columns.index("measure") + 1
    title = f"Estimates with {100 * chosen.get('level', 0.95):.4g} % intervals"
    show_frame(found, title, keys=keys, format=format, notes=[NOTE])
