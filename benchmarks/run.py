"""Measure this library, its peers and the floor; print one table and the targets.

``python benchmarks/run.py`` takes about an hour and 5 GB of disk; ``--quick`` takes
minutes on a hundredth of the data. Results go to ``benchmarks/data/results.json``.
"""

from __future__ import annotations

import argparse
import compileall
import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import contenders
import growth
import report
import targets
from data import HOME, Files
from shapes import SHAPES, Case, Shape
from task import Task

HERE = Path(__file__).parent
RESULTS = HOME / "results.json"
BUDGET = 30  # seconds: a case whose processes took longer gets no further round
PATIENCE = 600  # a process is stopped after that
PACKAGES = (
    "polars-rank", "polars", "numpy", "numba", "duckdb", "pandas", "polars-ds",
    "scikit-learn", "pytrec-eval-terrier", "ir-measures", "ranx", "torch",
    "torchmetrics",
)  # fmt: skip


def main() -> None:
    options = arguments()
    # As pip does of what it installs: a checkout may never have been compiled.
    compileall.compile_dir(str(HERE.parent / "polars_rank"), quiet=2)
    results = {
        "machine": machine(),
        "date": datetime.date.today().isoformat(),
        "scale": options.scale,
        "rounds": options.rounds,
    }
    results["shapes"] = done = []
    for name in options.shape:
        shape = SHAPES[name].scaled(options.scale)
        cases = [c for c in shape.cases if c.contender in options.only]
        if cases:
            done.append(measured(shape, cases, options.rounds, done))
            HOME.mkdir(exist_ok=True)
            RESULTS.write_text(json.dumps(results, indent=1))
    print(report.table(results))
    print(report.remarks(results))
    print(targets.table(results))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    known = list(dict.fromkeys(c.contender for s in SHAPES.values() for c in s.cases))
    parser.add_argument("--only", nargs="+", default=known, choices=known)
    parser.add_argument("--shape", nargs="+", default=list(SHAPES), choices=SHAPES)
    parser.add_argument("--rounds", type=int, help="default 5, with --quick 2")
    parser.add_argument("--quick", action="store_true", help="--scale 100 --rounds 2")
    parser.add_argument("--scale", type=int, help="divide the number of queries by")
    options = parser.parse_args()
    options.scale = options.scale or (100 if options.quick else 1)
    options.rounds = options.rounds or (2 if options.quick else 5)
    return options


def measured(shape: Shape, cases: list[Case], rounds: int, done: list[dict]) -> dict:
    """All rounds of one shape, as it goes to the results."""
    entries = [
        {"case": vars(case), "input": case.input(), "runs": [], "note": None}
        for case in cases
    ]
    tasks = []
    for case, entry in zip(cases, entries, strict=True):
        if contenders.missing(case.contender):
            entry["note"] = "not installed"
        else:
            entry["note"] = growth.stop(shape.name, case, shape.rows, done)
        tasks.append(None if entry["note"] else shape.task(case, paths(shape, case)))
    for task, case in zip(tasks, cases, strict=True):
        if task:
            warm_up(case.contender, case.ids, case.measures, shape.judged)
    for turn in range(rounds):
        for task, entry in zip(tasks, entries, strict=True):
            if task and wanted(entry, turn):
                print(f"{shape.name}, round {turn + 1}: ", end="", file=sys.stderr)
                print(task.contender, entry["input"], file=sys.stderr)
                once(task, entry)
    return shape.describe() | {"in_memory": shape.in_memory, "cases": entries}


@cache
def warm_up(contender: str, ids: str, measures: int, judged: int) -> None:
    """Let a contender compile, on a sample, what it keeps on disk; not measured."""
    case = Case(contender, ids=ids, measures=measures)
    sample = Shape("sample", (case,), queries=50, docs=100, judged=judged, calls=0)
    once(sample.task(case, paths(sample, case)), {"runs": [], "note": None})


def wanted(entry: dict, turn: int) -> bool:
    """Whether a case gets another round: it has not failed, and it is not slow."""
    walls = [run["wall"] for run in entry["runs"]]
    return len(walls) == turn and (not walls or sum(walls) + walls[-1] <= BUDGET)


def once(task: Task, entry: dict) -> None:
    """One measurement in a process of its own."""
    start = time.perf_counter()
    try:
        text = started("measure.py", task.to_json())
    except subprocess.TimeoutExpired:
        entry["note"] = f"stopped after {PATIENCE} s"
    except subprocess.CalledProcessError as error:
        lines = error.stderr.strip().splitlines() or [f"exit code {error.returncode}"]
        entry["note"] = f"failed: {lines[-1][:200]}"
    else:
        wall = time.perf_counter() - start
        entry["runs"].append(json.loads(text) | {"wall": wall})


def paths(shape: Shape, case: Case) -> dict:
    """The files of a case, made where they are not there."""
    files: Files = shape.files(case)
    return json.loads(started("data.py", files.to_json(), limit=None))


def started(program: str, argument: str, limit: float | None = PATIENCE) -> str:
    """What a program of this folder prints, run in a process of its own."""
    command = [sys.executable, str(HERE / program), argument]
    errors = subprocess.PIPE if limit else None
    done = subprocess.run(
        command,
        check=True,
        stdout=subprocess.PIPE,
        stderr=errors,
        text=True,
        timeout=limit,
    )
    return done.stdout.splitlines()[-1]


def machine() -> dict:
    """What the figures belong to."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = None
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory_gb": round(
            os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
        ),
        "limit_mb": growth.memory_mb(),
        "versions": versions,
    }


if __name__ == "__main__":
    main()
