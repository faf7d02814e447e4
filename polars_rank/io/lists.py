"""Queries as one row or one group size each, turned into one row per document."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import polars as pl

from polars_rank.io.frames import FrameLike, as_polars

__all__ = ["from_groups", "from_lists"]


def from_lists(
    frame: FrameLike,
    *,
    query: str = "query_id",
    retrieved: str = "retrieved",
    relevant: str = "relevant",
    scores: str | None = None,
    labels: str | None = None,
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Make a run and judgments of lists of documents, one row per query.

    Parameters
    ----------
    frame
        One row per query: lists of documents.
    query, retrieved, relevant
        Its columns: the query, the documents in rank order, the relevant documents.
    scores, labels
        Columns with a list of scores beside ``retrieved``, of grades beside
        ``relevant``. Without grades all of these are 1.

    Returns
    -------
    The run, with ``query``, ``doc_id``, ``rank`` (and ``score``), and the judgments,
    with ``query``, ``doc_id`` and ``label``. A query whose list is empty or null has no
    rows there.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> lists = pl.DataFrame(
    ...     {"query_id": [1], "retrieved": [["a", "b"]], "relevant": [["b"]]}
    ... )
    >>> run, qrels = pr.from_lists(lists)
    >>> pr.per_query(run, "rr", qrels=qrels, rank="rank").collect().rows()
    [(1, 0.5)]
    """
    rows = as_polars(frame, name="the first argument").lazy()
    place = pl.int_ranges(1, pl.col(retrieved).list.len() + 1, dtype=pl.Int64)
    given = {"doc_id": pl.col(retrieved), "rank": place}
    if scores is not None:
        given["score"] = pl.col(scores)
    judged = {"doc_id": pl.col(relevant)}
    if labels is not None:
        judged["label"] = pl.col(labels)
    run, qrels = (
        rows.filter(pl.col(documents).list.len() > 0)
        .select(query, **columns)
        .explode(*columns, empty_as_null=True)
        for documents, columns in ((retrieved, given), (relevant, judged))
    )
    return run, qrels if labels else qrels.with_columns(label=pl.lit(1, pl.UInt8))


def from_groups(sizes: Iterable[int], **columns: Any) -> pl.DataFrame:
    """Make a frame of the inputs of ranking trainers: columns, and sizes of queries.

    Parameters
    ----------
    sizes
        Rows of each query, in order: the ``group=`` of LightGBM and XGBoost.
    columns
        Columns with one value per row: arrays, lists or Series, e.g. ``score`` and
        ``label``.

    Returns
    -------
    ``query_id``, counted from 0, and the columns.

    Raises
    ------
    ValueError
        If the sizes do not add up to the rows.

    Examples
    --------
    >>> import polars_rank as pr
    >>> log = pr.from_groups([2, 1], score=[0.1, 0.2, 0.3], label=[0, 1, 0])
    >>> pr.per_query(log, "rr").rows()
    [(0, 1.0), (1, 0.0)]
    """
    frame = pl.DataFrame(columns)
    counts = pl.Series("n", list(sizes), dtype=pl.Int64)
    if (counts < 0).any() or counts.sum() != len(frame):
        msg = (
            f"the sizes of groups must add up to the number of rows, {len(frame)}, not "
            f"{counts.sum()}"
        )
        raise ValueError(msg)
    ids = pl.int_range(len(counts), eager=True).repeat_by(counts)
    query = ids.explode(empty_as_null=False).rename("query_id")
    return frame.select(query, pl.all())
