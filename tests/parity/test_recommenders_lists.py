"""recommenders beyond accuracy, on random shops."""

from __future__ import annotations

import pytest
from parity.compare import need
from parity.shops import ITEMS, agree, agree_on_all, shops

np = need("numpy")
pd = need("pandas")
evaluation = need("recommenders.evaluation.python_evaluation")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
IDS = ["userID", "itemID"]


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
