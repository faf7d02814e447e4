"""Plain loops over one user's list, and over the lists of all users."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from dataclasses import dataclass, field
from itertools import combinations, permutations

LISTS, CATALOGS, TOTALS = {}, {}, {}


@dataclass
class History:
    """Pairs of users and items; ``features`` of the items of the catalog."""

    pairs: list[tuple]
    features: dict = field(default_factory=dict)

    def __post_init__(self):
        self.interactions = Counter(item for _, item in self.pairs)
        self.users = Counter(item for _, item in set(self.pairs))
        self.user_count = len({user for user, _ in self.pairs})


def of_list(function):
    LISTS[function.__name__] = function
    return function


def of_catalog(function):
    CATALOGS[function.__name__] = function
    return function


def of_totals(function):
    TOTALS[function.__name__] = function
    return function


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values) if values else None


def bits(history, item, of="users"):
    if of == "users":
        return -math.log2(max(history.users[item], 1) / history.user_count)
    return -math.log2(max(history.interactions[item], 1) / len(history.pairs))


def top(items, k):
    """Items with their places: the list is in rank order."""
    return list(enumerate(items, 1))[:k]


@of_list
def novelty(items, user, labels, history, k=None, of="users"):
    return mean(bits(history, item, of) for _, item in top(items, k))


@of_list
def surprisal(items, user, labels, history, k=10):
    if history.user_count < 2:
        return None
    most = math.log2(history.user_count)
    return math.fsum(bits(history, item) / most for _, item in top(items, k)) / k


@of_list
def mean_popularity(items, user, labels, history, k=None, normalize=False):
    value = mean(history.interactions[item] for _, item in top(items, k))
    return value / len(history.pairs) if normalize and value is not None else value


def tail(history, item, head):
    """Whether the items of higher popularity have the share already."""
    own = history.interactions[item]
    above = sum(n for n in history.interactions.values() if n > own)
    return own == 0 or not above < head * len(history.pairs)


@of_list
def tail_share(items, user, labels, history, k=None, head=0.8):
    return mean(tail(history, item, head) for _, item in top(items, k))


@of_list
def tail_items(items, user, labels, history, k=None, head=0.8):
    return float(sum(tail(history, item, head) for _, item in top(items, k)))


@of_list
def unseen(items, user, labels, history, k=None):
    return mean((user, item) not in history.pairs for _, item in top(items, k))


def discounted(items, labels, value, k, rel):
    rows = top(items, k)
    above = math.fsum(
        value(item) / math.log2(rank + 1)
        for rank, item in rows
        if labels.get(item) is not None and labels[item] >= rel
    )
    below = math.fsum(1 / math.log2(rank + 1) for rank, _ in rows)
    return above / below if rows else None


@of_list
def epc(items, user, labels, history, k=None, rel=1):
    def new(item):
        return 1 - history.users[item] / history.user_count

    return discounted(items, labels, new, k, rel)


@of_list
def efd(items, user, labels, history, k=None, rel=1):
    return discounted(
        items, labels, lambda item: bits(history, item, "interactions"), k, rel
    )


@of_list
def serendipity(items, user, labels, history, k=None, rel=1):
    n = len(history.features)
    counts = sorted(set(history.interactions.values()), reverse=True)
    values = []
    for rank, item in top(items, k):
        place = {c: i for i, c in enumerate(counts, 1)}.get(history.interactions[item])
        usual = 0.0 if place is None else (n + 1 - place) / n
        relevant = labels.get(item) is not None and labels[item] >= rel
        values.append(max((n + 1 - rank) / n - usual, 0.0) * relevant)
    return mean(values)


def cosine(a, b):
    lengths = [math.sqrt(sum(x * x for x in v)) for v in (a, b)]
    if 0 in lengths:
        return 0.0
    return sum(x * y for x, y in zip(a, b, strict=True)) / math.prod(lengths)


@of_list
def content_serendipity(
    items, user, labels, history, k=None, feature="category", rel=1
):
    """Each relevant item against each interaction of the user."""
    known = {i: about[feature] for i, about in history.features.items()}
    past = [known[i] for who, i in history.pairs if who == user and known.get(i)]

    def alike(a, b):
        return cosine(a, b) if isinstance(a, list) else float(a == b)

    values = [
        is_good(labels, item, rel) * (1 - mean(alike(known[item], b) for b in past))
        for _, item in (top(items, k) if past else [])
    ]
    return mean(values)


def distance(a, b):
    if isinstance(a, list) and a and isinstance(a[0], float):
        lengths = [math.sqrt(sum(x * x for x in v)) for v in (a, b)]
        if 0 in lengths:
            return 1.0
        return 1 - sum(x * y for x, y in zip(a, b, strict=True)) / math.prod(lengths)
    if isinstance(a, list):
        return len(set(a) ^ set(b))
    return float(a != b)


@of_list
def ild(items, user, labels, history, k=None, feature="category", undefined=None):
    chosen = [history.features[item][feature] for _, item in top(items, k)]
    pairs = [distance(a, b) for a, b in combinations(chosen, 2)]
    return mean(pairs) if pairs else undefined


@of_list
def category_diversity(items, user, labels, history, k=10, feature="category"):
    return len({history.features[item][feature] for _, item in top(items, k)}) / k


def shares_of(weighted, history, feature):
    """Share of each category in the weights of items, which divide them evenly."""
    found = Counter()
    for item, weight in weighted:
        own = history.features[item][feature]
        own = set(own) if isinstance(own, list) else {own}
        for category in own:
            found[category] += weight / len(own)
    total = math.fsum(found.values())
    return Counter({category: w / total for category, w in found.items()})


@of_list
def miscalibration(
    items, user, labels, history, k=None, feature="category", alpha=0.01
):
    """Steck's divergence of the list from the past, category by category."""
    before = [(item, 1) for own, item in history.pairs if own == user]
    past = shares_of(before, history, feature)
    now = shares_of([(item, 1) for _, item in top(items, k)], history, feature)
    if not past or not now:
        return None
    return math.fsum(
        p * math.log(p / ((1 - alpha) * now[g] + alpha * p)) for g, p in past.items()
    )


