"""Rows of Python with lists of documents, one row per query, as a frame of lists."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, TypeGuard

import polars as pl

from polars_rank.io.objects.retrieved import named_scores, relevant, retrieved

Rows: TypeAlias = Mapping[str, Any] | Iterable[Mapping[str, Any]]


def is_rows(given: object) -> TypeGuard[Rows]:
    """Return whether these are rows that are dictionaries, or columns by name."""
    if isinstance(given, list | tuple):
        return any(isinstance(row, Mapping) for row in given)
    return isinstance(given, Mapping)


def frame_of_lists(
    given: Rows, roles: Mapping[str, str]
) -> tuple[pl.DataFrame, str | None]:
    """Make a frame of lists of ids; name the column of scores that documents have."""
    columns = _columns(given, roles)
    queries = columns.get(roles["query"], [])
    scored, scores = None, []
    for role, read in (("retrieved", retrieved), ("relevant", relevant)):
        name = roles[role]
        if name not in columns:
            continue
        found = [
            None if documents is None else read(documents, f"{name!r} of {query!r}")
            for query, documents in zip(queries, columns[name], strict=False)
        ]
        columns[name] = [one if one is None else one.ids for one in found]
        numbers = [one if one is None else one.scores for one in found]
        if role == "retrieved":
            scores = numbers
        elif any(numbers):
            msg = (
                f"{name!r} must hold documents alone, not pairs with a number; labels "
                "go in a column of lists of their own, named with labels="
            )
            raise TypeError(msg)
    if "scores" not in roles and any(scores):
        scored = named_scores(scores, queries, roles["retrieved"])
        sizes = [0 if ids is None else len(ids) for ids in columns[roles["retrieved"]]]
        columns[scored] = [
            known or [None] * size for known, size in zip(scores, sizes, strict=True)
        ]
    try:
        return pl.DataFrame(columns), scored
    except (pl.exceptions.PolarsError, TypeError) as error:
        msg = f"from_lists: the rows make no frame: {error}"
        raise TypeError(msg) from error


def _columns(given: Any, roles: Mapping[str, str]) -> dict[str, list[Any]]:
    """Return the values of the columns that have a role."""
    names = list(roles.values())
    if isinstance(given, Mapping):
        if not any(name in given for name in names):
            msg = (
                "from_lists takes one row per query: a dictionary has columns "
                f"{', '.join(map(repr, names))}; a run {{query: [document, ...]}} and "
                "judgments {query: {document, ...}} go to the evaluation itself"
            )
            raise TypeError(msg)
        return {name: list(given[name]) for name in names if name in given}
    rows = list(given)
    known = [name for name in names if any(name in row for row in rows)]
    return {name: [row.get(name) for row in rows] for name in known}
