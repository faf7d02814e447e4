"""Seeded random queries."""

from __future__ import annotations

import random

from reference.core import Doc

DESIGNED = (
    "no_judgments",
    "one_document",
    "nothing_relevant",
    "all_relevant",
    "many_documents",
    "all_tied",
    "all_unretrieved",
)


def random_queries(
    seed: int, n_queries: int, max_docs: int = 30
) -> dict[str, list[Doc]]:
    """Return seeded queries: those named in DESIGNED first, then "q7", "q8" and so on.

    Only "many_documents" (300 docs) is larger than `max_docs`.
    """
    if n_queries < len(DESIGNED):
        raise ValueError(f"n_queries must be at least {len(DESIGNED)}")
    if max_docs < 2:
        raise ValueError("max_docs must be at least 2")
    rng = random.Random(seed)
    queries = {}
    for i in range(n_queries):
        name = DESIGNED[i] if i < len(DESIGNED) else f"q{i}"
        queries[name] = _random_query(rng, name, max_docs, quarters=i % 2 == 0)
    return queries


def _random_query(
    rng: random.Random, name: str, max_docs: int, *, quarters: bool
) -> list[Doc]:
    """Return one query, of the kind that its name says."""
    n = rng.randint(2 if name in DESIGNED else 1, max_docs)
    if name == "one_document":
        n = 1
    elif name == "many_documents":
        n = 300
    tied = _random_score(rng, quarters)
    docs = []
    for j, number in enumerate(rng.sample(range(10 * n + 10), n)):
        score = _random_score(rng, quarters)
        label = float(rng.randint(-1, 4)) if rng.random() < 0.75 else None
        missing = label is not None and rng.random() < 0.2
        if name == "no_judgments":
            label, missing = None, False
        elif name == "one_document":
            label, missing = float(rng.randint(1, 4)), False
        elif name == "nothing_relevant":
            label = float(rng.randint(-1, 0)) if label is not None or j == 0 else None
        elif name == "all_relevant":
            label = float(rng.randint(1, 4))
        elif name == "all_tied":
            score, missing = tied, False
        elif name == "all_unretrieved":
            label = float(rng.randint(-1, 4)) if j else float(rng.randint(1, 4))
            missing = True
        if j == 0 and name != "all_unretrieved":
            missing = False  # something is always retrieved
        docs.append(Doc(f"d{number}", None if missing else score, label))
    rng.shuffle(docs)
    return docs


def _random_score(rng: random.Random, quarters: bool) -> float:
    """Return a Gaussian score, or one rounded to quarters (which may give -0.0)."""
    score = rng.gauss(0.0, 1.0)
    return round(score * 4.0, 0) / 4.0 if quarters else score
