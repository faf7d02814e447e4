"""A filter on the queries of a result reaches the files: fewer are evaluated."""

from __future__ import annotations

import polars as pl
import pytest

import polars_rank as pr
from polars_rank.core.source import lazy_source

QUERY = ["day", "query_id"]
ROWS = pl.DataFrame(
    {
        "day": [1, 1, 2, 2, 2, 3, 3],
        "query_id": ["a", "a", "a", "b", "b", "a", "c"],
        "doc_id": ["x", "y", "x", "x", "y", "y", "x"],
        "score": [2.0, 1.0, 3.0, 1.0, 2.0, 1.0, 1.0],
        "label": [0, 1, 1, 1, 0, 0, 1],
    }
)
RUN, QRELS = ROWS.drop("label"), ROWS.drop("score")


class Watched:
    """A frame that notes which days were read of it."""

    def __init__(self, rows: pl.DataFrame) -> None:
        self.days: set[int] = set()
        self.lazy = lazy_source(
            self.read,
            rows.schema,
            name="watched",
            rereadable=True,
            narrow=lambda predicate: lambda _: self.read_days(rows.filter(predicate)),
        )
        self.rows = rows

    def read(self, _):
        yield from self.read_days(self.rows)

    def read_days(self, rows):
        self.days |= {*rows["day"]}
        yield rows


FILTERS = {
    "day": pl.col("day") == 2,
    "both": (pl.col("day") == 2) & (pl.col("query_id") == "b"),
    "value": (pl.col("rr") > 0)
    & (pl.col("day") == 2)
    & pl.col("query_id").is_not_null(),
    "among": pl.col("day").is_in([2]),
}


@pytest.mark.parametrize("layout", ["auto", "contiguous", "any"])
@pytest.mark.parametrize("condition", FILTERS.values(), ids=FILTERS)
def test_only_days_that_pass_are_read(condition, layout):
    log = Watched(ROWS)
    found = pr.per_query(log.lazy, "rr", query=QUERY, layout=layout).filter(condition)
    assert found.collect().equals(
        pr.per_query(ROWS, "rr", query=QUERY).filter(condition)
    )
    assert log.days == {2}


@pytest.mark.parametrize("layout", ["auto", "contiguous"])
def test_judgments_are_filtered_too(layout):
    run, qrels = Watched(RUN), Watched(QRELS)
    whole = pr.per_query(RUN, "rr", qrels=QRELS, query=QUERY)
    options = {"query": QUERY, "layout": layout}
    found = pr.per_query(run.lazy, "rr", qrels=qrels.lazy, **options)
    assert found.filter(day=2).collect().equals(whole.filter(day=2))
    assert run.days == qrels.days == {2}
    assert found.collect().equals(whole)


@pytest.mark.parametrize("layout", ["auto", "contiguous", "any"])
def test_hive_partitions_are_pruned(tmp_path, layout):
    """A file of another day is not even opened: it is no Parquet file."""
    for day, part in ROWS.partition_by("day", as_dict=True).items():
        folder = tmp_path / f"day={day[0]}"
        folder.mkdir()
        part.drop("day").write_parquet(folder / "part.parquet")
    log = pl.scan_parquet(tmp_path / "**" / "*.parquet", hive_partitioning=True)
    values = pr.per_query(log, "rr", query=QUERY, layout=layout)
    found = values.filter(pl.col("day") == 2)
    expected = pr.per_query(ROWS, "rr", query=QUERY).filter(day=2)
    (tmp_path / "day=3" / "part.parquet").write_bytes(b"no file")
    assert found.collect().equals(expected)


@pytest.mark.parametrize(
    "condition",
    [
        pl.col("rr") > 0,
        pl.col("day") + pl.col("rr") > 2,
        (pl.col("day") == 2) | (pl.col("rr") == 1),
    ],
    ids=str,
)
def test_other_conditions_are_of_the_result(condition):
    log = Watched(ROWS)
    found = pr.per_query(log.lazy, "rr", query=QUERY).filter(condition).collect()
    assert found.equals(pr.per_query(ROWS, "rr", query=QUERY).filter(condition))
    assert log.days == {1, 2, 3}


def test_a_number_of_rows_comes_first():
    found = pr.per_query(ROWS.lazy(), "rr", query=QUERY).head(2).filter(day=2)
    whole = pr.per_query(ROWS, "rr", query=QUERY)
    assert found.collect().equals(whole.head(2).filter(day=2))


def test_a_part_without_a_common_query_is_no_error():
    """Of the whole, queries are in both; of the part, the run has none."""
    run = RUN.filter(pl.col("day") != 3)
    found = pr.per_query(run.lazy(), "rr", qrels=QRELS.lazy(), query=QUERY)
    part = found.filter(pl.col("day") == 3).collect()
    assert part["rr"].to_list() == [0.0, 0.0]


def test_rules_still_hold_for_what_is_read():
    twice = pl.concat([ROWS, ROWS.filter(day=2)])
    found = pr.per_query(twice.lazy(), "rr", query=QUERY)
    with pytest.raises(pr.DataError, match="duplicate documents"):
        found.filter(pl.col("day") == 2).collect()


def test_explain_names_the_stages_of_contiguous_rows():
    layout = "contiguous"
    plan = pr.per_query(ROWS.lazy(), "rr", query=QUERY, layout=layout)
    shown = plan.explain()
    assert f"layout={layout}" in shown
    assert "rank by score -> select rows that matter -> sum by query" in shown


def test_explain_names_the_stages():
    plan = pr.evaluate(
        RUN.lazy(), "rr", qrels=QRELS.lazy(), query=QUERY, queries=QRELS.select(QUERY)
    )
    shown = plan.explain()
    stages = (
        "rank by score -> select rows that matter -> join judgments -> sum by query"
    )
    assert stages in shown
    assert "keep the queries asked for -> check -> means" in shown
    assert "join judgments" not in pr.per_query(ROWS.lazy(), "rr").explain()
