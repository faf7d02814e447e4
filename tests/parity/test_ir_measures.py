"""ir_measures with its default providers, gdeval and MS MARCO among them."""

from __future__ import annotations

import shutil

import pytest
from parity.compare import compare, distance, need, remark
from parity.random_runs import frames, random_runs
from parity.record import record

import polars_rank as pr
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


NAMES = [
    *(
        "AP",
        "AP(rel=2)",
        "AP@5",
        "Bpref",
        "Bpref(rel=2)",
        "infAP",
        "Rprec",
        "Rprec(rel=2)",
    ),
    *(f"IPrec@{i / 10}" for i in range(11)),
    *("nDCG", "nDCG@5", "RR", "RR(rel=2)", "Success@3", "Success(rel=2)@3"),
    *("P@5", "P(rel=2)@5", "R@5", "R(rel=2)@5", "NumRet", "NumRet(rel=1)"),
    *("SetP", "SetP(rel=2)", "SetP(relative=True)", "SetR", "SetAP", "SetF"),
    *("SetF(beta=0.5)", "SetF(beta=2.0)"),
]
OTHER_ORDERS = {
    "Judged@5": "ties go by document id ascending: ties=doc_asc",
    "Compat(p=0.8)": "ties go by document id ascending: ties=doc_asc",
    "RR@5": "ties go by document id ascending: ties=doc_asc",
    "RBP(rel=1)": "ties are not ordered by document id",
    "NumQ": "a query that is missing from the run counts as 0",
    "NumRel": "a query that is missing from the run counts as 0",
}


@pytest.mark.parametrize("name", [*NAMES, *OTHER_ORDERS])
def test_its_names_under_its_convention(name):
    """No parameter but those of the name; what has an order of its own without ties."""
    plain = name in NAMES
    run, qrels = random_runs(37, ties=plain, missing=plain, unasked=True)
    found, judged = frames(run, qrels)
    table = pr.per_query(found, name, qrels=judged, convention="ir_measures")
    own, wanted = dict(table.iter_rows()), theirs_of(name)(run, qrels, None)
    worst = 0.0
    for query, value in wanted.items():
        far = distance(own[query], value)
        assert far <= 1e-12, (query, own[query], value)
        worst = max(worst, far)
    assert len(wanted) >= 50
    record("ir_measures", name, worst, len(wanted), OTHER_ORDERS.get(name, ""))


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
