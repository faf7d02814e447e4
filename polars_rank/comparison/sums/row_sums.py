"""Sums of values and differences of aligned systems, in one pass over their rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from polars_rank.comparison.sums.win_counts import WinCounts, slack

Array: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.intp]
Sums: TypeAlias = npt.NDArray[Any]
BLOCK = 8192  # rows at a time, which stay in the cache
SMALL = 1024  # rows of a segment that shares a block with others
CLOSE = 1e-3  # of the spread of two systems: that of their differences is summed itself
ONE_THREAD = 1 << 18  # multiplications below which BLAS starts no threads


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
        """Yield blocks of whole units; a segment is cut by its rows alone."""
        sizes = np.diff(self.segments)
        filled = np.flatnonzero(sizes)
        large = sizes[filled] > SMALL
        # Small neighbors come together until a block is full.
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

    def of(self, column: Array, block: Block) -> Array:
        """Return the values of the rows of a block."""
        rows = block.rows
        chosen: Array = column[rows if self.places is None else self.places[rows]]
        return chosen

    def weights(self, block: Block) -> Array | None:
        """Return the weights of the rows of a block; None: all are 1."""
        return None if self.weight is None else self.weight[block.rows]


class RowSums(NamedTuple):
    """Sums by variable (systems, then pairs) and segment.

    They go over units, which are queries or clusters: ``n`` units with numerators
    (values times weights), which sum to ``x``, and denominators (weights), which sum to
    ``d``; ``dd`` is the sum of their squares. With the mean x / d, the deviation of a
    unit is its numerator less the mean times its denominator: ``ee`` is the sum of
    their squares, ``ed`` that of deviations times denominators. ``squares`` is the
    weighted sum of squares of values less the mean.
    """

    queries: Sums
    n: Sums
    x: Sums
    d: Sums
    ee: Sums
    ed: Sums
    dd: Sums
    squares: Sums
    wins: Sums
    losses: Sums


def row_sums(
    systems: Sequence[Array],
    pairs: Sequence[tuple[int, int]],
    tie: float,
    rows: Rows,
) -> RowSums:
    """Sum all systems, then the differences j - i of all pairs (i, j).

    ``systems`` hold values of the same queries. A value that is larger by more than
    ``tie``, and by more than rounding, is a win of j, or else a loss.
    """
    m, count = len(systems), len(rows.segments) - 1
    x, ee, ed, squares = np.zeros((4, m + len(pairs), count))
    d, dd = np.zeros((2, count))
    n, queries = np.zeros((2, count), np.intp)
    win, loss = np.zeros((2, m + len(pairs), count), np.intp)
    found = RowSums(queries, n, x, d, ee, ed, dd, squares, win, loss)
    for _, group in groupby(rows.blocks(), key=lambda block: int(block.segments[0])):
        blocks = list(group)
        with np.errstate(invalid="ignore", over="ignore"):  # the sums will tell
            if blocks[0].starts is None:
                _large(systems, pairs, tie, rows, blocks, found)
            else:
                for block in blocks:
                    _small(systems, pairs, tie, rows, block, found)
    return RowSums(*(np.broadcast_to(sums, x.shape) for sums in found))


# -- small segments, several in a block


def _small(
    systems: Sequence[Array],
    pairs: Sequence[tuple[int, int]],
    tie: float,
    rows: Rows,
    block: Block,
    into: RowSums,
) -> None:
    """Sum whole segments: deviations are taken from the mean itself."""
    own, starts, weight = block.segments, block.starts, rows.weights(block)
    assert starts is not None
    size = int(block.rows.stop - block.rows.start)
    units = starts  # of the segments
    if block.units is not None:
        units = np.searchsorted(block.units, units)
    values = [rows.of(column, block) for column in systems]
    raised = [value + slack(value, tie) for value in values]
    below = _by_unit(np.ones(size) if weight is None else weight, block.units)

    def total(given: Array) -> Array:
        return np.add.reduceat(given, units)

    into.queries[own] = lengths = np.diff(starts, append=size)
    into.n[own] = counts = np.diff(units, append=len(below))
    into.d[own] = denominators = total(below)
    into.dd[own] = total(below * below)
    plain = weight is None and block.units is None
    m = len(systems)
    for place in range(m + len(pairs)):
        if place < m:
            value = values[place]
        else:
            i, j = pairs[place - m]
            value = values[j] - values[i]
            for won, high, low in ((into.wins, j, i), (into.losses, i, j)):
                more = values[high] > raised[low]
                won[place, own] = np.add.reduceat(more, starts, dtype=np.intp)
        above = _by_unit(value if weight is None else value * weight, block.units)
        into.x[place, own] = numerators = total(above)
        mean = numerators / denominators
        rest = above - np.repeat(mean, counts) * below
        into.ee[place, own] = total(rest * rest)
        into.ed[place, own] = total(rest * below)
        if plain:
            into.squares[place, own] = into.ee[place, own]
            continue
        apart = value - np.repeat(mean, lengths)
        apart *= apart if weight is None else apart * weight
        into.squares[place, own] = np.add.reduceat(apart, starts)


def _by_unit(values: Array, units: Places | None) -> Array:
    return values if units is None else np.add.reduceat(values, units, axis=-1)


# -- large segments, of several blocks


def _large(
    systems: Sequence[Array],
    pairs: Sequence[tuple[int, int]],
    tie: float,
    rows: Rows,
    blocks: Sequence[Block],
    into: RowSums,
) -> None:
    """Sum one segment: sums of differences follow from products of systems.

    Where systems are so close that little would be left of the products, the
    differences are summed themselves.
    """
    own, m = int(blocks[0].segments[0]), len(systems)
    wins = WinCounts(pairs, tie)

    def values(block: Block) -> list[Array]:
        return [rows.of(column, block) for column in systems]

    sums = _Products.of(m, rows, blocks, values, seen=wins.add)
    into.queries[own] = sum(int(b.rows.stop - b.rows.start) for b in blocks)
    into.n[own], into.d[own], into.dd[own] = sums.n, sums.d, sums.dd
    into.x[:m, own] = sums.x
    into.ed[:m, own] = sums.ed
    into.ee[:m, own] = np.diag(sums.ee)
    into.squares[:m, own] = np.diag(sums.squares)
    if not pairs:
        return
    i, j = np.array(pairs).T
    into.x[m:, own] = sums.difference(i, j)
    into.ed[m:, own] = sums.ed[j] - sums.ed[i]
    into.wins[m:, own], into.losses[m:, own] = wins.wins, wins.losses
    close = np.zeros(len(pairs), bool)
    for products, place in ((sums.ee, into.ee), (sums.squares, into.squares)):
        both = products[i, i] + products[j, j]
        place[m:, own] = rest = both - 2.0 * products[i, j]
        close |= rest < CLOSE * both
    for k in np.flatnonzero(close):

        def difference(block: Block, i: int = i[k], j: int = j[k]) -> list[Array]:
            return [rows.of(systems[j], block) - rows.of(systems[i], block)]

        alone = _Products.of(1, rows, blocks, difference)
        into.x[m + k, own] = alone.x[0]
        into.ee[m + k, own] = alone.ee[0, 0]
        into.ed[m + k, own] = alone.ed[0]
        into.squares[m + k, own] = alone.squares[0, 0]


class _Products(NamedTuple):
    """Sums of variables, and products of their deviations, over one segment."""

    n: int
    d: float
    dd: float
    shift: Array  # near the means
    shifted: Array  # sums of numerators less shift times denominators
    ed: Array
    ee: Array
    squares: Array

    @property
    def x(self) -> Array:
        """Sums of the numerators."""
        return self.shift * self.d + self.shifted

    def difference(self, i: Places, j: Places) -> Array:
        """Sum the numerators of j less those of i."""
        rest: Array = self.shifted[j] - self.shifted[i]
        return (self.shift[j] - self.shift[i]) * self.d + rest

    @classmethod
    def of(
        cls,
        variables: int,
        rows: Rows,
        blocks: Sequence[Block],
        values: Callable[[Block], list[Array]],
        seen: Callable[[Sequence[Array]], None] | None = None,
    ) -> _Products:
        """Sum products of deviations from a shift in one pass, moved to the means."""
        plain = rows.weight is None and rows.units is None
        n, d, dd, total = 0, 0.0, 0.0, 0.0
        shifted, ed, apart = np.zeros((3, variables))
        ee, squares = np.zeros((2, variables, variables))
        # A few weights may decide the mean: then no block tells where it is.
        shift = np.zeros(variables)
        for block in blocks[:1] if plain else blocks:
            weight = rows.weights(block)
            for i, value in enumerate(values(block)):
                shift[i] += value.sum() if weight is None else np.dot(value, weight)
            total += len(value) if weight is None else weight.sum()
        shift /= total
        longest = max(int(b.rows.stop - b.rows.start) for b in blocks)
        space = np.empty(variables * longest)  # kept: fresh memory costs as much
        for block in blocks:
            given, weight = values(block), rows.weights(block)
            if seen is not None:
                seen(given)
            size = len(given[0])
            rest = space[: variables * size].reshape(variables, size)
            for i, value in enumerate(given):
                np.subtract(value, shift[i], out=rest[i])
            below = _by_unit(np.ones(size) if weight is None else weight, block.units)
            n, d, dd = n + len(below), d + below.sum(), dd + np.dot(below, below)
            weighted = rest if weight is None else rest * weight
            above = _by_unit(weighted, block.units)
            shifted += above.sum(axis=1)
            ee += _product(above, above)
            if not plain:
                ed += (above * below).sum(axis=1)
                squares += _product(weighted, rest)
                apart += weighted.sum(axis=1)
        if plain:
            ed = shifted
        move = shifted / d
        both = np.multiply.outer(move, ed)
        ee -= both + both.T - np.multiply.outer(move, move) * dd
        if plain:
            squares = ee
        else:
            both = np.multiply.outer(move, apart)
            squares -= both + both.T - np.multiply.outer(move, move) * total
        return cls(n, d, dd, shift, shifted, ed - move * dd, ee, squares)


def _product(a: Array, b: Array) -> Array:
    """Compute ``a @ b.T`` with the same bits for any number of threads."""
    variables, size = a.shape
    step = max(64, ONE_THREAD // (2 * variables * variables) // 64 * 64)
    whole = size - size % step
    left, right = (
        v[:, :whole].reshape(variables, -1, step).transpose(1, 0, 2) for v in (a, b)
    )
    product: Array = np.matmul(left, right.transpose(0, 2, 1)).sum(axis=0)
    return product + a[:, whole:] @ b[:, whole:].T
