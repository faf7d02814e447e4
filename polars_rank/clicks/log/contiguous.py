"""Read impressions whose rows are contiguous: their sums need no group-by.

An impression is one run of rows, so that its sums need no hash table, and memory is
that of some rows. What does not fit is an error, and leads to another plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from polars_rank._engine.checks.unique import UniquenessCheck
from polars_rank._engine.layout import reject_if_shuffled
from polars_rank.core.rules import NOT_CONTIGUOUS
from polars_rank.core.source import batches_of, lazy_source, without_pushdown
from polars_rank.exceptions import DataError
from polars_rank.io.unreadable import damage_named

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


ROWS, VARIES = "rows", "varies"
DEEPEST = 1000  # rows of an impression


def evaluate_runs(
    asked: pl.LazyFrame,
    rows: pl.LazyFrame,
    key: str,
    evaluate: Callable[[pl.DataFrame, Array], pl.DataFrame],
    schema: dict[str, pl.DataType],
    *,
    unclaimed: bool = True,
) -> pl.LazyFrame:
    """Evaluate whole runs of ``asked`` rows, batch by batch; no key has two of them.

    Rows that nobody has claimed to be contiguous are looked at first, which soon tells
    those in any order. ``evaluate`` takes the rows of some runs, and where each of them
    begins. ``rows`` have the same keys, and are read again if memory does not hold the
    keys.
    """

    def read(_: Sequence[str]) -> Iterator[pl.DataFrame]:
        proof = UniquenessCheck(rows, key)
        with damage_named([rows]):
            # Anew each time: it remembers what it has seen.
            read_rows = reject_if_shuffled(asked, key) if unclaimed else asked
            for batch, start in _whole_runs(read_rows, key):
                found = evaluate(batch, start)
                proof.add(found[key])
                yield found.cast(pl.Schema(schema))
        if not proof.unique():
            raise DataError(NOT_CONTIGUOUS.message, rule=NOT_CONTIGUOUS.name)

    return without_pushdown(
        lazy_source(read, schema, name="sums over runs of rows", drain=True)
    )


def _whole_runs(rows: pl.LazyFrame, key: str) -> Iterator[tuple[pl.DataFrame, Array]]:
    """Yield rows, cut between runs, and where each run begins."""
    import numpy as np

    rest = rows.collect_schema().to_frame()
    for batch in batches_of(rows):
        known = pl.concat([rest, batch], rechunk=True) if len(rest) else batch
        if known.is_empty():
            continue
        # The last run may go on in the next batch, so it waits for that one.
        start = np.flatnonzero(changes(known[key]))
        if np.diff(start, append=len(known)).max() > DEEPEST:
            refuse_run(f"an impression has more than {DEEPEST} rows")
        last = int(start[-1])
        if last:
            yield known.head(last), start[:-1]
        rest = known.slice(last)
    if len(rest):
        yield rest, np.zeros(1, np.int64)


def refuse_run(why: str) -> None:
    """Give up on runs: the error, of whatever words, leads to the other plan."""
    raise DataError(why, rule="runs")


def run_sums(
    rows: pl.LazyFrame,
    key: str,
    totals: Mapping[str, pl.Expr],
    constants: Sequence[str],
    *,
    unclaimed: bool = True,
) -> pl.LazyFrame:
    """Sum each run: ``key``, ``constants``, sums, ``ROWS`` and ``VARIES``.

    ``totals`` are values of a row, UInt64 without nulls, whose sums are below 2^64. Of
    columns that should be ``constants`` the first value is taken, and ``VARIES`` says
    whether there is another one.
    """
    asked = rows.select(key, *constants, **totals)

    def summed(batch: pl.DataFrame, start: Array) -> pl.DataFrame:
        import numpy as np

        other = varying(batch, start, constants)
        varies = np.logical_or.reduceat(other, start) if other.any() else other[start]
        return pl.DataFrame(
            [
                *first_values(batch, start, [key, *constants]),
                *(reduced(np.add, batch[name], start) for name in totals),
                pl.Series(ROWS, np.diff(start, append=len(batch))),
                pl.Series(VARIES, varies),
            ]
        )

    schema = {**asked.collect_schema(), ROWS: pl.UInt32(), VARIES: pl.Boolean()}
    return evaluate_runs(asked, rows, key, summed, schema, unclaimed=unclaimed)


# -- columns of batches


def reduced(ufunc: np.ufunc, column: pl.Series, start: Array) -> pl.Series:
    """Reduce the values of each run, in their order."""
    return pl.Series(column.name, ufunc.reduceat(column.rechunk().to_numpy(), start))


def first_values(
    batch: pl.DataFrame, start: Array, names: Sequence[str]
) -> list[pl.Series]:
    """Take the values of the first row of each run."""
    rows = pl.Series(start)
    found = []
    for name in names:
        column = batch[name]
        numbers = _array(column)
        found.append(
            column.gather(rows)
            if numbers is None
            else pl.Series(name, numbers[start], dtype=column.dtype)
        )
    return found


def varying(batch: pl.DataFrame, start: Array, constants: Sequence[str]) -> Array:
    """Mark the rows where a constant has another value than in the row before."""
    import numpy as np

    other = np.zeros(len(batch), bool)
    for name in constants:
        other |= changes(batch[name])
    other[start] = False
    return other


def changes(column: pl.Series) -> Array:
    """Mark the rows whose value is another than that of the row before."""
    import numpy as np

    numbers = _array(column)
    if numbers is not None:
        differs = np.ones(len(numbers), bool)
        np.not_equal(numbers[1:], numbers[:-1], out=differs[1:])
        return differs
    found: Array = column.ne_missing(column.shift(1)).to_numpy(writable=True)
    found[0] = True
    return found


def _array(column: pl.Series) -> Array | None:
    """Return the numbers of an integer column as they lie in memory; None of others."""
    if not column.dtype.is_integer() or column.null_count():
        return None
    numbers: Array = column.rechunk().to_numpy()
    return numbers
