"""Elliot beyond accuracy, on random shops; put its checkout on the path.

Its catalog are the items of the train log, and its evaluator drops users without test
items.
"""

from __future__ import annotations

import random
from collections import Counter
from types import SimpleNamespace

import polars as pl
import pytest
from parity.compare import need
from parity.record import record

import polars_rank as pr
from polars_rank.conventions.tools import TOOLS

sparse = need("scipy.sparse")
metrics = need("elliot.evaluation.metrics")
popularity = need("elliot.evaluation.popularity_utils")
relevance = need("elliot.evaluation.relevance")
pytestmark = [pytest.mark.parity, pytest.mark.filterwarnings("ignore")]
ITEMS = 50
FRAMES = {"query": "user_id", "doc": "item_id", "rank": "rank"}
LISTS = TOOLS["elliot"].lists
USERS = [("epc", "EPC"), ("efd", "EFD"), ("mean_popularity", "ARP")]
POPULAR = [("pop_rsp", "PopRSP"), ("pop_reo", "PopREO")]
TAIL = [("tail_share", "APLT"), ("tail_items", "ACLT")]


class Shop:
    """Lists of 1 to 20 items; some users and items have no interaction.

    A ``warm`` one has items with interactions alone, none of the tail as popular as one
    of the head, as an ``head`` of 80 % cuts them.
    """

    def __init__(self, seed, *, warm=False):
        draw = random.Random(seed)
        popular = [i for i in range(ITEMS - 6) for _ in range(1 + 150 // (i + 1))]
        pairs = {(draw.randrange(3, 25), draw.choice(popular)) for _ in range(300)}
        # Elliot's cold items are as rare as the rarest: here one has one interaction.
        pairs = {p for p in pairs if p[1] != ITEMS - 7} | {(3, ITEMS - 7)}
        self.count = Counter(item for _, item in pairs)
        while warm and self.is_tied:  # more of the last of the head
            item = self.head[-1]
            pairs.add(next((u, item) for u in range(1000) if (u, item) not in pairs))
            self.count = Counter(item for _, item in pairs)
        self.pairs = sorted(pairs)
        self.catalog = sorted(self.count) if warm else [*range(ITEMS)]
        self.lists = {
            u: draw.sample(self.catalog, draw.choice([1, 3, 8, 20])) for u in range(25)
        }
        test = {(draw.randrange(25), draw.choice(self.catalog)) for _ in range(200)}
        self.test = {}
        for user, item in sorted(test):
            self.test.setdefault(user, {})[item] = 1

    @property
    def head(self):
        """The items that reach the share, in Elliot's order."""
        left, head = 0.8 * self.count.total(), []
        for item in sorted(sorted(self.count), key=self.count.get, reverse=True):
            head.append(item)
            left -= self.count[item]
            if left <= 0:
                return head
        raise AssertionError

    @property
    def is_tied(self):
        """Whether an item of the tail is as popular as one of the head."""
        last = self.count[self.head[-1]]
        return any(self.count[i] == last for i in self.count.keys() - {*self.head})

    def frames(self):
        listed = [
            (u, i, r) for u, own in self.lists.items() for r, i in enumerate(own, 1)
        ]
        wanted = [(u, i, 1) for u, own in self.test.items() for i in own]
        ids = ["user_id", "item_id"]
        return (
            pl.DataFrame(listed, schema=[*ids, "rank"], orient="row"),
            pl.DataFrame(wanted, schema=[*ids, "label"], orient="row"),
            pl.DataFrame(self.pairs, schema=ids, orient="row"),
            pl.DataFrame({"item_id": self.catalog}),
        )

    def elliot(self, name, k):
        """The metric of Elliot, with what its evaluator gives it."""
        train = {u: {} for u in self.lists} if name.startswith("Pop") else {}
        for user, item in self.pairs:
            train.setdefault(user, {})[item] = 1
        users, items = zip(*self.pairs, strict=True)
        places = [self.catalog.index(item) for item in items]
        shape = (max(users) + 1, len(self.catalog))
        data = SimpleNamespace(
            train_dict=train,
            transactions=len(self.pairs),
            private_items=dict(enumerate(self.catalog)),
            sp_i_train=sparse.csr_matrix(([1] * len(items), (users, places)), shape),
        )
        about = SimpleNamespace(
            relevance=relevance.relevance.Relevance(self.test, 1),
            pop=popularity.popularity.Popularity(data),
            num_items=len(self.catalog),
            data=data,
            cutoff=k,
        )
        lists = {u: [(i, 0) for i in own] for u, own in self.lists.items()}
        lists = {u: own for u, own in lists.items() if self.test.get(u)}
        return metrics.parse_metric(name)(lists, SimpleNamespace(), None, about)


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize(("measure", "name"), USERS)
def test_users(measure, name, k):
    gaps = []
    for seed in range(20):
        shop = Shop(seed)
        run, qrels, history, items = shop.frames()
        found = pr.per_query(
            run, f"{measure}@{k}", qrels=qrels, history=history, items=items,
            convention="elliot", **FRAMES,
        )  # fmt: skip
        ours = dict(found.iter_rows())
        theirs = shop.elliot(name, k).eval_user_metric()
        assert theirs
        for user, value in theirs.items():
            assert ours[user] == pytest.approx(value, abs=1e-12), (seed, user)
            gaps.append(abs(ours[user] - value) / max(1.0, value))
    record("Elliot", name, max(gaps), len(gaps))


@pytest.mark.parametrize("k", [1, 3, 10])
def test_catalog(k):
    """Elliot's Gini is 1 less ours; its ItemCoverage is the number of items."""
    for seed in range(20):
        shop = Shop(seed)
        run, qrels, _, items = shop.frames()
        names = [f"gini@{k}", f"coverage@{k}", f"entropy@{k}"]
        given = {"qrels": qrels, "items": items, "convention": "elliot", **FRAMES}
        ours = pr.evaluate(run, names, **given).row(0, named=True)
        gap = abs(1 - ours[names[0]] - shop.elliot("Gini", k).eval())
        assert gap < 1e-12
        record("Elliot", "Gini", gap, 1, "it is 1 less gini")
        assert ours[names[1]] * ITEMS == pytest.approx(
            shop.elliot("ItemCoverage", k).eval()
        )
        record("Elliot", "ItemCoverage", 0.0, 1, "it is a number of items")
        entropy = shop.elliot("SEntropy", k).eval()
        if k == 1:  # it gives each list the weight 1, whatever its length
            assert ours[names[2]] == pytest.approx(entropy, abs=1e-12)
        else:
            assert abs(ours[names[2]] - entropy) > 1e-6


@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize(("measure", "name"), TAIL)
def test_tail(measure, name, k):
    """Its head ends at the item that reaches the share; ours has all as popular.

    Its tail has items of the train log only; ours has cold items, too.
    """
    note = "without cold items, and none of the tail as popular as one of the head"
    gaps = []
    for seed in range(10):
        shop = Shop(seed, warm=True)
        run, _, history, items = shop.frames()
        found = pr.per_query(
            run.with_columns(label=0), f"{measure}@{k}", history=history, items=items,
            **FRAMES,
        )  # fmt: skip
        ours = dict(found.iter_rows())
        for user, value in shop.elliot(name, k).eval_user_metric().items():
            assert ours[user] == pytest.approx(value, abs=1e-12)
            gaps.append(abs(ours[user] - value))
    record("Elliot", name, max(gaps), len(gaps), note)


@pytest.mark.parametrize("k", [3, 10])
@pytest.mark.parametrize(("measure", "name"), POPULAR)
def test_popular_and_other_items(measure, name, k):
    gaps = []
    note = "without cold items, and none of the tail as popular as one of the head"
    for seed in range(20):
        shop = Shop(seed, warm=True)
        run, qrels, history, items = shop.frames()
        given = {"history": history, "items": items, "qrels": qrels}
        found = pr.evaluate(
            run, f"{measure}@{k}", convention="elliot", **given, **FRAMES
        )
        theirs = float(shop.elliot(name, k).eval())
        assert found.item(0, 1) == pytest.approx(theirs, abs=1e-12), seed
        gaps.append(abs(found.item(0, 1) - theirs))
    record("Elliot", name, max(gaps), len(gaps), note)


def test_these_are_all_that_the_convention_names():
    assert dict([*USERS, *TAIL, *POPULAR]) == LISTS
