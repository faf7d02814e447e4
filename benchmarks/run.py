"""Time this library, its peers and the floor on one log, interleaved; one table.

``python benchmarks/run.py`` takes minutes; ``--queries`` and ``--docs`` set the size,
``--rounds`` how often each contender runs, ``--only`` which of them.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
NEEDS = {
    "floor": "numba",
    "duckdb": "duckdb",
    "pandas": "pandas",
    "pytrec_eval": "pytrec_eval",
    "ranx": "ranx",
}
NAMES = (
    "scan", "floor", "hand_written", "polars_rank", "polars_rank_30", "duckdb",
    "pandas", "pytrec_eval", "ranx",
)  # fmt: skip
CONTIGUOUS = ("floor",)  # gets the rows query by query; the others in any order
SLOW = ("pytrec_eval", "ranx")  # one round each


def data(queries: int, docs: int) -> list[Path]:
    """Make the files in another process: peak memory is inherited by children."""
    command = [sys.executable, str(HERE / "data.py"), str(queries), str(docs)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return [Path(line) for line in done.stdout.splitlines()]


def once(name: str, path: Path) -> dict:
    command = [sys.executable, str(HERE / "contenders.py"), name, str(path)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=100_000)
    parser.add_argument("--docs", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="*", default=NAMES, choices=NAMES)
    options = parser.parse_args()
    found = [n for n in NAMES if n in options.only]
    lacking = [
        n for n in found if n in NEEDS and not importlib.util.find_spec(NEEDS[n])
    ]
    runs: dict[str, list[dict]] = {n: [] for n in found if n not in lacking}
    shuffled, adjacent = data(options.queries, options.docs)
    for turn in range(options.rounds):
        for name, done in runs.items():
            if name in SLOW and turn:
                continue
            done.append(once(name, adjacent if name in CONTIGUOUS else shuffled))
            print(f"round {turn + 1}: {name}", file=sys.stderr)
    show(options, runs, lacking)


def show(
    options: argparse.Namespace, runs: dict[str, list[dict]], lacking: list
) -> None:
    rows = options.queries * options.docs
    print(f"\n{rows:,} rows ({options.queries:,} queries x {options.docs:,}); medians")
    print(
        f"of {options.rounds} interleaved rounds, ratios to polars_rank pair by pair\n"
    )
    print("| contender | load, s | evaluate, s | both / polars_rank | peak, MB |")
    print("|---|---:|---:|---:|---:|")
    ours = runs.get("polars_rank", [])
    for name, done in runs.items():
        total = [run["load"] + run["evaluate"] for run in done]
        base = [run["load"] + run["evaluate"] for run in ours]
        ratio = [a / b for a, b in zip(total, base, strict=False)]
        cells = [
            f"{statistics.median(run[key] for run in done):.2f}"
            for key in ("load", "evaluate")
        ]
        peak = statistics.median(run["peak_mb"] for run in done)
        against = f"{statistics.median(ratio):.2f}" if ratio else ""
        print(f"| {name} | {cells[0]} | {cells[1]} | {against} | {peak:.0f} |")
    if lacking:
        print(f"\nnot installed: {', '.join(lacking)} (pip install -e '.[bench]')")
    if ours:
        agree(runs, ours[0]["means"])


def agree(runs: dict[str, list[dict]], means: list[float]) -> None:
    """All contenders must find the same five means; ties and float32 aside."""
    for name, done in runs.items():
        if name in ("scan", "polars_rank_30"):
            continue
        pairs = zip(done[0]["means"], means, strict=True)
        if not all(math.isclose(a, b, rel_tol=1e-4) for a, b in pairs):
            print(f"\n{name} finds other means: {done[0]['means']}, not {means}")


if __name__ == "__main__":
    main()
