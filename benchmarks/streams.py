"""Peak memory of evaluations of streams: does it grow with the rows?

``python benchmarks/streams.py FOLDER`` writes files of 1 million rows (10,000 queries x
100) there once, and evaluates the first 5, 10 and 20 of them, each in a process of its
own: as a scan of Polars, a pyarrow dataset and a DuckDB query (needs duckdb). Prints
queries, mean and peak resident memory in MB.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from measure import peak_mb

FILES = (5, 10, 20)
MEASURES = ["ndcg@10", "ap", "rr", "precision@5", "recall@20"]
SOURCES = {
    "Polars scan": "pl.scan_parquet(files)",
    "pyarrow dataset": "dataset(files)",
    "DuckDB query": "duckdb.sql(f'select * from read_parquet({files})')",
}
OPTIONS = {
    "contiguous": {"layout": "contiguous"},
    "memory_limit": {"layout": "any", "memory_limit": "600MB"},
}


def write(folder: Path) -> list[str]:
    import numpy as np
    import polars as pl

    files = [folder / f"part-{i:03}.parquet" for i in range(max(FILES))]
    for i, path in enumerate(files):
        if path.exists():
            continue
        rng = np.random.default_rng(i)
        query = np.repeat(np.arange(10_000) + 10_000 * i, 100)
        pl.DataFrame(
            {
                "query_id": query,
                "doc_id": np.tile(np.arange(100), 10_000),
                "score": rng.random(len(query)),
                "label": rng.choice([0, 0, 0, 0, 1, 2], len(query)).astype(np.int8),
            }
        ).write_parquet(path, row_group_size=100_000)
    return [str(path) for path in files]


def run(source: str, layout: str, files: list[str]) -> None:
    import polars as pl
    from pyarrow.dataset import dataset

    import polars_rank as pr

    names = {"pl": pl, "dataset": dataset, "files": files}
    if "duckdb" in SOURCES[source]:
        import duckdb

        duckdb.sql("set memory_limit = '500MB'; set threads = 2")
        names["duckdb"] = duckdb
    frame = eval(SOURCES[source], names)
    means = pr.evaluate(frame, MEASURES, **OPTIONS[layout]).lazy().collect()
    print(means["queries"].item(), means["ap"].item().hex(), round(peak_mb()))


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    files = write(folder)
    for layout in OPTIONS:
        for source in SOURCES:
            peaks = []
            for count in FILES:
                task = [sys.executable, __file__, source, layout, *files[:count]]
                done = subprocess.run(task, check=False, capture_output=True, text=True)
                last = (done.stdout or done.stderr).strip().splitlines() or ["?"]
                peaks.append(last[-1])
            print(f"{layout:13} {source:16} " + " | ".join(peaks), flush=True)


if __name__ == "__main__":
    if sys.argv[1] in SOURCES:
        run(sys.argv[1], sys.argv[2], sys.argv[3:])
    else:
        main(Path(sys.argv[1]))
