"""Precision and cumulative gain in one number, for every rank anew."""

from __future__ import annotations

import math

from reference.core import Doc, Gain, count, gain_of, is_relevant, nothing, order


def _ratio(
    docs: list[Doc], ranked: list[Doc], i: int, beta: float, gain: Gain, rel: float
) -> float:
    """Return the blended ratio at rank i (from 1)."""
    hits = sum(1 for d in ranked[:i] if is_relevant(d, rel))
    gathered = sum(gain_of(d, gain, rel) for d in ranked[:i])
    best = sum(sorted((gain_of(d, gain, rel) for d in docs), reverse=True)[:i])
    return (hits + beta * gathered) / (i + beta * best)


def _gainless(docs: list[Doc], gain: Gain, rel: float) -> bool:
    return not any(gain_of(d, gain, rel) > 0 for d in docs)


def _relevant_ranks(ranked: list[Doc], rel: float) -> list[int]:
    return [i for i, d in enumerate(ranked, start=1) if is_relevant(d, rel)]


def _preferred(ranked: list[Doc], rel: float) -> int:
    """Return the rank of the first doc of the highest grade; 0 if none is relevant."""
    ranks = _relevant_ranks(ranked, rel)
    return max(ranks, key=lambda i: (ranked[i - 1].label, -i), default=0)


def q_measure(
    docs: list[Doc],
    *,
    k: int | None = None,
    beta: float = 1,
    gain: Gain = "linear",
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the sum of the blended ratios of the relevant docs, by min(k, R)."""
    if _gainless(docs, gain, rel):
        return nothing(no_relevant)
    ranked = order(docs, ties)
    ranks = [i for i in _relevant_ranks(ranked, rel) if k is None or i <= k]
    found = math.fsum(_ratio(docs, ranked, i, beta, gain, rel) for i in ranks)
    most = count(docs, rel)
    return found / (most if k is None else min(k, most))


def o_measure(
    docs: list[Doc],
    *,
    beta: float = 1,
    gain: Gain = "linear",
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the blended ratio at the first relevant doc."""
    if _gainless(docs, gain, rel):
        return nothing(no_relevant)
    ranked = order(docs, ties)
    ranks = _relevant_ranks(ranked, rel)
    return _ratio(docs, ranked, ranks[0], beta, gain, rel) if ranks else 0.0


def p_measure(
    docs: list[Doc],
    *,
    beta: float = 1,
    gain: Gain = "linear",
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the blended ratio at the preferred rank."""
    if _gainless(docs, gain, rel):
        return nothing(no_relevant)
    ranked = order(docs, ties)
    last = _preferred(ranked, rel)
    return _ratio(docs, ranked, last, beta, gain, rel) if last else 0.0


def p_plus(
    docs: list[Doc],
    *,
    beta: float = 1,
    gain: Gain = "linear",
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the mean blended ratio of relevant docs down to the preferred rank."""
    if _gainless(docs, gain, rel):
        return nothing(no_relevant)
    ranked = order(docs, ties)
    last = _preferred(ranked, rel)
    ranks = [i for i in _relevant_ranks(ranked, rel) if i <= last]
    ratios = [_ratio(docs, ranked, i, beta, gain, rel) for i in ranks]
    return math.fsum(ratios) / len(ratios) if ratios else 0.0


def ncu_gu(
    docs: list[Doc],
    *,
    stop: Gain = "linear",
    beta: float = 1,
    gain: Gain = "linear",
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the mean blended ratio where users stop, by grade."""
    if _gainless(docs, gain, rel):
        return nothing(no_relevant)
    ranked = order(docs, ties)
    users = sum(gain_of(d, stop, rel) for d in docs if is_relevant(d, rel))
    found = [
        gain_of(ranked[i - 1], stop, rel) * _ratio(docs, ranked, i, beta, gain, rel)
        for i in _relevant_ranks(ranked, rel)
    ]
    return math.fsum(found) / users if users else 0.0


def ncu_rb(
    docs: list[Doc],
    *,
    gamma: float = 0.95,
    beta: float = 1,
    gain: Gain = "linear",
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the mean blended ratio where users stop, by order."""
    if _gainless(docs, gain, rel):
        return nothing(no_relevant)
    ranked = order(docs, ties)
    users = math.fsum(gamma**j for j in range(count(docs, rel)))
    found = [
        gamma**j * _ratio(docs, ranked, i, beta, gain, rel)
        for j, i in enumerate(_relevant_ranks(ranked, rel))
    ]
    return math.fsum(found) / users


_BETAS = [{"beta": 0}, {"beta": 10, "gain": "exp2"}]
VARIANTS = dict.fromkeys(
    ("o_measure", "p_measure", "p_plus", "ncu_gu", "ncu_rb"), _BETAS
)
VARIANTS["q_measure"] = [*_BETAS, {"beta": 0.5, "k": 3}]
