"""The formulas of the site, read once more: plain Python that follows the TeX.

Each function below follows the TeX of ``docs/web/formulas.py`` and the words of its
symbols. Where a formula divides by 0 or takes
the least of nothing, the page names the undefined case, and nothing is compared.
"""

from __future__ import annotations

import importlib
import random
import sys
from itertools import combinations, permutations
from math import exp, log, log2, sqrt
from pathlib import Path
from statistics import mean

import polars as pl
import pytest

import polars_rank as pr
from polars_rank.conventions.tools import complete_arguments
from polars_rank.metrics import METRICS

DOCS = Path(__file__).parents[2] / "docs"
CUTOFFS = (None, 1, 3, 20)
LISTS = 60
TOP = 4  # of the scale: max_grade
READ = {}


def read(function):
    """What a formula says of a list and a cutoff."""
    READ[function.__name__] = function
    return function


class List:
    """The symbols, by rank from 1 on; a document that is not there gains nothing."""

    def __init__(self, grades, others, scores, k):
        self.l = dict(enumerate(grades, 1))  # None: unjudged
        self.s = dict(enumerate(scores, 1))
        self.n, self.ranks = len(grades), range(1, len(grades) + 1)
        self.k = len(grades) if k is None else k
        self.to_k, self.no_cutoff = range(1, self.k + 1), k is None
        self.no_end = len(grades) + len(others) if k is None else k
        self.to_any = range(1, self.no_end + 1)
        known = [y for y in (*grades, *others) if y is not None]
        self.R, self.N = sum(y > 0 for y in known), sum(y == 0 for y in known)
        ideal = sorted(known, reverse=True)
        self.ideal = dict(enumerate(ideal, 1))
        self.known, self.others = known, others

    def g(self, i):
        return self.l.get(i) or 0

    def best(self, i):
        return self.ideal.get(i, 0)

    def c(self, i):
        return int(self.g(i) > 0)

    def h(self, i):
        return sum(self.c(j) for j in range(1, i + 1))

    def v(self, i):
        return int(i in self.l and self.l[i] is not None)

    def u(self, i):
        return int(i in self.l and self.l[i] is None)

    def G(self, i):
        return sum(self.g(j) for j in range(1, i + 1))

    def G_best(self, i):
        return sum(self.best(j) for j in range(1, i + 1))

    def B(self, i):
        return (self.h(i) + self.G(i)) / (i + self.G_best(i))

    @property
    def f(self):
        return min(i for i in self.ranks if self.c(i))

    @property
    def last(self):
        return max(i for i in self.ranks if self.c(i))

    @property
    def m(self):
        most = max(map(self.g, self.ranks))
        return min(i for i in self.ranks if self.g(i) == most) if most else min([])

    @property
    def table(self):
        """Of the judged documents."""
        tp = self.h(self.k)
        fp, fn = sum(map(self.v, self.to_k)) - tp, self.R - tp
        return tp, fp, fn, len(self.known) - tp - fp - fn

    def pairs(self, wins):
        """Ordered pairs of judged documents of the list."""
        judged = [i for i in self.ranks if self.v(i)]
        return [(a, b) for a, b in permutations(judged, 2) if wins(a, b)]

    def both(self):
        """Score and label of the documents that have both."""
        return [(self.s[i], self.l[i]) for i in self.ranks if self.v(i)]


@read
def cg(x):
    return sum(x.g(i) for i in x.to_k)


@read
def dcg(x):
    return sum(x.g(i) / log2(i + 1) for i in x.to_k)


@read
def ndcg(x):
    gain = sum(x.g(i) / log2(i + 1) for i in x.to_any)
    return gain / sum(x.best(i) / log2(i + 1) for i in x.to_any)


def ndcg_at(x, j):
    gain = sum(x.g(i) / log2(i + 1) for i in range(1, j + 1))
    return gain / sum(x.best(i) / log2(i + 1) for i in range(1, j + 1))


@read
def average_ndcg(x):
    found = sum(ndcg_at(x, i) for i in x.ranks if x.g(i) > 0)
    return (found + (x.R - x.h(x.n)) * ndcg(x)) / x.R


@read
def r_ndcg(x):
    ends = [i for i in x.ideal if x.best(i) > x.best(i + 1)]
    ends += [x.n] if x.n > x.R + 1 else []
    return mean(ndcg_at(x, i) for i in ends) if ends else 1 / 0


