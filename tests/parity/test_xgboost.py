"""XGBoost: a booster without trees predicts the margins it is given."""

from __future__ import annotations

import pytest
from parity.compare import FLOAT32, compare, distance, need, ours, remark
from parity.random_runs import binary, random_runs, rows, weighed
from parity.record import record

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

xgboost = need("xgboost")
np = need("numpy")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["xgboost"].equal


def validation(name, labels, scores, groups, weight=None, **params):
    """The value that XGBoost prints for a validation set."""
    margin = np.asarray(scores, np.float32)
    label = np.asarray(labels, float)
    matrix = xgboost.DMatrix(
        np.zeros((len(labels), 1)), label=label, base_margin=margin
    )
    matrix.set_group(groups)
    if weight is not None:
        matrix.set_weight(np.asarray(weight))
    objective = "rank:ndcg" if name.startswith("ndcg") else "rank:map"
    chosen = dict(objective=objective, eval_metric=[name], nthread=1, base_score=0.0)
    booster = xgboost.Booster(chosen | params, [matrix])
    return float(booster.eval_set([(matrix, "v")], 0).rpartition(":")[2])


def theirs_of(name, **params):
    def theirs(run, qrels, k):
        return {
            q: validation(name.replace("k", str(k)), y, s, [len(y)], **params)
            for q, (y, s) in rows(run, qrels).items()
        }

    return theirs


def data_for(metric, seed):
    run, qrels = random_runs(seed, missing=True, unasked=True)
    return [(run, qrels if metric == "ndcg" else binary(qrels))]


@pytest.mark.parametrize("metric", EQUAL)
def test_xgboost(metric):
    theirs, data = theirs_of(EQUAL[metric]), data_for(metric, 12)
    compare("xgboost", metric, theirs, data, tolerance=FLOAT32)


@pytest.mark.parametrize("metric", EQUAL)
def test_the_weighted_mean_of_a_validation_set(metric):
    """A query without gain adds 1, not its weight, to the sum of nDCG."""
    run, qrels = random_runs(39, unjudged=False, unretrieved=False)
    log, groups, weights = weighed(run, qrels if metric == "ndcg" else binary(qrels))
    name = EQUAL[metric].replace("k", "5")
    wanted = validation(name, log["label"], log["score"], groups, weights)
    measure = f"{metric}@5"
    means = pr.evaluate(log, measure, weight="weight", convention="xgboost")
    found = means[measure].item()
    assert found == pytest.approx(wanted, rel=FLOAT32)
    name = f"mean of {measure} with weights"
    record(TOOLS["xgboost"].name, name, abs(found - wanted), 1)


def test_linear_gain():
    convention = pr.CONVENTIONS["xgboost"].replace(gain="linear")
    theirs = theirs_of("ndcg@k", ndcg_exp_gain=False)
    data = [random_runs(13, fractional=True)]
    compare(convention, "ndcg", theirs, data, tolerance=FLOAT32)


@pytest.mark.parametrize("name", ["ndcg@5-", "map@5-"])
def test_zero_where_nothing_is_relevant(name):
    [(run, qrels)] = data_for(name.partition("@")[0], 14)
    measure = pr.Measure.parse(name)
    found = ours(run, qrels, measure, pr.CONVENTIONS["xgboost"])
    wanted = theirs_of(name)(run, qrels, None)
    assert found.keys() == wanted.keys()
    worst = max(distance(found[query], value) for query, value in wanted.items())
    assert worst <= FLOAT32
    assert 0.0 in wanted.values()
    record(TOOLS["xgboost"].name, name, worst, len(wanted))


def test_without_a_cutoff_it_cuts_at_32():
    labels, scores = [0] * 32 + [1], [float(-i) for i in range(33)]
    assert validation("ndcg", labels, scores, [33]) == 0
    assert validation("ndcg@40", labels, scores, [33]) > 0
    remark("xgboost", "ndcg", "cuts at 32 where no @k is given")
