"""What changed between two lists: OpenSearch, the package rbo, LensKit, sliceline."""

from __future__ import annotations

import math
import random

import polars as pl
import pytest
from parity.record import record

from polars_rank import analysis

pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
OPENSEARCH = "OpenSearch Search Relevance Workbench"


def lists(seed: int, *, equal: bool = False) -> tuple[dict, dict]:
    """Two lists for each of 150 queries, of one length or of several, some the same."""
    draw = random.Random(seed)
    before, after = {}, {}
    for query in range(150):
        sizes = [draw.randint(1, 12) for _ in "ab"]
        sizes = [sizes[0]] * 2 if equal else sizes
        pool = [f"d{i}" for i in range(draw.choice([12, 15, 40]))]
        before[query] = draw.sample(pool, sizes[0])
        after[query] = draw.sample(pool, sizes[1])
        if draw.random() < 0.1:
            after[query] = list(before[query])
    return before, after


def changed(before: dict, after: dict, k: int = 12, **options) -> dict[int, dict]:
    found = analysis.changes(before, after, k=k, **options).queries
    return {row["query_id"]: row for row in found.to_dicts()}


def rounded(value: float) -> float:
    """As Java's Math.round of hundredths."""
    return math.floor(value * 100 + 0.5) / 100


def jaccard(a: list[str], b: list[str], _: float) -> float:
    return len({*a} & {*b}) / len({*a} | {*b})


def overlap_by_rank(a: list[str], b: list[str], p: float) -> float:
    """Walk down both lists; a list that has ended keeps what it had."""
    total = weights = 0.0
    for depth in range(1, max(len(a), len(b)) + 1):
        upper, lower = {*a[:depth]}, {*b[:depth]}
        weight = p ** (depth - 1)
        total += weight * len(upper & lower) / max(len(upper), len(lower))
        weights += weight
    return total / weights


@pytest.mark.parametrize(
    ("name", "formula", "p"),
    [
        ("jaccard", jaccard, 0.9),
        ("rbo", overlap_by_rank, 0.5),
        ("rbo", overlap_by_rank, 0.9),
    ],
)
def test_opensearch(name, formula, p):
    """From the source of PairComparison.java (f3174b0), which rounds to two digits."""
    before, after = lists(3)
    found = changed(before, after, p=p)
    # A value in the middle of two may be rounded either way.
    far = max(
        abs(found[q][name] - rounded(formula(before[q], after[q], p))) for q in before
    )
    assert far <= 0.005 + 1e-12
    note = "changes(); it rounds to two digits"
    record(OPENSEARCH, f"{name} of changes", max(0.0, far - 0.005), len(before), note)


def test_figures_of_opensearch():
    """Quoted from its own tests, PairComparisonTests.java."""
    found = changed({1: list("abc")}, {1: list("acb")}, p=0.5)
    assert found[1]["rbo"] == pytest.approx(0.86, abs=0.005)
    assert changed({1: list("abc")}, {1: list("def")}, p=0.5)[1]["rbo"] == 0
    assert changed({1: list("abcde")}, {1: list("abcde")}, p=0.9)[1][
        "rbo"
    ] == pytest.approx(1)


@pytest.mark.parametrize("p", [0.5, 0.9, 0.98])
def test_rbo(p):
    """Its sum is not divided by the largest that lists of this length can have."""
    rbo = pytest.importorskip("rbo")
    before, after = lists(5, equal=True)
    found = changed(before, after, p=p)
    far = 0.0
    for query, a in before.items():
        theirs = rbo.RankingSimilarity(a, after[query]).rbo(p=p)
        far = max(far, abs(found[query]["rbo"] * (1 - p ** len(a)) - float(theirs)))
    assert far <= 1e-12
    record("rbo", "rbo of changes", far, len(before), "times 1 - p^k, lists of k")


@pytest.mark.parametrize("k", [1, 3, 5])
def test_least_item_promoted(k):
    """The lowest rank, in the old list, of what is now among the first k, less k.

    It counts ranks from 0, so that a document from rank k + 1 is not promoted.
    """
    items = pytest.importorskip("lenskit.data").ItemList
    metric = pytest.importorskip("lenskit.metrics.reranking")
    before, after = lists(7)
    whole = analysis.changes(before, after, k=12).documents
    far = 0.0
    for query, old in before.items():
        new = after[query]
        theirs = metric.least_item_promoted(
            items(item_ids=old, ordered=True), items(item_ids=new, ordered=True), n=k
        )
        own = whole.filter(pl.col("query_id") == query, pl.col("rank") <= k)
        ours = max(0, (own["baseline_rank"].max() or 0) - 1 - k)
        far = max(far, abs(ours - float(theirs)))
    assert far == 0
    record(
        "lenskit",
        "least item promoted",
        far,
        len(before),
        "of changes(); it counts ranks from 0",
    )


def test_sliceline():
    """The slices that it finds have our size and mean."""
    sliceline = pytest.importorskip("sliceline.slicefinder")
    draw = random.Random(2)
    rows = [
        (draw.randint(1, 3), draw.randint(1, 2), draw.randint(1, 4)) for _ in range(900)
    ]
    errors = [
        draw.random() + 0.8 * (a == 1 and b == 2) + 0.3 * (c == 3) for a, b, c in rows
    ]
    finder = sliceline.Slicefinder(
        alpha=0.95, k=5, max_l=2, min_sup=30, verbose=False
    ).fit(rows, errors)
    values = pl.DataFrame(rows, schema=["a", "b", "c"], orient="row").cast(pl.String)
    values = values.with_columns(
        query_id=pl.int_range(pl.len()), difference=pl.Series(errors)
    )
    found = analysis.slices(
        values, ["a", "b", "c"], honest=False, max_slices=100, min_queries=30
    )
    ours = {row["slice"]: row for row in found.to_dicts()}
    far, cases = 0.0, 0
    for chosen, told in zip(
        finder.top_slices_, finder.top_slices_statistics_, strict=True
    ):
        pairs = [
            f"{n}={v}" for n, v in zip("abc", chosen, strict=True) if v is not None
        ]
        name = ", ".join(pairs)
        if name in ours:  # ours lists none that differs from a wider one by chance
            assert ours[name]["queries"] == told["slice_size"]
            far = max(far, abs(ours[name]["mean"] - told["slice_average_error"]))
            cases += 1
    assert cases >= 1
    assert "a=1, b=2" in ours  # which was planted
    assert far <= 1e-12
    record("sliceline", "size and mean of slices", far, cases, "slices()")
