"""Means and values of queries from one pass: those of two calls, read once."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pytest
from polars.io.plugins import register_io_source
from polars.testing import assert_frame_equal

import polars_rank as pr

N = 40
LOG = pl.DataFrame(
    {
        "query_id": [i // 4 for i in range(4 * N)],
        "score": [i * 7 % 11 for i in range(4 * N)],
        "doc_id": [i % 4 for i in range(4 * N)],
        "label": [int(i % 5 == 1) for i in range(4 * N)],
        "half": [i // (2 * N) for i in range(4 * N)],
        "traffic": [1 + i // 4 % 3 for i in range(4 * N)],
    }
)
MEASURES = ["ndcg@3", "rr", "num_rel"]
OPTIONS = [
    {},
    {"by": "half", "stats": ["mean", "n", "median"]},
    {"weight": "traffic", "keep": "half"},
    {"no_relevant": "skip", "max_rank": 2},
]


def separately(frame: pl.DataFrame | pl.LazyFrame, options: dict) -> list:
    of_means = ("by", "weight", "stats")
    means = {n: v for n, v in options.items() if n != "keep"}
    values = {n: v for n, v in options.items() if n not in of_means}
    return [
        pr.evaluate(frame, MEASURES, **means).lazy().collect(),
        pr.per_query(frame, MEASURES, **values).lazy().collect(),
    ]


@pytest.mark.parametrize("options", OPTIONS)
def test_frames_are_those_of_two_calls(options):
    found = pr.evaluate_both(LOG, MEASURES, **options)
    for one, other in zip(found, separately(LOG, options), strict=True):
        assert one.equals(other)
    assert found.means is found[0]
    assert found.queries.height == N
    method = LOG.rank_eval.evaluate_both(MEASURES, **options)
    assert method.means.equals(found.means)


@pytest.mark.parametrize("layout", ["auto", "any", "contiguous"])
def test_a_lazy_frame_is_read_once(layout):
    reads = 0

    def read(
        columns: list[str] | None, predicate: pl.Expr | None, n: int | None, _: object
    ) -> Iterator[pl.DataFrame]:
        nonlocal reads
        reads += 1
        rows = LOG if columns is None else LOG.select(columns)
        yield rows if predicate is None else rows.filter(predicate)

    scanned = register_io_source(read, schema=LOG.schema)
    both = pr.evaluate_both(scanned, MEASURES, layout=layout)
    assert reads == 0
    found = pl.collect_all([both.means, both.queries], engine="streaming")
    assert reads == 1
    for one, other in zip(found, separately(LOG.lazy(), {}), strict=True):
        assert one.equals(other)
    assert both.means.collect().equals(found[0])


def test_what_is_not_lazy_is_read_once_within_a_memory_limit():
    run = LOG.select("query_id", "doc_id", "score")
    qrels = LOG.select("query_id", "doc_id", "label").filter(pl.col("query_id") < 30)
    asked = {"qrels": qrels, "missing": "zero"}
    found = pr.evaluate_both(run.to_arrow(), MEASURES, **asked, memory_limit="1GB")
    for one, other in zip(found, separately(run, asked), strict=True):
        assert_frame_equal(one, other, check_exact=True)
    lazy = pr.evaluate_both(run.lazy(), MEASURES, **asked, memory_limit="1GB")
    for one, other in zip(lazy, found, strict=True):
        assert one.collect().equals(other)


def test_bad_rows_are_told_of_once():
    bad = LOG.with_columns(label=pl.when(pl.col("query_id") == 3).then(float("nan")))
    with pytest.raises(pr.DataError, match="label"):
        pr.evaluate_both(bad, MEASURES)
    with pytest.warns(pr.DataWarning) as caught:
        pr.evaluate_both(LOG.clear(), MEASURES)
    assert len(caught) == 1


def test_arguments_are_those_of_both_functions():
    with pytest.raises(TypeError, match="evaluate_both takes no wieght; did you"):
        pr.evaluate_both(LOG, MEASURES, wieght="traffic")
    with pytest.raises(ValueError, match="leave out keep= for query columns"):
        pr.evaluate_both(LOG, MEASURES, keep="query_id")
    with pytest.raises(ValueError, match="two output columns would be called 'rr'"):
        pr.evaluate_both(LOG.rename({"half": "rr"}), MEASURES, by="rr")
