"""Documents, their order, and words that many families share."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass

Gain = str | dict[float, float] | Callable[[float], float]
Discount = str | Callable[[float], float]
Metric = Callable[..., float | None]


@dataclass(frozen=True)
class Doc:
    """One document of a query."""

    id: str
    score: float | None  # None: judged, not retrieved
    label: float | None  # None: unjudged


# --- order ---------------------------------------------------------------------------


def order(docs: list[Doc], ties: str = "order") -> list[Doc]:
    """Return the retrieved docs by score descending, equal scores ordered by `ties`."""
    found = [d for d in docs if d.score is not None]
    if ties == "doc_desc":
        found.sort(key=lambda d: d.id.encode("utf-8"), reverse=True)
    elif ties == "doc_asc":
        found.sort(key=lambda d: d.id.encode("utf-8"))
    elif ties == "optimistic":
        found.sort(key=unjudged_last)
    elif ties == "pessimistic":
        found.sort(key=unjudged_last, reverse=True)
    elif ties != "order":
        raise ValueError(f"unknown ties: {ties!r}")
    # Sorting is stable, so the order made above survives inside equal scores.
    return sorted(found, key=lambda d: -d.score)


def expected(metric: Metric, docs: list[Doc], **params: object) -> float | None:
    """Return the mean of `metric` over all permutations inside blocks of equal scores.

    In each all scores differ, as its order says. `metric` has to take `ties`. None if
    the metric is None for any permutation.
    """
    rest = [d for d in docs if d.score is None]
    groups = itertools.groupby(order(docs, "order"), key=lambda d: d.score)
    blocks = [list(block) for _, block in groups]
    values = []
    for choice in itertools.product(*(itertools.permutations(b) for b in blocks)):
        ordered = [d for block in choice for d in block]
        ordered = [Doc(d.id, -float(i), d.label) for i, d in enumerate(ordered)]
        arranged = ordered + rest
        value = metric(arranged, **{**params, "ties": "order"})
        if value is None:
            return None
        values.append(value)
    return math.fsum(values) / len(values)


def unjudged_last(doc: Doc) -> float:
    """Return a key by which the best grade comes first, and the unjudged last."""
    return math.inf if doc.label is None else -doc.label


# --- helpers -------------------------------------------------------------------------


def grade(doc: Doc) -> float:
    """Return the label, with unjudged and negative counted as 0."""
    if doc.label is None or doc.label < 0:
        return 0.0
    return doc.label


def is_relevant(doc: Doc, rel: float) -> bool:
    """Tell whether a doc is relevant at the threshold; a negative grade never is."""
    return doc.label is not None and doc.label >= rel and doc.label >= 0


def count(docs: list[Doc], rel: float) -> int:
    """Count the relevant docs."""
    return sum(1 for d in docs if is_relevant(d, rel))


def nothing(no_relevant: str) -> float | None:
    """Return the value of a query in which nothing is relevant."""
    if no_relevant == "zero":
        return 0.0
    if no_relevant == "one":
        return 1.0
    if no_relevant in ("null", "skip"):
        return None
    if no_relevant == "error":
        raise ValueError("nothing is relevant")
    raise ValueError(f"unknown no_relevant: {no_relevant!r}")


def gain_of(doc: Doc, gain: Gain, rel: float | None = None) -> float:
    """Return the gain of a doc; 0 when it is unjudged, negative or below `rel`."""
    if doc.label is None or doc.label < 0 or (rel is not None and doc.label < rel):
        return 0.0
    if callable(gain):
        return gain(doc.label)
    if isinstance(gain, dict):
        return gain.get(doc.label, doc.label)
    if gain == "linear":
        return doc.label
    if gain == "exp2":
        return 2.0**doc.label - 1.0
    if gain == "binary":
        return 1.0 if doc.label > 0 else 0.0
    raise ValueError(f"unknown gain: {gain!r}")


def discount_at(rank: int, discount: Discount) -> float:
    """Return the divisor of the gain at a rank (from 1)."""
    if callable(discount):
        return discount(float(rank))
    if discount == "log2":
        return math.log2(rank + 1)
    if discount == "log2_from_2":
        return max(1.0, math.log2(rank))
    if discount == "position":
        return float(rank)
    raise ValueError(f"unknown discount: {discount!r}")


def discounted(gains: list[float], discount: Discount) -> float:
    """Return the sum of gains, each divided by the discount of its rank."""
    return math.fsum(g / discount_at(i, discount) for i, g in enumerate(gains, start=1))


def ideal_pool(docs: list[Doc], ideal: str) -> list[Doc]:
    """Return the judged docs from which the ideal order is made."""
    if ideal == "judged":
        return [d for d in docs if d.label is not None]
    if ideal == "retrieved":
        return [d for d in docs if d.label is not None and d.score is not None]
    raise ValueError(f"unknown ideal: {ideal!r}")
