"""Bind a click log: the roles of its columns, the rules of its rows.

One row per document that an impression showed. Every function of this package takes
the same columns and options, and binds them here.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar, cast

import polars as pl

from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.opening import IN_MEMORY_ROWS
from polars_rank._engine.options import Layout
from polars_rank._engine.request import AnyFrame, Resources
from polars_rank._engine.schema import (
    Columns,
    align_ids,
    bind_column,
    bind_columns,
    require_columns,
)
from polars_rank.clicks.log.log_columns import (
    CARRIED,
    ROWS,
    USERS,
    LogOptions,
    require_options,
    roles_of,
    several,
)
from polars_rank.clicks.log.log_rows import clean, united, watched
from polars_rank.core.rules import Rule
from polars_rank.core.source import is_rereadable

F = TypeVar("F", pl.LazyFrame, pl.DataFrame)


@dataclass(frozen=True, kw_only=True, eq=False)
class ClickLog:
    """A log under internal names, with the options that other functions apply.

    Attributes
    ----------
    rows
        ``key0`` ... of the impression, a column for each role, ``by0`` ... for the
        columns that are constant within an impression, and ``fault``: which of
        ``rules`` the row breaks, counting from 1, or 0.
    impressions
        One row per impression asked for: keys, those of ``by0`` ... that it knows, and
        ``copies``; or None.
    keys
        The impression columns; none in a log of totals.
    key_names
        The user's names of them.
    carried
        Our name of a column that is constant within an impression, by the user's.
    by, cluster, weight
        The user's names of these columns.
    faulty
        Whether a row breaks a rule: of the columns of ``rows``, faster than ``fault``.
    roles
        The user's name of every role that there is.
    user_column
        The column of users, or one that looks like it.
    unclaimed
        Whether nobody said that impressions are contiguous: it is tried.
    shallow
        Whether rows have the ``bit`` of a position, and faults were found in them.
    """

    rows: pl.LazyFrame
    impressions: pl.LazyFrame | None
    keys: tuple[str, ...]
    key_names: tuple[str, ...]
    carried: dict[str, str]
    by: tuple[str, ...]
    cluster: tuple[str, ...]
    weight: str | None
    roles: dict[str, str]
    rules: tuple[Rule, ...]
    faulty: pl.Expr
    check: Check
    every_document: bool
    layout: Layout
    resources: Resources | None
    small: bool
    user_column: str | None
    unclaimed: bool = False
    shallow: bool = False

    @classmethod
    def of(
        cls,
        frame: AnyFrame,
        options: LogOptions,
        *,
        needs: Collection[str] = (),
        totals: bool = False,
        credits: Sequence[str] = (),
        columns: Mapping[str, str] = MappingProxyType({}),
    ) -> ClickLog:
        """Bind a log; only schemas are read.

        ``needs`` are the roles that the caller cannot do without, ``totals`` says
        whether a log of totals will do. Columns of ``credits`` become ``credit0`` ...;
        ``columns`` are further ones of the rows, by the names that they have here.
        """
        given = cast(
            "dict[str, Any]", {n: v for n, v in options.items() if v is not None}
        )
        require_options(given, totals=totals)
        log = frame.lazy()
        schema = log.collect_schema()
        roles = roles_of(given, schema, {*needs, "position", "clicked"})
        keys: tuple[str, ...] = ()
        if "count" not in given:
            keys = several(given.get("impression", "impression_id"))
        inside, outside = _constant_within(given, schema, roles, keys)
        carry = {f"by{i}": name for i, name in enumerate(inside)}
        carry |= {f"credit{i}": name for i, name in enumerate(credits)}
        _require_columns(given, schema, credits, columns)
        own_roles = {r: n for r, n in roles.items() if r not in CARRIED}
        bound = bind_columns(
            log,
            Columns(keys, own_roles),
            where="the log",
            roles=ROWS,
            carry=carry | {**columns},
            key="impression",
        )
        carried = {n: f"by{i}" for i, n in enumerate([*inside, *outside])}
        carried |= {name: f"key{i}" for i, name in enumerate(keys)}
        arm = carried[given["arm"]] if "arm" in given else None
        rows, broken = clean(
            _watched_if_from_0(bound.frame, given), given, bound.keys, arm
        )
        faulty, as_read = pl.any_horizontal(broken.values()), True
        impressions = None
        if "impressions" in given:
            known, as_read = given["impressions"].lazy(), False
            impressions, rows = _bind_impressions(
                known, keys, carried, rows, bound.keys
            )
        if given.get("on_duplicate") == "first":
            rows, as_read = united(rows, bound.keys), False
        check = given.get("check", "strict")
        return cls(
            rows=rows,
            impressions=impressions,
            keys=bound.keys,
            key_names=keys,
            carried=carried,
            by=several(given.get("by")),
            cluster=several(given.get("cluster")),
            weight=given.get("weight"),
            roles=own_roles | {r: given[r] for r in CARRIED if r in given},
            rules=tuple(broken),
            faulty=faulty if as_read else pl.col("fault") > 0,
            check="strict" if check == "full" else check,
            every_document=check == "full",
            layout=given.get("layout", "auto"),
            resources=Resources.of(
                given.get("memory_limit"), given.get("temp_dir"), given.get("progress")
            ),
            small=isinstance(frame, pl.DataFrame) and len(frame) <= IN_MEMORY_ROWS,
            user_column=_user_column(given, schema, keys),
        )

    def breaking(self, conditions: Mapping[Rule, pl.Expr]) -> ClickLog:
        """Add further rules, broken by rows where their condition holds."""
        rules, faulty, fault = list(self.rules), self.faulty, pl.col("fault")
        for rule, condition in conditions.items():
            faulty = faulty | condition
            rules.append(rule)
            number = pl.lit(len(rules), pl.UInt8)
            fault = pl.when((fault == 0) & condition).then(number).otherwise(fault)
        rows = self.rows.with_columns(fault=fault)
        return replace(self, rows=rows, rules=tuple(rules), faulty=faulty)

    @property
    def times(self) -> pl.Expr:
        """Return how often an impression counts: its weight, or once."""
        if self.weight is None:
            return pl.lit(1, pl.Int64)
        return pl.col(self.carried[self.weight]).cast(pl.Float64)

    @property
    def segments(self) -> dict[str, pl.Expr]:
        """Return the columns of ``by``, under names that no column of a user has."""
        return {f"by:{i}": pl.col(own) for i, own in enumerate(self.own(self.by))}

    @property
    def _units(self) -> list[str]:
        return self.own(self.cluster) or [*self.keys] or ["query"]

    @property
    def clusters(self) -> dict[str, pl.Expr]:
        """Return what identifies the independent units; default: the impression."""
        return {f"cluster{i}": pl.col(name) for i, name in enumerate(self._units)}

    @property
    def is_each_alone(self) -> bool:
        """Return whether each impression is a unit of its own."""
        return {*self._units} == {*self.keys}

    @property
    def types(self) -> dict[str, pl.DataType]:
        """Return the types of all columns, those that impressions alone have, too."""
        known = None if self.impressions is None else self.impressions.collect_schema()
        return {**self.rows.collect_schema(), **(known or {})}

    def titled(self, frame: F) -> F:
        """Return a result under the user's names of the segments."""
        return frame.rename(dict(zip(self.segments, self.by, strict=True)))

    def own(self, names: Sequence[str]) -> list[str]:
        """Return our names of columns that are constant within an impression."""
        return [self.carried[name] for name in names]


