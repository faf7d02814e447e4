"""How often errors over clusters err: few users, and users of unequal sizes.

    python benchmarks/clusters.py [--runs 2000] [--seed 0] [--taste 1.0] [--only ctr]

Nothing differs: the share of runs with p below 0.05, or whose 95 % interval leaves out
the truth, should be 0.05. It should be at most 0.065 in every cell: searches per user
that are constant, Poisson, lognormal or Pareto, and 20, 50 or 200 users, of whom every
one has an own taste (the standard deviation of a logit). Of propensities the share of
intervals that hold the truth is printed, which should be at least 0.93. ``usual`` is
the error of clusters of one size (CR1) with a degree of freedom for each. ``+-`` is
the Monte Carlo error (two standard errors at 0.05).

All runs of a cell are segments of one log, and go through the functions of the library
at once; propensities are estimated log by log.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator

import numpy as np
import polars as pl
from scipy.special import stdtr

from polars_rank import clicks
from polars_rank.exceptions import DataWarning

KINDS = ("constant", "poisson", "lognormal", "pareto")
USERS = (20, 50, 200)
MOST = 10_000  # searches of a user: a busier one would be taken for a bot
Array = np.ndarray
Shares = Iterator[tuple[str, float]]


def searches(rng: np.random.Generator, kind: str, shape: tuple[int, ...]) -> Array:
    """Searches of every user of every run."""
    if kind == "constant":
        return np.full(shape, 5)
    if kind == "poisson":
        return np.maximum(rng.poisson(5, shape), 1)
    if kind == "lognormal":
        return np.ceil(np.exp(rng.normal(1, 1.2, shape))).astype(int)
    pareto = (1 - rng.random(shape)) ** (-1 / 1.2)
    return np.minimum(pareto, MOST).astype(int)


class World:
    """Searches of many runs: the run, the user and the user's rate of each."""

    def __init__(self, args: argparse.Namespace, kind: str, users: int, mean: float):
        self.rng = np.random.default_rng([args.seed, KINDS.index(kind), users])
        counts = searches(self.rng, kind, (args.runs, users)).ravel()
        self.runs, self.users = args.runs, users
        logit = self.rng.normal(mean, args.taste, args.runs * users)
        self.user = np.repeat(np.arange(len(counts)), counts)
        self.rate = 1 / (1 + np.exp(-logit[self.user]))
        order = np.argsort(self.rng.random((args.runs, users)), axis=1)
        self.side = order % 2  # half of the users in each arm, by lot
        self.arm = self.side.ravel()[self.user]

    def draw(self) -> Array:
        """Whether something happens in each search, at the rate of its user."""
        return self.rng.random(len(self.rate)) < self.rate

    def usual(self, values: Array, groups: tuple[Array, ...]) -> float:
        """Share of p below 0.05 for the mean, or the difference of two groups."""
        shape = (self.runs, self.users)
        x = np.bincount(self.user, values, self.runs * self.users).reshape(shape)
        d = np.bincount(self.user, minlength=x.size).reshape(shape)
        estimate, variances, df = 0.0, [], []
        for sign, member in zip((1, -1), groups, strict=False):
            size, n = (d * member).sum(1), member.sum(1)
            ratio = (x * member).sum(1) / size
            squares = ((x - ratio[:, None] * d) ** 2 * member).sum(1)
            variances.append(squares / size**2 * n / (n - 1))
            df.append(n - 1)
            estimate = estimate + sign * ratio
        variance = sum(variances)
        both = sum(v**2 / f for v, f in zip(variances, df, strict=True))
        known = variance > 0
        t = np.where(known, np.abs(estimate) / np.sqrt(np.where(known, variance, 1)), 0)
        degrees = np.where(known, variance**2 / np.where(known, both, 1), 1)
        return float((2 * stdtr(degrees, -t) < 0.05).mean())

    def log(self, **columns: Array) -> pl.DataFrame:
        run = self.user // self.users
        return pl.DataFrame({"run": run, "user_id": self.user, **columns})


