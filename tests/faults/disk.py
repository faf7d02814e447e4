"""Full disks.

An evaluation in bounded memory that writes a file finds its disk too small from the
start, or full at a random moment: a small disk is mounted or, where that is not
allowed, files may only grow to a limit. The error names what lies on that disk, not the
rows; an older file keeps its content; nothing else is left; with enough room, the next
evaluation of the same process gives the right result.
"""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path

import numpy as np
import polars as pl

from faults import Trial, program, when_ready

FEW, MANY = 1, 25
ROWS, QUERIES = 100_000, 20_000
ROOM = 1 << 16  # KB
BUCKETS = 32  # at least
OLD = b"older"

CHILD = """
import json, resource
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
import polars_rank as pr
from polars_rank._engine.spill import work
from polars_rank._engine.spill.budget import Budget
from polars_rank.cli import main
from polars_rank.io import write
Budget.of = classmethod(lambda cls, limit, factor: cls(1 << 18, 1 << 20))
require = work.require_space

def library(log, out, temp):
    limited = {"memory_limit": "1GB", "temp_dir": temp, "layout": "any"}
    write(pr.per_query(pr.io.scan(log, kind="run"), ["rr", "ap"], **limited), out)

def command(log, out, temp):
    said = StringIO()
    with redirect_stderr(said), redirect_stdout(StringIO()):
        words = ["evaluate", log, "-m", "rr", "-m", "ap", "--layout", "any"]
        words += ["--memory-limit", "1GB", "--temp-dir", temp, "--per-query", out]
        status = main(words)
    if status:
        raise OSError(said.getvalue())

ready()
for line in sys.stdin:
    name, log, out, temp, looked, most = json.loads(line)
    work.require_space = require if looked else lambda *_: None
    most = resource.RLIM_INFINITY if most is None else most << 10
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    try:
        globals()[name](log, out, temp)
        said = ""
    except OSError as error:
        said = str(error) or "no words"
    except BaseException as error:
        said = f"{type(error).__name__}: {error}"
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    print(json.dumps(said), flush=True)
"""
CASES = {
    "folder too small": ("temp", True),
    "folder full on the way": ("temp", False),
    "result": ("out", False),
}


def trials(rounds: int, folder: Path) -> Iterator[Trial]:
    """Make the disk small, evaluate, make it large, evaluate again."""
    log, draw = folder / "log.parquet", random.Random(2026)
    rng = np.random.default_rng(7)
    columns = {
        "query_id": rng.integers(0, QUERIES, ROWS),
        "doc_id": np.arange(ROWS),
        "score": rng.normal(size=ROWS),
        "label": rng.integers(0, 3, ROWS),
    }
    pl.DataFrame(columns).write_parquet(log)
    disk, beside = folder / "disk", folder / "beside"
    beside.mkdir()
    running = when_ready(program(CHILD, temp=beside))

    def evaluate(name: str, out: Path, temp: Path, *how: object) -> str:
        asked = [name, str(log), str(out), str(temp), *how]
        running.stdin.write(json.dumps(asked) + "\n")
        running.stdin.flush()
        answer = running.stdout.readline()
        return json.loads(answer) if answer else "the process died"

    def lost(name: str, part: str, looked: bool, kilobytes: int) -> Iterator[str]:
        temp = disk if part == "temp" else beside
        out = (disk if part == "out" else beside) / "values.parquet"
        out.write_bytes(OLD)
        most = resize(kilobytes)
        full = (disk,) if most is None else (disk, beside)
        said = evaluate(name, out, temp, looked, most)
        named = any(str(place) in said for place in full) and str(log) not in said
        if said and not named:
            yield f"it is said: {said}"
        if said and out.read_bytes() != OLD:
            yield "the older file is damaged"
        if any(path != out for path in (*disk.iterdir(), *beside.iterdir())):
            yield "files were left"
        if again := evaluate(name, out, temp, looked, resize(ROOM)):
            yield f"then it is said: {again}"
        elif not pl.read_parquet(out).sort("query_id").equals(expected):
            yield "a wrong result afterwards"
        out.unlink()

    try:
        with small_disk(disk) as resize:
            evaluate("library", beside / "values.parquet", beside, True, None)
            expected = pl.read_parquet(beside / "values.parquet").sort("query_id")
            sizes = {"temp": ROWS // 50, "out": QUERIES // 100}  # a little too small
            for (case, (part, looked)), name in product(
                CASES.items(), ("library", "command")
            ):
                for _ in range(rounds):
                    size = draw.randrange(8, sizes[part])
                    found = lost(name, part, looked, size)
                    yield Trial(f"{case}, {name}", ", ".join(found))
    finally:
        running.kill()
        running.communicate()


@contextmanager
def small_disk(folder: Path) -> Iterator[Callable[[int], int | None]]:
    """A disk at ``folder``, and a function that sets its size in KB.

    That returns to how many KB a file may grow, where no disk can be mounted.
    """
    folder.mkdir()

    def mount(*options: str) -> bool:
        words = ["mount", "-t", "tmpfs", "-o", ",".join(options), "tmpfs", str(folder)]
        try:
            return not subprocess.run(words, capture_output=True).returncode
        except FileNotFoundError:
            return False

    if not mount(f"size={ROOM}k"):
        yield lambda kilobytes: None if kilobytes == ROOM else kilobytes // BUCKETS
        return

    def resize(kilobytes: int) -> None:
        assert mount("remount", f"size={kilobytes}k")

    try:
        yield resize
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)
