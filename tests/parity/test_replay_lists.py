"""RePlay beyond accuracy, on random shops."""

from __future__ import annotations

import pytest
from parity.compare import need
from parity.shops import agree, agree_on_all, shops

metrics = need("replay.metrics")
pd = need("pandas")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
IDS = ["query_id", "item_id"]


def frames(shop):
    """Its lists, best first, and its history."""
    rows = [(user, item, -float(rank)) for user, item, rank in shop.rows]
    reco = pd.DataFrame(rows, columns=[*IDS, "rating"])
    return reco, pd.DataFrame(shop.past, columns=IDS)


def per_user(name, k, *given):
    (values,) = getattr(metrics, name)([k], mode=metrics.PerUser())(*given).values()
    return {user: float(value) for user, value in values.items()}


@pytest.mark.parametrize("k", [1, 3, 10])
def test_surprisal(k):
    mine, theirs = [], []
    for shop in shops():
        theirs.append(per_user("Surprisal", k, *frames(shop)))
        mine.append(shop.values(f"surprisal@{k}", convention="replay"))
    agree("RePlay", "Surprisal", mine, theirs)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_novelty(k):
    """It has users of the history; of one without a list, 1."""
    mine, theirs = [], []
    for shop in shops():
        found = per_user("Novelty", k, *frames(shop))
        theirs.append({u: v for u, v in found.items() if shop.lists.get(u)})
        mine.append(shop.values(f"unseen@{k}", convention="replay"))
    agree("RePlay", "Novelty", mine, theirs)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_categorical_diversity(k):
    mine, theirs = [], []
    for shop in shops():
        reco, _ = frames(shop)
        reco["category_id"] = reco["item_id"] % 7
        theirs.append(per_user("CategoricalDiversity", k, reco.drop(columns="item_id")))
        mine.append(shop.values(f"category_diversity(group)@{k}", convention="replay"))
    agree("RePlay", "CategoricalDiversity", mine, theirs)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_coverage(k):
    """Its catalog is the history."""
    mine, theirs = [], []
    for shop in shops(warm=True):
        (value,) = metrics.Coverage([k])(*frames(shop)).values()
        theirs.append(value)
        mine.append(shop.value(f"coverage@{k}", items=None, convention="replay"))
    agree_on_all("RePlay", "Coverage", mine, theirs)
