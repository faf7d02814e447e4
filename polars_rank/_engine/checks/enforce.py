"""Enforce rules: an error or a warning, from a handful of counts."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Literal, TypeAlias

import polars as pl

from polars_rank.core.fork import note_run
from polars_rank.core.rules import Rule
from polars_rank.exceptions import DataError, DataWarning

PASSES = pl.Series([True])

Check: TypeAlias = Literal["strict", "warn", "off"]


def enforce(
    frame: pl.LazyFrame,
    rules: Mapping[str, Rule],
    *,
    example: str | pl.Expr,
    check: Check,
    exact_counts: bool,
    unit: str = "query",
) -> pl.LazyFrame:
    """Pass the frame only if every column of ``rules`` (column -> rule) is 0.

    ``example`` names the column of the place: a query, or a struct with a field for
    each column. A frame with one row per query is checked batch by batch, as its rows
    pass, so counts are those of the first batch at fault; with ``exact_counts``, each
    row has the total counts. The message calls examples a ``unit``. As the check is a
    filter, it runs whatever columns are selected later.
    """
    columns = [name for name, rule in rules.items() if rule.always or check != "off"]
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

    # Claimed as elementwise, so that the filter streams: Polars 2.1 would otherwise
    # collect all rows for one call.
    sound = pl.map_batches(
        [example, *columns], passes, return_dtype=pl.Boolean, is_elementwise=True
    )
    return frame.filter(sound)


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
