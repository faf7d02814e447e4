"""recommenders beyond accuracy, on random shops."""

from __future__ import annotations

import polars as pl
import pytest
from parity.compare import need
from parity.shops import ITEMS, agree, agree_on_all, shops
from test_recipes import recipe

np = need("numpy")
pd = need("pandas")
evaluation = need("recommenders.evaluation.python_evaluation")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
IDS, SHOP = ["userID", "itemID"], ["user_id", "item_id"]


def frames(shop):
    """Its history, whose rows differ, and its lists, which are new to users."""
    rows = [row[:2] for row in shop.rows]
    pairs = sorted({*shop.past})
    return pd.DataFrame(pairs, columns=IDS), pd.DataFrame(rows, columns=IDS)


def distinct(shop):
    """The shop, with the history of ``frames``."""
    shop.past = sorted({*shop.past})
    return shop


def test_novelty():
    """It is one number: here of the list of each user."""
    mine, theirs = [], []
    for shop in map(distinct, shops(fresh=True, warm=True)):
        train, listed = frames(shop)
        theirs.append(
            {
                user: float(evaluation.novelty(train, own.reset_index(drop=True)))
                for user, own in listed.groupby("userID")
            }
        )
        mine.append(shop.values("novelty", convention="recommenders"))
    agree("recommenders", "novelty", mine, theirs)


def test_diversity():
    """It has no value for a list of one item, either."""
    mine, theirs = [], []
    for shop in map(distinct, shops(fresh=True)):
        vectors = [np.array(vector) for vector in shop.vectors]
        about = pd.DataFrame({"itemID": range(ITEMS), "features": vectors})
        found = evaluation.user_diversity(
            *frames(shop), about, item_sim_measure="item_feature_vector"
        )
        theirs.append(dict(found.itertuples(index=False)))
        mine.append(shop.values("ild(vector)", convention="recommenders"))
    agree("recommenders", "user_diversity", mine, theirs, "item_feature_vector")


def test_items_that_go_together():
    """Its default similarity is that of a recipe of the guide."""
    mine, theirs = [], []
    for shop in map(distinct, shops(fresh=True, warm=True)):
        train, listed = frames(shop)
        found = evaluation.user_diversity(train, listed)
        theirs.append(dict(found.itertuples(index=False)))
        history, top = (
            pl.DataFrame([*rows.itertuples(index=False)], SHOP, orient="row")
            for rows in (train, listed)
        )
        own = recipe("def alike", "had =", history=history, top=top)["ild"]
        mine.append(dict(own.iter_rows()))
    agree("recommenders", "user_diversity", mine, theirs, "or of the guide's recipe")


def test_serendipity():
    """Of lists with something new, of users with a history."""
    mine, theirs = [], []
    for shop in map(distinct, shops(fresh=True)):
        train, listed = frames(shop)
        wanted = [pair in shop.test for pair in listed.itertuples(index=False)]
        vectors = [np.array(vector) for vector in shop.vectors]
        found = evaluation.user_serendipity(
            train,
            listed.assign(relevance=np.array(wanted, float)),
            pd.DataFrame({"itemID": range(ITEMS), "features": vectors}),
            item_sim_measure="item_feature_vector",
            col_relevance="relevance",
        )
        theirs.append(dict(found.itertuples(index=False)))
        more = {"qrels": shop.qrels, "convention": "recommenders"}
        own = shop.values("content_serendipity(vector)", **more)
        # Users without judgments have no row, and nothing that they like.
        mine.append(dict.fromkeys(theirs[-1], 0.0) | own)
    agree("recommenders", "user_serendipity", mine, theirs, "item_feature_vector")


@pytest.mark.parametrize(
    ("measure", "name"),
    [("coverage", "catalog_coverage"), ("entropy", "distributional_coverage")],
)
def test_catalog(measure, name):
    """Its catalog is the history."""
    mine, theirs = [], []
    for shop in map(distinct, shops(fresh=True, warm=True)):
        theirs.append(float(getattr(evaluation, name)(*frames(shop))))
        mine.append(shop.value(measure, items=None, convention="recommenders"))
    agree_on_all("recommenders", name, mine, theirs)
