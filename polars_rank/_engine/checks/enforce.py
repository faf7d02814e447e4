"""Rules enforced: an error or a warning on a handful of counts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import polars as pl

from polars_rank._engine.schema import Column, has_column, renamed
from polars_rank.core.fork import note_run
from polars_rank.core.rules import NO_COMMON_QUERY, Rule
from polars_rank.exceptions import DataError

__all__ = ["Check", "enforce", "raise_or_warn", "report", "require_common_queries"]

Check: TypeAlias = Literal["strict", "warn", "off", "full"]


def enforce(
    frame: pl.LazyFrame,
    rules: Mapping[str, Rule],
    *,
    example: str,
    check: Check,
    exact_counts: bool,
    unit: str = "query",
) -> pl.LazyFrame:
    """Let the frame pass only if no column of ``rules`` (column -> rule) counts any.

    ``example`` names the column that tells where: a query, or a struct with a field
    for each column. A frame of one row per query is checked batch by batch, as its rows
    pass, so counts are those of the first batch at fault; with ``exact_counts`` its
    rows have all counts. The message calls examples a ``unit``. Being a filter, the
    check runs whatever columns are asked for later.
    """
    columns = [name for name, rule in rules.items() if rule.always or check != "off"]
    if not columns:
        return frame
    warned: set[str] = set()

    def passes(series: Sequence[pl.Series]) -> pl.Series:
        note_run()
        where, *counts = series
        for name, count in zip(columns, counts, strict=True):
            rule, broken = rules[name], int(count.sum() or 0)
            warns = check == "warn" and not rule.always
            # A warning comes once; an error each time the frame is collected.
            if broken and not (warns and name in warned):
                warned.add(name)
                examples = _examples(where, count > 0, name)
                report(
                    rule, broken, examples, exact=exact_counts, warns=warns, unit=unit
                )
        return pl.repeat(True, len(where), dtype=pl.Boolean, eager=True)

    sound = pl.map_batches(
        [example, *columns], passes, return_dtype=pl.Boolean, is_elementwise=True
    )
    return frame.filter(sound)


def require_common_queries(
    run: tuple[pl.LazyFrame, Sequence[Column]],
    qrels: tuple[pl.LazyFrame, Sequence[Column]],
    check: Check,
) -> pl.Expr:
    """True; or an error if judged queries exist and none of them is in the run.

    Each side is a frame and its query columns.
    """

    def passes(columns: Sequence[pl.Series]) -> pl.Series:
        retrieved, judged = columns
        if judged.sum() and not retrieved.sum():
            sides = {"run": _first_ids(*run), "qrels": _first_ids(*qrels)}
            message = NO_COMMON_QUERY.message.format(**sides)
            raise_or_warn(
                DataError(message, rule=NO_COMMON_QUERY.name), warns=check == "warn"
            )
        return pl.repeat(True, len(retrieved), dtype=pl.Boolean, eager=True)

    return pl.map_batches(
        [pl.col("retrieved").count(), pl.col("judged").sum()],
        passes,
        return_dtype=pl.Boolean,
        is_elementwise=True,
    )


def report(
    rule: Rule,
    count: int,
    examples: Sequence[object],
    *,
    exact: bool,
    warns: bool,
    unit: str = "query",
) -> None:
    """Raise the error, or warn instead."""
    shown = ", ".join(map(_shown, examples))
    counted = f"{count} found" if exact else f"at least {count} found"
    where = f", e.g. in {unit} {shown}" if shown else ""
    message = f"{rule.message} ({counted}{where})"
    error = DataError(message, rule=rule.name, count=count, examples=examples)
    raise_or_warn(error, warns=warns)


def raise_or_warn(error: DataError, *, warns: bool) -> None:
    """Raise the error, or say it as a warning."""
    if not warns:
        raise error
    warnings.warn(str(error), UserWarning, stacklevel=2)


def _first_ids(frame: pl.LazyFrame, query: Sequence[Column]) -> str:
    """Some ids for a message; read only when the message is needed."""
    schema = frame.collect_schema()
    known = [
        renamed(c, f"key{i}") for i, c in enumerate(query) if has_column(c, schema)
    ]
    ids = frame.select(known).head(100).collect()
    rows = ids.unique(maintain_order=True).head(3).rows()
    shown = (repr(row[0] if len(row) == 1 else row) for row in rows)
    return ", ".join(shown) or "nothing"


def _examples(where: pl.Series, broken: pl.Series, column: str) -> list[object]:
    queries = where.filter(broken)
    if isinstance(queries.dtype, pl.Struct) and column in queries.struct.fields:
        queries = queries.struct.field(column)
    return queries.drop_nulls().head(5).to_list()


def _shown(query: object) -> str:
    if isinstance(query, dict):
        return "(" + ", ".join(map(repr, query.values())) + ")"
    return repr(query)
