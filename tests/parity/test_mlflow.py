"""MLflow: the metrics of retrieval, a row per query."""

from __future__ import annotations

import pytest
from parity.compare import need, remark
from parity.id_lists import compare_lists, id_lists, liked

from polars_rank.conventions.tools import TOOLS

metrics = need("mlflow.metrics")
pandas = need("pandas")
need("sklearn.metrics")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["mlflow"].equal


def theirs_of(name):
    def theirs(ids, grades, k):
        return value(name, ids, liked(grades), k)

    return theirs


def value(name, retrieved, relevant, k):
    found = getattr(metrics, name)(k).eval_fn(
        pandas.Series([retrieved]), pandas.Series([relevant])
    )
    return float(found.scores[0])


@pytest.mark.parametrize("metric", EQUAL)
def test_mlflow(metric):
    data = [id_lists(seed, empty=True) for seed in (1, 2)]
    compare_lists("mlflow", metric, theirs_of(EQUAL[metric]), data)


def test_nothing_relevant_and_nothing_retrieved():
    assert [value(name, [], [], 3) for name in EQUAL.values()] == [1, 0, 1]
    note = "1 where nothing is relevant and nothing retrieved"
    remark("mlflow", "ndcg", note)
    remark("mlflow", "recall", note)


def test_copies():
    """Two of two in precision; in nDCG two of three that would be relevant."""
    assert value("precision_at_k", ["a", "a"], ["a", "b"], 2) == 1
    assert value("recall_at_k", ["a", "a"], ["a", "b"], 2) == 1 / 2
    assert value("ndcg_at_k", ["a", "a"], ["a", "b"], 2) == 1
    note = "counts each copy of a document, among the relevant ones, too: never above 1"
    remark("mlflow", "ndcg", note)
    remark("mlflow", "precision", "counts each copy of a document: never above 1")
