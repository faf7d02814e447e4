"""How long measures of recommenders take beside accuracy alone, and beside RecTools.

``python benchmarks/recommenders.py --users 100000 --rounds 3``: lists of 100 of 50,000
items for each user, 100 interactions of a user on average in the history and ten in the
test, by a popularity that falls with the rank. Six measures of accuracy, the same with
six beyond it, and all of these that RecTools has are computed in processes of their
own, in turn; what is printed are medians of the wall time, reading and imports left
out, CPU time and peak memory. RecTools takes part where it is installed.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import polars as pl

ITEMS, LISTED, SEEN, WANTED = 50_000, 100, 100, 10
ACCURACY = [f"{name}@10" for name in ("ndcg", "ap", "rr", "precision", "recall", "f1")]
BEYOND = [
    "novelty@10",
    "mean_popularity@10",
    "serendipity@10",
    "ild(category)@10",
    "coverage@10",
    "gini@10",
]
WAYS = ("accuracy", "both", "rectools")


def write_data(folder: Path, users: int, seed: int) -> None:
    """Write the lists, the test, the history and the items of the catalog."""
    rng = np.random.default_rng(seed)
    popularity = np.arange(1.0, ITEMS + 1) ** -0.8
    popularity /= popularity.sum()

    def pairs(each: int, by_popularity: bool) -> pl.DataFrame:
        weights = popularity if by_popularity else None
        items = rng.choice(ITEMS, users * each, p=weights).astype(np.int32)
        who = np.repeat(np.arange(users, dtype=np.int32), each)
        return pl.DataFrame({"user_id": who, "item_id": items})

    lists = pairs(LISTED, True).unique(maintain_order=True)
    rank = pl.int_range(1, pl.len() + 1, dtype=pl.Int32).over("user_id")
    lists.with_columns(rank=rank).write_parquet(folder / "reco.parquet")
    pairs(WANTED, True).unique(maintain_order=True).with_columns(
        label=pl.lit(1, pl.Int8)
    ).write_parquet(folder / "test.parquet")
    shuffled = pairs(SEEN, True).sample(fraction=1, shuffle=True, seed=seed)
    shuffled.write_parquet(folder / "train.parquet")
    category = rng.integers(0, 20, ITEMS).astype(np.int32)
    items = pl.DataFrame({"item_id": np.arange(ITEMS, dtype=np.int32)})
    items.with_columns(category=category).write_parquet(folder / "items.parquet")


def ours(folder: Path, *, beyond: bool) -> dict[str, float]:
    """Evaluate files: reading counts."""
    import polars_rank as pr

    frames = {n: pl.scan_parquet(folder / f"{n}.parquet") for n in FILES}
    about = {"history": frames["train"], "items": frames["items"]} if beyond else {}
    found = pr.evaluate(
        frames["reco"], ACCURACY + (BEYOND if beyond else []), qrels=frames["test"],
        query="user_id", doc="item_id", rank="rank", convention="rectools", **about,
    ).collect(engine="streaming")  # fmt: skip
    return {name: found[name].item() for name in found.columns[1:]}


FILES = ("reco", "test", "train", "items")


def rectools(folder: Path) -> dict[str, float]:
    """Evaluate what RecTools has of them, of frames in memory: reading is left out."""
    import pandas as pd
    from rectools import metrics
    from rectools.metrics.distances import PairwiseHammingDistanceCalculator

    reco, test, train, items = (pd.read_parquet(folder / f"{n}.parquet") for n in FILES)
    distance = PairwiseHammingDistanceCalculator(items.set_index("item_id"))
    asked = {
        "ndcg@10": metrics.NDCG(k=10),
        "ap@10": metrics.MAP(k=10),
        "rr@10": metrics.MRR(k=10),
        "precision@10": metrics.Precision(k=10),
        "recall@10": metrics.Recall(k=10),
        "f1@10": metrics.F1Beta(k=10),
        "novelty@10": metrics.MeanInvUserFreq(k=10),
        "mean_popularity@10": metrics.AvgRecPopularity(k=10),
        "serendipity@10": metrics.Serendipity(k=10),
        "ild(category)@10": metrics.IntraListDiversity(
            k=10, distance_calculator=distance
        ),
        "coverage@10": metrics.CatalogCoverage(k=10, normalize=True),
    }
    began = time.perf_counter()
    found = metrics.calc_metrics(
        asked,
        reco=reco,
        interactions=test,
        prev_interactions=train,
        catalog=items["item_id"].unique(),
    )
    return {"seconds": time.perf_counter() - began, **found}


def measure(way: str, folder: Path) -> None:
    """Print the time and the values of one way, as JSON."""
    began, cpu = time.perf_counter(), time.process_time()
    found = (
        rectools(folder) if way == "rectools" else ours(folder, beyond=way != WAYS[0])
    )
    wall = found.pop("seconds", time.perf_counter() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = {"wall": wall, "cpu": time.process_time() - cpu, "peak": peak}
    print(json.dumps(told | {"values": found}))


def command(way: str, folder: str) -> list[str]:
    """Call this program in a process of its own."""
    return [sys.executable, __file__, "--way", way, "--folder", folder]


def main() -> None:
    """Write the data and let the ways take turns."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--way", choices=("data", *WAYS), help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.way == "data":
        write_data(asked.folder, asked.users, asked.seed)
        return
    if asked.way:
        measure(asked.way, asked.folder)
        return
    with tempfile.TemporaryDirectory() as place:
        # A process starts with the peak memory of the one that it comes from, so that
        # this one holds no data.
        more = ["--users", str(asked.users), "--seed", str(asked.seed)]
        subprocess.run([*command("data", place), *more], check=True)
        told: dict[str, list[dict[str, float]]] = {way: [] for way in WAYS}
        values: dict[str, dict[str, float]] = {}
        for _ in range(asked.rounds):
            for way in WAYS:
                run = command(way, place)
                done = subprocess.run(run, capture_output=True, text=True)
                if done.returncode:
                    print(f"{way}: {done.stderr.strip().splitlines()[-1]}")
                    continue
                one = json.loads(done.stdout)
                values[way] = one.pop("values")
                told[way].append(one)
    for way, runs in told.items():
        if runs:
            middle = {n: statistics.median(r[n] for r in runs) for n in runs[0]}
            print(
                f"{way:9} {len(values[way]):2} measures {middle['wall']:7.2f} s, "
                f"CPU {middle['cpu']:7.2f} s, peak {middle['peak']:6.0f} MB"
            )
    for name, value in values.get("rectools", {}).items():
        gap = abs(values["both"][name] - value)
        assert gap <= 1e-9 * max(1.0, abs(value)), (name, values["both"][name], value)


if __name__ == "__main__":
    main()
