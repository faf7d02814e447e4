"""TREC files of MS MARCO's size: ``python benchmarks/trec_files.py``.

Writes a run of 6,980 queries with 1,000 documents each (240 MB) and about one judgment
per query, with a seed, into ``benchmarks/data``. Then whole processes evaluate it in
turns: ``polars-rank evaluate``; trec_eval's own program, where ``--trec-eval`` names it
(``make`` in a clone of github.com/usnistgov/trec_eval); and ``ir_measures``, where it
is installed. All must print the same means, to four digits. Printed are medians over
the rounds: wall and CPU time, the latter also as a multiple of polars-rank's in the
same round.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path
from statistics import median

import polars as pl

DATA = Path(__file__).parent / "data"
# Ours, trec_eval's with its argument, and that of ir_measures.
MEASURES = {
    "ndcg_cut_10": ("ndcg_cut.10", "nDCG@10"),
    "map": ("map", "AP"),
    "recip_rank": ("recip_rank", "RR"),
    "P_10": ("P.10", "P@10"),
    "recall_1000": ("recall.1000", "R@1000"),
}
DIGITS = 4  # that trec_eval prints


def write_files(folder: Path, queries: int, depth: int, seed: int) -> tuple[Path, Path]:
    """A run, and judgments; nine in ten of those are of retrieved documents."""
    folder.mkdir(exist_ok=True)
    size = f"{queries}x{depth}-{seed}"
    run, qrels = folder / f"trec-{size}.run", folder / f"trec-{size}.qrels"
    row = pl.int_range(queries * depth)
    number = pl.col("number")
    rows = pl.select(number=row // depth, place=row % depth).with_columns(
        query=number * 150_001 % 1_102_390,
        luck=(number + seed) * 48_271 % 2_147_483_647,
    )
    luck, place = pl.col("luck"), pl.col("place")
    rows = rows.with_columns(doc=(luck + place * 8_831) % 8_841_823)
    score = 30 - place * 0.02 + luck % 97 / 1e4
    rows.select(
        "query",
        pl.lit("Q0").alias("q0"),
        "doc",
        place + 1,
        score.round(6).alias("score"),
        pl.lit("bm25").alias("tag"),
    ).write_csv(run, separator=" ", include_header=False)
    # Most are found early. Every 17th query has a second one.
    first = (luck % 1_000) ** 2 * depth // 900_000
    judged = (place == first) | ((luck % 17 == 0) & (place == (first + 3) % depth))
    found = rows.filter(judged)
    missed = rows.filter(place == 0).join(found, on="query", how="anti")
    missed = missed.with_columns(doc=pl.lit(8_841_900, pl.Int64))
    pl.concat([found, missed]).select(
        "query", pl.lit(0).alias("zero"), "doc", pl.lit(1).alias("label")
    ).write_csv(qrels, separator=" ", include_header=False)
    return run, qrels


def commands(run: Path, qrels: Path, trec_eval: str | None) -> dict[str, list[str]]:
    """One command line per contender."""
    ours = [arg for name in MEASURES for arg in ("-m", name)]
    own = "import sys; from polars_rank.cli import main; sys.exit(main())"
    found = {
        "polars-rank": [
            *(sys.executable, "-c", own, "evaluate", str(run), str(qrels)),
            *(*ours, "--convention", "trec_eval", "--format", "csv"),
        ]
    }
    if trec_eval is not None:
        theirs = [arg for name, _ in MEASURES.values() for arg in ("-m", name)]
        found["trec_eval"] = [trec_eval, *theirs, str(qrels), str(run)]
    if find_spec("ir_measures") is not None:
        theirs = [name for _, name in MEASURES.values()]
        files = [str(qrels), str(run)]
        found["ir_measures"] = [sys.executable, "-m", "ir_measures", *files, *theirs]
    return found


def means(name: str, printed: str) -> list[float]:
    """The means that a contender printed, in the order of ``MEASURES``."""
    lines = [line.split() for line in printed.splitlines() if line]
    if name == "polars-rank":
        names, values = (line[0].split(",") for line in lines)
        rows = dict(zip(names, values, strict=True))
        return [float(rows[n]) for n in rows if n != "queries"]
    rows = {line[0]: line[-1] for line in lines}
    alias = {ours: theirs for ours, (_, theirs) in MEASURES.items()}
    return [float(rows.get(n) or rows[alias[n]]) for n in MEASURES]


def timed(command: list[str]) -> tuple[str, float, float]:
    """What a process prints, and its wall and CPU time."""
    before, start = os.times(), time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    wall, after = time.perf_counter() - start, os.times()
    cpu = after.children_user + after.children_system
    return done.stdout, wall, cpu - before.children_user - before.children_system


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trec-eval", help="the built program")
    parser.add_argument("--queries", type=int, default=6_980)
    parser.add_argument("--depth", type=int, default=1_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    run, qrels = write_files(DATA, given.queries, given.depth, given.seed)
    print(f"{run.name}: {run.stat().st_size / 1e6:.0f} MB")
    contenders = commands(run, qrels, given.trec_eval)
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in contenders}
    found = {}
    for _ in range(given.rounds):
        for name, command in contenders.items():
            printed, *taken = timed(command)
            found[name] = means(name, printed)
            times[name].append((taken[0], taken[1]))
    print(f"{'':<14}{'wall, s':>9}{'CPU, s':>9}{'x CPU':>9}")
    for name, taken in times.items():
        ratios = (b[1] / a[1] for a, b in zip(times["polars-rank"], taken, strict=True))
        wall, cpu = (median(both) for both in zip(*taken, strict=True))
        print(f"{name:<14}{wall:>9.2f}{cpu:>9.2f}{median(ratios):>9.2f}")
    ours = dict(zip(MEASURES, found["polars-rank"], strict=True))
    print(", ".join(f"{name} {mean:.6f}" for name, mean in ours.items()))
    for name, values in found.items():
        pairs = zip(values, found["polars-rank"], strict=True)
        if any(abs(theirs - ours) > 0.51 * 10**-DIGITS for theirs, ours in pairs):
            sys.exit(f"{name} found other means: {values}")


if __name__ == "__main__":
    main()
