"""Values of runs: columns that describe queries, wherever they are."""

from __future__ import annotations

import random

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import polars_rank as pr

DRAW = random.Random(5)
QUERIES = [f"q{i}" for i in range(40)]
IDS = {"query_id": [q for q in QUERIES for _ in "abc"], "doc_id": [*"abc"] * 40}
RUNS = {
    name: pl.DataFrame(IDS | {"score": [DRAW.random() for _ in range(120)]})
    for name in ("old", "new")
}
QRELS = pl.DataFrame(IDS | {"label": [DRAW.randint(0, 2) for _ in range(120)]})
ABOUT = pl.DataFrame(
    {
        "query_id": QUERIES,
        "country": [DRAW.choice(["DE", "US"]) for _ in QUERIES],
        "traffic": [DRAW.randint(1, 9) for _ in QUERIES],
        "user": [DRAW.randint(1, 20) for _ in QUERIES],
    }
)


@pytest.mark.covering(1)
@pytest.mark.parametrize("argument", ["segments", "queries"])
@pytest.mark.parametrize(
    "options",
    [
        {"by": "country"},
        {"weight": "traffic"},
        {"cluster": "user"},
        {"by": "country", "weight": "traffic", "cluster": "user"},
    ],
)
def test_descriptions_of_queries_may_be_a_frame_of_their_own(options, argument):
    told = {
        "a frame": ABOUT,
        "a plan": ABOUT.lazy(),
        "batches": iter([ABOUT[:9], ABOUT[9:]]),
    }
    values = pl.concat(
        pr.per_query(run, "ndcg", qrels=QRELS)
        .join(ABOUT, on="query_id")
        .with_columns(system=pl.lit(name))
        for name, run in RUNS.items()
    )
    wanted = pr.compare(values, "ndcg", **options).pairs
    for about in told.values():
        found = pr.compare(RUNS, "ndcg", qrels=QRELS, **{argument: about}, **options)
        assert_frame_equal(found.pairs, wanted)


def test_segments_are_not_named_as_columns_of_the_result():
    """Polars would tell of duplicate columns."""
    values = pl.concat(
        pr.per_query(run, "ndcg", qrels=QRELS).with_columns(system=pl.lit(name))
        for name, run in RUNS.items()
    )
    found = pr.compare(values, "ndcg")
    kept = pr.comparison.moments(values, "ndcg")
    own = [n for n in kept.columns if n != "system"]
    on_the_way = {"error", "place", "size", "logarithmic", "f", "mean_base", "critical"}
    for name in {*found.pairs.columns, *found.means.columns, *own, *on_the_way}:
        if name == "system":
            continue
        segmented = values.with_columns(pl.lit("a").alias(name))
        with pytest.raises(ValueError, match=f"by= names the column '{name}'"):
            pr.compare(segmented, "ndcg", by=name)
        with pytest.raises(ValueError, match=f"by= names the column '{name}'"):
            pr.comparison.moments(segmented, "ndcg", by=name)
