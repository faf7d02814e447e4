"""Sorting in bounded memory: the rows of Python's own sort, whatever they take."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from slow import every_other, slow

from polars_rank._engine.spill.order import in_order

ROWS, BATCH = 3_000, 250
MOST = 4_000  # bytes at a time, of about 70,000
LARGEST = MOST // 8  # rows: each has a number of 8 bytes


def drawn(value: Callable[[random.Random], Any], nulls: float = 0.1) -> list[Any]:
    """Values, some of them null."""
    draw = random.Random(3)
    return [None if draw.random() < nulls else value(draw) for _ in range(ROWS)]


KEYS = {
    "Int64": (pl.Int64, drawn(lambda r: r.randrange(-(2**63), 2**63))),
    "UInt64": (pl.UInt64, drawn(lambda r: r.randrange(2**64))),
    "Int8": (pl.Int8, drawn(lambda r: r.randrange(-5, 5))),
    "Float64": (pl.Float64, drawn(lambda r: r.gauss(0, 1e300))),
    "Boolean": (pl.Boolean, drawn(lambda r: r.random() < 0.5)),
    "String": (pl.String, drawn(lambda r: r.choice(("", "é", "\0", "a" * 30)) * 2)),
    "ids": (pl.String, drawn(lambda r: f"q{r.randrange(10**6)}")),
    "Binary": (pl.Binary, drawn(lambda r: r.randbytes(r.randrange(4)))),
    "Decimal": (pl.Decimal(30, 2), drawn(lambda r: Decimal(r.randrange(10**20)) / 4)),
    "Date": (pl.Date, drawn(lambda r: date(2026, 1, 1) + timedelta(r.randrange(900)))),
    "Datetime": (pl.Datetime("ns", "UTC"), drawn(lambda r: r.randrange(1500))),
    "Enum": (pl.Enum(["b", "c", "a"]), drawn(lambda r: r.choice("abc"))),
    "Categorical": (pl.Categorical(), drawn(lambda r: f"c{r.randrange(50)}")),
    "one value": (pl.Int64, [7] * ROWS),
    "null": (pl.Int64, [None] * ROWS),
}


def order(name: str) -> Callable[[Any], Any]:
    """The place of a value among those of its kind; null comes first."""
    place = "bca".index if name == "Enum" else lambda value: value
    return lambda value: (value is not None, None if value is None else place(value))


def pieces(frame: pl.DataFrame, by: list[str], folder: Path) -> list[pl.DataFrame]:
    """The rows as they come out; what was on disk is gone."""
    found = list(in_order(frame.iter_slices(BATCH), by, folder, MOST))
    assert not list(folder.iterdir())
    return found


def column(name: str) -> pl.Series:
    dtype, values = KEYS[name]
    if name == "Datetime":  # Python has no nanoseconds
        return pl.Series(values, dtype=pl.Int64).cast(dtype)
    return pl.Series(values, dtype=dtype)


def plain(keys: pl.Series) -> list[Any]:
    """The values as Python has them."""
    return (keys.to_physical() if keys.dtype == pl.Datetime else keys).to_list()


@pytest.mark.parametrize("name", every_other(KEYS))
def test_one_key(name, tmp_path):
    frame = pl.DataFrame({"key": column(name), "row": range(ROWS)})
    whole = pl.concat(pieces(frame, ["key"], tmp_path))
    assert whole.schema == frame.schema
    keys, found = KEYS[name][1], plain(whole["key"])
    assert found == sorted(keys, key=order(name))
    assert sorted(whole["row"]) == list(range(ROWS)), "every row once"
    assert found == [keys[row] for row in whole["row"]], "rows stay together"


@pytest.mark.slow
@pytest.mark.parametrize(
    "first", ["String", *map(slow, ("Int8", "Boolean", "one value", "null"))]
)
def test_several_keys_in_pieces_of_limited_size(first, tmp_path):
    names = [first, "Float64", "ids"]
    keys = {name: column(name) for name in names}
    frame = pl.DataFrame(keys).with_row_index("row")
    found = pieces(frame, names, tmp_path)
    expected = sorted(
        frame.select(*names, "row").rows(),
        key=lambda row: [order(n)(value) for n, value in zip(names, row, strict=False)],
    )
    assert pl.concat(found).select(names).rows() == [row[:3] for row in expected]
    assert sorted(pl.concat(found)["row"]) == list(range(ROWS))
    assert len(found) > 1
    assert max(map(len, found)) <= LARGEST


def test_few_rows_need_no_disk(tmp_path):
    frame = pl.DataFrame({"key": [3, None, 1]})
    missing = tmp_path / "no such folder"
    (found,) = in_order([frame.head(2), frame.tail(1)], ["key"], missing, MOST)
    assert found["key"].to_list() == [None, 1, 3]
    assert list(in_order([], ["key"], missing, MOST)) == []


def test_what_is_not_read_to_the_end_leaves_nothing(tmp_path):
    frame = pl.DataFrame({"key": KEYS["Int64"][1]})
    found = in_order(frame.iter_slices(BATCH), ["key"], tmp_path, MOST)
    next(found)
    assert list(tmp_path.iterdir())
    found.close()
    assert not list(tmp_path.iterdir())
