"""OpenSearch: the formulas of its Search Relevance Workbench as plain loops.

Source: opensearch-project/search-relevance at d8be5d1 (14 June 2025), the classes
``EvaluationMetrics`` and ``Evaluation`` of ``metrics``. The server is not started.
"""

from __future__ import annotations

import math

import pytest
from parity.compare import remark
from parity.id_lists import compare_lists, id_lists, values_of

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

pytestmark = pytest.mark.parity
EQUAL = TOOLS["opensearch"].equal
NOTE = "its formula before it rounds to two decimals; the server is not run"


def precision(hits, judged, k):
    relevant = 0
    for count, hit in enumerate(hits):
        if count >= k:
            break
        if hit in judged and judged[hit] > 0:
            relevant += 1
    return relevant / min(k, len(hits)) if hits else 0.0


def average_precision(hits, judged, k):
    total = found = 0
    relevant = sum(grade > 0 for grade in judged.values())
    for i in range(min(k, len(hits))):
        if hits[i] in judged and judged[hits[i]] > 0:
            found += 1
            total += found / (i + 1)
    return total / relevant if found else 0.0


def ndcg(hits, judged, k):
    dcg = ideal = 0.0
    for i in range(min(k, len(hits))):
        if hits[i] in judged:
            dcg += (2 ** judged[hits[i]] - 1) / (math.log(i + 2) / math.log(2))
    for i, grade in enumerate(sorted(judged.values(), reverse=True)[:k]):
        ideal += (2**grade - 1) / (math.log(i + 2) / math.log(2))
    return dcg / ideal if ideal > 0 else 0.0


def coverage(hits, judged, k):
    """Of the results of a search for k documents."""
    results = hits[:k]
    return sum(hit in judged for hit in results) / len(results) if results else 0.0


FORMULAS = {
    "ndcg": ndcg,
    "ap": average_precision,
    "precision": precision,
    "judged": coverage,
}


def fractions(seed):
    """Grades as judgments from clicks have them."""
    lists, qrels = id_lists(seed)
    less = {q: {d: g / 4 for d, g in own.items()} for q, own in qrels.items()}
    return lists, less


@pytest.mark.parametrize("metric", EQUAL)
def test_opensearch(metric):
    data = [id_lists(12, empty=True), fractions(13)]
    compare_lists("opensearch", metric, FORMULAS[metric], data, note=NOTE)


def test_rounding_and_copies():
    """The mean of rounded values is not the rounded mean; a copy counts again."""
    lists, qrels = id_lists(14, queries=60)
    own = values_of(
        lists, qrels, pr.measure("ndcg", k=10), pr.CONVENTIONS["opensearch"]
    )
    theirs = [ndcg(lists[q], qrels[q], 10) for q in qrels]
    rounded = [math.floor(100 * value + 0.5) / 100 for value in theirs]
    exact = math.fsum(own.values()) / len(own)
    assert 0 < abs(math.fsum(rounded) / len(rounded) - exact) <= 0.005
    assert ndcg(["a", "a"], {"a": 1}, 10) == pytest.approx(1 + 1 / math.log2(3))
    assert average_precision(["a", "a"], {"a": 1}, 10) == 2
    note = "counts a document that stands twice twice: can be above 1"
    remark("opensearch", "ndcg", note)
    remark("opensearch", "ap", note)
