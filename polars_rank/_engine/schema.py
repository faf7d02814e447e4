"""Columns by role: the user's names and types, and the internal ones.

Only schemas are read. Every column is renamed to its role first, so that user column
names can never collide with internal ones, not even ``*`` or ``^x$``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias

import polars as pl
import polars.selectors as cs
from polars.datatypes import DataType, DataTypeClass

from polars_rank._engine.roles import NESTED, ROLES, is_text

Dtype: TypeAlias = DataType | DataTypeClass
Column: TypeAlias = str | pl.Expr

JUDGMENTS = "the judgments"
CLOSE = 0.52  # 'qid' is like 'query_id'
VERY_CLOSE = 0.85  # another first letter: 'user_id' is not like 'query_id'
OTHER_WAYS = {  # what may be meant, if a column is not there
    ("label", "the frame"): ", or give the judgments with qrels=",
    ("label", JUDGMENTS): "; if every judged document is relevant, give label=None",
    ("score", "the frame"): ", or ranks with rank=",
    ("score", "the run"): ", or ranks with rank=",
    ("query", "queries"): ", or rename the column of the queries to match the run's",
    ("query", "segments"): ", or rename the column of the segments to match the run's",
    ("system", "the runs"): ", or give runs by name: {'bm25': frame, 'dense': frame}",
    ("system", "the values"): "; a comparison needs two systems or more (of a table "
    "with a column for each, from_wide in Python or --wide in a shell makes one)",
}


class Columns(NamedTuple):
    """The user's columns by role: several for ``query``; None: no such column.

    ``descending`` tells whether high scores come first.
    """

    query: tuple[Column, ...]
    names: Mapping[str, Column | None]
    descending: bool = True


@dataclass(frozen=True)
class BoundSchema:
    """The schema of a bound frame: key columns, and roles with their types."""

    keys: tuple[str, ...]
    roles: tuple[str, ...]
    dtypes: tuple[DataType, ...]

    @cached_property
    def by_role(self) -> dict[str, DataType]:
        """The type of each role."""
        return dict(zip(self.roles, self.dtypes, strict=True))

    @cached_property
    def has_fractions(self) -> bool:
        """Whether labels can lie between 0 and 1."""
        label = self.by_role.get("label")
        return label is not None and (label.is_float() or label.is_decimal())

    def without(self, role: str) -> BoundSchema:
        """Return the same without one role."""
        kept = {name: dtype for name, dtype in self.by_role.items() if name != role}
        return BoundSchema(self.keys, tuple(kept), tuple(kept.values()))


class BoundFrame(NamedTuple):
    """A frame under internal names: ``key0`` ..., its roles, and ``by0`` ..."""

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
    carry: Mapping[str, Column] = MappingProxyType({}),
    key: str = "query",
) -> BoundFrame:
    """Select the query columns, those of ``roles`` and ``carry``, under internal names.

    A role for which the user named no column is left out; columns to ``carry`` get
    their names there, and may have any type. ``key`` is the role of the query columns:
    a click log has a list for each impression.
    """
    schema = frame.collect_schema()
    taken: list[pl.Expr] = []
    dtypes: dict[str, DataType] = {}
    for i, name in enumerate(columns.query):
        column, _ = bind_column(key, name, schema, where=where)
        taken.append(column.alias(f"key{i}"))
    for role in roles:
        named = columns.names.get(role)
        if named is None:
            continue
        bound, dtype = bind_column(role, named, schema, where=where)
        if role == "label" and not dtype.is_numeric():
            bound = bound.cast(pl.UInt8)
        if role == "score" and not columns.descending:
            bound, dtype = negated(bound, dtype)
        taken.append(bound)
        dtypes[role] = dtype
    for own, named in carry.items():
        segment, _ = bind_column("segment", named, schema, where=where)
        taken.append(segment.alias(own))
    keys = tuple(f"key{i}" for i in range(len(columns.query)))
    bound_schema = BoundSchema(keys, tuple(dtypes), tuple(dtypes.values()))
    # In sequence, as wherever columns are only named: threads would cost more.
    return BoundFrame(frame.select_seq(taken), bound_schema)


def bind_column(
    role: str, column: Column, schema: pl.Schema, *, where: str
) -> tuple[pl.Expr, DataType]:
    """Return the user's column under its internal name, and its type, both checked."""
    if not has_column(column, schema):
        of_qrels = where == JUDGMENTS and role in ("query", "doc")
        argument = f"qrels_{role}" if of_qrels else role
        require_columns([column], schema, where=where, argument=argument)
    dtype = schema[column] if isinstance(column, str) else _dtype(role, column, schema)
    if not ROLES[role].allowed(dtype):
        expected = NESTED.get(dtype.base_type(), ROLES[role].expected)
        msg = (
            f"column {name_of(column)!r} of {where} has dtype {dtype}, but "
            f"{ROLES[role].what} must be {expected}"
        )
        raise TypeError(msg)
    return renamed(column, role), dtype


