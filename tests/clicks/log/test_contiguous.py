"""Runs of rows are summed as a plain loop sums them, wherever batches end."""

from __future__ import annotations

import random
from itertools import groupby

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from polars_rank import DataError, clicks
from polars_rank.clicks.log.contiguous import run_sums
from polars_rank.core.source import lazy_source

WORDS = ["clicks", "ctr@3", "rr", "mean_rr", "p_skip", "satisfied_rr"]
CUTS = [1, 2, 3, 7, 1000]  # rows of a batch


def in_batches_of(frame, rows):
    return lazy_source(
        lambda _: (frame[i : i + rows] for i in range(0, len(frame), rows)),
        frame.schema,
        name="batches",
        rereadable=True,
    )


def random_rows(seed, key):
    """Rows in runs of one to four; the second constant is none, now and then."""
    rng, rows = random.Random(seed), []
    for number in range(25):
        same = rng.choice(["x", "y", None])
        for _ in range(rng.randint(1, 4)):
            other = rng.choice([0, 0, 0, 1, None])
            rows.append((key(number), rng.getrandbits(40), same, other))
    return rows


def plain_runs(rows):
    found = []
    for key, run in groupby(rows, key=lambda row: row[0]):
        run = list(run)
        varies = any(row[2:] != run[0][2:] for row in run)
        found.append((key, *run[0][2:], sum(row[1] for row in run), len(run), varies))
    return found


@pytest.mark.covering(1)
@pytest.mark.parametrize("cut", CUTS)
@pytest.mark.parametrize(
    ("key", "dtype"),
    [
        (lambda i: 7 * i % 26, pl.UInt16),
        (lambda i: f"id {i}", pl.String),
        (lambda i: {"day": i // 5, "id": None if i == 3 else i}, None),
        (lambda i: i or None, pl.Int64),
    ],
    ids=["integer", "text", "struct", "null"],
)
def test_sums_of_runs(key, dtype, cut):
    rows = random_rows(1, key)
    schema = {"key": dtype, "bits": pl.UInt64, "same": pl.String, "other": pl.Int8}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    totals = {"total": pl.col("bits")}
    lazy = in_batches_of(frame, cut)
    runs = run_sums(lazy, "key", totals, ["same", "other"])
    assert runs.collect().rows() == plain_runs(rows)
    assert runs.select("total").collect().width == 1


@pytest.mark.parametrize("cut", CUTS)
def test_a_key_that_comes_back(cut):
    frame = pl.DataFrame({"key": [1, 1, 2, 3, 3], "bits": [1] * 5})
    totals = {"total": pl.col("bits").cast(pl.UInt64)}
    lazy = in_batches_of(frame, cut)
    sums = run_sums(lazy, "key", totals, [])
    assert sums.collect()["total"].to_list() == [2, 1, 2]
    again = in_batches_of(pl.concat([frame, frame.head(1)]), cut)
    with pytest.raises(DataError, match="contiguous"):
        run_sums(again, "key", totals, []).collect()


def random_log(seed, impressions=30):
    rng, rows = random.Random(seed), []
    for i in range(impressions):
        for position in rng.sample(range(1, 65), rng.randint(1, 8)):
            clicked = rng.random() < 0.3
            dwell = rng.choice([None, 2.0, 31.0]) if clicked else None
            rows.append((i, i // 7, position, clicked, dwell, f"c{i % 4}", f"u{i % 9}"))
    names = ["impression_id", "query_id", "position", "clicked", "dwell", "by", "user"]
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.mark.covering(2)
@pytest.mark.parametrize("cut", [4, 1000])
@pytest.mark.parametrize("layout", ["contiguous", "any", "auto"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_behavior_of_batches(layout, cut, shuffled):
    log = random_log(2)
    given = {"by": "by", "cluster": "user", "dwell": "dwell"}
    whole = clicks.behavior(log, WORDS, **given)  # small: grouped in memory
    several = {**given, "impression": ["impression_id", "user"]}
    if shuffled:
        log = log.sample(fraction=1, shuffle=True, seed=3)
        if layout == "contiguous":
            with pytest.raises(DataError, match="contiguous"):
                clicks.behavior(
                    in_batches_of(log, cut), WORDS, **given, layout=layout
                ).collect()
            return
    lazy = in_batches_of(log, cut)
    for columns in (given, several):
        found = clicks.behavior(lazy, WORDS, **columns, layout=layout).collect()
        assert_frame_equal(found, whole, check_exact=True)


@pytest.mark.covering(2)
@pytest.mark.parametrize("cut", [4, 1000])
@pytest.mark.parametrize("layout", ["contiguous", "any", "auto"])
@pytest.mark.parametrize("column", ["by", "query_id"])
@pytest.mark.parametrize("shuffled", [False, True])
def test_two_values_in_an_impression(column, layout, cut, shuffled):
    log = random_log(4)
    row = log.with_row_index().filter(impression_id=9)["index"].max()
    log = log.with_columns(
        pl.when(pl.int_range(pl.len()) == row)
        .then(pl.col(column).first())
        .otherwise(column)
        .alias(column)
    )
    if shuffled and layout != "contiguous":
        log = log.sample(fraction=1, shuffle=True, seed=5)
    given = {"by": "by", "dwell": "dwell", "layout": layout}
    lazy = clicks.behavior(in_batches_of(log, cut), WORDS, **given)
    with pytest.raises(DataError, match=r"varies within an impression.*\b9\b"):
        lazy.collect()
