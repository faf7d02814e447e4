"""Rows of training sets, whose queries are given by their sizes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl


def from_groups(sizes: Iterable[int], **columns: Any) -> pl.DataFrame:
    """Make a frame from inputs for training rankers: columns, and sizes of queries.

    Parameters
    ----------
    sizes
        Rows of each query, in order: the ``group=`` of LightGBM and XGBoost.
    columns
        Columns with one value per row: arrays, lists or Series, e.g. ``score`` and
        ``label``. A ``weight`` may also have one value for each size, as XGBoost's.

    Returns
    -------
    ``query_id``, counted from 0, and the columns.

    Raises
    ------
    ValueError
        If the sizes are negative or do not add up to the rows, if a column is called
        ``query_id``, or if weights are as many as neither rows nor queries, or as both.
    TypeError
        If a size is not a whole number, or sizes or weights are not several.

    Examples
    --------
    >>> import polars_rank as pr
    >>> log = pr.from_groups([2, 1], score=[0.1, 0.2, 0.3], label=[0, 1, 0])
    >>> pr.per_query(log, "rr").rows()
    [(0, 1.0), (1, 0.0)]
    >>> log = pr.from_groups([2, 1], score=[3, 2, 1], label=[0, 1, 0], weight=[5, 1])
    >>> log["weight"].to_list()
    [5, 5, 1]
    """
    if "query_id" in columns:
        msg = (
            "the sizes of groups number the queries in query_id; call your own column "
            "otherwise, or leave out from_groups: a frame with query ids needs no sizes"
        )
        raise ValueError(msg)
    if not isinstance(sizes, Iterable):
        msg = f"the sizes of groups must be several numbers, e.g. a list, not {sizes!r}"
        raise TypeError(msg)
    given = pl.Series("n", list(sizes), strict=False)
    counts = given.cast(pl.Int64, strict=False)
    numbers = given.dtype.is_numeric() or not len(given)
    known = given.is_not_null() & counts.eq_missing(given) if numbers else None
    wrong = given if known is None else given.filter(~known)
    if len(wrong):
        msg = f"the sizes of groups must be whole numbers, not {wrong.to_list()[0]!r}"
        raise TypeError(msg)
    if (counts < 0).any():
        msg = f"the sizes of groups must be at least 0, not {counts.min()!r}"
        raise ValueError(msg)
    if "weight" in columns:
        columns["weight"] = _of_rows(columns, counts)
    frame = pl.DataFrame(columns)
    if counts.sum() != len(frame):
        msg = (
            f"the sizes of groups must add up to the number of rows, {len(frame)}, not "
            f"{counts.sum()}"
        )
        raise ValueError(msg)
    ids = pl.int_range(len(counts), eager=True)
    query = _repeated(ids, counts).rename("query_id")
    return frame.select(query, pl.all())


def _of_rows(columns: Mapping[str, Any], counts: pl.Series) -> pl.Series:
    """Return the weights of rows; those of groups are repeated."""
    given = columns["weight"]
    if not hasattr(given, "__len__"):
        msg = (
            f"weight must have a number for each row or for each size, not {given!r}; "
            "leave it out if all weights are the same"
        )
        raise TypeError(msg)
    weights = pl.Series("weight", given)
    rows = {len(pl.Series(v)) for name, v in columns.items() if name != "weight"}
    of_rows, of_groups = len(weights) in rows, len(weights) == len(counts)
    if of_rows and of_groups and (counts != 1).any():
        msg = (
            f"{len(weights)} weights may be those of rows or of queries, since there "
            "are as many; leave out the sizes that are 0"
        )
        raise ValueError(msg)
    if rows and not of_rows and not of_groups:
        msg = (
            f"there must be one weight for each of the {max(rows)} rows, or for each "
            f"of the {len(counts)} sizes, not {len(weights)}"
        )
        raise ValueError(msg)
    return _repeated(weights, counts) if of_groups and not of_rows else weights


def _repeated(values: pl.Series, counts: pl.Series) -> pl.Series:
    return values.repeat_by(counts).explode(empty_as_null=False)
