"""The formulas of recommenders on the site, read once more in plain Python.

Each function follows the TeX of ``docs/web/formulas.py`` and the words of its symbols,
as in ``test_formulas.py``. Where a formula divides by 0, the page names the undefined
case, and nothing is compared.
"""

from __future__ import annotations

import importlib
import sys
from collections import Counter
from itertools import combinations, permutations
from math import log, log2, sqrt
from pathlib import Path

import pytest
from test_recommendations import Shop
from vocabularies import CATALOG_METRICS, LIST_METRICS, TOTALS_METRICS

import polars_rank as pr

DOCS = Path(__file__).parents[2] / "docs"
CUTOFFS = (None, 1, 3, 20)
SHOPS = 8
OF_LIST, OF_ALL = {}, {}


def read(function):
    """What a formula says of one list."""
    OF_LIST[function.__name__] = function
    return function


def read_all(function):
    """What a formula says of all lists."""
    OF_ALL[function.__name__] = function
    return function


class List:
    """The symbols, of one user; an item stands for itself."""

    def __init__(self, shop, user, k):
        self.whole = shop.lists.get(user, [])
        self.L, self.k, self.cut = self.whole[:k], k or len(self.whole), k is not None
        self.past = [item for who, item in shop.pairs if who == user]
        self.H, self.labels = {*self.past}, shop.labels[user]
        self.R = {i for i, label in self.labels.items() if label >= 1}
        self.times = Counter(item for _, item in shop.pairs)
        self.knows = Counter(item for _, item in {*shop.pairs})
        self.U, self.M = len({who for who, _ in shop.pairs}), len(shop.pairs)
        self.catalog = shop.features
        self.I = len(shop.features)
        counts = sorted({*self.times.values()}, reverse=True)
        self.popular = {
            i: 1 + counts.index(self.times[i]) if self.times[i] else self.I + 1
            for i in shop.features
        }

    def r(self, i):
        return self.whole.index(i) + 1

    def c(self, i):
        return int(i in self.R)

    def g(self, i):
        return max(self.labels.get(i, 0), 0)

    def u(self, i):
        return max(self.knows[i], 1)

    def m(self, i):
        return max(self.times[i], 1)

    def category(self, i):
        return self.catalog[i]["category"]

    def G(self, i):
        return self.catalog[i]["protected"]

    def T(self, i):
        """Beyond the most popular items, of 80 % of the interactions."""
        above = sum(n for n in self.times.values() if n > self.times[i])
        return not self.times[i] or above >= 0.8 * self.M

    def e(self, i):
        return 0.5 ** (self.r(i) - 1) if i in self.L else 0

    def t(self, i):
        """Relevant items share the first places, the others those below."""
        seen = min(self.k, self.I) if self.cut else self.I
        worth = [0.5**j for j in range(seen)] + [0] * (self.I - seen)
        mine = worth[: len(self.R)] if self.c(i) else worth[len(self.R) :]
        return sum(mine) / len(mine)


def shares(items, category, weights=None):
    found = Counter()
    for item, weight in zip(items, weights or [1] * len(items), strict=True):
        found[category(item)] += weight
    return {g: n / sum(found.values()) for g, n in found.items()}


@read
def novelty(x):
    return sum(-log2(x.u(i) / x.U) for i in x.L) / len(x.L)


@read
def surprisal(x):
    return sum(log2(x.U / x.u(i)) / log2(x.U) for i in x.L) / x.k


@read
def mean_popularity(x):
    return sum(x.times[i] for i in x.L) / len(x.L)


@read
def tail_share(x):
    return sum(map(x.T, x.L)) / len(x.L)


@read
def tail_items(x):
    return sum(map(x.T, x.L))


@read
def unseen(x):
    return len({*x.L} - x.H) / len(x.L)


@read
def epc(x):
    new = sum(x.c(i) * (1 - x.knows[i] / x.U) / log2(x.r(i) + 1) for i in x.L)
    return new / sum(1 / log2(x.r(i) + 1) for i in x.L)


@read
def efd(x):
    bits = sum(-x.c(i) * log2(x.m(i) / x.M) / log2(x.r(i) + 1) for i in x.L)
    return bits / sum(1 / log2(x.r(i) + 1) for i in x.L)


@read
def serendipity(x):
    gains = (x.c(i) * max((x.popular[i] - x.r(i)) / x.I, 0) for i in x.L)
    return sum(gains) / len(x.L)


@read
def content_serendipity(x):
    def alike(i):
        return sum(x.category(i) == x.category(j) for j in x.past) / len(x.past)

    return sum(x.c(i) * (1 - alike(i)) for i in x.L) / len(x.L)


@read
def ild(x):
    apart = sum(x.category(i) != x.category(j) for i, j in combinations(x.L, 2))
    return 2 / (len(x.L) * (len(x.L) - 1)) * apart


@read
def category_diversity(x):
    return len({x.category(i) for i in x.L}) / x.k


@read
def miscalibration(x):
    p, q = shares(x.past, x.category), shares(x.L, x.category)
    if not p or not q:
        return 1 / 0
    return sum(
        share * log(share / (0.99 * q.get(g, 0) + 0.01 * share))
        for g, share in p.items()
    )


@read
def awrf(x):
    e = shares(x.L, x.category, [1 / log2(x.r(i) + 1) for i in x.L])
    if not e:
        return 1 / 0
    total = 0.0
    for g, t in shares([*x.catalog], x.category).items():
        own = e.get(g, 0)
        total += own * log2(2 * own / (own + t)) if own else 0
        total += t * log2(2 * t / (own + t))
    return 1 - total / 2


@read
def user_coverage(x):
    return int(len(x.L) >= 1)


