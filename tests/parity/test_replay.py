"""RePlay: recommendations and ground truth as dictionaries."""

from __future__ import annotations

import pytest
from parity.compare import compare, need, remark
from parity.random_runs import random_runs, relevant

from polars_rank.conventions.tools import TOOLS

metrics = need("replay.metrics")
pandas = need("pandas")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["replay"].equal


@pytest.mark.parametrize("metric", EQUAL)
def test_replay(metric):
    def theirs(run, qrels, k):
        listed = [(u, i, s) for u, scores in run.items() for i, s in scores.items()]
        wanted = [(user, i) for user, own in qrels.items() for i in relevant(own)]
        found = getattr(metrics, EQUAL[metric])([k], mode=metrics.PerUser())(
            pandas.DataFrame(listed, columns=["query_id", "item_id", "rating"]),
            pandas.DataFrame(wanted, columns=["query_id", "item_id"]),
        )
        (values,) = found.values()
        return {user: values.get(user) for user in qrels}

    # Its ground truth has only what is relevant: see test_rectools.py.
    data = [
        random_runs(25, missing=True, unasked=True, nothing_relevant=False),
        random_runs(25, unasked=True),
    ]
    compare("replay", metric, theirs, data, cutoffs=[1, 3, 10, 20])


def test_a_document_that_stands_twice_counts_twice_there():
    recs, truth = {1: [("a", 2.0), ("a", 1.0)]}, {1: ["a"]}
    assert metrics.MAP([2])(recs, truth)["MAP@2"] == 2.0
    remark("replay", "ap", "counts a document that stands twice twice: 2 is possible")
