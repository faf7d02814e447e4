"""Seeded random data against plain loops, in every context and on both engines."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from itertools import groupby
from typing import Literal, NamedTuple

import polars as pl
import pytest
from reference import METRICS as LOOPS
from reference import Doc, expected, random_queries
from slow import ENGINES, slow
from variants import variants
from vocabularies import METRICS

import polars_rank as pr

TIES = ("order", "doc_desc", "doc_asc", "optimistic", "pessimistic")


class Turn(NamedTuple):
    """Metrics in one plan, a rule for ties, how values are collected.

    ``run``, ``frame`` and ``expression`` say which variants of a metric are tried
    there, by their number modulo 4. The first, without parameters, is always tried,
    but for expressions where no variant is. ``many`` adds a query of 300 documents,
    which takes half of the time: with judgments or in one frame.
    """

    names: tuple[str, ...]
    ties: str
    how: Literal["DataFrame", "in-memory", "streaming"]
    many: Literal["run", "frame"] | None

    @property
    def run(self) -> set[int]:
        return {"DataFrame": {0}, "streaming": {2}}.get(self.how, {1, 3})

    @property
    def frame(self) -> set[int]:
        return {"DataFrame": {1}, "streaming": set()}.get(self.how, {0, 2, 3})

    @property
    def expression(self) -> set[int]:
        return {"DataFrame": set(), "streaming": {3}}.get(self.how, {0, 1, 2})


AT_ONCE = 10  # metrics in one plan; in memory, with all of their variants, a third


def turns() -> Iterator[Turn]:
    """Two turns for each metric; the slow tests have another rule, all variants.

    By its place in the list a metric takes its rules, so that the metrics as a whole
    meet each rule in each turn. Each variant is tried once with judgments, in one
    frame and in an expression; one of these is quick, the other two are slow.
    """
    shared = defaultdict(list)
    for i, name in enumerate(METRICS):
        shared[TIES[i % 5], "DataFrame", None].append(name)
        shared[TIES[(i + 2) % 5], "streaming", None].append(name)
        many: Literal["run", "frame"] = "run" if i % 2 else "frame"
        shared[TIES[(i + 1) % 5], "in-memory", many].append(name)
    for (ties, how, many), names in shared.items():
        size = 3 if how == "in-memory" else AT_ONCE
        for start in range(0, len(names), size):
            yield Turn(tuple(names[start : start + size]), ties, how, many)


def share(turn: Turn, modulo: set[int]) -> dict[str, tuple[str, dict]]:
    """A column for each variant whose turn it is: its metric and its parameters."""
    return {
        f"{name} v{i}": (name, params)
        for name in turn.names
        for i, params in enumerate(variants(name))
        if i == 0 or i % 4 in modulo
    }


def asked(columns: dict[str, tuple[str, dict]]) -> list[pr.Measure]:
    return [pr.measure(name, name=c, **p) for c, (name, p) in columns.items()]


EVERY_TURN = pytest.mark.parametrize(
    "turn",
    [
        pytest.param(
            turn,
            id="-".join([turn.ties, turn.how, *turn.names]),
            marks=pytest.mark.slow if turn.how == "in-memory" else (),
        )
        for turn in turns()
    ],
)


def per_query(frame: pl.DataFrame, how: str, measures, qrels=None, **options):
    """The values of a frame, lazy or not."""
    if how == "DataFrame":
        return pr.per_query(frame, measures, qrels=qrels, **options)
    qrels = None if qrels is None else qrels.lazy()
    found = pr.per_query(frame.lazy(), measures, qrels=qrels, **options)
    return found.collect(engine=how)


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


def loops(name: str, docs: list[Doc], params: dict, ties: str, **more) -> float | None:
    rule = {"ties": ties} if METRICS[name].tie_sensitive else {}
    return LOOPS[name](docs, **params, **rule, **more)


@cache
def run_and_judgments(*, many: bool = True):
    """The run, its judgments in another order, and the queries with judgments."""
    queries = random_queries(7, 40 if many else 22)
    if not many:
        del queries["many_documents"]
    run, qrels = frames(queries)
    judged = {
        q: ds for q, ds in queries.items() if any(d.label is not None for d in ds)
    }
    shuffled = qrels.drop_nulls().sample(fraction=1, shuffle=True, seed=1)
    return run.drop_nulls(), shuffled, judged


def computed(queries: dict[str, list[Doc]], columns: dict[str, tuple], ties: str):
    """What the loops find, for each query and column."""
    return {
        q: {c: loops(name, docs, p, ties) for c, (name, p) in columns.items()}
        for q, docs in queries.items()
    }


# Queries of the run alone are left out, as the loops leave them out.
UNMATCHED = pytest.mark.filterwarnings("ignore:.* compares two rankings")


@UNMATCHED
@EVERY_TURN
def test_run_and_judgments(turn):
    run, qrels, judged = run_and_judgments(many=turn.many == "run")
    columns = share(turn, turn.run)
    convention = pr.CONVENTIONS["trec_eval"].replace(ties=turn.ties)
    found = per_query(run, turn.how, asked(columns), qrels=qrels, convention=convention)
    compare(found, computed(judged, columns, turn.ties))


@pytest.mark.parametrize(
    ("ties", "engine"),
    [
        ("pessimistic", "in-memory"),
        ("doc_desc", "streaming"),
        slow("order", "in-memory"),
        slow("doc_asc", "in-memory"),
        slow("optimistic", "streaming"),
    ],
)
@UNMATCHED
def test_all_metrics_at_once(ties, engine):
    """Without parameters, under each rule."""
    run, qrels, judged = run_and_judgments(many=ties == "doc_desc")
    found = per_query(
        run,
        engine,
        [*METRICS],
        qrels=qrels,
        convention=pr.CONVENTIONS["trec_eval"].replace(ties=ties),
    )
    wanted = {
        q: {name: loops(name, ds, {}, ties) for name in METRICS}
        for q, ds in judged.items()
    }
    compare(found, wanted)


@cache
def retrieved_log(*, many: bool) -> tuple[pl.DataFrame, dict[str, list[Doc]]]:
    """Without judgments of other documents."""
    retrieved = {
        q: [d for d in docs if d.score is not None]
        for q, docs in random_queries(8, 40 if many else 22).items()
    }
    retrieved = {q: docs for q, docs in retrieved.items() if docs}
    if not many:
        del retrieved["many_documents"]
    run, qrels = frames(retrieved)
    return run.with_columns(qrels["label"]), retrieved


@EVERY_TURN
def test_one_frame_and_expression(turn):
    """Integers matter where rows are dropped by their grade, so only there.

    ``over`` is what Polars makes of ``agg``: one measure of each metric is enough.
    """
    log, retrieved = retrieved_log(many=turn.many == "frame")
    columns = share(turn, turn.frame)
    options = {"convention": pr.CONVENTIONS["trec_eval"].replace(ties=turn.ties)}
    wanted = computed(retrieved, columns, turn.ties)
    compare(per_query(log, turn.how, asked(columns), **options), wanted)
    dropping = {
        c: (name, p)
        for c, (name, p) in columns.items()
        if METRICS[name].depends_on == "relevant"
    }
    if dropping and turn.frame:
        whole = log.with_columns(pl.col("label").cast(pl.Int8))
        wanted = {q: {c: row[c] for c in dropping} for q, row in wanted.items()}
        compare(per_query(whole, turn.how, asked(dropping), **options), wanted)
    if not turn.expression:
        return
    columns = share(turn, turn.expression)
    wanted = computed(retrieved, columns, turn.ties)
    each = {c: method(name, p, turn.ties).alias(c) for c, (name, p) in columns.items()}
    by_agg = log.lazy().group_by("query_id").agg(each.values())
    compare(by_agg.collect(engine=turn.how), wanted)
    first = [f"{name} v0" for name in turn.names]
    over = [each[c].over("query_id") for c in first]
    by_over = log.lazy().select("query_id", *over).unique()
    wanted = {q: {c: row[c] for c in first} for q, row in wanted.items()}
    compare(by_over.collect(engine=turn.how), wanted)


def method(name: str, params: dict, ties: str) -> pl.Expr:
    rule = {"doc": "doc_id", "ties": ties} if METRICS[name].tie_sensitive else {}
    return getattr(pl.col("label").rank_eval, name)("score", **params, **rule)


EXPECTED = [name for name, m in METRICS.items() if m.tie_mean and m.tie_sensitive]


def test_shares_of_what_is_judged_have_a_mean_over_tied_orders():
    """Of two tied documents one is judged: it is the first in half of the orders."""
    run = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [1.0, 1.0]})
    qrels = pl.DataFrame({"query_id": [1], "doc_id": ["a"], "label": [1]})
    found = pr.evaluate(run, ["judged@1", "unjudged@1"], qrels=qrels, ties="expected")
    assert found.row(0)[-2:] == (0.5, 0.5)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", EXPECTED)
def test_expected_ties_are_the_mean_over_all_orders(name, engine):
    """Brute force: every permutation of every block of tied documents."""
    queries = {
        q: docs
        for seed in (3, 4)
        for q, docs in random_queries(seed, 60, max_docs=9).items()
        if 0 < orders(docs) <= (800 if engine == "in-memory" else 150)
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
    compare(found.collect(engine=engine), wanted)


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


@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt8, pl.String], ids=str)
@pytest.mark.parametrize(("ties", "wanted"), [("doc_desc", 1.0), ("doc_asc", 1 / 2)])
def test_ids_of_a_log_settle_ties_as_text(dtype, ties, wanted):
    """As text 9 comes after 10; rows with labels have no judgments to meet."""
    log = pl.LazyFrame(
        {"query_id": 1, "doc_id": [10, 9], "score": 1.0, "label": [0, 1]}
    ).with_columns(pl.col("doc_id").cast(dtype))
    convention = pr.CONVENTIONS["trec_eval"].replace(ties=ties)
    for frame in (log, log.collect()):
        found = pr.per_query(frame, "rr", convention=convention).lazy().collect()
        assert found["rr"].to_list() == [wanted]
