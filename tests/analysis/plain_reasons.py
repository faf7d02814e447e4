"""Reasons of a difference in plain loops, written from their definitions."""

from __future__ import annotations

import random
from collections import defaultdict

from loops import LOOPS

Run = dict[int, dict[str, float]]
Grades = dict[int, dict[str, int]]
About = dict[int, dict[str, float | str]]


def drawn(seed: int) -> tuple[Run, Run, Grades, Grades, About]:
    """Two runs, judgments before and after, and attributes of few queries."""
    draw = random.Random(f"reasons {seed}")
    queries = range(draw.choice([1, 1, 2, 3, 5]))
    docs = [f"d{i}" for i in range(draw.choice([3, 6]))]

    def some(values: list[float]) -> dict[int, dict[str, float]]:
        found = {
            q: {
                d: draw.choice(values)
                for d in draw.sample(docs, draw.randint(1, len(docs)))
            }
            for q in queries
            if draw.random() < 0.85
        }
        # One document that all share: ids without a common one are an error.
        return found | {0: {**found.get(0, {}), "d0": values[-1]}}

    before, after = some([0, 0.5, 1, 1.5]), some([0, 0.5, 1, 1.5])
    if draw.random() < 0.3:
        after = before
    new, old = some([-1, 0, 0, 2, 1]), some([-1, 0, 0, 2, 1])
    about = {
        q: {"land": draw.choice("xy"), "now": draw.choice([0.5, 1, 4]),
            "then": draw.choice([0.0, 1, 3]) + (q == 0)}
        for q in queries
    }  # fmt: skip
    return before, after, new, old, about


def ranked(scores: dict[str, float]) -> list[str]:
    return sorted(scores, key=lambda doc: (scores[doc], doc), reverse=True)


def moved(old: list[str], new: list[str], doc: str, k: int | None) -> str | None:
    """The kind of a document's move within the first k."""
    was, now = (doc in docs[:k] if k else doc in docs for docs in (old, new))
    if not (was and now):
        return {(True, False): "left", (False, True): "entered"}.get((was, now))
    step = new.index(doc) - old.index(doc)
    return "up" if step < 0 else "down" if step else "same"


def reasons(
    measure: str,
    runs: tuple[Run, Run],
    judged: tuple[Grades, Grades],
    about: About,
    weights: tuple[str | None, str | None],
) -> dict[str, dict]:
    """Parts of the difference by kind, label, effect, segment and document."""
    loop, k = LOOPS[measure]

    def terms(run: Run, labels: dict[str, int], query: int) -> dict[str, float]:
        relevant = any(grade > 0 for grade in labels.values())
        return loop(ranked(run.get(query, {})), labels, k) if relevant else {}

    def total(run: Run, labels: dict[str, int], query: int) -> float:
        return sum(terms(run, labels, query).values())

    shares = []
    for grades, name in zip(judged, weights, strict=True):
        w = {q: float(about[q][name]) if name else 1.0 for q in grades}
        shares.append({q: x / sum(w.values()) for q, x in w.items()})
    queries = sorted({*judged[0], *judged[1]})
    found: dict[str, dict] = {
        name: defaultdict(float) for name in ("kind", "label", "effect", "segments")
    }
    found["documents"], sides = {}, defaultdict(lambda: [0.0] * 4)
    for q in queries:
        there = [q in grades for grades in judged]
        share = [s.get(q, 0.0) for s in shares]
        values = [
            total(run, grades[q], q) if q in grades else 0.0
            for run, grades in zip(runs, judged, strict=True)
        ]
        lists = [ranked(run.get(q, {})) for run in runs]
        added = [
            terms(run, grades.get(q, {}), q)
            for run, grades in zip(runs, judged, strict=True)
        ]
        for doc in {*lists[0], *lists[1]}:
            part = share[1] * added[1].get(doc, 0.0) - share[0] * added[0].get(doc, 0.0)
            kind = moved(*lists, doc, k) if all(there) else "query"
            grade = judged[1].get(q, {}).get(doc, judged[0].get(q, {}).get(doc))
            label = "unjudged" if grade is None else "relevant"
            label = "not relevant" if grade is not None and grade <= 0 else label
            shown = any(
                t and doc in docs[:k] for t, docs in zip(there, lists, strict=True)
            )
            if shown:
                found["documents"][q, doc] = (kind, part * len(queries))
            found["kind"][kind] += part
            found["label"][label if all(there) else "query"] += part
        whole = share[1] * values[1] - share[0] * values[0]
        if all(there):
            crossed = total(runs[1], judged[0][q], q), total(runs[0], judged[1][q], q)
            mean = sum(share) / 2
            by_rank = (crossed[0] - values[0] + values[1] - crossed[1]) / 2 * mean
            by_label = (crossed[1] - values[0] + values[1] - crossed[0]) / 2 * mean
            found["effect"]["rank"] += by_rank
            found["effect"]["label"] += by_label
            whole -= by_rank + by_label
        found["effect"]["mix"] += whole
        side = sides[about[q]["land"]]
        for i in (0, 1):
            side[i] += share[i]
            side[2 + i] += share[i] * values[i]
    for w0, w1, s0, s1 in sides.values():  # Kitagawa; once there is all mix
        means = [s / w if w else None for w, s in ((w0, s0), (w1, s1))]
        m0, m1 = (m if m is not None else means[1 - i] for i, m in enumerate(means))
        found["segments"]["within"] += (w0 + w1) / 2 * ((m1 or 0) - (m0 or 0))
        found["segments"]["mix"] += ((m0 or 0) + (m1 or 0)) / 2 * (w1 - w0)
    return found
