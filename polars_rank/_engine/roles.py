"""Roles of columns: a row for each, with the types that it may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import polars as pl
from polars.datatypes import DataType


class Role(NamedTuple):
    """The role of a column in an evaluation.

    Attributes
    ----------
    name
        Its name in the engine, and the argument that names the user's column.
    what
        What a value is, in words.
    allowed
        Whether a type is allowed.
    expected
        The allowed types, in words.
    """

    name: str
    what: str
    allowed: Callable[[DataType], bool]
    expected: str


def is_text(dtype: DataType) -> bool:
    """Return whether the values are text, in any form of it."""
    return dtype == pl.String or isinstance(dtype, pl.Categorical | pl.Enum)


def _is_doc(dtype: DataType) -> bool:
    """Return whether the type can be an id and cast to text, to order equal scores."""
    return _is_id(dtype) and dtype != pl.Duration


def _is_id(dtype: DataType) -> bool:
    return (
        dtype.is_integer()
        or is_text(dtype)
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


def _is_place(dtype: DataType) -> bool:
    return dtype.is_integer() or dtype == pl.Null


def _is_duration(dtype: DataType) -> bool:
    return dtype.is_numeric() or dtype in (pl.Duration, pl.Null)


def _is_time(dtype: DataType) -> bool:
    return dtype.is_numeric() or isinstance(dtype, pl.Datetime | pl.Null)


_PLAIN = "of a type that Polars can compare, not Object"
_IDS = (
    "an integer, text, Categorical, Enum, Boolean, date or binary column; cast it, "
    "e.g. with pl.col(...).cast(pl.Int64) (pandas makes integers with gaps Float64)"
)
_NUMBERS = "a numeric column; cast it, e.g. with pl.col(...).cast(pl.Float64)"
_WHOLE = (
    "an integer column that counts from 1; cast it, e.g. with "
    "pl.col(...).cast(pl.Int64) (pandas ranks by method='first' for ranks without ties)"
)
_INTEGERS = "an integer column; cast it, e.g. with pl.col(...).cast(pl.Int32)"
_FLAG = "a Boolean column; compare it, e.g. pl.col(...) == 1"
_FLAGS = "a Boolean column, or one of 0 and 1"
_DURATIONS = "a column of seconds, or a Duration"
_TIMES = "a Datetime column, or one of seconds"

ROLES = {
    role.name: role
    for role in (
        Role("query", "a query id", _is_id, _IDS),
        Role("doc", "a document id", _is_doc, _IDS),
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
        Role("credit", "a credit or rank", _is_number, _NUMBERS),
        Role("propensity", "a propensity", _is_number, _NUMBERS),
        Role("seen", "whether a row was seen", _is_flag, _FLAG),
        Role("flag", "whether it is so", _is_flag, _FLAG),
        Role("randomized", "whether a list was shuffled", _is_flag, _FLAG),
        Role("swapped", "whether documents were swapped", _is_flag, _FLAG),
        Role("swap", "the position of a swap", _is_place, _INTEGERS),
        Role("relevance", "the relevance of a document", _is_grade, _NUMBERS),
        Role("reward", "the reward of a document", _is_grade, _NUMBERS),
        Role("new", "a score", _is_number, _NUMBERS),
    )
}


_LISTS = (
    "one value; make a row of every document in a list, e.g. with pr.from_lists(...)"
)
_FIELDS = "one value; take a field, e.g. with pl.col(...).struct.field(...)"
NESTED = {pl.List: _LISTS, pl.Array: _LISTS, pl.Struct: _FIELDS}
