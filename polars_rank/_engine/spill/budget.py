"""The memory limit, the size of rows in memory, and the number of buckets."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from math import ceil
from pathlib import Path
from typing import Any

import polars as pl

from polars_rank._engine.spill.morsels import (
    CHUNK,
    GROUPS_AT_ONCE,
    ROWS_PER_MORSEL,
    Ahead,
    morsels_in_flight,
    reading,
)
from polars_rank.core.source import is_rereadable

MB = 10**6
UNITS = {"B": 1} | {
    f"{letter}{infix}B": step**power
    for infix, step in (("", 1000), ("I", 1024))
    for power, letter in enumerate("KMGT", start=1)
}
LEAST = 400 * MB
LARGEST = 2.0**62  # bytes, or whatever the unit is
FEWEST, MOST = 32, 192
# What reading rows and putting them into buckets takes besides: measured, rounded up.
SPLITTING = 80 * MB
# A query is evaluated as a whole, which takes that much at all and for each row. Some
# 100 MB of the former are freed, but not returned yet.
EVALUATING, QUERY = 160 * MB, 250
FOOTERS = 100  # files that are looked at
SAMPLE = 10_000  # rows
LEAST_ROWS_PER_MORSEL, LEAST_ROWS_PER_GROUP, ROWS_PER_GROUP = 1000, 1024, 122_880
LEAST_CHUNK = 1 << 18  # bytes
# By default Polars takes 140 MB for the first rows of a CSV file of 113 MB.
SAMPLING = Ahead(groups=1, chunk=LEAST_CHUNK)


def parse_memory_limit(limit: int | str) -> int:
    """Parse ``"2GB"``, ``"500 MB"``, ``"1.5GiB"`` or a number of bytes.

    Raises
    ------
    ValueError
        If it is none of these, or less than Polars itself takes.
    """
    number = None
    if isinstance(limit, str) and len(limit) < 100:
        found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", limit, re.I)
        unit = UNITS.get(found[2].upper() or "B") if found else None
        size = float(found[1]) if found else 0.0
        number = int(size * unit) if unit and size < LARGEST else None
    elif isinstance(limit, int) and not isinstance(limit, bool):
        if abs(limit) >= LARGEST:
            msg = f"memory_limit must be a number of bytes below {LARGEST:.0f}"
            raise ValueError(msg)
        number = limit
    if number is None:
        msg = (
            'memory_limit must be a size such as "2GB", "500 MB" or "1.5GiB", or a '
            f"number of bytes, not {limit!r}"
        )
        raise ValueError(msg)
    threads, least = pl.thread_pool_size(), max(LEAST, 7 * overhead() // 5)
    if number < least:
        msg = f"memory_limit must be at least {ceil(least / MB)} MB, not {limit!r}"
        if least > LEAST:
            msg += (
                f": with {threads} threads Polars itself takes about "
                f"{overhead() // MB} MB; for less, set POLARS_MAX_THREADS to a smaller "
                "number before polars is imported"
            )
        raise ValueError(msg)
    return number


def overhead() -> int:
    """Bytes that a process with Polars takes before any row of a bucket is held."""
    return 130 * MB + pl.thread_pool_size() * 8 * MB


def least_for_query(rows: int, width: int) -> int:
    """Bytes that a process takes at most while it evaluates a query of so many rows."""
    return overhead() + EVALUATING + rows * (QUERY + width)


@dataclass(frozen=True)
class Size:
    """The size of rows: their number, bytes in memory, and bytes on disk at most."""

    rows: int
    memory: int
    disk: int

    @property
    def width(self) -> int:
        """Bytes of a row in memory."""
        return max(self.memory // max(self.rows, 1), 1)

    def __add__(self, other: Size) -> Size:
        """Both together."""
        return Size(
            self.rows + other.rows,
            self.memory + other.memory,
            self.disk + other.disk,
        )


@dataclass(frozen=True)
class Budget:
    """The memory that each step may take.

    Attributes
    ----------
    bucket
        Bytes of a bucket that can be evaluated within the limit.
    buffers
        Bytes that writing the buckets may hold back, all of them together.
    limit
        Memory limit of the process.
    factor
        Bytes that evaluating takes per byte of the rows.
    """

    bucket: int
    buffers: int
    limit: int = 0
    factor: float = 1

    @classmethod
    def of(cls, limit: int, factor: float) -> Budget:
        """Share the limit out; evaluating takes ``factor`` times the bytes of rows."""
        free = max(limit - overhead(), 0)
        bucket, buffers = max(int(free / factor), 1 << 12), max(free // 12, 1 << 20)
        return cls(bucket, buffers, limit, factor)

    def require_room(self, size: Size, groups: RowGroups) -> None:
        """Raise ``MemoryError`` if rows cannot be read within the limit.

        Besides what is held of a row group, a twelfth of what is free is for buffers.
        """
        group = groups.rows * size.width
        least = overhead() + 12 * (SPLITTING + group) // 11
        if LEAST <= self.limit < least:
            msg = (
                f"memory_limit is too small for rows of {size.width} bytes in row "
                f"groups of {groups.rows:,} rows, each read as a whole: give "
                f'memory_limit="{ceil(least / MB)}MB" or more, or write the Parquet '
                "files with smaller row groups (row_group_size=)"
            )
            raise MemoryError(msg)

    def holds_query(self, rows: int, width: int) -> bool:
        """Whether a query of so many rows can be evaluated within the limit."""
        return self.limit < LEAST or least_for_query(rows, width) <= self.limit

    def require_room_for_query(self, rows: int, width: int) -> None:
        """Raise ``MemoryError`` if it cannot."""
        if not self.holds_query(rows, width):
            msg = (
                f"memory_limit is too small for a query of {rows:,} rows, which are "
                f"held in memory together: give memory_limit="
                f'"{ceil(least_for_query(rows, width) / MB)}MB" or more'
            )
            raise MemoryError(msg)

    def ahead(self, size: Size, groups: RowGroups) -> Ahead:
        """What Polars may read ahead: a sixth of the limit, a third in row groups."""
        rows = 2 * self.buffers // (morsels_in_flight() * size.width)
        at_once = 4 * self.buffers // max(groups.rows * size.width, 1)
        return Ahead(
            min(max(rows, LEAST_ROWS_PER_MORSEL), ROWS_PER_MORSEL),
            min(max(at_once, 1), GROUPS_AT_ONCE),
            min(max(self.buffers // 80, LEAST_CHUNK), CHUNK),
        )

    def buckets(self, size: Size) -> int:
        """Buckets of less than half of what fits, as they are uneven.

        There are no more than can be written at once.
        """
        most = min(self.buffers // (LEAST_ROWS_PER_GROUP * size.width), MOST)
        return max(min(ceil(2.5 * size.memory / self.bucket), most), FEWEST)

    def rows_per_group(self, size: Size, buckets: int) -> int:
        """Rows that each bucket's writer may hold back."""
        rows = self.buffers // (buckets * size.width)
        return min(max(rows, LEAST_ROWS_PER_GROUP), ROWS_PER_GROUP)


