"""Values that are equal on paper are equal in the result: against exact fractions.

0.1 + 0.2 is not 0.3 in floating point, nor 1/61 + 1/62 + 1/63 the sum in another order.
Documents with such values tie, and only they do.
"""

from __future__ import annotations

import random
from fractions import Fraction
from itertools import pairwise, product

import polars as pl
import pytest
from plain_fusion import frame, fused_by_loops

from polars_rank import fusion

NORMS = ("none", "min_max", "max", "sum", "rank", "borda")  # zmuv has a root
OF_SCORES = ("sum", "max", "min", "median", "mean", "mnz", "gmnz")
OF_RANKS = ("rrf", "isr", "rbc", "borda", "condorcet")
PARAMETERS = {"gmnz": {"gamma": 2}, "rbc": {"phi": Fraction(4, 5)}}
WEIGHTS = [
    None,
    [Fraction(1, 3)] * 3,
    [Fraction(1, 10), Fraction(2, 10), Fraction(3, 10)],
    [Fraction(7, 10), Fraction(2, 10), Fraction(1, 10)],
    [Fraction(1, 3), Fraction(1, 6), Fraction(1, 2)],
]


def decimal_runs(seed, *, queries=60, documents=12, least=0):
    """Scores of one decimal, so that sums meet often."""
    draw = random.Random(seed)
    ids = [f"d{i}" for i in range(documents)]
    return {
        name: {
            f"q{q}": {
                doc: Fraction(draw.randint(least, 20), 10)
                for doc in draw.sample(ids, draw.choice([1, 3, 6, documents]))
            }
            for q in range(queries)
        }
        for name in "abc"
    }


def require_ties_of_paper(found, exact):
    """Neighbors are equal where the fractions are, else in their order."""
    ties = 0
    rows = found.rows()
    for (query, doc, value), (next_query, other, less) in pairwise(rows):
        if query != next_query:
            continue
        one, two = exact[query, doc], exact[query, other]
        assert isinstance(one, Fraction | int)
        assert (one, doc) > (two, other), (query, doc, other)
        assert (value == less) == (one == two), (query, doc, other, one, two)
        ties += one == two
    return ties


@pytest.mark.parametrize(
    ("method", "norm"),
    [*product(OF_SCORES, NORMS), *((method, None) for method in OF_RANKS)],
)
def test_what_is_equal_on_paper_ties(method, norm):
    runs = decimal_runs(len(method) + len(norm or ""))
    floats = {name: frame(run) for name, run in runs.items()}
    parameters, ties = PARAMETERS.get(method, {}), 0
    for weights in WEIGHTS if fusion.METHODS[method].weighted else [None]:
        exact = fused_by_loops(
            runs,
            method,
            norm=norm or "min_max",
            weights=weights or [Fraction(1)] * 3,
            **parameters,
        )
        options = {} if norm is None else {"norm": norm}
        options |= {name: float(value) for name, value in parameters.items()}
        if weights:
            options["weights"] = [float(weight) for weight in weights]
        ties += require_ties_of_paper(fusion.fuse(floats, method, **options), exact)
    assert ties >= 10


@pytest.mark.parametrize("runs", [2, 3, 4, 7])
def test_the_same_ranks_in_other_runs_tie(runs):
    """Of reciprocal ranks, whose sums differ by where they are rounded, in any run."""
    draw, lists = random.Random(runs), {f"run{r}": {} for r in range(runs)}
    for query in range(60):
        ranks = draw.sample(range(30), runs)
        for r, own in enumerate(lists.values()):
            docs = [f"d{i}" for i in range(28)]
            draw.shuffle(docs)
            placed = sorted([(ranks[r], "x"), (ranks[r - 1], "y")])
            for rank, doc in placed:
                docs.insert(rank, doc)
            own[f"q{query}"] = {doc: Fraction(-i) for i, doc in enumerate(docs)}
    exact = fused_by_loops(lists, "rrf", weights=[Fraction(1)] * runs)
    floats = {name: frame(run) for name, run in lists.items()}
    found = fusion.fuse(floats, "rrf")
    assert require_ties_of_paper(found, exact) >= 60
    pair = found.filter(pl.col("doc_id").is_in(["x", "y"]))
    assert pair["score"].to_list()[::2] == pair["score"].to_list()[1::2]


@pytest.mark.parametrize("norm", ["zmuv", "none"])
def test_scores_that_cancel_tie_at_zero(norm):
    """All lists have the scores -2 to 2, so that both norms are exact on paper."""
    draw = random.Random(3)
    scores = [Fraction(i, 10) for i in range(-20, 21, 5)]
    ids = [f"d{i}" for i in range(len(scores))]
    runs = {
        name: {
            f"q{q}": dict(zip(draw.sample(ids, len(ids)), scores, strict=True))
            for q in range(200)
        }
        for name in "abc"
    }
    exact = fused_by_loops(runs, "sum", norm="none", weights=[Fraction(1)] * 3)
    floats = {name: frame(run) for name, run in runs.items()}
    found = fusion.fuse(floats, "sum", norm=norm)
    assert require_ties_of_paper(found, exact) > 200
    zeros = [value for *key, value in found.rows() if exact[tuple(key)] == 0]
    assert zeros
    assert set(zeros) == {0.0}


def test_evaluations_of_a_fusion_see_the_ties():
    """The score that is returned is the value that ties."""
    lists = {"a": "xzy", "b": "zyx", "c": "yxz"}
    runs = {
        name: pl.DataFrame({"query_id": 1, "doc_id": [*docs], "score": [3.0, 2.0, 1.0]})
        for name, docs in lists.items()
    }
    assert fusion.fuse(runs, "rrf")["score"].n_unique() == 1
