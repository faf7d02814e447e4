"""Frames that can be read only once: the right number, or an error; never another."""

from __future__ import annotations

import polars as pl
import pytest
from slow import slow

import polars_rank as pr
from polars_rank._engine.checks.unique import UniquenessCheck
from polars_rank.core.source import is_rereadable, require_rereadable
from polars_rank.io import scan_trec_run

N = 60_000
SHUFFLED = pl.DataFrame(
    {
        "query_id": [f"query {i % 500}" for i in range(N)],
        "doc_id": [f"d{i}" for i in range(N)],
        "score": [float(i * 7919 % 60_013) for i in range(N)],
        "label": [int(i % 3 == 0) for i in range(N)],
    }
)
CONTIGUOUS = SHUFFLED.sort("query_id", maintain_order=True)
RELEVANT = SHUFFLED["label"].sum()
QRELS = ["query_id", "doc_id", "label"]


def stream(frame: pl.DataFrame) -> pl.LazyFrame:
    """Spent after one pass."""
    return pl.scan_arrow_c_stream(frame.to_arrow().to_reader(max_chunksize=500))


def total(frame: pl.LazyFrame, **options: object) -> tuple[int, float]:
    found = pr.evaluate(frame, "num_rel", **options).collect()
    return found["queries"].item(), found["num_rel"].item()


@pytest.mark.covering(1)
@pytest.mark.parametrize("layout", ["auto", "any", "contiguous"])
@pytest.mark.parametrize("memory_limit", [None, "1GB"])
def test_contiguous(layout, memory_limit):
    options = {"layout": layout, "memory_limit": memory_limit}
    assert total(stream(CONTIGUOUS), **options) == (500, RELEVANT)


@pytest.mark.parametrize(
    "options",
    [
        {"layout": "any"},
        {"memory_limit": "1GB"},
        {"layout": "any", "memory_limit": "1GB"},
    ],
    ids=str,
)
@pytest.mark.parametrize("query", ["query_id", ["query_id", "part"]], ids=str)
@pytest.mark.covering(1)
def test_shuffled(options, query):
    rows = SHUFFLED.with_columns(part=pl.lit(1))
    assert total(stream(rows), query=query, **options) == (500, RELEVANT)
    numbers = rows.with_columns(pl.col("query_id").rank("dense").cast(pl.Int64))
    assert total(stream(numbers), query=query, **options) == (500, RELEVANT)
    beyond = numbers.with_columns(pl.col("query_id") + 2**40)  # no way to 32 bits
    assert total(stream(beyond), query=query, **options) == (500, RELEVANT)


def test_shuffled_rows_are_not_read_again():
    with pytest.raises(
        pr.DataError, match="can be read only once; write them to a file"
    ):
        total(stream(SHUFFLED), layout="auto")


@pytest.mark.parametrize(
    ("layout", "spent", "memory_limit"),
    [
        turn if (i + j + k) % 2 else slow(*turn)
        for i, layout in enumerate(["auto", "any", "contiguous"])
        for j, spent in enumerate(["both", "run", "judgments"])
        for k, limit in enumerate([None, "1GB"])
        for turn in [(layout, spent, limit)]
    ],
)
def test_run_and_judgments(layout, spent, memory_limit):
    run, qrels = CONTIGUOUS.drop("label"), SHUFFLED.select(QRELS)
    options = {"layout": layout, "memory_limit": memory_limit}
    ways = {
        "both": (stream(run), stream(qrels)),
        "run": (stream(run), qrels.lazy()),
        "judgments": (run.lazy(), stream(qrels)),
    }
    left, right = ways[spent]
    assert total(left, qrels=right, **options) == (500, RELEVANT)


def test_shuffled_run_and_spent_judgments():
    run, qrels = SHUFFLED.drop("label"), SHUFFLED.select(QRELS)
    assert total(run.lazy(), qrels=stream(qrels), layout="any") == (500, RELEVANT)
    assert total(run.lazy(), qrels=stream(qrels), memory_limit="1GB")[1] == RELEVANT
    with pytest.raises(pr.DataError, match="can be read only once"):
        total(run.lazy(), qrels=stream(qrels), layout="auto")


def test_judgments_that_serve_all_systems():
    run = CONTIGUOUS.drop("label").with_columns(system=pl.lit("a"))
    options = {"query": ["system", "query_id"], "qrels": SHUFFLED.select(QRELS)}
    assert total(run.lazy(), **options) == (500, RELEVANT)
    for layout in ("any", "contiguous"):
        assert total(stream(run), layout=layout, **options) == (500, RELEVANT)
    with pytest.raises(pr.DataError, match="can be read only once"):
        total(stream(run), memory_limit="1GB", **options)


def test_keys_that_are_counted_again():
    """A key inside the range of those before it: its rows are counted once more."""
    for rows, spent in ((CONTIGUOUS.lazy(), False), (stream(CONTIGUOUS), True)):
        keys = UniquenessCheck(rows.rename({"query_id": "query"}))
        keys.add(pl.Series(["a", "c"]))
        keys.add(pl.Series(["b"]))
        if not spent:
            assert not keys.unique()
            continue
        with pytest.raises(pr.DataError, match="can be read only once"):
            keys.unique()


@pytest.mark.parametrize("taken", [0, 1, N])
def test_a_stream_does_not_begin_anew(taken):
    """Not begun, read in part, or spent."""
    reader = CONTIGUOUS.to_arrow().to_reader(max_chunksize=500)
    for _ in range(-(-taken // 500)):
        reader.read_next_batch()
    with pytest.raises(pr.DataError, match="can be read only once"):
        require_rereadable(pl.scan_arrow_c_stream(reader))


@pytest.mark.parametrize("function", [pr.match_report, pr.preferences])
def test_reports_read_once(function):
    run, qrels = CONTIGUOUS.drop("label").head(2000), CONTIGUOUS.select(QRELS).head(900)
    wanted = function(run, qrels)
    assert function(stream(run), stream(qrels)).collect().equals(wanted)


def test_rereadable(tmp_path):
    SHUFFLED.head(3).write_parquet(tmp_path / "log.parquet")
    SHUFFLED.head(3).write_ipc(tmp_path / "log.arrow")
    (tmp_path / "run").write_text("q Q0 d 1 1 t\n")
    for frame in (
        SHUFFLED.lazy().filter(pl.col("label") > 0),
        pl.scan_parquet(tmp_path / "log.parquet"),
        pl.scan_ipc(tmp_path / "log.arrow"),
        scan_trec_run(tmp_path / "run"),
    ):
        assert is_rereadable(frame)
    assert not is_rereadable(stream(SHUFFLED).with_columns(x=1))
    assert not is_rereadable(pl.concat([SHUFFLED.lazy(), stream(SHUFFLED)]))
