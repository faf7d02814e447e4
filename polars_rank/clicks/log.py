"""A click log: the roles of its columns, and the rules that its rows must keep.

One row per document that an impression showed. Every function of this package takes
the same columns and options, and binds them here.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypedDict, cast, get_args

import polars as pl

from polars_rank._engine.checks.enforce import Check
from polars_rank._engine.opening import IN_MEMORY_ROWS
from polars_rank._engine.request import AnyFrame, Layout, Resources
from polars_rank._engine.schema import (
    Columns,
    align_ids,
    bind_column,
    bind_columns,
    require_columns,
)
from polars_rank._engine.spill.progress import Progress
from polars_rank.core.parameters import Range, read_hint
from polars_rank.core.registry import closest
from polars_rank.core.rules import (
    CLICK_BEFORE_IMPRESSION,
    INVALID_CLICK,
    INVALID_DWELL,
    INVALID_POSITION,
    INVALID_PROPENSITY,
    NULL_ARM,
    NULL_DOC,
    NULL_IMPRESSION,
    NULL_QUERY,
    Rule,
)

__all__ = ["UBI", "ClickLog", "LogColumns", "LogOptions"]


class LogColumns(TypedDict, total=False):
    """The columns of a log, by role."""

    impression: str | Sequence[str]
    query: str
    doc: str
    position: str
    page: str
    clicked: str
    count: str
    dwell: str
    time: str
    clicked_at: str
    user: str
    session: str
    team: str
    arm: str
    propensity: str
    seen: str
    flag: str


class LogOptions(LogColumns, total=False):
    """Columns and options that all functions of click logs share.

    Attributes
    ----------
    impression
        Columns that identify an impression: one list of results, as one user saw it.
        Default ``impression_id``.
    query, doc, position, clicked
        Columns of the query, the document, its 1-based place, and whether it was
        clicked (Boolean, or 0 and 1). Defaults ``query_id``, ``doc_id``, ``position``
        and ``clicked``. Functions that need no query or document do without.
    page, page_size
        Column with the 1-based number of the page, and the number of positions per
        page, if positions begin anew on every page.
    count
        Of a log of totals: column with the number of impressions of a query, document
        and position; ``clicked`` is the number of clicks then.
    dwell
        Column with the seconds (or Duration) that a click lasted; null: unknown.
    time, clicked_at
        Columns with the time of the impression, and of the click: Datetime, or
        seconds.
    user, session, team, arm, propensity, flag
        Columns with the user and the session; the ranker that put the document into an
        interleaved list; the arm of an experiment; the probability that the position is
        examined; whether an impression was answered without a click.
    seen
        Boolean column: only rows where it is true are used, e.g. those that were in
        the viewport.
    by
        Columns, constant within an impression, that split the result.
    weight
        Column with the weight of an impression.
    cluster
        Columns that identify the independent units, usually the users. Default: the
        impression, which gives intervals that are far too short if users come back.
    impressions
        A frame with one row for each impression, with or without results: its
        ``impression`` columns, and those of ``by``, ``weight``, ``cluster``, ``user``
        and ``arm`` that it knows better than the log. Without it, impressions without
        results have no row, so they do not count.
    first_position
        0 if positions count from 0; results count from 1.
    clicked_null
        ``"zero"``: null is no click; else an error.
    on_duplicate
        ``"first"``: of the rows of a document within an impression keep the upper one,
        clicked if one of them was.
    check
        ``"strict"`` raises an error for rows that break a rule, ``"warn"`` warns,
        ``"off"`` does not check; ``"full"`` also finds duplicate documents within an
        impression where no measure depends on them.
    layout, memory_limit, temp_dir, progress
        As in :func:`polars_rank.evaluate`, for the rows of an impression.
    """

    page_size: int
    by: str | Sequence[str]
    weight: str
    cluster: str | Sequence[str]
    impressions: AnyFrame
    first_position: Literal[0, 1]
    clicked_null: Literal["error", "zero"]
    on_duplicate: Literal["error", "first"]
    check: Check
    layout: Layout
    memory_limit: int | str
    temp_dir: str | Path
    progress: Callable[[Progress], object]


UBI: LogColumns = {
    "impression": "query_id",
    "query": "user_query",
    "doc": "object_id",
    "position": "ordinal",
    "user": "client_id",
}
"""Columns of OpenSearch User Behavior Insights, unnested: ``**UBI``.

