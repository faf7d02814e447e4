"""The user's columns under our own names, with the types that the plan relies on.

Only schemas are read. Every column is renamed first, so that no name of the user's,
not even ``*`` or ``^x$``, can meet one of ours.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias, TypeVar

import polars as pl
import polars.selectors as cs
from polars.datatypes import DataType, DataTypeClass

__all__ = [
    "AnyFrame",
    "Columns",
    "Frame",
    "Log",
    "align_ids",
    "bind",
    "like",
    "require_columns",
    "require_number",
]

AnyFrame: TypeAlias = pl.DataFrame | pl.LazyFrame
Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
Dtype: TypeAlias = DataType | DataTypeClass


def like(frame: Frame, result: pl.LazyFrame) -> Frame:
    """A DataFrame for a DataFrame, a LazyFrame for a LazyFrame."""
    return result.collect() if isinstance(frame, pl.DataFrame) else result


class Columns(NamedTuple):
    """Names of the user's columns; see ``evaluate``."""

    query: tuple[str, ...]
    doc: str | None
    score: str
    label: str
    rank: str | None
    subtopic: str | None = None


class Kind(NamedTuple):
    """What a frame under our names has: key0 ..., doc, score or rank, label ..."""

    keys: tuple[str, ...]
    has_doc: bool
    ranked: bool
    label_type: DataType | None
    score_type: DataType | None
    has_subtopic: bool = False


class Log(NamedTuple):
    """A frame under our names, with by0 ... beside those of its kind."""

    frame: pl.LazyFrame
    kind: Kind

    @property
    def keys(self) -> tuple[str, ...]:
        """The query columns."""
        return self.kind.keys


def require_columns(
    names: Sequence[str], schema: pl.Schema, *, where: str, argument: str = "column"
) -> None:
    """Raise ``ColumnNotFoundError`` with the columns there are and the closest one."""
    for name in names:
        if name not in schema:
            from difflib import get_close_matches  # rarely needed, slow to import

            near = get_close_matches(name, list(schema), n=1, cutoff=0.4)
            hint = f"; did you mean {near[0]!r}?" if near else "."
            columns = ", ".join(map(repr, schema)) or "none"
            msg = (
                f"{argument} {name!r} is not in {where}{hint} Its columns are: "
                f"{columns}. Name yours with {argument}=."
            )
            raise pl.exceptions.ColumnNotFoundError(msg)


def bind(
    frame: pl.LazyFrame,
    columns: Columns,
    *,
    where: str,
    needs: Sequence[str],
    carry: Sequence[str] = (),
) -> Log:
    """Take the needed roles (``"score"``, ``"label"``, ``"doc"``) and rename them.

    ``"subtopic"``, too, where the user has such a column.
    """
    schema = frame.collect_schema()
    require_columns(columns.query, schema, where=where, argument="query")
    taken = [_renamed(name, f"key{i}") for i, name in enumerate(columns.query)]
    for name in columns.query:
        _require_type(name, schema[name], _is_id, "a query id", IDS)
    doc = columns.doc if "doc" in needs else None
    if doc is not None:
        require_columns([doc], schema, where=where, argument="doc")
        _require_type(doc, schema[doc], _is_id, "a document id", IDS)
        taken.append(_renamed(doc, "doc"))
    ranked = "score" in needs and columns.rank is not None
    score_type = label_type = None
    if ranked:
        assert columns.rank is not None
        require_columns([columns.rank], schema, where=where, argument="rank")
        _require_type(columns.rank, schema[columns.rank], _is_whole, "a rank", WHOLE)
        taken.append(_renamed(columns.rank, "rank"))
    elif "score" in needs:
        require_columns([columns.score], schema, where=where, argument="score")
        score_type = schema[columns.score]
        _require_type(columns.score, score_type, _is_number, "a score", NUMBERS)
        taken.append(_renamed(columns.score, "score"))
    if "label" in needs:
        require_columns([columns.label], schema, where=where, argument="label")
        label_type = schema[columns.label]
        _require_type(columns.label, label_type, _is_grade, "a grade", NUMBERS)
        label = _renamed(columns.label, "label")
        taken.append(label if label_type.is_numeric() else label.cast(pl.UInt8))
    subtopic = columns.subtopic if "subtopic" in needs else None
    if subtopic is not None:
        require_columns([subtopic], schema, where=where, argument="subtopic")
        _require_type(subtopic, schema[subtopic], _is_id, "a subtopic", IDS)
        taken.append(_renamed(subtopic, "subtopic"))
    taken += [_renamed(name, f"by{i}") for i, name in enumerate(carry)]
    kind = Kind(
        keys=tuple(f"key{i}" for i in range(len(columns.query))),
        has_doc=doc is not None,
        ranked=ranked,
        label_type=label_type,
        score_type=score_type,
        has_subtopic=subtopic is not None,
    )
    return Log(frame.select(taken), kind)


def _renamed(name: str, own: str) -> pl.Expr:
    """The column under our name, and without any claim that it is sorted.

    Polars takes the claim of a file or of ``set_sorted`` for granted, and then does
    not sort, or counts runs for distinct values. A way through a struct forgets it.
    """
    return pl.struct(cs.by_name(name).alias(own)).struct.field(own)


IDS = "an integer, text, Categorical, Enum, Boolean, date or binary column"
NUMBERS = "a numeric column; cast it, e.g. with pl.col(...).cast(pl.Float64)"
WHOLE = "an integer column that counts places from 1"


def require_number(name: str, found: DataType, what: str) -> None:
    """Raise ``TypeError`` unless the column is numeric."""
    _require_type(name, found, _is_number, what, NUMBERS)


def _require_type(
    name: str,
    found: DataType,
    allowed: Callable[[DataType], bool],
    what: str,
    expected: str,
) -> None:
    if not allowed(found):
        msg = f"column {name!r} has dtype {found}, but {what} must be {expected}"
        raise TypeError(msg)


def _is_text(dtype: DataType) -> bool:
    return dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)


def _is_id(dtype: DataType) -> bool:
    return (
        dtype.is_integer()
        or _is_text(dtype)
        or dtype.is_temporal()
        or dtype in (pl.Boolean, pl.Binary)
    )


def _is_whole(dtype: DataType) -> bool:
    return dtype.is_integer()


def _is_number(dtype: DataType) -> bool:
    return dtype.is_numeric()


def _is_grade(dtype: DataType) -> bool:
    return dtype.is_numeric() or dtype in (pl.Boolean, pl.Null)


def align_ids(
    left: pl.LazyFrame,
    right: pl.LazyFrame,
    names: Mapping[str, str],
    *,
    where: tuple[str, str],
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Give the ids of two frames one type: integers widen, text is text.

    ``names`` maps our columns to the user's. An integer never equals a text: "007" is
    not 7.
    """
    left_types, right_types = left.collect_schema(), right.collect_schema()
    for column, name in names.items():
        common = _common(left_types[column], right_types[column], name, where)
        if common is not None:
            left = left.with_columns(pl.col(column).cast(common))
            right = right.with_columns(pl.col(column).cast(common))
    return left, right


def _common(
    left: DataType, right: DataType, name: str, where: tuple[str, str]
) -> Dtype | None:
    if left == right:
        return None
    if left.is_integer() and right.is_integer():
        return pl.Int128 if pl.UInt64 in (left, right) else pl.Int64
    if _is_text(left) and _is_text(right):
        return pl.String
    msg = (
        f"{name!r} is {left} in {where[0]} but {right} in {where[1]}, and these are "
        "never equal; cast one of them, e.g. with pl.col(...).cast(pl.String)"
    )
    raise TypeError(msg)
