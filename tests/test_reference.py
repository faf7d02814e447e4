"""Seeded random data against plain loops, in every context and on both engines."""

from __future__ import annotations

import math
from itertools import groupby

import polars as pl
import pytest
from reference import METRICS as LOOPS
from reference import Doc, expected, random_queries
from variants import variants

import polars_rank as pr
from polars_rank.metrics import METRICS

# Rules for ties, engines and variants take turns. For each rule: the engine, and which
# of a metric's variants the dearer contexts try, by number modulo 4 (the first variant,
# no parameter, is always tried). So a metric meets every rule, a variant two rules, one
# on each engine. Every other metric swaps the engines, so that a rule meets both.
TURNS = {
    "order": ("in-memory", {0}),
    "doc_desc": ("streaming", {0, 1}),
    "doc_asc": ("in-memory", {1, 2}),
    "optimistic": ("streaming", {2, 3}),
    "pessimistic": ("in-memory", {3}),
}
# Where ties can change nothing two rules do, one on each engine.
UNTIED = {"doc_desc": ("streaming", {1, 3}), "pessimistic": ("in-memory", {0, 2})}
OTHER = {"in-memory": "streaming", "streaming": "in-memory"}


def turns(name: str) -> dict[str, tuple[str, set[int]]]:
    """The rules of a metric, with engine and share."""
    table = TURNS if METRICS[name].tie_sensitive else UNTIED
    if list(METRICS).index(name) % 2 == 0:
        return table
    return {ties: (OTHER[engine], share) for ties, (engine, share) in table.items()}


EVERY_TURN = pytest.mark.parametrize(
    ("name", "ties", "engine", "share"),
    [
        pytest.param(name, ties, engine, share, id=f"{name}-{ties}-{engine}")
        for name in METRICS
        for ties, (engine, share) in turns(name).items()
    ],
)


