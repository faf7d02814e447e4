"""Speed of comparisons, beside a bare mean, what no code can spare, scipy and ranx.

``python benchmarks/compare.py [queries] [--write]``: CPU and wall seconds of 20
systems x 10 measures (default 1,000,000 queries; needs 8 GB), of exact tests and of
resamples. The table is printed; with ``--write`` it goes into ``benchmarks/README.md``.
"""

from __future__ import annotations

import os
import platform
import sys
import time
from collections.abc import Callable, Mapping
from itertools import combinations
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

import polars_rank as pr

Block: TypeAlias = npt.NDArray[np.float64]
Calls: TypeAlias = Mapping[str, Callable[[], object]]
SYSTEMS, MEASURES, ROUNDS = 20, 10, 4
PAGE = Path(__file__).parent / "README.md"
MARKS = "<!-- comparisons -->\n", "<!-- /comparisons -->\n"


class Used(NamedTuple):
    """Seconds of all threads, and by the clock."""

    cpu: float
    wall: float


def frame(queries: int, systems: int, measures: int) -> pl.DataFrame:
    """Sorted by system and query, as per_query leaves it."""
    draw = np.random.default_rng(1)
    names = [f"s{i:02}" for i in range(systems)]
    return pl.DataFrame(
        {
            "system": np.repeat(names, queries),
            "query_id": np.tile(np.arange(queries), systems),
            **{f"m{k}": draw.random(queries * systems) for k in range(measures)},
        }
    )


def timed(call: Callable[[], object]) -> Used:
    wall, cpu = time.perf_counter(), sum(os.times()[:2])
    call()
    return Used(sum(os.times()[:2]) - cpu, time.perf_counter() - wall)


