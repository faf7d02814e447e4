"""Columns by their role: the user's names and types, and ours.

Only schemas are read. Every column is renamed to its role first, so that user column
names can never collide with internal ones, not even ``*`` or ``^x$``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

import polars as pl
import polars.selectors as cs
from polars.datatypes import DataType, DataTypeClass

__all__ = [
    "ROLES",
    "BoundFrame",
    "BoundSchema",
    "Columns",
    "Role",
    "align_ids",
    "bind_column",
    "bind_columns",
    "bind_run_and_qrels",
    "renamed",
    "require_columns",
]

Dtype: TypeAlias = DataType | DataTypeClass


class Role(NamedTuple):
    """What a column is to an evaluation.

    Attributes
    ----------
    name
        Its name in the engine, and the argument that names the user's column.
    what
        A value of it, in words.
    allowed
        Whether a type will do.
    expected
        The types that do, in words.
    """

    name: str
    what: str
    allowed: Callable[[DataType], bool]
    expected: str


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


def _is_plain(dtype: DataType) -> bool:
    return dtype != pl.Object


def _is_flag(dtype: DataType) -> bool:
    return dtype == pl.Boolean


def _is_duration(dtype: DataType) -> bool:
    return dtype.is_numeric() or dtype == pl.Duration


def _is_time(dtype: DataType) -> bool:
    return dtype.is_numeric() or isinstance(dtype, pl.Datetime)


_PLAIN = "of a type that Polars can compare, not Object"
_IDS = "an integer, text, Categorical, Enum, Boolean, date or binary column"
_NUMBERS = "a numeric column; cast it, e.g. with pl.col(...).cast(pl.Float64)"
_WHOLE = "an integer column that counts from 1"
_INTEGERS = "an integer column; cast it, e.g. with pl.col(...).cast(pl.Int32)"
_FLAG = "a Boolean column; compare it, e.g. pl.col(...) == 1"
_FLAGS = "a Boolean column, or one of 0 and 1"
_DURATIONS = "a column of seconds, or a Duration"
_TIMES = "a Datetime column, or one of seconds"

ROLES = {
    role.name: role
    for role in (
        Role("query", "a query id", _is_id, _IDS),
        Role("doc", "a document id", _is_id, _IDS),
        Role("rank", "a rank", _is_whole, _WHOLE),
        Role("score", "a score", _is_number, _NUMBERS),
        Role("label", "a grade", _is_grade, _NUMBERS),
        Role("subtopic", "a subtopic", _is_id, _IDS),
        Role("weight", "a weight", _is_number, _NUMBERS),
        Role("segment", "a segment", _is_plain, _PLAIN),
        # of click logs
        Role("impression", "an impression id", _is_id, _IDS),
        Role("position", "a position", _is_whole, _INTEGERS),
        Role("page", "the number of a page", _is_whole, _INTEGERS),
        Role("clicked", "a click", _is_grade, _FLAGS),
        Role("count", "a number of impressions", _is_whole, _INTEGERS),
        Role("dwell", "a dwell time", _is_duration, _DURATIONS),
        Role("time", "a time", _is_time, _TIMES),
        Role("clicked_at", "a time", _is_time, _TIMES),
        Role("user", "a user id", _is_id, _IDS),
        Role("session", "a session id", _is_id, _IDS),
        Role("team", "a team", _is_id, _IDS),
        Role("arm", "an arm", _is_id, _IDS),
        Role("propensity", "a propensity", _is_number, _NUMBERS),
        Role("seen", "whether a row was seen", _is_flag, _FLAG),
        Role("flag", "whether it is so", _is_flag, _FLAG),
    )
}


class Columns(NamedTuple):
    """The user's column names by role: several for ``query``; None: no such column."""

    query: tuple[str, ...]
    names: Mapping[str, str | None]


class BoundSchema(NamedTuple):
    """What a frame under our names has: key columns, and roles with their types."""

    keys: tuple[str, ...]
    roles: tuple[str, ...]
    dtypes: tuple[DataType, ...]

    @property
    def by_role(self) -> dict[str, DataType]:
        """The type of each role."""
        return dict(zip(self.roles, self.dtypes, strict=True))

    def without(self, role: str) -> BoundSchema:
        """The same but for one role."""
        kept = {name: dtype for name, dtype in self.by_role.items() if name != role}
        return self._replace(roles=tuple(kept), dtypes=tuple(kept.values()))


