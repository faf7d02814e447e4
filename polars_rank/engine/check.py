"""Faults in the data: counted in the plan, raised on a handful of values."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal, TypeAlias

import polars as pl

from polars_rank.errors import DataError

__all__ = ["Check", "raise_faults"]

Check: TypeAlias = Literal["strict", "warn", "off", "full"]


def raise_faults(
    frame: pl.LazyFrame,
    faults: dict[str, str],
    *,
    example: str,
    check: Check,
) -> pl.LazyFrame:
    """Let the frame pass only if no column of ``faults`` (name -> message) counts any.

    The columns hold counts, one row a query or one for all; ``example`` names the
    column that tells where. They are dropped. Being a filter, the check runs whatever
    columns are asked for later.
    """
    names = list(faults)
    if not names:
        return frame

    def passes(columns: Sequence[pl.Series]) -> pl.Series:
        where, *counts = columns
        for name, count in zip(names, counts, strict=True):
            if broken := int(count.sum() or 0):
                report(faults[name], broken, _examples(where, count > 0, name), check)
        return pl.repeat(True, len(where), dtype=pl.Boolean, eager=True)

    sound = pl.map_batches(
        [example, *names], passes, return_dtype=pl.Boolean, is_elementwise=True
    )
    return frame.filter(sound)


def report(message: str, broken: int, examples: str, check: Check) -> None:
    """Raise, or warn where asked to."""
    text = f"{message} ({broken} found{examples})"
    if check != "warn":
        raise DataError(text)
    warnings.warn(text, UserWarning, stacklevel=2)


def _examples(where: pl.Series, broken: pl.Series, name: str) -> str:
    found = where.filter(broken)
    if isinstance(found.dtype, pl.Struct) and name in found.struct.fields:
        found = found.struct.field(name)
    shown = [_key(value) for value in found.drop_nulls().head(5).to_list()]
    return f", e.g. in query {', '.join(shown)}" if shown else ""


def _key(value: object) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(map(repr, value.values())) + ")"
    return repr(value)
