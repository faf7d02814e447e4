"""What trec_eval 10.0 prints, to its four decimals; see ``golden/README.md``."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import polars_rank as pr

GOLDEN = Path(__file__).parent / "golden"
CUTS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)
NAMES = {
    name: name
    for name in (
        "map",
        "recip_rank",
        "ndcg",
        "set_P",
        "set_recall",
        "set_F",
        "set_relative_P",
        *(f"success_{k}" for k in (1, 5, 10)),
        *(
            f"{metric}_{k}"
            for metric in ("P", "recall", "map_cut", "ndcg_cut", "relative_P")
            for k in CUTS
        ),
    )
}
LEVELLED = ("ndcg", "ndcg_cut")


def golden(name: str) -> dict[tuple[str, str], float]:
    lines = (GOLDEN / name).read_text().splitlines()
    rows = (line.split() for line in lines)
    return {(q, m): float(v) for m, q, v in rows if m in NAMES}


def texts() -> tuple[pl.LazyFrame, pl.LazyFrame]:
    run = [line.split() for line in (GOLDEN / "run.txt").read_text().splitlines()]
    qrels = [line.split() for line in (GOLDEN / "qrels.txt").read_text().splitlines()]
    return (
        pl.LazyFrame([(r[0], r[2], float(r[4])) for r in run], RUN, orient="row"),
        pl.LazyFrame([(r[0], r[2], int(r[3])) for r in qrels], QRELS, orient="row"),
    )


RUN = ["query_id", "doc_id", "score"]
QRELS = ["query_id", "doc_id", "label"]


def measures(rel: int) -> list[pr.Measure]:
    """The measures; as in trec_eval, the relevance level leaves nDCG alone."""
    found = [pr.Measure.parse(name) for name in NAMES]
    if rel == 1:
        return found
    return [
        m
        if m.metric == "ndcg"
        else pr.measure(m.metric, name=m.name, **m.arguments | {"rel": rel})
        for m in found
    ]


@pytest.mark.parametrize(
    ("name", "rel", "unjudged", "depth"),
    [
        ("all_trec.c.txt", 1, "nonrelevant", None),
        ("all_trec.c.l2.txt", 2, "nonrelevant", None),
        ("all_trec.c.J.txt", 1, "drop", None),
        ("all_trec.c.M20.txt", 1, "nonrelevant", 20),
    ],
)
def test_golden(name, rel, unjudged, depth, collect):
    run, qrels = texts()
    if depth is not None:
        best = pl.struct("score", "doc_id").rank("ordinal", descending=True)
        run = run.filter(best.over("query_id") <= depth)
    wanted = golden(name)
    options = dict(
        qrels=qrels, convention=pr.CONVENTIONS["trec_eval"].replace(unjudged=unjudged)
    )
    each = collect(pr.per_query(run, measures(rel), **options))
    mean = collect(pr.evaluate(run, measures(rel), **options))
    found = {
        (row["query_id"], m): row[m]
        for row in each.iter_rows(named=True)
        for m in NAMES
    }
    found |= {("all", m): mean[m].item() for m in NAMES}
    assert found.keys() == wanted.keys()
    assert len(found) > 30 * 50
    wrong = {key: (found[key], v) for key, v in wanted.items() if off(found[key], v)}
    assert not wrong


def off(found: float, printed: float) -> bool:
    """Whether the value prints differently, a half unit either way allowed."""
    return abs(found - printed) > 0.5e-4 + 1e-9
