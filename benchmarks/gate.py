"""How often each rule of a gate fails neutral changes and misses real drops.

``python benchmarks/gate.py [repetitions]``: 30 % of the queries change, by
N(change / 0.3, 0.25); the margin is 0.01. The rows are shares of builds that fail.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl

import polars_rank as pr

MARGIN, SHARE, SPREAD = 0.01, 0.3, 0.25
CASES = [
    (50, 0.0), (50, -0.05), (200, 0.0), (200, -0.02), (1000, 0.0), (1000, -0.005),
    (1000, -0.02), (5000, -0.005),
]  # fmt: skip
RULES = {
    "any drop": {"rule": "threshold", "margin": 0.0},
    "drop > margin": {"rule": "threshold", "margin": MARGIN},
    "sure drop": {"rule": "significant", "margin": 0.0},
    "sure and > margin": {"rule": "significant", "margin": MARGIN},
    "not shown non-inferior": {"rule": "non_inferior", "margin": MARGIN},
}


def changes(draw: np.random.Generator, n: int, mean: float) -> np.ndarray:
    changed = draw.random(n) < SHARE
    return np.where(changed, draw.normal(mean / SHARE, SPREAD, n), 0.0)


def shares(n: int, mean: float, repetitions: int, seed: int = 0) -> dict[str, float]:
    """Every build is a segment, checked by itself."""
    draw = np.random.default_rng(seed)
    rows = n * repetitions
    base = pl.DataFrame(
        {
            "query_id": np.arange(rows),
            "build": np.repeat(np.arange(repetitions), n),
            "value": draw.random(rows),
        }
    )
    new = base.with_columns(pl.col("value") + changes(draw, rows, mean))
    found = {}
    for name, options in RULES.items():
        checks = pr.gate(
            base, new, measures="value", by="build", correction="none", **options
        ).checks
        builds = checks.filter(pl.col("segment") != "all")
        found[name] = builds.select((pl.col("verdict") == "fail").mean()).item()
    return found


def main(repetitions: int) -> None:
    print("| n | true change | " + " | ".join(RULES) + " |")
    print("|---:|---:|" + "---:|" * len(RULES))
    for n, mean in CASES:
        row = shares(n, mean, repetitions)
        print(
            f"| {n} | {mean:g} | " + " | ".join(f"{v:.3f}" for v in row.values()) + " |"
        )


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
