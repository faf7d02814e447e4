"""nDCG@10 and AP of 3 million rows in Polars, DuckDB, Spark and Ray: first and later.

``python benchmarks/windows.py FOLDER [CASE ...]`` writes the rows that scale.py calls
scattered (100 per query, 30 files), and runs each case three times in one process, so
that the first has the start of an engine's workers and the last has not. Prints the CPU
seconds of all its processes, the wall time and the means. By hand is SQL: the same
window functions in DuckDB and in Spark.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import scale

MILLIONS, TIMES, BUCKETS = 3, 3, 16
MEASURES = ["ndcg@10", "ap"]
BY_HAND = """
with ranked as (
    select *,
        row_number() over (partition by query_id order by score desc, doc_id) as place,
        row_number() over (partition by query_id order by label desc) as best,
        sum(case when label > 0 then 1 else 0 end) over (
            partition by query_id order by score desc, doc_id
            rows unbounded preceding
        ) as hits
    from {rows}
), each as (
    select query_id,
        sum(case when place <= 10 then label / log2(place + 1) else 0 end)
            / nullif(
                sum(case when best <= 10 then label / log2(best + 1) else 0 end), 0
            ) as ndcg,
        sum(case when label > 0 then hits / place else 0 end)
            / nullif(sum(case when label > 0 then 1 else 0 end), 0) as ap
    from ranked group by query_id
)
select count(*), avg(coalesce(ndcg, 0)), avg(coalesce(ap, 0)) from each
"""
Evaluate = Callable[[Path], object]


@contextmanager
def one() -> Iterator[dict[str, Evaluate]]:
    yield {"one process": lambda rows: scale.one(rows, whole=False, measures=MEASURES)}


@contextmanager
def duckdb() -> Iterator[dict[str, Evaluate]]:
    import duckdb

    def by_hand(rows: Path) -> object:
        query = BY_HAND.format(rows=f"read_parquet('{rows}/*.parquet')")
        return duckdb.sql(query).fetchall()[0]

    yield {"DuckDB, by hand": by_hand}


def cases(adapter, read) -> dict[str, Evaluate]:
    """What an engine evaluates: its own frames, and files that Polars reads."""
    from polars_rank.parts import bucketed, evaluate_parts

    def through_files(rows: Path) -> object:
        shared = rows.parent / "shared"
        try:
            files = sorted(rows.glob("*.parquet"))
            parts = bucketed(files, BUCKETS, shared, map=adapter.map)
            return evaluate_parts(parts, MEASURES, map=adapter.map)
        finally:
            shutil.rmtree(shared, ignore_errors=True)

    name = adapter.__name__.rpartition(".")[2]
    return {
        f"{name}.evaluate": lambda rows: adapter.evaluate(read(rows), MEASURES),
        f"bucketed, {name}.map": through_files,
    }


@contextmanager
def spark() -> Iterator[dict[str, Evaluate]]:
    import polars_rank.spark as adapter

    with scale.spark_session() as session:

        def by_hand(rows: Path) -> object:
            query = BY_HAND.format(rows=f"parquet.`{rows}`")
            return tuple(session.sql(query).first())

        def read(rows: Path) -> object:
            return session.read.parquet(str(rows))

        yield {**cases(adapter, read), "Spark, by hand": by_hand}


@contextmanager
def on_ray() -> Iterator[dict[str, Evaluate]]:
    os.environ |= {"RAY_idle_worker_killing_time_threshold_ms": "600000"}
    import ray

    import polars_rank.ray as adapter

    with scale.ray_cluster():
        yield cases(adapter, lambda rows: ray.data.read_parquet(str(rows)))


ENGINES = {"one": one, "duckdb": duckdb, "spark": spark, "ray": on_ray}


def used() -> float:
    """CPU seconds of this process and of all below it, with those that have ended."""
    import psutil

    me = psutil.Process()
    return sum(sum(p.cpu_times()[:4]) for p in [me, *me.children(recursive=True)])


def run(engine: str, rows: Path) -> None:
    with ENGINES[engine]() as found:
        for name, evaluate in found.items():
            for _ in range(TIMES):
                cpu, start = used(), time.monotonic()
                means = evaluate(rows)
                told = {
                    "case": name,
                    "cpu_s": round(used() - cpu, 1),
                    "wall_s": round(time.monotonic() - start, 1),
                    "means": means if isinstance(means, tuple) else means.row(0),
                }
                print(json.dumps(told), flush=True)


def main() -> None:
    folder, chosen = Path(sys.argv[1]).absolute(), sys.argv[2:]
    if chosen[:1] == ["--run"]:
        run(chosen[1], folder / f"scattered-{MILLIONS}")
        return
    scale.write(folder, MILLIONS)
    for engine in chosen or ENGINES:
        code = [sys.executable, __file__, str(folder), "--run", engine]
        subprocess.run(code, check=False, stderr=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
