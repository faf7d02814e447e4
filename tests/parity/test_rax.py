"""Rax: ordered pair accuracy, one call a query, in float32; pairs there need no k."""

from __future__ import annotations

import pytest
from parity.against import against, both
from parity.compare import need
from reference import random_queries

import polars_rank as pr

rax = need("rax")
np = need("numpy")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def theirs(docs):
    scores, labels = (np.asarray(values, np.float32) for values in both(docs))
    return float(rax.opa_metric(scores, labels)) if len(labels) else None


def test_opa():
    note = "counts a list without a pair as 0"
    queries = random_queries(36, 120)
    against(
        "Rax",
        pr.measure("opa"),
        queries,
        theirs,
        tolerance=1e-6,
        undefined=0.0,
        note=note,
    )


def test_pairs_weigh_the_same():
    scores, labels = np.array([4.0, 3.0, 2.0, 1.0]), np.array([1.0, 3.0, 0.0, 1.0])
    assert round(float(rax.opa_metric(scores, labels)), 6) == 0.6
