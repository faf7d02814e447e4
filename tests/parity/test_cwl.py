"""User models: ir_measures and cwl_eval on seeded random runs."""

from __future__ import annotations

import math
import random

import polars as pl
import pytest
from record import record

import polars_rank as pr

pytestmark = pytest.mark.parity
measures = pytest.importorskip("ir_measures")
ruler = pytest.importorskip("cwl.ruler.cwl_ruler")
ranking = pytest.importorskip("cwl.ruler.ranking")

TOLERANCE = 1e-12  # relative: the tool adds up a thousand places, we closed forms
GRADES = [-1, 0, 0, 1, 2, 3, 4, 0.5, 2.25]
MEASURES = [
    *(f"SDCG(max_rel={m})@{k}" for m, k in [(4, 1), (4, 10), (7, 1000)]),
    *(f"BPM(max_rel={m},T={t})@{k}" for m, t, k in [(4, 1.0, 10), (7, 2.5, 50)]),
    *(f"BPM(max_rel=10,T={t})@1000" for t in (0.3, 1.0, 100.0)),
    *(f"NERR8(max_rel={m})@{k}" for m, k in [(4, 1), (5, 20), (10, 1000)]),
    *(f"NERR9(max_rel={m})@{k}" for m, k in [(4, 1), (5, 20), (10, 1000)]),
    *(f"NERR10(max_rel={m},p={p})" for m, p in [(4, 0.9), (10, 0.5), (7, 0.999)]),
    *(f"NERR11(max_rel={m},T={t})" for m, t in [(4, 1.0), (10, 0.5), (7, 12.5)]),
    *(f"INST(max_rel={m},T={t})" for m, t in [(4, 1.0), (10, 0.5), (7, 12.5)]),
    *(f"INSQ(max_rel={m},T={t})" for m, t in [(4, 1.0), (10, 0.5), (7, 12.5)]),
    "SDCG(max_rel=4,min_rel=1)@10",
    "INST(max_rel=4,min_rel=1,T=2.0)",
    "NERR8(max_rel=4,min_rel=2)@10",
]


def random_run(seed: int, queries: int) -> tuple[dict, dict]:
    """Runs with ties, unjudged documents and queries without a run or judgments."""
    rng = random.Random(seed)
    run, qrels = {}, {}
    for q in range(queries):
        n = rng.choice([2, 5, 30, 200]) if q else 1300  # longer than the tool looks
        docs = [f"d{i}" for i in rng.sample(range(3 * n), n)]
        if q % 9 != 5:
            run[f"q{q}"] = {d: rng.choice([0.25, -1.0, rng.random()]) for d in docs}
        pool = rng.sample(docs, (n + 1) // 2) + [f"u{i}" for i in range(n // 4)]
        if q % 9 != 6:
            dense = rng.random() ** 0.5
            qrels[f"q{q}"] = {
                d: rng.choice(GRADES) if rng.random() < dense else 0 for d in pool
            }
    return run, qrels


def frames(run: dict, qrels: dict) -> tuple[pl.DataFrame, pl.DataFrame]:
    scored = [(q, d, s) for q, docs in run.items() for d, s in docs.items()]
    judged = [(q, d, g) for q, docs in qrels.items() for d, g in docs.items()]
    keys = {"query_id": pl.String, "doc_id": pl.String}
    return (
        pl.DataFrame(scored, schema=keys | {"score": pl.Float64}, orient="row"),
        pl.DataFrame(judged, schema=keys | {"label": pl.Float64}, orient="row"),
    )


@pytest.fixture(scope="module")
def theirs() -> dict[str, dict[str, float]]:
    run, qrels = random_run(11, 150)
    parsed = {measures.parse_measure(text): text for text in MEASURES}
    provider = measures.providers.registry["cwl_eval"]
    values: dict[str, dict[str, float]] = {text: {} for text in MEASURES}
    for value in provider.iter_calc(list(parsed), qrels, run):
        values[parsed[value.measure]][value.query_id] = value.value
    return values


@pytest.fixture(scope="module")
def ours() -> pl.DataFrame:
    run, qrels = frames(*random_run(11, 150))
    convention = pr.CONVENTIONS["trec_eval"].replace(ties="order")
    return pr.per_query(run, MEASURES, qrels=qrels, convention=convention)


@pytest.mark.parametrize("text", MEASURES)
def test_ir_measures(text, theirs, ours):
    found = dict(ours.select("query_id", text).iter_rows())
    assert found.keys() == theirs[text].keys()
    assert sum(value > 0 for value in found.values()) >= 30
    worst = max(
        abs(found[q] - wanted) / max(abs(wanted), 1e-3)
        for q, wanted in theirs[text].items()
    )
    record("ir_measures", text, worst, len(found), "cwl_eval")
    for q, wanted in theirs[text].items():
        assert math.isclose(found[q], wanted, rel_tol=TOLERANCE, abs_tol=1e-15), q


@pytest.mark.parametrize("T", [0.5, 2.5])
@pytest.mark.parametrize("k", [4, 30])
@pytest.mark.parametrize(("hb", "median"), [(1, 0.5), (0.25, 0.5), (2, 0.75), (0, 0)])
def test_cwl_dynamic_bpm(T, k, hb, median):
    """The tool adds up limits step by step: gains here are exact in binary."""
    rng = random.Random(23)
    lists = {
        q: [rng.choice([0, 0, 0, rng.randint(0, 8)]) for _ in range(rng.randint(1, 40))]
        for q in range(80)
    }
    rows = [(q, -i, g) for q, grades in lists.items() for i, g in enumerate(grades)]
    log = pl.DataFrame(rows, schema=["query_id", "score", "label"], orient="row")
    params = dict(T=T, k=k, hb=hb, median=median)
    measure = pr.measure("bpm_dynamic", max_grade=8, **params)
    found = dict(pr.per_query(log, [measure]).iter_rows())
    worst = 0.0
    for q, grades in lists.items():
        gains = [grade / 8 for grade in grades]
        bpm = ruler.BPMDCWLMetric(T=T, K=k, hb=hb, hc=1, gain_med=median)
        wanted = bpm.measure(ranking.Ranking(q, gains, [math.nan] * len(gains)))
        worst = max(worst, abs(found[q] - wanted) / max(wanted, 1e-3))
        assert math.isclose(found[q], wanted, rel_tol=TOLERANCE, abs_tol=1e-15), q
    assert sum(value > 0 for value in found.values()) >= 30
    record(
        "cwl_eval", f"BPMD({T=}, K={k}, {hb=}, gain_med={median})", worst, len(found)
    )
