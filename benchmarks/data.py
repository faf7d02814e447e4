"""Seeded logs for the benchmarks, written once to ``benchmarks/data``."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import polars as pl

HOME = Path(__file__).parent / "data"
GRADES = [0, 1, 2, 3, 4]
SHARES = [0.8, 0.1, 0.05, 0.03, 0.02]


def log(queries: int, docs: int, *, shuffled: bool) -> Path:
    """A log of ``queries`` x ``docs`` rows; query by query, or rows in any order."""
    order = "shuffled" if shuffled else "adjacent"
    path = HOME / f"{queries}x{docs}-{order}.parquet"
    if path.exists():
        return path
    HOME.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    n = queries * docs
    label = rng.choice(np.array(GRADES, dtype=np.int8), size=n, p=SHARES)
    frame = pl.DataFrame(
        {
            "query_id": np.repeat(np.arange(queries, dtype=np.int64), docs),
            "doc_id": rng.integers(0, 50_000_000, n),
            "score": (label * 0.5 + rng.standard_normal(n)).astype(np.float32),
            "label": label,
        }
    )
    if shuffled:
        frame = frame.sample(fraction=1, shuffle=True, seed=1)
    frame.write_parquet(path)
    return path


if __name__ == "__main__":
    for shuffled in (True, False):
        print(log(int(sys.argv[1]), int(sys.argv[2]), shuffled=shuffled))
