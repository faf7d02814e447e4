"""Enforce rules: an error or a warning, from a handful of counts."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Literal, TypeAlias, TypeVar

import polars as pl

from polars_rank.core.fork import note_run
from polars_rank.core.rules import Rule
from polars_rank.exceptions import DataError, DataWarning

PASSES = pl.Series([True])

Check: TypeAlias = Literal["strict", "warn", "off"]
Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


def passed(
    frame: Frame,
    columns: Iterable[str | pl.Expr],
    passes: Callable[[Sequence[pl.Series]], pl.Series],
    *,
    at_once: bool = False,
) -> Frame:
    """Return the rows that pass a function of the columns, which may raise instead.

    Of a plan, it is a filter, so that it runs whatever columns are selected later; it
    claims to be elementwise, so that the filter streams, unless all rows are to be
    checked ``at_once``: Polars 2.1 then collects them for one call. Of rows that are at
    hand, which pass all or none, it is called on the spot.
    """
    if isinstance(frame, pl.DataFrame):
        passes(_values(frame, columns))
        return frame
    sound = pl.map_batches(
        list(columns), passes, return_dtype=pl.Boolean, is_elementwise=not at_once
    )
    return frame.filter(sound)


def _values(frame: pl.DataFrame, columns: Iterable[str | pl.Expr]) -> list[pl.Series]:
    given = list(columns)
    if all(isinstance(column, str) for column in given):
        return [frame.get_column(str(column)) for column in given]
    exprs = (pl.col(c) if isinstance(c, str) else c for c in given)
    return frame.select_seq(e.alias(str(i)) for i, e in enumerate(exprs)).get_columns()


def enforce(
    frame: Frame,
    rules: Mapping[str, Rule],
    *,
    example: str | pl.Expr,
    check: Check,
    exact_counts: bool,
    unit: str = "query",
    at_once: bool = False,
) -> Frame:
    """Pass the frame only if every column of ``rules`` (column -> rule) is 0.

    ``example`` names the column of the place: a query, or a struct with a field for
    each column. A frame with one row per query is checked batch by batch, as its rows
    pass, so counts are those of the first batch at fault; with ``exact_counts``, each
    row has the total counts. Rows checked ``at_once`` break the same rule first however
    they come. The message calls examples a ``unit``.
    """
    columns = _enforced(rules, check)
    if not columns:
        return frame
    warned: dict[str, object] = {}  # of several threads: the first to tell of a rule

    def passes(series: Sequence[pl.Series]) -> pl.Series:
        note_run()
        where, *counts = series
        for name, count in zip(columns, counts, strict=True):
            rule, broken = rules[name], int(count.sum() or 0)
            warns = check == "warn" and not rule.always
            # A warning comes once; an error each time the frame is collected.
            if broken and not (warns and warned.setdefault(name, series) is not series):
                at_fault = where.filter(count > 0)
                examples = examples_of(at_fault, name)
                report(
                    rule, broken, examples, exact=exact_counts, warns=warns, unit=unit
                )
        return PASSES.new_from_index(0, len(where))  # pl.repeat would collect a plan

    return passed(frame, chain([example], columns), passes, at_once=at_once)


def _enforced(rules: Mapping[str, Rule], check: Check) -> list[str]:
    return [name for name, rule in rules.items() if rule.always or check != "off"]


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
    examples = examples if rule.of_query else ()
    shown = ", ".join(map(repr, examples))
    counted = f"{count} found" if exact else f"at least {count} found"
    where = f", e.g. in {unit} {shown}" if shown else ""
    message = f"{rule.told} ({counted}{where})"
    error = DataError(message, rule=rule.name, count=count, examples=examples)
    raise_or_warn(error, warns=warns)


def raise_or_warn(error: DataError, *, warns: bool) -> None:
    """Raise the error, or give it as a warning."""
    if not warns:
        raise error
    warn(str(error))


def warn(message: str) -> None:
    """Warn about data, without a source line of this package.

    Python shows equal warnings once, but they may concern other data, so each
    evaluation shows its own.
    """
    warnings.warn_explicit(
        message, DataWarning, "polars_rank", 1, module="polars_rank", registry={}
    )


def examples_of(queries: pl.Series, column: str = "") -> list[object]:
    """Return some queries; of structs, the field ``column`` if they have it."""
    if isinstance(queries.dtype, pl.Struct) and column in queries.struct.fields:
        queries = queries.struct.field(column)
    found = queries.drop_nulls().unique(maintain_order=True).head(5).to_list()
    return [tuple(key.values()) if isinstance(key, dict) else key for key in found]
