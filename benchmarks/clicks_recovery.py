"""Click logs: how often intervals cover the truth, on simulated logs.

    python benchmarks/clicks_recovery.py [--repetitions 200]

Coverage is the share of 95 % intervals that hold the truth: of 200 repetitions, 92 to
98 % for an honest interval. The last column says what a row must show; one that must
fail shows why errors by user are needed.
"""

from __future__ import annotations

import argparse
import math
import statistics
import warnings
from collections.abc import Callable, Iterator

import polars as pl

from polars_rank import clicks

Found = tuple[float, float, float, float]  # estimate, lower, upper, truth


def aa(seed: int, cluster: str, kind: str, measure: str) -> Found:
    """Two arms that are the same: the truth of their difference is 0."""
    log = clicks.simulate(
        4000, queries=100, users=400, user_sd=1.0, arms=2, seed=seed
    ).log
    found = clicks.behaviour(
        log, measure, by="arm", cluster=cluster, interval=kind, replicates=400
    )
    (a, b), (sa, sb) = found["estimate"], found["se"]
    half = 1.959964 * math.hypot(sa, sb)
    return b - a, b - a - half, b - a + half, 0.0


def compared(seed: int) -> Found:
    """The same by the comparison of arms."""
    log = clicks.simulate(
        4000, queries=100, users=400, user_sd=1.0, arms=2, seed=seed
    ).log
    row = clicks.compare(log, "ctr", arm="arm", control="A").row(0, named=True)
    return row["effect"], row["lower"], row["upper"], 0.0


def adjusted(seed: int) -> Found:
    """The same with the clicks of the same users before the experiment."""
    # Impressions of even and odd number: before, and in the experiment.
    log = clicks.simulate(
        8000, queries=100, users=400, user_sd=1.0, arms=2, seed=seed
    ).log
    odd = pl.col("impression_id") % 2 == 1
    row = clicks.compare(
        log.filter(odd), "ctr", arm="arm", control="A", covariates=log.filter(~odd)
    ).row(0, named=True)
    return row["effect"], row["lower"], row["upper"], 0.0


def interleaved(seed: int) -> Found:
    """Two teams of the same ranker: no preference."""
    log = clicks.simulate(
        2000, queries=100, users=300, user_sd=1.0, interleaved=1.0, seed=seed
    ).log
    coin = pl.col("impression_id").hash(seed) % 2 == 0  # the names of teams say nothing
    team = pl.col("team").cast(pl.String)
    swapped = pl.when(team == "A").then(pl.lit("B")).otherwise(pl.lit("A"))
    log = log.with_columns(team=pl.when(coin).then(team).otherwise(swapped))
    row = clicks.interleaving(log, team="team", cluster="user_id").row(0, named=True)
    return row["preference"], row["lower"], row["upper"], 0.0


ROWS: dict[str, tuple[Callable[[int], Found], str]] = {
    "A/A ctr, errors by user": (
        lambda s: aa(s, "user_id", "normal", "ctr"),
        "92 to 98 %",
    ),
    "A/A ctr, errors by impression": (
        lambda s: aa(s, "impression_id", "normal", "ctr"),
        "below 85 %",
    ),
    "A/A p_skip, errors by user": (
        lambda s: aa(s, "user_id", "normal", "p_skip"),
        "92 to 98 %",
    ),
    "A/A ctr, bootstrap by user": (
        lambda s: aa(s, "user_id", "bootstrap", "ctr"),
        "92 to 98 %",
    ),
    "A/A comparison of arms": (compared, "92 to 98 %"),
    "A/A comparison of arms, CUPED": (adjusted, "92 to 98 %"),
    "A/A interleaving": (interleaved, "92 to 98 %"),
}


def rows(repetitions: int) -> Iterator[dict[str, object]]:
    for name, (repeat, wanted) in ROWS.items():
        found = [repeat(1000 + i) for i in range(repetitions)]
        errors = [estimate - truth for estimate, _, _, truth in found]
        covered = sum(low <= truth <= high for _, low, high, truth in found)
        yield {
            "estimate": name,
            "mean error": statistics.mean(errors),
            "of its standard error": statistics.mean(errors)
            / (statistics.stdev(errors) / math.sqrt(repetitions)),
            "spread": statistics.stdev(errors),
            "coverage": covered / repetitions,
            "wanted": wanted,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    given = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    print("| estimate | mean error | t | spread | coverage | wanted |")
    print("|---|---:|---:|---:|---:|---|")
    for row in rows(given.repetitions):
        name, mean, t, spread, coverage, wanted = row.values()
        print(
            f"| {name} | {mean:.5f} | {t:.1f} | {spread:.5f} | {coverage:.1%} "
            f"| {wanted} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
