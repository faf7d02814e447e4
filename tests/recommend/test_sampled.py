"""Sampled negatives, against loops, enumeration and whole catalogues."""

from itertools import combinations
from math import log2

import numpy as np
import polars as pl
import pytest

from polars_rank import DataError, DataWarning, recommend
from polars_rank.recommend.rank_estimators import chances


def drawn(seed, users=400, items=60, m=20, popular=None):
    """Scores of all items, and those of item 0 and m negatives, as rows."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(users, items))
    scores[:, 0] += 1.5
    rows = []
    for u in range(users):
        others = 1 + rng.choice(items - 1, m, replace=popular is not None, p=popular)
        rows += [(u, 0, 1, scores[u, 0])] + [
            (u, int(i), 0, scores[u, i]) for i in others
        ]
    log = pl.DataFrame(rows, ["user_id", "item_id", "label", "score"], orient="row")
    return log, 1 + (scores[:, 1:] > scores[:, :1]).sum(axis=1)


@pytest.mark.parametrize("m", [1, 3, 6])
def test_chances_are_those_of_all_draws(m):
    found = chances(np.arange(1.0, 8), 7, m, np.arange(m + 1.0), replacement=False)
    for rank in range(1, 8):
        above = [sum(i < rank - 1 for i in s) for s in combinations(range(6), m)]
        share = [above.count(x) / len(above) for x in range(m + 1)]
        assert found[rank - 1] == pytest.approx(share)


def test_naive_is_that_of_a_loop():
    log, _ = drawn(1)
    gains = []
    for _, rows in log.group_by("user_id"):
        own = rows.filter(pl.col("label") == 1)["score"].item()
        rank = sum(s >= own for s in rows["score"])
        gains.append(1 / log2(rank + 1) if rank <= 10 else 0)
    found = recommend.sampled(log.lazy(), "ndcg@10", items=60).values
    assert found["naive"].item() == pytest.approx(sum(gains) / len(gains))


@pytest.mark.parametrize("method", ["em", "rank", "least_squares"])
def test_whole_catalogue_is_exact(method):
    log, ranks = drawn(2, m=59, users=100)
    found = recommend.sampled(log, "hits@10", items=60, method=method).values
    tolerance = 0.02 if method != "rank" else 1e-12
    assert found["estimate"].item() == pytest.approx(
        (ranks <= 10).mean(), abs=tolerance
    )


def test_estimate_is_near_the_catalogue_uniform_and_popular():
    log, ranks = drawn(3, users=4000)
    true = (ranks <= 10).mean()
    found = recommend.sampled(log, "hits@10", items=60).values
    assert found["lower"].item() < true < found["upper"].item()
    assert abs(found["naive"].item() - true) > 0.1
    p = 1 / np.arange(1.0, 60) ** 0.5
    p /= p.sum()
    log, ranks = drawn(4, users=4000, m=40, popular=p)
    of = pl.Series([1.0, *p])
    log = log.with_columns(p=of.gather(log["item_id"]))
    found = recommend.sampled(
        log, "hits@10", items=60, probability="p", min_probability=p.min()
    ).values
    assert found["estimate"].item() == pytest.approx((ranks <= 10).mean(), abs=0.03)


def test_parts_add_up_and_are_counted_once():
    log, _ = drawn(5)
    halves = [
        recommend.sampled_state(log.filter(pl.col("user_id") % 2 == i), items=60)
        for i in (0, 1)
    ]
    whole = recommend.sampled(log, "hits@10", items=60).values
    assert recommend.merge_sampled(halves, "hits@10").values.equals(whole)
    with pytest.raises(DataError, match="the same part twice"):
        recommend.merge_sampled([halves[0], halves[0]])


def test_bad_input_is_named():
    log, _ = drawn(6, users=20)
    with pytest.warns(DataWarning, match="draw at least 60"):
        recommend.sampled(log, "hits@1", items=60)
    with pytest.raises(DataError, match="more than 9 negatives"):
        recommend.sampled(log, items=10)
    with pytest.raises(DataError, match="no negatives"):
        recommend.sampled(log.filter(pl.col("label") > 0), items=60)
    with pytest.raises(ValueError, match="measure must be one of"):
        recommend.sampled(log, "auc", items=60)
