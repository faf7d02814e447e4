"""Diversity against ndeval (pyndeval) itself and through ir_measures."""

from __future__ import annotations

import math
import random

import polars as pl
import pytest
from parity.record import record

import polars_rank as pr

pytestmark = pytest.mark.parity
pyndeval = pytest.importorskip("pyndeval")
im = pytest.importorskip("ir_measures")

CUTS = (1, 2, 3, 5, 10, 20)
CUT = ("alpha-DCG", "alpha-nDCG", "ERR-IA", "nERR-IA", "P-IA", "strec")
WHOLE = ("NRBP", "nNRBP", "MAP-IA")
NDEVAL = [*(f"{name}@{k}" for name in CUT for k in CUTS), *WHOLE]
ASC = pr.CONVENTIONS["trec_eval"].replace(ties="doc_asc")  # ndeval's order of ties
QRELS = ["query_id", "subtopic", "doc_id", "label"]
RUN = ["query_id", "doc_id", "score"]


def data(seed: int, queries: int = 40) -> tuple[list[tuple], list[tuple]]:
    """Ties, unjudged and unretrieved documents, missing queries, odd grades."""
    rng = random.Random(seed)
    run, qrels = [], []
    for q in range(queries):
        docs = [f"d{i}" for i in range(rng.choice([1, 3, 8, 30, 45]))]
        density = rng.choice([0.05, 0.2, 0.6])
        for subtopic in range(rng.choice([1, 2, 5, 9])):
            for doc in docs:
                if rng.random() < density:
                    grade = rng.choice([-2, 0, 1, 1, 2, 3])
                    qrels.append((f"q{q}", f"s{subtopic}", doc, grade))
        if rng.random() < 0.9:
            found = rng.sample(docs, rng.randint(1, len(docs)))
            steps = rng.choice([2, 1000])
            run += [(f"q{q}", doc, rng.randrange(steps) / 7) for doc in found]
            run += [(f"q{q}", f"x{i}", rng.randrange(steps) / 7) for i in range(3)]
    run += [("unjudged", "d0", 1.0)]
    rng.shuffle(qrels)
    return run, qrels


def measure(name: str, **params: float) -> pr.Measure:
    """Ours for theirs; what it does not take of the parameters is left out."""
    found = pr.Measure.parse(name)
    known = found.definition.parameters
    given = {n: v for n, v in params.items() if n in known}
    if "norm" in known:
        given["norm"] = "ndeval"
    return pr.measure(found.metric, name=name, **found.arguments, **given)


def frames(run: list[tuple], qrels: list[tuple]) -> tuple[pl.LazyFrame, pl.LazyFrame]:
    return (
        pl.LazyFrame(run, schema=RUN, orient="row"),
        pl.LazyFrame(qrels, schema=QRELS, orient="row"),
    )


def defined(value: float) -> float:
    """Their nNRBP is 0/0 where nothing is relevant, but 0 for all others."""
    return 0.0 if math.isnan(value) else value


@pytest.mark.parametrize(
    ("alpha", "beta", "rel"),
    [(0.5, 0.5, 1), (0.5, 0.8, 2), (0.25, 0.95, 1), (0.75, 0.1, 3), (1.0, 0.5, 1)],
)
def test_ndeval(alpha, beta, rel):
    run, qrels = data(int(alpha * 100 + beta * 10 + rel))
    tool = pyndeval.RelevanceEvaluator(
        qrels, NDEVAL, relevance_level=rel, alpha=alpha, beta=beta
    )
    theirs = tool.evaluate(run)
    ranked, judged = frames(run, qrels)
    found = ranked.rank_eval.per_query(
        [measure(name, alpha=alpha, beta=beta, rel=rel) for name in NDEVAL],
        qrels=judged,
        subtopic="subtopic",
        convention=ASC,
    ).collect()
    ours = {row.pop("query_id"): row for row in found.iter_rows(named=True)}
    assert len(theirs) > 20
    assert ours.keys() == {q for q, *_ in qrels}
    assert not any(v for q in ours.keys() - theirs.keys() for v in ours[q].values())
    for name in NDEVAL:
        pairs = [(ours[q][name], defined(v[name])) for q, v in theirs.items()]
        for mine, wanted in pairs:
            assert mine == pytest.approx(wanted, rel=1e-12, abs=1e-14), name
        note = "@1 with norm=ndeval" if name in ("alpha-DCG@1", "ERR-IA@1") else ""
        largest = max(abs(mine - wanted) for mine, wanted in pairs)
        record("ndeval", name, largest, len(pairs), note)


IR_MEASURES = (
    *(
        f"{name}@{k}"
        for name in ("alpha_DCG", "alpha_nDCG", "ERR_IA", "nERR_IA", "P_IA", "StRecall")
        for k in (2, 5, 20)
    ),
    "NRBP",
    "nNRBP",
    "AP_IA",
)


@pytest.mark.parametrize("seed", [1, 2])
def test_ir_measures(seed):
    """The same text for both, parameters in parentheses included."""
    run, qrels = data(seed)
    ranked, judged = frames(run, qrels)
    texts = [*IR_MEASURES, "alpha_nDCG(alpha=0.75)@5", "NRBP(alpha=0.25,beta=0.8)"]
    found = ranked.rank_eval.per_query(
        texts, qrels=judged, subtopic="subtopic", convention=ASC
    ).collect()
    ours = {row["query_id"]: row for row in found.iter_rows(named=True)}
    theirs_qrels = [
        im.Qrel(query_id=q, doc_id=d, relevance=g, iteration=s) for q, s, d, g in qrels
    ]
    theirs_run = [im.ScoredDoc(q, d, s) for q, d, s in run]
    for text in texts:  # several parameter sets in one call would give it zeros
        theirs = im.iter_calc([im.parse_measure(text)], theirs_qrels, theirs_run)
        pairs = [(ours[m.query_id][text], defined(m.value)) for m in theirs]
        assert len(pairs) == len(ours)
        for mine, wanted in pairs:
            assert mine == pytest.approx(wanted, rel=1e-12, abs=1e-14), text
        largest = max(abs(mine - wanted) for mine, wanted in pairs)
        record("ir_measures", text, largest, len(pairs))


def test_the_first_place_is_normalized_by_default():
    """Unlike ndeval's: see ``norm``."""
    run = [("q", "a", 1.0)]
    qrels = [("q", s, "a", 1) for s in ("A", "B")]
    ranked, judged = frames(run, qrels)
    found = ranked.rank_eval.per_query(
        ["alpha_dcg@1", "err_ia@1"], qrels=judged, subtopic="subtopic"
    ).collect()
    assert found.row(0)[1:] == (1.0, 1.0)
    theirs = pyndeval.ndeval(qrels, run, ["alpha-DCG@1", "ERR-IA@1"])
    assert theirs == {"q": {"alpha-DCG@1": 2.0, "ERR-IA@1": 2.0}}
