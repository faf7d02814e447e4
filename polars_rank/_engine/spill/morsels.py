"""Limit what Polars reads ahead of writing, while memory is bounded.

Reading runs ahead by a fixed number of morsels, row groups and chunks of text, not of
bytes. By default a morsel has 100,000 rows, however wide, and 16 row groups or more are
read at once: with rows of 400 bytes this took 2 GB, whatever the limit. Chunks of text
grow with the file: those of 180 MB of CSV took 400 MB.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple

import polars as pl

ROWS_PER_MORSEL, GROUPS_AT_ONCE, CHUNK = 100_000, 16, 1 << 24
# Polars looks for the settings of scans whenever it begins one, unlike for the first.
SETTINGS = {
    "rows": ["POLARS_IDEAL_MORSEL_SIZE"],
    "groups": [
        "POLARS_ROW_GROUP_PREFETCH_SIZE",
        "POLARS_CSV_CHUNK_PREFETCH_LIMIT",
        "POLARS_NDJSON_CHUNK_PREFETCH_LIMIT",
    ],
    "chunk": ["POLARS_CSV_CHUNK_SIZE", "POLARS_NDJSON_CHUNK_SIZE"],
}
NAMES = [name for names in SETTINGS.values() for name in names]


class Ahead(NamedTuple):
    """What may be read ahead.

    Attributes
    ----------
    rows
        Rows of a morsel.
    groups
        Row groups, or chunks of text.
    chunk
        Bytes of a chunk of text.
    """

    rows: int = ROWS_PER_MORSEL
    groups: int = GROUPS_AT_ONCE
    chunk: int = CHUNK


USUAL = Ahead()


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
                self.before = {name: os.environ.get(name) for name in NAMES}
            self.asked.append(ahead)
            self._set()

    def leave(self, ahead: Ahead) -> None:
        with self.lock:
            self.asked.remove(ahead)
            self._set()

    def _set(self) -> None:
        """The least that anyone asked for, or the user, or what was before."""
        for field, names in SETTINGS.items():
            for name in names:
                least = self._least(field, name)
                if field == "rows":
                    pl.Config.set_streaming_chunk_size(least)
                elif least is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = str(least)

    def _least(self, field: str, name: str) -> int | None:
        asked = [getattr(ahead, field) for ahead in self.asked]
        fewer = [wanted for wanted in asked if wanted < getattr(USUAL, field)]
        before = self.before[name]
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
