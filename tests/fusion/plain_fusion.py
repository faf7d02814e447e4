"""Fusion as plain loops, written from the definitions; it shares no code."""

from __future__ import annotations

import math
import random
import statistics

import polars as pl


def order(scores):
    """Best first; of equal scores the larger document id, as text."""
    return sorted(scores, key=lambda doc: (scores[doc], str(doc)), reverse=True)


def ranks_of(scores):
    return {doc: place for place, doc in enumerate(order(scores), start=1)}


def normalized(lists, norm):
    """The scores of each list on one scale; of ``borda``, for all candidates."""
    candidates = {doc for scores in lists for doc in scores}
    found = []
    for scores in lists:
        values, n, rank = list(scores.values()), len(scores), ranks_of(scores)
        if norm == "borda":
            c = len(candidates)
            unseen = 0.5 - (n - 1) / (2 * c)
            found.append(
                {d: 1 - (rank[d] - 1) / c if d in rank else unseen for d in candidates}
            )
            continue
        if not scores:
            found.append({})
            continue
        low, high, total = min(values), max(values), math.fsum(values)
        mean = total / n
        sd = math.sqrt(math.fsum((v - mean) ** 2 for v in values) / n)
        formula = {
            "none": lambda d, s: s,
            "min_max": lambda d, s, a=low, b=high: (s - a) / max(b - a, 1e-9),
            "min_max_inverted": lambda d, s, a=low, b=high: (b - s) / max(b - a, 1e-9),
            "max": lambda d, s, b=high: s / max(b, 1e-9),
            "sum": lambda d, s, a=low, t=total, n=n: (s - a) / max(t - n * a, 1e-9),
            "zmuv": lambda d, s, m=mean, e=sd: (s - m) / max(e, 1e-9),
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
    points = dict.fromkeys(candidates, 0.0)
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
    return math.fsum(value for _, value in terms)


def squares(terms):
    return math.fsum(1 / rank**2 for _, rank in terms)


LOOPS = {
    "sum": of_scores(lambda t: math.fsum(w * s for w, s in t)),
    "max": of_scores(lambda t: max(s for _, s in t)),
    "min": of_scores(lambda t: min(s for _, s in t)),
    "median": of_scores(lambda t: statistics.median(s for _, s in t)),
    "mean": of_scores(lambda t: total(t) / len(t)),
    "mnz": of_scores(lambda t: total(t) * math.fsum(w for w, _ in t)),
    "gmnz": of_scores(lambda t, gamma: total(t) * len(t) ** gamma),
    "mixed": of_scores(lambda t: math.fsum(w * s for w, s in t) * math.sqrt(len(t))),
    "rrf": of_ranks(lambda t, k=60: math.fsum(w / (k + r) for w, r in t)),
    "isr": of_ranks(lambda t: len(t) * squares(t)),
    "log_isr": of_ranks(lambda t: math.log(len(t)) * squares(t)),
    "logn_isr": of_ranks(lambda t, sigma=0.01: math.log(len(t) + sigma) * squares(t)),
    "rbc": of_ranks(lambda t, phi: math.fsum((1 - phi) * phi ** (r - 1) for _, r in t)),
    "borda": borda,
    "condorcet": condorcet,
}
VARIANTS = {
    "gmnz": [{"gamma": 0.5}, {"gamma": 2}],
    "rrf": [{}, {"k": 10}, {"k": 0}],
    "logn_isr": [{}, {"sigma": 0.5}],
    "rbc": [{"phi": 0.8}],
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
