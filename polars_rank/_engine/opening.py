"""Open frames of any library as lazy frames."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from polars_rank._engine.schema import Column, Columns, names_of
from polars_rank.io.frames import FrameLike, as_polars, same_ids

IN_MEMORY_ROWS = 200_000
SCORE, RANK = "score", "rank"  # default columns


class Opened(NamedTuple):
    """A log, or a run and its judgments.

    ``small`` tells whether all of it is in memory, small and not empty.
    """

    run: pl.LazyFrame
    qrels: pl.LazyFrame | None
    small: bool


def open_frames(
    frame: FrameLike,
    qrels: FrameLike | None,
    columns: tuple[Columns, Columns],
    *,
    stream: bool = False,
) -> Opened:
    """Open a log, or a run and its judgments; ids of text files are text in both.

    With ``stream``, a source that can be read only once is not read into memory.
    """
    run, judged = columns
    place = run.names["score"] if run.names["rank"] is None else run.names["rank"]
    opened = []
    if qrels is not None:  # before the run: see _shares_a_connection
        opened.append(
            as_polars(
                qrels,
                name="the judgments",
                kind="qrels",
                columns=_of_a_dictionary(judged, judged.names["label"], "label"),
                stream=stream and not _shares_a_connection(frame, qrels),
            )
        )
    opened.insert(
        0,
        as_polars(
            frame,
            name="the first argument",
            columns=_of_a_dictionary(run, place, "score"),
            stream=stream,
        ),
    )
    # Polars groups no rows otherwise in memory: some expressions are then of type null.
    small = all(
        isinstance(f, pl.DataFrame) and 0 < len(f) <= IN_MEMORY_ROWS for f in opened
    )
    if len(opened) == 1:
        return Opened(opened[0].lazy(), None, small)
    ids = [
        (left, right)
        for left, right in (
            *zip(run.query, judged.query, strict=True),
            (run.names["doc"], judged.names["doc"]),
        )
        if isinstance(left, str) and isinstance(right, str)
    ]
    left, right = same_ids(opened[0].lazy(), opened[1].lazy(), [frame, qrels], ids)
    return Opened(left, right, small)


def by_rank_without_scores(columns: Columns, run: pl.LazyFrame) -> Columns:
    """Order a run by its integers ``rank`` where it lacks the default scores."""
    score, schema = columns.names["score"], run.collect_schema()
    default = isinstance(score, str) and score == SCORE and columns.descending
    if default and SCORE not in schema and schema.get(RANK, pl.Null()).is_integer():
        return columns._replace(names={**columns.names, "rank": RANK, "score": None})
    return columns


def _shares_a_connection(*frames: object) -> bool:
    """Return whether only one can be a stream, as on one DuckDB connection."""
    modules = (type(frame).__module__.partition(".")[0] for frame in frames)
    return all(module.strip("_") == "duckdb" for module in modules)


def open_run_and_qrels(
    run: FrameLike, qrels: FrameLike, columns: tuple[Columns, Columns]
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Open a run and its judgments."""
    opened = open_frames(run, qrels, columns)
    assert opened.qrels is not None
    return opened.run, opened.qrels


def open_about_queries(
    source: FrameLike, name: str, keys: Sequence[Column]
) -> pl.LazyFrame:
    """Open a frame that has one row per query."""
    names = names_of(keys)
    if isinstance(source, list | tuple | set | dict):
        first = None if isinstance(source, dict) else next(iter(source), None)
        of_ids, type_ = isinstance(first, str | int), type(source).__name__
        if of_ids or not source:
            what = f"a {type_} of ids" if of_ids else f"an empty {type_}"
            msg = (
                f"{name}= is a frame with a row per query, not {what}; give "
                f"pl.DataFrame({{{names[0]!r}: [...]}})"
            )
            raise TypeError(msg)
    return as_polars(source, name=name, kind="qrels", columns=names).lazy()


def _of_a_dictionary(
    columns: Columns, value: Column | None, otherwise: str
) -> list[str]:
    """Return names of the columns of ``{query: {document: value}}``."""
    doc = columns.names["doc"]
    given = [
        *columns.query,
        "doc_id" if doc is None else doc,
        otherwise if value is None else value,
    ]
    return names_of(given)
