"""Frames of the libraries themselves give what a Polars frame gives."""

from __future__ import annotations

import polars as pl
import pytest

import polars_rank as pr

pytestmark = pytest.mark.parity
LOG = pl.DataFrame(
    {
        "query_id": ["a", "a", "a", "b", "b", "c"],
        "doc_id": ["x", "y", "z", "x", "w", "y"],
        "score": [0.9, 0.5, 0.3, 0.8, 0.7, 0.1],
        "label": [1, 0, 3, 0, 2, 0],
    }
)
RUN, QRELS = LOG.drop("label"), LOG.drop("score")
MEASURES = ["ndcg@10", "ap", "rr"]


def pandas(frame):
    library = pytest.importorskip("pandas")
    return library.DataFrame(frame.to_dict(as_series=False))


def duckdb(frame):
    library = pytest.importorskip("duckdb")
    return library.from_arrow(frame.to_arrow()).select("*")


def ibis(frame):
    return pytest.importorskip("ibis").memtable(frame.to_arrow())


def narwhals(frame):
    return pytest.importorskip("narwhals").from_native(pandas(frame))


def narwhals_lazy(frame):
    return pytest.importorskip("narwhals").from_native(frame.lazy())


WAYS = [pandas, duckdb, ibis, narwhals, narwhals_lazy]


@pytest.mark.parametrize(
    "options", [{}, {"layout": "contiguous"}, {"memory_limit": "1GB"}], ids=str
)
@pytest.mark.parametrize("way", WAYS)
def test_frames_of_the_libraries(way, options):
    found = pr.per_query(way(RUN), MEASURES, qrels=way(QRELS), **options)
    assert isinstance(found, pl.DataFrame)
    assert found.equals(pr.per_query(RUN, MEASURES, qrels=QRELS))
    means = pr.evaluate(way(LOG), MEASURES, **options)
    assert means.equals(pr.evaluate(LOG, MEASURES))


def test_nan_in_pandas_is_missing():
    library = pytest.importorskip("pandas")
    log = library.DataFrame({"query_id": [1, 1], "score": [2, 1], "label": [None, 1.0]})
    assert pr.evaluate(log, "num_rel")["num_rel"].item() == 1.0
    log["score"] = [1.0, float("nan")]
    with pytest.raises(pr.DataError, match="scores are null"):
        pr.evaluate(log, "rr")
