"""Diversity, document by document.

``found`` are the retrieved documents in rank order; ``grades`` is subtopic -> document
-> grade. The greedy order is found with fractions, so that equal gains are equal.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from reference.core import nothing

Grades = dict[str, dict[str, float]]


def _covered(grades: Grades, rel: float) -> dict[str, set[str]]:
    """Return the subtopics for which each document is relevant."""
    covered: dict[str, set[str]] = {}
    for subtopic, given in grades.items():
        for doc, grade in given.items():
            if grade >= rel and grade >= 0:
                covered.setdefault(doc, set()).add(subtopic)
    return covered


def _greedy(covered: dict[str, set[str]], alpha: float) -> list[str]:
    """Return all relevant documents; each adds most to those before it."""
    pairs = ((doc, frozenset(topics)) for doc, topics in covered.items())
    return _greedy_order(frozenset(pairs), alpha)


@cache  # the measures and their cutoffs share it
def _greedy_order(
    pairs: frozenset[tuple[str, frozenset[str]]], alpha: float
) -> list[str]:
    covered = dict(pairs)
    worth = [(1 - Fraction(alpha)) ** n for n in range(len(covered) + 1)]
    seen: dict[str, int] = {}
    left = sorted(covered, key=lambda d: d.encode("utf-8"), reverse=True)
    chosen = []
    while left:
        best = max(left, key=lambda d: sum(worth[seen.get(t, 0)] for t in covered[d]))
        left.remove(best)
        chosen.append(best)
        for t in covered[best]:
            seen[t] = seen.get(t, 0) + 1
    return chosen


def _gains(docs: list[str], covered: dict[str, set[str]], alpha: float) -> list[float]:
    """Return what each document adds for subtopics that were seen before or not."""
    seen: dict[str, int] = {}
    gains = []
    for doc in docs:
        gain = 0.0
        for t in covered.get(doc, ()):
            gain += (1 - alpha) ** seen.get(t, 0)
            seen[t] = seen.get(t, 0) + 1
        gains.append(gain)
    return gains


def _total(gains: list[float], k: int | None, weights: str, beta: float = 0) -> float:
    weight = {
        "log": lambda i: 1 / math.log2(i + 1),
        "reciprocal": lambda i: 1 / i,
        "patience": lambda i: beta ** (i - 1),
    }[weights]
    return math.fsum(g * weight(i) for i, g in enumerate(gains[:k], start=1))


def _count(covered: dict[str, set[str]]) -> int:
    return len(set().union(*covered.values())) if covered else 0


def _discounted(found, grades, k, alpha, rel, norm, no_relevant, weights, whole):
    covered = _covered(grades, rel)
    if not covered:
        return nothing(no_relevant)
    total = _total(_gains(found, covered, alpha), k, weights)
    if norm == "ndeval" and k == 1:
        return total
    if norm == "none":
        return total / whole(covered)
    full = _total([(1 - alpha) ** i for i in range(k)], k, weights)
    return total / _count(covered) / full


def alpha_dcg(
    found: list[str],
    grades: Grades,
    *,
    k: int = 20,
    alpha: float = 0.5,
    rel: float = 1,
    norm: str = "cover",
    no_relevant: str = "zero",
) -> float | None:
    """Return the discounted gain of what is new."""
    return _discounted(
        found, grades, k, alpha, rel, norm, no_relevant, "log", lambda c: 1
    )


def err_ia(
    found: list[str],
    grades: Grades,
    *,
    k: int = 20,
    alpha: float = 0.5,
    rel: float = 1,
    norm: str = "cover",
    no_relevant: str = "zero",
) -> float | None:
    """Return the mean over subtopics of the reciprocal ranks of what is new."""
    return _discounted(
        found, grades, k, alpha, rel, norm, no_relevant, "reciprocal", _count
    )


def _share(found, grades, k, alpha, rel, no_relevant, weights, beta=0.0):
    covered = _covered(grades, rel)
    if not covered:
        return nothing(no_relevant)
    best = _gains(_greedy(covered, alpha), covered, alpha)
    total = _total(_gains(found, covered, alpha), k, weights, beta)
    return total / _total(best, k, weights, beta)


def alpha_ndcg(
    found: list[str],
    grades: Grades,
    *,
    k: int = 20,
    alpha: float = 0.5,
    rel: float = 1,
    no_relevant: str = "zero",
) -> float | None:
    """Return alpha-DCG as a share of the greedy order's."""
    return _share(found, grades, k, alpha, rel, no_relevant, "log")


