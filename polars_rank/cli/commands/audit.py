"""The commands ``audit``, ``bounds`` and ``estimate``: how sure a value is."""

from __future__ import annotations

from typing import Any

import polars as pl

import polars_rank
from polars_rank.cli.derive import UsageError, options_of
from polars_rank.cli.input.options import EVALUATING, MEASURES, Input
from polars_rank.cli.input.runs import Options
from polars_rank.cli.output.words import emit
from polars_rank.cli.shown import SEPARATORS, Reported, Shown, written
from polars_rank.conventions.choices import SHORTCUTS
from polars_rank.io.frames import same_ids
from polars_rank.uncertainty.bounds.labelings import grades_of

NOTE = "worth: how many times as many judgments people alone would need."


@options_of(polars_rank.audit, measures=MEASURES)
@options_of(polars_rank.per_query, only=("rank", "descending", *SHORTCUTS, "max_rank"))
def audit(*files: str, data: Input, shown: Reported, **options: Any) -> None:
    """Measure the effect of every disputed choice: on values, on the order of systems.

    The FILEs are runs and, last, the judgments; or one log.
    """
    run, options = data.runs(files, options)
    found = polars_rank.audit(run, **options)
    if shown.form in SEPARATORS:
        shown.frame(found.choices, "", 3)
    else:
        emit(written(found, shown.form) + "\n")


@options_of(polars_rank.bounds, measures=MEASURES)
@options_of(polars_rank.per_query, only=SHORTCUTS)
def bounds(*files: str, data: Input, shown: Shown, **options: Any) -> None:
    """Bound the values over unknown labels, and over orders of ties.

    The FILEs are runs and, last, the judgments; or one log, whose label is null where
    nobody judged the document.
    """
    run, options = data.runs(files, options)
    found = polars_rank.bounds(run, **options)
    over = options.get("over", ("labels",))
    notes = [_labels(run, options)] if "labels" in over else []
    shown.frame(found, "Bounds", "measure", notes)


def _labels(run: Any, options: Options) -> str:
    """Which labels an unjudged document could have, in words."""
    judged = options["qrels"]
    if judged is None:  # the runs have labels
        judged = pl.concat(run.values()) if isinstance(run, dict) else run
    label = options["label"]  # none: all that are judged are relevant
    named = judged.select(label=pl.lit(1) if label is None else label)
    grades = grades_of(options.get("max_grade"), named)
    return f"Labels of unjudged documents: 0 to {grades[-1]}."


@options_of(polars_rank.estimate, measures=MEASURES)
@options_of(polars_rank.per_query, only=EVALUATING)
def estimate(
    *files: str, model_qrels: str, data: Input, shown: Shown, **options: Any
) -> None:
    """Estimate means from few judgments by people and many by a model.

    What the model gets wrong is measured where both judged, and subtracted. The FILEs
    are runs and, last, the judgments by people, of a random sample.
    """
    run, options = data.runs(files, options)
    human = options.pop("qrels")
    if human is None:
        raise UsageError("name a run and, last, the judgments by people.")
    model = data.renamed(data.open(model_qrels, "qrels"))
    ids = [(name, name) for name in (*data.query, data.doc)]
    runs = run if isinstance(run, dict) else {"": run}
    sources = [*files, model_qrels]
    for _ in range(2):  # what one file makes text of another is so for all
        for name in runs:
            runs[name], human = same_ids(runs[name], human, sources, ids)
            runs[name], model = same_ids(runs[name], model, sources, ids)
    options |= {"qrels": human, "model_qrels": model}
    found = polars_rank.estimate(runs.get("", runs), **options)
    title = f"Estimates with {100 * options.get('level', 0.95):.4g} % intervals"
    shown.frame(found, title, "measure", [NOTE])
