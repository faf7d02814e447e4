"""The formulas of subtopics, recommended lists and catalogs, read once more.

As in ``test_formulas.py``, each function follows the TeX of ``docs/web/formulas.py``
and the words of its symbols. The frames are drawn here, and so are the sets that the
formulas speak of.
"""

from __future__ import annotations

import random
from collections import Counter
from itertools import combinations, permutations
from math import log, log2, sqrt
from statistics import mean

import polars as pl
import pytest

import polars_rank as pr
from polars_rank.conventions.tools import complete_arguments
from polars_rank.metrics import METRICS

CUTOFFS = (None, 1, 3, 20)
OF_TOPICS, OF_LISTS, OF_CATALOG = {}, {}, {}
ALPHA = BETA = 0.5


def read(known):
    """What a formula says of one query, or of all lists."""

    def keep(function):
        known[function.__name__] = function
        return function

    return keep


# -- subtopics


class Topics:
    """The list of one query, and the relevant documents of each subtopic."""

    def __init__(self, seed):
        rng = random.Random(seed)
        docs = [f"d{i}" for i in range(rng.randint(2, 8))]
        self.ranked = rng.sample(docs, rng.randint(1, len(docs)))
        self.judged = {
            (s, doc): int(rng.random() < 0.5)
            for s in "xyz"
            for doc in docs
            if rng.random() < 0.7
        }
        self.relevant = {
            s: {doc for (t, doc), y in self.judged.items() if s == t and y}
            for s in "xyz"
        }
        self.relevant = {s: docs for s, docs in self.relevant.items() if docs}
        self.S, self.n = len(self.relevant), len(self.ranked)

    def i(self, s, ranked=None):
        """Ranks of the relevant documents of a subtopic."""
        listed = self.ranked if ranked is None else ranked
        return [i for i, doc in enumerate(listed, 1) if doc in self.relevant[s]]

    def greedy(self):
        """The document that adds most, then the one with the largest id."""
        left = set().union(*self.relevant.values())
        served, order = Counter(), []
        while left:
            gains = {doc: self.gain(doc, served) for doc in left}
            best = max(left, key=lambda doc: (gains[doc], doc))
            served.update(s for s, docs in self.relevant.items() if best in docs)
            left.remove(best)
            order.append(best)
        return order

    def gain(self, doc, served):
        return sum(
            (1 - ALPHA) ** served[s] for s, docs in self.relevant.items() if doc in docs
        )


def over(x, k, weight, ranked=None):
    """Sum over subtopics and their relevant ranks down to k."""
    return sum(
        (1 - ALPHA) ** (j - 1) * weight(i)
        for s in x.relevant
        for j, i in enumerate(x.i(s, ranked), 1)
        if i <= k
    )


def by_log(i):
    return 1 / log2(i + 1)


def by_rank(i):
    return 1 / i


def by_patience(i):
    return BETA ** (i - 1)


def covered(x, k, weight):
    """Every document covers every subtopic."""
    return x.S * sum((1 - ALPHA) ** (i - 1) * weight(i) for i in range(1, k + 1))


@read(OF_TOPICS)
def alpha_dcg(x, k):
    return over(x, k, by_log) / covered(x, k, by_log)


@read(OF_TOPICS)
def alpha_ndcg(x, k):
    return over(x, k, by_log) / over(x, k, by_log, x.greedy())


@read(OF_TOPICS)
def err_ia(x, k):
    return over(x, k, by_rank) / covered(x, k, by_rank)


@read(OF_TOPICS)
def nerr_ia(x, k):
    return over(x, k, by_rank) / over(x, k, by_rank, x.greedy())


@read(OF_TOPICS)
def nrbp(x, k):
    return (1 - (1 - ALPHA) * BETA) / x.S * over(x, x.n, by_patience)


@read(OF_TOPICS)
def nnrbp(x, k):
    ideal = x.greedy()
    return over(x, x.n, by_patience) / over(x, len(ideal), by_patience, ideal)


@read(OF_TOPICS)
def p_ia(x, k):
    return sum(sum(i <= k for i in x.i(s)) / k for s in x.relevant) / x.S


@read(OF_TOPICS)
def ap_ia(x, k):
    return mean(
        sum(j / i for j, i in enumerate(x.i(s), 1) if i <= k) / len(docs)
        for s, docs in x.relevant.items()
    )


@read(OF_TOPICS)
def st_recall(x, k):
    return sum(bool(x.i(s)) and x.i(s)[0] <= k for s in x.relevant) / x.S