def frames(queries: dict[str, list[Doc]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    schema = {"query_id": pl.String, "doc_id": pl.String}
    run = [(q, d.id, d.score) for q, docs in queries.items() for d in docs]
    judged = [(q, d.id, d.label) for q, docs in queries.items() for d in docs]
    return (
        pl.DataFrame(run, schema=schema | {"score": pl.Float64}, orient="row"),
        pl.DataFrame(judged, schema=schema | {"label": pl.Float64}, orient="row"),
    )


def same(found: float | None, wanted: float | None) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return math.isclose(found, wanted, rel_tol=1e-12, abs_tol=1e-13)


def compare(found: pl.DataFrame, wanted: dict[str, dict[str, float | None]]) -> None:
    values = {row["query_id"]: row for row in found.iter_rows(named=True)}
    assert values.keys() == wanted.keys()
    wrong = [
        (query, name, values[query][name], value)
        for query, named in wanted.items()
        for name, value in named.items()
        if not same(values[query][name], value)
    ]
    assert not wrong, wrong[:5]


def measures_of(name: str) -> dict[str, dict]:
    """A column for each of the metric's variants."""
    return {f"v{i}": params for i, params in enumerate(variants(name))}


def loops(name: str, docs: list[Doc], params: dict, ties: str, **more) -> float | None:
    rule = {"ties": ties} if METRICS[name].tie_sensitive else {}
    return LOOPS[name](docs, **params, **rule, **more)


@EVERY_TURN
def test_run_and_judgments(name, ties, engine, share):
    queries = random_queries(7, 40)
    run, qrels = frames(queries)
    judged = {
        q: ds for q, ds in queries.items() if any(d.label is not None for d in ds)
    }
    measures = measures_of(name)
    found = pr.per_query(
        run.drop_nulls().lazy(),
        [
            pr.measure(name, name=column, **params)
            for column, params in measures.items()
        ],
        qrels=qrels.drop_nulls().sample(fraction=1, shuffle=True, seed=1).lazy(),
        convention=pr.CONVENTIONS["trec_eval"].replace(ties=ties),
    )
    compare(
        found.collect(engine=engine),
        {
            q: {c: loops(name, ds, params, ties) for c, params in measures.items()}
            for q, ds in judged.items()
        },
    )


@EVERY_TURN
def test_one_frame_and_expression(name, ties, engine, share):
    """A frame of floats with all variants; what is dearer, or near to it, with fewer.

    Integers matter where rows are dropped by their grade; ``over`` is ``agg`` but for
    what Polars makes of it.
    """
    retrieved = {
        q: [d for d in docs if d.score is not None]
        for q, docs in random_queries(8, 40).items()
    }
    retrieved = {q: docs for q, docs in retrieved.items() if docs}
    run, qrels = frames(retrieved)
    log = run.with_columns(qrels["label"]).lazy()
    every = measures_of(name)
    some = {c: p for i, (c, p) in enumerate(every.items()) if not i or i % 4 in share}
    wanted = {
        q: {c: loops(name, ds, params, ties) for c, params in every.items()}
        for q, ds in retrieved.items()
    }

    def wanted_of(columns: dict[str, dict]) -> dict[str, dict[str, float | None]]:
        return {q: {c: row[c] for c in columns} for q, row in wanted.items()}

    def by_frame(log: pl.LazyFrame, measures: dict[str, dict]) -> pl.DataFrame:
        asked = [pr.measure(name, name=c, **params) for c, params in measures.items()]
        convention = pr.CONVENTIONS["trec_eval"].replace(ties=ties)
        found = pr.per_query(log, asked, convention=convention)
        return found.collect(engine=engine)

    compare(by_frame(log, every), wanted)
    if METRICS[name].depends_on == "relevant":
        integers = log.with_columns(pl.col("label").cast(pl.Int8))
        compare(by_frame(integers, some), wanted_of(some))
    method = getattr(pl.col("label").rank_eval, name)
    rule = {"doc": "doc_id", "ties": ties} if METRICS[name].tie_sensitive else {}
    values = [method("score", **params, **rule).alias(c) for c, params in some.items()]
    by_agg = log.group_by("query_id").agg(values)
    compare(by_agg.collect(engine=engine), wanted_of(some))
    by_over = log.select("query_id", values[0].over("query_id")).unique()
    compare(by_over.collect(engine=engine), wanted_of({"v0": {}}))


EXPECTED = [name for name, m in METRICS.items() if m.tie_mean and m.tie_sensitive]


@pytest.mark.parametrize("name", EXPECTED)
def test_expected_ties_are_the_mean_over_all_orders(name, collect):
    """Brute force: every permutation of every block of tied documents."""
    queries = {
        q: docs
        for seed in (3, 4)
        for q, docs in random_queries(seed, 60, max_docs=9).items()
        if 0 < orders(docs) <= 800
    }
    run, qrels = frames(queries)
    judged = {
        q: ds for q, ds in queries.items() if any(d.label is not None for d in ds)
    }
    measures = {
        f"v{i}": params
        for i, params in enumerate(variants(name))
        if METRICS[name].has_tie_mean(params)
    }
    found = pr.per_query(
        run.drop_nulls().lazy(),
        [pr.measure(name, name=c, **params) for c, params in measures.items()],
        qrels=qrels.drop_nulls().lazy(),
        convention=pr.CONVENTIONS["trec_eval"].replace(ties="expected"),
    )
    loop = LOOPS[name]
    wanted = {
        q: {c: expected(loop, docs, **params) for c, params in measures.items()}
        for q, docs in judged.items()
    }
    assert sum(orders(docs) > 1 for docs in judged.values()) >= 10
    compare(collect(found), wanted)


def orders(docs: list[Doc]) -> int:
    scores = sorted(d.score for d in docs if d.score is not None)
    return math.prod(math.factorial(len(list(g))) for _, g in groupby(scores))


@pytest.mark.parametrize("name", ["cg", "dcg", "ndcg"])
def test_grades_below_rel_gain_nothing(name, collect):
    queries = random_queries(9, 30)
    lowered = {
        q: [
            Doc(d.id, d.score, 0.0 if d.label is not None and d.label < 2 else d.label)
            for d in docs
        ]
        for q, docs in queries.items()
    }
    run, qrels = frames(queries)
    found = pr.per_query(
        run.drop_nulls().lazy(),
        [pr.measure(name, name="v", rel=2, gain="exp2", k=5)],
        qrels=qrels.drop_nulls().lazy(),
    )
    wanted = {
        q: {"v": loops(name, docs, {"gain": "exp2", "k": 5}, "doc_desc")}
        for q, docs in lowered.items()
        if any(d.label is not None for d in docs)
    }
    compare(collect(found), wanted)


@pytest.mark.parametrize(
    "dtype", [pl.Int8, pl.UInt64, pl.String, pl.Categorical, pl.Enum], ids=str
)
def test_id_types(dtype, collect):
    """Ids of every type give the values of text ids; documents compare as text."""
    queries = {
        str(i): [Doc(str(n), d.score, d.label) for n, d in enumerate(docs)]
        for i, docs in enumerate(random_queries(5, 30).values())
        if len(docs) < 100
    }
    run, qrels = frames(queries)
    wanted = {
        q: {name: LOOPS[name](docs, k=5, ties="doc_desc") for name in ("ndcg", "ap")}
        for q, docs in queries.items()
        if any(d.label is not None for d in docs)
    }
    if dtype is pl.Enum:
        dtype = pl.Enum([str(i) for i in range(200)])
    ids = pl.col("query_id", "doc_id").cast(dtype)
    found = pr.per_query(
        run.drop_nulls().with_columns(ids).lazy(),
        [pr.measure("ndcg", name="ndcg", k=5), pr.measure("ap", name="ap", k=5)],
        qrels=qrels.drop_nulls().with_columns(ids).lazy(),
    )
    assert found.collect_schema()["query_id"] == dtype
    compare(collect(found.with_columns(pl.col("query_id").cast(pl.String))), wanted)
