"""Coverage of 95 % intervals of a mean difference, by simulation.

``python benchmarks/intervals.py [repetitions]``: differences of which 40 % are 0 and
the others skewed; 95 % of the intervals should hold their true mean.
"""

from __future__ import annotations

import sys

import numpy as np
import polars as pl

import polars_rank as pr

N = 60
INTERVALS = ("t", "percentile", "bca", "studentised", "bayesian")


def differences(draw: np.random.Generator, n: int) -> np.ndarray:
    """Mean 0.03: 40 % ties, the rest gamma distributed."""
    skewed = draw.gamma(2.0, 0.1, n) - 0.15
    return np.where(draw.random(n) < 0.4, 0.0, skewed)


def plain(draw: np.random.Generator) -> dict[str, np.ndarray]:
    return {"d": differences(draw, N)}


def clusters(draw: np.random.Generator) -> dict[str, np.ndarray]:
    """Queries of a user share a part of the difference."""
    users = np.repeat(np.arange(30), 4)
    return {"d": differences(draw, 120) + draw.normal(0, 0.1, 30)[users], "user": users}


def weights(draw: np.random.Generator) -> dict[str, np.ndarray]:
    """Traffic that has nothing to do with the difference."""
    return {"d": differences(draw, N), "traffic": draw.integers(1, 20, N)}


CASES = {
    **{name: (plain, {"interval": name}) for name in INTERVALS},
    "clusters": (clusters, {"cluster": "user"}),
    "clusters ignored": (clusters, {}),
    "weights": (weights, {"weight": "traffic"}),
}


def covered(case: str, repetitions: int, seed: int = 0) -> float:
    """Every repetition is a segment, compared by itself."""
    make, options = CASES[case]
    draw = np.random.default_rng(seed)
    parts = [
        pl.DataFrame(make(draw)).with_columns(repetition=pl.lit(i))
        for i in range(repetitions)
    ]
    new = pl.concat(parts).with_row_index("query_id").rename({"d": "value"})
    values = pl.concat(
        [
            new.with_columns(system=pl.lit("a"), value=pl.lit(0.0)),
            new.with_columns(system=pl.lit("b")),
        ]
    )
    pairs = pr.compare(
        values, measures="value", by="repetition", resamples=999, **options
    ).pairs
    assert len(pairs) == repetitions
    holds = (pl.col("low") <= 0.03) & (pl.col("high") >= 0.03)
    return pairs.select(holds.mean()).item()


def main(repetitions: int) -> None:
    print("| interval | coverage |\n|---|---:|")
    for case in CASES:
        print(f"| {case} | {100 * covered(case, repetitions):.1f} % |")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
