"""What exact sums cost: ``python benchmarks/sums.py``.

Evaluates logs with the sums that the library takes, and with plain ones in their place,
in turns, in one process with one thread of Polars: CPU time, the least of the rounds.
Queries of few documents are the hard case, since sums are over queries. The last lines
are the sums alone, of values that are there.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

os.environ.setdefault("POLARS_MAX_THREADS", "1")

import polars as pl

import polars_rank as pr
from polars_rank.core.exact import aggregate

MEASURES = {
    5: ["ndcg@10", "ap", "rr", "precision@10", "recall@100"],
    20: [f"{name}@{k}" for name in ("ndcg", "ap", "rr", "recall") for k in range(1, 6)],
}
DEPTHS = 100, 10, 3  # documents of a query


def log(rows: int, depth: int) -> pl.LazyFrame:
    """A log whose rows are contiguous by query."""
    i = pl.int_range(rows)
    columns = {"query_id": i // depth, "score": (i * 7919 % 104_729).cast(pl.Float64)}
    return pl.select(**columns, label=(i * 31 % 101 % 5 == 0).cast(pl.Int8)).lazy()


@contextmanager
def plain_sums() -> Iterator[None]:
    """Sums of floats, as Polars adds them, in place of exact ones."""
    kept = aggregate.exact_sum, aggregate.exact_total
    aggregate.exact_sum = lambda name, value: {f"{name}_plain": value.sum()}
    aggregate.exact_total = lambda name, state: state[f"{name}_plain"]
    try:
        yield
    finally:
        aggregate.exact_sum, aggregate.exact_total = kept


def exact(rows: pl.LazyFrame, measures: list[str]) -> pl.DataFrame:
    """The means."""
    plan = pr.evaluate(rows, measures, layout="contiguous", check="off")
    return plan.collect(engine="streaming")


def plain(rows: pl.LazyFrame, measures: list[str]) -> pl.DataFrame:
    """The means by plain sums."""
    with plain_sums():
        return exact(rows, measures)


def least(rounds: int, *calls: Callable[[], object]) -> list[float]:
    """CPU seconds of each call, in turns; the least of the rounds."""
    times: list[list[float]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, taken in zip(calls, times, strict=True):
            begun = time.process_time()
            call()
            taken.append(time.process_time() - begun)
    return [min(taken) for taken in times]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    print("| documents per query | measures | exact, s | plain, s | exact / plain |")
    print("|---:|---:|---:|---:|---:|")
    for depth in DEPTHS:
        rows = log(given.rows, depth)
        for number, measures in MEASURES.items():
            found = least(
                given.rounds,
                partial(exact, rows, measures),
                partial(plain, rows, measures),
            )
            cells = f"{found[0]:.3f} | {found[1]:.3f} | {found[0] / found[1]:.2f}"
            print(f"| {depth} | {number} | {cells} |", flush=True)
    values = pl.select(x=(pl.int_range(given.rows) * 7919 % 104_729) / 104_729).lazy()
    sums = aggregate.exact_sum("x", pl.col("x"))
    total = aggregate.exact_total("x", {name: pl.col(name) for name in sums})
    exact_plan = values.select(**sums).select(total)
    plain_plan = values.select(pl.col("x").sum())
    found = least(
        given.rounds,
        lambda: exact_plan.collect(engine="streaming"),
        lambda: plain_plan.collect(engine="streaming"),
    )
    per_value = (found[0] - found[1]) / given.rows * 1e9
    print(f"\none sum of {given.rows:,} values: {per_value:.1f} ns more for each")


if __name__ == "__main__":
    main()
