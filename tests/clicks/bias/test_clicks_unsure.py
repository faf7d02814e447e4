"""Errors of propensities where few clusters tie a position to the first: null."""

from __future__ import annotations

import random

import polars as pl
import pytest

from polars_rank import clicks

# Places of the two documents of each query: only one query ties 3 to 1 and 2.
PLACES = {"a": (1, 2), "b": (1, 2), "c": (1, 2), "d": (1, 3)}


def log_of(places, impressions=60, chance=None):
    rng = random.Random(1)
    rows = []
    for query in places:
        for _ in range(impressions):
            docs = ["x", "y"]
            rng.shuffle(docs)
            for doc, at in zip(docs, places[query], strict=True):
                p = {"x": 0.7, "y": 0.4}[doc] / at if chance is None else chance(at)
                rows.append((len(rows) // 2, query, doc, at, rng.random() < p))
    names = ["impression_id", "query_id", "doc_id", "position", "clicked"]
    log = pl.DataFrame(rows, schema=names, orient="row")
    return log.with_columns(copy="query_id", relevance=pl.col("doc_id") == "x")


@pytest.mark.parametrize("cluster", [None, "copy"])
@pytest.mark.parametrize("method", ["harvest", "em"])
def test_what_a_single_query_knows_has_no_error(method, cluster):
    options = {} if cluster is None else {"cluster": cluster}
    found = clicks.propensities(log_of(PLACES), method, **options)
    assert found["propensity"].null_count() == 0
    assert found["se"].is_null().to_list() == [False, False, True]
    assert found["upper"].is_null().to_list() == [False, False, True]
    alone = clicks.propensities(log_of({**PLACES, "d": (1, 2)}), method, **options)
    assert alone["se"].null_count() == 0
    # Two queries do: then it has one.
    both = clicks.propensities(log_of({**PLACES, "e": (2, 3)}), method, **options)
    assert both["se"].null_count() == 0


def test_errors_of_the_others_are_those_without_it():
    """Leaving out the query leaves the rest where it is; only it is one group more."""
    found = clicks.propensities(log_of(PLACES))["se"][1]
    more, less = (log_of({q: PLACES[q] for q in qs}) for qs in ("abcd", "abc"))
    without = [
        clicks.propensities(more.filter(pl.col("query_id") != q)) for q in "abcd"
    ]
    theta = clicks.propensities(more)["propensity"][1]
    away = [f["propensity"][1] / theta - 1 for f in without]
    jackknife = (sum(a * a for a in away) * 3 / 4) ** 0.5 * theta
    assert found == pytest.approx(jackknife, rel=0.05)
    assert clicks.propensities(less)["clusters"][0] == 3


@pytest.mark.parametrize("cluster", [None, "impression_id"])
def test_all_that_was_shown_was_clicked(cluster):
    """The likelihood of EM is flat there: a value, but no error."""
    options = {} if cluster is None else {"cluster": cluster}
    log = log_of(PLACES, chance=lambda at: 1.0)
    found = clicks.propensities(log, "em", **options)
    assert found["propensity"].to_list() == pytest.approx([1.0, 1.0, 1.0])
    assert found["se"].to_list() == [0.0, None, None]


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("ctr", {}),
        ("trust", {"relevance": "relevance"}),
        ("regression_em", {"relevance": "relevance"}),
    ],
)
def test_a_rate_of_a_single_cluster_has_no_error(method, options):
    log = log_of(PLACES)
    if method == "regression_em":
        log = log.with_columns(relevance=pl.col("relevance") * 0.3 + 0.4)
    found = clicks.propensities(log, method, cluster="copy", **options)
    assert found["propensity"].null_count() == 0
    assert found["se"].is_null().to_list() == [False, False, True]
    if method == "trust":
        assert found["alpha_se"].is_null().to_list() == [False, False, True]


def test_a_chain_ends_at_the_pair_of_a_single_cluster():
    rows = [
        (i, at, other, i % 2 == 0, 0 if upper == 2 else i % 4)
        for i in range(24)
        for upper in [i % 3 + 1]
        for at, other in [(upper, upper + 1), (upper + 1, upper)]
    ]
    names = ["impression_id", "position", "swap", "clicked", "u"]
    log = pl.DataFrame(rows, schema=names, orient="row")
    found = clicks.propensities(log, "fair_pairs", swap="swap", cluster="u")
    assert found["propensity"].null_count() == 0
    assert found["se"].is_null().to_list() == [False, False, True, True]


def test_a_reference_that_clicks_say_nothing_of():
    """A line that is below 0 at relevance 1: no propensity is relative to that."""
    rows = [(i, k, i % 2, c) for i, c in enumerate([1, 0, 1, 0, 1, 0]) for k in (1, 2)]
    log = pl.DataFrame(
        [(i, k, x * 0.4, c if k == 1 else 1 - c) for i, k, x, c in rows],
        schema=["impression_id", "position", "relevance", "clicked"],
        orient="row",
    )
    with pytest.warns(UserWarning, match="without a propensity: 1, 2"):
        found = clicks.propensities(log, "trust", relevance="relevance")
    assert found["alpha"][0] + found["beta"][0] < 0 < found["alpha"][1]
    assert found["propensity"].to_list() == [None, None]
    assert found["note"].to_list() == ["no clicks at the reference position"] * 2
