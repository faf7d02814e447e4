"""Rank impressions whose rows are contiguous anew, and sum them in NumPy.

Of many impressions of one length, two rows of each are compared at once: a window
function and a group-by take six times as long. What does not fit (impressions that are
torn apart, or a row that breaks a rule) is an error, and leads to the other plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from polars_rank.clicks.log.contiguous import (
    DEEPEST,
    evaluate_runs,
    first_values,
    reduced,
    refuse_run,
    varying,
)

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]


SHORT, MANY = 16, 64  # rows of an impression, and impressions, to compare in pairs


def ranked_sums(
    rows: pl.LazyFrame,
    key: str,
    constants: Sequence[str],
    terms: Mapping[str, pl.Expr],
    scores: Mapping[str, str],
    value: pl.Expr,
    weight: Callable[[pl.Expr], pl.Expr],
    *,
    checked: bool,
) -> pl.LazyFrame:
    """Sum ``terms`` of impressions, and the value of each row by its new rank.

    ``scores`` are columns of new scores, by the name of the result: the sum of
    ``value``, each times the ``weight`` of its rank. ``largest`` is the largest term
    ``w``. With ``checked``, rows have a column ``faulty``, and are checked.
    """
    schema = rows.collect_schema()
    unique = [n for n in ("position", "doc") if n in schema] if checked else []
    given = [key, *constants, "position", *scores.values(), *unique]
    given += ["faulty"] if checked else []
    asked = rows.select(*dict.fromkeys(given), **terms, value=value)
    types, kept = asked.collect_schema(), [key, *constants]
    result = {name: types[name] for name in (*kept, *terms)}
    result |= dict.fromkeys(["largest", *scores], pl.Float64())
    by_rank = _weights(weight)

    def summed(batch: pl.DataFrame, start: Array) -> pl.DataFrame:
        import numpy as np

        if checked:
            if batch["faulty"].any():
                refuse_run("a row breaks a rule")
            if varying(batch, start, kept).any():
                refuse_run("a column is not constant within an impression")
        if any(batch[name].null_count() for name in (*terms, "value")):
            refuse_run("a value is null")
        found = first_values(batch, start, kept)
        found += [reduced(np.add, batch[name], start) for name in terms]
        found.append(reduced(np.maximum, batch["w"], start).alias("largest"))
        order = _Order(batch, start, unique)
        values = batch["value"].rechunk().to_numpy()
        for name, score in scores.items():
            weights = by_rank[order.ranks(batch[score])]
            found.append(reduced(np.add, pl.Series(name, weights * values), start))
        return pl.DataFrame(found)

    return evaluate_runs(asked, rows, key, summed, result)


def _weights(weight: Callable[[pl.Expr], pl.Expr]) -> Array:
    """Tabulate weights by rank; there is no rank 0."""
    import numpy as np

    ranks = pl.int_range(1, DEEPEST + 1).cast(pl.Float64)
    found = pl.select(weight(ranks)).to_series().cast(pl.Float64).to_list()
    return np.array([np.nan, *found])


def _numbers(column: pl.Series) -> Array:
    """Return numbers as they lie in memory; of other values, their order."""
    nan = column.dtype.is_float() and column.is_nan().any()
    if column.null_count() or nan:
        refuse_run("a value is null or NaN")
    plain = column.dtype.is_integer() or column.dtype in (pl.Float32, pl.Float64)
    if not plain or column.dtype in (pl.Int128, pl.UInt128):
        column = column.rank("dense")
    numbers: Array = column.rechunk().to_numpy()
    return numbers


class _Order:
    """The rows of impressions, to be ranked by one score after another.

    Attributes
    ----------
    rows
        For each length of short impressions: where all their first rows are, all second
        ones, and so on.
    rest, run
        Rows of other impressions, and the number of each row's impression.
    ascending
        Whether positions ascend within impressions: then they are unique, and rows with
        equal scores are in order.
    """

    def __init__(
        self, batch: pl.DataFrame, start: Array, unique: Sequence[str]
    ) -> None:
        import numpy as np

        self.position = _numbers(batch["position"])
        after = np.ones(len(batch), bool)
        np.greater(self.position[1:], self.position[:-1], out=after[1:])
        after[start] = True
        self.ascending = bool(after.all())
        size = np.diff(start, append=len(batch))
        lengths, counts = np.unique(size, return_counts=True)
        short = lengths[(lengths <= SHORT) & (counts >= MANY)]
        self.rows: list[list[Any]]  # slices or arrays
        if len(lengths) == len(short) == 1:
            n = int(lengths[0])
            self.rows = [[slice(i, None, n) for i in range(n)]]
        else:
            self.rows = [
                [start[size == n] + i for i in range(n)] for n in short.tolist()
            ]
        deep = ~np.isin(size, short)
        self.rest = np.flatnonzero(np.repeat(deep, size))
        self.run = np.repeat(np.flatnonzero(deep), size[deep])
        for name in unique:
            if name != "position":
                self._require_unique(_ids(batch[name]))
            elif not self.ascending:
                self._require_unique(self.position)

    def _require_unique(self, values: Array) -> None:
        import numpy as np

        for columns in self.rows:
            parts = _parts(values, columns)
            if any((one == other).any() for one, other in combinations(parts, 2)):
                refuse_run("a value comes twice in an impression")
        if not len(self.rest):
            return
        order = np.lexsort((values[self.rest], self.run))
        own, run = values[self.rest][order], self.run[order]
        if ((own[1:] == own[:-1]) & (run[1:] == run[:-1])).any():
            refuse_run("a value comes twice in an impression")

    def ranks(self, scores: pl.Series) -> Array:
        """Rank from 1, the highest score first; equal ones by position."""
        import numpy as np

        score, position = _numbers(scores), self.position
        found = np.empty(len(score), np.uint16)
        for columns in self.rows:
            lower = None if self.ascending else _parts(position, columns)
            ranks = _compared(_parts(score, columns), lower)
            for rows, rank in zip(columns, ranks, strict=True):
                found[rows] = rank
        rest = self.rest
        if not len(rest):
            return found
        own = score[rest]
        # ~x is -x - 1, which reverses the order of all integers; -x does not, of the
        # least one and of those without a sign.
        down = -own if own.dtype.kind == "f" else ~own
        order = np.lexsort((position[rest], down, self.run))
        place = np.empty(len(rest), np.int64)
        place[order] = np.arange(len(rest))
        begins = np.flatnonzero(np.diff(self.run, prepend=-1))
        sizes = np.diff(begins, append=len(rest))
        found[rest] = place - np.repeat(begins, sizes) + 1
        return found


def _ids(documents: pl.Series) -> Array:
    """Number documents: equal ones equally, and hardly ever others."""
    if documents.dtype.is_integer() and not documents.null_count():
        return _numbers(documents)
    return _numbers(documents.hash())


def _parts(values: Array, columns: Sequence[Any]) -> list[Array]:
    import numpy as np

    return [np.ascontiguousarray(values[rows]) for rows in columns]


def _compared(
    scores: Sequence[Array], positions: Sequence[Array] | None
) -> list[Array]:
    """Rank rows by comparing pairs; without positions, ties are in order.

    A row is below all rows before it, but for those that it turns out to be above.
    """
    import numpy as np

    # To start with, row i has rank i + 1. Each pair in the wrong order moves one row
    # down and the other up: the ranks of a sort by counting, without a sort.
    ranks = [np.full(len(score), 1 + i, np.uint8) for i, score in enumerate(scores)]
    for i, j in combinations(range(len(scores)), 2):
        above = scores[j] > scores[i]
        if positions is not None:
            above |= (scores[j] == scores[i]) & (positions[j] < positions[i])
        ranks[i] += above.view(np.uint8)
        ranks[j] -= above.view(np.uint8)
    return ranks