def nerr_ia(
    found: list[str],
    grades: Grades,
    *,
    k: int = 20,
    alpha: float = 0.5,
    rel: float = 1,
    no_relevant: str = "zero",
) -> float | None:
    """Return ERR-IA as a share of the greedy order's."""
    return _share(found, grades, k, alpha, rel, no_relevant, "reciprocal")


def nrbp(
    found: list[str],
    grades: Grades,
    *,
    alpha: float = 0.5,
    beta: float = 0.5,
    rel: float = 1,
    no_relevant: str = "zero",
) -> float | None:
    """Return novelty- and rank-biased precision."""
    covered = _covered(grades, rel)
    if not covered:
        return nothing(no_relevant)
    total = _total(_gains(found, covered, alpha), None, "patience", beta)
    return (1 - (1 - alpha) * beta) * total / _count(covered)


def nnrbp(
    found: list[str],
    grades: Grades,
    *,
    alpha: float = 0.5,
    beta: float = 0.5,
    rel: float = 1,
    no_relevant: str = "zero",
) -> float | None:
    """Return NRBP as a share of the greedy order's, however deep."""
    return _share(found, grades, None, alpha, rel, no_relevant, "patience", beta)


def _mean(values: list[float | None], empty: str, no_relevant: str) -> float | None:
    """Return the mean of the subtopics' values; None is one with nothing relevant."""
    some = [v for v in values if v is not None]
    if not some:
        return nothing(no_relevant)
    return math.fsum(some) / len(some if empty == "skip" else values)


def p_ia(
    found: list[str],
    grades: Grades,
    *,
    k: int | None = None,
    rel: float = 1,
    empty: str = "skip",
    no_relevant: str = "zero",
) -> float | None:
    """Return the mean over subtopics of precision."""
    values: list[float | None] = []
    for given in grades.values():
        relevant = {d for d, g in given.items() if g >= rel and g >= 0}
        size = len(found) if k is None else k
        hits = sum(doc in relevant for doc in found[:k])
        values.append((hits / size if size else 0.0) if relevant else None)
    return _mean(values, empty, no_relevant)


def ap_ia(
    found: list[str],
    grades: Grades,
    *,
    k: int | None = None,
    rel: float = 1,
    empty: str = "skip",
    no_relevant: str = "zero",
) -> float | None:
    """Return the mean over subtopics of average precision."""
    values: list[float | None] = []
    for given in grades.values():
        relevant = {d for d, g in given.items() if g >= rel and g >= 0}
        hits, total = 0, 0.0
        for i, doc in enumerate(found[:k], start=1):
            if doc in relevant:
                hits += 1
                total += hits / i
        values.append(total / len(relevant) if relevant else None)
    return _mean(values, empty, no_relevant)


def st_recall(
    found: list[str],
    grades: Grades,
    *,
    k: int | None = None,
    rel: float = 1,
    no_relevant: str = "zero",
) -> float | None:
    """Return the share of the subtopics that are covered."""
    covered = _covered(grades, rel)
    if not covered:
        return nothing(no_relevant)
    seen = set().union(*(covered.get(doc, set()) for doc in found[:k]))
    return len(seen) / _count(covered)


_NOVEL = [
    {"alpha": 0.0, "k": 5},
    {"alpha": 0.3, "k": 10},
    {"alpha": 0.75},
    {"alpha": 1.0, "k": 3},
    {"rel": 2, "k": 4},
    {"rel": 0},
    {"rel": 0.5, "k": 1},
    {"k": 1000},
]
_NORMED = [
    *_NOVEL,
    *({"norm": norm, "k": k} for norm in ("none", "ndeval", "cover") for k in (1, 3)),
]
_PATIENT = [
    {"beta": 0.1},
    {"beta": 0.8, "alpha": 0.3},
    {"beta": 0.99, "alpha": 0.0},
    {"alpha": 1.0},
    {"rel": 2},
]
_PLAIN = [{"k": 1}, {"k": 4}, {"k": 1000}, {"rel": 2}, {"rel": 0, "k": 3}]
_MEANS = [*_PLAIN, {"empty": "zero"}, {"empty": "zero", "k": 4, "rel": 2}]
VARIANTS = {
    "alpha_dcg": [{}, *_NORMED],
    "err_ia": [{}, *_NORMED],
    "alpha_ndcg": [{}, *_NOVEL],
    "nerr_ia": [{}, *_NOVEL],
    "nrbp": [{}, *_PATIENT],
    "nnrbp": [{}, *_PATIENT],
    "p_ia": [{}, *_MEANS],
    "ap_ia": [{}, *_MEANS],
    "st_recall": [{}, *_PLAIN],
}
