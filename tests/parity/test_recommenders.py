"""recommenders: one user a call, because it prints means only."""

from __future__ import annotations

import pytest
from parity.compare import compare, need, remark
from parity.random_runs import in_order, random_runs, relevant

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

pandas = need("pandas")
evaluation = need("recommenders.evaluation.python_evaluation")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["recommenders"].equal


def frames(user, items, scores):
    """Its two frames: the relevant items of a user, and the scored ones."""
    true = {"userID": user, "itemID": sorted(items), "rating": 1.0}
    found = {"userID": user, "itemID": list(scores), "prediction": scores.values()}
    return pandas.DataFrame(true), pandas.DataFrame(found)


def theirs_of(name):
    function = getattr(evaluation, name)

    def theirs(run, qrels, k):
        values = {}
        for user, scores in run.items():
            if user in qrels:
                items = relevant(qrels[user])
                ranked = {d: scores[d] for d in in_order(scores)}
                true, found = frames(user, items, ranked)
                values[user] = float(function(true, found, k=k)) if items else None
        return values

    return theirs


@pytest.mark.parametrize("metric", EQUAL)
def test_recommenders(metric):
    data = [random_runs(21, missing=True, unasked=True)]
    cuts = [1, 5, 20]
    compare("recommenders", metric, theirs_of(EQUAL[metric]), data, cutoffs=cuts)


def test_map_at_k():
    convention = pr.CONVENTIONS["recommenders"].replace(ap_divisor="min_k_R")
    theirs = theirs_of("map_at_k")
    compare(convention, "ap", theirs, [random_runs(22)], note="map_at_k: min_k_R")


def test_users_without_recommendations_are_0_in_ndcg_only():
    true = pandas.DataFrame({"userID": [1, 2], "itemID": [1, 1], "rating": [1.0, 1.0]})
    found = pandas.DataFrame({"userID": [1], "itemID": [1], "prediction": [1.0]})
    assert evaluation.precision_at_k(true, found, k=1) == 1.0
    assert evaluation.ndcg_at_k(true, found, k=1) == 0.5
    note = "counts users without recommendations as 0, its other metrics do not"
    remark("recommenders", "ndcg", note)
