"""Rows by the hash of their query in Parquet files: one bucket holds whole queries."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import polars as pl

from polars_rank._engine.spill.disk import full_disk_named

BUCKET = "bucket"


@dataclass(frozen=True)
class Bucket:
    """The files with the rows of some queries, for each part, in the order of rows."""

    files: tuple[tuple[Any, ...], ...]

    def frames(self, schemas: Sequence[pl.Schema]) -> list[pl.LazyFrame]:
        """Scan each part, with the types that it had."""
        return [
            _scan(files, schema)
            for files, schema in zip(self.files, schemas, strict=True)
        ]

    def remove(self) -> None:
        """Remove the files."""
        for files in self.files:
            for path in files:
                path.unlink(missing_ok=True)


def _scan(files: Sequence[Path], schema: pl.Schema) -> pl.LazyFrame:
    if not files:
        return pl.LazyFrame(schema=schema)
    return pl.scan_parquet(
        list(files), glob=False, hive_partitioning=False, cache=False
    )


class Task(NamedTuple):
    """A frame to put into buckets: the one of a side at an index."""

    side: int
    place: int
    frame: pl.LazyFrame

    @property
    def number(self) -> tuple[int, int]:
        """What tells the tasks of a split apart, and orders them."""
        return self.side, self.place


class Filled(NamedTuple):
    """The files that a task wrote, by bucket, with the version that hashed the rows.

    Paths, or whatever else tells where the rows of a bucket are.
    """

    files: Sequence[tuple[Any, ...]]
    task: tuple[int, int]
    polars: str = pl.__version__


Map: TypeAlias = Callable[[Callable[[Task], Filled], Iterable[Task]], Iterable[Filled]]


def split(
    sides: Sequence[Sequence[pl.LazyFrame]],
    write: Callable[[Task], Filled],
    *,
    map: Map = map,
) -> list[Bucket]:
    """Write all frames into buckets: whole queries, with their rows of all sides.

    A side is a log, a run or its judgments, split into frames in any way. Each frame is
    a task of ``map``, which may run in another process; ``write`` calls ``fill``.
    """
    tasks = [
        Task(side, place, frame)
        for side, frames in enumerate(sides)
        for place, frame in enumerate(frames)
    ]
    filled = sorted(map(write, tasks), key=lambda done: done.task)
    _require_one_version(filled)
    ends = [0, *accumulate(len(frames) for frames in sides)]
    return [
        Bucket(tuple(tuple(chain(*files[a:b])) for a, b in pairwise(ends)))
        for files in zip(*(done.files for done in filled), strict=True)
    ]


def _require_one_version(filled: Sequence[Filled]) -> None:
    """Hashes differ between versions of Polars."""
    if len(versions := {done.polars for done in filled}) > 1:
        msg = (
            f"workers have several versions of Polars, {', '.join(sorted(versions))}, "
            "which put a query into several buckets: install one version everywhere"
        )
        raise ValueError(msg)


# Until a file is closed, some 10 kB are held for each of its row groups.
GROUPS_PER_FILE = 16


def fill(
    part: pl.LazyFrame,
    keys: Sequence[str],
    folder: Path,
    *,
    buckets: int,
    level: int = 0,
    rows_per_group: int,
    durable: bool = False,
    passed: Callable[[int], None] | None = None,
) -> list[tuple[Path, ...]]:
    """Write rows into buckets, in one pass that keeps their order; return the files.

    ``level`` makes the hash independent of those of other levels; ``durable`` syncs the
    files to disk; ``passed`` is called with the number of rows that went through.
    """
    number = (_hash(keys, part.collect_schema(), level) % buckets).cast(pl.UInt16)
    if passed is not None:
        number = _heard(number, passed, pl.UInt16())
    with full_disk_named(folder.parent):
        part.with_columns(number.alias(BUCKET)).sink_parquet(
            pl.PartitionBy(
                folder,
                key=BUCKET,
                include_key=False,
                max_rows_per_file=GROUPS_PER_FILE * rows_per_group,
            ),
            mkdir=True,
            compression="uncompressed",
            statistics=False,
            row_group_size=rows_per_group,
            sync_on_close="all" if durable else None,
            engine="streaming",
        )
    return [_files(folder, b) for b in range(buckets)]


def counted(
    frame: pl.LazyFrame, key: str, passed: Callable[[int], None]
) -> pl.LazyFrame:
    """The same rows; ``passed`` is called with their number as they are read."""
    dtype = frame.collect_schema()[key]
    return frame.with_columns(_heard(pl.col(key), passed, dtype))


def _heard(
    column: pl.Expr, passed: Callable[[int], None], dtype: pl.DataType
) -> pl.Expr:
    return column.map_batches(
        _listener(passed), return_dtype=dtype, is_elementwise=True
    )


def _listener(passed: Callable[[int], None]) -> Callable[[pl.Series], pl.Series]:
    def listen(rows: pl.Series) -> pl.Series:
        passed(len(rows))
        return rows

    return listen


def _files(folder: Path, bucket: int) -> tuple[Path, ...]:
    return tuple(sorted((folder / f"{BUCKET}={bucket}").glob("*.parquet")))


def require_same_types(parts: Sequence[pl.LazyFrame], keys: Sequence[str]) -> None:
    """Equal ids of different types have different hashes."""
    for key in keys:
        types = [part.collect_schema()[key] for part in parts]
        if len({pl.String() if is_text(found) else found for found in types}) > 1:
            msg = f"{key!r} has several types, {', '.join(map(str, types))}: cast it"
            raise TypeError(msg)


def is_text(dtype: pl.DataType) -> bool:
    """Whether the values are text, even if a file encodes them as numbers."""
    return dtype in (pl.String, pl.Categorical, pl.Enum)


def _hash(keys: Sequence[str], schema: pl.Schema, level: int) -> pl.Expr:
    """Hash of the query; equal for equal text, whatever categories a file has."""
    whole = pl.lit(0, dtype=pl.UInt64)
    for i, key in enumerate(keys):
        column = pl.col(key).cast(pl.String) if is_text(schema[key]) else pl.col(key)
        whole = whole ^ column.hash(1000 * level + i)
    return whole


def is_one_query(
    frames: Sequence[pl.LazyFrame], keys: Sequence[str], level: int
) -> bool:
    """Whether there is only one query, so that splitting is useless."""
    hashes = [
        frame.select(query=_hash(keys, frame.collect_schema(), level))
        for frame in frames
    ]
    ends = pl.concat(hashes).select(
        first=pl.col("query").min(), last=pl.col("query").max()
    )
    first, last = ends.collect(engine="streaming").row(0)
    return bool(first == last)


ONE_OF = 61  # rows; prime, so that it differs from the period of any usual order


def rows_of_largest_query(frames: Sequence[pl.LazyFrame], keys: Sequence[str]) -> int:
    """About how many rows the largest query has in all frames; by a sample of rows."""
    sampled = [
        frame.select(query=_hash(keys, frame.collect_schema(), 0))
        .with_row_index("row")
        .filter(pl.col("row") % ONE_OF == 0)
        .select("query")
        for frame in frames
    ]
    counts = pl.concat(sampled).group_by("query").len()
    most = counts.select(pl.col("len").max()).collect(engine="streaming").item()
    return ONE_OF * int(most or 0)
