"""The user stops when satisfied."""

from __future__ import annotations

import math
from collections.abc import Callable

from reference.core import Doc, grade, ideal_pool, nothing, order


def _top_grade(docs: list[Doc], max_grade: float | str) -> float:
    """Return the highest possible grade; raise if a label is above it."""
    top = max((d.label for d in docs if d.label is not None), default=0.0)
    if max_grade == "query":
        return top
    if isinstance(max_grade, str):
        raise ValueError(f"unknown max_grade: {max_grade!r}")
    if top > max_grade:
        raise ValueError(f"label {top} exceeds max_grade {max_grade}")
    return max_grade


def _chance(doc: Doc, top: float, stop: str) -> float:
    """Return the probability that the doc satisfies the user."""
    g = grade(doc)
    if g == 0:
        return 0.0
    if stop == "exp2":
        return (2.0**g - 1.0) / 2.0**top
    if stop == "linear":
        return g / (top + 1.0)
    if stop == "grade":
        return g / top
    raise ValueError(f"unknown stop: {stop!r}")


def _cascade(
    ranked: list[Doc], top: float, stop: str, weight: Callable[[int], float]
) -> float:
    """Return the expected weight of the place at which a user stops."""
    terms = []
    still_looking = 1.0
    for i, doc in enumerate(ranked, start=1):
        chance = _chance(doc, top, stop)
        terms.append(still_looking * chance * weight(i))
        still_looking *= 1.0 - chance
    return math.fsum(terms)


def err(
    docs: list[Doc],
    *,
    k: int | None = None,
    max_grade: float | str = 4,
    stop: str = "exp2",
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return expected reciprocal rank."""
    top = _top_grade(docs, max_grade)
    if not any(grade(d) > 0 for d in docs):
        return nothing(no_relevant)
    return _cascade(order(docs, ties)[:k], top, stop, lambda i: 1 / i)


def nerr(
    docs: list[Doc],
    *,
    k: int | None = None,
    max_grade: float | str = 4,
    ideal: str = "judged",
    stop: str = "exp2",
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return err divided by the err of the ideal order."""
    top = _top_grade(docs, max_grade)
    pool = ideal_pool(docs, ideal)
    best_order = sorted(pool, key=lambda d: d.label, reverse=True)
    best = _cascade(best_order[:k], top, stop, lambda i: 1 / i)
    if best == 0:
        return nothing(no_relevant)
    return _cascade(order(docs, ties)[:k], top, stop, lambda i: 1 / i) / best


def pfound(
    docs: list[Doc],
    *,
    k: int | None = None,
    decay: float = 0.85,
    max_grade: float | str = 4,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the chance that a user finds satisfaction before she tires."""
    top = _top_grade(docs, max_grade)
    if not any(grade(d) > 0 for d in docs):
        return nothing(no_relevant)
    ranked = order(docs, ties)[:k]
    return _cascade(ranked, top, "grade", lambda i: decay ** (i - 1))


VARIANTS = {name: [{"max_grade": 5, "k": 7}] for name in ("err", "nerr", "pfound")}
for _name in ("err", "nerr"):
    VARIANTS[_name] += [{"stop": s, "max_grade": "query"} for s in ("linear", "grade")]
