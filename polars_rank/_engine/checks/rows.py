"""Find the row that breaks a rule, once it is certain that there is one.

Plans count per query, which costs next to nothing; only if a rule is broken are the
rows of a query read again, for the document and the column.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import polars as pl

from polars_rank._engine.schema import Column, name_of
from polars_rank.core.rules import (
    DUPLICATE_DOC,
    DUPLICATE_RANK,
    GAIN_OVERFLOW,
    INFINITE_GRADE,
    INVALID_RANK,
    NAN_SCORE,
    NEGATIVE_GRADE,
    NULL_SCORE,
    NULL_SUBTOPIC,
)
from polars_rank.core.source import is_rereadable
from polars_rank.core.weights import LARGEST_EXP2_GRADE
from polars_rank.exceptions import DataError

if TYPE_CHECKING:
    from polars_rank._engine.request import Request


# The role of the column that breaks the rule, and which of its values do.
CULPRITS: Mapping[str, tuple[str, Callable[[pl.Expr], pl.Expr]]] = {
    NULL_SCORE.name: ("score", lambda score: score.is_null()),
    NAN_SCORE.name: ("score", lambda score: score.is_nan()),
    INVALID_RANK.name: ("rank", lambda rank: rank < 1),
    DUPLICATE_RANK.name: ("rank", lambda rank: rank.is_duplicated()),
    INFINITE_GRADE.name: ("label", lambda label: ~label.is_finite()),
    NEGATIVE_GRADE.name: ("label", lambda label: label < 0),
    GAIN_OVERFLOW.name: ("label", lambda label: label > LARGEST_EXP2_GRADE),
    DUPLICATE_DOC.name: ("doc", lambda doc: doc.is_duplicated()),
    NULL_SUBTOPIC.name: ("subtopic", lambda subtopic: subtopic.is_null()),
}


def with_row(error: DataError, request: Request) -> DataError:
    """Return the error with the document and column of its first example, if found.

    Whatever goes wrong in this search, the user sees the error itself.
    """
    try:
        where = _where(error, request)
    except Exception:
        where = None
    if where is None or f": {where})" in str(error):  # told by a plan within this one
        return error
    message = str(error).removesuffix(")")
    return DataError(
        f"{message}: {where})",
        rule=error.rule,
        count=error.count,
        examples=error.examples,
    )


def _where(error: DataError, request: Request) -> str | None:
    if error.rule is None or error.rule not in CULPRITS or not error.examples:
        return None
    role, breaks = CULPRITS[error.rule]
    of_qrels = request.qrels is not None and (
        role in ("label", "subtopic") or str(error).startswith("judgments: ")
    )
    frame, columns = request.frame, request.columns
    if of_qrels and request.qrels is not None:
        frame, columns = request.qrels, request.qrels_columns
    culprit, doc = columns.names[role], columns.names["doc"]
    if culprit is None or not is_rereadable(frame):
        return None
    first = error.examples[0]
    key = first if isinstance(first, tuple) else (first,)
    names = [name_of(column) for column in columns.query]
    rows = frame.filter(
        *(
            _values(column).eq_missing(pl.lit(value))
            for column, value in zip(columns.query, key, strict=True)
        )
    )
    told = f"column {name_of(culprit)!r}"
    if len(key) > 1:
        told += f" of the query in {', '.join(map(repr, names))}"
    if doc is None:
        return told
    value = _values(culprit)
    if error.rule == DUPLICATE_DOC.name:
        value = _values(doc)
        if (subtopic := columns.names.get("subtopic")) is not None:
            value = pl.struct(value.alias("doc"), _values(subtopic).alias("subtopic"))
    found = rows.filter(breaks(value)).select(_values(doc).alias("doc")).head(1)
    ids = found.collect(engine="streaming")["doc"].to_list()
    return f"document {ids[0]!r}, {told}" if ids else None


def _values(column: Column) -> pl.Expr:
    return pl.col(column) if isinstance(column, str) else column
