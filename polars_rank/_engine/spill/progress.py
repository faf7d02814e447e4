"""Progress of an evaluation in bounded memory."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Literal, NamedTuple, TypeAlias

EVERY = 0.1  # seconds between two reports on rows


class Progress(NamedTuple):
    """How far an evaluation in bounded memory is.

    First every row is put into a bucket (``stage`` ``"partition"``, in rows), then
    every bucket is evaluated (``"evaluate"``, in buckets). ``done`` of ``total`` units
    are finished; ``part`` is the share of the next bucket's rows that have been read.
    ``evaluate_parts`` reports its parts only.

    Examples
    --------
    >>> import polars_rank as pr
    >>> def show(progress: pr.parts.Progress) -> None:
    ...     print(f"{progress.stage}: {progress.done} of {progress.total}")
    >>> show(pr.parts.Progress("evaluate", 3, 8, "buckets"))
    evaluate: 3 of 8
    """

    stage: Literal["partition", "evaluate"]
    done: int
    total: int
    unit: Literal["rows", "buckets", "parts"]
    part: float = 0.0


Listener: TypeAlias = Callable[[Progress], object]


def row_counter(tell: Listener, total: int) -> Callable[[int], None]:
    """Count rows that pass; report from time to time, and at the end."""

    def told(rows: int) -> None:
        tell(Progress("partition", rows, total, "rows"))

    passed = _counter(told, total)
    passed(0)
    return passed


def bucket_counter(
    tell: Listener, done: int, buckets: int, total: int
) -> Callable[[int], None]:
    """Count rows that are read from the next bucket; report from time to time."""

    def told(rows: int) -> None:
        if 0 < rows < total:
            tell(Progress("evaluate", done, buckets, "buckets", rows / total))

    return _counter(told, total)


def _counter(tell: Callable[[int], object], total: int) -> Callable[[int], None]:
    """Add up rows, in any thread."""
    done, told, lock = 0, 0.0, threading.Lock()

    def passed(rows: int) -> None:
        nonlocal done, told
        with lock:
            done += rows
            now = time.monotonic()
            if done >= total or now - told >= EVERY:
                told = now
                tell(done)

    return passed
