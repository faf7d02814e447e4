"""Evaluate in bounded memory: rows into buckets, then bucket by bucket."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

import polars as pl

from polars_rank._engine.spill.buckets import (
    Bucket,
    Filled,
    Task,
    counted,
    fill,
    is_one_query,
    rows_of_largest_query,
    split,
)
from polars_rank._engine.spill.budget import SPLITTING, Budget, Size, size_of
from polars_rank._engine.spill.careful import (
    MORSEL,
    Freed,
    careful,
    careful_by_sample,
    on_their_way,
    row_group,
)
from polars_rank._engine.spill.digest import digest_of
from polars_rank._engine.spill.disk import full_disk_named, require_space
from polars_rank._engine.spill.progress import (
    Listener,
    Progress,
    bucket_counter,
    row_counter,
)
from polars_rank._engine.spill.resume import (
    read_manifest,
    read_or_write,
    write_manifest,
)
from polars_rank._files.temporary import (
    Folder,
    make_folder,
    private_folder,
    remove_leftovers,
    resume_folder,
)
from polars_rank.core.source import is_rereadable
from polars_rank.io.unreadable import damage_named

Evaluate: TypeAlias = Callable[[Sequence[pl.LazyFrame]], pl.LazyFrame]
Heard: TypeAlias = Callable[[Sequence[pl.LazyFrame]], list[pl.LazyFrame]]
Counted: TypeAlias = Callable[[int], Heard | None]  # given the rows of a bucket
DEEPEST = 4
ROWS_PER_GROUP = (
    16_384  # of a copy, whose rows may be lists; a group is held as a whole
)


@dataclass(frozen=True, kw_only=True)
class Spill:
    """The arguments of ``bounded``; ``plan`` evaluates all parts at once."""

    parts: Sequence[pl.LazyFrame]
    keys: Sequence[str]
    evaluate: Evaluate
    plan: pl.LazyFrame
    budget: Budget
    folder: Path
    resume: bool
    progress: Listener | None
    fingerprint: str
    freed: Freed

    def tell(self, done: int, buckets: int) -> None:
        """Report on the buckets."""
        if self.progress is not None:
            self.progress(Progress("evaluate", done, buckets, "buckets"))

    def counted(self, done: int, buckets: int, rows: int) -> Heard | None:
        """A counter that reports on the rows of the next bucket as they are read."""
        if self.progress is None:
            return None
        passed = bucket_counter(self.progress, done, buckets, rows)
        return lambda parts: [counted(part, self.keys[0], passed) for part in parts]


def results(spill: Spill) -> Iterator[pl.DataFrame]:
    """One row per query; temporary files are removed at the end, however it ends.

    Rows are counted before they are read, so sources that may be readable only once are
    copied to a file first.
    """
    with damage_named(spill.parts):
        yield from _reread(spill)


def _reread(spill: Spill) -> Iterator[pl.DataFrame]:
    if all(map(is_rereadable, spill.parts)):
        yield from _results(spill)
        return
    with private_folder(spill.folder) as folder:
        parts = [
            part if is_rereadable(part) else spooled(part, folder / f"part{i}.parquet")
            for i, part in enumerate(spill.parts)
        ]
        plan = spill.evaluate(parts)
        yield from _results(replace(spill, parts=parts, plan=plan, resume=False))


def spooled(part: pl.LazyFrame, path: Path) -> pl.LazyFrame:
    """Copy the rows to a file; return what reads it."""
    with full_disk_named(path):
        part.sink_parquet(
            path,
            compression="lz4",
            statistics=False,
            row_group_size=ROWS_PER_GROUP,
            engine="streaming",
        )
    return pl.scan_parquet(path, glob=False, hive_partitioning=False, cache=False)


def _results(spill: Spill) -> Iterator[pl.DataFrame]:
    with careful_by_sample(spill.budget, spill.parts):
        sizes = [size_of([part]) for part in spill.parts]
        size = sum(sizes, Size(0, 0, 0))
        if size.memory <= spill.budget.bucket:
            yield from _at_once(spill, size)
            return
    with careful(spill.budget, spill.parts, sizes):
        yield from _in_buckets(spill, size)


def _at_once(spill: Spill, size: Size) -> Iterator[pl.DataFrame]:
    _require_room_for_queries(spill, spill.parts, size)
    spill.tell(0, 1)
    heard = spill.counted(0, 1, size.rows)
    plan = spill.plan if heard is None else spill.evaluate(heard(spill.parts))
    yield plan.collect(engine="streaming")
    spill.tell(1, 1)


def _require_room_for_queries(
    spill: Spill, parts: Sequence[pl.LazyFrame], size: Size
) -> None:
    """Count the largest query only where all rows would be too many for one query."""
    if not spill.budget.holds_query(size.rows, size.width):
        largest = rows_of_largest_query(parts, spill.keys)
        spill.budget.require_room_for_query(largest, size.width)


def _in_buckets(spill: Spill, size: Size) -> Iterator[pl.DataFrame]:
    folder = _folder(spill)
    try:
        buckets = read_manifest(folder.path) if folder.kept else None
        if buckets is None:
            buckets = _first_split(spill, folder, size)
        yield from _by_bucket(spill, folder, buckets)
    finally:
        try:
            folder.remove()
        finally:  # Ctrl-C can be reported twice: by Polars, then by Python
            folder.remove()


def _folder(spill: Spill) -> Folder:
    """The folder of an interrupted evaluation of the same, or a new one."""
    digest = None
    if spill.resume:
        digest = digest_of(spill.parts, spill.plan, spill.fingerprint)
    remove_leftovers(spill.folder, keep=digest)
    folder = None if digest is None else resume_folder(spill.folder, digest)
    return make_folder(spill.folder) if folder is None else folder


def _first_split(spill: Spill, folder: Folder, size: Size) -> list[Bucket]:
    folder.clear()
    passed = None
    if spill.progress is not None:
        passed = row_counter(spill.progress, size.rows)
    buckets = _split(
        spill, spill.parts, size, folder.path, passed=passed, durable=folder.kept
    )
    if folder.kept:
        write_manifest(folder.path, buckets)
    return buckets


def _by_bucket(
    spill: Spill, folder: Folder, buckets: Sequence[Bucket]
) -> Iterator[pl.DataFrame]:
    spill.tell(0, len(buckets))
    for i, bucket in enumerate(buckets):
        counted = partial(spill.counted, i, len(buckets))
        frames = _evaluated(spill, bucket, folder.path / "split", 1, counted)
        yield from read_or_write(folder.path, i, frames) if folder.kept else frames
        bucket.remove()
        spill.tell(i + 1, len(buckets))


def _evaluated(
    spill: Spill, bucket: Bucket, folder: Path, level: int, counted: Counted
) -> Iterator[pl.DataFrame]:
    """Evaluate a bucket, in smaller ones if it is too large."""
    parts = bucket.frames([part.collect_schema() for part in spill.parts])
    size = size_of(parts)
    heard = counted(size.rows)
    fits = size.memory <= spill.budget.bucket
    if fits or level > DEEPEST or is_one_query(parts, spill.keys, level):
        _require_room_for_queries(spill, parts, size)
        parts = parts if heard is None else heard(parts)
        # Half of what evaluating takes is pages of its own that it has freed.
        spill.freed.wait_for(MORSEL + int(size.memory * spill.budget.factor / 2))
        yield spill.evaluate(parts).collect(engine="streaming")
        return
    shutil.rmtree(folder, ignore_errors=True)
    for smaller in _split(spill, parts, size, folder, level=level):
        yield from _evaluated(
            spill, smaller, folder / "split", level + 1, lambda rows: heard
        )
        smaller.remove()


def _split(
    spill: Spill,
    parts: Sequence[pl.LazyFrame],
    size: Size,
    folder: Path,
    *,
    level: int = 0,
    passed: Callable[[int], None] | None = None,
    durable: bool = False,
) -> list[Bucket]:
    require_space(size, spill.folder)
    buckets = spill.budget.buckets(size)
    rows_per_group = spill.budget.rows_per_group(size, buckets)

    group = max(row_group(part, size.width) for part in parts)
    need = on_their_way(group, spill.budget)
    spill.freed.wait_for(SPLITTING + group)

    def heard(rows: int) -> None:
        spill.freed.wait_for(need)
        if passed is not None:
            passed(rows)

    def write(task: Task) -> Filled:
        files = fill(
            task.frame,
            spill.keys,
            folder / str(task.side),
            buckets=buckets,
            level=level,
            rows_per_group=rows_per_group,
            durable=durable,
            passed=heard,
        )
        return Filled(files, task.number)

    return split([[part] for part in parts], write)
