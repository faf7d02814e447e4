"""Run one contender once and print what it took, as JSON.

``python benchmarks/measure.py TASK`` is a process of its own, started by ``run.py``.
"""

from __future__ import annotations

import importlib
import json
import resource
import statistics
import sys
import time
from pathlib import Path

from task import Task

LONG = 20.0  # seconds: a first evaluation that takes longer is not repeated
ENOUGH = 3.0  # seconds: of many repeated evaluations, none starts later


def peak_mb() -> float:
    """Peak resident memory of this process, from the operating system, in 10^6 bytes.

    A new process inherits ``ru_maxrss`` from its parent, which is why ``run.py`` is
    small. Linux also tells the peak of the process alone.
    """
    status = Path("/proc/self/status")
    for line in status.read_text().splitlines() if status.exists() else []:
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def measure(task: Task) -> dict[str, object]:
    clock = [time.perf_counter()]
    load, evaluate = importlib.import_module(f"contenders.{task.contender}").contender(
        task
    )
    clock.append(time.perf_counter())
    loaded = load()
    clock.append(time.perf_counter())
    means = evaluate(loaded)
    clock.append(time.perf_counter())
    done = {
        "import": clock[1] - clock[0],
        "load": clock[2] - clock[1],
        "first": clock[3] - clock[2],
        "peak_mb": peak_mb(),
        "means": means,
    }
    return done | {"warm": warm(task.calls, evaluate, loaded, clock[3] - clock[2])}


def warm(calls: int, evaluate, loaded, first: float) -> float | None:
    """Median seconds of further evaluations in the same process."""
    took: list[float] = []
    while len(took) < calls and first < LONG and sum(took) < ENOUGH:
        start = time.perf_counter()
        evaluate(loaded)
        took.append(time.perf_counter() - start)
    return statistics.median(took) if took else None


if __name__ == "__main__":
    print(json.dumps(measure(Task.from_json(sys.argv[1]))))