@pytest.mark.parametrize("name", OF_TOPICS)
def test_the_formula_of_subtopics(name):
    drawn = {q: Topics(q) for q in range(60)}
    rows = [
        (q, doc, -rank)
        for q, x in drawn.items()
        for rank, doc in enumerate(x.ranked, 1)
    ]
    labels = [
        (q, s, doc, y) for q, x in drawn.items() for (s, doc), y in x.judged.items()
    ]
    run = pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row")
    names = ["query_id", "subtopic", "doc_id", "label"]
    qrels = pl.DataFrame(labels, names, orient="row")
    standard = complete_arguments(METRICS[name]).get("k")
    compared = 0
    for k in CUTOFFS if "k" in METRICS[name].parameters else (None,):
        measure = pr.measure(name, **({} if k is None else {"k": k}), name="value")
        found = pr.per_query(run, measure, qrels=qrels, subtopic="subtopic")
        for q, value in found.select("query_id", "value").iter_rows():
            x = drawn[q]
            if x.S:
                to_k = k or standard or x.n
                compared += 1
                assert value == pytest.approx(OF_TOPICS[name](x, to_k)), (q, k)
    assert compared >= 50


# -- recommended lists and the catalog


class Shop:
    """Lists, purchases, history and catalog of a shop, drawn once."""

    def __init__(self):
        rng = random.Random(3)
        ids = list("abcdefghijkl")
        self.category = {item: "xyz"[n % 3] for n, item in enumerate(ids)}
        self.I, users = len(ids), range(30)
        known = ids[:9]  # nobody has bought the others
        weights = [2.0**-n for n in range(len(known))]
        self.history = [
            (user, rng.choices(known, weights)[0])
            for user in range(5, 40)
            for _ in range(rng.randint(1, 6))  # some items more than once
        ]
        self.lists = {u: rng.sample(ids, rng.randint(1, 8)) for u in users}
        self.bought = {u: set(rng.sample(ids, rng.randint(1, 5))) for u in users}
        self.interactions = Counter(item for _, item in self.history)
        self.known_by = Counter(item for _, item in set(self.history))
        self.M = len(self.history)
        self.U = len({user for user, _ in self.history})

    @property
    def frames(self):
        run = [
            (u, item, -rank)
            for u, items in self.lists.items()
            for rank, item in enumerate(items)
        ]
        qrels = [(u, item, 1) for u, items in self.bought.items() for item in items]
        items = list(self.category.items())
        return pl.DataFrame(run, ["user", "item", "score"], orient="row"), {
            "qrels": pl.DataFrame(qrels, ["user", "item", "label"], orient="row"),
            "history": pl.DataFrame(self.history, ["user", "item"], orient="row"),
            "items": pl.DataFrame(items, ["item", "category"], orient="row"),
            "query": "user",
            "doc": "item",
        }


class Recommended:
    """The first k items of a user's list, and what the symbols say of an item."""

    def __init__(self, shop, user, k):
        self.shop = shop
        self.k = len(shop.lists[user]) if k is None else k
        self.L = shop.lists[user][: self.k]
        self.H = {item for u, item in shop.history if u == user}
        self.past = [item for u, item in shop.history if u == user]
        self.bought = shop.bought[user]

    def r(self, item):
        return self.L.index(item) + 1

    def c(self, item):
        return int(item in self.bought)

    def u(self, item):
        return max(1, self.shop.known_by[item])

    def m(self, item):
        return self.shop.interactions[item]

    def q(self, item):
        if not self.m(item):
            return self.shop.I + 1
        return 1 + len({n for n in self.shop.interactions.values() if n > self.m(item)})

    @property
    def tail(self):
        """The head goes down to the item that reaches the share, and its equals."""
        reached, total = 0, 0.8 * self.shop.M
        for n in sorted(set(self.shop.interactions.values()), reverse=True):
            reached += n * sum(m == n for m in self.shop.interactions.values())
            least = n
            if reached >= total:
                break
        return {item for item in self.shop.category if self.m(item) < least}

    def share(self, items):
        return {
            g: sum(self.shop.category[item] == g for item in items) / len(items)
            for g in "xyz"
        }


@read(OF_LISTS)
def novelty(x):
    return mean(-log2(x.u(i) / x.shop.U) for i in x.L)


@read(OF_LISTS)
def surprisal(x):
    return sum(log2(x.shop.U / x.u(i)) / log2(x.shop.U) for i in x.L) / x.k


@read(OF_LISTS)
def mean_popularity(x):
    return mean(map(x.m, x.L))


@read(OF_LISTS)
def tail_share(x):
    return len(x.tail & {*x.L}) / len(x.L)


@read(OF_LISTS)
def tail_items(x):
    return len(x.tail & {*x.L})


