"""Limit what Polars reads ahead of writing, while memory is bounded.

Reading runs ahead by a fixed number of morsels and of row groups, not of bytes. By
default a morsel has 100,000 rows, however wide, and 16 row groups or more are read at
once: with rows of 400 bytes this took 2 GB, whatever the limit.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple

import polars as pl

ROWS_PER_MORSEL, GROUPS_AT_ONCE = 100_000, 16
SETTING = "POLARS_IDEAL_MORSEL_SIZE"
# Polars looks for these whenever it begins to scan, unlike for the first one.
SCANS = (
    "POLARS_ROW_GROUP_PREFETCH_SIZE",
    "POLARS_CSV_CHUNK_PREFETCH_LIMIT",
    "POLARS_NDJSON_CHUNK_PREFETCH_LIMIT",
)


class Ahead(NamedTuple):
    """What may be read ahead: rows of a morsel; row groups, or chunks of text."""

    rows: int = ROWS_PER_MORSEL
    groups: int = GROUPS_AT_ONCE


def morsels_in_flight() -> int:
    """Morsels between reading and writing: measured with 1 to 8 threads, rounded up."""
    return 20 + 13 * pl.thread_pool_size()


class _Asked:
    """What simultaneous evaluations want, since the settings are per process."""

    def __init__(self) -> None:
        self.asked: list[Ahead] = []
        self.before: dict[str, str | None] = {}
        self.lock = Lock()

    def ask(self, ahead: Ahead) -> None:
        with self.lock:
            if not self.asked:
                self.before = {name: os.environ.get(name) for name in (SETTING, *SCANS)}
            self.asked.append(ahead)
            self._set()

    def leave(self, ahead: Ahead) -> None:
        with self.lock:
            self.asked.remove(ahead)
            self._set()

    def _set(self) -> None:
        """The least that anyone asked for, or the user, or what was before."""
        rows = self._least(SETTING, [ahead.rows for ahead in self.asked])
        pl.Config.set_streaming_chunk_size(rows)
        for name in SCANS:
            groups = self._least(name, [ahead.groups for ahead in self.asked])
            if groups is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = str(groups)

    def _least(self, name: str, asked: list[int]) -> int | None:
        usual = ROWS_PER_MORSEL if name == SETTING else GROUPS_AT_ONCE
        before = self.before[name]
        fewer = [wanted for wanted in asked if wanted < usual]
        known = [int(before)] if before else []
        return min([*fewer, *known], default=None)


_asked = _Asked()


@contextmanager
def reading(ahead: Ahead) -> Iterator[None]:
    """Let Polars read ahead no more than that, in this whole process."""
    _asked.ask(ahead)
    try:
        yield
    finally:
        _asked.leave(ahead)
