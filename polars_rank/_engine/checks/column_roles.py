"""Check roles of columns: no column with two roles, no ids under another name."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_rank._engine.schema import Column, Columns

IDS = frozenset(  # names of document ids, without case, dashes and underscores
    ("doc", "docid", "docno", "docnum", "documentid", "passageid", "corpusid")
) | {"articleid", "itemid", "productid", "movieid", "asin"}


def require_distinct_roles(run: Columns, qrels: Columns, *, judged: bool) -> None:
    """Raise ``ValueError`` if a column of a frame has two roles.

    ``judged`` says whether the judgments are a frame of their own.
    """
    placed = ["doc", "score", "rank"]
    if not judged:
        _require_distinct(run, [*placed, "label"])
        return
    _require_distinct(run, placed)
    _require_distinct(qrels, ["doc", "label", "subtopic"])


def _require_distinct(columns: Columns, roles: Sequence[str]) -> None:
    taken: dict[str, str] = {}
    named = [(role, columns.names.get(role)) for role in roles]
    for role, column in [*(("query", c) for c in columns.query), *named]:
        if not isinstance(column, str):  # an expression, or none
            continue
        if taken.get(column) == role:
            msg = f"{role} names column {column!r} twice; name it once"
            raise ValueError(msg)
        if column in taken:
            msg = (
                f"{taken[column]} and {role} are both column {column!r}, which can be "
                f"only one of them; name the other with {role}="
            )
            raise ValueError(msg)
        taken[column] = role


def require_no_other_ids(schema: pl.Schema, used: Sequence[Column | None]) -> None:
    """Raise ``ValueError`` if a column clearly has document ids but was not named."""
    names = {column for column in used if isinstance(column, str)}
    for column in schema:
        folded = "".join(c for c in column.lower() if c not in "_- ")
        if folded in IDS and column not in names:
            msg = (
                f"the frame has no column 'doc_id', but {column!r} looks like document "
                f"ids: say doc={column!r}, or doc=None to go without (equal scores "
                "then keep the order of rows, and duplicates are not found)"
            )
            raise ValueError(msg)
