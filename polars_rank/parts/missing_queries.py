"""Queries that no part of the data has: those of an empty run.

Partials say where segments and weights were found, so that those of the missing queries
come from there, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import polars as pl

from polars_rank._engine.request import AnyFrame
from polars_rank._engine.schema import (
    Column,
    align_ids,
    columns_of,
    has_column,
    renamed,
)
from polars_rank.parts.partial import ATTRIBUTES

OWN = "polars_rank."  # no column of the user begins with it


def places_as_text(places: Mapping[str, str]) -> str:
    """The frame that each attribute was found in, for a column of a partial."""
    return "; ".join(f"{name}: {place}" for name, place in places.items())


def places_of_all(partial: pl.DataFrame, given: Mapping[str, object]) -> dict[str, str]:
    """The frame that each attribute was found in, of the partial of all parts."""
    places = partial[ATTRIBUTES][0]
    if places is None:
        msg = (
            "the parts have segments or weights in different frames, so those of "
            "queries that no part has are unknown; give all parts frames of the same "
            "columns"
        )
        raise ValueError(msg)
    found = dict(place.split(": ") for place in places.split("; ") if place)
    if given["segments"] is None and "segments" in found.values():
        msg = (
            "segments or weights of queries that no part has are in segments=: give it "
            "to merge, too, whole"
        )
        raise ValueError(msg)
    return found


def matching(
    frame: AnyFrame | None,
    query: Sequence[Column],
    keys: pl.LazyFrame,
    how: Literal["semi", "anti"],
    *,
    where: str = "queries",
) -> pl.LazyFrame | None:
    """Select rows of judgments or queries whose query is among the keys, or is not."""
    if frame is None:
        return None
    schema = frame.lazy().collect_schema()
    on = {f"key{i}": c for i, c in enumerate(query) if has_column(c, schema)}
    beside = {f"{OWN}{key}": column for key, column in on.items()}
    rows = frame.lazy().with_columns(renamed(c, name) for name, c in beside.items())
    keys = keys.select(renamed(key, f"{OWN}{key}") for key in on)
    names = {n: c if isinstance(c, str) else n for n, c in beside.items()}
    keys, rows = align_ids(keys, rows, names, where=("the run", where))
    joined = rows.join(keys, on=[*beside], how=how, nulls_equal=True)
    return joined.drop(beside)


def run_of_none(
    keys: pl.Schema,
    options: Mapping[str, Any],
    places: Mapping[str, str],
    *,
    judged: pl.DataFrame | None,
    queries: pl.DataFrame | None,
    segments: pl.DataFrame | None,
    about_items: Mapping[str, AnyFrame | None],
) -> dict[str, Any]:
    """Arguments of an evaluation of a run without rows, under our names.

    Nobody knows the columns that the run has, nor what an expression would make of
    them: segments and weights that it gave are null. The others are in the frame that
    they were found in.
    """
    query = dict(zip(keys, columns_of(options["query"]), strict=True))
    by = columns_of(options["by"])
    attributes = {f"by{i}": column for i, column in enumerate(by)}
    keyed = {column: key for key, column in query.items() if isinstance(column, str)}
    named = {name: f"{OWN}{name}" for name in attributes}
    for name, column in attributes.items():
        if isinstance(column, str) and column in keyed:
            named[name] = keyed[column]
    own: dict[str, Any] = {"query": list(keys), "score": "score"}
    own |= {n: n for n in ("doc", "rank") if options[n] is not None}
    own["by"] = [*named.values()] or None
    types: dict[str, Any] = dict(keys)
    types |= {"doc": pl.String, "score": pl.Float64, "rank": pl.Int64}
    null: dict[str, Any] = dict.fromkeys(named, pl.Null)
    if options["weight"] is not None:
        name = f"by{len(by)}"
        own["weight"] = named[name] = f"{OWN}{name}"
        attributes[name], null[name] = options["weight"], pl.Float64
    types |= {named[n]: null[n] for n, at in places.items() if at == "the frame"}

    def found_in(place: str) -> dict[str, pl.Expr]:
        names = [name for name, at in places.items() if at == place]
        return {named[name]: renamed(attributes[name], named[name]) for name in names}

    def described(frame: pl.DataFrame | None, place: str) -> pl.DataFrame | None:
        if frame is None:
            return None
        known = {k: c for k, c in query.items() if has_column(c, frame.schema)}
        ids = (renamed(column, key) for key, column in known.items())
        return frame.select(*ids, **found_in(place))

    def under_our_names(frame: AnyFrame | None) -> AnyFrame | None:
        if frame is None:
            return None
        schema = frame.lazy().collect_schema()
        ids = {**query, "doc": options["doc"]}
        shared = {name: c for name, c in ids.items() if has_column(c, schema)}
        return frame.with_columns(renamed(c, name) for name, c in shared.items())

    if judged is None:
        own["label"], types["label"] = "label", pl.Int64
    else:
        judged = judged.with_columns(**found_in("the judgments"))
        for name in ("query", "doc"):
            other = options[f"qrels_{name}"]
            own[f"qrels_{name}"] = options[name] if other is None else other
        types["doc"] = judged.select(renamed(own["qrels_doc"], "doc")).schema["doc"]
    return {
        **options,
        **own,
        "frame": pl.DataFrame(schema=types),
        "qrels": judged,
        "queries": described(queries, "queries"),
        "segments": described(segments, "segments"),
        **{name: under_our_names(frame) for name, frame in about_items.items()},
    }
