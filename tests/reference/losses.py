"""Learning-to-rank losses."""

from __future__ import annotations

import math

from reference.core import Doc, order


def squared_error(
    docs: list[Doc], k: int | None = None, ties: str = "order"
) -> float | None:
    """Return the mean squared score-label difference of the judged in the first k."""
    judged = [d for d in order(docs, ties)[:k] if d.label is not None]
    if not judged:
        return None
    return math.fsum((d.score - d.label) ** 2 for d in judged) / len(judged)


def hinge(docs: list[Doc], k: int | None = None, ties: str = "order") -> float | None:
    """Return the mean hinge loss over pairs of unequal labels in the first k."""
    judged = [d for d in order(docs, ties)[:k] if d.label is not None]
    losses = []
    for a in judged:
        for b in judged:
            if a.label > b.label:
                losses.append(max(0.0, 1.0 - (a.score - b.score)))
    if not losses:
        return None
    return math.fsum(losses) / len(losses)


def listmle(docs: list[Doc], k: int | None = None) -> float | None:
    """Return the negative log likelihood of the label order's first k positions.

    Equal labels stand in descending order of score.
    """
    both = [d for d in docs if d.score is not None and d.label is not None]
    if not both:
        return None
    best_order = sorted(both, key=lambda d: (-d.label, -d.score))
    scores = [d.score for d in best_order]
    terms = []
    for i in range(len(scores) if k is None else min(k, len(scores))):
        top = max(scores[i:])
        total = math.fsum(math.exp(s - top) for s in scores[i:])
        terms.append(math.log(total) + (top - scores[i]))
    return math.fsum(terms)
