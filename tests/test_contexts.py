"""Every case in every context: agg, over, select, frame, run and judgments."""

from __future__ import annotations

import polars as pl
import pytest
from cases import CASES, Case
from vocabularies import METRICS

import polars_rank as pr


def log(case: Case) -> pl.DataFrame:
    """The case as query "q" between two other queries, rows out of order."""
    n = len(case.labels)
    scores = case.scores or [float(n - i) for i in range(n)]
    rows = [
        {"query": "q", "doc": f"d{i}", "score": float(s), "label": label}
        for i, (s, label) in enumerate(zip(scores, case.labels, strict=True))
    ]
    other = [{"query": q, "doc": "x", "score": 1.0, "label": 1.0} for q in ("p", "r")]
    schema = {"query": pl.String, "doc": pl.String, "score": pl.Float64}
    return pl.DataFrame(
        [other[0], *reversed(rows), other[1]], schema=schema | {"label": pl.Float64}
    )


def metric(case: Case) -> pl.Expr:
    method = getattr(pl.col("label").rank_eval, case.metric)
    return method("score", **case.params).alias("value")


def value(frame: pl.DataFrame) -> float | None:
    return frame.filter(pl.col("query") == "q")["value"].unique().item()


def close(expected: float | None) -> object:
    return expected if expected is None else pytest.approx(expected, rel=1e-12)


SINGLE = [case for case in CASES if not case.unretrieved]


@pytest.mark.parametrize("case", SINGLE, ids=str)
def test_agg(case, collect):
    frame = collect(log(case).lazy().group_by("query").agg(metric(case)))
    assert value(frame) == close(case.expected)


@pytest.mark.parametrize("case", SINGLE, ids=str)
def test_over(case, collect):
    frame = collect(log(case).lazy().with_columns(metric(case).over("query")))
    assert value(frame) == close(case.expected)


@pytest.mark.parametrize("case", SINGLE, ids=str)
def test_select(case, collect):
    alone = log(case).lazy().filter(pl.col("query") == "q")
    assert collect(alone.select(metric(case))).item() == close(case.expected)


@pytest.mark.parametrize("case", SINGLE, ids=str)
def test_frame(case, collect):
    measure = pr.measure(case.metric, name="value", **case.params)
    frame = pr.per_query(log(case).lazy(), [measure], query="query", doc="doc")
    assert value(collect(frame)) == close(case.expected)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_run_and_judgments(case, collect):
    rows = log(case)
    lacking = pl.DataFrame(
        {
            "query": ["q"] * len(case.unretrieved),
            "doc": [f"u{i}" for i in range(len(case.unretrieved))],
            "label": [float(g) for g in case.unretrieved],
        },
        schema={"query": pl.String, "doc": pl.String, "label": pl.Float64},
    )
    judged = rows.select("query", "doc", "label").drop_nulls()
    measure = pr.measure(case.metric, name="value", **case.params)
    frame = pr.per_query(
        rows.lazy().drop("label"),
        [measure],
        qrels=pl.concat([judged, lacking]).lazy(),
        query="query",
        doc="doc",
    )
    assert value(collect(frame)) == close(case.expected)


def test_known_ranks_equal_scores(collect):
    """``rank=`` needs no score; rows may stand in any order."""
    cases = [
        c
        for c in SINGLE
        if not METRICS[c.metric].uses_scores
        and (c.scores is None or len(set(c.scores)) == len(c.scores))
    ]
    for case in cases:
        ranks = pl.col("score").rank("ordinal", descending=True).over("query")
        rows = log(case).lazy().with_columns(place=ranks).drop("score")
        measure = pr.measure(case.metric, name="value", **case.params)
        found = collect(pr.per_query(rows, [measure], query="query", rank="place"))
        assert value(found) == close(case.expected), case
        method = getattr(pl.col("label").rank_eval, case.metric)
        by_hand = rows.group_by("query").agg(value=method(rank="place", **case.params))
        assert value(collect(by_hand)) == close(case.expected), case


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
