"""Rank-biased overlap: the package rbo (no ties), ir_measures' Compat, and figures of
Corsi and Urbano's own program (github.com/julian-urbano/sigir2024-rbo, 0338fd9) and of
the R package ircor, quoted from its tests, for what PyPI does not have.
"""

from __future__ import annotations

import polars as pl
import pytest
from parity.against import against, untied
from reference import Doc, random_queries

import polars_rank as pr

pytestmark = pytest.mark.parity


@pytest.mark.parametrize("p", [0.5, 0.9, 0.98])
def test_extrapolated(p):
    rbo = pytest.importorskip("rbo")

    def theirs(docs):
        return float(rbo.RankingSimilarity(*_lists(docs)).rbo_ext(p=p))

    for tied in ("a", "b", "w"):
        measure = pr.measure("rbo", p=p, tied=tied)
        against("rbo", measure, untied(25, 2), theirs)


def _lists(docs: list[Doc]) -> tuple[list[str], list[str]]:
    scored = [d for d in docs if d.score is not None]
    labeled = [d for d in docs if d.label is not None]
    return (
        [d.id for d in sorted(scored, key=lambda d: -d.score)],
        [d.id for d in sorted(labeled, key=lambda d: -d.label)],
    )


# x: red (blue green) yellow pink; y: (blue red) white (yellow black purple) green
X = {"red": 4, "blue": 3, "green": 3, "yellow": 2, "pink": 1}
Y = {"blue": 4, "red": 4, "white": 3, "yellow": 2, "black": 2, "purple": 2, "green": 1}
FIGURES = {
    "a": {
        "ext": 0.6684523571428571,
        "min": 0.44915865244179787,
        "max": 0.8122319857142857,
        "res": 0.3630733332724878,
    },
    "b": {
        "ext": 0.7126554622012268,
        "min": 0.4869658579254481,
        "max": 0.8500391911979361,
        "res": 0.36307333327248803,
    },
    "w": {
        "ext": 0.6935890757575758,
        "min": 0.4723355918357373,
        "max": 0.8354089251082251,
        "res": 0.36307333327248775,
    },
}


@pytest.mark.parametrize("tied", FIGURES)
def test_figures_with_ties(tied):
    run = pl.DataFrame({"doc_id": list(X), "score": list(X.values())})
    judged = pl.DataFrame({"doc_id": list(Y), "label": list(Y.values())})
    for estimate, expected in FIGURES[tied].items():
        value = pr.per_query(
            run.with_columns(query_id=1),
            pr.measure("rbo", p=0.9, tied=tied, estimate=estimate, name="value"),
            qrels=judged.with_columns(query_id=pl.lit(1)),
        )["value"].item()
        assert value == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("p", [0.95, 0.5])
def test_compatibility(p, normalize):
    """ir_measures sorts tied documents by id, ascending, and wants scores above 0."""
    measures = pytest.importorskip("ir_measures")
    compat = measures.Compat(p=p, normalize=normalize)

    def theirs(docs):
        # Of equal grades and scores, those that it reads first come first in its ideal.
        docs = sorted(docs, key=lambda d: d.id)
        judged = {d.id: int(d.label) for d in docs if d.label is not None}
        run = {d.id: d.score for d in docs if d.score is not None}
        return measures.calc_aggregate([compat], {"q": judged}, {"q": run})[compat]

    queries = {
        q: [Doc(d.id, None if d.score is None else d.score + 9, d.label) for d in docs]
        for q, docs in random_queries(26, 80).items()
        if any(d.score is not None for d in docs)
    }
    measure = pr.measure("compat", p=p, normalize=normalize)
    against("ir_measures", measure, queries, theirs, ties="doc_asc")


def test_accuracy():
    """Tied documents keep their order; where only one kind is found it has no value."""
    measures = pytest.importorskip("ir_measures")
    accuracy = measures.Accuracy @ 8

    def theirs(docs):
        found = sorted((d for d in docs if d.score is not None), key=lambda d: -d.score)
        kinds = {d.label is not None and d.label >= 1 for d in found[:8]}
        if len(kinds) < 2:
            return None
        judged = {d.id: int(d.label) for d in docs if d.label is not None}
        run = {d.id: d.score for d in found}
        return measures.calc_aggregate([accuracy], {"q": judged}, {"q": run})[accuracy]

    measure = pr.measure("relevant_above", k=8)
    against("ir_measures", measure, random_queries(27, 120), theirs)


IRCOR = [
    (
        [0.897, 0.372, 0.908, 0.898, 0.661, 0.062, 0.177, 0.384, 0.498, 0.992],
        [0.82, 0.406, 0.817, 0.953, 0.673, 0.073, 0.364, 0.547, 0.589, 0.988],
        0.8519,
        0.7454,
        0.8333,
        0.7321,
    ),
    (
        [0.266, 0.573, 0.202, 0.945, 0.629, 0.206, 0.687, 0.77, 0.718, 0.38],
        [0.263, 0.843, 0.728, 0.928, 0.08, 0.114, 0.467, 0.641, 0.973, 0.644],
        0.2504,
        0.2692,
        0.288,
        0.297,
    ),
    (
        [0.185, 0.573, 0.944, 0.129, 0.468, 0.553, 0.761, 0.405, 0.976, 0.445],
        [0.845, 0.272, 0.275, 0.924, 0.605, 0.334, 0.162, 0.872, 0.018, 0.25],
        -0.6971,
        -0.5558,
        -0.668,
        -0.7047,
    ),
]


@pytest.mark.parametrize(("x", "y", "a", "a_tied", "b", "b_tied"), IRCOR)
def test_figures_of_ircor(x, y, a, a_tied, b, b_tied):
    def value(labels, scores, variant):
        frame = pl.DataFrame({"label": labels, "score": scores})
        tau = pl.col("label").rank_eval.tau_ap("score", variant=variant)
        return frame.select(tau).item()

    def rounded(values):
        return [round(v, 1) for v in values]

    assert value(x, y, "a") == pytest.approx(a, abs=5e-5)
    assert value(x, rounded(y), "a") == pytest.approx(a_tied, abs=5e-5)
    assert value(x, y, "b") == pytest.approx(b, abs=5e-5)
    assert value(rounded(x), rounded(y), "b") == pytest.approx(b_tied, abs=5e-5)
