"""Blended ratios and ERR: pyNTCIREVAL on seeded random lists."""

from __future__ import annotations

import math
import random
from collections.abc import Callable

import polars as pl
import pytest
from record import record

import polars_rank as pr

pytestmark = pytest.mark.parity
tool = pytest.importorskip("pyNTCIREVAL")
metrics = pytest.importorskip("pyNTCIREVAL.metrics")

LINEAR, EXP2, ODD = [1, 2, 3], [1, 3, 7], [2, 5, 5.5]
GAIN = {1: 2, 2: 5, 3: 5.5}  # ODD
Make = Callable[[list[int]], object]
PAIRS: dict[str, tuple[pr.Measure, Make]] = {
    "AP": (pr.measure("ap"), lambda x: metrics.AP(x, LINEAR)),
    "AP@5": (
        pr.measure("ap", k=5, divisor="min_k_R"),
        lambda x: metrics.AP(x, LINEAR, 5),
    ),
    "Q(1)": (pr.measure("q_measure"), lambda x: metrics.QMeasure(x, LINEAR, 1)),
    "Q(0)": (pr.measure("q_measure", beta=0), lambda x: metrics.QMeasure(x, LINEAR, 0)),
    "Q(10)@5": (
        pr.measure("q_measure", beta=10, k=5, gain="exp2"),
        lambda x: metrics.QMeasure(x, EXP2, 10, 5),
    ),
    "Q(.5), own gains": (
        pr.measure("q_measure", beta=0.5, gain=GAIN),
        lambda x: metrics.QMeasure(x, ODD, 0.5),
    ),
    **{
        f"{name}({beta})": (
            pr.measure(ours, beta=beta, gain=gain),
            lambda x, name=name, levels=levels, beta=beta: getattr(metrics, name)(
                x, levels, beta
            ),
        )
        for name, ours in (
            ("OMeasure", "o_measure"),
            ("PMeasure", "p_measure"),
            ("PPlusMeasure", "p_plus"),
        )
        for beta, gain, levels in ((1, "linear", LINEAR), (2.5, "exp2", EXP2))
    },
    "NCUguP": (
        pr.measure("ncu_gu", stop=GAIN, beta=0),
        lambda x: metrics.NCUguP(x, LINEAR, ODD),
    ),
    "NCUguBR": (pr.measure("ncu_gu"), lambda x: metrics.NCUguBR(x, LINEAR, LINEAR, 1)),
    "NCUrbP": (
        pr.measure("ncu_rb", gamma=0.8, beta=0),
        lambda x: metrics.NCUrbP(x, LINEAR, 0.8),
    ),
    "NCUrbBR": (
        pr.measure("ncu_rb", gamma=0.8, beta=3),
        lambda x: metrics.NCUrbBR(x, LINEAR, 0.8, 3),
    ),
    "MSnDCG@7": (pr.measure("ndcg", k=7), lambda x: metrics.MSnDCG(x, LINEAR, 7)),
    "nDCG(2)@7": (
        pr.measure("ndcg", k=7, discount="log2_from_2", gain="exp2"),
        lambda x: metrics.nDCG(x, EXP2, 2, 7),
    ),
    "ERR": (
        pr.measure("err", stop="linear", max_grade=3),
        lambda x: metrics.ERR(x, LINEAR),
    ),
    "ERR, gains 2^g - 1": (
        pr.measure("err", max_grade=3),
        lambda x: metrics.ERR(x, EXP2),
    ),
    "nERR@5": (
        pr.measure("nerr", stop="linear", max_grade=3, k=5),
        lambda x: metrics.nERR(x, LINEAR, 5),
    ),
}
NEEDS_RELEVANT = ("MSnDCG@7", "nDCG(2)@7", "nERR@5")  # the tool divides by 0


def random_lists(seed: int, count: int) -> list[tuple[list[str], dict[str, int]]]:
    """Ranked documents with unjudged ones, and the grades of a larger pool."""
    rng = random.Random(seed)
    lists = []
    for _ in range(count):
        docs = [f"d{i}" for i in range(rng.choice([1, 3, 8, 40]))]
        lacking = [f"u{i}" for i in range(rng.choice([0, 1, 6]))]
        top = rng.choice([0, 1, 2, 3, 3, 3])
        judged = [d for d in docs if rng.random() < 0.7] + lacking or docs[:1]
        lists.append((docs, {d: rng.choice([0, rng.randint(0, top)]) for d in judged}))
    return lists


def theirs(make: Make, docs: list[str], grades: dict[str, int]) -> float:
    labeler = tool.Labeler(grades, None, False)
    counts = labeler.compute_per_level_doc_num(4)
    return float(make(counts).compute(labeler.label(docs)))


@pytest.mark.parametrize("name", PAIRS)
def test_pyntcireval(name):
    measure, make = PAIRS[name]
    lists = random_lists(17, 150)
    keys = {"query_id": pl.String, "doc_id": pl.String}
    scored = [
        (f"q{q}", d, -i)
        for q, (docs, _) in enumerate(lists)
        for i, d in enumerate(docs)
    ]
    judged = [
        (f"q{q}", d, g)
        for q, (_, grades) in enumerate(lists)
        for d, g in grades.items()
    ]
    run = pl.DataFrame(scored, schema=keys | {"score": pl.Int64}, orient="row")
    qrels = pl.DataFrame(judged, schema=keys | {"label": pl.Int64}, orient="row")
    found = dict(pr.per_query(run, [measure], qrels=qrels).iter_rows())
    wanted = {
        f"q{q}": theirs(make, docs, grades)
        for q, (docs, grades) in enumerate(lists)
        if name not in NEEDS_RELEVANT or any(grades.values())
    }
    assert sum(value > 0 for value in wanted.values()) >= 50
    worst = max(abs(found[q] - w) / max(abs(w), 1e-3) for q, w in wanted.items())
    record("pyNTCIREVAL", name, worst, len(wanted), str(measure))
    for q, value in wanted.items():
        assert math.isclose(found[q], value, rel_tol=1e-12, abs_tol=1e-15), q
