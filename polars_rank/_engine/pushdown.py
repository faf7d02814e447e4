"""Push filters on query columns down, in front of the evaluation.

The values of a query depend on its own rows only, so queries can be filtered first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import polars as pl

from polars_rank._engine.request import Request
from polars_rank.core.expr import operands


def narrowed(request: Request, predicate: pl.Expr, schema: pl.Schema) -> Request | None:
    """Return the request for queries that pass the predicate; None if it is for all.

    ``schema`` is that of the result. Conditions on other columns are ignored; the
    result has to be filtered by them.
    """
    query = request.columns.query
    if request.qrels is not None and request.qrels_columns.query != query:
        return None
    frames = {
        name: frame
        for name in ("frame", "qrels", "queries")
        if (frame := getattr(request, name)) is not None
    }
    schemas = {name: frame.collect_schema() for name, frame in frames.items()}
    named = {name for name in query if isinstance(name, str)}
    moved = False
    for condition in _conditions(predicate):
        roots = {*condition.meta.root_names()}
        if not roots or not roots <= named or not _applies(roots, schemas, schema):
            continue
        moved = True
        for name, known in schemas.items():
            if roots <= known.keys():
                frames[name] = frames[name].filter(condition)
    if not moved:
        return None
    return replace(
        request,
        frame=frames["frame"],
        qrels=frames.get("qrels"),
        queries=frames.get("queries"),
    )


def _applies(
    roots: set[str], schemas: Mapping[str, pl.Schema], result: pl.Schema
) -> bool:
    """Return whether a condition means the same in front of the evaluation.

    Its columns have the type that they have in the result; each frame has all of them
    or none, and the run has them.
    """
    return roots <= schemas["frame"].keys() and all(
        roots.isdisjoint(known)
        or (roots <= known.keys() and all(known[r] == result[r] for r in roots))
        for known in schemas.values()
    )


def _conditions(predicate: pl.Expr) -> Iterator[pl.Expr]:
    """Return the conditions that the predicate combines with ``and``."""
    joined = operands(predicate, "&")
    if not joined:
        yield predicate
    for condition in joined:
        yield from _conditions(condition)
