"""LensKit: one ordered list and one test list a call."""

from __future__ import annotations

import pytest
from parity.compare import compare, need, remark
from parity.random_runs import in_order, random_runs

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

data = need("lenskit.data")
ranking = need("lenskit.metrics.ranking")
np = need("numpy")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["lenskit"].equal


def theirs_of(name, graded=False, **options):
    metric = getattr(ranking, name)

    def theirs(run, qrels, k):
        values = {}
        for user, scores in run.items():
            if user not in qrels:
                continue
            found = data.ItemList(item_ids=in_order(scores), ordered=True)
            wanted = {d: g for d, g in qrels[user].items() if g >= 1}
            grades = {"rating": list(wanted.values())} if graded else {}
            test = data.ItemList(item_ids=list(wanted), **grades)
            if name == "AveragePrecision" and not wanted:
                values[user] = None
                continue
            values[user] = float(metric(k, **options).measure_list(found, test))
        return values

    return theirs


@pytest.mark.parametrize("metric", EQUAL)
def test_lenskit(metric):
    runs = [random_runs(26, missing=True, unasked=True)]
    theirs, cuts = theirs_of(EQUAL[metric]), [None, 1, 3, 10, 20]
    compare("lenskit", metric, theirs, runs, cutoffs=cuts)


@pytest.mark.parametrize("metric", ["ndcg", "dcg"])
def test_graded(metric):
    convention = pr.CONVENTIONS["lenskit"].replace(gain="linear")
    theirs = theirs_of(EQUAL[metric], graded=True, gain="rating")
    compare(convention, metric, theirs, [random_runs(27)])


def test_average_precision_without_test_items():
    found, test = (
        data.ItemList(item_ids=["a"], ordered=True),
        data.ItemList(item_ids=[]),
    )
    with pytest.raises(ZeroDivisionError):
        ranking.AveragePrecision(3).measure_list(found, test)
    remark("lenskit", "ap", "fails without test items, where its others are undefined")


def test_an_item_that_a_list_has_twice_counts_twice_there():
    found = data.ItemList(item_ids=["a", "a"], ordered=True)
    test = data.ItemList(item_ids=["a"])
    assert ranking.Recall(2).measure_list(found, test) == 2
    assert ranking.NDCG(2).measure_list(found, test) > 1


def test_rank_biased_precision():
    """``RBP`` is a name of ir_measures, with a persistence of 0.8: here it is given."""
    compare(
        "lenskit",
        "rbp",
        theirs_of("RBP"),
        [random_runs(28)],
        cutoffs=[None, 1, 3, 10],
        gain="binary",
        p=0.85,
        note="its RBP has a patience of 0.85: rbp(gain=binary, p=0.85)",
    )
