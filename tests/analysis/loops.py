"""What each document of a list adds to a measure, in plain loops."""

from __future__ import annotations

import math


def ndcg(docs, labels, k):
    gains = sorted((max(g, 0) for g in labels.values()), reverse=True)
    ideal = sum(g / math.log2(i + 2) for i, g in enumerate(gains[:k]))
    return {
        d: max(labels.get(d, 0), 0) / math.log2(i + 2) / ideal
        for i, d in enumerate(docs[:k])
        if ideal
    }


def hits(docs, labels, k):
    return [d for d in docs[:k] if labels.get(d, 0) > 0]


def relevant(labels):
    return sum(label > 0 for label in labels.values())


def precision(docs, labels, k):
    return dict.fromkeys(hits(docs, labels, k), 1 / k)


def recall(docs, labels, k):
    return {d: 1 / relevant(labels) for d in hits(docs, labels, k)}


def rr(docs, labels, k):
    first = hits(docs, labels, k)[:1]
    return {d: 1 / (docs.index(d) + 1) for d in first}


def rbp(docs, labels, k):
    return {d: (1 - 0.8) * 0.8 ** docs.index(d) for d in hits(docs, labels, k)}


def ap(docs, labels, k):
    """All pairs of relevant documents: the upper one is at or above the lower one."""
    found = dict.fromkeys(docs, 0.0)
    for lower in hits(docs, labels, k):
        for upper in hits(docs, labels, k):
            if docs.index(upper) > docs.index(lower):
                continue
            pair = 1 / (docs.index(lower) + 1) / relevant(labels)
            found[lower] += pair / 2
            found[upper] += pair / 2
    return found


def err(docs, labels, k):
    found, reach = {}, 1.0
    for i, doc in enumerate(docs[:k]):
        stop = (2 ** max(labels.get(doc, 0), 0) - 1) / 2**4
        found[doc] = reach * stop / (i + 1)
        reach *= 1 - stop
    return found


LOOPS = {
    "ndcg@4": (ndcg, 4),
    "precision@3": (precision, 3),
    "recall@3": (recall, 3),
    "rr": (rr, None),
    "rbp(p=0.8,gain=binary)": (rbp, None),
    "ap": (ap, None),
    "ap@4": (ap, 4),
    "err(max_grade=4)@5": (err, 5),
}
