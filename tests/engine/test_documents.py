"""Formulas see a query's documents and nothing else, whatever the plan."""

from __future__ import annotations

import math
from itertools import product

import polars as pl
import pytest
from reference import METRICS as LOOPS
from reference import Doc, random_queries
from slow import slow
from variants import variants
from vocabularies import METRICS

import polars_rank as pr

# Words of the vocabulary, each seen by counts and by both ends of the list.
WORDS = {
    "label": lambda r: r.label,
    "rank": lambda r: r.rank,
    "place": lambda r: r.place,
    "ideal_label": lambda r: r.ideal_label,
    "grade": lambda r: r.grade,
    "relevant": lambda r: r.relevant().cast(pl.Float64),
    "nonrelevant": lambda r: r.nonrelevant().cast(pl.Float64),
    "worth": lambda r: r.gain("exp2"),
    "sorted_worth": lambda r: r.ideal_gain("exp2"),
    "within": lambda r: r.in_top(2).cast(pl.Float64),
    "hits": lambda r: r.cumulative_hits(),
    "relevant_hits": lambda r: r.relevant_hits(),
    "first": lambda r: r.is_first_relevant(),
    "gathered": lambda r: r.cumulative_gain(r.gain()),
    "unstopped": lambda r: r.reach_probability(r.normalized_grade(0, 4)),
}
VIEWS = {
    "len": lambda word: word.len(),
    "nulls": lambda word: word.null_count(),
    "mean": lambda word: word.mean(),
    "sum": lambda word: word.sum(),
    "first": lambda word: word.first(),
    "last": lambda word: word.last(),
}
OWN = {
    f"{word} {view}": (lambda r, w=w, v=v: v(w(r)))
    for word, w in WORDS.items()
    for view, v in VIEWS.items()
}


def listed(docs: list[Doc]) -> dict[str, list[float | None]]:
    """The words of one query, by plain loops: the run's order, then the others."""
    ranked = sorted(
        (d for d in docs if d.score is not None), key=lambda d: (d.score, d.id)
    )[::-1]
    rest = [d for d in docs if d.score is None]
    rest.sort(key=lambda d: -math.inf if d.label is None else d.label, reverse=True)
    row = [*ranked, *rest]
    labels = [d.label for d in row]
    grades = [max(label or 0.0, 0.0) for label in labels]
    ranks = [i if d.score is not None else None for i, d in enumerate(row, 1)]
    ideal = sorted((x for x in labels if x is not None), reverse=True)
    ideal += [None] * (len(labels) - len(ideal))
    relevant = [float(label is not None and label >= 1) for label in labels]
    hits = [sum(relevant[: i + 1]) for i in range(len(row))]
    worth = [2.0**g - 1 for g in grades]
    reach = [math.prod(1 - g / 4 for g in grades[:i]) for i in range(len(row))]
    return {
        "label": labels,
        "rank": ranks,
        "place": list(range(1, len(row) + 1)),
        "ideal_label": ideal,
        "grade": grades,
        "relevant": relevant,
        "nonrelevant": [float(x is not None and 0 <= x < 1) for x in labels],
        "worth": worth,
        "sorted_worth": sorted(worth, reverse=True),
        "within": [float(rank is not None and rank <= 2) for rank in ranks],
        "hits": hits,
        "relevant_hits": [h * one for h, one in zip(hits, relevant, strict=True)],
        "first": [
            float(one == 1 and h == 1) for h, one in zip(hits, relevant, strict=True)
        ],
        "gathered": [sum(grades[: i + 1]) for i in range(len(row))],
        "unstopped": reach,
    }


def viewed(word: list[float | None]) -> dict[str, float | None]:
    some = [value for value in word if value is not None]
    return {
        "len": len(word),
        "nulls": len(word) - len(some),
        "mean": sum(some) / len(some) if some else None,
        "sum": sum(some),
        "first": word[0],
        "last": word[-1],
    }


QUERIES = {
    query: docs
    for query, docs in random_queries(11, 60, max_docs=9).items()
    if any(d.label is not None for d in docs)
}


def tables(label: pl.DataType, queries: dict[str, list[Doc]]):
    rows = [(q, d.id, d.score, d.label) for q, docs in queries.items() for d in docs]
    schema = {"query_id": pl.String, "doc_id": pl.String}
    schema |= {"score": pl.Float64, "label": pl.Float64}
    both = pl.DataFrame(rows, schema=schema, orient="row")
    both = both.with_columns(pl.col("label").cast(label))
    return both.drop("label").drop_nulls(), both.drop("score").drop_nulls()


