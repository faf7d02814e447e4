"""What an evaluation in parts is given: frames of any library, and files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import polars as pl

from polars_rank._engine.opening import open_run_and_qrels
from polars_rank._engine.schema import Column, columns_by_role, names_of
from polars_rank.core.source import is_rereadable
from polars_rank.io.frames import FrameLike, as_polars

Several: TypeAlias = FrameLike | Iterable[FrameLike]

SIDES = {
    "frame": "the first argument",
    "qrels": "the judgments",
    "queries": "queries",
    "segments": "segments",
    "history": "history",
    "items": "items",
}
ABOUT_ITEMS = ("history", "items")  # which every part has as a whole
ROLES = (
    "query", "doc", "score", "label", "rank", "descending", "qrels_query", "qrels_doc",
    "subtopic",
)  # fmt: skip


def open_side(
    given: FrameLike | None, side: str, options: Mapping[str, Any]
) -> pl.DataFrame | pl.LazyFrame | None:
    """Open a frame beside the first as a Polars frame, to be read more than once."""
    if given is None:
        return None
    if side in ABOUT_ITEMS:
        return held(as_polars(given, name=SIDES[side]))
    query = options["query"]
    if side == "qrels" and options["qrels_query"] is not None:
        query = options["qrels_query"]
    columns = _several(query)
    if side == "qrels":
        doc = options["qrels_doc"]
        doc = options["doc"] if doc is None else doc
        label = options["label"]
        columns += [doc, "label" if label is None else label]
    return as_polars(given, name=SIDES[side], kind="qrels", columns=names_of(columns))


def open_both(
    frame: FrameLike, qrels: FrameLike | None, options: Mapping[str, Any]
) -> tuple[pl.LazyFrame, pl.LazyFrame | None]:
    """Open a log, or a run and its judgments, to be read more than once."""
    if qrels is None:
        return held(as_polars(frame, name=SIDES["frame"])).lazy(), None
    columns = columns_by_role(**{name: options[name] for name in ROLES})
    run, judged = open_run_and_qrels(frame, qrels, columns)
    return held(run).lazy(), held(judged).lazy()


def held(frame: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame | pl.LazyFrame:
    """Hold the frame in memory if perhaps it can be read only once."""
    if isinstance(frame, pl.DataFrame) or is_rereadable(frame):
        return frame
    return frame.collect(engine="streaming")


def _several(columns: Column | Sequence[Column]) -> list[Column]:
    return [columns] if isinstance(columns, str | pl.Expr) else [*columns]
