"""ranx: ties keep the input order in lists of at most 15 documents.

It is compiled at first use, and anew for each length of ids: here they have three
characters at most, and all tests of it are in this file.
"""

from __future__ import annotations

import math

import numpy as np
import polars as pl
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
    run, qrels = {"q": {"d02": 2.0, "d01": 1.0}}, {"q": {"d01": 1.5, "d02": 1.0}}
    assert values(run, qrels, "ndcg")["q"] == 1.0
    own = ours(run, qrels, pr.measure("ndcg"), pr.CONVENTIONS["ranx"])["q"]
    third = math.log2(3)
    remark("ranx", "ndcg", "cuts fractional grades to integers")
    assert own == pytest.approx((1 + 1.5 / third) / (1.5 + 1 / third), rel=1e-12)


def test_ranx_student_and_its_tukey():
    """ranx's t test is ours; its Tukey test ignores that queries are paired."""
    stats = pytest.importorskip("scipy.stats")
    draw = np.random.default_rng(3)
    docs = {f"q{i}": [f"d{j:02}" for j in range(8)] for i in range(30)}
    qrels = {q: {d: int(draw.integers(0, 3)) for d in ds} for q, ds in docs.items()}
    runs = {
        s: {q: {d: g * lift + draw.random() for d, g in qrels[q].items()} for q in docs}
        for s, lift in (("a", 0.0), ("b", 0.04), ("c", 0.1))
    }
    rows = [
        (s, q, d, v)
        for s, run in runs.items()
        for q, ds in run.items()
        for d, v in ds.items()
    ]
    systems = pl.DataFrame(
        rows, schema=["system", "query_id", "doc_id", "score"], orient="row"
    )
    judged = pl.DataFrame(
        [(q, d, g) for q, ds in qrels.items() for d, g in ds.items()],
        schema=["query_id", "doc_id", "label"],
        orient="row",
    )
    ours = pr.compare(systems, measures=["ndcg@5"], qrels=judged).pairs
    given = [ranx.Run.from_dict(run, name) for name, run in runs.items()]
    table = ranx.Qrels.from_dict(qrels)

    def theirs(test: str, row: dict) -> float:
        found = ranx.compare(table, given, ["ndcg@5"], stat_test=test).to_dict()
        return float(found[row["baseline"]]["comparisons"][row["system"]]["ndcg@5"])

    for row in ours.iter_rows(named=True):
        assert row["p_value"] == pytest.approx(theirs("student", row), rel=1e-9)
    values = pr.per_query(
        systems, ["ndcg@5"], qrels=judged, query=["system", "query_id"]
    )
    apart = [values.filter(system=s)["ndcg@5"].to_numpy() for s in runs]
    one_way = stats.tukey_hsd(*apart).pvalue
    for row in ours.iter_rows(named=True):
        i, j = ("abc".index(row[c]) for c in ("baseline", "system"))
        assert theirs("tukey", row) == pytest.approx(one_way[i, j], abs=1e-3)
