"""LlamaIndex: the metrics of its RetrieverEvaluator, without a cutoff."""

from __future__ import annotations

from math import log2

import pytest
from parity.compare import need, remark
from parity.id_lists import compare_lists, id_lists, liked

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

metrics = need("llama_index.core.evaluation.retrieval.metrics")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["llamaindex"].equal
SETS = ("precision", "recall")


def value(name, retrieved, expected):
    metric = metrics.METRIC_REGISTRY[name]()
    return metric.compute(expected_ids=expected, retrieved_ids=retrieved).score


def theirs_of(name):
    return lambda ids, grades, _: value(name, ids, liked(grades))


@pytest.mark.parametrize("metric", EQUAL)
def test_llamaindex(metric):
    data = [id_lists(7, nothing_relevant=False, queries=300)]
    theirs = theirs_of(EQUAL[metric])
    compare_lists("llamaindex", metric, theirs, data, cutoffs=[None])


@pytest.mark.parametrize("metric", SETS)
def test_copies_in_sets(metric):
    convention = pr.CONVENTIONS["llamaindex"].replace(on_duplicate="best")
    data = [id_lists(8, nothing_relevant=False, copies=True, queries=300)]
    theirs = theirs_of(EQUAL[metric])
    note = "of lists with copies: on_duplicate=best"
    compare_lists(convention, metric, theirs, data, cutoffs=[None], note=note)


def test_copies_in_lists_and_empty_lists():
    assert value("ap", ["a", "a", "a"], ["a"]) == 3
    assert value("ndcg", ["a", "a"], ["a"]) == 1 + 1 / log2(3)
    for empty in (([], ["a"]), (["a"], [])):
        with pytest.raises(ValueError, match="must be provided"):
            value("recall", *empty)
    note = "counts a document that stands twice twice: can be above 1"
    remark("llamaindex", "ap", note)
    remark("llamaindex", "ndcg", note)
