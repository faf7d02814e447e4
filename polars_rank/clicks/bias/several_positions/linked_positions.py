"""Positions that can be compared with the reference, as documents link them to it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from polars_rank.clicks.bias.several_positions.pair_counts import Counts

UNLINKED = "no document was shown here and at a position tied to the reference"
UNCLICKED = "too few clicks on documents that tie this position to the reference"


def _linked(counts: Counts, reference: int) -> list[str | None]:
    """Why a position cannot be compared with the reference; None: it can.

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
    """Which positions one gets to from ``start``, step by step."""
    found = np.zeros(len(step), bool)
    found[start] = True
    for _ in step:
        found |= step[found].any(axis=0)
    return found


def known_of(notes: list[str | None]) -> npt.NDArray[np.bool_]:
    """Which positions have an estimate."""
    return np.array([note is None for note in notes], bool)


def identified(
    counts: Counts, reference: int
) -> tuple[Counts, list[str | None], npt.NDArray[np.bool_]]:
    """Rows at positions that can be compared with the reference."""
    notes = _linked(counts, reference)
    known = known_of(notes)
    return counts.where(known[counts.position]).informative(), notes, known
