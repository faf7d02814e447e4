"""Calibration and fairness of attention, item by item, in plain loops.

``lists``: user -> items, best first; ``history``: user -> items, repeats are
interactions; ``features``: item -> its category or categories. An undefined value is
None.
"""

from __future__ import annotations

import math

Lists = dict[str, list[str]]
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
