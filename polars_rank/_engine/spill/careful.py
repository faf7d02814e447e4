"""Read rows within the memory limit: few ahead, once there is room, or not at all."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import polars as pl

from polars_rank._engine.spill.budget import (
    LEAST,
    MB,
    Budget,
    RowGroups,
    Size,
    overhead,
    sample_of,
)
from polars_rank._engine.spill.morsels import Ahead, reading
from polars_rank.io.unreadable import files_of

CATEGORY = 500  # bytes that a category takes besides its text, in all steps: measured
SOME = 1000  # rows
STATM = Path("/proc/self/statm")  # on Linux only; elsewhere nothing waits
PAUSE, PATIENCE = 0.02, 0.2  # seconds between two looks, and without any progress
LITTLE = 4 * MB
MORSEL = 40 * MB  # that rows take between reading and a bucket, or a sum


@contextmanager
def careful(
    budget: Budget, parts: Sequence[pl.LazyFrame], sizes: Iterable[Size]
) -> Iterator[None]:
    """Let Polars read no more of these parts ahead than the budget allows.

    Raises ``MemoryError`` if even that is too much.
    """
    least = Ahead()
    for part, size in zip(parts, sizes, strict=True):
        groups = _row_groups(part)
        budget.require_room(size, groups)
        least = Ahead(*map(min, least, budget.ahead(size, groups)))
    with reading(least):
        yield


@contextmanager
def careful_by_sample(budget: Budget, parts: Sequence[pl.LazyFrame]) -> Iterator[None]:
    """The same, where only the first rows say how wide the rows are."""
    with careful(budget, parts, map(sample_of, parts)):
        yield


def resident() -> int:
    """Bytes of this process in memory; 0 if the system does not tell."""
    try:
        pages = int(STATM.read_text().split()[1])
    except OSError:
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE")


class Freed:
    """Freed memory that has not gone back to the system, for which a step waits.

    Polars' allocator, jemalloc, returns freed pages about half a second later, and
    keeps them apart in four arenas per core. A bucket that the next thread evaluates in
    another arena takes new pages, so a fast machine exceeds its limit by pages that
    nobody uses. What does not go back is held by others: nobody waits for it a second
    time.
    """

    def __init__(self, budget: Budget, look: Callable[[], int] = resident) -> None:
        self.budget, self.look = budget, look
        self.held = overhead()

    def wait_for(self, need: int) -> None:
        """Wait while ``need`` more bytes exceed the limit and memory goes back."""
        if self.budget.limit < LEAST:
            return
        now, patience = self.look(), PATIENCE
        enough = max(self.budget.limit - need, self.held + LITTLE)
        while now > enough and patience > 0:
            time.sleep(PAUSE)
            before, now = now, self.look()
            patience = PATIENCE if before - now >= LITTLE else patience - PAUSE
        if now > enough:
            self.held = now


def row_group(frame: pl.LazyFrame, width: int) -> int:
    """Bytes of the largest row group, which is read as a whole."""
    return _row_groups(frame).rows * width


def on_their_way(group: int, budget: Budget, joined: int = 0) -> int:
    """Bytes that rows take before anyone can wait again: no more of them are ahead.

    Each frame that is joined to them makes new rows of them.
    """
    return MORSEL * (1 + joined) + min(group, 2 * budget.buffers)


def watched(
    frame: pl.LazyFrame, keys: Sequence[str], budget: Budget, joined: int = 0
) -> pl.LazyFrame:
    """The same contiguous rows, or ``MemoryError`` for a query that is too large.

    A large query fills whole morsels, which begin and end with it.
    """
    rows: dict[tuple[object, ...], int] = {}
    width, freed = sample_of(frame).width, Freed(budget)
    need = on_their_way(row_group(frame, width), budget, joined)

    def watch(columns: Sequence[pl.Series]) -> pl.Series:
        key = columns[0]
        if not len(key):
            return key
        freed.wait_for(need)
        first, last = (tuple(column[i] for column in columns) for i in (0, -1))
        if first == last:
            rows[first] = rows.get(first, 0) + len(key)
            if not budget.holds_query(rows[first], width):  # and there may be more
                budget.require_room_for_query(2 * rows[first], width)
        return key

    dtype = frame.collect_schema()[keys[0]]
    return frame.with_columns(
        pl.map_batches(keys, watch, return_dtype=dtype, is_elementwise=True)
    )


def few_categories(frame: pl.LazyFrame, limit: int) -> pl.LazyFrame:
    """The same rows, or ``MemoryError`` if their categories take too much memory.

    Polars holds every category of a process, whatever becomes of the rows.
    """
    names = [n for n, t in frame.collect_schema().items() if t == pl.Categorical]
    free = Budget.of(limit, 1).bucket
    return frame.with_columns(
        pl.col(name).map_batches(
            partial(_require_few, name=name, free=free),
            return_dtype=pl.self_dtype(),
            is_elementwise=True,
        )
        for name in names
    )


def _require_few(column: pl.Series, *, name: str, free: int) -> pl.Series:
    known = column.to_physical().max()
    if isinstance(known, int):
        text = column.head(SOME).cat.len_bytes().mean()
        width = CATEGORY + (int(text) if isinstance(text, float) else 0)
        if known * width > free:
            msg = (
                f"memory_limit is too small for a column of categories ({name}) with "
                f"more than {known:,} of them, which Polars holds in memory: cast it "
                "to String, or give a larger memory_limit"
            )
            raise MemoryError(msg)
    return column


def _row_groups(part: pl.LazyFrame) -> RowGroups:
    try:
        return RowGroups.of(files_of(part))
    except Exception:  # whatever it reads, it has none
        return RowGroups()
