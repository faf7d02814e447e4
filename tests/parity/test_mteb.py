"""MTEB: values of queries by pytrec_eval, and its own reciprocal ranks."""

from __future__ import annotations

import pytest
from parity.compare import compare, need
from parity.random_runs import random_runs

from polars_rank.conventions.tools import TOOLS

metrics = need("mteb._evaluators.retrieval_metrics")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["mteb"].equal
SCORED = {"ndcg": "ndcg_cut", "ap": "map_cut", "precision": "P", "recall": "recall"}
SCORED["accuracy"] = "success"


def theirs_of(metric):
    def theirs(run, qrels, k):
        common = [query for query in run if query in qrels]
        results = {query: run[query] for query in common}
        if metric == "rr":
            ranks = metrics.mrr(qrels, results, [k])[f"MRR@{k}"]
            return dict(zip(common, ranks, strict=True))
        found = metrics.calculate_retrieval_scores(results, qrels, [k]).all_scores
        return {query: found[query][f"{SCORED[metric]}_{k}"] for query in common}

    return theirs


@pytest.mark.parametrize("metric", EQUAL)
def test_mteb(metric):
    data = [random_runs(43, missing=True, unasked=True)]
    compare("mteb", metric, theirs_of(metric), data)


def test_r_cap():
    def theirs(run, qrels, k):
        common = [query for query in run if query in qrels]
        results = {query: run[query] for query in common}
        values = metrics.recall_cap(qrels, results, [k])[f"R_cap_at_{k}"]
        return dict(zip(common, [v or 0.0 for v in values], strict=True))

    data, note = [random_runs(44)], "R_cap is recall(divisor=min_k_R)"
    compare("mteb", "recall", theirs, data, divisor="min_k_R", note=note)
