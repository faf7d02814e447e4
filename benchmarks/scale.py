"""One process, two processes, Ray, Spark and Dask: CPU per row, memory, start-up.

``python benchmarks/scale.py FOLDER [CASE ...]`` writes 5 and 20 million rows (100 per
query) to files there once, and evaluates five measures of them in every case, each in a
process of its own. Prints, for each, the CPU seconds and the peak memory (unique to
each process) of its whole tree, and the wall time. The engines run in local mode with
two workers; those that are not installed are left out. The first process and those that
it waited for tell what they used; others are looked at every tenth of a second, so a
little of what they do last is not counted.

``whole``: each file holds whole queries, and workers read files. ``scattered``: the
rows of a query are in many files, and the engine brings them together.
"""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MILLIONS = (5, 20)
ROWS_PER_FILE = 100_000
MEASURES = ["ndcg@10", "ap", "rr", "precision@5", "recall@20"]
CASES = {
    "one process, whole": "one",
    "one process, scattered": "one",
    "two processes, whole": "two",
    "Ray, whole": "ray",
    "Ray, scattered": "ray",
    "Dask, whole": "dask",
    "Dask, scattered": "dask",
    "Spark, whole": "spark",
    "Spark, scattered": "spark",
}
EVERY = 0.1  # seconds between two looks at the processes


def write(folder: Path, millions: int) -> None:
    import numpy as np
    import polars as pl

    files = millions * 10**6 // ROWS_PER_FILE
    for kind in ("whole", "scattered"):
        place = folder / f"{kind}-{millions}"
        place.mkdir(parents=True, exist_ok=True)
        for i in range(files):
            path = place / f"{i:03}.parquet"
            if path.exists():
                continue
            row = np.arange(ROWS_PER_FILE, dtype=np.uint64)
            row = row + i * ROWS_PER_FILE if kind == "whole" else row * files + i
            mixed = (row * np.uint64(11400714819323198485)) >> np.uint64(20)
            pl.DataFrame(
                {
                    "query_id": (row // 100).astype(np.int64),
                    "doc_id": (row % 100).astype(np.int64),
                    "score": (mixed % 2**32) / 2**32,
                    "label": ((mixed >> np.uint64(8)) % 7 // 4).astype(np.int8),
                }
            ).write_parquet(path)


def one(folder: Path, *, whole: bool, measures: Sequence[str] = MEASURES):
    import polars as pl

    import polars_rank as pr

    return pr.evaluate(pl.scan_parquet(folder / "*.parquet"), measures).collect()


def two(folder: Path, *, whole: bool):
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        return parts(folder, pool.map)


def parts(folder: Path, map):
    from polars_rank.parts import evaluate_parts, files

    return evaluate_parts(files(sorted(folder.glob("*.parquet"))), MEASURES, map=map)


@contextmanager
def ray_cluster() -> Iterator[None]:
    import ray

    ray.init(
        num_cpus=2,
        object_store_memory=2_000_000_000,
        include_dashboard=False,
        log_to_driver=False,
    )
    ray.data.DataContext.get_current().enable_progress_bars = False
    try:
        yield
    finally:
        ray.shutdown()


def on_ray(folder: Path, *, whole: bool):
    import ray

    import polars_rank.ray as adapter

    with ray_cluster():
        if whole:
            return parts(folder, adapter.map)
        return adapter.evaluate(ray.data.read_parquet(str(folder)), MEASURES)


def on_dask(folder: Path, *, whole: bool):
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    import polars_rank.dask as adapter

    cluster = LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    )
    with cluster, Client(cluster):
        if whole:
            return parts(folder, adapter.map)
        log = dd.read_parquet(str(folder), dtype_backend="pyarrow")
        return adapter.evaluate(log, MEASURES, partitions=16)


@contextmanager
def spark_session() -> Iterator[Any]:
    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    settings = {
        "driver.bindAddress": "127.0.0.1",
        "driver.memory": "2g",
        "ui.enabled": "false",
        "ui.showConsoleProgress": "false",
    }
    for name, value in settings.items():
        builder = builder.config(f"spark.{name}", value)
    session = builder.getOrCreate()
    try:
        yield session
    finally:
        session.stop()


def on_spark(folder: Path, *, whole: bool):
    import polars_rank.spark as adapter

    with spark_session() as session:
        if whole:
            return parts(folder, adapter.map)
        return adapter.evaluate(session.read.parquet(str(folder)), MEASURES)


RUNS = {"one": one, "two": two, "ray": on_ray, "dask": on_dask, "spark": on_spark}


def watched(case: str, folder: Path, millions: int) -> dict[str, object]:
    """Run a case in a process of its own, and look at its tree until it ends."""
    import psutil

    code = [sys.executable, __file__, "--run", case, str(folder), str(millions)]
    threads = {} if case.startswith("one") else {"POLARS_MAX_THREADS": "1"}
    start = time.monotonic()
    process = subprocess.Popen(
        code,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=os.environ | threads,
    )
    cpu: dict[tuple[int, float], float] = {}
    peak = 0
    while process.poll() is None:
        memory = 0
        try:
            root = psutil.Process(process.pid)
            tree = [root, *root.children(recursive=True)]
        except psutil.Error:
            tree = []
        for p in tree:
            try:
                times = p.cpu_times()
                cpu[p.pid, p.create_time()] = times.user + times.system
                memory += p.memory_full_info().uss
            except psutil.Error:  # it has ended
                continue
        peak = max(peak, memory)
        time.sleep(EVERY)
    assert process.stdout is not None
    lines = process.stdout.read().splitlines()
    told = json.loads(lines[-1]) if process.returncode == 0 else {}
    seen = sum(s for (pid, _), s in cpu.items() if pid != process.pid)
    first, waited_for = told.get("cpu_s", (math.nan, math.nan))
    return {
        "case": case,
        "millions": millions,
        "cpu_s": round(first + max(seen, waited_for), 1),
        "peak_mb": round(peak / 1e6),
        "wall_s": round(time.monotonic() - start, 1),
        "means": told.get("means"),
    }


def main() -> None:
    if sys.argv[1] == "--run":
        _, _, case, folder, millions = sys.argv
        kind = case.rpartition(" ")[2]
        place = Path(folder) / f"{kind}-{millions}"
        means = RUNS[CASES[case]](place, whole=kind == "whole")
        used = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        values = [v.hex() if isinstance(v, float) else v for v in means.row(0)]
        cpu = [u.ru_utime + u.ru_stime for u in used]
        print(json.dumps({"cpu_s": cpu, "means": values}))
        return
    folder, chosen = Path(sys.argv[1]), sys.argv[2:]
    for millions in MILLIONS:
        write(folder, millions)
    for case in chosen or CASES:
        for millions in MILLIONS:
            print(json.dumps(watched(case, folder, millions)), flush=True)


if __name__ == "__main__":
    main()
