"""Elliot's accuracy measures, of lists in order; put its checkout on the path."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pytest
from parity.compare import compare, need, remark
from parity.random_runs import frames, in_order, random_runs

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

metrics = need("elliot.evaluation.metrics")
relevance = need("elliot.evaluation.relevance")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["elliot"].equal


def values(name, run, qrels, k, threshold=1):
    """The value of each user with a list and a relevant item, as Elliot's evaluator."""
    lists = {u: [(i, own[i]) for i in in_order(own)] for u, own in run.items()}
    lists = {u: own for u, own in lists.items() if qrels.get(u)}
    judged = relevance.relevance.Relevance(qrels, threshold)
    about = SimpleNamespace(relevance=judged, cutoff=k)
    metric = metrics.parse_metric(name)(lists, SimpleNamespace(), None, about)
    return {user: float(value) for user, value in metric.eval_user_metric().items()}


def theirs_of(name, threshold=1, moved=0):
    """Their values; grades are ``moved`` up before they get them."""

    def theirs(run, qrels, k):
        grades = {u: {i: g + moved for i, g in own.items()} for u, own in qrels.items()}
        found = values(name, run, grades, k, threshold)
        return {user: found.get(user) for user in qrels if user in run}

    return theirs


@pytest.mark.parametrize("metric", EQUAL)
def test_elliot(metric):
    data = [
        random_runs(51, missing=True, unasked=True),
        random_runs(52, fractional=True),
        random_runs(53, documents=30),
    ]
    compare("elliot", metric, theirs_of(EQUAL[metric]), data)


@pytest.mark.parametrize("threshold", [2, 3])
def test_another_threshold_moves_the_grades(threshold):
    theirs = theirs_of("nDCG", threshold, moved=threshold - 1)
    compare("elliot", "ndcg", theirs, [random_runs(54), random_runs(55)])


def test_ndcg_of_rendle():
    convention = pr.CONVENTIONS["elliot"].replace(gain="binary")
    compare(convention, "ndcg", theirs_of("nDCGRendle2020"), [random_runs(56)])


@pytest.mark.parametrize(("name", "measure"), [("MAP", "precision"), ("MAR", "recall")])
def test_means_over_cutoffs(name, measure):
    """Neither is average precision, nor its like for recall."""
    for k in (1, 3, 10):
        run, qrels = random_runs(57, documents=20)
        found, judged = frames(run, qrels)
        asked = [f"{measure}@{n}" for n in range(1, k + 1)]
        table = pr.per_query(found, asked, qrels=judged, convention="elliot")
        mean = pl.mean_horizontal(asked)
        ours = dict(table.select("query_id", mean).rows())
        for user, value in values(name, run, qrels, k).items():
            assert ours[user] == pytest.approx(value, abs=1e-12)
    remark("elliot", name, f"it is the mean of {measure}@1 to {measure}@k")