def _watched_if_from_0(rows: pl.LazyFrame, given: Mapping[str, Any]) -> pl.LazyFrame:
    """Watch positions, where they are said to begin with 0."""
    zero = given.get("first_position") == 0 and given.get("check") != "off"
    whole = is_rereadable(rows) and "temp_dir" not in given
    return watched(rows) if zero and whole else rows


def _user_column(
    given: Mapping[str, Any], schema: pl.Schema, keys: Sequence[str]
) -> str | None:
    """Return the column that is named, or the first that looks like users."""
    users = (name for name in USERS if name in schema and name not in keys)
    return cast("str | None", given.get("user", next(users, None)))


def _constant_within(
    given: Mapping[str, Any],
    schema: pl.Schema,
    roles: Mapping[str, str],
    keys: Sequence[str],
) -> tuple[list[str], list[str]]:
    """List columns that are constant within an impression: here, elsewhere.

    The others are those that only ``impressions=`` has.
    """
    named = [*several(given.get("by")), *several(given.get("cluster"))]
    named += several(given.get("weight"))
    named += [roles[role] for role in CARRIED if role in roles]
    named = [name for name in dict.fromkeys(named) if name not in keys]
    known = _columns_of(given.get("impressions"))
    inside = [name for name in named if name in schema or name not in known]
    return inside, [name for name in named if name not in inside]


def _columns_of(impressions: Any) -> set[str]:
    return set() if impressions is None else {*impressions.lazy().collect_schema()}


def _require_columns(
    given: Mapping[str, Any],
    schema: pl.Schema,
    credits: Sequence[str],
    columns: Mapping[str, str],
) -> None:
    """Raise an error that names the argument of a column that is missing, or unfit."""
    known = _columns_of(given.get("impressions"))
    for argument in ("by", "cluster", "weight", *CARRIED):
        missing = [n for n in several(given.get(argument)) if n not in known]
        require_columns(missing, schema, where="the log", argument=argument)
    for name in credits:
        bind_column("credit", name, schema, where="the log")
    for own, name in columns.items():
        argument = own.rstrip("0123456789")
        require_columns([name], schema, where="the log", argument=argument)
        bind_column(argument, name, schema, where="the log")
    for role in (*CARRIED, "weight"):
        if role in given and given[role] in schema:
            bind_column(role, given[role], schema, where="the log")


def _bind_impressions(
    frame: pl.LazyFrame,
    names: tuple[str, ...],
    carried: dict[str, str],
    rows: pl.LazyFrame,
    keys: Sequence[str],
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """Bind all impressions, one row each, with ids of the types of the log."""
    where = "impressions"
    schema = frame.collect_schema()
    known = [n for n in carried if n in schema and n not in names]
    require_columns(names, schema, where=where, argument="impression")
    bound = bind_columns(
        frame,
        Columns(names, {}),
        where=where,
        roles=(),
        carry={carried[name]: name for name in known},
        key="impression",
    ).frame
    ids = dict(zip(keys, names, strict=True))
    bound, rows = align_ids(bound, rows, ids, where=(where, "the log"))
    own = [carried[n] for n in known]
    once = bound.group_by(keys).agg(*(pl.col(c).first() for c in own), copies=pl.len())
    return once, rows.drop(own, strict=False)
