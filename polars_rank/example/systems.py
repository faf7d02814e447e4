"""Write systems.parquet: ``python -m polars_rank.example.systems``.

Four simulated systems rank ten products for each of 120 queries of a shop. ``hybrid2``
is a little better than ``hybrid``, except in Japan, where it is much worse.
"""

from __future__ import annotations

import random

import polars as pl

from polars_rank.example import systems_path

NOISE = {"bm25": 0.62, "dense": 0.55, "hybrid": 0.36, "hybrid2": 0.28}
COUNTRIES = ["US"] * 52 + ["DE"] * 44 + ["JP"] * 24


def systems() -> pl.DataFrame:
    """One row per system, query and document."""
    draw = random.Random(11)
    rows = []
    for place, country in enumerate(COUNTRIES):
        query, traffic = f"query {place + 1:03}", max(1, round(4000 / (place % 53 + 1)))
        labels = [draw.choices([0, 1, 2, 3], [60, 20, 12, 8])[0] for _ in range(10)]
        if not any(labels):
            labels[0] = 1
        hard = draw.uniform(0.5, 1.6)
        shared = [draw.gauss(0, 0.3 * hard) for _ in labels]
        for system, noise in NOISE.items():
            blind = (system, country) == ("hybrid2", "JP")
            for doc, label in enumerate(labels):
                score = (
                    (0 if blind else label / 3)
                    + shared[doc]
                    + draw.gauss(0, noise * hard)
                )
                key = (system, query, country, traffic)
                rows.append((*key, f"P{place + 1:03}-{doc}", round(score, 4), label))
    names = ["system", "query_id", "country", "traffic", "doc_id", "score", "label"]
    return pl.DataFrame(rows, schema=names, orient="row")


if __name__ == "__main__":
    systems().write_parquet(systems_path(), compression_level=19)
