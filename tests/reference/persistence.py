"""Rank-biased precision and its residual."""

from __future__ import annotations

import math

from reference.core import Doc, Gain, gain_of, nothing, order

VARIANTS = {"rbp": [{"scale": 4}, {"scale": 0.5, "k": 3}, {"gain": "binary", "rel": 2}]}
VARIANTS["rbp"] += [{"gain": {1: 0.25, 2: 0.5}, "rel": 1}]


def rbp(
    docs: list[Doc],
    *,
    k: int | None = None,
    p: float = 0.9,
    gain: Gain = "linear",
    rel: float | None = None,
    scale: float | str = "max",
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return what a user gains who looks at one more doc with probability p."""
    best = max((gain_of(d, gain, rel) for d in docs), default=0.0)
    if best == 0:
        return nothing(no_relevant)
    full = best if scale == "max" else scale
    if scale == "max" and isinstance(gain, dict):
        full = max(best, 1.0, *gain.values())
    reads, terms = 1.0, []
    for doc in order(docs, ties)[:k]:
        terms.append(reads * gain_of(doc, gain, rel) / full)
        reads *= p
    return (1 - p) * math.fsum(terms)


def rbp_residual(
    docs: list[Doc],
    *,
    k: int | None = None,
    p: float = 0.9,
    all_judged: str = "tail",
    ties: str = "order",
) -> float:
    """Return what rbp gains at most if unjudged docs turn out to be perfect."""
    ranked = order(docs, ties)
    unknown = [d.label is None or d.label < 0 for d in ranked]
    if all_judged == "zero" and not any(unknown):
        return 0.0
    seen = unknown[:k]
    reads = [p**i for i in range(len(seen))]
    gaps = math.fsum(r for r, gap in zip(reads, seen, strict=True) if gap)
    return (1 - p) * gaps + p ** len(seen)
