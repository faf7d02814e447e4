"""Elliot beyond accuracy, on random shops: loops that follow its source (fc27efed).

Elliot itself is not run. The values of users are those of its ``eval_user_metric``.
"""

from __future__ import annotations

import math
import random

import polars as pl
import pytest
from parity.record import record

import polars_rank as pr

pytestmark = pytest.mark.parity
ITEMS = 50
FRAMES = {"query": "user_id", "doc": "item_id", "rank": "rank"}


class Shop:
    """Lists of 1 to 20 items; some users and items have no interaction."""

    def __init__(self, seed):
        draw = random.Random(seed)
        popular = [i for i in range(ITEMS - 6) for _ in range(1 + 150 // (i + 1))]
        self.lists = {
            u: draw.sample(range(ITEMS), draw.choice([1, 3, 8, 20])) for u in range(25)
        }
        pairs = {(draw.randrange(3, 25), draw.choice(popular)) for _ in range(300)}
        # Elliot's cold items are as rare as the rarest: here one has one interaction.
        pairs = {p for p in pairs if p[1] != ITEMS - 7} | {(3, ITEMS - 7)}
        self.train = {}
        for user, item in sorted(pairs):
            self.train.setdefault(user, []).append(item)
        test = {(draw.randrange(25), draw.randrange(ITEMS)) for _ in range(200)}
        self.test = {}
        for user, item in sorted(test):
            self.test.setdefault(user, set()).add(item)
        self.count = {}
        for items in self.train.values():
            for item in items:
                self.count[item] = self.count.get(item, 0) + 1

    def frames(self):
        listed = [
            (u, i, r) for u, own in self.lists.items() for r, i in enumerate(own, 1)
        ]
        wanted = [(u, i, 1) for u, own in self.test.items() for i in own]
        past = [(u, i) for u, own in self.train.items() for i in own]
        ids = ["user_id", "item_id"]
        return (
            pl.DataFrame(listed, schema=[*ids, "rank"], orient="row"),
            pl.DataFrame(wanted, schema=[*ids, "label"], orient="row"),
            pl.DataFrame(past, schema=ids, orient="row"),
            pl.DataFrame({"item_id": range(ITEMS)}),
        )


def _discounted(listed, good, novelty, cold):
    nov = norm = 0.0
    for r, i in enumerate(listed):
        discount = math.log(2) / math.log(r + 2)
        nov += (i in good) * discount * novelty.get(i, cold)
        norm += discount
    return nov / norm if norm > 0 else nov


def efd(shop, k):
    norm = sum(shop.count.values())
    most = -math.log(min(shop.count.values()) / norm) / math.log(2)
    novelty = {i: -math.log(v / norm) / math.log(2) for i, v in shop.count.items()}
    return {
        u: _discounted(own[:k], shop.test[u], novelty, most)
        for u, own in shop.lists.items()
        if u in shop.test
    }


def epc(shop, k):
    users = len(shop.train)
    novelty = {i: 1 - v / users for i, v in shop.count.items()}
    return {
        u: _discounted(own[:k], shop.test[u], novelty, 1)
        for u, own in shop.lists.items()
        if u in shop.test
    }


def arp(shop, k):
    return {
        u: sum(shop.count.get(i, 0) for i in own[:k]) / len(own[:k])
        for u, own in shop.lists.items()
    }


def _listed(shop, k):
    found = {}
    for own in shop.lists.values():
        for i in own[:k]:
            found[i] = found.get(i, 0) + 1
    return found, sum(found.values())


def gini(shop, k):
    found, norm = _listed(shop, k)
    terms = [
        (2 * (j + (ITEMS - len(found)) + 1) - ITEMS - 1) * (cs / norm)
        for j, cs in enumerate(sorted(found.values()))
    ]
    return 1 - sum(terms) / (ITEMS - 1)


def sentropy(shop, k):
    """Each list has the weight 1, whatever its length: ours if all are as long."""
    found, norm = _listed(shop, k)
    weights = {}
    for own in shop.lists.values():
        for i in own[:k]:
            weights[i] = weights.get(i, 0) + 1 / len(own[:k])
    novelty = {i: -math.log(c / norm) / math.log(2) for i, c in found.items()}
    return sum(w * novelty[i] for i, w in weights.items()) / len(shop.lists)


@pytest.mark.parametrize("k", [1, 3, 10])
@pytest.mark.parametrize(
    ("measure", "theirs"), [("efd", efd), ("epc", epc), ("mean_popularity", arp)]
)
def test_users(measure, theirs, k):
    gaps = []
    for seed in range(20):
        shop = Shop(seed)
        run, qrels, history, items = shop.frames()
        found = pr.per_query(
            run, f"{measure}@{k}", qrels=qrels, history=history, items=items,
            missing="skip", **FRAMES,
        )  # fmt: skip
        ours = dict(found.iter_rows())
        for user, value in theirs(shop, k).items():
            assert ours[user] == pytest.approx(value, abs=1e-12), (seed, user)
            gaps.append(abs(ours[user] - value) / max(1.0, value))
    record("Elliot", theirs.__name__.upper(), max(gaps), len(gaps))


@pytest.mark.parametrize("k", [1, 3, 10])
def test_catalog(k):
    """Elliot's Gini is 1 less ours; its ItemCoverage is the number of items."""
    for seed in range(20):
        shop = Shop(seed)
        run, _, _, items = shop.frames()
        run = run.with_columns(label=0)
        names = [f"gini@{k}", f"coverage@{k}", f"entropy@{k}"]
        found = pr.evaluate(run, names, items=items, **FRAMES)
        ours = dict(zip(names, found.row(0)[1:], strict=True))
        assert 1 - ours[names[0]] == pytest.approx(gini(shop, k), abs=1e-12)
        gap = abs(1 - ours[names[0]] - gini(shop, k))
        record("Elliot", "Gini", gap, 1, "it is 1 less gini")
        assert ours[names[1]] * ITEMS == pytest.approx(len(_listed(shop, k)[0]))
        record("Elliot", "ItemCoverage", 0.0, 1, "it is a number of items")
        if k == 1:
            assert ours[names[2]] == pytest.approx(sentropy(shop, k), abs=1e-12)
        else:
            assert abs(ours[names[2]] - sentropy(shop, k)) > 1e-6


@pytest.mark.parametrize("k", [3, 10])
def test_tail(k):
    """APLT and ACLT, of lists without cold items and without ties at the border.

    Elliot's head ends at the item that reaches the share; ours has all as popular.
    Its tail has items of the train log only; ours has cold items, too.
    """
    cases = 0
    for seed in range(6):
        shop = Shop(seed)
        left, head = 0.8 * sum(shop.count.values()), []
        for item in sorted(shop.count, key=shop.count.get, reverse=True):
            head.append(item)
            left -= shop.count[item]
            if left <= 0:
                break
        border = shop.count[head[-1]]
        tail = shop.count.keys() - head
        run, _, history, items = shop.frames()
        names = [f"tail_share@{k}", f"tail_items@{k}"]
        found = pr.per_query(
            run.with_columns(label=0), names, history=history, items=items, **FRAMES
        )
        ours = {row[0]: row[1:] for row in found.iter_rows()}
        for user, own in shop.lists.items():
            top = own[:k]
            if all(shop.count.get(i, border) != border for i in top):
                number = len({*top} & tail)
                assert ours[user] == pytest.approx((number / len(top), number))
                cases += 1
    assert cases > 10
