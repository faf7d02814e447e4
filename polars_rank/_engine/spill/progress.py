"""How far an evaluation in bounded memory is."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

__all__ = ["Listener", "Progress", "row_counter"]

EVERY = 0.1  # seconds between two reports on rows


class Progress(NamedTuple):
    """How far an evaluation in bounded memory is.

    First every row is put into a bucket (``"partition"``, in rows), then every bucket
    is evaluated (``"evaluate"``, in buckets).
    """

    stage: Literal["partition", "evaluate"]
    done: int
    total: int
    unit: Literal["rows", "buckets"]


Listener: TypeAlias = Callable[[Progress], object]


def row_counter(tell: Listener, total: int) -> Callable[[int], None]:
    """Count rows that pass, in any thread; tell from time to time, and at the end."""
    done, told, lock = 0, 0.0, threading.Lock()

    def passed(rows: int) -> None:
        nonlocal done, told
        with lock:
            done += rows
            now = time.monotonic()
            if done >= total or now - told >= EVERY:
                told = now
                tell(Progress("partition", done, total, "rows"))

    passed(0)
    return passed
