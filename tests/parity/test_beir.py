"""BEIR: means over one query a call, which it rounds to five decimals."""

from __future__ import annotations

import pytest
from parity.compare import compare, need, remark
from parity.random_runs import random_runs, relevant

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

evaluation = need("beir.retrieval.evaluation")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["beir"].equal
ROUNDED = 5.1e-6  # to five decimals
PLACE = {"ndcg": 0, "ap": 1, "recall": 2, "precision": 3}
CUSTOM = {"rr": ("mrr", "MRR"), "accuracy": ("accuracy", "Accuracy")}
CUSTOM["recall"] = ("recall_cap", "R_cap")


def by_pytrec_eval(metric):
    def theirs(run, qrels, k):
        values = {}
        for query in run.keys() & qrels.keys():
            one = {query: qrels[query]}, {query: dict(run[query])}
            tables = evaluation.EvaluateRetrieval.evaluate(*one, [k])
            values[query] = tables[PLACE[metric]][f"{EQUAL[metric]}@{k}"]
        return values

    return theirs


def by_itself(metric):
    named, column = CUSTOM[metric]

    def theirs(run, qrels, k):
        values = {}
        for query in run.keys() & qrels.keys():
            one = {query: qrels[query]}, {query: run[query]}
            if metric == "recall" and not relevant(qrels[query]):
                values[query] = 0.0  # it divides by 0
                continue
            found = evaluation.EvaluateRetrieval.evaluate_custom(*one, [k], named)
            values[query] = found[f"{column}@{k}"]
        return values

    return theirs


@pytest.mark.parametrize("metric", PLACE)
def test_beir(metric):
    data = [random_runs(41, missing=True, unasked=True)]
    compare("beir", metric, by_pytrec_eval(metric), data, tolerance=ROUNDED)


@pytest.mark.parametrize("metric", CUSTOM)
def test_its_own_measures(metric):
    """Without ties, which keep the order of its dictionaries."""
    data = [random_runs(42, ties=False, missing=True)]
    capped = {"divisor": "min_k_R"} if metric == "recall" else {}
    note = "R_cap is recall(divisor=min_k_R)" if capped else "without ties"
    compare(
        "beir",
        metric,
        by_itself(metric),
        data,
        tolerance=ROUNDED,
        note=note,
        **capped,
    )


def test_ties_and_ids_and_holes():
    run, qrels = {"q": {"a": 1.0, "b": 1.0, "q": 2.0}}, {"q": {"a": 1}, "p": {"b": 0}}
    custom = evaluation.EvaluateRetrieval.evaluate_custom
    assert custom(qrels, {"q": {"a": 1.0, "b": 1.0}}, [1], "mrr")["MRR@1"] == 1 / 2
    assert custom({"q": {"a": 1}}, {"q": {"a": 1.0, "b": 1.0}}, [1], "mrr")["MRR@1"]
    assert custom(qrels, run, [2], "hole")["Hole@2"] == 1 / 4  # q, of two queries
    ndcg, *_ = evaluation.EvaluateRetrieval.evaluate({"q": {"a": 1}}, run, [3])
    assert "q" not in run["q"]
    assert ndcg["NDCG@3"] == 0.63093  # a is at rank 2, behind b
    found = pr.per_query(run, "unjudged@2", qrels=qrels)
    assert found["unjudged@2"].to_list() == [0, 1 / 2]
    remark("beir", "rr", "ties keep the order of its dictionary")
    remark("beir", "accuracy", "ties keep the order of its dictionary")
    remark("beir", "unjudged", "Hole: what no query has judged, divided by all queries")
