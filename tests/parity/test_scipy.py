"""SciPy's rank correlations, on the documents that have a score and a label."""

from __future__ import annotations

import warnings
from math import log2

import pytest
from parity.against import against, both, untied
from reference import random_queries

import polars_rank as pr

stats = pytest.importorskip("scipy.stats")
pytestmark = pytest.mark.parity


def swapped(function, **params):
    return lambda x, y: function(y, x, **params)


def called(function, **params):
    return lambda x, y: function(x, y, **params)


ROWS = [
    ("kendall_tau", {}, called(stats.kendalltau)),
    ("kendall_tau", {"variant": "c"}, called(stats.kendalltau, variant="c")),
    ("weighted_tau", {}, called(stats.weightedtau)),
    ("weighted_tau", {"additive": False}, called(stats.weightedtau, additive=False)),
    ("weighted_tau", {"weigh_by": "score"}, called(stats.weightedtau, rank=None)),
    ("weighted_tau", {"weigh_by": "label"}, swapped(stats.weightedtau, rank=None)),
    (
        "weighted_tau",
        {"weigher": "log2_from_2", "additive": False, "weigh_by": "label"},
        swapped(
            stats.weightedtau,
            rank=None,
            additive=False,
            weigher=lambda i: 1 / max(1.0, log2(i + 1)),
        ),
    ),
    ("spearman", {}, called(stats.spearmanr)),
    ("pearson", {}, called(stats.pearsonr)),
]


@pytest.mark.parametrize(("metric", "params", "function"), ROWS)
def test_correlation(metric, params, function):
    def theirs(docs):
        scores, labels = both(docs)
        if len(scores) < 2:
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of constant values
            return float(function(scores, labels).statistic)

    measure = pr.measure(metric, **params)
    against("scipy", measure, random_queries(21, 120), theirs)


def test_kendall_distance():
    """From tau, where nothing is tied."""

    def theirs(docs):
        scores, labels = both(docs)
        if len(scores) < 2:
            return None
        return (1 - float(stats.kendalltau(scores, labels).statistic)) / 2

    against("scipy", pr.measure("kendall_distance"), untied(40, 2), theirs)
