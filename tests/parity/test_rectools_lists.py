"""RecTools beyond accuracy: lists, history and items of random shops."""

from __future__ import annotations

import doctest
import re
import warnings
from itertools import product
from pathlib import Path

import pytest
from parity.shops import ITEMS, agree, agree_on_all, shops

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pd = pytest.importorskip("pandas")
    metrics = pytest.importorskip("rectools.metrics", exc_type=ImportError)
    distances = pytest.importorskip("rectools.metrics.distances", exc_type=ImportError)
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
IDS = ["user_id", "item_id"]


def frames(shop):
    """Its lists, history and test."""
    reco = pd.DataFrame(shop.rows, columns=[*IDS, "rank"])
    return reco, *(pd.DataFrame(pairs, columns=IDS) for pairs in (shop.past, shop.test))


def of_users(series):
    return {user: float(value) for user, value in series.items()}


@pytest.mark.parametrize("k", [1, 3, 10])
def test_mean_inverse_user_frequency(k):
    mine, theirs = [], []
    for shop in shops():
        reco, history, _ = frames(shop)
        mine.append(shop.values(f"novelty@{k}"))
        tool = metrics.MeanInvUserFreq(k=k)
        theirs.append(of_users(tool.calc_per_user(reco, history)))
    agree("RecTools", "MeanInvUserFreq", mine, theirs)


@pytest.mark.parametrize(("k", "normalize"), [*product([1, 3, 10], [False, True])])
def test_average_popularity(k, normalize):
    mine, theirs = [], []
    for shop in shops():
        reco, history, _ = frames(shop)
        mine.append(shop.values(f"mean_popularity(normalize={normalize})@{k}"))
        tool = metrics.AvgRecPopularity(k=k, normalize=normalize)
        theirs.append(of_users(tool.calc_per_user(reco, history)))
    agree("RecTools", "AvgRecPopularity", mine, theirs)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_serendipity(k):
    """RecTools has the users of the test only."""
    mine, theirs = [], []
    for shop in shops():
        reco, history, test = frames(shop)
        mine.append(shop.values(f"serendipity@{k}", qrels=shop.qrels))
        found = metrics.Serendipity(k=k).calc_per_user(
            reco, test, history, range(ITEMS)
        )
        theirs.append(of_users(found))
    agree("RecTools", "Serendipity", mine, theirs)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_intra_list_diversity(k):
    """Lists of tags are columns of 0 and 1 there."""
    mine, theirs = [], []
    for shop in shops():
        reco, _, _ = frames(shop)
        features = pd.DataFrame(shop.tags, pd.Index(range(ITEMS), name="item_id"))
        distance = distances.PairwiseHammingDistanceCalculator(features)
        tool = metrics.IntraListDiversity(k=k, distance_calculator=distance)
        theirs.append(of_users(tool.calc_per_user(reco)))
        mine.append(shop.values(f"ild(tags)@{k}", convention="rectools"))
    note = "PairwiseHammingDistanceCalculator"
    agree("RecTools", "IntraListDiversity", mine, theirs, note)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_covered_users(k):
    mine, theirs = [], []
    for shop in shops():
        reco, _, test = frames(shop)
        own = shop.values(f"user_coverage@{k}", qrels=shop.qrels)
        theirs.append(of_users(metrics.CoveredUsers(k=k).calc_per_user(reco, test)))
        mine.append(dict.fromkeys(theirs[-1], 0.0) | own)
    agree("RecTools", "CoveredUsers", mine, theirs)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_sufficient_recommendations(k):
    mine, theirs = [], []
    for shop in shops():
        reco, _, _ = frames(shop)
        mine.append(shop.values(f"user_coverage(least={k})@{k}"))
        theirs.append(of_users(metrics.SufficientReco(k=k).calc_per_user(reco)))
    agree("RecTools", "SufficientReco", mine, theirs)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_catalog_coverage(k):
    mine, theirs = [], []
    for shop in shops():
        reco, _, _ = frames(shop)
        mine.append(shop.value(f"coverage@{k}"))
        tool = metrics.CatalogCoverage(k=k, normalize=True)
        theirs.append(float(tool.calc(reco, range(ITEMS))))
    agree_on_all("RecTools", "CatalogCoverage", mine, theirs)


def test_the_tour():
    """What the page computes with us, and its code for RecTools."""
    page = (Path(__file__).parents[2] / "docs/guide/recommender-tour.md").read_text()
    names: dict[str, object] = {}
    for example in doctest.DocTestParser().get_examples(page.replace("```", "")):
        exec(example.source, names)
    exec(re.search(r"```python\n(.*?)```", page, re.DOTALL)[1], names)
    (ours,) = names["table"].filter(system="neighbors").to_dicts()
    assert len(names["theirs"]) == 5
    for name, value in names["theirs"].items():
        assert ours[name] == pytest.approx(value, abs=1e-12), name
