"""Pairs of documents."""

from __future__ import annotations

import math

from reference.core import Doc, count, is_relevant, nothing, order


def _rows(docs: list[Doc], k: int | None, ties: str) -> list[Doc]:
    """Return the judged docs among the first k retrieved."""
    return [d for d in order(docs, ties)[:k] if d.label is not None]


def _split(rows: list[Doc], rel: float) -> tuple[list[float], list[float]]:
    """Return the scores of the relevant docs and of the others."""
    good = [d.score for d in rows if is_relevant(d, rel)]
    bad = [d.score for d in rows if not is_relevant(d, rel)]
    return good, bad


def auc(
    docs: list[Doc],
    k: int | None = None,
    rel: float = 1,
    max_fpr: float = 1,
    one_class: float | None = None,
    ties: str = "order",
) -> float | None:
    """Return the area under the curve; in full, the share of pairs in order."""
    good, bad = _split(_rows(docs, k, ties), rel)
    if not good or not bad:
        return one_class
    if max_fpr == 1:
        wins = sum((g > b) + 0.5 * (g == b) for g in good for b in bad)
        return wins / (len(good) * len(bad))
    # The curve, point by point, by the trapezoidal rule up to max_fpr.
    x = y = area = 0.0
    for threshold in sorted({*good, *bad}, reverse=True):
        next_x = sum(b >= threshold for b in bad) / len(bad)
        next_y = sum(g >= threshold for g in good) / len(good)
        if next_x >= max_fpr:
            if next_x > x:
                next_y = y + (next_y - y) * (max_fpr - x) / (next_x - x)
                area += (max_fpr - x) * (y + next_y) / 2
            break
        area += (next_x - x) * (y + next_y) / 2
        x, y = next_x, next_y
    least = max_fpr**2 / 2
    return 0.5 * (1 + (area - least) / (max_fpr - least))


def relevant_above(
    docs: list[Doc],
    k: int | None = None,
    rel: float = 1,
    one_class: float | None = None,
    ties: str = "order",
) -> float | None:
    """Return the share of ordered pairs of relevant and other retrieved docs."""
    flags = [is_relevant(d, rel) for d in order(docs, ties)[:k]]
    pairs = right = 0
    for i, above in enumerate(flags):
        for below in flags[i + 1 :]:
            pairs += above != below
            right += above and not below
    return right / pairs if pairs else one_class


def partial_auc(
    docs: list[Doc],
    k: int | None = None,
    rel: float = 1,
    positives: str = "all",
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the share of ordered pairs with the first k that are not relevant."""
    if count(docs, rel) == 0:
        return nothing(no_relevant)
    flags = [is_relevant(d, rel) for d in order(docs, ties)]
    negatives = k or flags.count(False)
    most = k if positives == "k" and k else count(docs, rel)
    if negatives == 0:
        return sum(flags) / count(docs, rel)
    right = seen = above = 0
    for flag in flags:
        if not flag:
            above += 1
        elif seen < most:
            seen += 1
            right += max(0, negatives - above)
    return right / (negatives * min(most, count(docs, rel)))


def pair_accuracy(
    docs: list[Doc],
    k: int | None = None,
    tied_score: float = 0.5,
    weigh: str = "equally",
    ties: str = "order",
) -> float | None:
    """Return the share of pairs of unequal labels in order, or of their differences."""
    rows = _rows(docs, k, ties)
    whole = right = 0.0
    for a in rows:
        for b in rows:
            if a.label > b.label:
                weight = 1.0 if weigh == "equally" else a.label - b.label
                whole += weight
                if a.score > b.score:
                    right += weight
                elif a.score == b.score:
                    right += tied_score * weight
    return right / whole if whole else None


def opa(docs: list[Doc], k: int | None = None, ties: str = "order") -> float | None:
    """Return the share of pairs of unequal labels with the better one above."""
    rows = _rows(docs, k, ties)
    pairs = [(a, b) for a in rows for b in rows if a.label > b.label]
    return sum(a.score > b.score for a, b in pairs) / len(pairs) if pairs else None


def ranking_loss(
    docs: list[Doc], rel: float = 1, one_class: float | None = None
) -> float | None:
    """Return the share of pairs with the other doc at least as high."""
    good, bad = _split(_rows(docs, None, "order"), rel)
    if not good or not bad:
        return one_class
    return sum(b >= g for g in good for b in bad) / (len(good) * len(bad))


def lrap(docs: list[Doc], rel: float = 1, no_relevant: str = "zero") -> float | None:
    """Return the mean precision at each relevant doc, ties counted as above."""
    good, bad = _split(_rows(docs, None, "order"), rel)
    if not good:
        return nothing(no_relevant)
    shares = [
        sum(other >= g for other in good) / sum(other >= g for other in good + bad)
        for g in good
    ]
    return math.fsum(shares) / len(shares)


def coverage_error(
    docs: list[Doc], rel: float = 1, undefined: float | None = None
) -> float | None:
    """Return how many docs score at least as much as the last relevant one."""
    good, bad = _split(_rows(docs, None, "order"), rel)
    return float(sum(s >= min(good) for s in good + bad)) if good else undefined


VARIANTS = {
    "auc": [{"one_class": 0.5}, {"max_fpr": 0.1, "k": 20}],
    "relevant_above": [{"one_class": 0.5}],
    "pair_accuracy": [{"weigh": "by_difference", "tied_score": 0.0, "k": 5}],
    "ranking_loss": [{"one_class": 0.0}],
    "coverage_error": [{"undefined": 0.5}],
}
