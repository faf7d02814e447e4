"""TruLens: GroundTruthAgreement, without a language model."""

from __future__ import annotations

import math

import pytest
from parity.compare import need, remark
from parity.id_lists import compare_lists, id_lists, liked

from polars_rank.conventions.tools import TOOLS

groundtruth = need("trulens.feedback.groundtruth")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["trulens"].equal


def value(name, chunks, grades, *arguments):
    golden = [{"text": d, "expect_score": g} for d, g in grades.items()]
    agreement = groundtruth.GroundTruthAgreement.model_construct(
        ground_truth=[{"query": "q", "expected_chunks": golden}],
        ground_truth_imp=None,
    )
    return float(getattr(agreement, name)("q", chunks, *arguments))


def theirs_of(name):
    def theirs(ids, grades, k):
        if name != "ndcg_at_k":
            grades = {d: grades[d] for d in liked(grades)}
        cut = {"mrr": ids[:k], "ir_hit_rate": ids}.get(name, ids)
        if name == "mrr":
            return value(name, cut, grades)
        return value(name, cut, grades, *([k] if name == "ir_hit_rate" else [None, k]))

    return theirs


@pytest.mark.parametrize("metric", EQUAL)
def test_trulens(metric):
    name = EQUAL[metric].partition(" of ")[0]
    data = [id_lists(5)]
    note = ""
    if metric != "precision":
        data.append(id_lists(6, copies=True))
        note = "also of lists with copies of documents"
    compare_lists("trulens", metric, theirs_of(name), data, note=note)


def test_what_no_choice_says():
    assert value("precision_at_k", ["a", "a"], {"a": 1, "b": 1}) == 1
    tied = ["a", "x", "y"], {"a": 1}, [1.0, 1.0, 1.0], 1
    assert value("precision_at_k", *tied) == 1 / 3
    assert value("recall_at_k", ["x", "a"], {"a": 1}, [1.0, 1.0], 1) == 1
    assert value("recall_at_k", ["a"], {"a": 0, "b": 1}) == 1 / 2
    assert math.isnan(value("precision_at_k", [], {"a": 1}))
    remark("trulens", "precision", "counts each copy of a chunk: never above 1")
    note = "given scores, it takes all chunks that are tied with the k-th"
    remark("trulens", "precision", note)
    remark("trulens", "recall", note)