Its ``query_id`` is the id of a search event: an impression.
"""

DEFAULTS: LogColumns = {
    "impression": "impression_id",
    "query": "query_id",
    "doc": "doc_id",
    "position": "position",
    "clicked": "clicked",
}
USERS = ("user_id", "client_id")  # columns that look like one of users
CHOICES = {
    "first_position": (0, 1),
    "clicked_null": ("error", "zero"),
    "on_duplicate": ("error", "first"),
    "check": get_args(Check),
    "layout": get_args(Layout),
}
ROWS = (
    *("query", "doc", "position", "page", "clicked", "count", "dwell", "time"),
    *("clicked_at", "team", "propensity", "seen", "flag"),
)
CARRIED = ("user", "session", "arm")  # constant within an impression


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
    check: Check
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
        _require_options(given, totals=totals)
        if not isinstance(frame, pl.DataFrame | pl.LazyFrame):
            msg = (
                "the log must be a polars DataFrame or LazyFrame, not "
                f"{type(frame).__name__}; wrap it with pl.DataFrame(...)"
            )
            raise TypeError(msg)
        log = frame.lazy()
        schema = log.collect_schema()
        summed = "count" in given
        roles = _roles(given, schema, {*needs, "position", "clicked"})
        keys = () if summed else _several(given.get("impression", "impression_id"))
        by, cluster = _several(given.get("by")), _several(given.get("cluster"))
        named = [*by, *cluster, *([given["weight"]] if "weight" in given else [])]
        named += [roles.pop(role) for role in CARRIED if role in roles]
        named = [name for name in dict.fromkeys(named) if name not in keys]
        known = given.get("impressions")
        outside = set() if known is None else set(known.lazy().collect_schema())
        inside = [n for n in named if n in schema or n not in outside]
        for name in credits:
            bind_column("credit", name, schema, where="the log")
        for own, name in columns.items():
            argument = own.rstrip("0123456789")
            require_columns([name], schema, where="the log", argument=argument)
        bound = bind_columns(
            log,
            Columns(keys, roles),
            where="the log",
            roles=ROWS,
            carry={f"by{i}": name for i, name in enumerate(inside)}
            | {f"credit{i}": name for i, name in enumerate(credits)}
            | {**columns},
            key="impression",
        )
        carried = {name: f"by{i}" for i, name in enumerate(inside)}
        carried |= {
            n: f"by{len(inside) + i}"
            for i, n in enumerate(n for n in named if n not in inside)
        }
        carried |= {name: f"key{i}" for i, name in enumerate(keys)}
        for role in CARRIED:
            if role in given and given[role] in schema:
                bind_column(role, given[role], schema, where="the log")
        if "weight" in given and given["weight"] in schema:
            bind_column("weight", given["weight"], schema, where="the log")
        arm = carried[given["arm"]] if "arm" in given else None
        rows, rules = _clean(bound.frame, given, bound.keys, arm)
        impressions = None
        if known is not None:
            impressions, rows = _bind_impressions(
                known.lazy(), keys, carried, rows, bound.keys
            )
        if given.get("on_duplicate") == "first":
            rows = _united(rows, bound.keys)
        users = [name for name in USERS if name in schema and name not in keys]
        return cls(
            rows=rows,
            impressions=impressions,
            keys=bound.keys,
            key_names=keys,
            carried=carried,
            by=by,
            cluster=cluster,
            weight=given.get("weight"),
            roles=roles | {r: given[r] for r in CARRIED if r in given},
            rules=rules,
            check=given.get("check", "strict"),
            layout=given.get("layout", "auto"),
            resources=Resources.of(
                given.get("memory_limit"), given.get("temp_dir"), given.get("progress")
            ),
            small=isinstance(frame, pl.DataFrame) and len(frame) <= IN_MEMORY_ROWS,
            user_column=given.get("user", users[0] if users else None),
        )

    def own(self, names: Sequence[str]) -> list[str]:
        """Our names of columns that are constant within an impression."""
        return [self.carried[name] for name in names]


def _require_options(given: dict[str, Any], *, totals: bool) -> None:
    """Raise an error for unknown options, and for values that they cannot have."""
    known = LogOptions.__annotations__ | LogColumns.__annotations__
    for name in given:
        if name not in known:
            msg = f"unexpected keyword argument {name!r}{closest(name, [*known])}"
            raise TypeError(msg)
    for name, choices in CHOICES.items():
        if given.get(name, choices[0]) not in choices:
            allowed = ", ".join(map(str, choices))
            msg = f"{name} must be one of {allowed}, not {given[name]!r}"
            raise ValueError(msg)
    if ("page" in given) != ("page_size" in given):
        msg = "page= and page_size= belong together: give both"
        raise ValueError(msg)
    if "page_size" in given:
        size = read_hint("page_size", Annotated[int, Range(least=1)])
        size.check(given["page_size"])
    if "impression" in given and not _several(given["impression"]):
        msg = "impression must name at least one column"
        raise ValueError(msg)
    if "count" in given and not totals:
        msg = (
            "count= says that the log has totals, but this looks at each impression: "
            "give one row per shown document"
        )
        raise ValueError(msg)


def _several(names: str | Sequence[str] | None) -> tuple[str, ...]:
    return (names,) if isinstance(names, str) else tuple(names or ())


def _roles(
    given: dict[str, Any], schema: pl.Schema, needs: Collection[str]
) -> dict[str, str]:
    """The column of each role: as given, or by its usual name if there is one."""
    roles = {name: given[name] for name in (*ROWS, *CARRIED) if name in given}
    for role, column in DEFAULTS.items():
        if (
            role != "impression"
            and role not in roles
            and (role in needs or column in schema)
        ):
            roles[role] = cast("str", column)
    for role in needs:
        if role not in roles and role != "impression":
            msg = f"this needs the column of {role}: name it with {role}="
            raise ValueError(msg)
    return roles


def _clean(
    rows: pl.LazyFrame, given: dict[str, Any], keys: Sequence[str], arm: str | None
) -> tuple[pl.LazyFrame, tuple[Rule, ...]]:
    """Positions from 1, clicks as 0 and 1, seconds; and which rule a row breaks."""
    schema = rows.collect_schema()
    if "seen" in schema:
        rows = rows.filter("seen").drop("seen")
    position = pl.col("position").cast(pl.Int32, strict=False)
    if "page" in schema:
        before = (pl.col("page").cast(pl.Int32, strict=False) - 1) * given["page_size"]
        position = position + before
    if given.get("first_position") == 0:
        position = position + 1
    clicked = _clicks(schema, given)
    columns = {"position": position, "clicked": clicked}
    for name in ("dwell", "time", "clicked_at"):
        if name in schema:
            columns[name] = _seconds(pl.col(name), schema[name])
    if "time" in schema and "clicked_at" in schema:
        columns["wait"] = _wait(schema)
    rows = rows.with_columns(**columns).drop("page", strict=False)
    at, click = pl.col("position"), pl.col("clicked")
    most = pl.col("count") if "count" in schema else 1
    broken: dict[Rule, pl.Expr] = {}
    if keys:
        broken[NULL_IMPRESSION] = pl.any_horizontal(pl.col(keys).is_null())
    broken[INVALID_POSITION] = at.is_null() | (at < 1)
    broken[INVALID_CLICK] = click.is_null() | (click < 0) | (click > most)
    for name, rule in (("query", NULL_QUERY), ("doc", NULL_DOC)):
        if name in schema:
            broken[rule] = pl.col(name).is_null()
    if "dwell" in schema:
        dwell = pl.col("dwell")
        broken[INVALID_DWELL] = (dwell < 0) | ~dwell.is_finite()
    if "wait" in columns:
        broken[CLICK_BEFORE_IMPRESSION] = pl.col("wait") < 0
    if "propensity" in schema:
        p = pl.col("propensity").cast(pl.Float64)
        broken[INVALID_PROPENSITY] = ~((p > 0) & (p <= 1)).fill_null(value=False)
    if arm in schema:
        broken[NULL_ARM] = pl.col(cast("str", arm)).is_null()
    fault = pl.lit(0, pl.UInt8)
    for i, condition in reversed([*enumerate(broken.values(), start=1)]):
        fault = pl.when(condition).then(pl.lit(i, pl.UInt8)).otherwise(fault)
    return rows.with_columns(fault=fault), tuple(broken)


def _clicks(schema: pl.Schema, given: dict[str, Any]) -> pl.Expr:
    """Clicks as integers; what is no whole number becomes -1."""
    clicked, dtype = pl.col("clicked"), schema["clicked"]
    if dtype.is_float() or dtype.is_decimal():
        whole = clicked.cast(pl.Int64, strict=False)
        clicked = pl.when(clicked.is_not_null()).then(
            pl.when(whole == clicked).then(whole).otherwise(-1)
        )
    small = pl.Int8 if dtype == pl.Boolean else pl.Int32
    clicked = clicked.cast(pl.Int64 if "count" in schema else small, strict=False)
    return clicked.fill_null(0) if given.get("clicked_null") == "zero" else clicked


def _seconds(column: pl.Expr, dtype: pl.DataType) -> pl.Expr:
    """Of a length of time; of a moment, since 1970."""
    if dtype == pl.Duration:
        return column.dt.total_nanoseconds() / 1e9
    if dtype.is_temporal():
        return column.dt.epoch("us") / 1e6
    return column.cast(pl.Float64)


def _wait(schema: pl.Schema) -> pl.Expr:
    """Seconds from the impression to the click."""
    start, end = schema["time"], schema["clicked_at"]
    if pl.Null in (start, end):
        return pl.lit(None, pl.Float64)
    if start.is_temporal() != end.is_temporal():
        msg = (
            f"time= is {start} but clicked_at= is {end}; both must be Datetime, or "
            "both seconds"
        )
        raise TypeError(msg)
    wait = pl.col("clicked_at") - pl.col("time")
    return _seconds(wait, pl.Duration() if start.is_temporal() else start)


def _bind_impressions(
    frame: pl.LazyFrame,
    names: tuple[str, ...],
    carried: dict[str, str],
    rows: pl.LazyFrame,
    keys: Sequence[str],
) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    """All impressions, one row each, with ids of the same type as those of the log."""
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


def _united(rows: pl.LazyFrame, keys: Sequence[str]) -> pl.LazyFrame:
    """Keep one row per document of an impression: the upper one, with clicks united."""
    if "doc" not in rows.collect_schema():
        msg = 'on_duplicate="first" needs the column of documents: name it with doc='
        raise ValueError(msg)
    merged = {"clicked": "max", "dwell": "max", "clicked_at": "min", "fault": "max"}
    upper = pl.col("position").arg_min()
    on = [*keys, "doc"]
    values = [
        getattr(pl.col(name), merged[name])()
        if name in merged
        else pl.col(name).min()
        if name == "position"
        else pl.col(name).get(upper)
        for name in rows.collect_schema()
        if name not in on
    ]
    return rows.group_by(on, maintain_order=True).agg(values)
