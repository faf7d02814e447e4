"""Define the columns and options that all functions of click logs share."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypedDict, cast, get_args

import polars as pl

from polars_rank._engine.options import Layout
from polars_rank._engine.request import AnyFrame
from polars_rank._engine.spill.progress import Progress
from polars_rank.core.metric.registry import closest
from polars_rank.core.parameters import Range, read_hint, refuse

Count: TypeAlias = Annotated[int, Range(least=1)]
LogCheck: TypeAlias = Literal["strict", "warn", "off", "full"]


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
        examined; whether an impression was answered without a click. Measures of
        sessions refuse a null session, as ``cluster`` does a null user.
    seen
        Boolean column: only rows where it is true are used, e.g. those that were in
        the viewport.
    by
        Columns, constant within an impression, that split the result.
    weight
        Column with the weight of an impression. Whole weights give the estimates of as
        many copies, and the errors of copies in the cluster of their original; counts,
        such as ``impressions`` and ``clicks``, are of the log as it is. So are numbers
        ``n`` of clusters: one of weight 0 counts, and errors have the factor
        ``sqrt((n - 1) / n)``; filter it to leave it out.
    cluster
        Columns that identify the independent units, usually the users. Default: the
        impression, which gives intervals that are far too short if users come back.
        Null is an error, since unknown users are not one user: give each such
        impression a value of its own, made of its id, or drop it.
    impressions
        A frame with one row for each impression, with or without results: its
        ``impression`` columns, and those of ``by``, ``weight``, ``cluster``, ``user``,
        ``session`` and ``arm`` that it knows better than the log. Without it,
        impressions without results have no row, so they do not count.
    first_position
        0 if positions count from 0; results count from 1. There is a warning if no
        position of the log is 0.
    clicked_null
        ``"zero"``: null is not a click; else an error.
    on_duplicate
        ``"first"``: of the rows of a document within an impression keep the upper one,
        clicked or flagged if one of them was, with the earliest click and the longest
        dwell time.
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
    check: LogCheck
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
    "check": get_args(LogCheck),
    "layout": get_args(Layout),
}
CONTENTS = {  # of columns, where the name of the argument does not say
    "query": "queries",
    "doc": "documents",
    "dwell": "dwell times",
    "time": "the times of impressions",
    "clicked_at": "the times of clicks",
    "user": "user ids",
    "session": "session ids",
    "flag": "whether the results answered the query without a click",
    "randomized": "whether the list was shuffled",
    "swap": "the position that the document was to change places with",
}
ROWS = (
    *("query", "doc", "position", "page", "clicked", "count", "dwell", "time"),
    *("clicked_at", "team", "propensity", "seen", "flag"),
)
CARRIED = ("user", "session", "arm")  # constant within an impression


def require_options(given: dict[str, Any], *, totals: bool) -> None:
    """Raise an error for unknown options, and for values that they cannot have."""
    known = LogOptions.__annotations__ | LogColumns.__annotations__
    for name in given:
        if name not in known:
            msg = f"unexpected keyword argument {name!r}{closest(name, [*known])}"
            raise TypeError(msg)
    for name, choices in CHOICES.items():
        if given.get(name, choices[0]) not in choices:
            refuse(name, f"one of {', '.join(map(str, choices))}", given[name])
    if ("page" in given) != ("page_size" in given):
        msg = "page= and page_size= belong together: give both"
        raise ValueError(msg)
    if "page_size" in given:
        require_arguments(page_size=(Count, given["page_size"]))
    if "impression" in given and not several(given["impression"]):
        msg = "impression must name at least one column"
        raise ValueError(msg)
    if "count" in given and not totals:
        msg = (
            "count= says that the log has totals, but this looks at each impression: "
            "give one row per shown document"
        )
        raise ValueError(msg)


def require_arguments(**given: tuple[Any, object]) -> None:
    """Raise an error for the first argument that its type hint does not allow."""
    for name, (hint, value) in given.items():
        read_hint(name, hint).check(value)


def refuse_options(
    given: Mapping[str, Any], names: Sequence[str], message: str
) -> None:
    """Raise an error for options that would be without effect."""
    for name in names:
        if given.get(name) is not None:
            raise ValueError(message.format(name=name))


def require_distinct(columns: Sequence[str]) -> None:
    """Raise an error for output columns of one name."""
    if twice := sorted({name for name in columns if columns.count(name) > 1}):
        msg = (
            f"two output columns would be called {', '.join(map(repr, twice))}; rename "
            "the input column or the measure"
        )
        raise ValueError(msg)


def column_of(role: str) -> str:
    """Say what a column holds, and the argument that names it, for messages."""
    return f"a column with {CONTENTS.get(role, role)}: name it with {role}="


def several(names: str | Sequence[str] | None) -> tuple[str, ...]:
    """List the names of one or several columns."""
    return (names,) if isinstance(names, str) else tuple(names or ())


def roles_of(
    given: dict[str, Any], schema: pl.Schema, needs: Collection[str]
) -> dict[str, str]:
    """Return the column of each role: as given, or by its usual name."""
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
            msg = f"this needs {column_of(role)}"
            raise ValueError(msg)
    return roles
