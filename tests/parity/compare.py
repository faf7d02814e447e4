"""Compare a metric with a tool, query by query, and write the difference down."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import TypeAlias

import pytest
from parity.random_runs import Ranked, frames
from parity.record import record

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

FLOAT32 = 1e-6  # relative, of tools that compute in float32
Values: TypeAlias = dict[str, float | None]  # of the queries that the tool evaluates
Theirs: TypeAlias = Callable[[Ranked, Ranked, int | None], Values]


def need(name: str) -> ModuleType:
    """Import a tool, or skip; what it warns of is its own affair."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, exc_type=ImportError)


def ours(
    run: Ranked, qrels: Ranked, measure: pr.Measure, convention: pr.Convention
) -> Values:
    """Values of our own by query; None where undefined."""
    found, judged = frames(run, qrels)
    table = pr.per_query(found, measure, qrels=judged, convention=convention)
    return dict(table.iter_rows())


def compare(
    convention: str | pr.Convention,
    metric: str,
    theirs: Theirs,
    data: Iterable[tuple[Ranked, Ranked]],
    *,
    cutoffs: Iterable[int | None] = (1, 3, 10),
    tolerance: float = 1e-12,
    note: str = "",
    **params: object,
) -> None:
    """Fail at the first query that differs by more than the tolerance.

    Measures are called as the tool calls them, with nothing but its cutoff. The
    difference is relative, for values above 1, else absolute.
    """
    if isinstance(convention, str):
        convention = pr.CONVENTIONS[convention]
    own = own_name(convention, metric)
    worst, cases = 0.0, 0
    for run, qrels in data:
        for k in cutoffs:
            cut = {} if k is None else {"k": k}
            measure = pr.measure(own.metric, **own.arguments, **cut, **params)
            found, wanted = ours(run, qrels, measure, convention), theirs(run, qrels, k)
            assert found.keys() == wanted.keys(), (
                measure,
                found.keys() ^ wanted.keys(),
            )
            for query, value in wanted.items():
                far = distance(found[query], value)
                where = measure.name, run.get(query), qrels[query]
                assert far <= tolerance, (*where, found[query], value)
                worst, cases = max(worst, far), cases + 1
    assert cases >= 50
    name = TOOLS[convention.name.rstrip("*")].name
    record(name, metric, worst, cases, note)


def own_name(convention: pr.Convention, metric: str) -> pr.Measure:
    """The measure by the tool's own name for it, unless that is a phrase."""
    name = TOOLS[convention.name.rstrip("*")].equal.get(metric, metric)
    if " " in name:
        return pr.Measure.parse(metric)
    return pr.Measure.parse(name.removesuffix("@k").removesuffix("_at_k"))


def remark(convention: str, metric: str, note: str) -> None:
    """Write down what a tool does that we do not; a test shows it."""
    record(TOOLS[convention].name, metric, 0.0, 0, note)


def distance(found: float | None, wanted: float | None) -> float:
    """How far two values are from each other; undefined equals undefined."""
    if wanted is None or math.isnan(wanted):
        return 0.0 if found is None else math.inf
    if found is None:
        return math.inf
    return abs(found - wanted) / max(1.0, abs(wanted))
