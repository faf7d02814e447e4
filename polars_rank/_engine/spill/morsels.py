"""Limit the rows that Polars passes on at a time, while rows are put into buckets.

Reading runs ahead of writing by a fixed number of morsels. By default these have
100,000 rows, however wide: with rows of 400 bytes this took 2 GB, whatever the limit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock

import polars as pl

__all__ = ["ROWS_PER_MORSEL", "morsels_in_flight", "morsels_of"]

ROWS_PER_MORSEL = 100_000
SETTING = "POLARS_IDEAL_MORSEL_SIZE"


def morsels_in_flight() -> int:
    """Morsels between reading and writing: measured with 1 to 8 threads, rounded up."""
    return 20 + 13 * pl.thread_pool_size()


class _Sizes:
    """Sizes wanted by simultaneous evaluations, since the setting is per process."""

    def __init__(self) -> None:
        self.asked: list[int] = []
        self.before: str | None = None
        self.lock = Lock()

    def ask(self, rows: int) -> None:
        with self.lock:
            if not self.asked:
                self.before = os.environ.get(SETTING)
            self.asked.append(rows)
            self._set()

    def leave(self, rows: int) -> None:
        with self.lock:
            self.asked.remove(rows)
            self._set()

    def _set(self) -> None:
        before = int(self.before) if self.before else None
        sizes = [rows for rows in self.asked if rows < ROWS_PER_MORSEL]
        pl.Config.set_streaming_chunk_size(
            min([*sizes, before or ROWS_PER_MORSEL]) if sizes else before
        )


_sizes = _Sizes()


@contextmanager
def morsels_of(rows: int) -> Iterator[None]:
    """Let Polars pass on at most so many rows at a time, in this whole process."""
    _sizes.ask(rows)
    try:
        yield
    finally:
        _sizes.leave(rows)