def _dtype(role: str, column: pl.Expr, schema: pl.Schema) -> DataType:
    found = pl.LazyFrame(schema=schema).select(column).collect_schema()
    if len(found) != 1:
        names = ", ".join(map(repr, found)) or "none"
        msg = f"{role} must be one column; the expression {column} is {names}"
        raise ValueError(msg)
    return found.dtypes()[0]


def negated(score: pl.Expr, dtype: DataType) -> tuple[pl.Expr, DataType]:
    """Change the sign of the score; integers get a type that holds the result."""
    if not dtype.is_integer():
        return -score, dtype
    wide = dtype in (pl.Int64, pl.UInt64, pl.Int128, pl.UInt128)
    signed = pl.Int128() if wide else pl.Int64()
    # Int128 has no negation.
    return (0 - score.cast(signed)).alias("score"), signed


def columns_of(given: Column | Sequence[Column] | None) -> tuple[Column, ...]:
    """Return one column, several or none, as a tuple."""
    return (given,) if isinstance(given, str | pl.Expr) else tuple(given or ())


def require_columns_given(several: Sequence[str] = (), /, **given: Any) -> None:
    """Raise ``TypeError`` for anything but a name, an expression or None.

    The arguments ``several`` may be lists of columns, too.
    """
    for argument, value in given.items():
        one = argument not in several or isinstance(value, str)
        listed = not one and isinstance(value, Sequence)
        for column in value if listed else [value]:
            if not isinstance(column, str | pl.Expr | None):
                msg = (
                    f"{argument} must name {'columns' if listed else 'a column'}, or "
                    f"be an expression, not {column!r:.40}; values go into the frame "
                    "first, e.g. with frame.with_columns(...)"
                )
                raise TypeError(msg)


def name_of(column: Column) -> str:
    """Return the name of a column in messages and results."""
    if isinstance(column, str):
        return column
    return column.meta.output_name(raise_if_undetermined=False) or str(column)


def names_of(columns: Iterable[Column]) -> list[str]:
    """Return the names of columns in messages and results."""
    return [c if isinstance(c, str) else name_of(c) for c in columns]


def has_column(column: Column, schema: pl.Schema) -> bool:
    """Return whether the column, or everything that it is computed from, exists."""
    if isinstance(column, str):
        return column in schema
    return {*column.meta.root_names()} <= schema.keys()


def roots_of(column: Column) -> list[str]:
    """Return the columns that it is computed from: itself, if it is given by name."""
    return [column] if isinstance(column, str) else column.meta.root_names()


