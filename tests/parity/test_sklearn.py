"""scikit-learn: one call a query; it has no documents but the rows."""

from __future__ import annotations

import pytest
from parity.compare import compare, need, ours
from parity.random_runs import random_runs, rows

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

metrics = need("sklearn.metrics")
pytestmark = pytest.mark.parity
EQUAL = TOOLS["sklearn"].equal


@pytest.mark.parametrize("metric", EQUAL)
def test_sklearn(metric):
    score = getattr(metrics, EQUAL[metric])

    def theirs(run, qrels, k):
        listed = rows(run, qrels)
        return {q: float(score([y], [s], k=k)) for q, (y, s) in listed.items()}

    data = [
        random_runs(6, fewest=2, missing=True, unasked=True),
        random_runs(7, fewest=2, fractional=True),
    ]
    compare("sklearn", metric, theirs, data, cutoffs=[None, 1, 3, 10])


def test_without_its_rule_for_ties():
    """``ignore_ties``: an unstable sort, so lists without ties only."""
    convention = pr.CONVENTIONS["sklearn"].replace(ties="order")

    def theirs(run, qrels, k):
        listed = rows(run, qrels).items()
        score = metrics.ndcg_score
        return {
            q: float(score([y], [s], k=k, ignore_ties=True)) for q, (y, s) in listed
        }

    data = [random_runs(8, fewest=2, ties=False)]
    compare(convention, "ndcg", theirs, data)


def test_negative_grades_are_refused():
    run, qrels = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": -1, "b": 1}}
    with pytest.raises(ValueError, match="negative"):
        metrics.ndcg_score([[-1, 1]], [[2.0, 1.0]])
    with pytest.raises(pr.DataError, match="negative grades"):
        ours(run, qrels, pr.measure("ndcg"), pr.CONVENTIONS["sklearn"])
