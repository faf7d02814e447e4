"""How often a gate warns and fails: builds that change nothing, and real drops.

``python benchmarks/gate.py --runs 1000 --seed 1``: a build changes three measures
that agree in part, in four segments of 40, 30, 20 and 10 % of the queries: 15 checks,
of which those with fewer than 20 queries are not tested. Printed are shares of builds
that warn and that fail; of real drops, a third of the runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import polars as pl

import polars_rank as pr
from polars_rank import example
from polars_rank.comparison.gate.verdicts import ALL, Rule, Standard, checked

Array: TypeAlias = npt.NDArray[np.float64]
Changes: TypeAlias = Callable[[np.random.Generator, int], Array]

MEASURES = ["ndcg@10", "rr", "ap"]
SEGMENTS = {"a": 0.4, "b": 0.3, "c": 0.2, "d": 0.1}
SIZES = (50, 200, 1000)
SHARE, MARGIN, SPREAD, SHARED = 0.3, 0.01, 0.25, 0.7
LEVEL, LEAST = 0.95, 20
FEW = 200  # builds, for the rules that fail most of them
RULES: tuple[Rule, ...] = get_args(Rule)


def some_change(share: float) -> Changes:
    """A share of the queries changes, by a normal gain that the measures share."""

    def draw(generator: np.random.Generator, n: int) -> Array:
        common = generator.normal(0, SHARED**0.5, (n, 1))
        own = generator.normal(0, (1 - SHARED) ** 0.5, (n, len(MEASURES)))
        changed = generator.random((n, 1)) < share
        return np.where(changed, SPREAD * (common + own), 0.0)

    return draw


def shop(*, flipped: bool) -> Changes:
    """Differences of two systems of the example, queries drawn with replacement.

    ``flipped``: a coin says which of both is new, query by query. Else the mean of
    each measure is taken off, which keeps its skewness.
    """
    log = pl.scan_parquet(example.systems_path())
    values = log.rank_eval.per_query(MEASURES, query=["system", "query_id"]).collect()
    old, new = (
        values.filter(system=s).sort("query_id").select(MEASURES).to_numpy()
        for s in ("dense", "hybrid")
    )
    d = new - old

    def draw(generator: np.random.Generator, n: int) -> Array:
        drawn = d[generator.integers(0, len(d), n)]
        coins = generator.choice([-1.0, 1.0], (n, 1))
        return drawn * coins if flipped else drawn - d.mean(axis=0)

    return draw


def uneven(sign: float) -> Changes:
    """Of ten queries that change, nine change a little and one much the other way."""

    def draw(generator: np.random.Generator, n: int) -> Array:
        size = np.where(generator.random((n, 1)) < 0.1, -0.45, 0.05)
        changed = generator.random((n, 1)) < 0.3
        noise = generator.normal(0, 0.02, (n, len(MEASURES)))
        return np.where(changed, sign * (size + noise), 0.0)

    return draw


NOTHING: dict[str, Changes] = {
    "30 % of the queries change": some_change(SHARE),
    "5 % of the queries change": some_change(0.05),
    "two systems of the shop, by coin": shop(flipped=True),
    "the shop, less the mean": shop(flipped=False),
    "few lose much, many gain little": uneven(1.0),
    "few gain much, many lose little": uneven(-1.0),
}


DROPS = [  # queries, drop of the mean, where
    (50, 0.05, ALL), (50, 0.10, ALL), (50, 0.20, "a"),
    (200, 0.02, ALL), (200, 0.05, ALL), (200, 0.10, "c"),
    (1000, 0.01, ALL), (1000, 0.02, ALL), (1000, 0.05, "c"),
]  # fmt: skip


def builds(
    changes: Changes, n: int, runs: int, seed: int, drop: float = 0.0, where: str = ALL
) -> list[pl.DataFrame]:
    """Comparisons of old and new values, one frame per build.

    With a ``drop``, queries that change lose so much that the mean falls by it: that
    of all queries, or of one segment.
    """
    generator = np.random.default_rng([seed, n])
    d = np.concatenate([changes(generator, n) for _ in range(runs)])
    sizes = [round(n * share) for share in SEGMENTS.values()]
    segment = np.tile(np.repeat([*SEGMENTS], sizes), runs)
    lost = (d != 0.0).any(axis=1) & ((where == ALL) | (segment == where))
    d -= lost[:, None] * drop / SHARE
    new = pl.DataFrame(d, schema=MEASURES).with_columns(
        pl.lit("new").alias("system"),
        query_id=pl.int_range(pl.len()),
        build=pl.Series(np.repeat(np.arange(runs), n)),
        segment=pl.Series(segment),
    )
    old = new.with_columns(pl.lit("old").alias("system"), pl.col(MEASURES) * 0.0)
    values = pl.concat([old, new])
    segmented, whole = (
        pr.compare(values, measures=MEASURES, by=by, min_queries=2, level=LEVEL).pairs
        for by in (["build", "segment"], ["build"])
    )
    whole = whole.with_columns(segment=pl.lit(ALL)).select(segmented.columns)
    pairs = pl.concat([whole, segmented])
    return pairs.partition_by("build", maintain_order=True, include_key=False)


def shares(
    known: list[pl.DataFrame], rule: Rule = "significant", *, alone: bool = False
) -> tuple[float, float]:
    """Shares of the builds that warn and that fail; of one check ``alone``."""
    standard = Standard(rule, MARGIN, {}, "holm", LEVEL, LEAST)
    names = MEASURES[:1] if alone else MEASURES
    if alone:
        known = [k.filter(measure=names[0], segment=ALL) for k in known]
    verdicts = [set(checked(build, names, standard)["verdict"]) for build in known]
    fails = sum("fail" in v for v in verdicts)
    warns = sum("warn" in v and "fail" not in v for v in verdicts)
    return warns / len(known), fails / len(known)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    head = "15 checks: warn | fail | 1 check: warn | fail"
    others = [rule for rule in RULES if rule != "significant"]
    head += "".join(f" | {rule}: fail" for rule in others)
    columns = head.count("|") + 1

    def show(name: str, n: int, known: list[pl.DataFrame]) -> None:
        found = [*shares(known), *shares(known, alone=True)]
        found += [shares(known[:FEW], rule)[1] for rule in others]
        told = " | ".join(f"{100 * share:.1f} %" for share in found)
        print(f"| {name} | {n} | {told} |", flush=True)

    print(f"| change | n | {head} |\n|---|---:|" + "---:|" * columns)
    for name, changes in NOTHING.items():
        for n in SIZES:
            show(name, n, builds(changes, n, given.runs, given.seed))
    for n, drop, where in DROPS:
        known = builds(some_change(SHARE), n, given.runs // 3, given.seed, drop, where)
        show(f"-{drop:g} in {where}", n, known)


if __name__ == "__main__":
    main()
