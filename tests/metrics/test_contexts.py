"""Every case in every context: agg, over, select, frame, run and judgments.

The cases are queries of one frame and their measures are asked for together, as users
ask; a failure lists the cases that are wrong, each with its value.
"""

from __future__ import annotations

import math

import polars as pl
import pytest
from cases import CASES, Case
from slow import slow
from vocabularies import METRICS

import polars_rank as pr

ENGINES = ("in-memory", "streaming")
SINGLE = [case for case in CASES if not case.unretrieved]
QUERY = {id(case): f"q{i:03}" for i, case in enumerate(CASES)}
SCHEMA = {"query": pl.String, "doc": pl.String}
SCHEMA |= {"score": pl.Float64, "label": pl.Float64}


def query(case: Case) -> str:
    """Its query id: no two cases are the same object."""
    return QUERY[id(case)]


def log(cases: list[Case]) -> pl.DataFrame:
    """Each case is a query, its rows in reverse, between two other queries."""
    rows = [("before", "x", 1.0, 1.0)]
    for case in cases:
        n = len(case.labels)
        scores = case.scores or range(n, 0, -1)
        listed = [
            (query(case), f"d{i}", float(score), label)
            for i, (score, label) in enumerate(zip(scores, case.labels, strict=True))
        ]
        rows += reversed(listed)
    rows.append(("zz after", "x", 1.0, 1.0))
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def unretrieved(cases: list[Case]) -> pl.DataFrame:
    """Judgments of documents that the run lacks."""
    rows = [
        (query(case), f"u{i}", None, float(grade))
        for case in cases
        for i, grade in enumerate(case.unretrieved)
    ]
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def column(case: Case) -> str:
    """The measure's column: cases with equal parameters share it."""
    return f"{case.metric} {sorted(case.params.items())}"


def measures(cases: list[Case]) -> list[pr.Measure]:
    named = {column(case): case for case in cases}
    return [pr.measure(c.metric, name=n, **c.params) for n, c in named.items()]


def methods(cases: list[Case], **given: str) -> list[pl.Expr]:
    named = {column(case): case for case in cases}
    label = pl.col("label").rank_eval
    return [
        getattr(label, c.metric)(**given, **c.params).alias(n) for n, c in named.items()
    ]


def same(found: float | None, wanted: float | None) -> bool:
    if found is None or wanted is None:
        return found is wanted
    return math.isclose(found, wanted, rel_tol=1e-12)


def wrong(found: pl.DataFrame, cases: list[Case]) -> list[str]:
    """The cases whose value is another one."""
    rows = {row["query"]: row for row in found.iter_rows(named=True)}
    assert len(rows) == len(found)
    values = [(case, rows[query(case)][column(case)]) for case in cases]
    return [
        f"{case}: {value}, not {case.expected}"
        for case, value in values
        if not same(value, case.expected)
    ]


# All cases at once: a measure of a scale would refuse the grades of other cases, so
# rules are checked where each measure has its own cases only.
TOGETHER = {"query": "query", "doc": "doc", "check": "off"}


# The quick tests share the cases between the engines.
SHARED = pytest.mark.parametrize(
    ("engine", "part"),
    [
        (ENGINES[0], slice(0, None, 2)),
        (ENGINES[1], slice(1, None, 2)),
        slow(ENGINES[0], slice(1, None, 2)),
        slow(ENGINES[1], slice(0, None, 2)),
    ],
    ids=["in-memory-even", "streaming-odd", "in-memory-odd", "streaming-even"],
)


@SHARED
def test_frame(engine, part):
    cases = SINGLE[part]
    plan = pr.per_query(log(cases).lazy(), measures(cases), **TOGETHER)
    assert not wrong(plan.collect(engine=engine), cases)


@SHARED
def test_run_and_judgments(engine, part):
    cases = CASES[part]
    rows = log(cases)
    judged = pl.concat([rows.drop_nulls(), unretrieved(cases)]).drop("score")
    run, qrels = rows.lazy().drop("label"), judged.lazy()
    plan = pr.per_query(run, measures(cases), qrels=qrels, **TOGETHER)
    assert not wrong(plan.collect(engine=engine), cases)


def can_be_ranked(case: Case) -> bool:
    """Whether ranks say all that its scores do."""
    untied = case.scores is None or len(set(case.scores)) == len(case.scores)
    return untied and not METRICS[case.metric].uses_scores


def ranked(cases: list[Case]) -> pl.LazyFrame:
    """The rows with their places, and without scores."""
    place = pl.col("score").rank("ordinal", descending=True).over("query")
    return log(cases).lazy().with_columns(place=place).drop("score")


# The engines take turns: each metric meets both, and so does each context. The quick
# tests have one context for each metric, beside those of test_reference.py.
CONTEXTS = ("agg", "over", "select", "frame", "rank")
TURNS = [
    (turn if (i + j) % 5 == 0 else slow(*turn))
    for i, name in enumerate(METRICS)
    for j, context in enumerate(CONTEXTS)
    for turn in [(name, context, ENGINES[(i + j) % 2])]
]


@pytest.mark.parametrize(("name", "context", "engine"), TURNS)
def test_metric(name, context, engine):
    """Each measure on its own cases."""
    found: dict[str, list[Case]] = {}
    for case in SINGLE:
        if case.metric == name and (context != "rank" or can_be_ranked(case)):
            found.setdefault(column(case), []).append(case)
    for cases in found.values():
        rows = log(cases).lazy()
        (value,), (measure,) = methods(cases, score="score"), measures(cases)
        if context == "agg":
            plans = [rows.group_by("query").agg(value)]
        elif context == "over":
            plans = [rows.select("query", value.over("query")).unique()]
        elif context == "select":
            lists = [rows.filter(query=query(case)) for case in cases]
            plans = [one.select(pl.col("query").first(), value) for one in lists]
        elif context == "frame":
            plans = [pr.per_query(rows, [measure], query="query", doc="doc")]
        else:
            plans = [ranked(cases).group_by("query").agg(methods(cases, rank="place"))]
        assert not wrong(pl.concat(pl.collect_all(plans, engine=engine)), cases)


@SHARED
@pytest.mark.parametrize("every", [2, slow(1)])
def test_known_ranks_equal_scores(engine, part, every):
    """``rank=`` needs no score; rows may stand in any order."""
    cases = [case for case in SINGLE if can_be_ranked(case)][part][::every]
    plan = pr.per_query(ranked(cases), measures(cases), rank="place", **TOGETHER)
    assert not wrong(plan.collect(engine=engine), cases)


def test_average_precision_is_the_sum_over_recall_steps():
    """AP = sum of P(k) (R(k) - R(k-1)): the two forms of the seeds agree."""
    for labels in ([1, 0, 1, 0, 1], [0, 1, 1, 0, 0, 1], [0, 0, 0, 1]):
        frame = pl.DataFrame({"s": range(len(labels), 0, -1), "l": labels})
        at = range(1, len(labels) + 1)
        rank_eval = pl.col("l").rank_eval
        precision = [frame.select(rank_eval.precision("s", k=k)).item() for k in at]
        recall = [0.0, *(frame.select(rank_eval.recall("s", k=k)).item() for k in at)]
        steps = zip(precision, recall, recall[1:], strict=False)
        expected = sum(p * (now - before) for p, before, now in steps)
        assert frame.select(rank_eval.ap("s")).item() == pytest.approx(expected)
