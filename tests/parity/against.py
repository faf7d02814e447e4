"""One measure against one tool, query by query, on queries of the plain references."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import polars as pl
from parity.record import record
from reference import Doc

import polars_rank as pr

Queries = dict[str, list[Doc]]
Theirs = Callable[[list[Doc]], float | None]  # None: not compared


def both(docs: list[Doc]) -> tuple[list[float], list[float]]:
    """Scores and labels of the documents that have both."""
    known = [d for d in docs if d.score is not None and d.label is not None]
    return [d.score for d in known], [d.label for d in known]


def untied(seed: int, fewest: int) -> dict[str, list[Doc]]:
    """Lists without ties; some documents lack a score, some a label."""
    rng = random.Random(seed)
    queries = {}
    for i in range(80):
        n = rng.randint(fewest, 25)
        labels, scores = rng.sample(range(100), n), rng.sample(range(100), n)
        docs = [
            Doc(f"d{j}", float(score), float(label))
            for j, (score, label) in enumerate(zip(scores, labels, strict=True))
        ]
        only = [Doc(f"s{j}", -1.0 - j, None) for j in range(rng.randint(0, 4))]
        only += [Doc(f"l{j}", None, 100.0 + j) for j in range(rng.randint(0, 3))]
        queries[f"q{i}"] = docs + only
    return queries


def against(
    tool: str,
    measure: pr.Measure,
    queries: Queries,
    theirs: Theirs,
    *,
    convention: str | None = None,
    ties: str = "order",
    tolerance: float = 1e-12,
    note: str = "",
) -> None:
    """Fail where they differ; without a convention, ``ties`` are ordered as given."""
    choices = pr.CONVENTIONS["trec_eval"].replace(ties=ties)
    if convention is not None:
        choices = pr.CONVENTIONS[convention]
    found = ours(measure, queries, choices)
    worst, cases = 0.0, 0
    for query, docs in queries.items():
        if query not in found:
            continue
        wanted = theirs(docs)
        if wanted is None:
            continue
        value, cases = found[query], cases + 1
        if math.isnan(wanted):
            assert value is None, (query, value)
            continue
        assert value is not None, (query, wanted)
        difference = abs(value - wanted) / max(1.0, abs(wanted))
        assert difference <= tolerance, (query, value, wanted)
        worst = max(worst, difference)
    assert cases >= 50
    record(tool, measure.name, worst, cases, note)


def ours(
    measure: pr.Measure, queries: Queries, convention: pr.Convention
) -> dict[str, float | None]:
    """Our own values of the judged queries."""
    schema = {"query_id": pl.String, "doc_id": pl.String}
    run = [(q, d.id, d.score) for q, ds in queries.items() for d in ds]
    qrels = [(q, d.id, d.label) for q, ds in queries.items() for d in ds]
    table = pr.per_query(
        pl.DataFrame(run, schema | {"score": pl.Float64}, orient="row").drop_nulls(),
        measure,
        qrels=pl.DataFrame(
            qrels, schema | {"label": pl.Float64}, orient="row"
        ).drop_nulls(),
        convention=convention,
    )
    return dict(table.iter_rows())
