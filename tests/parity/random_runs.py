"""Seeded random runs and judgments; what a tool cannot take is switched off."""

from __future__ import annotations

import random
from typing import TypeAlias

import polars as pl

Ranked: TypeAlias = dict[str, dict[str, float]]  # query -> document -> score or grade


def random_runs(
    seed: int,
    queries: int = 60,
    *,
    documents: int = 14,
    largest: int = 4,
    ties: bool = True,
    unjudged: bool = True,
    unretrieved: bool = True,
    missing: bool = False,
    unasked: bool = False,
    nothing_relevant: bool = True,
    negative: bool = False,
    fractional: bool = False,
    fewest: int = 1,
) -> tuple[Ranked, Ranked]:
    """A run and its judgments.

    ``missing``: every seventh judged query is not in the run; ``unasked``: the run has
    queries that nobody judged. Scores are positive and float32 holds them exactly.
    """
    rng = random.Random(seed)
    run: Ranked = {}
    qrels: Ranked = {}
    for number in range(queries):
        query = str(number + 1)
        ids = [f"d{i}" for i in rng.sample(range(100), rng.randint(fewest, documents))]
        few = rng.randint(2, 5) if ties and rng.random() < 0.7 else 1000
        run[query] = {d: rng.randint(1, few) / 8 for d in ids}
        if not ties:
            places = rng.sample(range(1, 1000), len(ids))
            run[query] = {d: p / 8 for d, p in zip(ids, places, strict=True)}
        pool = [d for d in ids if not unjudged or rng.random() < 0.7]
        if unretrieved:
            pool += [f"e{i}" for i in rng.sample(range(20), rng.randint(0, 6))]
        rng.shuffle(pool)
        pool = pool or [rng.choice(ids)]
        top = 0 if nothing_relevant and number % 11 == 5 else largest
        lowest = -2 if negative else 0
        qrels[query] = {d: _grade(rng, lowest, top, fractional) for d in pool}
        if not nothing_relevant and max(qrels[query].values()) < 1:
            qrels[query][pool[0]] = largest
        if missing and number % 7 == 3:
            del run[query]
    if unasked:
        run |= {f"{queries + i + 1}": {"d1": 0.5, "d2": 0.25} for i in range(3)}
    return run, qrels


def _grade(rng: random.Random, lowest: int, top: int, fractional: bool) -> float:
    if rng.random() < 0.4:
        return min(lowest, top) if rng.random() < 0.5 else 0
    grade = rng.randint(min(1, top), top)
    return grade - rng.choice([0, 0.25, 0.5]) if fractional and grade else grade


def binary(qrels: Ranked) -> Ranked:
    """Grades of 1 as they are or better become 1, others 0."""
    return {q: {d: int(g >= 1) for d, g in own.items()} for q, own in qrels.items()}


def rows(run: Ranked, qrels: Ranked) -> dict[str, tuple[list[float], list[float]]]:
    """Labels and scores of a query's retrieved documents, unjudged ones as 0."""
    return {
        q: ([qrels[q].get(d, 0) for d in own], list(own.values()))
        for q, own in run.items()
        if q in qrels
    }


def weighed(run: Ranked, qrels: Ranked) -> tuple[pl.DataFrame, list[int], list[float]]:
    """A log with a weight for each query; the sizes and weights of queries."""
    listed = rows(run, qrels)
    weights = [0.25 * (1 + i % 9) for i in range(len(listed))]
    log = [
        (query, label, score, weight)
        for (query, own), weight in zip(listed.items(), weights, strict=True)
        for label, score in zip(*own, strict=True)
    ]
    names = ["query_id", "label", "score", "weight"]
    groups = [len(scores) for _, scores in listed.values()]
    return pl.DataFrame(log, names, orient="row"), groups, weights


def in_order(scores: dict[str, float]) -> list[str]:
    """Documents by score, descending; ties as they come."""
    return sorted(scores, key=lambda d: -scores[d])


def relevant(grades: dict[str, float]) -> set[str]:
    """Documents of grade 1 or better."""
    return {d for d, grade in grades.items() if grade >= 1}


def frames(run: Ranked, qrels: Ranked) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The same as frames."""
    return _frame(run, "score"), _frame(qrels, "label")


def _frame(ranked: Ranked, value: str) -> pl.DataFrame:
    listed = [(q, d, v) for q, own in ranked.items() for d, v in own.items()]
    schema = {"query_id": pl.String, "doc_id": pl.String, value: pl.Float64}
    return pl.DataFrame(listed, schema=schema, orient="row")
