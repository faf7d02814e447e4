"""Precision where recall reaches a level, or at a multiple of R."""

from __future__ import annotations

import math
from fractions import Fraction

from reference.core import Doc, count, is_relevant, nothing, order

VARIANTS = {
    "r_precision": [{"multiple": m} for m in (0.2, 0.35, 1.0, 1.7, 2)],
    "interpolated_precision": [
        {"recall": x / 10, "rounding": how}
        for x in range(11)
        for how in ("nearest", "up")
    ],
}


def r_precision(
    docs: list[Doc],
    *,
    rel: float = 1,
    multiple: float = 1.0,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the precision at the given multiple of R."""
    total = count(docs, rel)
    if total == 0:
        return nothing(no_relevant)
    place = int(multiple * total + 0.9)
    return count(order(docs, ties)[:place], rel) / place if place else 0.0


def interpolated_precision(
    docs: list[Doc],
    *,
    rel: float = 1,
    recall: float = 0.5,
    rounding: str = "nearest",
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the best precision at any place that has enough relevant docs above."""
    total = count(docs, rel)
    if total == 0:
        return nothing(no_relevant)
    exact = recall * total
    if rounding == "up":
        enough = int(exact + 0.9)
    else:
        whole = math.floor(exact)
        enough = whole + (Fraction(exact) - whole >= Fraction(1, 2))
    best = 0.0
    hits = 0
    for i, doc in enumerate(order(docs, ties), start=1):
        hits += is_relevant(doc, rel)
        if hits >= enough:
            best = max(best, hits / i)
    return best


def eleven_point_ap(
    docs: list[Doc],
    *,
    rel: float = 1,
    rounding: str = "nearest",
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the mean of interpolated precision at recall 0, .1 ... 1."""
    if count(docs, rel) == 0:
        return nothing(no_relevant)
    levels = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    found = [
        interpolated_precision(docs, rel=rel, recall=x, rounding=rounding, ties=ties)
        for x in levels
    ]
    return math.fsum(found) / 11
