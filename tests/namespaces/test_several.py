"""Several measures as one expression have the bits of each by itself."""

from __future__ import annotations

import random
import re

import polars as pl
import pytest
from slow import slow
from vocabularies import METRICS

import polars_rank as pr
from polars_rank.exceptions import DataError

LABEL = pl.col("label").rank_eval
FIVE = ["ndcg@10", "ap", "rr", "precision@10", "recall@100"]


def log(seed: int = 3) -> pl.DataFrame:
    """Queries of 1 to 14 documents with tied scores; some have nothing relevant."""
    rng = random.Random(seed)
    rows = [
        (q, f"d{place}", rng.randrange(5), rng.choice([0, 0, 1, 2, 3]) * (q % 5 > 0))
        for q in range(60)
        for place in rng.sample(range(99), q % 14 + 1)
    ]
    schema = ["query_id", "doc_id", "score", "label"]
    ranked = pl.col("score").rank("ordinal", descending=True).over("query_id")
    return pl.DataFrame(rows, schema, orient="row").with_columns(rank=ranked)


def alone(text: str, **options: object) -> pl.Expr:
    """The measure by its method, which takes the options that apply to it."""
    measure = pr.Measure.parse(text)
    metric = METRICS[measure.metric]
    useful = {"doc": metric.tie_sensitive, "ties": metric.tie_sensitive}
    given = {n: v for n, v in options.items() if useful.get(n, True)}
    score = given.pop("score", None)
    call = getattr(LABEL, measure.metric)
    return call(score, **measure.arguments, **given).alias(text)


def require_equal(
    frame: pl.DataFrame,
    measures: list[str],
    contexts: tuple[str, ...] = ("agg", "over", "select"),
    **options: object,
) -> None:
    one = LABEL.per_query(measures, **options)
    several = [alone(text, **options) for text in measures]
    for where in contexts:
        found, wanted = (in_context(frame, where, e) for e in ([one], several))
        assert found.schema == {"label": pl.Struct(wanted.schema)}
        assert found.unnest("label").equals(wanted), where  # each bit


def in_context(frame: pl.DataFrame, where: str, exprs: list[pl.Expr]) -> pl.DataFrame:
    if where == "agg":
        grouped = frame.group_by("query_id", maintain_order=True)
        return grouped.agg(exprs).drop("query_id")
    if where == "over":
        exprs = [expr.over("query_id") for expr in exprs]
    return frame.select(exprs)


@pytest.mark.parametrize("doc", [None, "doc_id"])
@pytest.mark.parametrize(
    "convention",
    [name if i % 4 == 0 else slow(name) for i, name in enumerate(pr.CONVENTIONS)],
)
def test_every_convention(convention, doc):
    chosen = pr.CONVENTIONS[convention]
    known = [name for name in FIVE if defined(name, chosen.ties)]
    options = {"score": "score", "doc": doc, "convention": convention}
    if chosen.unjudged == "drop":
        with pytest.raises(ValueError, match="not possible in an expression"):
            LABEL.per_query(known, **options)
        return
    rows = log()
    if chosen.no_relevant == "error":
        with pytest.raises(DataError, match="undefined if nothing is relevant"):
            rows.group_by("query_id").agg(LABEL.per_query(known, **options))
        rows = rows.filter(pl.col("label").max().over("query_id") > 0)
    require_equal(rows, known, **options)


def defined(name: str, ties: str) -> bool:
    measure = pr.Measure.parse(name)
    return ties != "expected" or measure.definition.has_tie_mean(measure.arguments)


@pytest.mark.parametrize("ties", ["order", slow("expected"), slow("pessimistic")])
def test_every_measure(ties):
    """All of them in one expression: with a cutoff, and without one."""
    names = [
        text
        for name, metric in METRICS.items()
        for text in (name, f"{name}@2")
        if text == name or metric.cutoff in metric.parameters
    ]
    known = [name for name in names if defined(name, ties)]
    assert len(known) > 40
    require_equal(log(), known, ("agg",), score="score", ties=ties)


def test_known_ranks():
    require_equal(log(), FIVE, ("agg", "over"), rank="rank")
    with pytest.raises(ValueError, match="pearson reads scores: give a score"):
        LABEL.per_query(["ap", "pearson"], rank="rank")


@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_frames_say_the_same(engine):
    rows = log()
    found = (
        rows.lazy()
        .group_by("query_id")
        .agg(LABEL.per_query(FIVE, "score", doc="doc_id"))
        .unnest("label")
        .sort("query_id")
        .collect(engine=engine)
    )
    assert found.equals(pr.per_query(rows, FIVE))


def test_the_documents_are_sorted_once():
    assert str(LABEL.per_query(FIVE, "score")).count("sort_by(") == 1
    mixed = LABEL.per_query(["ndcg@10", "ap"], "score", convention="sklearn")
    assert str(mixed).count("sort_by(") == 1  # the mean over all orders of ties
    assert LABEL.per_query(FIVE, "score").meta.eq(LABEL.per_query(FIVE, "score"))


def test_formulas_of_ones_own_and_counts():
    rows = log()
    own = {"hits": lambda r: r.hits_at(3), "spread": lambda r: r.score.std()}
    one = LABEL.per_query([own, "num_rel", "num_ret"], "score")
    found = rows.group_by("query_id").agg(one).unnest("label").sort("query_id")
    wanted = pr.per_query(rows, [own, "num_rel", "num_ret"], ties="order")
    assert found.equals(wanted)
    counts = rows.select(LABEL.per_query("num_rel,num_ret", "score")).unnest("label")
    assert counts.row(0) == (rows.filter(pl.col("label") > 0).height, rows.height)


def test_what_breaks_a_rule():
    rows = log().with_columns(score=pl.col("score") / 1.0)
    nameless = rows.with_columns(
        score=pl.when(pl.col("query_id") == 7).then(None).otherwise("score")
    )
    with pytest.raises(DataError, match=re.escape("(8 found, in 1 of 60 groups)")):
        nameless.group_by("query_id").agg(LABEL.per_query(FIVE, "score"))
    for options, told in (
        ({}, "either a score"),
        ({"score": "score", "rank": "rank"}, "either a score"),
        ({"score": "score", "ties": "doc_asc"}, "needs doc="),
        ({"score": "score", "ties": "random"}, "ties must be one of"),
        ({"score": "score", "no_relevant": "none"}, "no_relevant must be one of"),
    ):
        with pytest.raises(ValueError, match=told):
            LABEL.per_query(FIVE, **options)
    for measures, told in (
        (["alpha_ndcg"], "alpha_ndcg needs a query's subtopics"),
        (["ap", "ap"], "measure given twice"),
        (["apple"], "apple"),
    ):
        with pytest.raises(ValueError, match=told):
            LABEL.per_query(measures, "score")
