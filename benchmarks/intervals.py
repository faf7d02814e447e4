"""How often intervals of a mean difference hold the truth, and tests reject it.

``python benchmarks/intervals.py --runs 2000 --seed 1 --tables FOLDER``: differences
of which the true mean is known are drawn for 10 to 200 queries, and ``pr.compare``
says the rest. The populations are pairs of systems of the example and, from FOLDER,
of CSV files with a column per system and a row per topic (``adhoc8_ap.csv``), whose
topics are drawn with replacement; and some that are made up.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

import polars_rank as pr
from polars_rank import example
from polars_rank._statistics.distributions import t_quantile

Array: TypeAlias = npt.NDArray[np.float64]
Generator: TypeAlias = np.random.Generator
Population: TypeAlias = Callable[[Generator, int, int], tuple[Array, Array]]
About: TypeAlias = dict[str, npt.NDArray[np.int64]]

SIZES = (10, 25, 50, 100, 200)
INTERVALS = ("t", "percentile", "bca", "studentized", "bayesian")
TESTS = ("randomization", "bootstrap")
DESIGNS = ("clusters", "clusters ignored", "weights")
RESAMPLES = 999
ROUNDING = 1e-12
AT_ONCE = 200  # runs that share their resamples
BEST = 0.75  # share of the systems of a table; the others differ in too plain a way


def tables(folder: Path | None) -> Iterator[tuple[str, Array]]:
    """Topics by systems, under the name of their measure."""
    log = pl.scan_parquet(example.systems_path())
    values = log.rank_eval.per_query(["ndcg@10", "rr"], query=["system", "query_id"])
    for name in ("ndcg@10", "rr"):
        wide = values.collect().pivot("system", index="query_id", values=name)
        yield f"shop, {name}", wide.drop("query_id").to_numpy()
    for path in sorted(folder.glob("*.csv")) if folder else ():
        table = pl.read_csv(path, infer_schema_length=None).to_numpy()
        order = np.argsort(table.mean(axis=0))
        yield path.stem.rpartition("_")[2], table[:, order[-int(BEST * len(order)) :]]


def pairs_of(known: list[Array]) -> Population:
    """Every run draws a table, two of its systems, and topics."""

    def draw(generator: Generator, n: int, runs: int) -> tuple[Array, Array]:
        d, truth = np.empty((n, runs)), np.empty(runs)
        for run in range(runs):
            table = known[generator.integers(len(known))]
            a, b = generator.choice(table.shape[1], 2, replace=False)
            all_topics = table[:, b] - table[:, a]
            d[:, run] = generator.choice(all_topics, n)
            truth[run] = all_topics.mean()
        return d, truth

    return draw


def made_up(changed: float, gain: Callable[..., Array], mean: float) -> Population:
    """A share of the queries changes, by gains of this mean."""

    def draw(generator: Generator, n: int, runs: int) -> tuple[Array, Array]:
        d = np.where(
            generator.random((n, runs)) < changed, gain(generator, (n, runs)), 0.0
        )
        return d, np.full(runs, changed * mean)

    return draw


MADE_UP = {
    "normal": made_up(1.0, lambda g, size: g.normal(0.03, 0.2, size), 0.03),
    "60 % change, skewed": made_up(
        0.6, lambda g, size: g.gamma(2.0, 0.1, size) - 0.15, 0.05
    ),
    "20 % change, both ways": made_up(
        0.2, lambda g, size: g.normal(0.1, 0.25, size), 0.1
    ),
    "10 % change, all gain": made_up(0.1, lambda g, size: g.random(size), 0.5),
    "all change, lognormal": made_up(
        1.0, lambda g, size: g.lognormal(-2.0, 1.0, size), float(np.exp(-1.5))
    ),
}


def populations(folder: Path | None = None) -> dict[str, Population]:
    """By name: real ones first."""
    known: dict[str, list[Array]] = {}
    for name, table in tables(folder):
        known.setdefault(name, []).append(table)
    return {name: pairs_of(some) for name, some in known.items()} | MADE_UP


def compared(
    d: Array, about: About | None = None, **options: Any
) -> pr.comparison.Comparison:
    """Every run is a system, compared with one that is 0 everywhere."""
    names = [f"{run:04}" for run in range(d.shape[1])]
    wide = pl.DataFrame(d, schema=names).with_columns(
        base=0.0, **{name: pl.Series(column) for name, column in (about or {}).items()}
    )
    values = wide.with_row_index("query_id").unpivot(
        index=["query_id", *(about or {})],
        variable_name="system",
        value_name="success@1",
    )
    with warnings.catch_warnings(action="ignore", category=pr.DataWarning):
        return pr.compare(
            values,
            measures="success@1",
            baseline="base",
            correction="none",
            n_resamples=RESAMPLES,
            **options,
        )


def differences(d: Array, about: About | None = None, **options: Any) -> pl.DataFrame:
    """The rows of that comparison, in the order of the runs."""
    return compared(d, about, **options).pairs.sort("system")


def share(ends: pl.DataFrame, truth: Array | float) -> float:
    """How many intervals hold the truth; those that are not defined do not."""
    low, high = ends["lower"], ends["upper"]
    inside = (low <= truth + ROUNDING) & (high >= truth - ROUNDING)
    return float(inside.fill_null(value=False).mean())


def batches(
    population: Population, n: int, runs: int, seed: int
) -> Iterator[tuple[int, Array, Array]]:
    generator = np.random.default_rng([seed, n])
    for start in range(0, runs, AT_ONCE):
        yield start, *population(generator, n, min(AT_ONCE, runs - start))


def coverage(
    population: Population, n: int, runs: int, seed: int, intervals: tuple[str, ...]
) -> dict[str, float]:
    """Share of the 95 % intervals that hold the truth, and rejections by t.

    The t test rejects a true hypothesis where its interval lacks the truth; of the two
    one-sided tests at 5 % the worse is told, from intervals of 90 %.
    """
    parts = []
    for start, d, truth in batches(population, n, runs, seed):
        found = {
            name: share(differences(d, interval=name, seed=seed + start), truth)
            for name in intervals
        }
        wide = differences(d, level=0.9)
        found["greater"] = float((wide["lower"] > truth + ROUNDING).mean())
        found["less"] = float((wide["upper"] < truth - ROUNDING).mean())
        parts.append(found | {"size": float(len(truth))})
    return mean_of(parts)


def by_skewness(
    population: Population, n: int, runs: int, seed: int
) -> tuple[float, float, float]:
    """Share of samples that look skewed; coverage by t of these, and of the others.

    They do by Cochran's rule: n is below 25 times the squared skewness.
    """
    far, inside = [], []
    for _, d, truth in batches(population, n, runs, seed):
        found = differences(d)
        off = d - d.mean(axis=0)
        spread = np.maximum((off**2).mean(axis=0), ROUNDING)
        far.append(n < 25 * (off**3).mean(axis=0) ** 2 / spread**3)
        inside.append(
            ((found["lower"] <= truth) & (found["upper"] >= truth)).to_numpy()
        )
    skewed, held = np.concatenate(far), np.concatenate(inside)
    of = (
        float(held[some].mean()) if some.any() else np.nan for some in (skewed, ~skewed)
    )
    return float(skewed.mean()), *of


def rejections(
    population: Population, n: int, runs: int, seed: int, tests: tuple[str, ...]
) -> dict[str, float]:
    """Share of true hypotheses that each test rejects at 5 %, two-sided."""
    parts = []
    for start, d, truth in batches(population, n, runs, seed):
        found = {"size": float(len(truth))}
        for name in tests:
            p = differences(d - truth, test=name, seed=seed + start)["p_value"]
            found[name] = float((p < 0.05).mean())
        parts.append(found)
    return mean_of(parts)


def mean_of(parts: list[dict[str, float]]) -> dict[str, float]:
    """Shares of batches of unlike sizes, as those of all runs."""
    sizes = [part.pop("size") for part in parts]
    return {
        name: float(np.average([part[name] for part in parts], weights=sizes))
        for name in parts[0]
    }


def designed(case: str, runs: int, seed: int) -> float:
    """Coverage where queries of 30 users depend on each other, or have weights."""
    generator = np.random.default_rng(seed)
    skewed = MADE_UP["60 % change, skewed"]
    if case == "weights":
        d, truth = skewed(generator, 60, runs)
        about = {"traffic": generator.integers(1, 20, 60)}
        return share(differences(d, about, weight="traffic"), truth)
    users = np.repeat(np.arange(30), 4)
    d, truth = skewed(generator, len(users), runs)
    d += generator.normal(0, 0.1, (30, runs))[users]
    cluster = "user" if case == "clusters" else None
    return share(differences(d, {"user": users}, cluster=cluster), truth)


def of_shares(p: float, n: int, runs: int, seed: int) -> tuple[float, float]:
    """Coverage of a share of successes, by Wilson, as ``compare`` does, and by t."""
    generator = np.random.default_rng([seed, n])
    won = (generator.random((n, runs)) < p).astype(np.float64)
    means = compared(won).means.filter(pl.col("system") != "base")
    half = t_quantile(0.975, n - 1) * won.std(axis=0, ddof=1) / np.sqrt(n)
    ends = pl.DataFrame(
        {"lower": won.mean(axis=0) - half, "upper": won.mean(axis=0) + half}
    )
    return share(means, p), share(ends, p)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tables", type=Path)
    parser.add_argument("--tests", action="store_true", help="resampling tests, too")
    given = parser.parse_args()
    columns = [*INTERVALS, "t, one-sided", *(TESTS if given.tests else ())]
    print(f"| differences | n | {' | '.join(columns)} |")
    print("|---|---:|" + "---:|" * len(columns))
    for name, population in populations(given.tables).items():
        for n in SIZES:
            asked = population, n, given.runs, given.seed
            found = coverage(*asked, INTERVALS)
            found["t, one-sided"] = max(found["greater"], found["less"])
            if given.tests:
                found |= rejections(*asked, TESTS)
            row = " | ".join(f"{found[column]:.3f}" for column in columns)
            print(f"| {name} | {n} | {row} |", flush=True)
    print("\n| differences | n | look skewed | t of these | t of others |")
    print("|---|---:|---:|---:|---:|")
    for name, population in populations(given.tables).items():
        for n in (10, 25, 50):
            told = by_skewness(population, n, given.runs, given.seed)
            print(f"| {name} | {n} | {' | '.join(f'{v:.3f}' for v in told)} |")
    print("\n| successes | n | Wilson | t |\n|---|---:|---:|---:|")
    for p in (0.05, 0.2, 0.5):
        for n in SIZES:
            wilson, t = of_shares(p, n, given.runs, given.seed)
            print(f"| {100 * p:g} % | {n} | {wilson:.3f} | {t:.3f} |", flush=True)
    print("\n| design | t |\n|---|---:|")
    for case in DESIGNS:
        print(f"| {case} | {designed(case, given.runs, given.seed):.3f} |")


if __name__ == "__main__":
    main()
