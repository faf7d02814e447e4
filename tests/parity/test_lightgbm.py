"""LightGBM: a booster without trees predicts the scores it is given to start from."""

from __future__ import annotations

import math

import pytest
from parity.compare import compare, need, ours
from parity.random_runs import frames, random_runs, rows, weighed
from parity.record import record

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

lightgbm = need("lightgbm")
np = need("numpy")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["lightgbm"].equal


def validation(name, labels, scores, groups, k, weight=None, **params):
    """The value that LightGBM prints for a validation set."""
    metric = name.partition("@")[0]
    chosen = dict(objective="lambdarank", metric=metric, eval_at=[k], verbosity=-1)
    quiet = {"verbosity": -1}
    train = lightgbm.Dataset(np.zeros((2, 1)), label=[0, 1], group=[2], params=quiet)
    booster = lightgbm.Booster(chosen | {"num_threads": 1} | params, train)
    valid = lightgbm.Dataset(
        np.zeros((len(labels), 1)),
        label=np.asarray(labels, float),
        group=groups,
        init_score=np.asarray(scores, float),
        weight=weight,
        reference=train,
    )
    booster.add_valid(valid, "valid")
    return float(booster.eval_valid()[0][2])


def theirs_of(name, **params):
    def theirs(run, qrels, k):
        return {
            q: validation(name, labels, scores, [len(labels)], k, **params)
            for q, (labels, scores) in rows(run, qrels).items()
        }

    return theirs


@pytest.mark.parametrize("metric", EQUAL)
def test_lightgbm(metric):
    data = [random_runs(9, missing=True, unasked=True)]
    compare("lightgbm", metric, theirs_of(EQUAL[metric]), data)


def test_linear_gain():
    convention = pr.CONVENTIONS["lightgbm"].replace(gain="linear")
    theirs = theirs_of("ndcg@k", label_gain=[0, 1, 2, 3, 4])
    note = "label_gain=[0, 1, 2 ...] with gain=linear"
    compare(convention, "ndcg", theirs, [random_runs(10)], cutoffs=[5], note=note)


def test_the_mean_of_a_validation_set_in_one_frame():
    run, qrels = random_runs(11, unjudged=False, unretrieved=False)
    listed = rows(run, qrels)
    labels = [y for own, _ in listed.values() for y in own]
    scores = [s for _, own in listed.values() for s in own]
    groups = [len(own) for own, _ in listed.values()]
    log = frames(run, qrels)[0].with_columns(label=np.array(labels))
    for metric, measure in (("ndcg", "ndcg@5"), ("map", "ap@5")):
        wanted = validation(metric, labels, scores, groups, 5)
        found = pr.evaluate(log, measure, convention="lightgbm")[measure].item()
        assert math.isclose(found, wanted, rel_tol=1e-12)


def test_the_weighted_mean_of_a_validation_set():
    """A query weighs the mean of its rows; without gain it adds 1 to the sum."""
    run, qrels = random_runs(38, unjudged=False, unretrieved=False)
    log, groups, _ = weighed(run, qrels)
    given = (log["label"], log["score"], groups, 5)
    for metric, measure in (("ndcg", "ndcg@5"), ("map", "ap@5")):
        wanted = validation(metric, *given, weight=log["weight"])
        means = pr.evaluate(log, measure, weight="weight", convention="lightgbm")
        found = means[measure].item()
        assert math.isclose(found, wanted, rel_tol=1e-12)
        name = f"mean of {measure} with weights"
        record(TOOLS["lightgbm"].name, name, abs(found - wanted), 1)


def test_the_example_of_the_readme():
    labels, scores = [3, 0, 2, 1, 0, 0, 1], [0.2, 0.9, 0.5, 0.5, 0.3, 0.1, 0.4]
    assert round(validation("ndcg", labels, scores, [4, 2, 1], 3), 6) == 0.751582
    assert round(validation("map", labels, scores, [4, 2, 1], 3), 6) == 0.796296


def test_negative_grades_are_refused():
    with pytest.raises(lightgbm.basic.LightGBMError):
        validation("ndcg", [-1, 1], [2, 1], [2], 1)
    run, qrels = {"q": {"a": 2.0, "b": 1.0}}, {"q": {"a": -1, "b": 1}}
    with pytest.raises(pr.DataError, match="negative grades"):
        ours(run, qrels, pr.measure("ndcg"), pr.CONVENTIONS["lightgbm"])