class BoundFrame(NamedTuple):
    """A frame under our names: ``key0`` ..., its roles, and ``by0`` ..."""

    frame: pl.LazyFrame
    schema: BoundSchema

    @property
    def keys(self) -> tuple[str, ...]:
        """The query columns."""
        return self.schema.keys


def bind_columns(
    frame: pl.LazyFrame,
    columns: Columns,
    *,
    where: str,
    roles: Sequence[str],
    carry: Sequence[str] = (),
    key: str = "query",
) -> BoundFrame:
    """Select the query columns, those of ``roles`` and ``carry``, under our names.

    A role for which the user named no column is left out; columns to ``carry`` become
    ``by0`` ... whatever their type. ``key`` is the role of the query columns: a click
    log has a list for each impression.
    """
    schema = frame.collect_schema()
    taken: list[pl.Expr] = []
    dtypes: dict[str, DataType] = {}
    for i, name in enumerate(columns.query):
        column = bind_column(key, name, schema, where=where)
        taken.append(column.alias(f"key{i}"))
    for role in roles:
        named = columns.names.get(role)
        if named is None:
            continue
        taken.append(bind_column(role, named, schema, where=where))
        dtypes[role] = schema[named]
        if role == "label" and not schema[named].is_numeric():
            taken[-1] = taken[-1].cast(pl.UInt8)
    for i, name in enumerate(carry):
        column = bind_column("segment", name, schema, where=where)
        taken.append(column.alias(f"by{i}"))
    keys = tuple(f"key{i}" for i in range(len(columns.query)))
    bound = BoundSchema(keys, tuple(dtypes), tuple(dtypes.values()))
    return BoundFrame(frame.select(taken), bound)


def bind_column(role: str, column: str, schema: pl.Schema, *, where: str) -> pl.Expr:
    """The user's column under our name, once it is found and its type checked."""
    if column not in schema:
        require_columns([column], schema, where=where, argument=role)
    if not ROLES[role].allowed(schema[column]):
        msg = (
            f"column {column!r} of {where} has dtype {schema[column]}, but "
            f"{ROLES[role].what} must be {ROLES[role].expected}"
        )
        raise TypeError(msg)
    return renamed(column, role)


def bind_run_and_qrels(
    run: pl.LazyFrame,
    qrels: pl.LazyFrame,
    columns: Columns,
    *,
    run_roles: Sequence[str],
    qrels_roles: Sequence[str],
    carry: Sequence[str] = (),
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Bind a run and judgments with the same query columns; ``carry`` is of these."""
    where = "the run", "the judgments"
    left = bind_columns(run, columns, where=where[0], roles=run_roles)
    right = bind_columns(qrels, columns, where=where[1], roles=qrels_roles, carry=carry)
    names = dict(zip(left.keys, columns.query, strict=True))
    names["doc"] = columns.names["doc"] or ""
    return align_ids(left.frame, right.frame, names, where=where)


def renamed(column: str, own: str) -> pl.Expr:
    """The column under our name, and without any claim that it is sorted.

    Polars takes the claim of a file or of ``set_sorted`` for granted, and then does
    not sort, or counts runs for distinct values. A way through a struct forgets it.
    """
    return pl.struct(cs.by_name(column).alias(own)).struct.field(own)


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
        dtypes = left_types[column], right_types[column]
        if dtypes[0] != dtypes[1]:
            common = pl.col(column).cast(_common_type(*dtypes, name, where))
            left, right = left.with_columns(common), right.with_columns(common)
    return left, right


def _common_type(
    left: DataType, right: DataType, name: str, where: tuple[str, str]
) -> Dtype:
    if left.is_integer() and right.is_integer():
        return pl.Int128 if pl.UInt64 in (left, right) else pl.Int64
    if _is_text(left) and _is_text(right):
        return pl.String
    msg = (
        f"{name!r} is {left} in {where[0]} but {right} in {where[1]}, and these are "
        "never equal; cast one of them, e.g. with pl.col(...).cast(pl.String)"
    )
    raise TypeError(msg)