def measured(calls: Calls, rounds: int) -> dict[str, Used]:
    """The least of several rounds, in turns: the machine may be busy."""
    used: dict[str, list[Used]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            used[name].append(timed(call))
            print(f"{name}: {used[name][-1]}", file=sys.stderr, flush=True)
    return {name: min(found) for name, found in used.items()}


def table(used: Mapping[str, Used], against: str) -> list[str]:
    bare = used[against].cpu
    return [
        f"| what | CPU s | wall s | times {against} |",
        "|---|---:|---:|---:|",
        *(
            f"| {name} | {u.cpu:.2f} | {u.wall:.2f} | {u.cpu / bare:.2g} |"
            for name, u in used.items()
        ),
        "",
    ]


# -- a million queries


def products(values: pl.DataFrame) -> None:
    """All covariances are made of these."""
    for name in values.columns[2:]:
        columns = values[name].to_numpy().reshape(SYSTEMS, -1)
        columns @ columns.T


def comparisons(values: pl.DataFrame) -> None:
    """All wins and losses are made of these, in blocks that stay in the cache."""
    for name in values.columns[2:]:
        columns = values[name].to_numpy().reshape(SYSTEMS, -1)
        for start in range(0, columns.shape[1], 8192):
            block = columns[:, start : start + 8192]
            for i, j in combinations(range(SYSTEMS), 2):
                np.count_nonzero(block[j] > block[i])
                np.count_nonzero(block[j] < block[i])


def with_scipy(values: pl.DataFrame) -> None:
    """What users write: t tests of 19 pairs, without wins, losses and intervals."""
    from scipy import stats

    for name in values.columns[2:]:
        columns = values[name].to_numpy().reshape(SYSTEMS, -1)
        for j in range(1, SYSTEMS):
            stats.ttest_rel(columns[j], columns[0])


def large(queries: int) -> list[str]:
    """The default path, beside a mean of the same frame."""
    values = frame(queries, SYSTEMS, MEASURES)
    tied = values.with_columns(pl.selectors.starts_with("m").round(1))
    shuffled = np.random.default_rng(3).permutation(queries)
    other = values.with_columns(query_id=np.tile(shuffled, SYSTEMS))
    means = values.lazy().group_by("system").mean()
    bare = '`group_by("system").mean()`'
    calls: dict[str, Callable[[], object]] = {
        bare: lambda: means.collect(engine="streaming"),
        "`compare`, one baseline (19 pairs)": lambda: pr.compare(
            values, baseline="s00"
        ),
        "`compare`, all 190 pairs": lambda: pr.compare(values),
        "the same, values of one decimal (ties)": lambda: pr.compare(tied),
        "the same, queries in an order of their own": lambda: pr.compare(other),
        "by hand: products of the systems' columns": lambda: products(values),
        "by hand: wins and losses of 190 pairs": lambda: comparisons(values),
    }
    used = measured(calls, ROUNDS)
    before, most = memory(lambda: pr.compare(values))
    mixed = values.sample(fraction=1.0, shuffle=True, seed=1)
    once: dict[str, Callable[[], object]] = {
        "`compare`, all 190 pairs, rows shuffled": lambda: pr.compare(mixed),
        "scipy's `ttest_rel` of 19 pairs, no wins": lambda: with_scipy(values),
    }
    used |= measured(once, 1)
    size, grown = values.estimated_size("gb"), (most - before) / 1e6
    said = f"Beside the frame of {size:.1f} GB, a repeated `compare` made the process "
    return [*table(used, bare), f"{said}grow by {grown:.0f} MB at most.", ""]


def memory(call: Callable[[], object]) -> tuple[int, int]:
    """Bytes before the call, and at its peak (Linux)."""
    status = Path("/proc/self/status")
    if not status.exists():
        return 0, 0

    def read(name: str) -> int:
        lines = dict(line.split(":", 1) for line in status.read_text().splitlines())
        return int(lines[name].split()[0]) * 1024

    Path("/proc/self/clear_refs").write_text("5")
    before = read("VmRSS")
    call()
    return before, read("VmHWM")


# -- few queries


def small() -> list[str]:
    few, some = frame(40, 2, 1), frame(1000, 5, 1)
    exact = {"test": "randomization"}
    resampled = "9,999 resamples, 1,000 queries x 10 pairs"
    calls: dict[str, Callable[[], object]] = {
        "exact randomization, 40 queries": lambda: pr.compare(few, **exact),
        f"{resampled}, random signs": lambda: pr.compare(some, **exact),
        f"{resampled}, BCa": lambda: pr.compare(some, interval="bca"),
        "scipy's `permutation_test`, the same": lambda: permuted(some),
    }
    used = measured(calls, 3)
    return table(used, "exact randomization, 40 queries")


def permuted(values: pl.DataFrame) -> None:
    from scipy import stats

    columns = values["m0"].to_numpy().reshape(5, -1)
    for i, j in combinations(range(5), 2):
        stats.permutation_test(
            (columns[j] - columns[i],), np.mean, permutation_type="samples",
            vectorized=True, n_resamples=9999,
        )  # fmt: skip


def beside_ranx() -> list[str]:
    """5 systems x 10 measures of 1,000 queries, loading included."""
    try:
        import ranx
    except ImportError:
        return ["ranx is not installed.", ""]
    draw = np.random.default_rng(2)
    qrels = {
        f"q{i}": {f"d{j}": int(draw.integers(0, 3)) for j in range(20)}
        for i in range(1000)
    }
    runs = {
        f"s{s}": {
            q: {d: float(draw.random()) for d in docs} for q, docs in qrels.items()
        }
        for s in range(5)
    }
    measures = [f"ndcg@{k}" for k in range(1, 11)]

    def theirs() -> None:
        given = [ranx.Run.from_dict(run, name) for name, run in runs.items()]
        ranx.compare(ranx.Qrels.from_dict(qrels), given, measures, stat_test="student")

    def flat(nested: dict, name: str) -> pl.DataFrame:
        rows = [(q, d, v) for q, docs in nested.items() for d, v in docs.items()]
        return pl.DataFrame(rows, schema=["query_id", "doc_id", name], orient="row")

    def ours() -> None:
        given = {name: flat(run, "score") for name, run in runs.items()}
        pr.compare(given, measures=measures, qrels=flat(qrels, "label"))

    what = "5 systems x 10 measures x 1,000 queries"
    first = f"`compare`, {what}"
    used = measured({first: ours, f"ranx, {what}, which compiles": theirs}, 1)
    used |= measured({f"{first}, again": ours, "ranx, again": theirs}, 3)
    return table(used, first)


def main(queries: int, *, write: bool) -> None:
    told = beside_ranx()  # first: a new process compiles and imports
    pr.compare(frame(100, 2, 1))
    told = [*large(queries), *small(), *told]
    load = ", ".join(f"{v:.0f}" for v in os.getloadavg())
    told.append(
        f"{queries:,} queries, {pl.thread_pool_size()} threads, load {load}; Polars "
        f"{pl.__version__}, NumPy {np.__version__}, Python {platform.python_version()}."
    )
    text = "\n".join(told) + "\n"
    print(text)
    if write:
        before, rest = PAGE.read_text().split(MARKS[0])
        after = rest.split(MARKS[1])[1]
        PAGE.write_text(f"{before}{MARKS[0]}{text}{MARKS[1]}{after}")


if __name__ == "__main__":
    numbers = [int(word) for word in sys.argv[1:] if word.isdigit()]
    main(numbers[0] if numbers else 1_000_000, write="--write" in sys.argv)
