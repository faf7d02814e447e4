"""Counts in the first k."""

from __future__ import annotations

import math

from reference.core import Doc, Gain, count, gain_of, is_relevant, nothing, order


def hits(
    docs: list[Doc],
    k: int | None = None,
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return how many of the first k are relevant."""
    if count(docs, rel) == 0:
        return nothing(no_relevant)
    return float(count(order(docs, ties)[:k], rel))


def _table(
    docs: list[Doc], k: int | None, rel: float, catalog: int | None, ties: str
) -> tuple[int, int, int, int]:
    """Return TP, FP, FN and TN."""
    found = order(docs, ties)[:k]
    if catalog is None:
        judged = [d for d in docs if d.label is not None]
        counts = {(a, b): 0 for a in (True, False) for b in (True, False)}
        for d in judged:
            counts[is_relevant(d, rel), any(d is other for other in found)] += 1
        return (
            counts[True, True],
            counts[False, True],
            counts[True, False],
            counts[False, False],
        )
    tp = count(found, rel)
    fp = (len(found) if k is None else k) - tp
    fn = count(docs, rel) - tp
    return tp, fp, fn, catalog - tp - fp - fn


def fall_out(
    docs: list[Doc],
    k: int | None = None,
    rel: float = 1,
    catalog: int | None = None,
    ties: str = "order",
    undefined: float | None = None,
) -> float | None:
    """Return the false positives as a share of the negatives."""
    _, fp, _, tn = _table(docs, k, rel, catalog, ties)
    return fp / (fp + tn) if fp + tn else undefined


def binary_accuracy(
    docs: list[Doc],
    k: int | None = None,
    rel: float = 1,
    catalog: int | None = None,
    ties: str = "order",
) -> float | None:
    """Return the share of true positives and true negatives."""
    tp, fp, fn, tn = _table(docs, k, rel, catalog, ties)
    whole = tp + fp + fn + tn
    return (tp + tn) / whole if whole else None


def mcc(
    docs: list[Doc],
    k: int | None = None,
    rel: float = 1,
    catalog: int | None = None,
    ties: str = "order",
) -> float | None:
    """Return the Matthews correlation, 0 where it has no denominator."""
    tp, fp, fn, tn = _table(docs, k, rel, catalog, ties)
    sums = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    return (tp * tn - fp * fn) / math.sqrt(sums) if sums else 0.0


def mean_label(
    docs: list[Doc], k: int | None = None, ties: str = "order"
) -> float | None:
    """Return the mean label of the judged docs in the first k."""
    labels = [d.label for d in order(docs, ties)[:k] if d.label is not None]
    return math.fsum(labels) / len(labels) if labels else None


def arp(docs: list[Doc], gain: Gain = "linear", ties: str = "order") -> float | None:
    """Return the mean rank of the docs, weighed by gain."""
    gains = [gain_of(d, gain) for d in order(docs, ties)]
    whole = math.fsum(gains)
    if whole == 0:
        return None
    return math.fsum(i * g for i, g in enumerate(gains, 1)) / whole


VARIANTS = {
    name: [{"catalog": 1000}, {"catalog": 1000, "k": 5}, {"catalog": 5000, "k": 400}]
    for name in ("fall_out", "binary_accuracy", "mcc")
}
VARIANTS["fall_out"].append({"undefined": 0.5})
