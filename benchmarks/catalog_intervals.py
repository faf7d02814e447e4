"""How often intervals of measures of the catalog hold: a delete-a-group jackknife.

``python benchmarks/catalog_intervals.py --runs 500 --seed 1``: users get 10 of 2,000
items, drawn by a popularity that falls with the rank to the power of ``--exponent``;
half of the users like one half of the items ten times as much, and a fifth get shorter
lists. The true value is the mean over all runs, of as many users. What is printed of
each measure: the mean, the standard deviation over runs, the mean of ``se``, and the
share of the runs whose interval, value -+ t(19) se, has the true value.
"""

from __future__ import annotations

import argparse
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

import polars_rank as pr

Numbers: TypeAlias = npt.NDArray[Any]

ITEMS, K, AT_ONCE = 2_000, 10, 200_000  # lists that are drawn and evaluated at once
MEASURES = [
    f"{name}@10"
    for name in (
        *("coverage", "gini", "gini(over=recommended)", "entropy", "effective_items"),
        "personalization",
    )
]
T = 2.093024  # of 19 degrees of freedom, for 95 %


def draw(rng: np.random.Generator, lists: int, exponent: float) -> Numbers:
    """Draw lists without replacement: the largest of Gumbel variables."""
    weights = -exponent * np.log(np.arange(1.0, ITEMS + 1))
    taste = np.where(np.arange(ITEMS) % 2, 1.0, -1.0) * np.log(10) / 2
    liked = np.where(rng.random(lists) < 0.5, 1.0, -1.0)
    drawn = np.empty((lists, K), np.int32)
    for part in np.array_split(np.arange(lists), max(1, lists // 5_000)):
        noise = rng.gumbel(size=(len(part), ITEMS))
        scores = noise + weights + liked[part, None] * taste
        drawn[part] = np.argpartition(-scores, K, axis=1)[:, :K]
    return drawn


def runs(rng: np.random.Generator, users: int, count: int, exponent: float) -> Any:
    """Evaluate ``count`` runs of so many users, each of whom has a list in each."""
    lists = draw(rng, users * count, exponent)
    length = np.where(rng.random(len(lists)) < 0.2, rng.integers(1, K, len(lists)), K)
    kept = (np.arange(K) < length[:, None]).ravel()
    rows = pl.DataFrame(
        {
            "run": np.repeat(np.arange(count), users * K)[kept],
            "user": np.tile(np.repeat(np.arange(users), K), count)[kept],
            "item": lists.ravel()[kept],
            "rank": np.tile(np.arange(1, K + 1), len(lists))[kept],
        }
    )
    return pr.evaluate(
        rows, MEASURES, query=["run", "user"], doc="item", rank="rank", by="run",
        stats=["mean", "se"], items=pl.DataFrame({"item": range(ITEMS)}),
    )  # fmt: skip


def main() -> None:
    """Print a row for each number of users and measure."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--users", type=int, nargs="+", default=[200, 1000, 5000])
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--exponent", type=float, default=0.8)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    for users in asked.users:
        rng = np.random.default_rng([asked.seed, users])
        at_once, left, found = max(1, AT_ONCE // users), asked.runs, []
        while left:
            found.append(runs(rng, users, min(at_once, left), asked.exponent))
            left -= min(at_once, left)
        table = pl.concat(found)
        for name in MEASURES:
            value, se = table[name], table[f"{name}_se"]
            held = ((value - value.mean()).abs() <= T * se).mean()
            print(
                f"{users:6} users  {name:26} {value.mean():10.4f}  sd {value.std():.5f}"
                f"  se {se.mean():.5f}  holds {held:.3f}"
            )


if __name__ == "__main__":
    main()