@of_list
def awrf(items, user, labels, history, k=None, feature="category"):
    """Of each group of the catalog, its share of attention and of items."""
    seen = [(item, 1 / math.log2(rank + 1)) for rank, item in top(items, k)]
    e = shares_of(seen, history, feature)
    t = shares_of([(item, 1) for item in history.features], history, feature)
    if not e:
        return None

    def entropy_of(shares):
        return -sum(s * math.log2(s) for s in shares if s)

    middle = entropy_of((e[g] + t[g]) / 2 for g in t)
    return 1 - (middle - (entropy_of(e.values()) + entropy_of(t.values())) / 2)


@of_list
def user_coverage(items, user, labels, history, k=None, least=1):
    return float(len(top(items, k)) >= least)


def places(history, p, k):
    """What a place of the catalog is worth, from the first on."""
    items = range(len(history.features))
    return [p**i if k is None or i < k else 0.0 for i in items]


def exposures(items, labels, history, k, p, rel):
    """Of each item of the catalog: what it got, and what it deserved."""
    worth = places(history, p, k)
    good = [i for i in history.features if is_good(labels, i, rel)]
    others = [i for i in history.features if i not in good]
    deserved = dict.fromkeys(good, mean(worth[: len(good)]))
    deserved |= dict.fromkeys(others, mean(worth[len(good) :]))
    got = dict.fromkeys(history.features, 0.0)
    got |= {item: worth[rank - 1] for rank, item in top(items, k)}
    return [(got[i], deserved[i]) for i in history.features] if good else None


@of_list
def exposure_loss(items, user, labels, history, k=None, p=0.5, rel=1):
    both = exposures(items, labels, history, k, p, rel)
    return both and math.fsum((e - t) ** 2 for e, t in both)


@of_list
def exposure_disparity(items, user, labels, history, k=None, p=0.5, rel=1):
    both = exposures(items, labels, history, k, p, rel)
    return both and math.fsum(e**2 for e, _ in both)


@of_list
def exposure_relevance(items, user, labels, history, k=None, p=0.5, rel=1):
    both = exposures(items, labels, history, k, p, rel)
    return both and math.fsum(e * t for e, t in both)


# -- of all lists


def counted(lists, k):
    return Counter(item for items in lists for _, item in top(items, k))


@of_catalog
def coverage(lists, history, k=None):
    return len(counted(lists, k)) / len(history.features)


@of_catalog
def gini(lists, history, k=None, over="catalog", normalize=True):
    """Mean difference of all ordered pairs, relative to twice the mean."""
    counts = list(counted(lists, k).values())
    if over == "catalog":
        counts += [0] * (len(history.features) - len(counts))
    n = len(counts)
    if n < 1 + normalize or not sum(counts):
        return None
    pairs = n * (n - 1) if normalize else n * n  # or those of an item with itself, too
    apart = sum(abs(a - b) for a, b in permutations(counts, 2)) / pairs
    return apart / (2 * sum(counts) / n)


