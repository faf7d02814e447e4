"""Random runs and judgments with every awkward case, as frames."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, time

import polars as pl

# Two ids of every type; as text, the first is the smaller.
IDS = [
    pl.Series([10, 9]),
    pl.Series(["a", "b"]),
    pl.Series(["a", "b"], dtype=pl.Categorical),
    pl.Series(["a", "b"], dtype=pl.Enum(["b", "a"])),
    pl.Series([b"a", b"b"]),
    pl.Series([False, True]),
    pl.Series([date(2025, 9, 30), date(2025, 10, 1)]),
    pl.Series([time(9), time(10)]),
    pl.Series([datetime(2025, 9, 30, tzinfo=UTC), datetime(2025, 10, 1, tzinfo=UTC)]),
]
RUN = {"query_id": pl.Int64, "doc_id": pl.String, "score": pl.Float64}
QRELS = {"query_id": pl.Int64, "doc_id": pl.String, "label": pl.Int64}


def random_run(seed: int, *, queries: int = 40, depth: int = 9) -> pl.DataFrame:
    """A run with tied scores, in which some queries are missing."""
    draw = random.Random(f"run {seed}")
    rows = [
        (query, doc, draw.randint(0, 4) / 4)
        for query in range(queries)
        if draw.random() < 0.9
        for doc in draw.sample([f"d{i}" for i in range(12)], draw.randint(1, depth))
    ]
    draw.shuffle(rows)
    return pl.DataFrame(rows, RUN, orient="row")


def random_qrels(seed: int, *, queries: int = 40) -> pl.DataFrame:
    """Judgments: some queries have none, some nothing relevant, some grades below 0."""
    draw = random.Random(f"qrels {seed}")
    rows = [
        (query, f"d{i}", draw.choice([-1, 0, 0, 1, 2]))
        for query in range(queries)
        if draw.random() < 0.95
        for i in sorted(draw.sample(range(14), draw.randint(1, 8)))
    ]
    return pl.DataFrame(rows, QRELS, orient="row")


Lists = dict[int, list[str]]
Labels = dict[int, dict[str, int]]


def lists_of(run: pl.DataFrame) -> Lists:
    """Documents of every query, best first; equal scores by descending id."""
    found: dict[int, list[tuple[float, str]]] = {}
    for query, doc, score in run.rows():
        found.setdefault(query, []).append((score, doc))
    return {
        query: [doc for _, doc in sorted(docs, reverse=True)]
        for query, docs in found.items()
    }


def labels_of(qrels: pl.DataFrame) -> Labels:
    """Labels of every judged query."""
    found: Labels = {}
    for query, doc, label in qrels.rows():
        found.setdefault(query, {})[doc] = label
    return found