def arms(args: argparse.Namespace, kind: str, users: int) -> Shares:
    """Two arms that are the same, with and without what was before (CUPED)."""
    world = World(args, kind, users, -1.5)

    def period() -> pl.DataFrame:
        log = world.log(clicked=world.draw(), arm=world.arm)
        return log.with_columns(position=pl.lit(1)).with_row_index("impression_id")

    now, before = period(), period().drop("arm")
    sides = (world.side == 0, world.side == 1)
    yield "usual", world.usual(now["clicked"].to_numpy(), sides)
    options = {"arm": "arm", "control": 0, "by": "run"}
    for name, covariates in (("ctr", None), ("ctr, CUPED", before)):
        found = clicks.compare_arms(now, "ctr", covariates=covariates, **options)
        yield name, (found["p_value"] < 0.05).sum() / args.runs


def teams(args: argparse.Namespace, kind: str, users: int) -> Shares:
    """Two rankers, of which half of the users like one, and half the other."""
    world = World(args, kind, users, 0.0)
    first = world.log(clicked=world.draw()).with_row_index("impression_id")
    net = 2.0 * first["clicked"].to_numpy() - 1.0
    yield "usual", world.usual(net, (np.ones_like(world.side),))
    rows = [
        first.with_columns(
            team=pl.lit(team), position=pl.lit(place), clicked=pl.col("clicked") == won
        )
        for place, (team, won) in enumerate((("A", True), ("B", False)), start=1)
    ]
    options = {"team": "team", "cluster": "user_id", "by": "run", "n_resamples": 400}
    for test in ("sign", "permutation"):
        found = clicks.interleaving(pl.concat(rows), test=test, **options)
        yield f"p_value, {test}", (found["p_value"] < 0.05).sum() / args.runs
    outside = (found["lower"] > 0) | (found["upper"] < 0)
    yield "interval", outside.sum() / args.runs


def propensities(args: argparse.Namespace, kind: str, users: int) -> Shares:
    """Users who look down the list to different depths; lists are shuffled."""
    rng = np.random.default_rng([args.seed, KINDS.index(kind), users, 1])
    queries, docs, depth, spread = 5, 4, np.arange(1, 5), 0.3
    # The mean of k^-eta over normal eta: all users weigh the same in expectation.
    truth = depth ** (-1.0 + spread**2 / 2 * np.log(depth))
    held = total = 0
    for _ in range(args.logs):
        counts = 10 * searches(rng, kind, (users,))
        user = np.repeat(np.arange(users), counts)
        eta = rng.normal(1.0, spread, users)[user, None]
        attractive = rng.beta(2, 3, (queries, docs))
        query = rng.integers(queries, size=len(user))[:, None]
        doc = np.argsort(rng.random((len(user), docs)), axis=1)
        clicked = rng.random(doc.shape) < attractive[query, doc] * depth**-eta
        log = pl.DataFrame(
            {
                "impression_id": np.repeat(np.arange(len(user)), docs),
                "user_id": np.repeat(user, docs),
                "query_id": np.repeat(query, docs),
                "doc_id": doc.ravel(),
                "position": np.tile(depth, len(user)),
                "clicked": clicked.ravel(),
            }
        )
        found = clicks.propensities(log, args.method, cluster="user_id")
        lower, upper = (found[name].to_numpy()[1:] for name in ("lower", "upper"))
        held += int(((lower <= truth[1:]) & (truth[1:] <= upper)).sum())
        total += len(truth) - 1
    yield f"coverage, {args.method}", held / total


TASKS = {"ctr": arms, "interleaving": teams, "propensities": propensities}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--logs", type=int, default=500, help="of propensities")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--taste", type=float, default=1.0)
    parser.add_argument("--method", default="harvest", help="of propensities")
    parser.add_argument("--only", choices=[*TASKS])
    args = parser.parse_args()
    warnings.simplefilter("ignore", DataWarning)  # of few clusters: that is the point
    error = 2 * (0.05 * 0.95 / args.runs) ** 0.5
    print(f"{args.runs} runs, seed {args.seed}, taste {args.taste}, +- {error:.4f}")
    for task in [args.only] if args.only else TASKS:
        for kind in KINDS:
            for users in USERS:
                shares = TASKS[task](args, kind, users)
                shown = "  ".join(f"{name} {share:.4f}" for name, share in shares)
                print(f"{task:13} {kind:10} {users:4}  {shown}", flush=True)


if __name__ == "__main__":
    main()
