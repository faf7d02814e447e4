"""Plain, slow reference metrics, written from their definitions.

One query is a list of documents. Nothing here is vectorised or shared with the library.
"""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

Gain = str | dict[float, float] | Callable[[float], float]
Discount = str | Callable[[float], float]
Metric = Callable[..., float | None]


@dataclass(frozen=True)
class Doc:
    """One document of a query."""

    id: str
    score: float | None  # None: judged, not retrieved
    label: float | None  # None: unjudged


# --- order ---------------------------------------------------------------------------


def order(docs: list[Doc], ties: str = "order") -> list[Doc]:
    """Return the retrieved docs by score descending, equal scores ordered by `ties`."""
    found = [d for d in docs if d.score is not None]
    if ties == "doc_desc":
        found.sort(key=lambda d: d.id.encode("utf-8"), reverse=True)
    elif ties == "doc_asc":
        found.sort(key=lambda d: d.id.encode("utf-8"))
    elif ties == "optimistic":
        found.sort(key=lambda d: -_grade(d))
    elif ties == "pessimistic":
        found.sort(key=_grade)
    elif ties != "order":
        raise ValueError(f"unknown ties: {ties!r}")
    # Sorting is stable, so the order made above survives inside equal scores.
    return sorted(found, key=lambda d: -d.score)


def expected(metric: Metric, docs: list[Doc], **params: object) -> float | None:
    """Return the mean of `metric` over all permutations inside blocks of equal scores.

    `metric` has to take `ties`. None if the metric is None for any permutation.
    """
    rest = [d for d in docs if d.score is None]
    groups = itertools.groupby(order(docs, "order"), key=lambda d: d.score)
    blocks = [list(block) for _, block in groups]
    values = []
    for choice in itertools.product(*(itertools.permutations(b) for b in blocks)):
        arranged = [d for block in choice for d in block] + rest
        value = metric(arranged, **{**params, "ties": "order"})
        if value is None:
            return None
        values.append(value)
    return math.fsum(values) / len(values)


# --- helpers -------------------------------------------------------------------------


def _grade(doc: Doc) -> float:
    """Return the label, with unjudged and negative counted as 0."""
    if doc.label is None or doc.label < 0:
        return 0.0
    return doc.label


def _relevant(doc: Doc, rel: float) -> bool:
    """Tell whether a doc is relevant at the threshold; a negative grade never is."""
    return doc.label is not None and doc.label >= rel and doc.label >= 0


def _count(docs: list[Doc], rel: float) -> int:
    """Count the relevant docs."""
    return sum(1 for d in docs if _relevant(d, rel))


def _nothing(no_relevant: str) -> float | None:
    """Return the value of a query in which nothing is relevant."""
    if no_relevant == "zero":
        return 0.0
    if no_relevant == "one":
        return 1.0
    if no_relevant in ("null", "skip"):
        return None
    if no_relevant == "error":
        raise ValueError("nothing is relevant")
    raise ValueError(f"unknown no_relevant: {no_relevant!r}")


def _gain(doc: Doc, gain: Gain) -> float:
    """Return the gain of a doc; 0 when it is unjudged or its grade is negative."""
    if doc.label is None or doc.label < 0:
        return 0.0
    if callable(gain):
        return gain(doc.label)
    if isinstance(gain, dict):
        return gain.get(doc.label, doc.label)
    if gain == "linear":
        return doc.label
    if gain == "exp2":
        return 2.0**doc.label - 1.0
    if gain == "binary":
        return 1.0 if doc.label > 0 else 0.0
    raise ValueError(f"unknown gain: {gain!r}")


def _discount(rank: int, discount: Discount) -> float:
    """Return the divisor of the gain at a rank (from 1)."""
    if callable(discount):
        return discount(float(rank))
    if discount == "log2":
        return math.log2(rank + 1)
    if discount == "log2_from_2":
        return max(1.0, math.log2(rank))
    if discount == "position":
        return float(rank)
    raise ValueError(f"unknown discount: {discount!r}")


