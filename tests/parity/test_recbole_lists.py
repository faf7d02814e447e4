"""RecBole beyond accuracy, on random shops, whose lists are all as long."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from parity.compare import need, remark
from parity.shops import ITEMS, agree, agree_on_all, shops

np = need("numpy")
metrics = need("recbole.evaluator.metrics")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


def lists_of(shop):
    return np.array([*shop.lists.values()])


@pytest.mark.parametrize("k", [1, 3, 10])
def test_average_popularity(k):
    metric = object.__new__(metrics.AveragePopularity)
    mine, theirs = [], []
    for shop in shops(lengths=(10,)):
        times = Counter(item for _, item in shop.past)
        found = metric.metric_info(metric.get_pop(lists_of(shop), times))
        theirs.append(dict(zip(shop.lists, found[:, k - 1].tolist(), strict=True)))
        mine.append(shop.values(f"mean_popularity@{k}", convention="recbole"))
    agree("RecBole", "AveragePopularity", mine, theirs)


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize(
    ("measure", "name", "function"),
    [
        ("coverage", "ItemCoverage", "get_coverage"),
        ("gini", "GiniIndex", "get_gini"),
    ],
)
def test_catalog(measure, name, function, k):
    metric = object.__new__(getattr(metrics, name))
    mine, theirs = [], []
    for shop in shops(lengths=(10,)):
        found = getattr(metric, function)(lists_of(shop)[:, :k], ITEMS)
        theirs.append(float(found))
        mine.append(shop.value(f"{measure}@{k}", convention="recbole"))
    note = "it counts the item that fills up batches, too, and rounds to four decimals"
    agree_on_all("RecBole", name, mine, theirs, note)


def test_entropy_there_is_divided_by_the_number_of_items():
    metric = object.__new__(metrics.ShannonEntropy)
    for shop in shops(lengths=(10,)):
        lists = lists_of(shop)
        there = metric.get_entropy(lists)
        nats = shop.value("entropy") * math.log(2)
        assert there * len(np.unique(lists)) == pytest.approx(nats, abs=1e-12)
    note = "in nats, divided by the number of different items that are recommended"
    remark("recbole", "ShannonEntropy", note)
