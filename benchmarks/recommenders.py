"""How long measures of recommenders take beside accuracy alone, RecTools and RePlay.

``python benchmarks/recommenders.py --users 100000 --rounds 3``: lists of 100 of 50,000
items for each user, 100 interactions of a user on average in the history and ten in the
test, by a popularity that falls with the rank. Six measures of accuracy, the same with
six beyond it, and all of these that RecTools has are computed in processes of their
own, in turn; what is printed are medians of the wall time, reading and imports left
out, CPU time and peak memory. RecTools takes part where it is installed; RePlay, whose
Polars is an older one, where ``--replay`` names a Python that has it, with eight
measures (``as replay`` are the same of ours).
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
OF_REPLAY = {
    "ndcg@10": "NDCG",
    "precision@10": "Precision",
    "recall@10": "Recall",
    "ap@10": "MAP",
    "rr@10": "MRR",
    "surprisal@10": "Surprisal",
    "unseen@10": "Novelty",
    "category_diversity(category)@10": "CategoricalDiversity",
}
WAYS = {  # of ours, the measures and the convention
    "accuracy": (ACCURACY, "rectools"),
    "both": (ACCURACY + BEYOND, "rectools"),
    "rectools": None,
    "as replay": ([*OF_REPLAY], "replay"),
    "replay": None,
}
BESIDE = {"rectools": "both", "replay": "as replay"}


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


def ours(folder: Path, measures: list[str], convention: str) -> dict[str, float]:
    """Evaluate files: reading counts."""
    import polars_rank as pr

    frames = {n: pl.scan_parquet(folder / f"{n}.parquet") for n in FILES}
    about = {"history": frames["train"], "items": frames["items"]}
    found = pr.evaluate(
        frames["reco"], measures, qrels=frames["test"], convention=convention,
        query="user_id", doc="item_id", rank="rank",
        **({} if measures == ACCURACY else about),
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


def replay(folder: Path) -> dict[str, float]:
    """Evaluate the measures of RePlay, of frames in memory: reading is left out."""
    from replay import metrics

    reco, test, train, items = (pl.read_parquet(folder / f"{n}.parquet") for n in FILES)
    reco = reco.select("user_id", "item_id", score=-pl.col("rank").cast(pl.Float64))
    asked = [getattr(metrics, name)(10) for name in OF_REPLAY.values()]
    columns = ["user_id", "item_id", "score", "category"]
    evaluate = metrics.OfflineMetrics(asked, *columns)
    reco = reco.join(items, on="item_id", maintain_order="left")
    began = time.perf_counter()
    found = evaluate(reco, test, train)
    seconds = time.perf_counter() - began
    values = {name: found[f"{theirs}@10"] for name, theirs in OF_REPLAY.items()}
    return {"seconds": seconds, **values}


def measure(way: str, folder: Path) -> None:
    """Print the time and the values of one way, as JSON."""
    began, cpu = time.perf_counter(), time.process_time()
    if (asked := WAYS[way]) is not None:
        found = ours(folder, *asked)
    else:
        found = rectools(folder) if way == "rectools" else replay(folder)
    wall = found.pop("seconds", time.perf_counter() - began)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = {"wall": wall, "cpu": time.process_time() - cpu, "peak": peak}
    print(json.dumps(told | {"values": found}))


def command(way: str, folder: str, python: str = sys.executable) -> list[str]:
    """Call this program in a process of its own."""
    return [python, __file__, "--way", way, "--folder", folder]


def main() -> None:
    """Write the data and let the ways take turns."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--replay", metavar="PYTHON", default=sys.executable)
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
                python = asked.replay if way == "replay" else sys.executable
                run = command(way, place, python)
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
    for tool, way in BESIDE.items():
        for name, value in values.get(tool, {}).items():
            own = values[way][name]
            assert abs(own - value) <= 1e-9 * max(1.0, abs(value)), (name, own, value)


if __name__ == "__main__":
    main()
