"""Faults in the data: counted in the plan, raised on a handful of values."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Literal, TypeAlias

import polars as pl
import polars.selectors as cs

from polars_rank.exceptions import DataError

__all__ = ["Check", "in_common", "raise_faults"]

Check: TypeAlias = Literal["strict", "warn", "off", "full"]


def raise_faults(
    frame: pl.LazyFrame,
    faults: dict[str, str],
    *,
    refusals: frozenset[str],
    example: str,
    check: Check,
    whole: bool,
) -> pl.LazyFrame:
    """Let the frame pass only if no column of ``faults`` (name -> message) counts any.

    ``refusals`` raise always, the others as ``check`` says.
    ``example`` names the column that tells where: a query, or a struct with one for
    each fault. A frame of one row a query is checked batch by batch, as its rows pass,
    so counts are of the batch that was seen first; a ``whole`` one has all counts in
    its rows. Being a filter, the check runs whatever columns are asked for later.
    """
    names = [name for name in faults if check != "off" or name in refusals]
    if not names:
        return frame
    told: set[str] = set()

    def passes(columns: Sequence[pl.Series]) -> pl.Series:
        where, *counts = columns
        for name, count in zip(names, counts, strict=True):
            broken = int(count.sum() or 0)
            rule: Check = "strict" if name in refusals else check
            # A warning comes once; an error each time the frame is collected.
            if broken and not (rule == "warn" and name in told):
                told.add(name)
                found = f"{broken} found" if whole else f"at least {broken} found"
                examples = _examples(where, count > 0, name)
                report(f"{faults[name]} ({found}{examples})", rule)
        return pl.repeat(True, len(where), dtype=pl.Boolean, eager=True)

    sound = pl.map_batches(
        [example, *names], passes, return_dtype=pl.Boolean, is_elementwise=True
    )
    return frame.filter(sound)


def in_common(
    run: pl.LazyFrame, qrels: pl.LazyFrame, query: Sequence[str], check: Check
) -> pl.Expr:
    """True; or an error if judged queries exist and none of them is in the run."""

    def passes(columns: Sequence[pl.Series]) -> pl.Series:
        found, judged = columns
        if judged.sum() and not found.sum():
            report(
                "no judged query is in the run: the run has queries like "
                f"{_first_ids(run, query)}, the judgments {_first_ids(qrels, query)}; "
                "check query= and the spelling of the ids",
                check,
            )
        return pl.repeat(True, len(found), dtype=pl.Boolean, eager=True)

    return pl.map_batches(
        [pl.col("retrieved").count(), pl.col("judged").sum()],
        passes,
        return_dtype=pl.Boolean,
        is_elementwise=True,
    )


def _first_ids(frame: pl.LazyFrame, query: Sequence[str]) -> str:
    """Some ids for a message; read only when the message is needed."""
    ids = frame.select(cs.by_name(*query, require_all=False)).head(100).collect()
    rows = ids.unique(maintain_order=True).head(3).rows()
    shown = (repr(row[0] if len(row) == 1 else row) for row in rows)
    return ", ".join(shown) or "nothing"


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