@read
def g_measure(x):
    gains = sum(
        x.g(i) / log2(2 + x.G_best(i) + max(0, i - x.R) - x.G(i)) for i in x.ranks
    )
    return gains / sum(x.ideal.values())


@read
def binary_g_measure(x):
    return sum(x.c(i) / log2(2 + i - x.h(i)) for i in x.ranks) / x.R


@read
def accuracy(x):
    return int(x.h(x.k) > 0)


@read
def precision(x):
    return x.h(x.k) / x.k


@read
def recall(x):
    return x.h(x.k) / x.R


@read
def full_recall(x):
    return int(x.h(x.k) == x.R)


@read
def f1(x):
    return 2 * x.h(x.k) / (x.k + x.R)


@read
def f_measure(x):
    return 2 * x.h(x.k) / (x.k + x.R)


@read
def ap(x):
    return sum(x.c(i) * x.h(i) / i for i in x.to_k) / x.R


@read
def rr(x):
    return 1 / x.f if x.f <= x.k else 0


@read
def gm_ap(x):
    return log(max(ap(x), 1e-5))


@read
def yaap(x):
    total = sum(x.c(i) * x.h(i) / i for i in x.ranks)
    return log((1 + total) / (1 + x.R - total))


@read
def set_ap(x):
    return x.h(x.n) / x.n * x.h(x.n) / x.R


@read
def q_measure(x):
    return sum(x.c(i) * x.B(i) for i in x.to_any) / min(x.no_end, x.R)


@read
def ncu_gu(x):
    return sum(x.c(i) * x.g(i) * x.B(i) for i in x.ranks) / sum(x.ideal.values())


@read
def ncu_rb(x):
    users = sum(x.c(i) * 0.95 ** (x.h(i) - 1) * x.B(i) for i in x.ranks)
    return users / sum(0.95 ** (j - 1) for j in range(1, x.R + 1))


@read
def o_measure(x):
    return x.B(x.f)


@read
def p_measure(x):
    return x.B(x.m)


@read
def p_plus(x):
    return sum(x.c(i) * x.B(i) for i in range(1, x.m + 1)) / x.h(x.m)


def scaled(x, i):
    return x.g(i) / TOP


@read
def sdcg(x):
    gain = sum(scaled(x, i) / log2(i + 1) for i in x.to_k)
    return gain / sum(1 / log2(i + 1) for i in x.to_k)


def per_user(x, weights):
    pairs = list(enumerate(weights, 1))
    return sum(w * scaled(x, i) for i, w in pairs) / sum(w for _, w in pairs)


def going_on(x, depth, to_next):
    weights = [1.0]
    for i in range(1, depth):
        weights.append(weights[-1] * to_next(i))
    return per_user(x, weights)


@read
def insq(x):
    return per_user(x, [(2 / (i + 1)) ** 2 for i in range(1, 1001)])


@read
def inst(x):
    def to_next(i):
        reached = x.G(i) / TOP
        return ((i + 2 - reached - 1) / (i + 2 - reached)) ** 2

    return going_on(x, 1000, to_next)


@read
def nerr8(x):
    return going_on(x, x.k, lambda i: 1 - scaled(x, i))


@read
def nerr9(x):
    return going_on(x, x.k, lambda i: (1 - scaled(x, i)) * i / (i + 1))


@read
def nerr10(x):
    return going_on(x, 1000, lambda i: (1 - scaled(x, i)) * 0.9)


@read
def nerr11(x):
    return going_on(x, 1000, lambda i: (1 - scaled(x, i)) * ((i + 1) / (i + 2)) ** 2)


@read
def bpm(x):
    m = min(i for i in x.to_k if x.G(i) / TOP >= 1 or i == x.k)
    return x.G(m) / TOP / m


@read
def bpm_dynamic(x):
    for m in range(1, 1000):
        surplus = sum(scaled(x, j) - 0.5 for j in range(1, m))
        if x.G(m) / TOP >= 1 + surplus or m >= x.k:
            return x.G(m) / TOP / m
    raise AssertionError


def satisfied(grades, to_k):
    total, left = 0.0, 1.0
    for i in to_k:
        q = (2 ** grades.get(i, 0) - 1) / 2**TOP
        total, left = total + left * q / i, left * (1 - q)
    return total


@read
def err(x):
    return satisfied({i: x.g(i) for i in x.ranks}, x.to_k)


