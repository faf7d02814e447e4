"""What Polars does not tell of the rows that it reads, or does not read."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_rank as pr
from polars_rank.core.source import batches_of, lazy_source

LOG = pl.DataFrame({"query_id": [1, 1, 2], "score": [3, 2, 1], "label": [0, 1, 1]})


@pytest.mark.parametrize("read", ["batches", "whole"])
def test_a_panic_is_an_error(read):
    """Not the end of the rows."""

    def rows(columns):
        yield pl.DataFrame({"a": [1]})
        raise pl.exceptions.PanicException("broken")

    frame = lazy_source(rows, pl.Schema({"a": pl.Int64}), name="rows")
    with pytest.raises(RuntimeError, match=r"Polars panicked, .* broken"):
        frame.collect() if read == "whole" else list(frame.collect_batches())


def panic(column, *_, **__):
    raise pl.exceptions.PanicException("broken")


def broken(frame):
    """Return the rows, whose score makes a thread of Polars panic."""
    score = pl.col("score").map_batches(panic, pl.Int64, is_elementwise=True)
    return frame.lazy().with_columns(score)


@pytest.mark.parametrize(
    "options",
    [
        {"layout": "any"},
        {"layout": "contiguous"},
        {"layout": "auto", "memory_limit": "500MB"},
        {"layout": "any", "memory_limit": "500MB"},
    ],
    ids=str,
)
@pytest.mark.parametrize("call", [pr.evaluate, pr.per_query])
def test_a_panic_is_not_the_end_of_the_rows(call, options, capfd):
    found = call(broken(LOG), "rr", **options)
    with pytest.raises((RuntimeError, pl.exceptions.PanicException)):
        found.collect()
    with pytest.raises(RuntimeError, match="stopped before the end of the rows"):
        list(batches_of(broken(LOG)))
    assert "broken" in capfd.readouterr().err


@pytest.mark.parametrize("rows", [0, 1, 2, 7])
def test_batches_are_the_rows(rows):
    frame = pl.DataFrame({"a": range(rows), "b": [None] * rows})
    for chunk in (1, 3, 100):
        batches = [*batches_of(frame.lazy(), chunk_size=chunk)]
        assert_frame_equal(pl.concat(batches), frame)
        assert len(batches) == 1 or all(map(len, batches))


@pytest.mark.parametrize("kept", [True, False])
def test_a_filter_by_a_constant_of_many_rows(kept):
    """From 16,384 rows on, threads of Polars share a frame in memory."""
    rows = pl.DataFrame({"a": range(20_000)})
    frame = lazy_source(lambda columns: iter([rows]), rows.schema, name="rows")
    constant = pl.lit(1.0).is_finite() == pl.lit(kept)
    found = frame.filter(constant).collect(engine="streaming")
    assert_frame_equal(found, rows if kept else rows.clear())
