"""Methods of expressions under a convention say what frames say."""

from __future__ import annotations

import random

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from slow import slow
from vocabularies import METRICS

import polars_rank as pr

MEASURES = [
    *("ndcg@3", "dcg(discount=position)", "ap", "ap@2", "rr", "precision@4"),
    *("recall@2", "accuracy@1", "f1@3", "err", "nerr@3", "rbp", "q_measure"),
    *("g_measure", "bpref", "spearman", "pearson", "auc", "compat", "pfound"),
]
DOC = ("doc_id", None)


def log(seed: int = 7) -> pl.DataFrame:
    """Tied scores, some equal as float32 only; queries without anything relevant."""
    rng = random.Random(seed)
    rows = [
        (q, f"d{rng.randrange(10**6)}", rng.randrange(4) + rng.randrange(2) * 1e-12, g)
        for q in range(40)
        for g in [
            rng.choice([0, 0, 1, 2, 3, 4]) * (q % 5 > 0) for _ in range(q % 7 + 1)
        ]
    ]
    schema = ["query_id", "doc_id", "score", "label"]
    return pl.DataFrame(rows, schema=schema, orient="row")


def method(text: str, *args: object, **options: object) -> pl.Expr:
    measure = pr.Measure.parse(text)
    call = getattr(pl.col("label").rank_eval, measure.metric)
    return call(*args, **measure.arguments, **options).alias(text)


def defined(text: str, convention: pr.Convention) -> bool:
    """Whether the measure has a value under the convention's rule for ties."""
    measure = pr.Measure.parse(text)
    ties = convention.ties == "expected"
    return not ties or measure.definition.has_tie_mean(measure.arguments)


def options(text: str, doc: str | None) -> dict[str, str]:
    sensitive = METRICS[pr.Measure.parse(text).metric].tie_sensitive
    return {"doc": doc} if doc and sensitive else {}


# The quick tests have each convention with document ids, or without.
@pytest.mark.parametrize(
    ("name", "doc"),
    [
        (name, doc) if (i + j) % 2 else slow(name, doc)
        for i, name in enumerate(pr.CONVENTIONS)
        for j, doc in enumerate(DOC)
        if doc or pr.CONVENTIONS[name].on_duplicate == "error"  # else ids are needed
    ],
)
def test_a_method_follows_a_convention(name, doc):
    convention = pr.CONVENTIONS[name]
    names = [text for text in MEASURES if defined(text, convention)]
    assert len(names) > 5
    rows = log()
    if name == "catboost":  # whose ERR takes probabilities
        rows = rows.with_columns(pl.col("label") / pl.col("label").max())
    if name == "quepid":  # whose grades end at 3
        rows = rows.with_columns(pl.col("label").clip(0, 3))
    if convention.no_relevant == "error":
        rows = rows.filter((pl.col("label").max() > 0).over("query_id"))
    frame = pr.per_query(rows, names, doc=doc, convention=name)
    values = [method(t, "score", convention=name, **options(t, doc)) for t in names]
    rows = rows.group_by("query_id", maintain_order=True).agg(values)
    assert_frame_equal(rows, frame, abs_tol=1e-12)


@pytest.mark.parametrize("judgments", ["judged", "retrieved"])
def test_a_method_with_known_ranks_follows_a_convention(judgments):
    convention = pr.CONVENTIONS["trec_eval"].replace(judgments=judgments, gain="exp2")
    place = pl.col("score").rank("ordinal", descending=True).over("query_id")
    ranked = log().with_columns(rank=pl.when(place <= 3).then(place))
    measures = [pr.Measure.parse(text) for text in MEASURES]
    names = [str(m) for m in measures if not m.definition.uses_scores]
    frame = pr.per_query(ranked, names, rank="rank", convention=convention)
    values = [method(t, rank="rank", convention=convention) for t in names]
    rows = ranked.group_by("query_id", maintain_order=True).agg(values)
    assert_frame_equal(rows, frame, abs_tol=1e-12)


def test_arguments_win_over_the_convention():
    frame = pl.DataFrame({"score": [2.0, 1.0], "label": [0, 3]})
    value = pl.col("label").rank_eval.dcg

    def dcg(**options: object) -> float | None:
        return frame.select(value("score", convention="lightgbm", **options)).item()

    assert dcg(discount="position") == 7 / 2
    assert dcg(discount="position", gain="linear") == 3 / 2
    nothing = frame.with_columns(label=pl.lit(0))
    ndcg = pl.col("label").rank_eval.ndcg
    assert nothing.select(ndcg("score", convention="lightgbm")).item() == 1
    zero = ndcg("score", convention="lightgbm", no_relevant="zero")
    assert nothing.select(zero).item() == 0
    tied = frame.with_columns(score=pl.lit(1.0))
    rr = pl.col("label").rank_eval.rr
    assert tied.select(rr("score", convention="catboost")).item() == 1 / 2
    best = rr("score", convention="catboost", ties="optimistic")
    assert tied.select(best).item() == 1


def test_what_a_convention_refuses_or_an_expression_cannot_do():
    ndcg = pl.col("label").rank_eval.ndcg
    minus = pl.DataFrame({"score": [2.0, 1.0], "label": [-1, 3]})
    assert minus.select(ndcg("score")).item() > 0
    with pytest.raises(pr.DataError, match="raise them to 0"):
        minus.select(ndcg("score", convention="lightgbm"))
    condensed = pr.CONVENTIONS["trec_eval"].replace(unjudged="drop")
    with pytest.raises(ValueError, match=r"filter the rows \(label >= 0\) first"):
        ndcg("score", convention=condensed)
    with pytest.raises(ValueError, match="unknown convention 'lightgmb'; did you mean"):
        ndcg("score", convention="lightgmb")
    with pytest.raises(ValueError, match="err has no closed form"):
        pl.col("label").rank_eval.err("score", convention="sklearn")
    with pytest.raises(ValueError, match="no_relevant must be one of zero"):
        ndcg("score", no_relevant="")