@of_catalog
def entropy(lists, history, k=None):
    counts = counted(lists, k).values()
    total = sum(counts)
    return -math.fsum(c / total * math.log2(c / total) for c in counts)


@of_catalog
def effective_items(lists, history, k=None):
    return 2 ** entropy(lists, history, k)


@of_catalog
def personalization(lists, history, k=None):
    own = [{item for _, item in top(items, k)} for items in lists if items]
    pairs = [
        1 - len(a & b) / math.sqrt(len(a) * len(b)) for a, b in combinations(own, 2)
    ]
    return mean(pairs)


@of_list
def rnd(items, user, labels, history, k=None, feature="protected", step=10):
    """Differences at every step; the largest sum has all marked ones at an end."""
    marks = [history.features[item][feature] for _, item in top(items, k)]

    def discounted(order):
        total = 0.0
        for cut in range(step, len(order) + 1, step):
            share = order[:cut].count(True) / cut
            total += abs(share - order.count(True) / len(order)) / math.log2(cut)
        return total

    ends = [discounted(sorted(marks, reverse=first)) for first in (True, False)]
    return discounted(marks) / max(ends) if max(ends) > 0 else None


# -- of all lists, user by user: ``lists`` and ``labels`` are by user


def is_good(labels, item, rel):
    return labels.get(item) is not None and labels[item] >= rel


def groups_by_popularity(history, head):
    long = {item for item in history.features if tail(history, item, head)}
    return [history.features.keys() - long, long]


def relative_spread(pairs):
    """Standard deviation of the shares, divided by their mean."""
    if not all(whole for _, whole in pairs):
        return None
    shares = [part / whole for part, whole in pairs]
    average = statistics.fmean(shares)
    return statistics.pstdev(shares) / average if average else None


@of_totals
def pop_rsp(lists, labels, history, k=None, head=0.8):
    """Chances of both groups; what the user knows is no candidate."""
    pairs = []
    for group in groups_by_popularity(history, head):
        listed = candidates = 0
        for user, items in lists.items():
            listed += sum(item in group for _, item in top(items, k))
            candidates += sum((user, item) not in history.pairs for item in group)
        pairs.append((listed, candidates))
    return relative_spread(pairs)


@of_totals
def pop_reo(lists, labels, history, k=None, head=0.8, rel=1):
    """The same among the relevant items of each user."""
    pairs = []
    for group in groups_by_popularity(history, head):
        listed = candidates = 0
        for user, items in lists.items():
            own = {i for i in group if is_good(labels[user], i, rel)}
            listed += sum(item in own for _, item in top(items, k))
            candidates += sum((user, item) not in history.pairs for item in own)
        pairs.append((listed, candidates))
    return relative_spread(pairs)


def exposure_of_merit(lists, labels, history, k, feature, *, clicked):
    """Of the marked items and of the others: exposure (or clicks) by merit."""
    rates = []
    for marked in (True, False):
        group = [i for i, about in history.features.items() if about[feature] is marked]
        exposure = merit = 0.0
        for user, items in lists.items():
            grades = {i: max(labels[user].get(i) or 0, 0) for i in group}
            merit += sum(grades.values())
            exposure += sum(
                (grades[item] if clicked else 1) / math.log2(rank + 1)
                for rank, item in top(items, k)
                if item in group
            )
        rates.append(exposure / merit if merit else None)
    protected, others = rates
    return protected / others if others and protected is not None else None


@of_totals
def treatment_ratio(lists, labels, history, k=None, feature="protected"):
    return exposure_of_merit(lists, labels, history, k, feature, clicked=False)


@of_totals
def impact_ratio(lists, labels, history, k=None, feature="protected"):
    return exposure_of_merit(lists, labels, history, k, feature, clicked=True)


def jackknife(lists, group_of, value):
    """Standard error of a value of ``lists`` by user, without a group at a time.

    Busing, Meijer and van der Leeden, 1999: pseudo-values of groups of unequal sizes.
    """
    listed = {user: items for user, items in lists.items() if items}
    members = Counter(map(group_of, listed))
    if len(members) < 2:
        return None
    n, g, whole = len(listed), len(members), value([*listed.values()])
    without = {}
    for group in members:
        kept = [items for user, items in listed.items() if group_of(user) != group]
        without[group] = value(kept)
    if None in without.values():
        return None
    estimate = g * whole - sum(
        (1 - m / n) * without[group] for group, m in members.items()
    )
    variance = 0.0
    for group, m in members.items():
        h = n / m
        pseudo = h * whole - (h - 1) * without[group]
        variance += (pseudo - estimate) ** 2 / (h - 1) / g
    return math.sqrt(variance)
