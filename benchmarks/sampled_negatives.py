"""How near estimates from sampled negatives are, and how often intervals hold.

``python benchmarks/sampled_negatives.py --runs 500 --seed 1 --kept FILE``: three models
score 1,000 items for 500 users, popular items higher, and rank an item of each user
among all of them, which gives the true values, and among negatives: 100 distinct ones
of equal probability, or 250 independent draws in proportion to popularity (exponent
0.5). What a run found is appended to FILE, and runs that are there are not repeated. An
interval is compared with the mean of all users of all runs, and with that of its own
users. ``--many`` takes 350 and 700 negatives, as many as measures that weigh ranks
need. ``--large`` draws the ranks of 4,000 users among 5,000 items instead, of three
systems whose order the naive numbers turn around. ``--users 50000`` draws so many
users from a population of 100,000 of the first models, with 100 distinct negatives.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

from polars_rank import recommend

Numbers: TypeAlias = npt.NDArray[Any]

ITEMS, USERS = 1000, 500
POPULATION, AT_ONCE = 100_000, 5_000
DRAWS = {"uniform": 100, "popular": 250}  # enough for hits@10
MANY = {"uniform": 350, "popular": 700}  # for measures that weigh ranks
MODELS = ("tops", "steady", "mixed")
METHODS = ("em", "decreasing", "rank", "least_squares")
MEASURES = {
    "hits@10": lambda r: (r <= 10) * 1.0,
    "ndcg@10": lambda r: np.where(r <= 10, 1 / np.log2(r + 1), 0.0),
    "rr@10": lambda r: np.where(r <= 10, 1 / r, 0.0),
    "hits@50": lambda r: (r <= 50) * 1.0,
    "hits@3": lambda r: (r <= 3) * 1.0,
}
POPULARITY = np.arange(1.0, ITEMS + 1) ** -0.5
POPULARITY /= POPULARITY.sum()


def lift(model: str, rng: np.random.Generator, users: int = USERS) -> Numbers:
    """How much higher a model scores the relevant item of each user."""
    if model == "tops":  # few users, but these well
        return np.where(rng.random(users) < 0.12, 4.0, 0.0)
    if model == "steady":
        return np.full(users, 1.2)
    return rng.normal(1.0, 1.0, users)


def negatives(
    draw: str, m: int, relevant: Numbers, rng: np.random.Generator
) -> Numbers:
    """Draw items other than the relevant one for each user."""
    if draw == "uniform":
        keys = rng.random((USERS, ITEMS))
        keys[np.arange(USERS), relevant] = 2.0  # last
        return np.argpartition(keys, m, axis=1)[:, :m]
    drawn = rng.choice(ITEMS, (USERS, m), p=POPULARITY)
    while (again := drawn == relevant[:, None]).any():
        drawn[again] = rng.choice(ITEMS, int(again.sum()), p=POPULARITY)
    return drawn


def log_of(scores: Numbers, relevant: Numbers, drawn: Numbers) -> pl.DataFrame:
    """Rows of the relevant item and of the negatives of each user."""
    users = np.arange(USERS)
    items = np.column_stack([relevant, drawn])
    chance = POPULARITY[items] / (1 - POPULARITY[relevant])[:, None]
    return pl.DataFrame(
        {
            "user_id": np.repeat(users, items.shape[1]),
            "item_id": items.ravel(),
            "label": np.tile(np.arange(items.shape[1]) == 0, USERS).astype(np.int8),
            "score": scores[users[:, None], items].ravel(),
            "p": chance.ravel(),
        }
    )


def run(seed: int, draws: Mapping[str, int]) -> pl.DataFrame:
    """Estimate the measures of all models, from both kinds of draws."""
    rng = np.random.default_rng(seed)
    relevant = rng.choice(ITEMS, USERS, p=POPULARITY)
    drawn = {draw: negatives(draw, m, relevant, rng) for draw, m in draws.items()}
    logs: dict[str, list[pl.DataFrame]] = {draw: [] for draw in draws}
    truth = []
    for model in MODELS:
        scores = 0.5 * np.log(POPULARITY) + rng.normal(size=(USERS, ITEMS))
        own = scores[np.arange(USERS), relevant] + lift(model, rng)
        scores[np.arange(USERS), relevant] = own
        ranks = 1.0 + (scores > own[:, None]).sum(axis=1)
        truth += [(model, n, float(f(ranks).mean())) for n, f in MEASURES.items()]
        for draw in draws:
            log = log_of(scores, relevant, drawn[draw])
            logs[draw].append(log.with_columns(model=pl.lit(model)))
    found = []
    for draw, parts in logs.items():
        how: dict[str, Any] = {}
        if draw == "popular":
            how = {"probability": "p", "min_probability": float(POPULARITY.min())}
        state = recommend.sampled_state(
            pl.concat(parts), n_items=ITEMS, by="model", item="item_id", **how
        )
        for method in METHODS:
            values = recommend.merge_sampled(state, [*MEASURES], method=method)
            about = {"seed": pl.lit(seed), "draw": pl.lit(draw)}
            found.append(values.with_columns(method=pl.lit(method), **about))
    known = pl.DataFrame(truth, ["model", "measure", "full"], orient="row")
    return pl.concat(found).join(known, on=["model", "measure"])


@cache
def population(model: str) -> Numbers:
    """Ranks of the relevant items of many users among all items."""
    rng, found = np.random.default_rng(0), []
    for _ in range(POPULATION // AT_ONCE):
        relevant = rng.choice(ITEMS, AT_ONCE, p=POPULARITY)
        scores = 0.5 * np.log(POPULARITY) + rng.normal(size=(AT_ONCE, ITEMS))
        own = scores[np.arange(AT_ONCE), relevant] + lift(model, rng, AT_ONCE)
        scores[np.arange(AT_ONCE), relevant] = own
        found.append(1 + (scores > own[:, None]).sum(axis=1))
    return np.concatenate(found)


def many_users(seed: int, users: int) -> pl.DataFrame:
    """Estimate the measures of all models of so many users, by the counts of a log."""
    rng, m = np.random.default_rng(seed), DRAWS["uniform"]
    few = {"user_id": [1, 1], "label": [1, 0], "score": [1, 0], "model": ["", ""]}
    state = recommend.sampled_state(pl.DataFrame(few), n_items=ITEMS, by="model")
    same, parts, truth = state.row(0, named=True), [], []
    for model in MODELS:
        ranks = rng.choice(population(model), users)
        above = rng.hypergeometric(ranks - 1, ITEMS - ranks, m)
        lists = pl.DataFrame({"group": rng.integers(20, size=users), "above": above})
        counts = lists.group_by("group", "above").len("counts").sort(pl.all())
        counts = (
            counts.with_columns(negatives=pl.lit(m)).group_by("group").agg(pl.all())
        )
        parts.append(
            counts.with_columns(
                pl.lit(same[n]).alias(n) for n in ("measure", "definition", "digests")
            ).with_columns(model=pl.lit(model))
        )
        known = population(model)
        truth += [(model, n, float(f(known).mean())) for n, f in MEASURES.items()]
    whole = pl.concat(parts).select(state.columns).cast(dict(state.schema))
    found = []
    for method in METHODS:
        values = recommend.merge_sampled(whole, [*MEASURES], method=method)
        about = {"seed": pl.lit(seed), "draw": pl.lit(f"{users} users")}
        found.append(values.with_columns(method=pl.lit(method), **about))
    known = pl.DataFrame(truth, ["model", "measure", "full"], orient="row")
    return pl.concat(found).join(known, on=["model", "measure"])


def large_ranks(system: str, rng: np.random.Generator) -> Numbers:
    """Ranks among 5,000 items: A is right at the top for few users, else nowhere."""
    if system == "A":
        top = rng.random(4000) < 0.12
        return np.where(top, rng.integers(1, 6, 4000), rng.integers(1, 5001, 4000))
    a, b = {"B": (1.0, 14.0), "C": (0.45, 6.0)}[system]
    return np.minimum((rng.beta(a, b, 4000) * 5000).astype(int) + 1, 5000)


def large_run(seed: int) -> pl.DataFrame:
    """Estimate the measures of three systems from 100 and from 500 negatives."""
    rng = np.random.default_rng(seed)
    found, truth = [], []
    for system in "ABC":
        ranks = large_ranks(system, rng)
        truth += [(system, n, float(f(ranks).mean())) for n, f in MEASURES.items()]
        for m in (100, 500):
            above = rng.hypergeometric(ranks - 1, 5000 - ranks, m)
            log = pl.DataFrame(
                {
                    "user_id": np.repeat(np.arange(4000), m + 1),
                    "label": np.tile(np.arange(m + 1) == 0, 4000),
                    "score": np.where(
                        np.arange(m + 1) == 0,
                        0,
                        2 * (np.arange(m + 1) <= above[:, None]) - 1,
                    ).ravel(),
                }
            )
            state = recommend.sampled_state(log, n_items=5000)
            for method in METHODS:
                values = recommend.merge_sampled(state, [*MEASURES], method=method)
                about = {"seed": pl.lit(seed), "draw": pl.lit(f"{m} of 5000")}
                about |= {"method": pl.lit(method), "model": pl.lit(system)}
                found.append(values.with_columns(**about))
    known = pl.DataFrame(truth, ["model", "measure", "full"], orient="row")
    return pl.concat(found).join(known, on=["model", "measure"])


def summary(rows: pl.DataFrame) -> pl.DataFrame:
    """Errors and coverage over all runs, by draw, method, measure and model."""
    rows = rows.with_columns(true=pl.col("full").mean().over("model", "measure"))
    holds = [
        pl.col(of).is_between("lower", "upper").mean().alias(name)
        for of, name in (("true", "coverage"), ("full", "coverage_own"))
    ]
    keys = ["draw", "method", "measure", "model"]
    return rows.group_by(keys, maintain_order=True).agg(
        pl.len().alias("runs"),
        pl.col("true").first(),
        (pl.col("naive") - pl.col("true")).mean().alias("naive_bias"),
        (pl.col("estimate") - pl.col("true")).mean().alias("bias"),
        pl.col("estimate").std().alias("sd"),
        (pl.col("upper") - pl.col("lower")).mean().alias("width"),
        *holds,
    )


def orders(rows: pl.DataFrame) -> pl.DataFrame:
    """Mean absolute errors, and share of the runs with the models in true order."""
    keys = ["draw", "method", "measure"]
    rows = rows.with_columns(true=pl.col("full").mean().over("model", "measure"))
    right = [
        (pl.col(n).rank() == pl.col("true").rank()).all().alias(f"{n}_order")
        for n in ("naive", "estimate", "full")
    ]
    each = rows.group_by(*keys, "seed", maintain_order=True).agg(right)
    errors = rows.group_by(keys, maintain_order=True).agg(
        (pl.col(n) - pl.col("full")).abs().mean().alias(f"{n}_error")
        for n in ("naive", "estimate")
    )
    names = [f"{n}_order" for n in ("naive", "estimate", "full")]
    shares = each.group_by(keys, maintain_order=True).agg(pl.col(names).mean())
    return errors.join(shares, on=keys, maintain_order="left")


def main() -> None:
    """Run what is missing, and print all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kept", type=Path)
    parser.add_argument("--many", action="store_true")
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--users", type=int)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    kept, draws = given.kept, MANY if given.many else DRAWS
    known = pl.read_csv(kept) if kept and kept.exists() else None
    seen = set() if known is None else {*known["seed"].unique()}
    parts = [] if known is None else [known]
    for seed in range(given.seed, given.seed + given.runs):
        if seed in seen:
            continue
        if given.users is not None:
            found = many_users(seed, given.users)
        else:
            found = large_run(seed) if given.large else run(seed, draws)
        found = found.with_columns(pl.col("seed", "users").cast(pl.Int64))
        if kept:
            with kept.open("a") as file:
                file.write(found.write_csv(include_header=not kept.stat().st_size))
        parts.append(found)
    rows = pl.concat(parts)
    with pl.Config(tbl_rows=-1, tbl_cols=-1, tbl_width_chars=200, float_precision=4):
        print(f"seeds {given.seed} to {given.seed + given.runs - 1}")
        print(summary(rows), orders(rows), sep="\n")


if __name__ == "__main__":
    main()
