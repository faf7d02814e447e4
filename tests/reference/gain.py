"""Cumulative gain."""

from __future__ import annotations

import math

from reference.core import (
    Discount,
    Doc,
    Gain,
    discounted,
    gain_of,
    ideal_pool,
    nothing,
    order,
)


def cg(
    docs: list[Doc],
    *,
    k: int | None = None,
    gain: Gain = "linear",
    rel: float | None = None,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the sum of the gains of the first k."""
    if not any(gain_of(d, gain, rel) > 0 for d in docs):
        return nothing(no_relevant)
    return math.fsum(gain_of(d, gain, rel) for d in order(docs, ties)[:k])


def dcg(
    docs: list[Doc],
    *,
    k: int | None = None,
    gain: Gain = "linear",
    discount: Discount = "log2",
    rel: float | None = None,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the sum of the discounted gains of the first k."""
    if not any(gain_of(d, gain, rel) > 0 for d in docs):
        return nothing(no_relevant)
    return discounted([gain_of(d, gain, rel) for d in order(docs, ties)[:k]], discount)


def ndcg(
    docs: list[Doc],
    *,
    k: int | None = None,
    gain: Gain = "linear",
    discount: Discount = "log2",
    ideal: str = "judged",
    rel: float | None = None,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return dcg divided by the dcg of the ideal order."""
    pool = ideal_pool(docs, "retrieved" if ideal == "retrieved" else "judged")
    gains = [gain_of(d, gain, rel) for d in pool]
    best_gains = sorted((g for g in gains if g > 0), reverse=True)
    retrieved = sum(1 for d in docs if d.score is not None)
    if ideal == "min_k_n":
        best_gains = best_gains[:retrieved]
    elif ideal == "k" and best_gains:
        best_gains = [best_gains[0]] * (retrieved if k is None else k)
    best = discounted(best_gains[:k], discount)
    if best == 0:
        return nothing(no_relevant)
    return dcg(docs, k=k, gain=gain, discount=discount, rel=rel, ties=ties) / best
