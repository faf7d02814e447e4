"""Polars passes on fewer rows at a time while a memory limit holds, and only then."""

from __future__ import annotations

import os

import polars as pl
import pytest

from polars_rank._engine.spill.budget import Budget, Size
from polars_rank._engine.spill.morsels import SETTING, morsels_in_flight, morsels_of

MB = 10**6


@pytest.fixture(autouse=True)
def setting_restored():
    before = os.environ.get(SETTING)
    yield
    pl.Config.set_streaming_chunk_size(None if before is None else int(before))


@pytest.mark.parametrize("limit", [400, 1000, 16_000])
@pytest.mark.parametrize("width", [8, 25, 91, 437, 2000])
def test_rows_between_reading_and_writing_take_a_sixth_of_what_is_free(limit, width):
    budget, size = Budget.of(limit * MB, 4), Size(10**9, 10**9 * width, 0)
    rows = budget.rows_per_morsel(size)
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
