"""PFound and ERR of probabilities: CatBoost on seeded random groups."""

from __future__ import annotations

import math
import random

import polars as pl
import pytest
from record import record

import polars_rank as pr

pytestmark = pytest.mark.parity
utils = pytest.importorskip("catboost.utils")

PAIRS = {
    "PFound": pr.measure("pfound", max_grade=1),
    "PFound:top=3": pr.measure("pfound", max_grade=1, k=3),
    "PFound:top=5;decay=0.6": pr.measure("pfound", max_grade=1, k=5, decay=0.6),
    "PFound:decay=1": pr.measure("pfound", max_grade=1, decay=1.0),
    "ERR": pr.measure("err", stop="grade", max_grade=1),
    "ERR:top=3": pr.measure("err", stop="grade", max_grade=1, k=3),
}


@pytest.mark.parametrize("name", PAIRS)
def test_catboost(name):
    """Labels are float32 in the tool: probabilities here are multiples of 1/64."""
    rng = random.Random(5)
    groups = []
    for q in range(60):
        n = rng.choice([1, 4, 20])
        tied = rng.random() < 0.5
        for _ in range(n):
            score = float(rng.randint(0, 3)) if tied else rng.random()
            label = rng.choice([0, 1, rng.randint(0, 64) / 64]) if q else 0.0
            groups.append((q, score, float(label)))
    schema = {"query_id": pl.Int64, "score": pl.Float64, "label": pl.Float64}
    log = pl.DataFrame(groups, schema=schema, orient="row")
    convention = pr.CONVENTIONS["trec_eval"].replace(ties="pessimistic")
    found = dict(pr.per_query(log, [PAIRS[name]], convention=convention).iter_rows())
    worst = 0.0
    for (query,), group in log.group_by("query_id"):
        labels, scores = group["label"].to_list(), group["score"].to_list()
        (wanted,) = utils.eval_metric(
            labels, scores, name, group_id=[0] * len(labels), thread_count=1
        )
        worst = max(worst, abs(found[query] - wanted) / max(abs(wanted), 1e-3))
        assert math.isclose(found[query], wanted, rel_tol=1e-12, abs_tol=1e-15), query
    record("CatBoost", name, worst, len(found), str(PAIRS[name]))