@dataclass(frozen=True)
class RowGroups:
    """Row groups of Parquet files: most in a file, and the rows of the largest.

    A row group is read as a whole.
    """

    count: int = 0
    rows: int = 0

    @classmethod
    def of(cls, paths: Iterable[Path]) -> RowGroups:
        """Read the footers of some Parquet files; other formats have no row groups."""
        from pyarrow import (  # type: ignore[import-untyped]  # slow to import
            ArrowException,
        )
        from pyarrow.parquet import read_metadata  # type: ignore[import-untyped]

        count = rows = 0
        for path in islice(paths, FOOTERS):
            try:
                footer = read_metadata(path)
            except (ArrowException, OSError):
                continue
            count += footer.num_row_groups
            sizes = (footer.row_group(i).num_rows for i in range(footer.num_row_groups))
            rows = max(rows, *sizes, 0)
        return cls(count, rows)


def sample_of(frame: pl.LazyFrame) -> Size:
    """The size of the first rows, which tells how wide a row is."""
    schema = frame.collect_schema()
    if is_rereadable(frame) and not {pl.String, pl.Binary}.isdisjoint(schema.dtypes()):
        with reading(SAMPLING):
            return _size(frame.head(SAMPLE))
    return Size(1, sum(map(_width, schema.dtypes())), 0)


def size_of(frames: Sequence[pl.LazyFrame]) -> Size:
    """Count the rows; read the lengths of texts, if there are any, and nothing else."""
    return sum((_size(frame) for frame in frames), Size(0, 0, 0))


def _size(frame: pl.LazyFrame) -> Size:
    schema = frame.collect_schema()
    counts = [pl.len().cast(pl.UInt64).alias("rows")]
    texts = [n for n, dtype in schema.items() if dtype in (pl.String, pl.Binary)]
    for i, name in enumerate(texts):
        column = pl.col(name)
        length = (
            column.bin.size() if schema[name] == pl.Binary else column.str.len_bytes()
        ).cast(pl.UInt64)
        counts.append(length.sum().alias(f"all{i}"))
        counts.append(length.filter(length > INLINE).sum().alias(f"long{i}"))
    lists = {n: _element(t.inner) for n, t in schema.items() if isinstance(t, pl.List)}
    counts += [
        (pl.col(name).list.len().cast(pl.UInt64).sum() * width).alias(f"list{name}")
        for name, width in lists.items()
    ]
    (found,) = frame.select(counts).collect(engine="streaming").to_dicts()
    rows = found.pop("rows")
    fixed = rows * sum(_width(t) for name, t in schema.items() if name not in lists)
    fixed += sum(found.pop(f"list{name}") + rows * OFFSET for name in lists)
    memory = sum(n for name, n in found.items() if name.startswith("long"))
    disk = sum(n for name, n in found.items() if name.startswith("all"))
    views = rows * len(texts) * (VIEW - PREFIX)
    return Size(rows, memory + fixed, disk + fixed - views)


# Bytes of a list, and of an element's levels in a Parquet file that is being written.
OFFSET, LEVELS = 8, 8
INLINE, VIEW, PREFIX = 12, 16, 4  # text up to 12 bytes lives in its view of 16


def _element(inner: Any) -> int:
    """Bytes of an element of a list; a guess for what is nested in it."""
    fields = inner.fields if isinstance(inner, pl.Struct) else [pl.Field("", inner)]
    widths: list[int] = [LEVELS + _width(field.dtype) for field in fields]
    return sum(widths)


def _width(dtype: Any) -> int:
    """Bytes of one value; a guess for what is nested."""
    if dtype in (pl.String, pl.Binary):
        return VIEW
    if dtype.is_nested() or dtype == pl.Object:
        return 64
    if dtype.is_decimal() or dtype in (pl.Int128, pl.UInt128):
        return 16
    widths = {
        1: (pl.Boolean, pl.Int8, pl.UInt8, pl.Null),
        2: (pl.Int16, pl.UInt16),
        4: (pl.Int32, pl.UInt32, pl.Float32, pl.Date, pl.Categorical, pl.Enum),
    }
    return next((width for width, types in widths.items() if dtype in types), 8)
