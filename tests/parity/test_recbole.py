"""RecBole: hits of a list of k items, and the number of test items."""

from __future__ import annotations

import pytest
from parity.compare import compare, need
from parity.random_runs import in_order, random_runs, relevant

from polars_rank.conventions.tools import TOOLS

np = need("numpy")
metrics = need("recbole.evaluator.metrics")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["recbole"].equal


@pytest.fixture(autouse=True)
def old_names(monkeypatch):
    """RecBole 1.2.1 uses a name that numpy 1.24 took away."""
    monkeypatch.setattr(np, "float", float, raising=False)


def theirs_of(name):
    metric = object.__new__(getattr(metrics, name))

    def theirs(run, qrels, k):
        values = {}
        for user, scores in run.items():
            items = relevant(qrels[user])
            if not items:
                values[user] = None
                continue
            listed = in_order(scores)[:k]
            hits = np.array([[item in items for item in listed]])
            counts = np.array([len(items)])
            wants_counts = name in ("MAP", "Recall", "NDCG")
            found = metric.metric_info(hits, *([counts] if wants_counts else []))
            values[user] = float(found[0, -1])
        return values

    return theirs


@pytest.mark.parametrize("metric", EQUAL)
def test_recbole(metric):
    """Each user gets at least k items, as from the whole catalog."""
    data = [random_runs(46, fewest=10)]
    compare("recbole", metric, theirs_of(EQUAL[metric]), data)
