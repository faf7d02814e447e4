"""Polars passes on fewer rows at a time while a memory limit holds, and only then."""

from __future__ import annotations

import os

import polars as pl
import pytest

from polars_rank._engine.spill.budget import Budget, RowGroups, Size, sample_of
from polars_rank._engine.spill.morsels import (
    NAMES,
    Ahead,
    morsels_in_flight,
    reading,
)

MB = 10**6
SETTING, *SCANS = NAMES  # of rows; of row groups, and of the two formats of text
GROUPS, CHUNKS = SCANS[:3], SCANS[3:]


def morsels_of(rows: int):
    return reading(Ahead(rows=rows))


@pytest.fixture(autouse=True)
def setting_restored(monkeypatch):
    before = os.environ.get(SETTING)
    for name in SCANS:
        monkeypatch.delenv(name, raising=False)
    yield
    pl.Config.set_streaming_chunk_size(None if before is None else int(before))


@pytest.mark.parametrize("limit", [400, 1000, 16_000])
@pytest.mark.parametrize("width", [8, 25, 91, 437, 2000])
def test_rows_between_reading_and_writing_take_a_sixth_of_what_is_free(limit, width):
    budget, size = Budget.of(limit * MB, 4), Size(10**9, 10**9 * width, 0)
    rows = budget.ahead(size, RowGroups()).rows
    assert 1000 <= rows <= 100_000
    if rows > 1000:
        assert rows * width * morsels_in_flight() <= limit * MB / 6


@pytest.mark.parametrize("before", [None, 50_000, 200])
def test_the_setting_of_the_user_comes_back_after_the_last(before):
    pl.Config.set_streaming_chunk_size(before)
    as_it_was = os.environ.get(SETTING)
    first, second = morsels_of(5000), morsels_of(300)
    first.__enter__()
    assert int(os.environ[SETTING]) == min(5000, before or 5000)
    second.__enter__()
    assert int(os.environ[SETTING]) == min(300, before or 300)
    first.__exit__(None, None, None)
    assert int(os.environ[SETTING]) == min(300, before or 300)
    second.__exit__(None, None, None)
    assert os.environ.get(SETTING) == as_it_was


def test_rows_of_usual_width_leave_the_setting_alone():
    pl.Config.set_streaming_chunk_size(None)
    with morsels_of(100_000):
        assert SETTING not in os.environ


@pytest.mark.parametrize("limit", [400, 1000, 16_000])
@pytest.mark.parametrize("width", [8, 91, 2000])
def test_row_groups_read_at_once_take_a_third_of_what_is_free(limit, width):
    """At least one is read, at most as many as by default."""
    groups = RowGroups(count=40, rows=122_880)
    budget, size = Budget.of(limit * MB, 4), Size(10**9, 10**9 * width, 0)
    at_once = budget.ahead(size, groups).groups
    assert 1 <= at_once <= 16
    if at_once > 1:
        assert at_once * groups.rows * width <= limit * MB / 3


def test_fewer_row_groups_are_read_while_it_is_asked_for(monkeypatch):
    """The least number that anyone asked for, or the user; then what was before."""
    monkeypatch.setenv(GROUPS[1], "3")
    with reading(Ahead(groups=8)):
        assert [os.environ.get(name) for name in GROUPS] == ["8", "3", "8"]
        with reading(Ahead(groups=2)):
            assert [os.environ.get(name) for name in GROUPS] == ["2", "2", "2"]
        with reading(Ahead()):
            assert [os.environ.get(name) for name in GROUPS] == ["8", "3", "8"]
    assert [os.environ.get(name) for name in GROUPS] == [None, "3", None]


def test_text_is_read_in_small_chunks_while_it_is_asked_for(monkeypatch):
    monkeypatch.setenv(CHUNKS[0], "5000")
    with reading(Ahead(chunk=9000)):
        assert [os.environ.get(name) for name in CHUNKS] == ["5000", "9000"]
    assert [os.environ.get(name) for name in CHUNKS] == ["5000", None]


@pytest.mark.parametrize("limit", [400, 1000, 16_000])
def test_chunks_of_text_take_a_small_part_of_what_is_free(limit):
    chunk = Budget.of(limit * MB, 4).ahead(Size(1, 8, 0), RowGroups()).chunk
    assert 1 << 18 <= chunk <= max(limit * MB / 900, 1 << 18)


@pytest.mark.parametrize("format", ["csv", "ndjson"])
def test_lines_longer_than_a_chunk_are_read_whole(tmp_path, format):
    """Of text in quotes, with line ends in it, too."""
    path = tmp_path / "long"
    text = [f"{i}\n" * (i % 7) + "x" * (i % 11) * 400 for i in range(2000)]
    frame = pl.DataFrame({"i": range(2000), "text": text})
    getattr(frame, f"write_{format}")(path)
    with reading(Ahead(chunk=1000)):
        read = getattr(pl, f"scan_{format}")(path).collect(engine="streaming")
    # An empty field of CSV is null.
    assert read.with_columns(pl.col("text").fill_null("")).equals(frame)


def test_little_is_read_ahead_of_the_first_rows_already(tmp_path):
    path, seen = tmp_path / "log.csv", []
    pl.DataFrame({"query_id": ["a", "b"], "score": [1.0, 2.0]}).write_csv(path)

    def look(column: pl.Series) -> pl.Series:
        seen.append([int(os.environ[name]) for name in (GROUPS[1], CHUNKS[0])])
        return column

    log = pl.scan_csv(path).with_columns(
        pl.col("query_id").map_batches(look, pl.String, is_elementwise=True)
    )
    assert sample_of(log).rows == 2
    assert seen
    assert all(ahead == 1 and chunk <= MB for ahead, chunk in seen)
    assert not {*GROUPS, *CHUNKS} & os.environ.keys()
