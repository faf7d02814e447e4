"""Sums of a part of the data, kept and carried: the envelope that makes them safe.

A state is a frame of sums: what a day, a file or a partition adds to the whole. Anybody
may keep it for a year and carry it anywhere, so two of its columns say what it is:

- ``definition``: everything that can change a value, and the version of this format, as
  JSON, so that an error can say what differs;
- ``digests``: eight bytes of the content of each part whose sums are in it, as text, so
  that a part is not counted twice. A part without rows has none: it adds nothing.

The version of the package is not in it: a new release reads what an older one wrote.
``FORMAT`` is raised if the columns of a state mean something else, and the ``version``
of a measure if its values do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Literal, NamedTuple, TypeAlias

import polars as pl
import polars.selectors as cs

from polars_rank.exceptions import DataError, counted

FORMAT = 1
DEFINITION, DIGESTS = "definition", "digests"
MANY = 1000  # rows: of fewer, a dict finds distinct texts in a third of the time
PLACE = "polars_rank.place"  # of its state, in a row: the name of no column of a user
WRITTEN = re.compile(r"(p\d+( p\d+)*)?")  # a letter: else a CSV file has numbers
CODED = cs.categorical() | cs.enum()
Kind: TypeAlias = Literal["partial", "moments", "behavior", "sampled", "slices"]
Type: TypeAlias = Literal["number", "text", "hash", "any"]  # any number, UInt64
MADE: Mapping[Kind, str] = {
    "partial": "partial; partials are made by partial and add of an Evaluation",
    "moments": "moments; make them with pr.comparison.moments(values)",
    "behavior": "state of behavior; make one with behavior_state(log)",
    "sampled": "state of sampled ranks; make one with sampled_state(log, n_items=...)",
    "slices": "state of slices; make one with slices_state(values, features)",
}
BY_ROWS = ("behavior", "sampled", "slices")  # a row per segment: none of an empty log


class State(NamedTuple):
    """A state, and what messages call it: its file, or its place among those given."""

    name: str
    frame: pl.DataFrame


# -- written


def defined(kind: Kind, choices: Mapping[str, object]) -> str:
    """Return the definition as text, with its choices in the order given."""
    return json.dumps({"state": kind, "format": FORMAT, **choices}, default=str)


def chosen(definition: str, name: str) -> object:
    """A choice of a definition."""
    return json.loads(definition).get(name)


def hashed(columns: Sequence[str]) -> pl.Expr:
    """Hash rows to numbers, whose sum wraps around: the same in any order of rows.

    The codes of categories depend on the process, so it is their text that counts. In
    ``agg``, Polars leaves the casts of group keys out: columns must be others.
    """
    fields: list[pl.Expr] = []
    for name in columns:  # in this order: a selector has that of the frame
        column = cs.by_name(name)
        fields += [(column & CODED).cast(pl.String), (column - CODED).as_expr()]
    return pl.struct(fields).hash()


def digest(by: Sequence[str], content: str, part: str | None) -> pl.Expr:
    """Return the digest of a part: segments, with a ``content`` of ``hashed`` rows.

    The name of a part, if it has one, tells two parts of one content apart, such as
    days without a change.
    """
    number = hashed([*by, content]).filter(pl.col(content) != 0).sum()
    if part is not None and not isinstance(part, str):
        msg = f"part must be text, such as the day of the part, not {part!r}"
        raise TypeError(msg)
    salt = 0 if part is None else int(sha256(part.encode()).hexdigest()[:16], 16)
    text = pl.format("p{}", number + pl.lit(salt, pl.UInt64))
    return pl.when(number == 0).then(pl.lit("")).otherwise(text).alias(DIGESTS)


# -- read


def placed(states: Sequence[State]) -> pl.DataFrame:
    """Return the rows of all states, each with its place."""
    rows = pl.concat((frame for _, frame in states), how="diagonal_relaxed")
    heights = pl.Series([frame.height for _, frame in states])
    places = pl.Series(PLACE, range(len(states)), pl.Int32)
    return rows.with_columns(places.repeat_by(heights).explode(empty_as_null=False))


def damaged(name: str, fault: str) -> DataError:
    """Make the error for a state that nobody can have made."""
    return DataError(f"{name}: {fault}", rule="damaged_state", count=1)


def require_envelope(state: State, kind: Kind) -> None:
    """Refuse a frame that is no state of this kind and format, or has no rows."""
    name, frame = state
    if DEFINITION not in frame.columns:
        what, _, made = MADE[kind].partition("; ")
        shown = ", ".join(frame.columns) or "no columns"
        raise damaged(name, f"no {what}, but a frame of {shown}; {made}")
    if frame.is_empty() and kind not in BY_ROWS:
        raise damaged(name, "has no rows: a part without queries has one; copy it anew")
    for text in _texts(state, DEFINITION):
        _require_format(name, kind, text)
    if not all(map(WRITTEN.fullmatch, _texts(state, DIGESTS))):
        raise damaged(name, "holds digests that nobody has written: make it anew")


def _texts(state: State, column: str) -> list[str]:
    """Return the values of a column that is never null."""
    require_columns(state, {column: "text"})
    values = state.frame[column]
    if count := values.null_count():
        said = f"{column!r} is null in {counted(count, 'row')}: make it anew"
        raise damaged(state.name, said)
    if len(values) > MANY:
        values = values.unique(maintain_order=True)
    return [*dict.fromkeys(values.to_list())]


def require_columns(state: State, columns: Mapping[str, Type]) -> None:
    """Refuse a state that lacks a column, or has one of another type."""
    schema = state.frame.schema
    for column, wanted in columns.items():
        if column not in schema:
            raise damaged(state.name, f"has no column {column!r}: make it anew")
        dtype = schema[column]
        right = wanted == "any" or dtype == pl.Null
        if wanted == "number":
            right |= dtype.is_numeric()
        else:
            right |= dtype == (pl.UInt64 if wanted == "hash" else pl.String)
        if not right:
            way = "keep states in Parquet or Arrow, since other files lose types"
            raise damaged(
                state.name, f"column {column!r} is {dtype}, no {wanted}: {way}"
            )


def _require_format(name: str, kind: Kind, text: str) -> None:
    try:
        told = json.loads(text)
        found = told["state"], told["format"]
    except (ValueError, TypeError, KeyError):
        fault = (
            f"was written before format {FORMAT}, or its definition is damaged: it is "
            f"{text[:40]!r}; make it anew"
        )
        raise damaged(name, fault) from None
    if found[0] != kind:
        raise damaged(name, f"is a state of kind {found[0]!r}, not {kind!r}")
    if found[1] != FORMAT:
        way = "make it anew, or use the version of the package that wrote it"
        raise damaged(name, f"has format {found[1]}, not {FORMAT}: {way}")


def require_definition(state: State, text: str, ours: str) -> None:
    """Refuse a state of another definition, and say what differs."""
    for other in dict.fromkeys(state.frame[DEFINITION].to_list()):
        if other != text and (told := differences(other, text)):
            msg = (
                f"{state.name} does not add to {ours}: {told}; make all states with "
                "the same measures, columns and options"
            )
            raise DataError(msg, rule="different_definition", count=1)


def differences(there: str, here: str, but: Collection[str] = ()) -> str:
    """Put in words how two definitions differ, ``but`` for some choices."""
    both = [dict(_flat(json.loads(text))) for text in (there, here)]
    names = dict.fromkeys([*both[1], *both[0]])
    missing = object()
    told = []
    for name in names:
        one, other = (values.get(name, missing) for values in both)
        if one != other and name not in but:
            shown = ("nothing" if v is missing else repr(v) for v in (one, other))
            told.append(f"{name} is {' there and '.join(shown)} here")
    return ", ".join(told)


def _flat(values: Mapping[str, Any], of: str = "") -> Iterator[tuple[str, object]]:
    for name, value in values.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{name} ")
        else:
            yield of + name, value


def require_alike(states: Sequence[State], columns: Mapping[str, str]) -> None:
    """Refuse columns that are text in one state and numbers in another.

    ``columns`` are those to look at, with the names that the user knows.
    """
    for column, shown in columns.items():
        first: tuple[str, str] | None = None
        for name, frame in states:
            kind = _kind(frame.schema[column])
            if kind is None:
                continue
            if first is not None and first[1] != kind:
                msg = (
                    f"{shown!r} is {kind} in {name} and {first[1]} in {first[0]}: give "
                    "all parts the same type"
                )
                raise DataError(msg, rule="different_types", count=1)
            first = first or (name, kind)


def _kind(dtype: pl.DataType) -> str | None:
    if isinstance(dtype, pl.String | pl.Categorical | pl.Enum):
        return "text"
    if dtype == pl.Null:
        return None
    return "a number" if dtype.is_numeric() else str(dtype)


def added_up(
    states: Sequence[State],
    kind: Kind,
    columns: Mapping[str, Type],
    require_possible: Callable[[pl.DataFrame, Sequence[State]], None],
) -> pl.DataFrame:
    """Return the rows of sound states: one definition per measure, each part once.

    What is none of the ``columns`` is a segment, and text and hashes tell rows apart.
    """
    if not states:
        msg = "nothing to merge: name at least one part"
        raise ValueError(msg)
    names = states[0].frame.columns
    for state in states:
        require_envelope(state, kind)
        require_columns(state, columns)
        if odd := ", ".join(sorted({*state.frame.columns} ^ {*names})):
            way = "all parts need the same segments"
            msg = f"{state.name} has other columns: {odd}; {way}"
            raise DataError(msg, rule="different_columns", count=1)
    segments = [n for n in names if n not in {*columns, DEFINITION, DIGESTS}]
    require_alike(states, dict(zip(segments, segments, strict=True)))
    whole = placed(states)
    require_possible(whole, states)
    require_one_definition(whole, states)
    keys = [name for name, wanted in columns.items() if wanted in ("text", "hash")]
    require_once(whole, states, [*segments, *keys])
    return whole.select(names)


def require_one_definition(whole: pl.DataFrame, states: Sequence[State]) -> None:
    """Refuse sums of a measure that was computed in two ways."""
    # As a category, since unique copies its keys, and a definition has 600 bytes.
    texts = pl.col(DEFINITION).cast(pl.Categorical)
    told = whole.select("measure", texts, PLACE).unique(
        ["measure", DEFINITION], keep="first", maintain_order=True
    )
    first: dict[str, tuple[str, int]] = {}
    for measure, definition, place in told.select("measure", DEFINITION, PLACE).rows():
        own, before = first.setdefault(measure, (definition, place))
        if differ := differences(definition, own):
            names = dict.fromkeys(states[i].name for i in (place, before))
            msg = (
                f"{measure!r} is not the same in all parts ({' and '.join(names)}): "
                f"{differ}; compute one of them anew"
            )
            raise DataError(msg, rule="different_definition", count=1)


def require_once(
    whole: pl.DataFrame, states: Sequence[State], keys: Sequence[str]
) -> None:
    """Refuse the same part twice; ``keys`` tell the rows of a state apart."""
    whole = whole.select(*keys, DIGESTS, PLACE).filter(pl.col(DIGESTS) != "")
    twice = whole.filter(pl.struct(*keys, DIGESTS).is_duplicated())
    if twice.is_empty():  # else parts of parts
        single = whole.group_by(DIGESTS).agg(pl.col(PLACE).unique())
        single = single.with_columns(pl.col(DIGESTS).str.split(" ")).explode(DIGESTS)
        twice = single.filter(pl.col(DIGESTS).is_duplicated()).explode(PLACE)
    if twice.is_empty():
        return
    first = twice[DIGESTS].min()
    places = twice.filter(pl.col(DIGESTS) == first)[PLACE].unique().sort()
    names = " and ".join(states[i].name for i in places)
    msg = (
        f"{names}: the same part twice, by the digest of its content; leave one out. "
        "If they are different parts whose values are all the same, such as days "
        "without a change, name each with part= where it is made"
    )
    raise DataError(msg, rule="part_twice", count=twice[DIGESTS].n_unique())


def all_digests(frame: pl.DataFrame) -> str:
    """Return the digests of all parts whose sums are in a frame."""
    texts = frame[DIGESTS].unique()  # first: of many parts they are long
    return " ".join(sorted({one for text in texts for one in text.split()}))


def named(names: Iterable[str | None], one: str) -> list[str]:
    """Name each of several for messages: by its file, or its place."""
    given = list(names)
    if len(given) == 1:
        return [given[0] or f"the {one}"]
    return [name or f"{one} {i}" for i, name in enumerate(given, 1)]
