"""ir_measures with its default providers, gdeval and MS MARCO among them."""

from __future__ import annotations

import shutil

import pytest
from parity.compare import compare, need, remark
from parity.random_runs import random_runs

from polars_rank.conventions.tools import TOOLS

ir_measures = need("ir_measures")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
ROUNDED = 5.1e-6  # gdeval prints five decimals


def listed(ranked):
    return [(q, d, value) for q, own in ranked.items() for d, value in own.items()]


def theirs_of(text):
    def theirs(run, qrels, k):
        name = text.replace("@k", "") + ("" if k is None else f"@{k}")
        measure = ir_measures.parse_measure(name)
        judged = [ir_measures.Qrel(*row) for row in listed(qrels)]
        found = [ir_measures.ScoredDoc(*row) for row in listed(run)]
        values = ir_measures.iter_calc([measure], judged, found)
        return {m.query_id: m.value for m in values}

    return theirs


@pytest.mark.parametrize("metric", TOOLS["ir_measures"].equal)
def test_default_providers(metric):
    cutoffs = {"rr": [None], "f1": [None], "ndcg": [None, 3, 10], "ap": [None, 3, 10]}
    data = [random_runs(28, missing=True, unasked=True)]
    cuts = cutoffs.get(metric, [1, 3, 20])
    theirs = theirs_of(TOOLS["ir_measures"].equal[metric])
    compare("ir_measures", metric, theirs, data, cutoffs=cuts)


@pytest.mark.skipif(shutil.which("perl") is None, reason="gdeval needs Perl")
@pytest.mark.parametrize("metric", TOOLS["gdeval"].equal)
def test_gdeval(metric):
    options = {"cutoffs": [1, 3, 20], "tolerance": ROUNDED}
    options["note"] = "rounds to five decimals"
    theirs = theirs_of(TOOLS["gdeval"].equal[metric])
    data = [random_runs(29, missing=True, unasked=True)]
    compare("gdeval", metric, theirs, data, **options)


@pytest.mark.parametrize("metric", TOOLS["msmarco"].equal)
def test_msmarco(metric):
    theirs = theirs_of(TOOLS["msmarco"].equal[metric])
    data = [random_runs(30, missing=True, unasked=True)]
    compare("msmarco", metric, theirs, data, cutoffs=[1, 3, 10])


def test_rr_depends_on_the_cutoff_where_scores_are_equal():
    run, qrels = {"1": {"a": 1.0, "x": 1.0}}, {"1": {"a": 1}}
    assert theirs_of("RR")(run, qrels, None) == {"1": 1 / 2}
    assert theirs_of("RR@k")(run, qrels, 10) == {"1": 1.0}
    remark("ir_measures", "rr", "ties go by document id ascending with @k: msmarco")
