"""Fusion as plain loops, written from the definitions; it shares no code.

Given scores and weights as fractions, the values are exact.
"""

from __future__ import annotations

import math
import random
import statistics
from fractions import Fraction

import polars as pl

FLOOR = Fraction(1, 10**9)


def order(scores):
    """Best first; of equal scores the larger document id, as text."""
    return sorted(scores, key=lambda doc: (scores[doc], str(doc)), reverse=True)


def ranks_of(scores):
    number = Fraction if are_exact(scores.values()) else int
    return {doc: number(place) for place, doc in enumerate(order(scores), start=1)}


def are_exact(values):
    return any(isinstance(value, Fraction) for value in values)


def add(values):
    values = [*values]
    return sum(values) if are_exact(values) else math.fsum(values)


def normalized(lists, norm):
    """The scores of each list on one scale; of ``borda``, for all candidates."""
    candidates = {doc for scores in lists for doc in scores}
    number = Fraction if any(are_exact(s.values()) for s in lists) else int
    found = []
    for scores in lists:
        values, n, rank = list(scores.values()), len(scores), ranks_of(scores)
        if norm == "borda":
            c = number(len(candidates))
            unseen = (c - n + 1) / (2 * c)
            found.append(
                {d: 1 - (rank[d] - 1) / c if d in rank else unseen for d in candidates}
            )
            continue
        if not scores:
            found.append({})
            continue
        low, high, total = min(values), max(values), add(values)
        mean = total / n
        sd = math.sqrt(add((v - mean) ** 2 for v in values) / n)
        formula = {
            "none": lambda d, s: s,
            "min_max": lambda d, s, a=low, b=high: (s - a) / max(b - a, FLOOR),
            "min_max_inverted": lambda d, s, a=low, b=high: (b - s) / max(b - a, FLOOR),
            "max": lambda d, s, b=high: s / max(b, FLOOR),
            "sum": lambda d, s, a=low, t=total, n=n: (s - a) / max(t - n * a, FLOOR),
            "zmuv": lambda d, s, m=mean, e=sd: (s - m) / max(e, FLOOR),
            "rank": lambda d, s, r=rank, n=n: 1 - (r[d] - 1) / n,
        }[norm]
        found.append({doc: formula(doc, score) for doc, score in scores.items()})
    return found


def of_scores(combine):
    def fuse(lists, norm, weights, **parameters):
        scaled = normalized(lists, norm)
        candidates = {doc for scores in scaled for doc in scores}
        return {
            doc: combine(
                [(w, s[doc]) for w, s in zip(weights, scaled, strict=True) if doc in s],
                **parameters,
            )
            for doc in candidates
        }

    return fuse


def of_ranks(combine):
    def fuse(lists, norm, weights, **parameters):
        ranks = [ranks_of(scores) for scores in lists]
        candidates = {doc for scores in lists for doc in scores}
        return {
            doc: combine(
                [(w, r[doc]) for w, r in zip(weights, ranks, strict=True) if doc in r],
                **parameters,
            )
            for doc in candidates
        }

    return fuse


def borda(lists, norm, weights):
    ranks = [ranks_of(scores) for scores in lists]
    candidates = {doc for scores in lists for doc in scores}
    c = len(candidates)
    points = dict.fromkeys(candidates, 0)
    for weight, rank in zip(weights, ranks, strict=True):
        left = c - len(rank)
        for doc in candidates:
            if doc in rank:
                points[doc] += weight * (c - rank[doc] + 1)
            else:  # the mean of the points 1 ... left
                points[doc] += weight * sum(range(1, left + 1)) / left
    return points


def condorcet(lists, norm, weights):
    """Copeland's wins minus losses, then Borda's points: as one number."""
    ranks = [ranks_of(scores) for scores in lists]
    points = borda(lists, norm, weights)
    values = {}
    for a in points:
        count = 0
        for b in points:
            votes = 0.0
            for weight, rank in zip(weights, ranks, strict=True):
                if a in rank and (b not in rank or rank[a] < rank[b]):
                    votes += weight
                elif b in rank and (a not in rank or rank[b] < rank[a]):
                    votes -= weight
            if a != b and abs(votes) > 1e-9:
                count += 1 if votes > 0 else -1
        values[a] = count + points[a] / (sum(weights) * (len(points) + 1))
    return values


def total(terms):
    return add(value for _, value in terms)


def squares(terms):
    return add(1 / rank**2 for _, rank in terms)


LOOPS = {
    "sum": of_scores(lambda t: add(w * s for w, s in t)),
    "max": of_scores(lambda t: max(s for _, s in t)),
    "min": of_scores(lambda t: min(s for _, s in t)),
    "median": of_scores(lambda t: statistics.median(s for _, s in t)),
    "mean": of_scores(lambda t: total(t) / len(t)),
    "mnz": of_scores(lambda t: total(t) * add(w for w, _ in t)),
    "gmnz": of_scores(lambda t, gamma: total(t) * len(t) ** gamma),
    "mixed": of_scores(lambda t: add(w * s for w, s in t) * math.sqrt(len(t))),
    "rrf": of_ranks(lambda t, k=60: add(w / (k + r) for w, r in t)),
    "isr": of_ranks(lambda t: len(t) * squares(t)),
    "log_isr": of_ranks(lambda t: math.log(len(t)) * squares(t)),
    "logn_isr": of_ranks(lambda t, sigma=0.01: math.log(len(t) + sigma) * squares(t)),
    "rbc": of_ranks(lambda t, phi: add((1 - phi) * phi ** (r - 1) for _, r in t)),
    "borda": borda,
    "condorcet": condorcet,
}
VARIANTS = {
    "gmnz": [{"gamma": 0.5}, {"gamma": 2}],
    "rrf": [{}, {"k": 10}, {"k": 0}],
    "logn_isr": [{}, {"sigma": 0.5}],
    "rbc": [{"phi": 0.8}],
}


