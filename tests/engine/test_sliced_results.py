"""Rows cut and filtered from a result are those that Polars takes from its rows."""

from __future__ import annotations

from itertools import product

import polars as pl
import pytest
from slow import slow

import polars_rank as pr
from polars_rank.core.source import lazy_source
from polars_rank.io import scan_trec_run

STEPS = {
    "head": lambda frame: frame.head(6),
    "slice": lambda frame: frame.slice(1, 5),
    "tail": lambda frame: frame.tail(7),
    "positive": lambda frame: frame.filter(pl.col("rr") > 0),
    "even": lambda frame: frame.filter(pl.col("query_id") % 2 == 0),
    "columns": lambda frame: frame.select("rr", "query_id"),
}
LOG = pl.DataFrame(
    {
        "query_id": [q for q in range(10) for _ in range(2)],
        "doc_id": ["a", "b"] * 10,
        "score": [2.0, 1.0] * 10,
        "label": [1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, 1, 0, 1, 1, 0],
    }
)


def sources(tmp_path) -> dict[str, pl.LazyFrame]:
    run = tmp_path / "run"
    lines = LOG.select("query_id", "doc_id", "score").rows()
    run.write_text("".join(f"{q} Q0 {d} 1 {s} t\n" for q, d, s in lines))
    qrels = LOG.select("query_id", "doc_id", "label").lazy()
    shuffled = LOG.sample(fraction=1, shuffle=True, seed=1).lazy()
    text = qrels.with_columns(pl.col("query_id").cast(pl.String))
    trec = pr.per_query(scan_trec_run(run), "rr", qrels=text)
    return {
        "auto": pr.per_query(LOG.lazy(), "rr"),
        "auto, shuffled": pr.per_query(shuffled, "rr"),
        "contiguous": pr.per_query(LOG.lazy(), "rr", layout="contiguous"),
        "any": pr.per_query(shuffled, "rr", layout="any"),
        "judgments": pr.per_query(LOG.lazy().drop("label"), "rr", qrels=qrels),
        "bounded": pr.per_query(shuffled, "rr", layout="any", memory_limit="1GB"),
        "TREC": trec.with_columns(pl.col("query_id").cast(pl.Int64)),
    }


@pytest.mark.parametrize(
    ("repeats", "every"), [(2, 7), slow(1, 1), slow(2, 1), slow(3, 24)]
)
def test_rows_of_a_result(tmp_path, repeats, every):
    """One of ``every`` combinations in each layout, another one in the next."""
    wrong = []
    whole = pr.per_query(LOG, "rr")
    assert whole.filter(pl.col("rr") > 0)["query_id"].to_list() == [0, 3, 7, 8, 9]

    def rows(frame: pl.LazyFrame, names: tuple[str, ...]) -> pl.DataFrame:
        for name in names:
            frame = STEPS[name](frame)
        return frame.collect()

    wanted = {
        names: rows(whole.lazy(), names) for names in product(STEPS, repeat=repeats)
    }
    for i, (layout, result) in enumerate(sources(tmp_path).items()):
        for j, (names, right) in enumerate(wanted.items()):
            if (i + j) % every:
                continue
            if not rows(result, names).equals(right):
                wrong.append((layout, *names))
    assert not wrong


@pytest.mark.parametrize("repeats", [1, 2])
def test_rows_of_a_trec_file(tmp_path, repeats):
    path = tmp_path / "run"
    path.write_text("".join(f"q{i} Q0 d 1 {i % 4} t\n" for i in range(10)))
    steps = {
        "head": lambda frame: frame.head(5),
        "slice": lambda frame: frame.slice(1, 4),
        "filter": lambda frame: frame.filter(pl.col("score") > 1),
        "columns": lambda frame: frame.select("score", "query_id"),
    }
    rows = scan_trec_run(path).collect()
    assert rows["score"].to_list() == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    for names in product(steps, repeat=repeats):
        found, wanted = scan_trec_run(path), rows.lazy()
        for name in names:
            found, wanted = steps[name](found), steps[name](wanted)
        assert found.collect().equals(wanted.collect()), names


@pytest.mark.parametrize("drain", [False, True])
def test_a_source_that_proves_something_reads_on(drain, collect):
    """Rows that nobody takes may still break a rule."""
    reads = []

    def read(columns):
        for part in range(3):
            reads.append(part)
            yield LOG.select(columns)

    source = lazy_source(read, LOG.schema, name="test", drain=drain)
    assert collect(source.head(1)).rows() == LOG.head(1).rows()
    assert reads == ([0, 1, 2] if drain else [0])