@read
def nerr(x):
    return err(x) / satisfied(x.ideal, x.to_any)


@read
def pfound(x):
    total, left = 0.0, 1.0
    for i in x.to_k:
        q = x.g(i) / TOP
        total, left = total + 0.85 ** (i - 1) * left * q, left * (1 - q)
    return total


@read
def first_click(x):
    return x.f


@read
def last_click(x):
    return x.last


@read
def mean_click(x):
    return sum(x.c(i) * i for i in x.ranks) / x.h(x.n)


@read
def mean_rr(x):
    return sum(x.c(i) / i for i in x.ranks) / x.h(x.n)


@read
def p_skip(x):
    return (x.last - x.h(x.last)) / x.last


@read
def hits(x):
    return x.h(x.k)


@read
def fall_out(x):
    _, fp, _, tn = x.table
    return fp / (fp + tn)


@read
def binary_accuracy(x):
    tp, _, _, tn = x.table
    return (tp + tn) / sum(x.table)


@read
def mcc(x):
    tp, fp, fn, tn = x.table
    return (tp * tn - fp * fn) / sqrt((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn))


@read
def mean_label(x):
    labels = [x.l[i] for i in x.to_k if x.v(i)]
    return sum(labels) / len(labels)


@read
def arp(x):
    return sum(x.g(i) * i for i in x.ranks) / sum(map(x.g, x.ranks))


def orders(pairs):
    """Pairs in the same and in opposite orders, and tied in either."""
    same = opposite = one = two = 0
    for (s, y), (t, z) in combinations(pairs, 2):
        same += (s - t) * (y - z) > 0
        opposite += (s - t) * (y - z) < 0
        one, two = one + (s == t), two + (y == z)
    return same, opposite, one, two


@read
def kendall_tau(x):
    pairs = x.both()
    same, opposite, one, two = orders(pairs)
    total = len(pairs) * (len(pairs) - 1) / 2
    return (same - opposite) / sqrt((total - one) * (total - two))


@read
def kendall_distance(x):
    pairs = x.both()
    total = len(pairs) * (len(pairs) - 1) / 2
    _, opposite, one, two = orders(pairs)
    both = sum(a == b for a, b in combinations(pairs, 2))
    return (opposite + 0.5 * (one + two - 2 * both)) / total


@read
def tau_ap(x):
    labels = [y for _, y in x.both()]
    if len(labels) < 2:
        return 1 / 0
    above = sum(
        sum((y > labels[i]) + (y == labels[i]) / 2 for y in labels[:i]) / i
        for i in range(1, len(labels))
    )
    return 2 / (len(labels) - 1) * above - 1


@read
def weighted_tau(x):
    pairs = x.both()
    if len(pairs) < 2:
        return 1 / 0

    def sign(a, b):
        return (a > b) - (a < b)

    def value(order):
        weights = {i: 1 / place for place, i in enumerate(order, 1)}
        total = one = two = 0.0
        for a, b in combinations(range(len(pairs)), 2):
            by_score = sign(pairs[a][0], pairs[b][0])
            by_label = sign(pairs[a][1], pairs[b][1])
            weight = weights[a] + weights[b]
            total += weight * by_score * by_label
            one, two = one + weight * by_score**2, two + weight * by_label**2
        return total / (sqrt(one) * sqrt(two))

    by_label = sorted(range(len(pairs)), key=lambda i: -pairs[i][1])
    return (value(range(len(pairs))) + value(by_label)) / 2


@read
def pearson(x):
    s, y = zip(*x.both(), strict=True)
    a, b = mean(s), mean(y)
    top = sum((i - a) * (j - b) for i, j in zip(s, y, strict=True))
    return top / sqrt(sum((i - a) ** 2 for i in s) * sum((j - b) ** 2 for j in y))


@read
def spearman(x):
    def ranks(values):
        return [
            sum(w < v for w in values) + (sum(w == v for w in values) + 1) / 2
            for v in values
        ]

    s, y = map(ranks, zip(*x.both(), strict=True))
    a, b = mean(s), mean(y)
    top = sum((i - a) * (j - b) for i, j in zip(s, y, strict=True))
    return top / sqrt(sum((i - a) ** 2 for i in s) * sum((j - b) ** 2 for j in y))


@read
def num_q(x):
    return 1


@read
def num_ret(x):
    return x.n


@read
def num_rel(x):
    return x.R


