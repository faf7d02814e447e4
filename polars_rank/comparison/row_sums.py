"""Sums of values and differences of aligned systems, in one pass over their rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["Array", "Places", "RowSums", "Rows", "row_sums"]

Array: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.intp]
Sums: TypeAlias = npt.NDArray[Any]
BLOCK = 8192  # rows at a time, which stay in the cache
SMALL = 1024  # rows of a segment that shares a block with others


class Block(NamedTuple):
    """Rows of one segment, or of several small ones."""

    rows: slice
    segments: Places
    starts: Places | None  # of the segments, in rows from the first of the block
    units: Places | None  # likewise


@dataclass(frozen=True)
class Rows:
    """The rows that count, ordered by segment and unit (see :func:`row_sums`)."""

    segments: Places  # where each begins, and where the last ends
    places: Places | None = None  # in the columns; None: all, as they are
    units: Places | None = None  # where each begins; None: every row is one
    weight: Array | None = None

    def blocks(self) -> Iterator[Block]:
        """Blocks of whole units. How a segment is cut depends on its rows alone."""
        sizes = np.diff(self.segments)
        filled = np.flatnonzero(sizes)
        large = sizes[filled] > SMALL
        # Small neighbours come together until a block is full.
        group = np.cumsum(np.where(large, 0, sizes[filled])) // BLOCK
        breaks = np.flatnonzero((np.diff(group) != 0) | large[1:] | large[:-1]) + 1
        for segments in np.split(filled, breaks) if len(filled) else []:
            first, last = self.segments[segments[0]], self.segments[segments[-1] + 1]
            starts = None
            if sizes[segments[0]] <= SMALL:
                starts = self.segments[segments] - first
                cuts = np.array([first, last])
            else:
                cuts = self._cuts(first, last)
            for start, stop in pairwise(cuts):
                units = None
                if self.units is not None:
                    own = slice(*np.searchsorted(self.units, [start, stop]))
                    units = self.units[own] - start
                yield Block(slice(start, stop), segments, starts, units)

    def _cuts(self, first: np.intp, last: np.intp) -> Places:
        cuts = np.arange(first, last, BLOCK)
        if self.units is not None:
            cuts = np.unique(self.units[np.searchsorted(self.units, cuts, "right") - 1])
        return np.append(cuts, last)


class RowSums(NamedTuple):
    """Sums by variable (systems, then pairs) and segment."""

    queries: Sums
    n: Sums
    x: Sums
    d: Sums
    xx: Sums
    xd: Sums
    dd: Sums
    squares: Sums
    win: Sums
    loss: Sums


def row_sums(
    systems: Sequence[Array],
    pairs: Sequence[tuple[int, int]],
    tie: float,
    rows: Rows,
) -> RowSums:
    """Sums of all systems, then of the differences j - i of all pairs (i, j).

    ``systems`` hold values of the same queries. The sums go over units, which are
    queries or clusters: ``n`` units with numerators (values times weights) ``x`` and
    denominators (weights) ``d``, their squares and products. ``squares`` are those of
    the values times weights. A difference above ``tie`` is a win of j, one below
    ``-tie`` a loss.
    """
    m, count = len(systems), len(rows.segments) - 1
    x, xx, xd, squares = np.zeros((4, m + len(pairs), count))
    d, dd = np.zeros((2, count))
    n, queries = np.zeros((2, count), np.intp)
    win, loss = np.zeros((2, m + len(pairs), count), np.intp)
    plain = rows.weight is None and rows.units is None

    for block in rows.blocks():
        part = block.rows
        own = int(block.segments[0]) if block.starts is None else block.segments
        size = int(part.stop - part.start)
        chosen = part if rows.places is None else rows.places[part]
        values = [column[chosen] for column in systems]
        weight = None if rows.weight is None else rows.weight[part]
        units = block.starts  # of the segments
        if block.units is not None and units is not None:
            units = np.searchsorted(block.units, units)
        ones = np.ones(size) if weight is None else weight
        below = _by_unit(ones, block.units)
        queries[own] += _counts(np.ones(size, bool), block.starts)
        n[own] += _counts(np.ones(len(below), bool), units)
        d[own] += _sums(below, units)
        dd[own] += _products(below, below, units)
        difference, beyond = np.empty(size), np.empty(size, bool)
        for place in range(m + len(pairs)):
            if place < m:
                value = values[place]
            else:
                i, j = pairs[place - m]
                value = np.subtract(values[j], values[i], out=difference)
                np.greater(value, tie, out=beyond)
                win[place, own] += _counts(beyond, block.starts)
                np.less(value, -tie, out=beyond)
                loss[place, own] += _counts(beyond, block.starts)
            weighted = value if weight is None else value * weight
            above = _by_unit(weighted, block.units)
            x[place, own] += _sums(above, units)
            xx[place, own] += _products(above, above, units)
            if not plain:
                xd[place, own] += _sums(above * below, units)
                squares[place, own] += _products(weighted, value, block.starts)
    if plain:
        xd, squares = x, xx
    found = (queries, n, x, d, xx, xd, dd, squares, win, loss)
    return RowSums(*(np.broadcast_to(sums, x.shape) for sums in found))


def _by_unit(values: Array, units: Places | None) -> Array:
    return values if units is None else np.add.reduceat(values, units)


def _sums(values: Array, starts: Places | None) -> Array | np.float64:
    return np.add.reduce(values) if starts is None else np.add.reduceat(values, starts)


def _products(a: Array, b: Array, starts: Places | None) -> Array | np.float64:
    return np.dot(a, b) if starts is None else np.add.reduceat(a * b, starts)


def _counts(
    true: npt.NDArray[np.bool_], starts: Places | None
) -> npt.NDArray[np.intp] | int:
    if starts is None:
        return int(np.count_nonzero(true))
    return np.add.reduceat(true, starts, dtype=np.intp)
