"""Speed of comparisons, beside a bare mean, what no code can spare, and ranx.

``python benchmarks/compare.py [queries]``: CPU seconds and wall seconds of 20 systems x
10 measures (default 1,000,000 queries; needs 4 GB), of exact tests and of resamples.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from itertools import combinations
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

import polars_rank as pr

Block: TypeAlias = npt.NDArray[np.float64]


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


def timed(name: str, call: Callable[[], object]) -> float:
    wall, cpu = time.perf_counter(), sum(os.times()[:2])
    call()
    used = sum(os.times()[:2]) - cpu
    print(f"| {name} | {used:.2f} | {time.perf_counter() - wall:.2f} |", flush=True)
    return used


def with_ranx() -> None:
    """5 systems x 10 measures of 1,000 queries, loading included."""
    try:
        import ranx
    except ImportError:
        print("| ranx is not installed | | |")
        return
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

    for when in ("", ", again"):  # the first call of ranx compiles
        timed(f"ranx, 5 systems x 10 measures x 1,000 queries{when}", theirs)
        timed(f"polars_rank, the same{when}", ours)


def least(values: pl.DataFrame, count: Callable[[Block, int, int], object]) -> None:
    """Do something with all pairs of systems, in blocks that stay in the cache."""
    for name in values.columns[2:]:
        columns = values[name].to_numpy().reshape(20, -1)
        for start in range(0, columns.shape[1], 8192):
            block = columns[:, start : start + 8192]
            for i, j in combinations(range(20), 2):
                count(block, i, j)


def compared(block: Block, i: int, j: int) -> None:
    np.count_nonzero(block[j] > block[i]), np.count_nonzero(block[j] < block[i])


def product(values: pl.DataFrame) -> None:
    for name in values.columns[2:]:
        columns = values[name].to_numpy().reshape(20, -1)
        columns @ columns.T


def large(queries: int) -> None:
    """The default path, beside a mean of the same frame."""
    values = frame(queries, 20, 10)
    shuffled = np.random.default_rng(3).permutation(queries)
    other = values.with_columns(query_id=np.tile(shuffled, 20))
    mixed = values.sample(fraction=1.0, shuffle=True, seed=1)
    means = values.lazy().group_by("system").mean()
    calls = {
        "group_by(system).mean()": lambda: means.collect(engine="streaming"),
        "compare, 19 pairs": lambda: pr.compare(values, baseline="s00"),
        "compare, all 190 pairs": lambda: pr.compare(values),
        "of that by hand: products of systems": lambda: product(values),
        "of that by hand: wins and losses": lambda: least(values, compared),
        "compare, queries in another order": lambda: pr.compare(other),
        "compare, rows shuffled": lambda: pr.compare(mixed),
    }
    rounds = 3  # the machine may be busy: the best of some
    used = {
        name: min(timed(name, call) for _ in range(rounds))
        for name, call in calls.items()
    }
    bare = used["group_by(system).mean()"]
    for name, seconds in used.items():
        print(f"| {name}: times the mean | {seconds / bare:.1f} | |", flush=True)


def main(queries: int) -> None:
    print("| what | CPU s | wall s |\n|---|---:|---:|")
    pr.compare(frame(100, 2, 1))  # imports
    large(queries)
    few, some = frame(40, 2, 1), frame(1000, 5, 1)
    exact = {"test": "randomisation"}
    timed("exact randomisation, 40 queries", lambda: pr.compare(few, **exact))
    for options in (exact, {"interval": "bca"}):
        name = f"9,999 resamples, 1,000 queries x 10 pairs, {options}"
        timed(name, lambda chosen=options: pr.compare(some, **chosen))
    with_ranx()


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
