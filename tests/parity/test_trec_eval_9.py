"""pytrec_eval, which runs trec_eval 9."""

from __future__ import annotations

import pytest
from parity.compare import compare, need
from parity.random_runs import random_runs

from polars_rank.conventions.tools import TOOLS

pytrec_eval = need("pytrec_eval")
pytestmark = pytest.mark.parity
EQUAL = TOOLS["trec_eval_9"].equal
WHOLE = {"ndcg": "ndcg", "ap": "map", "rr": "recip_rank", "precision": "set_P"} | {
    "recall": "set_recall",
    "f1": "set_F",
}
CUT = {"ndcg": "ndcg_cut", "ap": "map_cut", "precision": "P", "recall": "recall"} | {
    "accuracy": "success"
}


@pytest.mark.parametrize("metric", EQUAL)
def test_pytrec_eval(metric):
    def theirs(run, qrels, k):
        text = WHOLE[metric] if k is None else f"{CUT[metric]}.{k}"
        evaluator = pytrec_eval.RelevanceEvaluator(qrels, {text})
        values = evaluator.evaluate(run)
        return {q: own[text.replace(".", "_")] for q, own in values.items()}

    cutoffs = [
        *([None] if metric in WHOLE else []),
        *([1, 3, 10, 20] * (metric in CUT)),
    ]
    data = [random_runs(1, missing=True, unasked=True), random_runs(2, negative=True)]
    # Its grades: a query that has negative ones only can end the process.
    data[1][1].update({q: {**own, "z": 0} for q, own in data[1][1].items()})
    compare("trec_eval_9", metric, theirs, data, cutoffs=cutoffs)


def test_scores_are_float32():
    run, qrels = {"q": {"a": 1.00000001, "b": 1.0}}, {"q": {"a": 1}}
    values = pytrec_eval.RelevanceEvaluator(qrels, {"recip_rank"}).evaluate(run)
    assert values["q"]["recip_rank"] == 0.5
