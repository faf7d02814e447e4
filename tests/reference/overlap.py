"""What the rankings by score and by label have in common."""

from __future__ import annotations

import math

from reference.core import Doc, nothing, order

Blocks = list[list[str]]


def _blocks(values: dict[str, float]) -> Blocks:
    """Return ids in descending order of value, equal ones together."""
    return [
        sorted(i for i in values if values[i] == value)
        for value in sorted(set(values.values()), reverse=True)
    ]


def _parts(blocks: Blocks, depths: int, tied: str) -> list[dict[str, float]]:
    """Return how far each doc is in, for depths 0, 1, 2 and so on."""
    parts: list[dict[str, float]] = [{} for _ in range(depths + 1)]
    first = 1
    for block in blocks:
        last = first + len(block) - 1
        for depth in range(first, depths + 1):
            inside = min(depth, last) - first + 1
            for doc in block:
                parts[depth][doc] = 1.0 if tied == "w" else inside / len(block)
        first = last + 1
    return parts


def rbo(
    docs: list[Doc], p: float = 0.9, estimate: str = "ext", tied: str = "a"
) -> float | None:
    """Return the rank-biased overlap, depth by depth (Corsi and Urbano, 2024)."""
    x = _blocks({d.id: d.score for d in docs if d.score is not None})
    y = _blocks({d.id: d.label for d in docs if d.label is not None})
    if sum(map(len, x)) > sum(map(len, y)):
        x, y = y, x
    short, long = sum(map(len, x)), sum(map(len, y))
    if short == 0:
        return None
    low = _rbo(x, y, p, short, long, tied, "min")
    high = _rbo(x, y, p, short, long, tied, "max")
    if estimate == "res":
        return high - low
    if estimate == "ext":
        return _rbo(x, y, p, short, long, tied, "ext")
    return {"min": low, "max": high}[estimate]


def _rbo(
    x: Blocks, y: Blocks, p: float, short: int, long: int, tied: str, estimate: str
) -> float:
    in_x, in_y = _parts(x, long, tied), _parts(y, long, tied)
    known = {doc for block in x for doc in block}
    only = [doc for block in y for doc in block if doc not in known]
    total, agreed = 0.0, 0.0
    for d in range(1, long + 1):
        common = math.fsum(v * in_y[d].get(doc, 0.0) for doc, v in in_x[d].items())
        met = common
        if d > short and estimate == "max":
            common += math.fsum(in_y[d].get(doc, 0.0) for doc in only[: d - short])
        if d > short and estimate == "ext":
            seen = [in_y[d][doc] for doc in only if doc in in_y[d]]
            common += (d - short) * agreed * math.fsum(seen) / len(seen)
        if tied == "a":
            whole = d
        elif tied == "w":
            size = sum(in_x[d].values()) if d <= short else d
            whole = (size + sum(in_y[d].values())) / 2
        else:
            squares = math.fsum(v * v for v in in_x[d].values()) if d <= short else d
            whole = math.sqrt(squares * math.fsum(v * v for v in in_y[d].values()))
        total += p**d * common / whole
        if d == short:
            agreed = common / whole
    # Far enough below the end that what is left out has no digit.
    for d in range(long + 1, long + 1 + math.ceil(-45 / math.log(p))):
        if estimate == "ext":
            common = d * (met + (long - short) * agreed) / long
        elif estimate == "min":
            common = met
        else:
            common = min(d, met + (d - long) + (d - short))
        total += p**d * common / d
    return (1 - p) / p * total


def compat(
    docs: list[Doc],
    p: float = 0.95,
    normalize: bool = True,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the overlap of the run with the ideal that resembles it most."""
    run = [d.id for d in order(docs, ties)]
    good = [d for d in docs if d.label is not None and d.label > 0]
    if not good:
        return nothing(no_relevant)
    good.sort(key=lambda d: run.index(d.id) if d.id in run else math.inf)
    ideal = [d.id for d in sorted(good, key=lambda d: -d.label)]
    depths = range(1, max(len(run), len(ideal)) + 1)

    def shared(other: list[str]) -> float:
        return math.fsum(
            p ** (d - 1) * len(set(other[:d]) & set(ideal[:d])) / d for d in depths
        )

    whole = shared(ideal) if normalize else math.fsum(p ** (d - 1) for d in depths)
    return shared(run) / whole


def _tops(docs: list[Doc], k: int | None, ties: str) -> tuple[set[str], set[str]]:
    """Return the ids of the first k by score and by label."""
    run = [d.id for d in order(docs, ties)]
    judged = [d for d in docs if d.label is not None]
    judged.sort(key=lambda d: run.index(d.id) if d.id in run else math.inf)
    ideal = [d.id for d in sorted(judged, key=lambda d: -d.label)]
    return set(run[:k]), set(ideal[:k])


def overlap(docs: list[Doc], k: int | None = None, ties: str = "order") -> float | None:
    """Return the docs in both tops as a share of the larger top."""
    by_score, by_label = _tops(docs, k, ties)
    larger = max(len(by_score), len(by_label))
    return len(by_score & by_label) / larger if larger else None


def jaccard(docs: list[Doc], k: int | None = None, ties: str = "order") -> float | None:
    """Return the docs in both tops as a share of those in either."""
    by_score, by_label = _tops(docs, k, ties)
    either = by_score | by_label
    return len(by_score & by_label) / len(either) if either else None


def unexpectedness(docs: list[Doc], k: int = 10, ties: str = "order") -> float | None:
    """Return the share of k places without a doc of the other top."""
    by_score, by_label = _tops(docs, k, ties)
    if not by_score or not by_label:
        return None
    return (k - len([d for d in by_score if d in by_label])) / k


VARIANTS = {
    "rbo": [
        {"tied": tied, "estimate": estimate, "p": p}
        for tied in ("a", "b", "w")
        for estimate, p in (("min", 0.7), ("max", 0.5), ("res", 0.9), ("ext", 0.8))
    ]
}