@read
def exposure_loss(x):
    return sum((x.e(i) - x.t(i)) ** 2 for i in x.catalog) if x.R else 1 / 0


@read
def exposure_disparity(x):
    return sum(x.e(i) ** 2 for i in x.catalog) if x.R else 1 / 0


@read
def exposure_relevance(x):
    return sum(x.e(i) * x.t(i) for i in x.catalog) if x.R else 1 / 0


@read
def rnd(x):
    def discounted(order):
        n = len(order)
        cuts = range(2, n + 1, 2)
        return sum(abs(sum(order[:i]) / i - sum(order) / n) / log2(i) for i in cuts)

    marks = [x.G(i) for i in x.L]
    ends = [discounted(sorted(marks, reverse=way)) for way in (True, False)]
    return discounted(marks) / max(ends)


@read_all
def coverage(xs):
    return len({i for x in xs for i in x.L}) / xs[0].I


def recommended(xs):
    return Counter(i for x in xs for i in x.L)


@read_all
def gini(xs):
    counts, n = recommended(xs), xs[0].I
    p = sorted(counts[i] / sum(counts.values()) for i in xs[0].catalog)
    return sum((2 * j - n - 1) * p[j - 1] for j in range(1, n + 1)) / (n - 1)


@read_all
def entropy(xs):
    counts = recommended(xs)
    p = [n / sum(counts.values()) for n in counts.values()]
    return -sum(share * log2(share) for share in p)


@read_all
def effective_items(xs):
    return 2 ** entropy(xs)


@read_all
def personalization(xs):
    lists = [{*x.L} for x in xs if x.L]
    alike = (len(a & b) / sqrt(len(a) * len(b)) for a, b in permutations(lists, 2))
    return 1 - sum(alike) / (len(lists) * (len(lists) - 1))


def halves(xs, of):
    """The popular items and the long tail; or the marked items and the others."""
    inside = {i for i in xs[0].catalog if of(i)}
    return inside, xs[0].catalog.keys() - inside


def spread(xs, chance):
    tail, popular = (chance(group) for group in halves(xs, xs[0].T))
    return abs(popular - tail) / (popular + tail)


@read_all
def pop_rsp(xs):
    def chance(group):
        listed = sum(len({*x.L} & group) for x in xs)
        return listed / sum(len(group - x.H) for x in xs)

    return spread(xs, chance)


@read_all
def pop_reo(xs):
    def chance(group):
        listed = sum(len({*x.L} & x.R & group) for x in xs)
        return listed / sum(len((x.R & group) - x.H) for x in xs)

    return spread(xs, chance)


def for_merit(xs, worth):
    def rate(group):
        got = sum(worth(x, i) / log2(x.r(i) + 1) for x in xs for i in x.L if i in group)
        return got / sum(x.g(i) for x in xs for i in group)

    inside, outside = halves(xs, xs[0].G)
    return rate(inside) / rate(outside)


@read_all
def treatment_ratio(xs):
    return for_merit(xs, lambda x, i: 1)


@read_all
def impact_ratio(xs):
    return for_merit(xs, lambda x, i: x.g(i))


def lists_of(shop, k):
    return {user: List(shop, user, k) for user in shop.labels}


def asked(metric):
    """The measure with each cutoff, to be computed at once."""
    finite = metric.defaults.get("k") is not None
    more = {"step": 2} if metric.name == "rnd" else {}
    cutoffs = [k for k in CUTOFFS if k is not None or not finite]
    named = (pr.measure(metric.name, name=f"at {k}", k=k, **more) for k in cutoffs)
    return dict(zip(cutoffs, named, strict=True))


def near(a, b):
    return a is not None and abs(a - b) <= 1e-9 * max(1, abs(b))


@pytest.mark.parametrize("name", OF_LIST)
@pytest.mark.filterwarnings("ignore")
def test_the_formula_of_a_list_is_computed(name):
    compared = 0
    for seed in range(60, 60 + SHOPS):
        shop = Shop(seed)
        given = {"qrels": shop.qrels, "missing": "zero", **shop.frames}
        measures = asked(LIST_METRICS[name])
        found = pr.per_query(shop.run, [*measures.values()], **given)
        values = found.rows_by_key("user", named=True, unique=True)
        for k in measures:
            for user, x in lists_of(shop, k).items():
                try:
                    said = OF_LIST[name](x)
                except ZeroDivisionError:
                    continue
                compared += 1
                assert near(values[user][f"at {k}"], said), (seed, user, k)
    assert compared > 40


@pytest.mark.parametrize("name", OF_ALL)
@pytest.mark.filterwarnings("ignore")
def test_the_formula_of_all_lists_is_computed(name):
    compared = 0
    for seed in range(60, 60 + SHOPS):
        shop = Shop(seed)
        given = {"qrels": shop.qrels, "missing": "zero", **shop.frames}
        measures = asked({**CATALOG_METRICS, **TOTALS_METRICS}[name])
        found = pr.evaluate(shop.run, [*measures.values()], **given)
        for k in measures:
            try:
                said = OF_ALL[name]([*lists_of(shop, k).values()])
            except ZeroDivisionError:
                continue
            compared += 1
            assert near(found.item(0, f"at {k}"), said), (seed, k)
    assert compared > SHOPS


def test_every_formula_of_recommenders_is_read():
    sys.path.insert(0, str(DOCS))
    try:
        formulas = importlib.import_module("web.formulas").FORMULAS
    finally:
        sys.path.remove(str(DOCS))
    assert OF_LIST.keys() == LIST_METRICS.keys()
    assert OF_ALL.keys() == CATALOG_METRICS.keys() | TOTALS_METRICS.keys()
    assert OF_LIST.keys() | OF_ALL.keys() <= formulas.keys()
