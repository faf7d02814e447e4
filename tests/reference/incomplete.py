"""Partial judgments: what can be said where not every document was judged."""

from __future__ import annotations

import math

from reference.core import Doc, count, is_relevant, nothing, order


def _is_nonrelevant(doc: Doc, rel: float) -> bool:
    return doc.label is not None and doc.label >= 0 and doc.label < rel


def bpref(
    docs: list[Doc],
    *,
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the share of judged non-relevant docs that relevant ones stand above."""
    total = count(docs, rel)
    if total == 0:
        return nothing(no_relevant)
    others = sum(_is_nonrelevant(d, rel) for d in docs)
    above = 0
    terms = []
    for doc in order(docs, ties):
        if _is_nonrelevant(doc, rel):
            above += 1
        elif is_relevant(doc, rel):
            worst = min(others, total)
            terms.append(1.0 if above == 0 else 1.0 - min(above, total) / worst)
    return math.fsum(terms) / total


def gm_bpref(
    docs: list[Doc],
    *,
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the log of bpref, of at least 1e-5."""
    found = bpref(docs, rel=rel, ties=ties, no_relevant=no_relevant)
    return None if found is None else math.log(max(found, 0.00001))


def inf_ap(
    docs: list[Doc],
    *,
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return AP with precision above each relevant doc estimated from the sample."""
    total = count(docs, rel)
    if total == 0:
        return nothing(no_relevant)
    hits = misses = pooled = 0
    terms = []
    for j, doc in enumerate(order(docs, ties), start=1):
        if is_relevant(doc, rel):
            expected = 1 / j
            if j > 1:
                judged = (hits + 1e-5) / (hits + misses + 2e-5)
                share = (hits + misses + pooled) / (j - 1)
                expected += (j - 1) / j * share * judged
            terms.append(expected)
            hits += 1
        elif _is_nonrelevant(doc, rel):
            misses += 1
        elif doc.label is not None:
            pooled += 1
    return math.fsum(terms) / total


def judged(docs: list[Doc], *, k: int | None = None, ties: str = "order") -> float:
    """Return the share of labeled docs in the first k that there are."""
    top = order(docs, ties)[:k]
    return sum(d.label is not None for d in top) / len(top) if top else 0.0


def hole(docs: list[Doc], *, k: int | None = None, ties: str = "order") -> float:
    """Return the docs without a label in the first k, divided by k."""
    ranked = order(docs, ties)
    below = len(ranked) if k is None else k
    return sum(d.label is None for d in ranked[:k]) / below if below else 0.0


def unjudged(docs: list[Doc], *, k: int | None = None, ties: str = "order") -> float:
    """Return the docs without a grade in the first k, divided by k."""
    ranked = order(docs, ties)
    unknown = sum(d.label is None or d.label < 0 for d in ranked[:k])
    below = len(ranked) if k is None else k
    return unknown / below if below else 0.0
