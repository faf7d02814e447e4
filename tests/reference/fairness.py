"""Calibration and fairness of attention, item by item, in plain loops.

``lists``: user -> items, best first; ``relevant``: user -> item -> label;
``history``: user -> items, repeats are interactions; ``features``: item -> its
category or categories. An undefined value is None.
"""

from __future__ import annotations

import math

Lists = dict[str, list[str]]
Relevant = dict[str, dict[str, float]]
Features = dict[str, "str | list[str] | set[str] | None"]


def _categories(features: Features, item: str) -> list[str]:
    """Return the different categories of an item, in order."""
    given = features.get(item)
    if given is None:
        return []
    return [given] if isinstance(given, str) else sorted(set(given))


def _shares(
    items: list[str], weights: list[float], features: Features
) -> dict[str, float]:
    """Return the weight by category; an item divides its weight among its own.

    Items without a category are left out of the sum and of its total.
    """
    found: dict[str, float] = {}
    for item, weight in zip(items, weights, strict=True):
        own = _categories(features, item)
        for category in own:
            found[category] = found.get(category, 0.0) + weight / len(own)
    total = sum(found.values())
    return {c: w / total for c, w in found.items()} if total > 0 else {}


def _discount(rank: int, kind: str) -> float:
    """Return the chance of being seen."""
    return 1 / math.log2(rank + 1) if kind == "log" else 1.0


def _kl(p: dict[str, float], q: dict[str, float], base: float = math.e) -> float:
    return sum(v * math.log(v / q[g], base) for g, v in p.items() if v > 0)


def calibration(
    lists: Lists,
    history: Lists,
    features: Features,
    k: int | None = None,
    alpha: float = 0.01,
    discount: str = "none",
) -> dict[str, float | None]:
    """Return the distance of each user's list from the history, by category.

    p(g|u) = sum over the history of p(g|i) / n, q alike over the list, weighted by
    the discount; p(g|i) = 1 / categories of i. KL(p || q~), natural logarithm, with
    q~ = (1 - alpha) q + alpha p: Steck, RecSys 2018. Steck's weights of
    interactions are 1 for each row here.
    Undefined: no categorized item in the history or in the list (Steck has no rule).
    """
    values: dict[str, float | None] = {}
    for user, listed in lists.items():
        top = listed[:k]
        past = history.get(user, [])
        p = _shares(past, [1.0] * len(past), features)
        weights = [_discount(r, discount) for r in range(1, len(top) + 1)]
        q = _shares(top, weights, features)
        if not p or not q:
            values[user] = None
            continue
        both = sorted({*p, *q})
        mixed = {g: (1 - alpha) * q.get(g, 0) + alpha * p.get(g, 0) for g in both}
        values[user] = _kl(p, mixed)
    return values


def _jensen_shannon(p: dict[str, float], q: dict[str, float]) -> float:
    """Return the Jensen-Shannon divergence in bits, 0 to 1."""
    middle = {g: (p.get(g, 0) + q.get(g, 0)) / 2 for g in {*p, *q}}
    return (_kl(p, middle, 2) + _kl(q, middle, 2)) / 2


def awrf(
    lists: Lists,
    features: Features,
    target: dict[str, float],
    k: int | None = None,
    discount: str = "log",
) -> dict[str, float | None]:
    """Return 1 less the Jensen-Shannon divergence (bits) from the target, by user.

    Shares of exposure by group: Sapiezynski et al., WWW 2019 companion; the distance
    and the discount 1 / log2(rank + 1) are those of TREC Fair
    Ranking 2021 and 2022, whose code leaves items of no group out.
    Undefined: no item of a group in the list.
    """
    total = sum(target.values())
    goal = {g: t / total for g, t in target.items()}
    values: dict[str, float | None] = {}
    for user, listed in lists.items():
        top = listed[:k]
        weights = [_discount(r, discount) for r in range(1, len(top) + 1)]
        shares = _shares(top, weights, features)
        values[user] = 1 - _jensen_shannon(shares, goal) if shares else None
    return values


def short_head(history: Lists, head: float = 0.8, ties: bool = True) -> set[str]:
    """Return the most popular items that together have the share of interactions.

    With ``ties`` all items as popular as the last one belong to them, too.
    """
    counts: dict[str, int] = {}
    for items in history.values():
        for item in items:
            counts[item] = counts.get(item, 0) + 1
    total, so_far, last = sum(counts.values()), 0, 0
    found = set()
    for item in sorted(counts, key=lambda i: (-counts[i], i)):
        if so_far >= head * total and not (ties and counts[item] == last):
            break
        found.add(item)
        so_far += counts[item]
        last = counts[item]
    return found


def _spread(numbers: list[int], of: list[int]) -> float | None:
    """Return std (ddof 0) / mean of the shares; None for 0 / 0."""
    if not all(of):
        return None
    shares = [n / d for n, d in zip(numbers, of, strict=True)]
    mean = sum(shares) / len(shares)
    if mean == 0:
        return None
    return math.sqrt(sum((s - mean) ** 2 for s in shares) / len(shares)) / mean


