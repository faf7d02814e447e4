"""LensKit beyond accuracy, on random shops."""

from __future__ import annotations

import pytest
from parity.compare import need
from parity.shops import ITEMS, agree_on_all, shops

data = need("lenskit.data")
ranking = need("lenskit.metrics.ranking")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]


@pytest.mark.parametrize("k", [1, 3, 10])
def test_gini(k):
    mine, theirs = [], []
    for shop in shops():
        metric = ranking.ListGini(items=ITEMS, k=k)
        lists = [data.ItemList(own, ordered=True) for own in shop.lists.values()]
        found = [metric.compute_list_data(own, data.ItemList([])) for own in lists]
        theirs.append(float(metric.global_aggregate(found)))
        mine.append(shop.value(f"gini@{k}", convention="lenskit"))
    agree_on_all("LensKit", "ListGini", mine, theirs)
