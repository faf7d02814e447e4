"""Sums over runs of rows with the same key: contiguous rows without a group-by.

An impression whose rows are contiguous is one run, so its sums need no hash table, and
memory is that of some rows. A group-by of the runs finds impressions in any order: it
has a tenth of the rows where an impression shows ten documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from polars_rank._engine.checks.unique import UniquenessCheck
from polars_rank.core.rules import NOT_CONTIGUOUS
from polars_rank.core.source import lazy_source, without_pushdown
from polars_rank.exceptions import DataError
from polars_rank.io.unreadable import damage_named

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


ROWS, VARIES = "rows", "varies"


def run_sums(
    rows: pl.LazyFrame,
    key: str,
    totals: Mapping[str, pl.Expr],
    constants: Sequence[str],
    *,
    unique: bool,
) -> pl.LazyFrame:
    """One row per run: ``key``, sums, ``constants``, ``ROWS`` and ``VARIES``.

    ``totals`` are values of a row, UInt64 without nulls, whose sums are below 2^64. Of
    columns that should be ``constants`` the first value is taken, and ``VARIES`` says
    whether there is another one. With ``unique``, no key may have a second run, or it
    is a ``DataError``.
    """
    read_rows = rows.select(key, *constants, **totals)
    schema = read_rows.collect_schema()
    result = {name: schema[name] for name in (key, *constants, *totals)}

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        proof = UniquenessCheck(rows, key) if unique else None
        with damage_named([rows]):
            for runs in _joined(read_rows, key, [*constants], [*totals]):
                if proof is not None:
                    proof.add(runs[key])
                yield runs
        if proof is not None and not proof.unique():
            raise DataError(NOT_CONTIGUOUS.message, rule=NOT_CONTIGUOUS.name)

    source = lazy_source(
        read,
        {**result, ROWS: pl.UInt32(), VARIES: pl.Boolean()},
        name="sums over runs of rows",
        drain=unique,
    )
    return without_pushdown(source)


def _joined(
    rows: pl.LazyFrame, key: str, constants: list[str], totals: list[str]
) -> Iterator[pl.DataFrame]:
    """The runs, in order; the last one of a batch may go on in the next."""
    last: pl.DataFrame | None = None
    for batch in rows.collect_batches(engine="streaming", lazy=True):
        if batch.is_empty():
            continue
        runs = _runs(batch, key, constants, totals)
        if last is not None:
            if bool(last[key].eq_missing(runs[key].head(1)).item()):
                runs = _merged(last, runs, constants, totals)
            else:
                runs = pl.concat([last, runs])
        last = runs.tail(1)
        yield runs.head(len(runs) - 1)
    if last is not None:
        yield last


def _runs(
    batch: pl.DataFrame, key: str, constants: list[str], totals: list[str]
) -> pl.DataFrame:
    import numpy as np

    begins = changes(batch[key])
    start = np.flatnonzero(begins)
    other = np.zeros(len(batch), bool)
    for name in constants:
        other |= changes(batch[name])
    other &= ~begins
    found = [at(batch[name], start) for name in (key, *constants)]
    found += [
        pl.Series(name, np.add.reduceat(batch[name].rechunk().to_numpy(), start))
        for name in totals
    ]
    size = np.diff(start, append=len(batch)).astype(np.uint32)
    varies = np.logical_or.reduceat(other, start) if other.any() else other[start]
    return pl.DataFrame([*found, pl.Series(ROWS, size), pl.Series(VARIES, varies)])


def _array(column: pl.Series) -> Array | None:
    """The numbers of an integer column as they lie in memory; None of others."""
    if not column.dtype.is_integer() or column.null_count():
        return None
    numbers: Array = column.rechunk().to_numpy()
    return numbers


def at(column: pl.Series, start: Array) -> pl.Series:
    """The values of some rows."""
    numbers = _array(column)
    if numbers is None:
        return column.gather(pl.Series(start))
    return pl.Series(column.name, numbers[start], dtype=column.dtype)


def changes(column: pl.Series) -> Array:
    """Of each row, whether the value is another than that of the row before."""
    import numpy as np

    numbers = _array(column)
    if numbers is not None:
        differs = np.ones(len(numbers), bool)
        np.not_equal(numbers[1:], numbers[:-1], out=differs[1:])
        return differs
    found: Array = column.ne_missing(column.shift(1)).to_numpy(writable=True)
    found[0] = True
    return found


def _merged(
    last: pl.DataFrame, runs: pl.DataFrame, constants: list[str], totals: list[str]
) -> pl.DataFrame:
    """The runs, of which the first continues the last one of the batch before."""
    first = runs.head(1)
    one = last.with_columns(last[name] + first[name] for name in (*totals, ROWS))
    varies = last[VARIES] | first[VARIES]
    for name in constants:
        varies = varies | last[name].ne_missing(first[name])
    return pl.concat([one.with_columns(varies.alias(VARIES)), runs.slice(1)])