@read(OF_LISTS)
def unseen(x):
    return len({*x.L} - x.H) / len(x.L)


def by_discount(x, value):
    return sum(value(i) / log2(x.r(i) + 1) for i in x.L) / sum(
        1 / log2(x.r(i) + 1) for i in x.L
    )


@read(OF_LISTS)
def epc(x):
    return by_discount(x, lambda i: x.c(i) * (1 - x.shop.known_by[i] / x.shop.U))


@read(OF_LISTS)
def efd(x):
    return by_discount(x, lambda i: -x.c(i) * log2(max(1, x.m(i)) / x.shop.M))


@read(OF_LISTS)
def serendipity(x):
    return mean(x.c(i) * max((x.q(i) - x.r(i)) / x.shop.I, 0) for i in x.L)


@read(OF_LISTS)
def ild(x):
    pairs = [x.shop.category[i] != x.shop.category[j] for i, j in combinations(x.L, 2)]
    return 2 / (len(x.L) * (len(x.L) - 1)) * sum(pairs)


@read(OF_LISTS)
def miscalibration(x):
    p, q = x.share(x.past), x.share(x.L)
    return sum(p[g] * log(p[g] / (0.99 * q[g] + 0.01 * p[g])) for g in p if p[g])


@read(OF_LISTS)
def awrf(x):
    whole = sum(1 / log2(x.r(i) + 1) for i in x.L)
    total, t = 0.0, x.share(list(x.shop.category))
    for g in t:
        top = [i for i in x.L if x.shop.category[i] == g]
        e = sum(1 / log2(x.r(i) + 1) for i in top) / whole
        total += e * log2(2 * e / (e + t[g])) if e else 0
        total += t[g] * log2(2 * t[g] / (e + t[g]))
    return 1 - total / 2


@read(OF_LISTS)
def category_diversity(x):
    return len({x.shop.category[i] for i in x.L}) / x.k


@read(OF_LISTS)
def user_coverage(x):
    return int(len(x.L) >= 3)


@pytest.mark.parametrize("name", OF_LISTS)
def test_the_formula_of_a_recommended_list(name):
    shop = Shop()
    run, frames = shop.frames
    more = {"least": 3} if name == "user_coverage" else {}
    standard = complete_arguments(METRICS[name])["k"]
    compared, values = 0, set()
    for k in CUTOFFS:
        given = more if k is None else more | {"k": k}
        measure = pr.measure(name, **given, name="value")
        found = pr.per_query(run, measure, **frames)
        for user, value in found.select("user", "value").iter_rows():
            x = Recommended(shop, user, k or standard)
            try:
                said = OF_LISTS[name](x)
            except ZeroDivisionError:
                continue  # the page names the undefined case
            compared += 1
            values.add(round(said, 9))
            assert value == pytest.approx(said), (user, k)
    assert compared >= 80
    assert len(values) >= 2


class Lists:
    """The first k items of all users."""

    def __init__(self, shop, k):
        self.V = [items[:k] for items in shop.lists.values()]
        self.I = shop.I
        count = Counter(item for items in self.V for item in items)
        self.p = {item: count[item] / count.total() for item in shop.category}


@read(OF_CATALOG)
def coverage(x):
    return len(set().union(*x.V)) / x.I


@read(OF_CATALOG)
def gini(x):
    smallest = enumerate(sorted(x.p.values()), 1)
    return sum((2 * j - x.I - 1) * p for j, p in smallest) / (x.I - 1)


@read(OF_CATALOG)
def entropy(x):
    return -sum(p * log2(p) for p in x.p.values() if p)


@read(OF_CATALOG)
def effective_items(x):
    return 2 ** entropy(x)


@read(OF_CATALOG)
def personalization(x):
    alike = sum(
        len({*a} & {*b}) / sqrt(len(a) * len(b)) for a, b in permutations(x.V, 2)
    )
    return 1 - alike / (len(x.V) * (len(x.V) - 1))


@pytest.mark.parametrize("k", CUTOFFS)
@pytest.mark.parametrize("name", OF_CATALOG)
def test_the_formula_of_a_catalog(name, k):
    shop = Shop()
    run, frames = shop.frames
    measure = pr.measure(name, **({} if k is None else {"k": k}), name="value")
    found = pr.evaluate(run, measure, **frames)["value"].item()
    assert found == pytest.approx(OF_CATALOG[name](Lists(shop, k)))


def test_all_of_them_are_read():
    known = [*OF_TOPICS, *OF_LISTS, *OF_CATALOG]
    assert len(known) >= 28
    assert {METRICS[name].vocabulary for name in known}.isdisjoint({"ranking"})
