"""Killed at any moment.

An evaluation in bounded memory that writes a file gets a signal at a random moment: in
a program of its own, or as the command with ``--memory-limit`` and ``--per-query``. A
file is whole or not there; SIGTERM and SIGHUP leave nothing but what an evaluation
resumes from, in a folder that was named; the next evaluation gives the right result and
removes what was left.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from faults import Trial, finish, go, program, when_ready

FEW, MANY = 4, 96
ROWS, QUERIES = 300_000, 5_000
STEP = 5  # so that few rounds, too, see all signals and both programs
SIGNALS = signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT
TOLD = signal.SIGTERM, signal.SIGHUP  # to end, and given the time for it

PROGRAMS = {
    "library": """
from polars_rank.io import clean_on_signals, write
from toy import lazy
log, out, temp_dir = sys.argv[1:]
clean_on_signals()
ready()
sys.stdin.readline()
write(lazy(log, temp_dir or None).sort("key0"), out)
""",
    "command": """
from polars_rank._engine.spill.budget import Budget
from polars_rank.cli import main
Budget.of = classmethod(lambda cls, limit, factor: cls(1 << 19, 1 << 20))
log, out, temp_dir = sys.argv[1:]
sys.argv = ["polars-rank", "evaluate", log, "--memory-limit", "1GB", "--layout", "any"]
sys.argv += ["--query", "key0", "--per-query", out]
sys.argv += ["--temp-dir", temp_dir] if temp_dir else []
ready()
sys.stdin.readline()
sys.exit(main())
""",
}


def trials(rounds: int, folder: Path) -> Iterator[Trial]:
    """Send a signal, look at what is there, and evaluate again."""
    log, draw = folder / "log.parquet", random.Random(2026)
    rng = np.random.default_rng(7)
    columns = {"key0": rng.integers(0, QUERIES, ROWS), "score": rng.normal(size=ROWS)}
    pl.DataFrame(columns | {"label": rng.integers(0, 3, ROWS)}).write_parquet(log)
    places = {name: Place(folder / name, log, code) for name, code in PROGRAMS.items()}
    kinds = list(product(places, SIGNALS, (False, True)))
    chosen = sorted(i * STEP % len(kinds) for i in range(rounds))
    for name, number, named in (kinds[i] for i in chosen):
        place = places[name]
        case = f"{number.name}, {name}" + (", folder named" if named else "")
        lost = place.lost(number, named, draw.uniform(0, place.usual))
        yield Trial(case, ", ".join(lost))


class Place:
    """A program with its folders, and the result when nothing disturbs it."""

    def __init__(self, folder: Path, log: Path, code: str) -> None:
        self.log, self.code = log, code
        self.temp, self.out = folder / "temp", folder / "out" / "out.parquet"
        self.temp.mkdir(parents=True)
        self.out.parent.mkdir()
        running, begun = self.start(named=False), time.perf_counter()
        finish(running, "go")
        self.usual = time.perf_counter() - begun
        self.expected = pl.read_parquet(self.out)
        self.out.unlink()

    def start(self, *, named: bool) -> subprocess.Popen:
        """The program, which waits for a line of input."""
        temp_dir = self.temp if named else ""
        return when_ready(
            program(self.code, self.log, self.out, temp_dir, temp=self.temp)
        )

    def lost(self, number: signal.Signals, named: bool, after: float) -> Iterator[str]:
        """What the signal, after so many seconds, did that it may not."""
        running = self.start(named=named)
        go(running)
        time.sleep(after)
        running.send_signal(number)
        running.communicate(timeout=60)
        if running.returncode not in (0, -number, 128 + number):
            yield f"ended with {running.returncode}"
        if running.returncode == 0 and not self.out.exists():
            yield "ended without a result"
        if number in TOLD and (self.beside() or (self.temporary() and not named)):
            yield "files were left"
        if self.out.exists() and not self.whole():
            yield "a damaged file"
        finish(self.start(named=named), "go")
        if not self.whole():
            yield "a wrong result afterwards"
        if stay := self.beside() + self.temporary():
            yield "files stay"
        for path in stay:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        self.out.unlink()

    def whole(self) -> bool:
        """Whether the result is there as it should be."""
        return pl.read_parquet(self.out).equals(self.expected)

    def temporary(self) -> list[Path]:
        """What lies in the folder for temporary files."""
        return list(self.temp.iterdir())

    def beside(self) -> list[Path]:
        """What lies beside the result."""
        return [path for path in self.out.parent.iterdir() if path != self.out]
