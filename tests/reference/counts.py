"""Counts, and the worth of a set by its counts."""

from __future__ import annotations

from reference.core import Doc, count

VARIANTS = {
    "utility": [
        {"found": 2.0},
        {"noise": -0.5},
        {"missed": -1.5, "rel": 2},
        {"rejected": 0.25, "collection": 1000},
    ],
}


def _retrieved(docs: list[Doc]) -> list[Doc]:
    return [d for d in docs if d.score is not None]


def num_q(docs: list[Doc]) -> float:
    """Return 1."""
    return 1.0


def num_ret(docs: list[Doc], *, rel: float | None = None) -> float:
    """Return how many docs were retrieved, or relevant ones."""
    found = _retrieved(docs)
    return float(len(found) if rel is None else count(found, rel))


def num_rel(docs: list[Doc], *, rel: float = 1) -> float:
    """Return how many docs are relevant."""
    return float(count(docs, rel))


def num_nonrel_judged_ret(docs: list[Doc], *, rel: float = 1) -> float:
    """Return how many retrieved docs have a grade from 0 to below rel."""
    grades = [d.label for d in _retrieved(docs) if d.label is not None]
    return float(sum(0 <= g < rel for g in grades))


def utility(
    docs: list[Doc],
    *,
    rel: float = 1,
    found: float = 1.0,
    noise: float = -1.0,
    missed: float = 0.0,
    rejected: float = 0.0,
    collection: float = 0,
) -> float:
    """Return the sum of the four counts of the contingency table, each weighted."""
    a = count(_retrieved(docs), rel)
    b = len(_retrieved(docs)) - a
    c = count(docs, rel) - a
    d = collection - a - b - c
    return found * a + noise * b + missed * c + rejected * d
