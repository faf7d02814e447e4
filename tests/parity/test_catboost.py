"""CatBoost: ``eval_metric``, one call a query."""

from __future__ import annotations

import pytest
from parity.compare import compare, need, ours, remark
from parity.random_runs import binary, random_runs, rows

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

utils = need("catboost.utils")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
EQUAL = TOOLS["catboost"].equal


def evaluation(name, labels, scores):
    return utils.eval_metric(
        labels, scores, name, group_id=[0] * len(labels), thread_count=1
    )[0]


def theirs_of(name, options=""):
    def theirs(run, qrels, k):
        text = f"{name}:top={-1 if k is None else k}{options}"
        return {
            q: evaluation(text, [float(y) for y in labels], scores)
            for q, (labels, scores) in rows(run, qrels).items()
        }

    return theirs


@pytest.mark.parametrize("metric", EQUAL)
def test_catboost(metric):
    theirs = theirs_of(EQUAL[metric])
    run, qrels = random_runs(15, missing=True, unasked=True)
    data = [(run, binary(qrels) if metric in ("ap", "recall") else qrels)]
    if metric == "err":  # its labels are the chances that a document satisfies
        data = [
            (run, {q: {d: g / 4 for d, g in ds.items()} for q, ds in qrels.items()})
        ]
    if metric in ("ndcg", "dcg"):
        data.append(random_runs(16, fractional=True))
    note = "labels are probabilities" if metric == "err" else ""
    compare("catboost", metric, theirs, data, cutoffs=[None, 1, 3, 10], note=note)


@pytest.mark.parametrize("metric", ["ap", "rr", "precision", "recall"])
def test_relevant_is_above_the_border(metric):
    theirs = theirs_of(EQUAL[metric])
    run, qrels = random_runs(17, fractional=True)
    compare("catboost", metric, theirs, [(run, qrels)])


@pytest.mark.parametrize(
    ("choice", "options"),
    [
        ({"gain": "exp2"}, ";type=Exp"),
        ({"discount": "position"}, ";denominator=Position"),
    ],
)
@pytest.mark.parametrize("metric", ["ndcg", "dcg"])
def test_options(metric, choice, options):
    convention = pr.CONVENTIONS["catboost"].replace(**choice)
    theirs = theirs_of(EQUAL[metric], options=options)
    compare(convention, metric, theirs, [random_runs(18)])


@pytest.mark.parametrize(
    "text",
    [
        "NDCG:top=3;type=Exp",
        "DCG:top=5;denominator=Position",
        "MAP:top=3;border=1",
        "PrecisionAt:top=4;border=2",
        "MRR:top=-1",
    ],
)
def test_measures_as_catboost_writes_them(text):
    run, qrels = random_runs(19)
    own = ours(run, qrels, pr.Measure.parse(text), pr.CONVENTIONS["catboost"])
    for query, (labels, scores) in rows(run, qrels).items():
        expected = evaluation(text, [float(y) for y in labels], scores)
        assert own[query] == pytest.approx(expected, abs=1e-12)


def test_its_ndcg_can_be_negative():
    assert evaluation("NDCG", [-1, 1], [2.0, 1.0]) < 0
    remark("catboost", "ndcg", "takes negative grades for losses: can be below 0")
