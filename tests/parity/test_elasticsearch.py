"""Elasticsearch: figures of its own tests, and its formulas as plain loops.

Source: elastic/elasticsearch, modules/rank-eval, the classes DiscountedCumulativeGain,
ExpectedReciprocalRank, PrecisionAtK, RecallAtK and MeanReciprocalRank and their tests.
The server is not started.
"""

from __future__ import annotations

import math

import pytest
from parity.compare import compare, ours
from parity.random_runs import in_order, random_runs

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

pytestmark = pytest.mark.parity
ELASTIC = pr.CONVENTIONS["elasticsearch"]


def value(grades, hits, measure):
    """The measure of a list whose documents have these grades, None is unrated."""
    run = {"q": {str(i): 10.0 - i for i in range(hits)}}
    rated = {str(i): g for i, g in enumerate(grades) if g is not None}
    return ours(run, {"q": rated}, pr.Measure.parse(measure), ELASTIC)["q"]


@pytest.mark.parametrize(
    ("grades", "hits", "dcg", "ideal"),
    [
        ([3, 2, 3, 0, 1, 2], 6, 13.84826362927298, 14.595390756454922),
        ([3, 2, 3, None, 1], 6, 12.779642067948913, 13.347184833073591),
        ([3, 2, 3, None, 1, None], 4, 12.392789260714371, 13.347184833073591),
    ],
)
def test_figures_of_discounted_cumulative_gain(grades, hits, dcg, ideal):
    assert value(grades, hits, "dcg@10") == pytest.approx(dcg, rel=1e-12)
    assert value(grades, hits, "ndcg@10") == pytest.approx(dcg / ideal, rel=1e-12)


@pytest.mark.parametrize(
    ("grades", "k", "err"),
    [
        ([3, 2, 0, 1], 3, 0.8984375),
        ([3, 2, 0, 1], 4, 0.8984375 + 0.00244140625),
        ([3, None, 0, 1], 4, 0.875 + 0.00390625),
    ],
)
def test_figures_of_expected_reciprocal_rank(grades, k, err):
    found = value(grades, 4, f"err(max_grade=3)@{k}")
    assert found == pytest.approx(err, rel=1e-12)


def gain_sum(grades):
    return math.fsum((2**g - 1) / math.log2(i + 2) for i, g in enumerate(grades))


def formula(metric, hits, rated):
    """Its value for the grades of the hits, 0 where unrated."""
    if metric == "dcg":
        return gain_sum(hits)
    if metric == "ndcg":
        best = gain_sum(sorted(rated, reverse=True)[: len(hits)])
        return gain_sum(hits) / best if best else 0.0
    good = [grade >= 1 for grade in hits]
    if metric == "precision":
        return sum(good) / len(hits)
    if metric == "recall":
        total = sum(grade >= 1 for grade in rated)
        return sum(good) / total if total else 0.0
    if metric == "rr":
        return 1 / (good.index(True) + 1) if any(good) else 0.0
    reached = total = 0.0
    reached = 1.0
    for place, grade in enumerate(hits, 1):
        stop = (2**grade - 1) / 2**4
        total += reached * stop / place
        reached *= 1 - stop
    return total


@pytest.mark.parametrize("metric", TOOLS["elasticsearch"].equal)
def test_formulas(metric):
    def theirs(run, qrels, k):
        return {
            q: formula(
                metric,
                [qrels[q].get(d, 0) for d in in_order(own)[:k]],
                list(qrels[q].values()),
            )
            for q, own in run.items()
        }

    note = "its formula; the server is not run"
    compare("elasticsearch", metric, theirs, [random_runs(32)], note=note)
