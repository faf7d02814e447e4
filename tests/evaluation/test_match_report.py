"""The coverage report against plain sets and loops."""

from __future__ import annotations

import polars as pl
import pytest
from reference import Doc, order, random_queries

import polars_rank as pr


def frames() -> tuple[dict, dict, pl.DataFrame, pl.DataFrame]:
    queries = random_queries(2, 30)
    run = {q: [d for d in docs if d.score is not None] for q, docs in queries.items()}
    qrels = {q: [d for d in docs if d.label is not None] for q, docs in queries.items()}
    run["stranger"] = [Doc("a", 1.0, None), Doc("b", 1.0, None)]
    qrels["absent"] = [Doc("a", None, 0.0)]
    run, qrels = ({q: ds for q, ds in side.items() if ds} for side in (run, qrels))
    schema = ["query_id", "doc_id", "score"]
    return (
        run,
        qrels,
        pl.DataFrame(
            [(q, d.id, d.score) for q, ds in run.items() for d in ds],
            schema,
            orient="row",
        ),
        pl.DataFrame(
            [(q, d.id, d.label) for q, ds in qrels.items() for d in ds],
            ["query_id", "doc_id", "label"],
            orient="row",
        ),
    )


def test_counts(collect):
    run, qrels, run_frame, qrels_frame = frames()
    both = run.keys() & qrels.keys()
    judged = {q: {d.id for d in ds} for q, ds in qrels.items()}
    tops = {q: [d.id for d in order(run[q], "doc_desc")[:10]] for q in both}
    unjudged = sum(doc not in judged[q] for q, docs in tops.items() for doc in docs)
    tied = sum(
        sum(d.score == other.score for other in run[q]) > 1
        for q in both
        for d in run[q]
    )
    wanted = {
        "queries in both": len(both),
        "queries only in the run": len(run.keys() - both),
        "queries only in the judgments": len(qrels.keys() - both),
        "queries with nothing relevant": sum(
            all(d.label <= 0 for d in ds) for ds in qrels.values()
        ),
        "run rows": sum(map(len, run.values())),
        "judgment rows": sum(map(len, qrels.values())),
        "judgments retrieved": sum(
            d.id in judged.get(q, ()) for q, ds in run.items() for d in ds
        ),
        "unjudged share in the top 10": unjudged / sum(map(len, tops.values())),
        "tied share": tied / sum(len(run[q]) for q in both),
        "duplicates in the run": 0,
        "duplicates in the judgments": 0,
    }
    found = collect(pr.match_report(run_frame.lazy(), qrels_frame.lazy()))
    assert dict(found.rows()) == pytest.approx(wanted)


def test_copies_are_counted_not_hidden():
    run = pl.DataFrame(
        {"q": [1, 1, 1], "d": ["a", "a", "b"], "s": [3.0, 2.0, 1.0]},
    )
    qrels = pl.DataFrame({"q": [1, 1, 1], "d": ["b", "b", "b"], "l": [0, 0, 0]})
    names = dict(query="q", doc="d", score="s", label="l")
    found = dict(run.rank_eval.match_report(qrels, **names).rows())
    assert found["duplicates in the run"] == 1
    assert found["duplicates in the judgments"] == 2
    assert found["run rows"] == found["judgment rows"] == 3
    assert found["judgments retrieved"] == 1
    assert found["queries with nothing relevant"] == 1


def test_shares_of_nothing_are_null():
    run = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "score": [1.0]})
    qrels = pl.DataFrame({"query_id": [2], "doc_id": ["a"], "label": [1]})
    found = dict(pr.match_report(run, qrels).rows())
    assert found["queries in both"] == 0
    assert found["tied share"] is None
    assert found["unjudged share in the top 10"] is None


def test_streams():
    *_, run, qrels = frames()
    graph = pr.match_report(run.lazy(), qrels.lazy()).show_graph(
        engine="streaming", plan_stage="physical", raw_output=True, show=False
    )
    nodes = [line for line in graph.splitlines() if "Legend" not in line]
    assert not any("0.0 0.3 1.0" in node for node in nodes)
