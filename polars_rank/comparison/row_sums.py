"""Sums of values and differences of aligned systems, in one pass over their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["RowSums", "Rows", "row_sums"]

Array: TypeAlias = npt.NDArray[np.float64]
Rows: TypeAlias = npt.NDArray[np.intp]
BLOCK = 8192  # rows at a time, which stay in the cache


class RowSums(NamedTuple):
    """Number, sum and sum of squares; of differences, wins and losses as well."""

    n: int
    x: float
    xx: float
    win: int | None
    loss: int | None


def row_sums(
    systems: Sequence[Array],
    pairs: Sequence[tuple[int, int]],
    tie: float,
    rows: Rows | None = None,
) -> list[RowSums]:
    """Sums of all systems, then of the differences j - i of all pairs (i, j).

    ``systems`` hold values of the same queries; ``rows`` says which of them count, in
    which order. A difference above ``tie`` is a win of j, one below ``-tie`` a loss.
    """
    m, n = len(systems), len(systems[0]) if rows is None else len(rows)
    sums, squares = [0.0] * (m + len(pairs)), [0.0] * (m + len(pairs))
    wins, losses = [0] * len(pairs), [0] * len(pairs)
    difference, beyond = np.empty(min(n, BLOCK)), np.empty(min(n, BLOCK), bool)
    for start in range(0, n, BLOCK):
        part = slice(start, start + BLOCK)
        block = [values[part if rows is None else rows[part]] for values in systems]
        for i, values in enumerate(block):
            sums[i] += float(np.add.reduce(values))
            squares[i] += float(values @ values)
        d, b = difference[: len(block[0])], beyond[: len(block[0])]
        for place, (i, j) in enumerate(pairs):
            np.subtract(block[j], block[i], out=d)
            sums[m + place] += float(np.add.reduce(d))
            squares[m + place] += float(d @ d)
            wins[place] += int(np.count_nonzero(np.greater(d, tie, out=b)))
            losses[place] += int(np.count_nonzero(np.less(d, -tie, out=b)))
    counts = [(None, None)] * m + list(zip(wins, losses, strict=True))
    found = zip(sums, squares, counts, strict=True)
    return [RowSums(n, x, xx, win, loss) for x, xx, (win, loss) in found]