# -- methods that learn


def learned(run, train, method, **parameters):
    """The facts about one run: a mean, or the worth of places."""
    queries = {query for query, docs in train.items() if docs}
    lists = {
        q: [train[q].get(doc, 0) >= 1 for doc in order(run[q])] if q in run else []
        for q in queries
    }
    if method == "mapfuse":
        precisions = []
        for query, hits in lists.items():
            relevant = sum(label >= 1 for label in train[query].values())
            found = [sum(hits[: i + 1]) / (i + 1) for i, hit in enumerate(hits) if hit]
            precisions.append(sum(found) / relevant if relevant else 0.0)
        return sum(precisions) / len(precisions)
    if method in ("posfuse", "slidefuse"):
        worth = []
        for i in range(max(map(len, lists.values()), default=0)):
            there = [hits[i] for hits in lists.values() if len(hits) > i]
            worth.append(sum(there) / len(there))
        return worth
    if method == "probfuse":
        x = parameters["n_segments"]
        worth = [0.0] * x
        for hits in lists.values():
            size = math.ceil(len(hits) / x)
            for k in range(x):
                part = hits[k * size : (k + 1) * size]
                worth[k] += sum(part) / len(part) / len(lists) if part else 0.0
        return worth
    ends = [0, 5, 10, 15, 20, 30, 100, 200, 500, 1000]
    if method == "segfuse":
        ends = [0, 5, 15, 35, 75, 155, 315, 635, 1275, 2555, 5115]
    worth = []
    for k in range(len(ends) - 1):
        a, b = ends[k], ends[k + 1]
        shares = [sum(hits[a:b]) / (b - a) for hits in lists.values()]
        worth.append((b, sum(shares) / len(shares)))
    return worth


def term(method, worth, rank, score, length, parameters):
    """What one run says of a document; None where it lacks it."""
    if method == "mapfuse":
        return worth / rank
    if method == "posfuse":
        return worth[rank - 1] if rank <= len(worth) else 0.0
    if method == "slidefuse":
        w = parameters["w"]
        a, b = max(rank - 1 - w, 0), min(rank - 1 + w, length - 1)
        return sum(worth[a : b + 1]) / (b - a + 1)
    if method == "probfuse":
        k = (rank - 1) // math.ceil(length / parameters["n_segments"])
        return worth[k] / (k + 1)
    share = next((p for end, p in worth if rank <= end), None)
    if method == "segfuse":
        return 0.0 if share is None else share * (score + 1)
    if share is None:
        return math.log(0.001 / 0.999)
    return math.log((share or 0.001) / ((1 - (share or 0.001)) or 0.001))


def trained_by_loops(runs, method, train, *, norm="min_max", **parameters):
    facts = [learned(run, train, method, **parameters) for run in runs.values()]
    found = {}
    for query in {query for run in runs.values() for query in run}:
        lists = [run.get(query, {}) for run in runs.values()]
        scaled = normalized(lists, norm) if method == "segfuse" else lists
        ranks = [ranks_of(scores) for scores in lists]
        for doc in {doc for scores in lists for doc in scores}:
            terms = []
            for worth, rank_of, scale in zip(facts, ranks, scaled, strict=True):
                if doc in rank_of:
                    rank, scores = rank_of[doc], rank_of
                    own = term(method, worth, rank, scale[doc], len(scores), parameters)
                    terms.append(own)
                elif method == "bayesfuse":
                    terms.append(math.log(0.001 / 0.999))
            found[query, doc] = math.fsum(terms)
    return found


TRAINED = {
    "mapfuse": [{}],
    "posfuse": [{}],
    "slidefuse": [{"w": 0}, {"w": 2}, {"w": 50}],
    "probfuse": [{"n_segments": 1}, {"n_segments": 3}, {"n_segments": 30}],
    "segfuse": [{}, {"norm": "zmuv"}],
    "bayesfuse": [{}],
}


def random_runs(seed, *, runs=3, queries=8, documents=9):
    """Runs by name and query: ties, lists of one, queries that a run lacks."""
    draw = random.Random(seed)
    found = {}
    for name in "abcdef"[:runs]:
        found[name] = {}
        for number in range(queries):
            size = draw.choice([0, 1, 3, documents])
            docs = draw.sample([f"d{i}" for i in range(documents)], size)
            if docs:
                found[name][f"q{number}"] = {
                    doc: draw.choice([draw.random() * 9, draw.randint(0, 3)])
                    for doc in docs
                }
    return found


def frame(run, query="query_id", doc="doc_id", score="score"):
    rows = [(q, d, float(s)) for q, docs in run.items() for d, s in docs.items()]
    schema = {query: pl.String, doc: pl.String, score: pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def fused_by_loops(runs, method, *, norm="min_max", weights=None, **parameters):
    """``{(query, document): value}``."""
    queries = {query for run in runs.values() for query in run}
    found = {}
    for query in queries:
        lists = [run.get(query, {}) for run in runs.values()]
        values = LOOPS[method](lists, norm, weights or [1.0] * len(lists), **parameters)
        found |= {(query, doc): value for doc, value in values.items()}
    return found
