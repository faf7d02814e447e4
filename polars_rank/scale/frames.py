"""What an evaluation in parts is given: frames of any library, files, partials."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard, cast

import polars as pl

from polars_rank._engine.opening import open_run_and_qrels
from polars_rank._engine.schema import Column, columns_by_role, names_of
from polars_rank.core.source import is_rereadable
from polars_rank.io.frames import FrameLike, as_polars
from polars_rank.io.scan import scan_each

__all__ = [
    "SIDES",
    "Several",
    "held",
    "is_path",
    "is_single",
    "open_both",
    "open_side",
    "partials_of",
]

Several: TypeAlias = FrameLike | Iterable[FrameLike]

SIDES = {
    "frame": "the first argument",
    "qrels": "the judgments",
    "queries": "queries",
    "segments": "segments",
}
ROLES = (
    "query", "doc", "score", "label", "rank", "descending", "qrels_query", "qrels_doc",
    "subtopic",
)  # fmt: skip


def is_path(given: object) -> TypeGuard[str | os.PathLike[str]]:
    """Whether this is the path of a file, of a folder, or a glob."""
    return isinstance(given, str | os.PathLike)


def is_single(given: object) -> bool:
    """Whether this is a frame or a path, not several."""
    if isinstance(given, Mapping | pl.LazyFrame) or is_path(given):
        return True
    return hasattr(given, "__arrow_c_stream__")


def open_side(
    given: FrameLike | None, side: str, options: Mapping[str, Any]
) -> pl.DataFrame | pl.LazyFrame | None:
    """Judgments, queries or segments, as a Polars frame."""
    if given is None:
        return None
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
    """A log, or a run and its judgments, which may be read more than once."""
    if qrels is None:
        return held(as_polars(frame, name=SIDES["frame"])).lazy(), None
    columns = columns_by_role(**{name: options[name] for name in ROLES})
    run, judged = open_run_and_qrels(frame, qrels, columns)
    return held(run).lazy(), held(judged).lazy()


def held(frame: pl.DataFrame | pl.LazyFrame) -> pl.DataFrame | pl.LazyFrame:
    """The frame; in memory, if it can perhaps be read only once."""
    if isinstance(frame, pl.DataFrame) or is_rereadable(frame):
        return frame
    return frame.collect(engine="streaming")


def partials_of(given: Several) -> list[pl.DataFrame]:
    """Partials, of frames of any library and of files."""
    several = [given] if is_single(given) else given
    return [
        partial
        for one in cast("Iterable[FrameLike]", several)
        for partial in _partials(one)
    ]


def _partials(given: FrameLike) -> Iterator[pl.DataFrame]:
    """The partial; or one of each file, whose columns may differ."""
    for one in scan_each(given) if is_path(given) else [given]:
        frame = as_polars(one, name="a partial").lazy().collect()
        if not {"measure", "definition", "version"} <= {*frame.columns}:
            where = f"{given}: " if is_path(given) else ""
            msg = (
                f"{where}no partial, but a frame of {', '.join(frame.columns)}; "
                "partials are made by partial and add of an Evaluation"
            )
            raise ValueError(msg)
        yield frame


def _several(columns: Column | Sequence[Column]) -> list[Column]:
    return [columns] if isinstance(columns, str | pl.Expr) else [*columns]
