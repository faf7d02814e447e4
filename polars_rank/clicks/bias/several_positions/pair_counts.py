"""Hold impressions and clicks of pairs at positions as arrays.

A pair is a document of a query. What estimates position bias out of them takes arrays
and knows no frame.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[Any]
Codes: TypeAlias = npt.NDArray[np.int64]

UNLINKED = "no document was shown here and at a position tied to the reference"
UNCLICKED = "too few clicks on documents that tie this position to the reference"
CELLS = 4_000_000  # numbers in a temporary array


@dataclass(frozen=True, eq=False)
class Counts:
    """Impressions ``n`` and clicks ``c`` of pairs at positions, sorted by pair.

    ``pair``, ``position`` and ``group`` (what is independent, such as the query) are
    codes from 0; ``positions`` says how many positions there are, ``row`` which row of
    the table this was.
    """

    pair: Codes
    position: Codes
    group: Codes
    n: Array
    c: Array
    row: Codes
    positions: int

    def where(self, keep: npt.NDArray[np.bool_]) -> Counts:
        """Keep some rows; pairs and groups are numbered anew."""
        pair, group = (
            np.unique(codes[keep], return_inverse=True)[1]
            for codes in (self.pair, self.group)
        )
        return Counts(
            pair=pair,
            position=self.position[keep],
            group=group,
            n=self.n[keep],
            c=self.c[keep],
            row=self.row[keep],
            positions=self.positions,
        )

    def of_pair(self, values: Array) -> Array:
        """Sum over the rows of each pair, given to each of its rows."""
        return np.bincount(self.pair, values, self._pairs)[self.pair]

    def of_position(self, values: Array) -> Array:
        """Sum over the rows of each position."""
        return np.bincount(self.position, values, self.positions)

    @property
    def _pairs(self) -> int:
        return int(self.pair[-1]) + 1 if len(self.pair) else 0

    def informative(self, *, least: float = 0, unclicked: bool = False) -> Counts:
        """Keep rows of pairs shown at several positions, ``least`` times, clicked."""
        several = self.of_pair(np.ones(len(self.n))) > 1
        clicked = self.of_pair(self.c) > (-1 if unclicked else 0)
        return self.where(several & clicked & (self.of_pair(self.n) >= least))

    def dense(self, *values: Array) -> Iterator[tuple[Codes, list[Array]]]:
        """Yield matrices of pairs by positions, some pairs at a time, with groups."""
        size = max(1, CELLS // max(1, self.positions) ** 2)
        for first in range(0, self._pairs, size):
            low, high = np.searchsorted(self.pair, [first, first + size])
            pairs, at = self.pair[low:high] - first, self.position[low:high]
            shape = min(size, self._pairs - first), self.positions
            group = np.zeros(shape[0], np.int64)
            group[pairs] = self.group[low:high]
            matrices = [np.zeros(shape) for _ in values]
            for matrix, value in zip(matrices, values, strict=True):
                matrix[pairs, at] = value[low:high]
            yield group, matrices


def groups_of(counts: Counts) -> int:
    """Number of independent groups."""
    return int(counts.group.max()) + 1 if len(counts.group) else 0


# -- positions that documents link to the reference


def _linked(counts: Counts, reference: int) -> list[str | None]:
    """Say why a position cannot be compared with the reference; None: it can.

    The likelihood has a maximum if from each position one gets to each other by steps
    from a position to one whose documents, shown at both, were clicked there (Ford,
    1957).
    """
    k = counts.positions
    together, clicked = np.zeros((k, k)), np.zeros((k, k))
    for _, (shown, clicks) in counts.dense(np.ones(len(counts.n)), counts.c):
        together += shown.T @ shown
        clicked += shown.T @ clicks
    near = reached(together > 0, reference)
    to, back = (reached(step > 0, reference) for step in (clicked, clicked.T))
    return [
        None if to[i] and back[i] else UNCLICKED if near[i] else UNLINKED
        for i in range(k)
    ]


def reached(step: npt.NDArray[np.bool_], start: int) -> npt.NDArray[np.bool_]:
    """Return which positions one gets to from ``start``, step by step."""
    found = np.zeros(len(step), bool)
    found[start] = True
    for _ in step:
        found |= step[found].any(axis=0)
    return found


def known_of(notes: list[str | None]) -> npt.NDArray[np.bool_]:
    """Return which positions have an estimate."""
    return np.array([note is None for note in notes], bool)


def identified(
    counts: Counts, reference: int
) -> tuple[Counts, list[str | None], npt.NDArray[np.bool_]]:
    """Keep the rows at positions that can be compared with the reference."""
    notes = _linked(counts, reference)
    known = known_of(notes)
    return counts.where(known[counts.position]).informative(), notes, known
