"""Tables of other shapes: topics by systems, and weights of groups."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import polars_rank as pr

WIDE = pl.DataFrame(
    {
        "topic": ["301", "302", "303", "304"],
        "bm25": [0.2, 0.4, 0.1, 0.9],
        "dense": [0.3, 0.4, 0.5, 0.7],
        "fused": [0.4, None, 0.5, 1.0],
    }
)


def test_topics_by_systems():
    values = pr.from_wide(WIDE, "ap", query="topic")
    wanted = [
        (row["topic"], system, row[system])
        for system in ("bm25", "dense", "fused")
        for row in WIDE.rows(named=True)
    ]
    assert values.rows() == wanted
    assert values.columns == ["topic", "system", "ap"]
    lazy = pr.from_wide(WIDE.lazy(), "ap", query="topic")
    assert isinstance(lazy, pl.LazyFrame)
    assert lazy.collect().sort(pl.all()).equals(values.sort(pl.all()))
    two = pr.from_wide(WIDE, "ap", query="topic", systems=["dense", "bm25"])
    found = pr.compare(two, query="topic", baseline="bm25").pairs
    assert found["difference"].to_list() == [pytest.approx((0.1 + 0.4 - 0.2) / 4)]


def test_a_wide_file(tmp_path):
    WIDE.drop("fused").write_csv(tmp_path / "wide.csv")
    found = pr.from_wide(tmp_path / "wide.csv", query="topic")
    assert found.height == 8
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="from_wide in Python"):
        pr.compare(WIDE, query="topic")


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({}, pl.exceptions.ColumnNotFoundError, "query column 'query_id' is not in"),
        (
            {"query": "topic", "systems": ["bm52", "dense"]},
            pl.exceptions.ColumnNotFoundError,
            "systems column 'bm52' is not in the table; did you mean 'bm25'",
        ),
        ({"query": "bm25"}, TypeError, "column 'topic' is String, but values of a sys"),
        (
            {"query": "topic", "systems": ["bm25"]},
            ValueError,
            "two systems or more, no",
        ),
        (
            {"query": "topic", "systems": ["bm25", "dense", "bm25"]},
            ValueError,
            "systems= names 'bm25' twice",
        ),
        ({"query": "topic", "measure": pr.Measure("rr")}, TypeError, "give its text"),
        ({"query": "topic", "measure": "topic"}, ValueError, "would be called 'topic'"),
        ({"query": "topic", "measure": "system"}, ValueError, "called 'system'"),
    ],
)
def test_wide_tables_that_are_refused(options, error, told):
    with pytest.raises(error, match=told):
        pr.from_wide(WIDE, **options)


@pytest.mark.parametrize("weights", [[5, 1], np.array([5, 1]), pl.Series([5, 1])])
def test_weights_of_groups_are_those_of_their_rows(weights):
    """As XGBoost has them: one for each query."""
    sizes, score, label = [2, 1], [1.0, 2.0, 3.0], [1, 0, 1]
    log = pr.from_groups(sizes, score=score, weight=weights, label=label)
    assert log.columns == ["query_id", "score", "weight", "label"]
    assert log["weight"].to_list() == [5, 5, 1]
    by_row = pr.from_groups(sizes, score=score, weight=[5, 5, 1], label=label)
    assert by_row.equals(log)
    value = pr.evaluate(log, "rr", weight="weight")["rr"].item()
    assert value == (5 * 1 / 2 + 1 * 1) / 6


def test_weights_that_fit_neither_or_both():
    with pytest.raises(ValueError, match="2 weights may be those of rows or of queri"):
        pr.from_groups([2, 0], score=[1.0, 2.0], weight=[5, 1])
    assert pr.from_groups([1, 1], score=[1.0, 2.0], weight=[5, 1]).height == 2
    told = "one weight for each of the 3 rows, or for each of the 2 sizes, not 4"
    with pytest.raises(ValueError, match=told):
        pr.from_groups([2, 1], score=[1.0, 2.0, 3.0], weight=[5, 1, 1, 1])
    for none in (None, 2.0):
        with pytest.raises(TypeError, match=f"for each size, not {none}"):
            pr.from_groups([2, 1], score=[1.0, 2.0, 3.0], weight=none)
