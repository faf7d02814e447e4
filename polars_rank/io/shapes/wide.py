"""Tables with a column for each system, as one row per query and system."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import polars as pl

from polars_rank.core.metric.registry import closest
from polars_rank.io.frames import EagerFrameLike, FrameLike, as_polars


@overload
def from_wide(
    table: pl.LazyFrame,
    measure: str = "value",
    *,
    query: str | Sequence[str] = "query_id",
    systems: Sequence[str] | None = None,
) -> pl.LazyFrame: ...
@overload
def from_wide(
    table: EagerFrameLike,
    measure: str = "value",
    *,
    query: str | Sequence[str] = "query_id",
    systems: Sequence[str] | None = None,
) -> pl.DataFrame: ...
def from_wide(
    table: FrameLike,
    measure: str = "value",
    *,
    query: str | Sequence[str] = "query_id",
    systems: Sequence[str] | None = None,
) -> pl.LazyFrame | pl.DataFrame:
    """Make values for a comparison from a table of topics by systems.

    Parameters
    ----------
    table
        One row per query, one column per system.
    measure
        Name of the column of values in the result: the measure that they are of.
    query
        The columns that tell queries apart.
    systems
        The columns of systems. Default: all others, which must then be numeric.

    Returns
    -------
    ``query``, ``system`` and ``measure``, one row per query and system: a LazyFrame for
    a LazyFrame, a DataFrame otherwise.

    Raises
    ------
    polars.exceptions.ColumnNotFoundError
        If a column does not exist.
    TypeError
        If a column of a system has no numbers, or the measure is no text.
    ValueError
        If there are fewer than two systems, one is named twice, or names clash.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> table = pl.DataFrame(
    ...     {"query_id": [1, 2, 3], "bm25": [0.2, 0.4, 0.3], "dense": [0.3, 0.4, 0.8]}
    ... )
    >>> values = pr.from_wide(table, "ndcg@10")
    >>> values.head(2).rows()
    [(1, 'bm25', 0.2), (2, 'bm25', 0.4)]
    >>> pr.compare(values).means["system"].to_list()
    ['bm25', 'dense']
    """
    if not isinstance(measure, str):
        msg = (
            f"measure= is the name of a column, not {measure!r}; give its text, e.g. "
            "'ndcg@10'"
        )
        raise TypeError(msg)
    rows = as_polars(table, name="the table").lazy()
    schema = rows.collect_schema()
    keys = [query] if isinstance(query, str) else list(query)
    wanted = [n for n in schema if n not in keys] if systems is None else [*systems]
    for argument, names in (("query", keys), ("systems", wanted)):
        for name in names:
            if name not in schema:
                near = closest(name, [*schema]) or "."
                msg = (
                    f"{argument} column {name!r} is not in the table{near} Its columns "
                    f"are: {', '.join(map(repr, schema))}. Name yours with {argument}=."
                )
                raise pl.exceptions.ColumnNotFoundError(msg)
    if odd := [name for name in wanted if not schema[name].is_numeric()]:
        msg = (
            f"column {odd[0]!r} is {schema[odd[0]]}, but values of a system are "
            "numbers; name the columns of systems with systems="
        )
        raise TypeError(msg)
    if twice := next((name for name in wanted if wanted.count(name) > 1), None):
        msg = f"systems= names {twice!r} twice; name each column once"
        raise ValueError(msg)
    if len(wanted) < 2:
        found = ", ".join(map(repr, wanted)) or "none"
        msg = f"a comparison needs columns of two systems or more, not {found}"
        raise ValueError(msg)
    names = [*keys, "system", measure]
    if clash := next((name for name in names if names.count(name) > 1), None):
        msg = f"two columns would be called {clash!r}; give one of them another name"
        raise ValueError(msg)
    values = rows.select(*keys, pl.col(wanted).cast(pl.Float64)).unpivot(
        wanted, index=keys, variable_name="system", value_name=measure
    )
    if isinstance(table, pl.LazyFrame):
        return values
    return values.collect(engine="in-memory")  # system by system
