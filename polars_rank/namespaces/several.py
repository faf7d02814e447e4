"""Several measures of a label expression, as one expression."""

from __future__ import annotations

import polars as pl

from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import convention_of
from polars_rank.core.words.binding import Part, bind_together, order_of
from polars_rank.measures.measure import Custom, Measure, Measures, parse_measures
from polars_rank.namespaces.method import (
    Options,
    asked_of,
    require_all_judged,
    score_of,
    ties_of,
)

NEEDED = {  # by measures that are for frames only: what, and the options that give it
    "subtopics": ("a query's subtopics", "qrels= and subtopic="),
    "recommendations": (
        "what is known about the items of a list",
        "history= or items=",
    ),
    "catalog": ("the lists of all users", "history= or items="),
    "totals": ("the lists of all users", "history= or items="),
}


def several_of(measures: Measures, label: pl.Expr, options: Options) -> pl.Expr:
    """Return a struct of the measures over raw columns, under a convention."""
    convention = convention_of(options.convention)
    require_all_judged(convention)
    parts = {
        measure.name: _part(measure, label, options, convention)
        for measure in parse_measures(measures)
    }
    return bind_together(
        parts,
        label,
        score=score_of(options, convention),
        rank=options.rank,
        doc=options.doc,
    )


def _part(
    measure: Measure | Custom, label: pl.Expr, options: Options, convention: Convention
) -> Part:
    order = order_of(ties_of(options, convention), options.doc)
    if isinstance(measure, Custom):
        return Part(measure.value, order, whole=True)
    metric = measure.definition
    if metric.vocabulary != "ranking":
        raise ValueError(needs_a_frame(measure.name, metric.vocabulary))
    if metric.uses_scores and options.score is None:
        msg = f"{measure.name} reads scores: give a score instead of rank="
        raise ValueError(msg)
    own = options
    if measure.no_relevant is not None:
        own = own._replace(no_relevant=measure.no_relevant)
    if not metric.needs_relevant:
        own = own._replace(no_relevant=None)
    if not metric.tie_sensitive:  # in its own order, which the last bit depends on
        order, own = order_of(None, options.doc), own._replace(ties=None)
    asked = asked_of(metric, label, dict(measure.arguments), own)
    return Part(asked.formula, order, whole=False)


def needs_a_frame(name: str, vocabulary: str) -> str:
    """Say why a measure is no expression, and what evaluates it."""
    needed, options = NEEDED[vocabulary]
    return (
        f"{name} needs {needed}, which one expression of labels cannot hold: evaluate "
        f"a frame, with evaluate or per_query, {options}"
    )
