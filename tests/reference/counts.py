"""Counts, and the worth of a set by its counts."""

from __future__ import annotations

from reference.core import Doc, count

VARIANTS = {
    "utility": [
        {"tp": 2.0},
        {"fp": -0.5},
        {"fn": -1.5, "rel": 2},
        {"tn": 0.25, "collection": 1000},
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


def num_rel_ret(docs: list[Doc], *, rel: float = 1) -> float:
    """Return how many retrieved docs are relevant."""
    return float(count(_retrieved(docs), rel))


def num_nonrel_judged_ret(docs: list[Doc], *, rel: float = 1) -> float:
    """Return how many retrieved docs have a grade from 0 to below rel."""
    grades = [d.label for d in _retrieved(docs) if d.label is not None]
    return float(sum(0 <= g < rel for g in grades))


def utility(
    docs: list[Doc],
    *,
    rel: float = 1,
    tp: float = 1.0,
    fp: float = -1.0,
    fn: float = 0.0,
    tn: float = 0.0,
    collection: float = 0,
) -> float:
    """Return the sum of the four counts of the contingency table, each weighted."""
    a = count(_retrieved(docs), rel)
    b = len(_retrieved(docs)) - a
    c = count(docs, rel) - a
    d = collection - a - b - c
    return tp * a + fp * b + fn * c + tn * d
