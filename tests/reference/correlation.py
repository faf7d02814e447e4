"""Agreement of score and label."""

from __future__ import annotations

import itertools
import math

from reference.core import Discount, Doc, discount_at


def _min_rank(value: float, values: list[float]) -> int:
    """Return 1 + the number of strictly greater values."""
    return 1 + sum(1 for other in values if other > value)


def _average_rank(value: float, values: list[float]) -> float:
    """Return the mean of the ranks that the value and its equals take up."""
    equal = sum(1 for other in values if other == value)
    return _min_rank(value, values) + (equal - 1) / 2


def _top_pairs(docs: list[Doc], k: int | None) -> list[tuple[float, float]]:
    """Return (score, label) of the docs with both, of rank <= k by either of them."""
    both = [
        (d.score, d.label) for d in docs if d.score is not None and d.label is not None
    ]
    if k is None:
        return both
    scores = [s for s, _ in both]
    labels = [t for _, t in both]
    return [
        (s, t)
        for s, t in both
        if _min_rank(s, scores) <= k or _min_rank(t, labels) <= k
    ]


def kendall_distance(
    docs: list[Doc], k: int | None = None, penalty: float = 0.5
) -> float | None:
    """Return the mean disagreement of score and label over pairs of the top docs."""
    pairs = _top_pairs(docs, k)
    n = len(pairs)
    if n < 2:
        return None
    costs = []
    for (score_a, label_a), (score_b, label_b) in itertools.combinations(pairs, 2):
        tied_score = score_a == score_b
        tied_label = label_a == label_b
        if tied_score and tied_label:
            costs.append(0.0)
        elif tied_score or tied_label:
            costs.append(penalty)
        elif (score_a > score_b) != (label_a > label_b):
            costs.append(1.0)
        else:
            costs.append(0.0)
    return math.fsum(costs) / (n * (n - 1) / 2)


def spearman(docs: list[Doc], k: int | None = None) -> float | None:
    """Return the Pearson correlation of the average ranks by score and by label."""
    pairs = _top_pairs(docs, k)
    n = len(pairs)
    if n < 2:
        return None
    scores = [s for s, _ in pairs]
    labels = [t for _, t in pairs]
    mean = (n + 1) / 2  # average ranks always sum to n(n+1)/2
    x = [_average_rank(s, scores) - mean for s in scores]
    y = [_average_rank(t, labels) - mean for t in labels]
    var_x = math.fsum(a * a for a in x)
    var_y = math.fsum(b * b for b in y)
    if var_x == 0 or var_y == 0:
        return None
    covariance = math.fsum(a * b for a, b in zip(x, y, strict=True))
    return covariance / math.sqrt(var_x * var_y)


def _sign(a: float, b: float) -> int:
    """Return 1, 0 or -1."""
    return (a > b) - (a < b)


def kendall_tau(
    docs: list[Doc], k: int | None = None, variant: str = "b"
) -> float | None:
    """Return Kendall's tau, pair by pair."""
    rows = _top_pairs(docs, k)
    n = len(rows)
    signs = [
        (_sign(a[0], b[0]), _sign(a[1], b[1]))
        for a, b in itertools.combinations(rows, 2)
    ]
    difference = sum(s * t for s, t in signs)
    if variant == "a":
        return difference / len(signs) if signs else None
    scored = sum(s != 0 for s, _ in signs)
    labeled = sum(t != 0 for _, t in signs)
    if scored == 0 or labeled == 0:
        return None
    if variant == "b":
        return difference / math.sqrt(scored * labeled)
    m = min(len({s for s, _ in rows}), len({t for _, t in rows}))
    return 2 * difference * m / (n * n * (m - 1))


def tau_ap(docs: list[Doc], k: int | None = None, variant: str = "a") -> float | None:
    """Return the AP correlation of Yilmaz et al., ties after Urbano and Marrero."""
    rows = _top_pairs(docs, k)
    if variant == "b":
        there, back = _tau_ap_b(rows), _tau_ap_b([(t, s) for s, t in rows])
        return None if there is None or back is None else (there + back) / 2
    n = len(rows)
    if n < 2:
        return None
    total = 0.0
    for score, label in rows:
        above = [t for s, t in rows if s > score]
        equal = sum(s == score for s, _ in rows)
        right = sum(1.0 if t > label else 0.5 if t == label else 0.0 for t in above)
        # The document takes every place of its block equally often.
        for inside in range(equal):
            if len(above) + inside:
                total += (right + inside / 2) / (len(above) + inside) / equal
    return 2 / (n - 1) * total - 1


def _tau_ap_b(rows: list[tuple[float, float]]) -> float | None:
    """Return the AP correlation of the order by the first value, ties agreed."""
    shares = []
    for score, label in rows:
        above = [t for s, t in rows if s > score]
        if above:
            shares.append(sum(t > label for t in above) / len(above))
    return 2 * math.fsum(shares) / len(shares) - 1 if shares else None


def weighted_tau(
    docs: list[Doc],
    k: int | None = None,
    weigher: Discount = "position",
    weigh_by: str = "both",
    additive: bool = True,
) -> float | None:
    """Return Vigna's weighted tau, pair by pair."""
    rows = _top_pairs(docs, k)
    back = [(t, s) for s, t in rows]
    chosen = {"score": [rows], "label": [back], "both": [rows, back]}[weigh_by]
    values = [_weighted_tau(given, weigher, additive) for given in chosen]
    return None if None in values else math.fsum(values) / len(values)


def _weighted_tau(
    rows: list[tuple[float, float]], weigher: Discount, additive: bool
) -> float | None:
    """Return the weighted tau with places by the first value, then the second."""
    placed = sorted(rows, reverse=True)
    weights = [1 / discount_at(i, weigher) for i in range(1, len(placed) + 1)]
    product = first = second = 0.0
    for i, j in itertools.combinations(range(len(placed)), 2):
        s = _sign(placed[i][0], placed[j][0])
        t = _sign(placed[i][1], placed[j][1])
        one, two = weights[i], weights[j]
        weight = one + two if additive else one * two
        product += s * t * weight
        first += abs(s) * weight
        second += abs(t) * weight
    if first == 0 or second == 0:
        return None
    return product / math.sqrt(first * second)


def pearson(docs: list[Doc], k: int | None = None) -> float | None:
    """Return the linear correlation."""
    rows = _top_pairs(docs, k)
    if len({s for s, _ in rows}) < 2 or len({t for _, t in rows}) < 2:
        return None
    x_mean = math.fsum(s for s, _ in rows) / len(rows)
    y_mean = math.fsum(t for _, t in rows) / len(rows)
    xy = math.fsum((s - x_mean) * (t - y_mean) for s, t in rows)
    xx = math.fsum((s - x_mean) ** 2 for s, _ in rows)
    yy = math.fsum((t - y_mean) ** 2 for _, t in rows)
    return xy / math.sqrt(xx * yy)


VARIANTS = {
    "kendall_distance": [{"penalty": 1.0}, {"penalty": 0.0, "k": 4}],
    "weighted_tau": [
        {"weigher": "log2", "weigh_by": "label", "additive": False},
        {"weigher": lambda rank: rank + 1},
    ],
}
