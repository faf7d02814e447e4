"""What trec_eval 10.0 prints, to its four decimals; see ``golden/README.md``."""

from __future__ import annotations

from math import isnan
from pathlib import Path

import polars as pl
import pytest
from slow import slow

import polars_rank as pr

GOLDEN = Path(__file__).parents[1] / "golden"
TEXT = ("runid", "relstring")  # words about the run, not measures of it
GRADED = ("ndcg", "average_ndcg", "r_ndcg", "rbp")  # whatever the relevance level


def golden(name: str) -> dict[tuple[str, str], float]:
    """Every line: query and measure -> value."""
    lines = (GOLDEN / name).read_text().splitlines()
    rows = (line.split() for line in lines)
    return {(q, m): float(v) for m, q, v in rows if m not in TEXT}


def texts() -> tuple[pl.LazyFrame, pl.LazyFrame]:
    run = [line.split() for line in (GOLDEN / "run.txt").read_text().splitlines()]
    qrels = [line.split() for line in (GOLDEN / "qrels.txt").read_text().splitlines()]
    return (
        pl.LazyFrame([(r[0], r[2], float(r[4])) for r in run], RUN, orient="row"),
        pl.LazyFrame([(r[0], r[2], int(r[3])) for r in qrels], QRELS, orient="row"),
    )


RUN = ["query_id", "doc_id", "score"]
QRELS = ["query_id", "doc_id", "label"]


def measures(names: list[str], rel: int) -> list[pr.Measure]:
    """The measures of these names; an unknown name is an error."""
    return [at_level(pr.Measure.parse(name), rel) for name in names]


def at_level(m: pr.Measure, rel: int) -> pr.Measure:
    """With ``-l``; as in trec_eval, it leaves graded measures alone."""
    graded = m.metric in GRADED or m.name in ("G", "num_ret")
    if rel == 1 or graded or "rel" not in m.definition.parameters:
        return m
    return pr.measure(m.metric, name=m.name, **m.arguments | {"rel": rel})


def test_golden_by_the_level_of_the_evaluation():
    """``-l 2``: every name follows ``rel=2``; measures of gain leave it alone."""
    run, qrels = texts()
    wanted = golden("all_trec.c.l2.txt")
    names = list(dict.fromkeys(m for _, m in wanted))
    found = pr.per_query(run, names, qrels=qrels, rel=2).collect()
    for row in found.rows(named=True):
        for name in names:
            if (key := (row["query_id"], name)) in wanted:
                assert row[name] == pytest.approx(wanted[key], abs=6e-5), key


@pytest.mark.parametrize("rel", [1, 2, 3])
def test_relevant_documents_that_were_retrieved(rel):
    """The level of the evaluation counts, as that of the measure does."""
    labels = [[0, 1, 2, 3], [1, 1, 2], [0, 0]]
    rows = [(q, -i, g) for q, gs in enumerate(labels) for i, g in enumerate(gs)]
    log = pl.DataFrame(rows, ["query_id", "score", "label"], orient="row")
    counts = [sum(g >= rel for g in gs) for gs in labels]
    named = f"num_rel_ret(rel={rel})"
    found = pr.per_query(log, ["num_rel_ret", named, f"num_ret(rel={rel})"], rel=rel)
    for name in found.columns[1:]:
        assert found[name].to_list() == counts
    assert pr.evaluate(log, "num_rel_ret", rel=rel)["num_rel_ret"].item() == sum(counts)
    value = pl.col("label").rank_eval.num_rel_ret("score", rel=rel)
    convention = pr.CONVENTIONS["trec_eval"].replace(rel=rel)
    follows = pl.col("label").rank_eval.num_rel_ret("score", convention=convention)
    grouped = log.group_by("query_id", maintain_order=True).agg(
        value, follows.alias("f")
    )
    assert grouped["label"].to_list() == grouped["f"].to_list() == counts


OPTIONS = [
    ("all_trec.c.txt", 1, "nonrelevant", None),
    ("all_trec.c.l2.txt", 2, "nonrelevant", None),
    ("all_trec.c.J.txt", 1, "drop", None),
    ("all_trec.c.M20.txt", 1, "nonrelevant", 20),
]
# The quick tests have the options with more to do, each on one engine.
ON_BOTH = [
    (*options, engine) if i % 2 == j and i > 1 else slow(*options, engine)
    for i, options in enumerate(OPTIONS)
    for j, engine in enumerate(("streaming", "in-memory"))
]


@pytest.mark.parametrize(("name", "rel", "unjudged", "max_rank", "engine"), ON_BOTH)
def test_golden(name, rel, unjudged, max_rank, engine):
    run, qrels = texts()
    wanted = golden(name)
    names = list(dict.fromkeys(m for _, m in wanted))
    asked = measures(names, rel)
    options = dict(
        qrels=qrels,
        max_rank=max_rank,
        convention=pr.CONVENTIONS["trec_eval"].replace(unjudged=unjudged),
    )
    plans = [ask(run, asked, **options) for ask in (pr.per_query, pr.evaluate)]
    each, mean = (plan.collect(engine=engine) for plan in plans)
    found = {
        (row["query_id"], m): row[m]
        for row in each.iter_rows(named=True)
        for m in names
    }
    found |= {("all", m): mean[m].item() for m in names}
    mistaken(name, found, wanted)
    assert {m for _, m in found.keys() - wanted.keys()} == SUMMARIES
    assert wanted.keys() <= found.keys()
    assert len(wanted) > 30 * 90
    wrong = {key: (found[key], v) for key, v in wanted.items() if off(found[key], v)}
    assert not wrong


@pytest.mark.parametrize(("name", "rel"), [("yaap.c.txt", 1), ("yaap.c.l2.txt", 2)])
def test_yaap(name, rel):
    run, qrels = texts()
    asked = pr.measure("yaap", rel=rel, name="yaap")
    found = dict(pr.per_query(run, asked, qrels=qrels).collect().iter_rows())
    found["all"] = pr.evaluate(run, asked, qrels=qrels).collect()["yaap"].item()
    wanted = {query: value for (query, _), value in golden(name).items()}
    assert found.keys() == wanted.keys()
    assert not [q for q, value in wanted.items() if off(found[q], value)]


SUMMARIES = {"num_q", "gm_map", "gm_bpref"}  # printed for all queries only


def mistaken(name, found, wanted):
    """Where trec_eval 10.0 prints what it does not mean: the right value instead."""
    if name == "all_trec.c.l2.txt":  # the sum of -c forgets the level
        assert wanted["all", "num_rel"] == 836
        assert found["all", "num_rel"] == 439
        each = [v for (q, m), v in wanted.items() if m == "num_rel" and q != "all"]
        wanted["all", "num_rel"] = sum(each)
    if name == "all_trec.c.J.txt":  # query 7 has no document: 0 / 0
        for m in ("iprec_at_recall_0.00", "11pt_avg"):
            assert isnan(wanted["7", m])
            assert isnan(wanted["all", m])
            wanted["7", m] = 0.0
            each = [v for (q, n), v in wanted.items() if n == m and q != "all"]
            wanted["all", m] = sum(each) / len(each)


def off(found: float, printed: float) -> bool:
    """Whether the value prints differently, a half unit either way allowed."""
    return not abs(found - printed) <= 0.5e-4 + 1e-9
