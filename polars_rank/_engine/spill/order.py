"""Sort in bounded memory: sorted files, then one range of keys after the other."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from math import ceil
from pathlib import Path

import polars as pl

from polars_rank._engine.layout import in_batches
from polars_rank._engine.request import Resources
from polars_rank._engine.spill.budget import Budget
from polars_rank._engine.spill.disk import full_disk_named
from polars_rank._files.temporary import private_folder
from polars_rank.core.source import Narrow, lazy_source

FACTOR = 24  # bytes to keep free for each byte sorted: buckets are evaluated meanwhile
BATCH = 50_000  # rows
SAMPLE = 10_000  # keys that say where to cut


def sort_bounded(
    frame: pl.LazyFrame,
    by: Sequence[str],
    resources: Resources,
    detail: str,
    narrow: Narrow | None = None,
) -> pl.LazyFrame:
    """The rows sorted by columns, in bounded memory; equal keys in any order."""
    most = Budget.of(resources.memory, FACTOR).bucket
    base = _base(resources)

    def read(columns: Sequence[str]) -> Iterator[pl.DataFrame]:
        asked = frame.select(*dict.fromkeys([*by, *columns]))
        yield from in_order(in_batches(asked), by, base, most)

    return lazy_source(
        read,
        frame.collect_schema(),
        name="sort in bounded memory",
        detail=detail,
        narrow=narrow,
    )


def spool(frame: pl.LazyFrame, resources: Resources) -> Iterator[pl.DataFrame]:
    """The rows from a file, which is complete before this returns."""
    stack = ExitStack()
    try:
        path = stack.enter_context(private_folder(_base(resources))) / "rows.parquet"
        with full_disk_named(path):
            frame.sink_parquet(path, compression="lz4", engine="streaming")
    except BaseException:
        stack.close()
        raise
    return _read(path, stack)


def _read(path: Path, stack: ExitStack) -> Iterator[pl.DataFrame]:
    with stack:
        rows = pl.scan_parquet(path, glob=False, hive_partitioning=False, cache=False)
        yield from in_batches(rows)


def _base(resources: Resources) -> Path:
    return Path(resources.temp_dir or tempfile.gettempdir()).absolute()


def in_order(
    batches: Iterable[pl.DataFrame], by: Sequence[str], base: Path, most: int
) -> Iterator[pl.DataFrame]:
    """The rows of all batches; no more than about ``most`` bytes of them at a time.

    Of more, sorted pieces are written into a private folder in ``base``.
    """
    with ExitStack() as stack:
        folder: Path | None = None
        files: list[Path] = []
        held: list[pl.DataFrame] = []
        rows = size = total = 0
        for batch in batches:
            held.append(batch)
            size += int(batch.estimated_size())
            rows += batch.height
            if size > most:
                if folder is None:
                    folder = stack.enter_context(private_folder(base))
                files.append(_write(held, by, folder / f"{len(files)}.parquet"))
                total, size, held = total + size, 0, []
        if folder is None:
            yield from (pl.concat(held).sort(by) for _ in held[:1])
            return
        if held:
            files.append(_write(held, by, folder / f"{len(files)}.parquet"))
        total, held = total + size, []
        pieces = pl.scan_parquet(
            files, glob=False, hive_partitioning=False, cache=False
        )
        yield from _ranges(pieces, by, by, max(rows * most // total, 1))


def _write(frames: Sequence[pl.DataFrame], by: Sequence[str], path: Path) -> Path:
    with full_disk_named(path):
        pl.concat(frames).sort(by).write_parquet(
            path, compression="lz4", row_group_size=BATCH
        )
    return path


def _ranges(
    rows: pl.LazyFrame, by: Sequence[str], left: Sequence[str], most: int
) -> Iterator[pl.DataFrame]:
    """Sorted frames of at most ``most`` rows, whose keys before ``left`` are equal.

    Only rows with all keys equal are more.
    """
    count = rows.select(pl.len()).collect(engine="streaming").item()
    if count <= most or not left:
        if count:
            yield rows.collect(engine="streaming").sort(by)
        return
    key, rest = pl.col(left[0]), left[1:]
    if rows.collect_schema()[left[0]].is_temporal():
        key = key.to_physical()  # Python has no nanoseconds
    yield from _ranges(rows.filter(key.is_null()), by, rest, most)
    known = rows.filter(key.is_not_null())
    cuts = _cuts(known, key, count, ceil(1.5 * count / most))
    if not cuts:
        yield from _ranges(known, by, rest, most)
        return
    for low, high in pairwise([None, *cuts, None]):
        part = known if low is None else known.filter(key > pl.lit(low))
        part = part if high is None else part.filter(key <= pl.lit(high))
        yield from _ranges(part, by, left, most)


def _cuts(rows: pl.LazyFrame, key: pl.Expr, count: int, parts: int) -> list[object]:
    """Values that split the rows into about equal ranges; none for a single value."""
    ends = rows.select(least=key.min(), greatest=key.max())
    ((least, greatest),) = ends.collect(engine="streaming").rows()
    if least == greatest:
        return []
    some = key.hash() % max(count // SAMPLE, 1) == 0
    below = rows.filter(some, key < pl.lit(greatest)).select(key)
    sample = below.collect(engine="streaming").to_series().sort()
    step = max(len(sample) // parts, 1)
    cuts = sample.gather_every(step, step - 1).unique(maintain_order=True).to_list()
    return cuts or [least]
