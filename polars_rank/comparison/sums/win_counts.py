"""How often systems win and lose against each other, block by block."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from polars_rank.comparison.input.values import ROUNDING

Array: TypeAlias = npt.NDArray[np.float64]
Counts: TypeAlias = npt.NDArray[np.intp]
LANES = 1024  # true values that 128 words of 8 bytes hold: no byte overflows
FEW = 0.25  # of the pairs: if more have ties, single precision tells too little


class Run(NamedTuple):
    """A system, neighbors that it is compared with, and the places of these pairs."""

    system: int
    others: slice
    places: slice


def slack(values: Any, tie: float) -> Any:
    """Return how far above these values another one may lie that ties with them.

    That is ``tie``, and what is rounding at the size of both values. No other rows
    count: wins in parts add up to those of the whole.
    """
    return ROUNDING * abs(values) + tie * (1.0 + ROUNDING)


class WinCounts:
    """Queries of which one value is larger than another by more than ``slack``.

    Of the pairs (i, j), in order, ``wins`` counts those of j over i, ``losses`` those
    of i over j.

    Rounding to single precision keeps order, so that values are compared there first,
    in half the time. Pairs that are equal there for some query are compared as they
    are.
    """

    def __init__(self, pairs: Sequence[tuple[int, int]], tie: float) -> None:
        self._order = sorted(range(len(pairs)), key=pairs.__getitem__)
        self._pairs = [pairs[place] for place in self._order]
        self._runs = _runs(self._pairs)
        self._tie = tie
        self._counts = np.zeros((2, len(pairs)), np.intp)
        self._single = True
        self._space = np.empty((2, 0, 0), np.float32)

    @property
    def wins(self) -> Counts:
        """Wins of the second of each pair."""
        return self._in_order(0)

    @property
    def losses(self) -> Counts:
        """Wins of the first of each pair."""
        return self._in_order(1)

    def _in_order(self, which: int) -> Counts:
        counts: Counts = self._counts[which, np.argsort(self._order)]
        return counts

    def add(self, values: Sequence[Array]) -> None:
        """Count a block: the values of each system, of the same queries."""
        if not self._pairs:
            return
        if not self._single:
            exact = np.stack(values)
            self._counts += _counts(self._runs, exact, exact + slack(exact, self._tie))
            return
        shape = len(values), len(values[0])
        if self._space.shape[1:] != shape:  # kept: fresh memory costs as much
            self._space = np.empty((2, *shape), np.float32)
        single, raised = self._space
        with np.errstate(over="ignore"):
            for i, column in enumerate(values):
                single[i] = column
                above = slack(column, self._tie)
                np.add(column, above, out=raised[i], casting="same_kind")
        found = _counts(self._runs, single, raised)
        unknown = np.flatnonzero(found.sum(axis=0) < shape[1])
        if len(unknown):
            exact = np.stack(values)
            runs = _runs([self._pairs[place] for place in unknown])
            found[:, unknown] = _counts(runs, exact, exact + slack(exact, self._tie))
            self._single = len(unknown) < FEW * len(self._pairs)
        self._counts += found


def _runs(pairs: Sequence[tuple[int, int]]) -> list[Run]:
    """Group sorted pairs: systems, and slices of those that they are compared with."""
    runs, place = [], 0
    # What runs on by one has the same difference from its place.
    numbered = enumerate(pairs)
    for (i, _), group in groupby(numbered, lambda p: (p[1][0], p[1][1] - p[0])):
        others = [pair[1] for _, pair in group]
        stop = place + len(others)
        runs.append(Run(i, slice(others[0], others[-1] + 1), slice(place, stop)))
        place = stop
    return runs


def _counts(
    runs: Sequence[Run], values: npt.NDArray[Any], raised: npt.NDArray[Any]
) -> Counts:
    """Count wins and losses of each pair."""
    size, words = values.shape[1], -(-values.shape[1] // LANES)
    beyond = np.zeros((len(values), words * LANES), np.bool_)
    eights = beyond.view(np.uint64).reshape(len(values), words, -1)
    sums = np.empty((2, runs[-1].places.stop, words), np.uint64)
    for system, others, places in runs:
        length = places.stop - places.start
        taken, added = beyond[:length, :size], eights[:length]
        np.greater(values[others], raised[system], out=taken)
        np.add.reduce(added, axis=2, out=sums[0, places])
        np.greater(values[system], raised[others], out=taken)
        np.add.reduce(added, axis=2, out=sums[1, places])
    lanes = sums.view(np.uint8)
    counts: Counts = lanes.sum(axis=2, dtype=np.intp)
    return counts
