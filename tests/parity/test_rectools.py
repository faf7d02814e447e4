"""RecTools: ranks are given, so the lists come in order."""

from __future__ import annotations

import pytest
from parity.compare import compare, need
from parity.random_runs import in_order, random_runs, relevant

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

pandas = need("pandas")
metrics = need("rectools.metrics")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["rectools"].equal


def theirs_of(name, **options):
    def theirs(run, qrels, k):
        listed = [
            (user, item, rank)
            for user, scores in run.items()
            for rank, item in enumerate(in_order(scores), 1)
        ]
        wanted = [(user, i) for user, own in qrels.items() for i in relevant(own)]
        reco = pandas.DataFrame(listed, columns=["user_id", "item_id", "rank"])
        seen = pandas.DataFrame(wanted, columns=["user_id", "item_id"])
        found = getattr(metrics, name)(k=k, **options).calc_per_user(reco, seen)
        values = {user: float(value) for user, value in found.items()}
        return {user: values.get(user) for user in qrels}

    return theirs


@pytest.mark.parametrize("metric", EQUAL)
def test_rectools(metric):
    # Its test set has only what is relevant, so that it cannot name a user who has
    # nothing relevant and no list; with us such a one is missing, and counts 0.
    data = [
        random_runs(23, missing=True, unasked=True, nothing_relevant=False),
        random_runs(23, unasked=True),
    ]
    cuts = [1, 3, 10, 20]
    compare("rectools", metric, theirs_of(EQUAL[metric]), data, cutoffs=cuts)


@pytest.mark.parametrize(
    ("metric", "choice", "options"),
    [
        ("ndcg", {"ideal": "judged"}, {"divide_by_achievable": True}),
        ("ap", {"ap_divisor": "k"}, {"divide_by_k": True}),
        ("precision", {"precision_divisor": "min_k_R"}, {"r_precision": True}),
    ],
)
def test_options(metric, choice, options):
    convention = pr.CONVENTIONS["rectools"].replace(**choice)
    data = [random_runs(24, missing=True, nothing_relevant=False), random_runs(24)]
    compare(convention, metric, theirs_of(EQUAL[metric], **options), data)