def pop_rsp(
    lists: Lists,
    history: Lists,
    catalog: list[str],
    k: int | None = None,
    head: float = 0.8,
    ties: bool = True,
) -> float | None:
    """Return std / mean over head and tail of P(recommended | group).

    Zhu, Wang and Caverlee, SIGIR 2020 (RSP), groups by popularity. The items
    of a user's history are not candidates: they leave the denominator, as in Elliot,
    whose numerator keeps them. Elliot's catalog are the items of the train log.
    Undefined: a group without candidates, or nothing recommended (nan in Elliot).
    """
    top = short_head(history, head, ties)
    groups = [top & {*catalog}, {*catalog} - top]
    numbers, of = [0, 0], [0, 0]
    for user, listed in lists.items():
        for place, group in enumerate(groups):
            numbers[place] += len({*listed[:k]} & group)
            of[place] += len(group - {*history.get(user, [])})
    return _spread(numbers, of)


def pop_reo(
    lists: Lists,
    relevant: Relevant,
    history: Lists,
    catalog: list[str],
    k: int | None = None,
    head: float = 0.8,
    ties: bool = True,
    rel: float = 1,
) -> float | None:
    """Return std / mean over head and tail of P(recommended | group, relevant).

    Zhu, Wang and Caverlee, SIGIR 2020 (REO); otherwise as ``pop_rsp``. Users
    without a relevant item are left out.
    """
    top = short_head(history, head, ties)
    groups = [top & {*catalog}, {*catalog} - top]
    numbers, of = [0, 0], [0, 0]
    for user, listed in lists.items():
        good = {i for i, label in relevant.get(user, {}).items() if label >= rel}
        for place, group in enumerate(groups):
            numbers[place] += len({*listed[:k]} & good & group)
            of[place] += len((group & good) - {*history.get(user, [])})
    return _spread(numbers, of)


def exposure_ratio(
    lists: Lists,
    relevant: Relevant,
    features: Features,
    groups: tuple[str, str],
    impact: bool = False,
    k: int | None = None,
    discount: str = "log",
) -> float | None:
    """Return DTR, or DIR with ``impact``, of the first group to the second.

    Exp(G) = mean over lists of sum of 1 / log2(rank + 1) over G, / |G|; U(G) = mean
    relevance of G's items over lists; DTR = (Exp/U of the first) / (Exp/U of the
    second). DIR has exposure x relevance (clicks). Singh and Joachims, KDD 2018. The
    items of a group are those of ``features`` in it; the relevance
    of an unjudged item is 0. An item of both groups counts in both. |G| cancels.
    Undefined: a group without items or relevance, or no exposure of the second.
    """
    ratio = []
    for group in groups:
        members = [i for i in features if group in _categories(features, i)]
        exposure, merit = 0.0, 0.0
        for user, listed in lists.items():
            labels = relevant.get(user, {})
            for item in members:
                merit += max(labels.get(item, 0), 0)
            for rank, item in enumerate(listed[:k], 1):
                if item in members:
                    seen = _discount(rank, discount)
                    exposure += seen * (max(labels.get(item, 0), 0) if impact else 1)
        if merit == 0:
            return None
        ratio.append(exposure / merit)
    return ratio[0] / ratio[1] if ratio[1] else None


def expected_exposure(
    lists: Lists,
    relevant: Relevant,
    k: int | None = None,
    patience: float = 0.5,
    rel: float = 1,
) -> dict[str, dict[str, float] | None]:
    """Return EE-L, EE-D and EE-R of each user's one list (a certain policy).

    e(i) = patience^(rank - 1), 0 if not listed; e*(i) = the mean of the first m
    places for the m relevant items, the mean of the others for the rest (Diaz et al.,
    CIKM 2020: EE-L = |e - e*|^2, EE-D = |e|^2, EE-R = e . e*,
    EE-L = EE-D - 2 EE-R + |e*|^2). The items are those listed or judged; places
    below the cutoff have no exposure, in e and in e*.
    TREC Fair Ranking 2022 sums discounts of relevant items by group instead.
    Undefined: no item is relevant.
    """
    values: dict[str, dict[str, float] | None] = {}
    for user, listed in lists.items():
        labels = relevant.get(user, {})
        items = sorted({*listed, *labels})
        good = [i for i in items if labels.get(i, 0) >= rel]
        if not good:
            values[user] = None
            continue
        places = [patience**r if k is None or r < k else 0.0 for r in range(len(items))]
        m = len(good)
        rest = places[m:]
        high = sum(places[:m]) / m
        low = sum(rest) / len(rest) if rest else 0.0
        loss = disparity = relevance = 0.0
        for item in items:
            own = places[listed.index(item)] if item in listed else 0.0
            ideal = high if item in good else low
            loss += (own - ideal) ** 2
            disparity += own**2
            relevance += own * ideal
        values[user] = {"EE-L": loss, "EE-D": disparity, "EE-R": relevance}
    return values


def rnd(
    listed: list[str], features: Features, protected: str, step: int = 10
) -> float | None:
    """Return rND of one list: the discounted difference of shares at 10, 20, ...

    1/Z sum over i of 1/log2(i) |S_i/i - S_N/N|: Yang and Stoyanovich, SSDBM 2017.
    Z is the larger value of the orders with all protected items last and first: the
    last is not the largest if most items are protected.
    Undefined: Z is 0 (no place, none or all protected).
    """
    marks = [protected in _categories(features, item) for item in listed]
    n, size = len(marks), sum(marks)

    def raw(order: list[bool]) -> float:
        return sum(
            abs(sum(order[:i]) / i - size / n) / math.log2(i)
            for i in range(step, n + 1, step)
        )

    most = max(raw(sorted(marks)), raw(sorted(marks, reverse=True)))
    return raw(marks) / most if most > 0 else None
