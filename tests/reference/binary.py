"""Found or not found."""

from __future__ import annotations

import math

from reference.core import Doc, count, is_relevant, nothing, order

VARIANTS = {"f_measure": [{"x": 2}, {"x": 0.5, "k": 5}]}


def accuracy(
    docs: list[Doc],
    *,
    k: int | None = None,
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return 1 if any of the first k is relevant, else 0."""
    if count(docs, rel) == 0:
        return nothing(no_relevant)
    return 1.0 if count(order(docs, ties)[:k], rel) > 0 else 0.0


def precision(
    docs: list[Doc],
    *,
    k: int | None = None,
    rel: float = 1,
    divisor: str = "k",
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the share of relevant docs in the first k."""
    total = count(docs, rel)
    if total == 0:
        return nothing(no_relevant)
    ranked = order(docs, ties)
    n = len(ranked)
    if divisor == "k":
        below = n if k is None else k
    elif divisor == "retrieved":
        below = n if k is None else min(k, n)
    elif divisor == "min_k_R":
        below = min(n if k is None else k, total)
    else:
        raise ValueError(f"unknown divisor: {divisor!r}")
    return count(ranked[:k], rel) / below if below else 0.0


def recall(
    docs: list[Doc],
    *,
    k: int | None = None,
    rel: float = 1,
    divisor: str = "R",
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the share of the relevant docs that the first k hold."""
    total = count(docs, rel)
    if total == 0:
        return nothing(no_relevant)
    if divisor == "R":
        below = total
    elif divisor == "min_k_R":
        below = total if k is None else min(k, total)
    else:
        raise ValueError(f"unknown divisor: {divisor!r}")
    return count(order(docs, ties)[:k], rel) / below if below else 0.0


def full_recall(
    docs: list[Doc],
    *,
    k: int | None = None,
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return 1 if no relevant doc is outside of the first k, else 0."""
    if count(docs, rel) == 0:
        return nothing(no_relevant)
    top = order(docs, ties)[:k]
    return 1.0 if count(top, rel) == count(docs, rel) else 0.0


def f1(
    docs: list[Doc],
    *,
    k: int | None = None,
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the harmonic mean of precision and recall."""
    if count(docs, rel) == 0:
        return nothing(no_relevant)
    p = precision(docs, k=k, rel=rel, ties=ties)
    r = recall(docs, k=k, rel=rel, ties=ties)
    return 2.0 * p * r / (p + r) if p + r > 0 else 0.0


def ap(
    docs: list[Doc],
    *,
    k: int | None = None,
    rel: float = 1,
    divisor: str = "R",
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return average precision: precision at each relevant rank, summed and divided."""
    total = count(docs, rel)
    if total == 0:
        return nothing(no_relevant)
    ranked = order(docs, ties)
    hits = 0
    terms = []
    for i, doc in enumerate(ranked[:k], start=1):
        if is_relevant(doc, rel):
            hits += 1
            terms.append(hits / i)
    if divisor == "R":
        below = total
    elif divisor == "min_k_R":
        below = total if k is None else min(k, total)
    elif divisor == "min_k_R_n":
        below = min(len(ranked[:k]), total)
    elif divisor == "hits":
        below = hits
    elif divisor == "k":
        below = len(ranked) if k is None else k
    else:
        raise ValueError(f"unknown divisor: {divisor!r}")
    return math.fsum(terms) / below if below else 0.0


def rr(
    docs: list[Doc],
    *,
    k: int | None = None,
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the reciprocal rank of the first relevant doc within k, else 0."""
    if count(docs, rel) == 0:
        return nothing(no_relevant)
    for i, doc in enumerate(order(docs, ties)[:k], start=1):
        if is_relevant(doc, rel):
            return 1.0 / i
    return 0.0


def f_measure(
    docs: list[Doc],
    *,
    k: int | None = None,
    rel: float = 1,
    x: float = 1.0,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return (x + 1) P R / (R + x P)."""
    if count(docs, rel) == 0:
        return nothing(no_relevant)
    p = precision(docs, k=k, rel=rel, ties=ties)
    r = recall(docs, k=k, rel=rel, ties=ties)
    return (x + 1) * p * r / (r + x * p) if p > 0 else 0.0


def gm_ap(
    docs: list[Doc],
    *,
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the log of average precision, of at least 1e-5."""
    found = ap(docs, rel=rel, ties=ties, no_relevant=no_relevant)
    return None if found is None else math.log(max(found, 0.00001))


def yaap(
    docs: list[Doc],
    *,
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the log odds of the sum of precisions, smoothed by 1."""
    total = count(docs, rel)
    if total == 0:
        return nothing(no_relevant)
    s = total * ap(docs, rel=rel, ties=ties)
    return math.log(1 + s) - math.log(1 + total - s)


def set_ap(
    docs: list[Doc], *, rel: float = 1, no_relevant: str = "zero"
) -> float | None:
    """Return precision times recall of all retrieved docs."""
    total = count(docs, rel)
    if total == 0:
        return nothing(no_relevant)
    found = [d for d in docs if d.score is not None]
    hits = count(found, rel)
    return hits / len(found) * hits / total if found else 0.0
