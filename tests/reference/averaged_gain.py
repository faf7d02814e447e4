"""Gain against the best order, looked at where documents are found."""

from __future__ import annotations

import math

from reference.core import Doc, Gain, discounted, gain_of, nothing, order


def _gains(
    docs: list[Doc], gain: Gain, rel: float | None, ties: str
) -> tuple[list[float], list[float]]:
    """Return the gains in rank order, and the positive ones in the best order."""
    best = sorted((gain_of(d, gain, rel) for d in docs), reverse=True)
    ranked = [gain_of(d, gain, rel) for d in order(docs, ties)]
    return ranked, [g for g in best if g > 0]


def _ndcg_at(ranked: list[float], best: list[float], k: int) -> float:
    return discounted(ranked[:k], "log2") / discounted(best[:k], "log2")


def average_ndcg(
    docs: list[Doc],
    *,
    gain: Gain = "linear",
    rel: float | None = None,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return nDCG averaged over the docs with a gain."""
    ranked, best = _gains(docs, gain, rel, ties)
    if not best:
        return nothing(no_relevant)
    terms = [_ndcg_at(ranked, best, i) for i, g in enumerate(ranked, 1) if g > 0]
    whole = discounted(ranked, "log2") / discounted(best, "log2")
    terms += [whole] * (len(best) - len(terms))
    return math.fsum(terms) / len(best)


def r_ndcg(
    docs: list[Doc],
    *,
    gain: Gain = "linear",
    rel: float | None = None,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return nDCG averaged over the ends of the best order's gains, and the list's."""
    ranked, best = _gains(docs, gain, rel, ties)
    if not best:
        return nothing(no_relevant)
    ends = [sum(g >= level for g in best) for level in sorted(set(best))]
    terms = [_ndcg_at(ranked, best, end) for end in ends]
    if len(ranked) > len(best) + 1:
        terms.append(discounted(ranked, "log2") / discounted(best, "log2"))
    return math.fsum(terms) / len(terms)


def g_measure(
    docs: list[Doc],
    *,
    gain: Gain = "linear",
    rel: float | None = None,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the gains, each discounted by how far the list lags behind the best."""
    ranked, best = _gains(docs, gain, rel, ties)
    if not best:
        return nothing(no_relevant)
    ideal = found = 0.0
    terms = []
    for i, g in enumerate(ranked):
        ideal += best[i] if i < len(best) else 1.0
        found += g
        terms.append(g / math.log2(2 + max(ideal - found, 0.0)))
    return math.fsum(terms) / math.fsum(best)


def binary_g_measure(
    docs: list[Doc],
    *,
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the mean of the relevant docs, each discounted by how far it lags."""
    total = sum(d.label is not None and d.label >= rel for d in docs)
    if not total:
        return nothing(no_relevant)
    terms, found = [], 0
    for i, doc in enumerate(order(docs, ties), 1):
        if doc.label is None or doc.label < rel:
            continue
        found += 1
        ideal = i  # 1 for each rank, within the relevant docs and below them
        terms.append(1 / math.log2(2 + ideal - found))
    return math.fsum(terms) / total