@read
def num_rel_ret(x):
    return x.h(x.n)


@read
def num_nonrel_judged_ret(x):
    return sum(x.v(i) * (1 - x.c(i)) for i in x.ranks)


@read
def utility(x):
    return x.h(x.n) - (x.n - x.h(x.n))


@read
def bpref(x):
    def above(i):
        return sum(x.v(j) * (1 - x.c(j)) for j in range(1, i))

    if x.R == 0:
        return 1 / 0
    low = min(x.N, x.R)
    terms = (1 - (min(above(i), x.R) / low if low else 0) for i in x.ranks if x.c(i))
    return sum(terms) / x.R


@read
def gm_bpref(x):
    return log(max(bpref(x), 1e-5))


@read
def inf_ap(x):
    total, small = 0.0, 1e-5
    for i in x.ranks:
        above = range(1, i)
        rel, judged = x.h(i - 1), sum(map(x.v, above))
        p = (rel + small) / (judged + 2 * small)
        total += x.c(i) * (1 + judged * p) / i
    return total / x.R


@read
def judged(x):
    return sum(x.v(i) for i in x.to_k) / min(x.k, x.n)


@read
def unjudged(x):
    return sum(x.u(i) for i in x.to_k) / x.k


@read
def hole(x):
    return sum(x.u(i) for i in x.to_k) / x.k


@read
def squared_error(x):
    errors = [(x.s[i] - x.l[i]) ** 2 for i in x.to_k if x.v(i)]
    return sum(errors) / len(errors)


@read
def hinge(x):
    pairs = x.pairs(lambda a, b: x.l[a] > x.l[b] and max(a, b) <= x.k)
    return sum(max(0, 1 - (x.s[a] - x.s[b])) for a, b in pairs) / len(pairs)


@read
def listmle(x):
    order = sorted((i for i in x.ranks if x.v(i)), key=lambda i: -x.l[i])
    if not order:
        return 1 / 0
    return sum(
        log(sum(exp(x.s[j]) for j in order[i:])) - x.s[order[i]]
        for i in range(min(x.k, len(order)))
    )


@read
def auc(x):
    pairs = x.pairs(lambda a, b: x.c(a) and not x.c(b))
    return sum(x.s[a] > x.s[b] for a, b in pairs) / len(pairs)


@read
def relevant_above(x):
    n, found = min(x.k, x.n), x.h(x.k)
    wrong = sum(x.c(i) * (i - x.h(i)) for i in x.to_k)
    return 1 - wrong / (found * (n - found))


@read
def partial_auc(x):
    k = x.n - x.h(x.n) if x.no_cutoff else x.k
    return sum(x.c(i) * max(0, k - (i - x.h(i))) for i in x.ranks) / (k * x.R)


@read
def pair_accuracy(x):
    pairs = x.pairs(lambda a, b: x.l[a] > x.l[b])
    return sum(x.s[a] > x.s[b] for a, b in pairs) / len(pairs)


@read
def opa(x):
    return pair_accuracy(x)


@read
def ranking_loss(x):
    pairs = x.pairs(lambda a, b: x.c(a) and not x.c(b))
    return sum(x.s[a] <= x.s[b] for a, b in pairs) / len(pairs)


@read
def lrap(x):
    shares = (x.c(i) * x.h(i) / sum(map(x.v, range(1, i + 1))) for i in hit_ranks(x))
    return sum(shares) / x.h(x.n)


def hit_ranks(x):
    return [i for i in x.ranks if x.c(i)]


@read
def coverage_error(x):
    return sum(map(x.v, range(1, x.last + 1)))


@read
def rbp(x):
    return 0.1 * sum(0.9 ** (i - 1) * x.g(i) / max(x.known) for i in x.to_k)


@read
def rbp_residual(x):
    unknown = sum(0.9 ** (i - 1) * x.u(i) for i in x.to_k)
    return 0.1 * unknown + 0.9 ** min(x.k, x.n)


@read
def r_precision(x):
    return x.h(x.R) / x.R


def interpolated(x, share):
    least = int(share * x.R + 0.5 + 1e-9)
    reached = (x.h(i) / i for i in x.ranks if x.h(i) >= least)
    return max(reached, default=0)


@read
def interpolated_precision(x):
    return interpolated(x, 0.5) if x.R else 1 / 0


@read
def eleven_point_ap(x):
    if x.R == 0:
        return 1 / 0
    return sum(interpolated(x, j / 10) for j in range(11)) / 11


