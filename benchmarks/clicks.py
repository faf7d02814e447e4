"""Click logs: time as a multiple of a bare group-by, and memory.

    python benchmarks/clicks.py [--rows 1e7] [--runs 5] [--memory 1e8]

One simulated log in a Parquet file, impressions contiguous. Every task is run in turn
with its base, so that a machine with other work slows both; the ratio of the medians
counts. Memory is the peak of a process of its own that reads the file.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path

import polars as pl

from polars_rank import clicks
from polars_rank.clicks.bias.position_rows import Task
from polars_rank.clicks.bias.several_positions.fits import poisson
from polars_rank.clicks.bias.several_positions.harvest import arrays, informative_table
from polars_rank.clicks.bias.several_positions.pair_counts import Counts
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.position_counts import pair_table

TWELVE = (
    *("clicks", "any_click", "abandonment", "ctr@3", "ctr_at@1", "first_click"),
    *("last_click", "click_position", "rr", "mean_rr", "p_skip", "satisfied_rr"),
)
NAMED = {"by": "segment", "dwell": "dwell"}


def scan(path: Path) -> pl.LazyFrame:
    return pl.scan_parquet(path).with_columns(segment=pl.col("user_id") % 8)


def bare(path: Path) -> None:
    """Clicks of impressions, summed by segment: what nobody can do without."""
    (
        scan(path)
        .group_by("impression_id")
        .agg(pl.col("clicked").sum(), pl.col("segment").first())
        .group_by("segment")
        .agg(pl.col("clicked").sum())
        .collect(engine="streaming")
    )


def table(path: Path) -> None:
    """Impressions and clicks of (query, document, position)."""
    (
        scan(path)
        .group_by("query_id", "doc_id", "position")
        .agg(pl.len(), pl.col("clicked").sum())
        .collect(engine="streaming")
    )


def behavior(**options: object) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        clicks.behavior(scan(path), TWELVE, **NAMED, **options).collect()

    return run


def by_user(kind: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        clicks.behavior(
            scan(path), ["ctr"], interval=kind, cluster="user_id", count_queries=False
        ).collect()

    return run


def pairs(path: Path) -> None:
    """The same table, as all estimates of position bias begin."""
    pair_table(ClickLog.of(scan(path), {}), []).collect(engine="streaming")


@cache
def counts(path: Path) -> Counts:
    task = Task(weighting="equal")
    table = informative_table(task, ClickLog.of(scan(path), {}))
    frame = table.collect(engine="streaming").sort("query", "doc", "position")
    positions = frame["position"].unique().sort()
    return arrays(frame, positions, ["doc"]).informative(least=1)


def fit(path: Path) -> None:
    """All steps and errors of the likelihood, without reading the log."""
    poisson(counts(path), 0, max_steps=500, tol=1e-6)


def harvest(path: Path) -> None:
    clicks.propensities(scan(path)).collect()


def ips(path: Path) -> None:
    examined = pl.DataFrame({"position": range(1, 11)}).with_columns(
        propensity=1 / pl.col("position")
    )
    clicks.counterfactual(
        scan(path), new="new_score", propensities=examined, cluster="impression_id"
    ).collect()


def teams(path: Path) -> None:
    clicks.interleaving(scan(path), team="team", cluster="user_id").collect()


def arms(path: Path) -> None:
    clicks.compare_arms(scan(path), ["ctr"], arm="arm", control="A").collect()


TASKS: dict[
    str, tuple[Callable[[Path], None], Callable[[Path], None], float | None]
] = {
    # name: task, base, bar
    "12 measures, by hash": (behavior(layout="any"), bare, 3.0),
    "12 measures, by hash, no queries counted": (
        behavior(layout="any", count_queries=False),
        bare,
        3.0,
    ),
    "12 measures, by hash, unchecked": (
        behavior(layout="any", check="off", count_queries=False),
        bare,
        None,
    ),
    "12 measures, contiguous": (behavior(layout="contiguous"), bare, 3.0),
    "12 measures, auto": (behavior(), bare, 3.0),
    "ctr, errors by user": (by_user("normal"), table, None),
    "ctr, 1,000 bootstrap replicates by user": (by_user("bootstrap"), table, 1.0),
    "table of pairs at positions": (pairs, table, 1.1),
    "Poisson fit, the table being there": (fit, table, 1.0),
    "harvest in all": (harvest, table, None),
    "IPS of a new ranking, with errors": (ips, table, 1.5),
    "interleaving by user": (teams, table, None),
    "comparison of arms": (arms, table, None),
}


def timed(task: Callable[[Path], None], path: Path) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    task(path)
    return time.perf_counter() - wall, time.process_time() - cpu


def peak(name: str, path: Path) -> float:
    """Megabytes of a new process."""
    code = (
        "import re, sys; sys.path.insert(0, sys.argv[1]); import clicks; "
        "from pathlib import Path; clicks.TASKS[sys.argv[2]][0](Path(sys.argv[3])); "
        "print(int(re.search(r'VmHWM:\\s*(\\d+)', open('/proc/self/status').read())[1])"
        " / 1000)"  # ru_maxrss would be that of this process, if it was larger
    )
    here = str(Path(__file__).parent)
    done = subprocess.run(
        [sys.executable, "-c", code, here, name, str(path)],
        check=True,
        capture_output=True,
        text=True,
    )
    return float(done.stdout)


def write_log(rows: int, path: Path) -> float:
    began = time.perf_counter()
    design = clicks.simulate(
        rows // 10, n_arms=2, interleaved_share=0.2, n_queries=20_000, zipf=0.8
    )
    design.scan().sink_parquet(path)
    return time.perf_counter() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=float, default=1e7)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--memory", type=float, default=0, help="rows, e.g. 1e8")
    parser.add_argument("--folder", default=tempfile.gettempdir())
    given = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "log.parquet"
        seconds = write_log(int(given.rows), path)
        print(json.dumps({"simulated": int(given.rows), "seconds": round(seconds, 2)}))
        for name, (task, base, bar) in TASKS.items():
            pairs = [(timed(base, path), timed(task, path)) for _ in range(given.runs)]
            wall, cpu = (
                statistics.median(t[i] for _, t in pairs)
                / statistics.median(b[i] for b, _ in pairs)
                for i in range(2)
            )
            row = {"task": name, "times the base": round(wall, 2), "cpu": round(cpu, 2)}
            print(json.dumps(row | {"bar": bar}), flush=True)
        if given.memory:
            path.unlink()
            write_log(int(given.memory), path)
            for name in ("12 measures, contiguous", "12 measures, by hash"):
                print(
                    json.dumps({"task": name, "peak MB": round(peak(name, path))}),
                    flush=True,
                )


if __name__ == "__main__":
    main()