WAYS = [
    ("DataFrame", ""),
    *product(("auto", "any", "contiguous"), ("in-memory", "streaming")),
]


def paths(run: pl.DataFrame, qrels: pl.DataFrame, measures, ways=WAYS):
    for layout, engine in ways:
        if layout == "DataFrame":
            found = pr.per_query(run, measures, qrels=qrels)
        else:
            lazy, judged = run.lazy(), qrels.lazy()
            plan = pr.per_query(lazy, measures, qrels=judged, layout=layout)
            found = plan.collect(engine=engine)
        yield f"{layout} {engine}", found


def wrong_values(found: pl.DataFrame, wanted: dict[str, dict[str, float | None]]):
    rows = {row["query_id"]: row for row in found.iter_rows(named=True)}
    assert rows.keys() == wanted.keys()
    return [
        (query, name, rows[query][name], value)
        for query, values in wanted.items()
        for name, value in values.items()
        if (rows[query][name] is None) != (value is None)
        or (
            value is not None
            and not math.isclose(rows[query][name], value, rel_tol=1e-12, abs_tol=1e-13)
        )
    ]


@pytest.mark.parametrize(
    ("label", "ways"),
    [
        (pl.Int64, WAYS[::3]),
        (pl.Int8, WAYS[1::3]),
        (pl.Float64, WAYS[2::3]),
        *(slow(label, WAYS) for label in (pl.Int64, pl.Int8, pl.Float64)),
    ],
    ids=str,
)
def test_own_measures(label, ways):
    run, qrels = tables(label, QUERIES)
    wanted = {
        query: {
            f"{word} {view}": value
            for word, values in listed(docs).items()
            for view, value in viewed(values).items()
        }
        for query, docs in QUERIES.items()
        if any(d.label is not None for d in docs)
    }
    # An unjudged document that was not retrieved is in no table.
    for name, found in paths(run, qrels, OWN, ways):
        assert not (wrong := wrong_values(found, wanted)), (name, wrong[:5])


TOGETHER = 100  # measures in one plan: the time to plan grows faster than their number


@pytest.mark.parametrize("label", [pl.Int64, slow(pl.Float64)], ids=str)
@pytest.mark.parametrize("most", [1, slow(None)], ids=["metrics", "variants"])
def test_every_measure(label, most):
    """All in one plan, with integer and float labels, and each way to collect.

    The layouts and engines are shared among the two kinds of labels, and the variants.
    """
    ways = WAYS[0 if label == pl.Int64 else 2 :: 4 if most else 6]
    run, qrels = tables(label, QUERIES)
    turn = slice(most) if most else slice(label == pl.Float64, None, 2)
    tried = {m: variants(m)[turn] for m in METRICS}
    params = {f"{m} {i}": (m, p) for m in METRICS for i, p in enumerate(tried[m])}
    measures = [pr.measure(m, name=name, **p) for name, (m, p) in params.items()]
    wanted = {
        query: {
            name: LOOPS[m](
                docs, **p, **({"ties": "doc_desc"} if METRICS[m].tie_sensitive else {})
            )
            for name, (m, p) in params.items()
        }
        for query, docs in QUERIES.items()
    }
    for start in range(0, len(measures), TOGETHER):
        some = measures[start : start + TOGETHER]
        names = {m.name for m in some}
        values = {q: {n: v[n] for n in names} for q, v in wanted.items()}
        for name, found in paths(run, qrels, some, ways):
            assert not (wrong := wrong_values(found, values)), (name, wrong[:5])


@pytest.mark.parametrize("others", [[], ["num_q"], ["squared_error"]], ids=str)
def test_hits_are_of_documents(others):
    """NCU,rb sums over running hits: heads and pools are none (Sakai's NCUrb,P)."""
    run = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2.0, 1.0]})
    qrels = pl.DataFrame(
        {"query_id": [1] * 3, "doc_id": ["a", "y", "z"], "label": [1, 1, 1]}
    )
    docs = [Doc("a", 2.0, 1.0), Doc("b", 1.0, None)]
    docs += [Doc("y", None, 1.0), Doc("z", None, 1.0)]
    wanted = LOOPS["ncu_rb"](docs)
    for name, found in paths(run, qrels, ["ncu_rb", *others]):
        assert found["ncu_rb"].item() == pytest.approx(wanted, rel=1e-12), name