@read
def overlap(x):
    one, two = tops(x)
    return len(one & two) / max(len(one), len(two))


@read
def jaccard(x):
    one, two = tops(x)
    return len(one & two) / len(one | two)


@read
def compat(x):
    wanted = {i: x.g(i) for i in x.ranks if x.g(i)}
    wanted |= {-j: y for j, y in enumerate(x.others, 1) if y}
    ideal = sorted(wanted, key=lambda i: (-wanted[i], i < 0))
    depths = range(1, max(x.n, len(ideal)) + 1)

    def shared(ranking):
        common = (len({*ranking[:d]} & {*ideal[:d]}) for d in depths)
        return sum(0.95 ** (d - 1) * n / d for d, n in zip(depths, common, strict=True))

    return shared([*x.ranks]) / shared(ideal)


@read
def unexpectedness(x):
    one, two = tops(x)
    return 1 - len(one & two) / x.k if two else 1 / 0


def tops(x):
    """The first k by score and by label, which has those not retrieved as well."""
    labels = {i: x.l[i] for i in x.ranks if x.v(i)}
    labels |= {-j: y for j, y in enumerate(x.others, 1)}
    by_label = sorted(labels, key=lambda i: (-labels[i], i < 0))
    k = len(by_label) + x.n if x.no_cutoff else x.k
    return {i for i in x.ranks if i <= k}, set(by_label[:k])


def draw(seed):
    rng = random.Random(seed)
    n = rng.randint(1, 12)
    grades = [rng.choice([None, 0, 0, 1, 2, 3, 4]) for _ in range(n)]
    others = [rng.choice([0, 1, 2, 4]) for _ in range(rng.randint(0, 3))]
    if all(y is None for y in grades) and not others:
        others = [1]
    scores = sorted(rng.sample(range(100), n), reverse=True)
    return grades, others, [s / 10 for s in scores]


@pytest.fixture(scope="module")
def data():
    rows, judgments = [], []
    for q in range(LISTS):
        grades, others, scores = draw(q)
        for i, (y, s) in enumerate(zip(grades, scores, strict=True)):
            rows.append((q, f"d{i}", s))
            judgments += [] if y is None else [(q, f"d{i}", y)]
        judgments += [(q, f"o{i}", y) for i, y in enumerate(others)]
    run = pl.DataFrame(rows, ["query_id", "doc_id", "score"], orient="row")
    return run, pl.DataFrame(judgments, ["query_id", "doc_id", "label"], orient="row")


@pytest.fixture(scope="module")
def formulas():
    """TeX and symbols of every formula."""
    sys.path.insert(0, str(DOCS))
    try:
        return importlib.import_module("web.formulas").FORMULAS
    finally:
        sys.path.remove(str(DOCS))


@pytest.mark.parametrize("name", READ)
@pytest.mark.filterwarnings("ignore")
def test_the_library_computes_what_the_formula_says(data, formulas, name):
    metric, (run, qrels) = METRICS[name], data
    options = {"no_relevant": "null"} if metric.needs_relevant else {}
    more = {"recall": 0.5} if name == "interpolated_precision" else {}
    more |= {"max_grade": TOP} if "max_grade" in metric.parameters else {}
    with_k = {"k", "k+", "k-"} & {*formulas[name][1].split()}
    cutoffs = CUTOFFS if with_k and metric.cutoff == "k" else (None,)
    wrong, compared = [], 0
    for k in cutoffs:
        default = complete_arguments(metric).get("k") if metric.cutoff == "k" else None
        given = more | ({"k": k} if k is not None else {})
        measure = pr.measure(name, **given, name="value")
        found = pr.per_query(run, measure, qrels=qrels, **options)
        for q, value in found.select("query_id", "value").iter_rows():
            x = List(*draw(q), k if k is not None else default)
            try:
                said = READ[name](x)
            except (ZeroDivisionError, ValueError):
                continue
            if metric.needs_relevant and x.R == 0:
                continue
            compared += 1
            if value is None or abs(said - value) > 1e-9 * max(1, abs(said)):
                wrong.append((k, q, x.l, said, value))
    assert compared > 40
    assert not wrong, (len(wrong), compared, wrong[:2])


def test_most_formulas_are_read(formulas):
    assert READ.keys() <= formulas.keys()
    assert len(READ) >= 80
