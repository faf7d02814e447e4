"""Killed at any moment.

An evaluation in bounded memory that writes its result to a file is killed at a random
moment. A file is whole or not there; the next evaluation gives the right result and
removes what was left.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import polars as pl
from toy import lazy, toy

from faults import Trial, finish, go, kill, program, when_ready

FEW, MANY = 3, 50
ROWS, QUERIES = 300_000, 5_000

WRITE = """
from polars_rank.io import write
from toy import lazy
log, out, temp_dir = sys.argv[1:]
ready()
sys.stdin.readline()
write(lazy(log, temp_dir or None), out)
"""


def trials(rounds: int, folder: Path) -> Iterator[Trial]:
    """Kill, look at what is there, and evaluate again."""
    log, draw = folder / "log.parquet", random.Random(2026)
    rng = np.random.default_rng(7)
    key0, score = rng.integers(0, QUERIES, ROWS), rng.normal(size=ROWS)
    pl.DataFrame({"key0": key0, "score": score}).write_parquet(log)
    expected = toy([pl.scan_parquet(log)]).sort("key0").collect()

    def same(frame: pl.DataFrame) -> bool:
        return frame.sort("key0").equals(expected)

    for case in ("SIGKILL, library", "SIGKILL, library, temp_dir"):
        temp = folder / case
        temp.mkdir()
        temp_dir, out = temp if "temp_dir" in case else "", folder / "out.parquet"
        usual = None
        for _ in range(rounds + 1):
            running = when_ready(program(WRITE, log, out, temp_dir, temp=temp))
            go(running)
            if usual is None:  # undisturbed, to see how long it takes
                start = time.perf_counter()
                finish(running)
                usual = time.perf_counter() - start
                continue
            died = kill(running, draw.uniform(0, usual))
            lost = [] if died or out.exists() else ["ended without a result"]
            if out.exists() and not same(pl.read_parquet(out)):
                lost.append("a damaged file")
            out.unlink(missing_ok=True)
            if not same(lazy(log, temp_dir or None).collect()):
                lost.append("a wrong result afterwards")
            if temp_dir and list(temp.iterdir()):
                lost.append("something stays in temp_dir")
            yield Trial(case, ", ".join(lost))
