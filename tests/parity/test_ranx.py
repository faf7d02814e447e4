"""ranx: ties keep the input order in lists of at most 15 documents."""

from __future__ import annotations

import math

import pytest
from parity.compare import compare, distance, need, ours, remark
from parity.random_runs import frames, random_runs
from parity.record import record

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

ranx = need("ranx")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["ranx"].equal


def values(run, qrels, name, **options):
    judged, found = ranx.Qrels(qrels), ranx.Run(run)
    listed = ranx.evaluate(judged, found, name, return_mean=False, **options)
    return dict(zip(sorted(qrels), map(float, listed), strict=True))


def theirs_of(name):
    def theirs(run, qrels, k):
        return values(run, qrels, name if k is None else f"{name}@{k}")

    return theirs


@pytest.mark.parametrize("metric", EQUAL)
def test_ranx(metric):
    data = [random_runs(3), random_runs(4, negative=True)]
    theirs, cuts = theirs_of(EQUAL[metric]), [None, 1, 3, 10]
    compare("ranx", metric, theirs, data, cutoffs=cuts)


@pytest.mark.parametrize("metric", ["ndcg", "dcg"])
def test_exponential_gain(metric):
    theirs, data = theirs_of(f"{metric}_burges"), [random_runs(33)]
    compare("ranx", metric, theirs, data, note="and its _burges", gain="exp2")


def test_other_names():
    run, qrels = random_runs(40)
    found, judged = frames(run, qrels)
    for name in ("hits", "hits@3", "rbp.90", "rbp.50"):
        table = pr.per_query(found, name, qrels=judged, convention="ranx")
        own, wanted = dict(table.iter_rows()), values(run, qrels, name)
        worst = max(distance(own[query], value) for query, value in wanted.items())
        assert worst <= 1e-12, name
        record(TOOLS["ranx"].name, name, worst, len(wanted))


def test_missing_queries():
    run, qrels = random_runs(5, missing=True)
    convention = pr.CONVENTIONS["ranx"].replace(missing="zero")

    def theirs(run, qrels, k):
        return values(dict(run), qrels, f"ndcg@{k}", make_comparable=True)

    compare(convention, "ndcg", theirs, [(run, qrels)])
    with pytest.raises(AssertionError):
        values(run, qrels, "ndcg@3")
    with pytest.raises(pr.DataError, match="missing from the run"):
        ours(run, qrels, pr.measure("ndcg", k=3), pr.CONVENTIONS["ranx"])


def test_fractional_grades_are_cut_off_there():
    # Ids are as long as above: ranx compiles anew for each length.
    run, qrels = {"q": {"d02": 2.0, "d01": 1.0}}, {"q": {"d01": 1.5, "d02": 1.0}}
    assert values(run, qrels, "ndcg")["q"] == 1.0
    own = ours(run, qrels, pr.measure("ndcg"), pr.CONVENTIONS["ranx"])["q"]
    third = math.log2(3)
    remark("ranx", "ndcg", "cuts fractional grades to integers")
    assert own == pytest.approx((1 + 1.5 / third) / (1.5 + 1 / third), rel=1e-12)
