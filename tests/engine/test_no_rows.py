"""Frames without rows: every measure gives no value, in memory and lazily."""

from __future__ import annotations

import polars as pl
import pytest
from slow import slow
from vocabularies import METRICS

import polars_rank as pr

ROWS = {"query_id": ["1"], "doc_id": ["a"], "score": [1.0], "label": [1.0]}
LOG = pl.DataFrame(ROWS)
RUN, QRELS = LOG.drop("label"), LOG.drop("score")


@pytest.mark.filterwarnings("ignore::polars_rank.DataWarning")
@pytest.mark.parametrize(
    ("judged", "half", "engine"),
    [
        (False, 0, None),
        (True, 1, None),
        slow(False, 1, "in-memory"),
        slow(True, 0, "in-memory"),
        slow(False, 0, "streaming"),
        slow(True, 1, "streaming"),
    ],
)
def test_no_rows_give_no_value(judged, half, engine):
    """In memory if there is no engine, else lazily."""
    frames = [RUN.clear(), QRELS.clear()] if judged else [LOG.clear()]
    frame, *qrels = [frame.lazy() if engine else frame for frame in frames]
    options = {"qrels": qrels[0]} if qrels else {}

    def collect(result):
        return result.collect(engine=engine) if engine else result

    # One by one, since some of them change what others need.
    for name in [*METRICS][half::2]:
        means = collect(pr.evaluate(frame, name, **options))
        assert means.row(0)[0] == 0
        assert collect(pr.per_query(frame, name, **options)).height == 0
