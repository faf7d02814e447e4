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
    whole: bool,
) -> pl.LazyFrame:
    """Let the frame pass only if no column of ``faults`` (name -> message) counts any.

    ``example`` names the column that tells where: a query, or a struct with one for
    each fault. A frame of one row a query is checked batch by batch, as its rows pass,
    so counts are of the batch that was seen first; a ``whole`` one has all counts in
    its rows. Being a filter, the check runs whatever columns are asked for later.
    """
    names = list(faults)
    if not names:
        return frame
    told: set[str] = set()

    def passes(columns: Sequence[pl.Series]) -> pl.Series:
        where, *counts = columns
        for name, count in zip(names, counts, strict=True):
            broken = int(count.sum() or 0)
            if broken and name not in told:
                told.add(name)
                found = f"{broken} found" if whole else f"at least {broken} found"
                examples = _examples(where, count > 0, name)
                report(f"{faults[name]} ({found}{examples})", check)
        return pl.repeat(True, len(where), dtype=pl.Boolean, eager=True)

    sound = pl.map_batches(
        [example, *names], passes, return_dtype=pl.Boolean, is_elementwise=True
    )
    return frame.filter(sound)


def report(message: str, check: Check) -> None:
    """Raise, or warn where asked to."""
    if check != "warn":
        raise DataError(message)
    warnings.warn(message, UserWarning, stacklevel=2)


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