def columns_by_role(
    *,
    query: Column | Sequence[Column],
    doc: Column | None,
    score: Column,
    label: Column | None,
    rank: Column | None,
    descending: bool,
    qrels_query: Column | Sequence[Column] | None,
    qrels_doc: Column | None,
    subtopic: Column | None = None,
) -> tuple[Columns, Columns]:
    """Return the columns of the run (or log), and those of the judgments.

    Without ``label``, every judged document is relevant.
    """
    require_columns_given(
        ("query", "qrels_query"),
        query=query,
        doc=doc,
        score=score,
        label=label,
        rank=rank,
        qrels_query=qrels_query,
        qrels_doc=qrels_doc,
        subtopic=subtopic,
    )
    if score is None and rank is None:
        msg = "score must name a column, unless rank= names one of ranks"
        raise TypeError(msg)
    if descending not in (True, False):
        msg = f"descending must be True or False, not {descending!r}"
        raise TypeError(msg)
    keys = columns_of(query)
    others = keys if qrels_query is None else columns_of(qrels_query)
    if not keys:
        msg = "query must name at least one column"
        raise ValueError(msg)
    if len(others) != len(keys):
        msg = f"qrels_query must name as many columns as query: {len(keys)}"
        raise ValueError(msg)
    if not descending and rank is not None:
        msg = "descending=False is for scores; the first rank is always 1"
        raise ValueError(msg)
    names = {
        "doc": doc,
        "score": score if rank is None else None,
        "label": pl.lit(1, pl.UInt8).alias("label") if label is None else label,
        "rank": rank,
        "subtopic": subtopic,
    }
    run = Columns(keys, names, descending)
    return run, Columns(
        others, names | ({} if qrels_doc is None else {"doc": qrels_doc})
    )


def bind_run_and_qrels(
    run: pl.LazyFrame,
    qrels: pl.LazyFrame,
    columns: Columns,
    qrels_columns: Columns,
    *,
    run_roles: Sequence[str],
    qrels_roles: Sequence[str],
    carry: Mapping[str, Column] = MappingProxyType({}),
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Bind a run and judgments with as many query columns; ``carry`` is of these."""
    where = "the run", JUDGMENTS
    left = bind_columns(run, columns, where=where[0], roles=run_roles)
    right = bind_columns(
        qrels, qrels_columns, where=where[1], roles=qrels_roles, carry=carry
    )
    names = dict(zip(left.keys, names_of(columns.query), strict=True))
    doc = columns.names["doc"]
    names["doc"] = "" if doc is None else name_of(doc)
    return align_ids(left.frame, right.frame, names, where=where)


def renamed(column: Column, own: str) -> pl.Expr:
    """Return the column under its internal name, without any claim that it is sorted.

    Polars trusts the claim of a file or of ``set_sorted``, and then does not sort, or
    counts runs instead of distinct values. A detour through a struct drops the claim.
    """
    given = cs.by_name(column) if isinstance(column, str) else column
    return pl.struct(given.alias(own)).struct.field(own)


def require_columns(
    columns: Sequence[Column],
    schema: pl.Schema,
    *,
    where: str,
    argument: str = "column",
) -> None:
    """Raise ``ColumnNotFoundError`` with the existing columns and the closest one."""
    for name in chain.from_iterable(map(roots_of, columns)):
        if name not in schema:
            near = _near(name, schema)
            hint = "." if near is None else f"; did you mean {near!r}?"
            known = ", ".join(map(repr, schema)) or "none"
            others = OTHER_WAYS.get((argument, where), "")
            if argument == "score" and others and "rank" in schema:
                others += '"rank"'
            role = argument if argument == "column" else f"{argument} column"
            msg = (
                f"{role} {name!r} is not in {where}{hint} Its columns are: "
                f"{known}. Name yours with {argument}={others}."
            )
            raise pl.exceptions.ColumnNotFoundError(msg)


def _near(name: str, schema: Iterable[str]) -> str | None:
    """Return the column that may be meant: one with the same first letter, or alike."""
    from difflib import get_close_matches  # rarely needed, slow to import

    names = list(schema)
    very = get_close_matches(name, names, cutoff=VERY_CLOSE)
    for near in get_close_matches(name, names, cutoff=CLOSE):
        alike = near in very or near in name or name in near
        if alike or near[:1].lower() == name[:1].lower():
            return near
    return None


def align_ids(
    left: pl.LazyFrame,
    right: pl.LazyFrame,
    names: Mapping[str, str],
    *,
    where: tuple[str, str],
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Give the ids of two frames a common type: integers are widened, text stays text.

    ``names`` maps internal columns to the user's. An integer never equals a text:
    "007" is not 7.
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
    if is_text(left) and is_text(right):
        return pl.String
    msg = (
        f"{name!r} is {left} in {where[0]} but {right} in {where[1]}, and these are "
        "never equal; cast one of them, e.g. with pl.col(...).cast(pl.String)"
    )
    raise TypeError(msg)
