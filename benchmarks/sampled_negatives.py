"""How near estimates from sampled negatives are, and how often intervals hold.

    python benchmarks/sampled_negatives.py [RUNS]

Seeds 0 to RUNS - 1 (default 20); three systems, 5,000 items, 4,000 users. Draws of
equal probability, without replacement, and in proportion to popularity (exponent 0.5)
with replacement, thinned by probability.
"""

from __future__ import annotations

import sys
import warnings

import numpy as np
import polars as pl

from polars_rank import recommend

N, USERS = 5000, 4000
MEASURES = {
    "hits@10": lambda r: (r <= 10) * 1.0,
    "ndcg@10": lambda r: np.where(r <= 10, 1 / np.log2(r + 1), 0),
    "hits@100": lambda r: (r <= 100) * 1.0,
}


def ranks_of(system: str, rng: np.random.Generator) -> np.ndarray:
    if system == "A":
        top = rng.random(USERS) < 0.12
        low, high = rng.integers(1, 6, USERS), rng.integers(1, N + 1, USERS)
        return np.where(top, low, high)
    a, b = {"B": (1.0, 14), "C": (0.45, 6)}[system]
    return np.clip((rng.beta(a, b, USERS) * N).astype(int) + 1, 1, N)


def log_of(ranks, m, rng, popular):
    """Rows of each user: the relevant item scores 0, and better items more."""
    if popular is None:  # places of the negatives in the order of the user
        places = np.stack([rng.choice(N - 1, m, replace=False) for _ in ranks])
        items, p = places + 1, np.full(places.shape, 1 / (N - 1))
    else:  # items, put into an order that does not depend on popularity
        items = 1 + rng.choice(N - 1, (len(ranks), m), p=popular)
        p = popular[items - 1]
        shift, factor = rng.integers(N - 1, size=len(ranks)), 1237
        places = (items * factor + shift[:, None]) % (N - 1)
    score = np.where(places < ranks[:, None] - 1, 1.0, -1.0)
    users = np.arange(len(ranks))
    negatives = pl.DataFrame(
        {
            "user_id": np.repeat(users, m),
            "item_id": items.ravel(),
            "label": 0,
            "score": score.ravel(),
            "p": p.ravel(),
        }
    )
    relevant = pl.DataFrame(
        {"user_id": users, "item_id": 0, "label": 1, "score": 0.0, "p": 1.0}
    )
    return pl.concat(
        [negatives, relevant.select(negatives.columns)], how="vertical_relaxed"
    )


def main() -> None:
    runs = int(sys.argv[1]) if sys.argv[1:] else 20
    warnings.simplefilter("ignore")
    popular = np.arange(1.0, N) ** -0.5
    popular /= popular.sum()
    cells = []
    for seed in range(runs):
        rng = np.random.default_rng(seed)
        systems = {system: ranks_of(system, rng) for system in "ABC"}
        for draw, m in (("uniform", 100), ("uniform", 500), ("popular", 500)):
            for system, ranks in systems.items():
                p = popular if draw == "popular" else None
                log = log_of(ranks, m, rng, p)
                asked = {"items": N}
                if p is not None:
                    asked |= {"probability": "p", "min_probability": float(p.min())}
                state = recommend.sampled_state(log, **asked)
                for method in ("em", "rank", "least_squares"):
                    found = recommend.merge_sampled(
                        state, [*MEASURES], method=method, n_resamples=100
                    ).values
                    for row in found.iter_rows(named=True):
                        true = float(MEASURES[row["measure"]](ranks).mean())
                        cells.append(
                            (
                                seed,
                                draw,
                                m,
                                row["measure"],
                                method,
                                system,
                                true,
                                row["estimate"],
                                row["naive"],
                                row["lower"] <= true <= row["upper"],
                            )
                        )
    names = [
        "seed",
        "draw",
        "m",
        "measure",
        "method",
        "system",
        "true",
        "estimate",
        "naive",
        "held",
    ]
    table = pl.DataFrame(cells, names, orient="row")
    keys = ["draw", "m", "measure", "method"]
    order = (pl.col("estimate").rank() == pl.col("true").rank()).all()
    naive = (pl.col("naive").rank() == pl.col("true").rank()).all()
    right = table.group_by(*keys, "seed").agg(right=order, naive_right=naive)
    right = right.group_by(keys).agg(pl.col("right", "naive_right").sum())
    errors = table.group_by(keys, maintain_order=True).agg(
        error=(pl.col("estimate") - pl.col("true")).abs().mean(),
        naive_error=(pl.col("naive") - pl.col("true")).abs().mean(),
        coverage=pl.col("held").mean(),
    )
    with pl.Config(tbl_rows=-1, tbl_cols=-1, float_precision=3):
        print(errors.join(right, on=keys, maintain_order="left"))


if __name__ == "__main__":
    main()
