"""How many judgments ``analysis.to_judge`` saves, on simulated pools.

``python benchmarks/judging.py --runs 10 --seed 0`` draws topics, their relevant
documents and systems, each better than the one before by a gap in the scores of
relevant documents; their scores share a part of their noise. Documents of the first ten
of any system are judged in batches, in three orders: by ``to_judge`` after each batch,
by depth (all first ranks, then all second ones ...), and by chance. It counts judgments
until no label of the others can reverse the order of two systems: for precision@10 that
is proved, for ndcg@10 as ``to_judge`` tells it.
"""

from __future__ import annotations

import argparse
from statistics import mean

import numpy as np
import polars as pl

import polars_rank as pr
from polars_rank import analysis

TOPICS, DOCS, RELEVANT, DEPTH = 40, 200, 25, 10
KEYS = ["query_id", "doc_id"]


def drawn(
    seed: int, systems: int, gap: float
) -> tuple[dict[str, pl.DataFrame], pl.DataFrame]:
    """Return runs, and the label of every document."""
    draw = np.random.default_rng(seed)
    label = np.zeros((TOPICS, DOCS))
    for topic in range(TOPICS):
        relevant = draw.choice(DOCS, draw.integers(5, 2 * RELEVANT), replace=False)
        label[topic, relevant] = 1.0
    shared = draw.normal(size=(TOPICS, DOCS))
    ids = {
        "query_id": np.repeat(np.arange(TOPICS), DOCS),
        "doc_id": np.tile(np.arange(DOCS), TOPICS),
    }
    runs = {}
    for i in range(systems):
        own = draw.normal(size=(TOPICS, DOCS))
        scores = (1.0 + gap * i) * label + 0.7 * shared + 0.7 * own
        run = pl.DataFrame({**ids, "score": scores.ravel()})
        place = pl.col("score").rank("ordinal", descending=True).over("query_id")
        runs[f"s{i}"] = run.filter(place <= DEPTH)
    return runs, pl.DataFrame({**ids, "label": label.ravel()})


def needed(
    strategy: str, seed: int, systems: int, gap: float, measure: str, batch: int
) -> int:
    """Return the number of judgments after which no order can be reversed."""
    runs, labels = drawn(seed, systems, gap)
    pool = pl.concat(runs.values()).select(KEYS).unique().join(labels, on=KEYS)
    place = pl.col("score").rank("ordinal", descending=True).over("query_id")
    depths = pl.concat(run.with_columns(rank=place) for run in runs.values())
    depths = depths.group_by(KEYS).agg(pl.col("rank").min())
    fixed = {
        "depth": depths.sort("rank", "query_id", "doc_id").select(KEYS),
        "chance": pool.sort(KEYS).sample(fraction=1.0, shuffle=True, seed=seed),
    }
    judged = pool.sort(KEYS).group_by("query_id", maintain_order=True).head(1)
    while len(judged) < len(pool):
        asked = analysis.to_judge(
            runs, measure, qrels=judged, n_judgments=None, max_grade=1
        )
        if not asked["reverses"].any():
            break
        if strategy != "to_judge":
            asked = fixed[strategy].join(judged, on=KEYS, how="anti")
        batch_of = asked.head(batch).select(KEYS)
        found = pool.join(batch_of, on=KEYS, how="semi")
        judged = pl.concat([judged, found.select(judged.columns)])
    return len(judged)


def told_and_exact(
    seed: int, gap: float, measure: str, batch: int
) -> list[tuple[bool, bool]]:
    """Return whether labels can reverse the order of two systems, after each batch.

    As ``to_judge`` tells it, and by the bounds of the difference.
    """
    runs, labels = drawn(seed, 2, gap)
    pool = pl.concat(runs.values()).select(KEYS).unique().join(labels, on=KEYS)
    judged = pool.sort(KEYS).group_by("query_id", maintain_order=True).head(1)
    found = []
    while len(judged) < len(pool):
        asked = analysis.to_judge(
            runs, measure, qrels=judged, n_judgments=None, max_grade=1
        )
        row = pr.bounds(
            runs, measure, qrels=judged, baseline="s0", max_grade=1, no_relevant="zero"
        ).row(0, named=True)
        reached = row["lower"] <= 0.0 <= row["upper"]
        found.append((bool(asked["reverses"].any()), reached))
        batch_of = asked.head(batch).select(KEYS)
        new = pool.join(batch_of, on=KEYS, how="semi")
        judged = pl.concat([judged, new.select(judged.columns)])
    return found


def check(seeds: range, batch: int) -> None:
    """Print how often ``to_judge`` tells what the bounds say."""
    print("| measure | pools | the same | told, not so | not told, but so |")
    print("|---|---:|---:|---:|---:|")
    for measure in ("precision@10", "ndcg@10"):
        pairs = [
            pair
            for gap in (0.2, 0.6, 1.2)
            for seed in seeds
            for pair in told_and_exact(seed, gap, measure, batch)
        ]
        counts = [sum(told == so for told, so in pairs)]
        counts += [pairs.count((True, False)), pairs.count((False, True))]
        print(f"| {measure} | {len(pairs)} | {' | '.join(map(str, counts))} |")


def main() -> None:
    """Print a table: mean judgments needed, and their share of the pool."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--batch", type=int, default=40)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.check:
        seeds = range(options.seed, options.seed + options.runs)
        check(seeds, options.batch)
        return
    print("| measure | systems | gap | pool | to_judge | depth | chance |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    seeds = range(options.seed, options.seed + options.runs)
    for measure in ("precision@10", "ndcg@10"):
        for systems, gap in ((2, 0.2), (2, 0.6), (2, 1.2), (4, 0.6)):
            pools = (drawn(s, systems, gap)[0].values() for s in seeds)
            pool = mean(pl.concat(runs).select(KEYS).n_unique() for runs in pools)
            cells = [
                mean(
                    needed(how, s, systems, gap, measure, options.batch) for s in seeds
                )
                for how in ("to_judge", "depth", "chance")
            ]
            shown = " | ".join(f"{cell:.0f}" for cell in cells)
            print(
                f"| {measure} | {systems} | {gap} | {pool:.0f} | {shown} |", flush=True
            )


if __name__ == "__main__":
    main()