def _discounted(gains: list[float], discount: Discount) -> float:
    """Return the sum of gains, each divided by the discount of its rank."""
    return math.fsum(g / _discount(i, discount) for i, g in enumerate(gains, start=1))


def _ideal_pool(docs: list[Doc], ideal: str) -> list[Doc]:
    """Return the judged docs from which the ideal order is made."""
    if ideal == "judged":
        return [d for d in docs if d.label is not None]
    if ideal == "retrieved":
        return [d for d in docs if d.label is not None and d.score is not None]
    raise ValueError(f"unknown ideal: {ideal!r}")


# --- set and binary metrics ----------------------------------------------------------


def accuracy(
    docs: list[Doc],
    *,
    k: int | None = None,
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return 1 if any of the first k is relevant, else 0."""
    if _count(docs, rel) == 0:
        return _nothing(no_relevant)
    return 1.0 if _count(order(docs, ties)[:k], rel) > 0 else 0.0


def precision(
    docs: list[Doc],
    *,
    k: int | None = None,
    rel: float = 1,
    divisor: str = "k",
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the share of relevant docs in the first k."""
    total = _count(docs, rel)
    if total == 0:
        return _nothing(no_relevant)
    ranked = order(docs, ties)
    n = len(ranked)
    if divisor == "k":
        below = n if k is None else k
    elif divisor == "retrieved":
        below = n if k is None else min(k, n)
    elif divisor == "min_k_R":
        below = min(n if k is None else k, total)
    else:
        raise ValueError(f"unknown divisor: {divisor!r}")
    return _count(ranked[:k], rel) / below if below else 0.0


def recall(
    docs: list[Doc],
    *,
    k: int | None = None,
    rel: float = 1,
    divisor: str = "R",
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the share of the relevant docs that the first k hold."""
    total = _count(docs, rel)
    if total == 0:
        return _nothing(no_relevant)
    if divisor == "R":
        below = total
    elif divisor == "min_k_R":
        below = total if k is None else min(k, total)
    else:
        raise ValueError(f"unknown divisor: {divisor!r}")
    return _count(order(docs, ties)[:k], rel) / below if below else 0.0


def f1(
    docs: list[Doc],
    *,
    k: int | None = None,
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the harmonic mean of precision and recall."""
    if _count(docs, rel) == 0:
        return _nothing(no_relevant)
    p = precision(docs, k=k, rel=rel, ties=ties)
    r = recall(docs, k=k, rel=rel, ties=ties)
    return 2.0 * p * r / (p + r) if p + r > 0 else 0.0


def ap(
    docs: list[Doc],
    *,
    k: int | None = None,
    rel: float = 1,
    divisor: str = "R",
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return average precision: precision at each relevant rank, summed and divided."""
    total = _count(docs, rel)
    if total == 0:
        return _nothing(no_relevant)
    ranked = order(docs, ties)
    hits = 0
    terms = []
    for i, doc in enumerate(ranked[:k], start=1):
        if _relevant(doc, rel):
            hits += 1
            terms.append(hits / i)
    if divisor == "R":
        below = total
    elif divisor == "min_k_R":
        below = total if k is None else min(k, total)
    elif divisor == "hits":
        below = hits
    elif divisor == "k":
        below = len(ranked) if k is None else k
    else:
        raise ValueError(f"unknown divisor: {divisor!r}")
    return math.fsum(terms) / below if below else 0.0


def ap_delta_recall(
    docs: list[Doc],
    *,
    k: int | None = None,
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return average precision as the sum of precision times the change in recall."""
    total = _count(docs, rel)
    if total == 0:
        return _nothing(no_relevant)
    ranked = order(docs, ties)[:k]
    terms = []
    recall_before = 0.0
    for i in range(1, len(ranked) + 1):
        hits = _count(ranked[:i], rel)
        recall_here = hits / total
        terms.append(hits / i * (recall_here - recall_before))
        recall_before = recall_here
    return math.fsum(terms)


def rr(
    docs: list[Doc],
    *,
    k: int | None = None,
    rel: float = 1,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the reciprocal rank of the first relevant doc within k, else 0."""
    if _count(docs, rel) == 0:
        return _nothing(no_relevant)
    for i, doc in enumerate(order(docs, ties)[:k], start=1):
        if _relevant(doc, rel):
            return 1.0 / i
    return 0.0


# --- gain metrics --------------------------------------------------------------------


def cg(
    docs: list[Doc],
    *,
    k: int | None = None,
    gain: Gain = "linear",
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the sum of the gains of the first k."""
    if not any(_gain(d, gain) > 0 for d in docs):
        return _nothing(no_relevant)
    return math.fsum(_gain(d, gain) for d in order(docs, ties)[:k])


def dcg(
    docs: list[Doc],
    *,
    k: int | None = None,
    gain: Gain = "linear",
    discount: Discount = "log2",
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return the sum of the discounted gains of the first k."""
    if not any(_gain(d, gain) > 0 for d in docs):
        return _nothing(no_relevant)
    return _discounted([_gain(d, gain) for d in order(docs, ties)[:k]], discount)


def ndcg(
    docs: list[Doc],
    *,
    k: int | None = None,
    gain: Gain = "linear",
    discount: Discount = "log2",
    ideal: str = "judged",
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return dcg divided by the dcg of the ideal order."""
    gains = [_gain(d, gain) for d in _ideal_pool(docs, ideal)]
    best_gains = sorted((g for g in gains if g > 0), reverse=True)
    best = _discounted(best_gains[:k], discount)
    if best == 0:
        return _nothing(no_relevant)
    return dcg(docs, k=k, gain=gain, discount=discount, ties=ties) / best


def _top_grade(docs: list[Doc], max_grade: float | str) -> float:
    """Return the highest possible grade; raise if a label is above it."""
    top = max((d.label for d in docs if d.label is not None), default=0.0)
    if max_grade == "query":
        return top
    if isinstance(max_grade, str):
        raise ValueError(f"unknown max_grade: {max_grade!r}")
    if top > max_grade:
        raise ValueError(f"label {top} exceeds max_grade {max_grade}")
    return max_grade


def _cascade(ranked: list[Doc], top: float) -> float:
    """Return the expected reciprocal rank at which a user stops."""
    terms = []
    still_looking = 1.0
    for i, doc in enumerate(ranked, start=1):
        g = _grade(doc)
        stop = (2.0**g - 1.0) / 2.0**top if g > 0 else 0.0
        terms.append(still_looking * stop / i)
        still_looking *= 1.0 - stop
    return math.fsum(terms)


def err(
    docs: list[Doc],
    *,
    k: int | None = None,
    max_grade: float | str = 4,
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return expected reciprocal rank."""
    top = _top_grade(docs, max_grade)
    if not any(_grade(d) > 0 for d in docs):
        return _nothing(no_relevant)
    return _cascade(order(docs, ties)[:k], top)


def nerr(
    docs: list[Doc],
    *,
    k: int | None = None,
    max_grade: float | str = 4,
    ideal: str = "judged",
    ties: str = "order",
    no_relevant: str = "zero",
) -> float | None:
    """Return err divided by the err of the ideal order."""
    top = _top_grade(docs, max_grade)
    pool = _ideal_pool(docs, ideal)
    best_order = sorted(pool, key=lambda d: d.label, reverse=True)
    best = _cascade(best_order[:k], top)
    if best == 0:
        return _nothing(no_relevant)
    return _cascade(order(docs, ties)[:k], top) / best


# --- agreement of score and label ----------------------------------------------------


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


# --- losses --------------------------------------------------------------------------


def squared_error(
    docs: list[Doc], k: int | None = None, ties: str = "order"
) -> float | None:
    """Return the mean squared score-label difference of the judged in the first k."""
    judged = [d for d in order(docs, ties)[:k] if d.label is not None]
    if not judged:
        return None
    return math.fsum((d.score - d.label) ** 2 for d in judged) / len(judged)


def hinge(docs: list[Doc], k: int | None = None, ties: str = "order") -> float | None:
    """Return the mean hinge loss over pairs of unequal labels in the first k."""
    judged = [d for d in order(docs, ties)[:k] if d.label is not None]
    losses = []
    for a in judged:
        for b in judged:
            if a.label > b.label:
                losses.append(max(0.0, 1.0 - (a.score - b.score)))
    if not losses:
        return None
    return math.fsum(losses) / len(losses)


def listmle(docs: list[Doc], k: int | None = None) -> float | None:
    """Return the negative log likelihood of the label order's first k positions.

    Equal labels stand in descending order of score.
    """
    both = [d for d in docs if d.score is not None and d.label is not None]
    if not both:
        return None
    best_order = sorted(both, key=lambda d: (-d.label, -d.score))
    scores = [d.score for d in best_order]
    terms = []
    for i in range(len(scores) if k is None else min(k, len(scores))):
        top = max(scores[i:])
        total = math.fsum(math.exp(s - top) for s in scores[i:])
        terms.append(math.log(total) + (top - scores[i]))
    return math.fsum(terms)


METRICS: dict[str, Metric] = {
    "accuracy": accuracy,
    "precision": precision,
    "recall": recall,
    "f1": f1,
    "ap": ap,
    "rr": rr,
    "cg": cg,
    "dcg": dcg,
    "ndcg": ndcg,
    "err": err,
    "nerr": nerr,
    "kendall_distance": kendall_distance,
    "spearman": spearman,
    "squared_error": squared_error,
    "hinge": hinge,
    "listmle": listmle,
}


# --- random queries ------------------------------------------------------------------

DESIGNED = (
    "no_judgements",
    "one_document",
    "nothing_relevant",
    "all_relevant",
    "many_documents",
    "all_tied",
    "all_unretrieved",
)


def random_queries(
    seed: int, n_queries: int, max_docs: int = 30
) -> dict[str, list[Doc]]:
    """Return seeded queries: those named in DESIGNED first, then "q7", "q8" and so on.

    Only "many_documents" (300 docs) is larger than `max_docs`.
    """
    if n_queries < len(DESIGNED):
        raise ValueError(f"n_queries must be at least {len(DESIGNED)}")
    if max_docs < 2:
        raise ValueError("max_docs must be at least 2")
    rng = random.Random(seed)
    queries = {}
    for i in range(n_queries):
        name = DESIGNED[i] if i < len(DESIGNED) else f"q{i}"
        queries[name] = _random_query(rng, name, max_docs, quarters=i % 2 == 0)
    return queries


def _random_query(
    rng: random.Random, name: str, max_docs: int, *, quarters: bool
) -> list[Doc]:
    """Return one query, of the kind that its name says."""
    n = rng.randint(2 if name in DESIGNED else 1, max_docs)
    if name == "one_document":
        n = 1
    elif name == "many_documents":
        n = 300
    tied = _random_score(rng, quarters)
    docs = []
    for j, number in enumerate(rng.sample(range(10 * n + 10), n)):
        score = _random_score(rng, quarters)
        label = float(rng.randint(-1, 4)) if rng.random() < 0.75 else None
        missing = label is not None and rng.random() < 0.2
        if name == "no_judgements":
            label, missing = None, False
        elif name == "one_document":
            label, missing = float(rng.randint(1, 4)), False
        elif name == "nothing_relevant":
            label = float(rng.randint(-1, 0)) if label is not None or j == 0 else None
        elif name == "all_relevant":
            label = float(rng.randint(1, 4))
        elif name == "all_tied":
            score, missing = tied, False
        elif name == "all_unretrieved":
            label = float(rng.randint(-1, 4)) if j else float(rng.randint(1, 4))
            missing = True
        if j == 0 and name != "all_unretrieved":
            missing = False  # something is always retrieved
        docs.append(Doc(f"d{number}", None if missing else score, label))
    rng.shuffle(docs)
    return docs


def _random_score(rng: random.Random, quarters: bool) -> float:
    """Return a Gaussian score, or one rounded to quarters (which may give -0.0)."""
    score = rng.gauss(0.0, 1.0)
    return round(score * 4.0, 0) / 4.0 if quarters else score
