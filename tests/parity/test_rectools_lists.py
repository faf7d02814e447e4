"""RecTools beyond accuracy: lists, history and items of random shops."""

from __future__ import annotations

import doctest
import random
import re
import warnings
from itertools import product
from pathlib import Path

import polars as pl
import pytest
from parity.record import record

import polars_rank as pr

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    pd = pytest.importorskip("pandas")
    metrics = pytest.importorskip("rectools.metrics", exc_type=ImportError)
    distances = pytest.importorskip("rectools.metrics.distances", exc_type=ImportError)
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
ITEMS = 60
COLUMNS = {"query": "user_id", "doc": "item_id", "rank": "rank"}


class Shop:
    """Lists of 1 to 20 items; some users have no history, some items no interaction."""

    def __init__(self, seed):
        draw = random.Random(seed)
        users = range(30)
        popular = [i for i in range(ITEMS - 8) for _ in range(1 + 200 // (i + 1))]
        lists = [
            (user, item, rank)
            for user in users
            for rank, item in enumerate(
                draw.sample(range(ITEMS), draw.choice([1, 3, 8, 20])), 1
            )
        ]
        history = {(draw.choice(users[3:]), draw.choice(popular)) for _ in range(400)}
        test = {(draw.choice(users), draw.randrange(ITEMS)) for _ in range(250)}
        # Repeats are interactions, too, but of one user.
        history = [pair for pair in sorted(history) for _ in range(draw.choice([1, 2]))]
        self.reco = pd.DataFrame(lists, columns=["user_id", "item_id", "rank"])
        self.history = pd.DataFrame(history, columns=["user_id", "item_id"])
        self.test = pd.DataFrame(sorted(test), columns=["user_id", "item_id"])
        tags = [
            (item, *(draw.randint(0, 1) for _ in range(6))) for item in range(ITEMS)
        ]
        self.features = pd.DataFrame(
            [row[1:] for row in tags], index=pd.Index(range(ITEMS), name="item_id")
        )
        names = [[f"t{i}" for i, on in enumerate(row[1:]) if on] for row in tags]
        self.items = pl.DataFrame(
            {"item_id": range(ITEMS), "tags": names},
            schema_overrides={"tags": pl.List(pl.String)},
        )

    def ours(self, measure, **more):
        """Our value of each user."""
        run = pl.from_pandas(self.reco)
        history = pl.from_pandas(self.history)
        frames = {"history": history, "items": self.items, **COLUMNS, **more}
        if "qrels" not in more:
            run = run.with_columns(label=0)
        found = pr.per_query(run, measure, missing="skip", **frames)
        return dict(found.iter_rows())

    @property
    def qrels(self):
        return pl.from_pandas(self.test).with_columns(label=1)


def shops():
    return [Shop(seed) for seed in range(20)]


def agree(name, ours, theirs, note=""):
    """Compare the values of all users that RecTools has, and record the distance."""
    gaps, cases = [0.0], 0
    for own, tool in zip(ours, theirs, strict=True):
        assert own.keys() >= tool.keys()
        for user, value in tool.items():
            assert own[user] == pytest.approx(value, abs=1e-12), (name, user)
            gaps.append(abs(own[user] - value))
            cases += 1
    assert cases
    record("RecTools", name, max(gaps), cases, note)


def of_users(series):
    return {user: float(value) for user, value in series.items()}


@pytest.mark.parametrize("k", [1, 3, 10])
def test_mean_inverse_user_frequency(k):
    mine, theirs = [], []
    for shop in shops():
        mine.append(shop.ours(f"novelty@{k}"))
        tool = metrics.MeanInvUserFreq(k=k)
        theirs.append(of_users(tool.calc_per_user(shop.reco, shop.history)))
    agree("MeanInvUserFreq", mine, theirs)


@pytest.mark.parametrize(("k", "normalize"), [*product([1, 3, 10], [False, True])])
def test_average_popularity(k, normalize):
    mine, theirs = [], []
    for shop in shops():
        mine.append(shop.ours(f"mean_popularity(normalize={normalize})@{k}"))
        tool = metrics.AvgRecPopularity(k=k, normalize=normalize)
        theirs.append(of_users(tool.calc_per_user(shop.reco, shop.history)))
    agree("AvgRecPopularity", mine, theirs)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_serendipity(k):
    """RecTools has the users of the test only."""
    mine, theirs = [], []
    for shop in shops():
        mine.append(shop.ours(f"serendipity@{k}", qrels=shop.qrels))
        tool = metrics.Serendipity(k=k)
        catalog = range(ITEMS)
        found = tool.calc_per_user(shop.reco, shop.test, shop.history, catalog)
        theirs.append(of_users(found))
    agree("Serendipity", mine, theirs)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_intra_list_diversity(k):
    """Lists of tags are columns of 0 and 1 there."""
    mine, theirs = [], []
    for shop in shops():
        distance = distances.PairwiseHammingDistanceCalculator(shop.features)
        tool = metrics.IntraListDiversity(k=k, distance_calculator=distance)
        theirs.append(of_users(tool.calc_per_user(shop.reco)))
        mine.append(shop.ours(f"ild(feature=tags, undefined=0)@{k}"))
    agree("IntraListDiversity", mine, theirs, "PairwiseHammingDistanceCalculator")


@pytest.mark.parametrize("k", [1, 3, 10])
def test_covered_users(k):
    mine, theirs = [], []
    for shop in shops():
        own = shop.ours(f"user_coverage@{k}", qrels=shop.qrels)
        tool = metrics.CoveredUsers(k=k)
        theirs.append(of_users(tool.calc_per_user(shop.reco, shop.test)))
        mine.append(dict.fromkeys(theirs[-1], 0.0) | own)
    agree("CoveredUsers", mine, theirs)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_sufficient_recommendations(k):
    mine, theirs = [], []
    for shop in shops():
        mine.append(shop.ours(f"user_coverage(least={k})@{k}"))
        tool = metrics.SufficientReco(k=k)
        theirs.append(of_users(tool.calc_per_user(shop.reco)))
    agree("SufficientReco", mine, theirs)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_catalog_coverage(k):
    mine, theirs = [], []
    for shop in shops():
        run = pl.from_pandas(shop.reco).with_columns(label=0)
        found = pr.evaluate(run, f"coverage@{k}", items=shop.items, **COLUMNS)
        mine.append({"all": found.item(0, 1)})
        tool = metrics.CatalogCoverage(k=k, normalize=True)
        theirs.append({"all": float(tool.calc(shop.reco, range(ITEMS)))})
    agree("CatalogCoverage", mine, theirs)


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
