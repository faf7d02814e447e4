"""torchmetrics: its functions, one call a query, in float32."""

from __future__ import annotations

import pytest
from parity.compare import FLOAT32, compare, need, remark
from parity.random_runs import binary, random_runs, rows

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

torch = need("torch")
retrieval = need("torchmetrics.functional.retrieval")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["torchmetrics"].equal


def theirs_of(name):
    function = getattr(retrieval, name)

    def theirs(run, qrels, k):
        return {
            q: float(function(torch.tensor(s), torch.tensor(y), top_k=k))
            for q, (y, s) in rows(run, qrels).items()
        }

    return theirs


@pytest.mark.parametrize("metric", EQUAL)
def test_torchmetrics(metric):
    run, qrels = random_runs(19, ties=False, missing=True, unasked=True)
    if metric != "ndcg":
        qrels = binary(qrels)
    theirs, cuts = theirs_of(EQUAL[metric]), [None, 1, 3, 10]
    data = [(run, qrels)]
    compare("torchmetrics", metric, theirs, data, cutoffs=cuts, tolerance=FLOAT32)


def test_ndcg_is_the_mean_over_the_orders_of_ties():
    convention = pr.CONVENTIONS["torchmetrics"].replace(ties="expected")
    theirs, note = theirs_of(EQUAL["ndcg"]), "ties=expected where scores are equal"
    data = [random_runs(20, fractional=True)]
    compare(convention, "ndcg", theirs, data, tolerance=FLOAT32, note=note)


def test_scores_of_0_and_below_count_as_not_relevant_there():
    scores, labels = torch.tensor([-0.1, -0.5]), torch.tensor([1, 0])
    for metric in ("ap", "rr", "precision", "recall"):
        assert float(getattr(retrieval, EQUAL[metric])(scores, labels)) == 0
        note = "takes documents with scores of 0 and below for not relevant"
        remark("torchmetrics", metric, note)
    assert float(retrieval.retrieval_hit_rate(scores, labels)) == 1
