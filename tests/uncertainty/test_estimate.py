"""Estimates from few judgments by people and many by a model."""

from __future__ import annotations

import math

import numpy as np
import polars as pl
import pytest
from judges import coverage, judges
from polars.testing import assert_frame_equal
from scipy import optimize, stats

import polars_rank as pr


@pytest.fixture(scope="module")
def data():
    return judges(seed=3, queries=60, judged=20)


def by_hand(y, f, others, level=0.95):
    """The formulas of the papers, in plain loops over two lists."""
    n, many = len(y), len(others)

    def mean(x):
        return sum(x) / len(x)

    def cov(a, b):
        return sum((p - mean(a)) * (q - mean(b)) for p, q in zip(a, b, strict=True)) / (
            len(a) - 1
        )

    spread = cov(others, others) / many
    weight = max(0.0, cov(y, f) / n / (cov(f, f) / n + spread))
    value = mean(y) + weight * (mean(others) - mean(f))
    ratio = cov(f, f) / n / (cov(f, f) / n + spread)
    leverage = [ratio * (q - mean(f)) ** 2 / cov(f, f) / (n - 1) for q in f]
    rest = [
        (p - mean(y) - weight * (q - mean(f))) / (1 - h)
        for p, q, h in zip(y, f, leverage, strict=True)
    ]
    variance = sum(r * r for r in rest) / (n - 1) / n + weight**2 * spread
    se = math.sqrt(variance)
    margin = stats.t.ppf(0.5 + level / 2, n - 2) * se
    return value, se, value - margin, value + margin, weight


@pytest.mark.parametrize("measure", ["ndcg@5", "ap", "dcg@5"])
def test_the_formulas(data, measure):
    run, human, model = data
    row = pr.estimate(run, measure, qrels=human, model_qrels=model).row(0, named=True)
    y = pr.per_query(run, measure, qrels=human)
    f = pr.per_query(run, measure, qrels=model)
    drawn = f["query_id"].is_in(y["query_id"].implode())
    wanted = by_hand(
        y[measure].to_list(),
        f.filter(drawn)[measure].to_list(),
        f.filter(~drawn)[measure].to_list(),
    )
    found = [row[c] for c in ("estimate", "se", "lower", "upper", "weight")]
    assert found == pytest.approx(wanted)
    alone = stats.t.interval(0.95, len(y) - 1, y[measure].mean(), stats.sem(y[measure]))
    assert (row["human_lower"], row["human_upper"]) == pytest.approx(alone)
    assert row["human_se"] == pytest.approx(stats.sem(y[measure]))
    assert row["model"] == pytest.approx(f[measure].mean())
    assert (row["queries"], row["judged"]) == (60, 20)
    width = row["upper"] - row["lower"]
    other = row["human_upper"] - row["human_lower"]
    assert row["worth"] == pytest.approx((other / width) ** 2)


def test_the_weight_has_the_least_variance(data):
    """Of the variance as it is stated, whatever a formula makes of it."""
    run, human, model = data
    row = pr.estimate(run, "dcg@5", qrels=human, model_qrels=model).row(0, named=True)
    y = pr.per_query(run, "dcg@5", qrels=human)
    f = pr.per_query(run, "dcg@5", qrels=model)
    both = y.join(f, on="query_id", suffix="_model")
    others = f.join(y, on="query_id", how="anti")["dcg@5"]

    def variance(w):
        rest = both["dcg@5"] - w * both["dcg@5_model"]
        return rest.var() / len(both) + w * w * others.var() / len(others)

    best = optimize.minimize_scalar(variance, bounds=(0, 2), method="bounded").x
    assert row["weight"] == pytest.approx(best, abs=1e-4)


def test_sampled_documents():
    """A measure that adds up, document by document."""
    run, human, model = judges(seed=4, queries=30, judged=30)
    drawn = human.filter(pl.int_range(pl.len()) % 4 == 1)
    share = len(drawn) / len(model)
    found = pr.estimate(
        run, "dcg@5", qrels=drawn, model_qrels=model, sampled="documents"
    ).row(0, named=True)
    weights = {}
    for (query,), docs in run.group_by("query_id"):
        for i, d in enumerate(docs.sort("score", descending=True)["doc_id"]):
            weights[query, d] = 1 / math.log2(i + 2) if i < 5 else 0.0
    labels = [
        {(q, d): y for q, d, y in frame.select("query_id", "doc_id", "label").rows()}
        for frame in (drawn, model)
    ]
    y, off = [0.0] * 30, [0.0] * 30
    for (q, d), w in weights.items():
        y[q] += w * labels[0].get((q, d), 0) / share
        off[q] -= w * labels[1][q, d]
        if (q, d) in labels[0]:
            off[q] += w * labels[1][q, d] / share
    s = np.cov(y, off)
    weight = max(0.0, s[0, 1] / s[1, 1])
    assert found["weight"] == pytest.approx(weight)
    assert found["human"] == pytest.approx(np.mean(y))
    assert found["estimate"] == pytest.approx(np.mean(y) - weight * np.mean(off))
    centered = np.array(off) - np.mean(off)
    rest = np.array(y) - np.mean(y) - weight * centered
    rest /= 1 - centered**2 / sum(centered**2)
    error = math.sqrt(sum(rest**2) / 29 / 30)
    assert found["se"] == pytest.approx(error)
    width = 2 * stats.t.ppf(0.975, 28) * error
    assert found["upper"] - found["lower"] == pytest.approx(width)


@pytest.mark.parametrize("sampled", ["queries", "documents"])
def test_documents_without_a_label_are_unjudged(data, sampled):
    """As if they were not listed."""
    run, human, model = data
    if sampled == "documents":
        human = human.filter(pl.int_range(pl.len()) % 4 == 1)
    listed = model.drop("label").join(human, on=["query_id", "doc_id"], how="left")
    assert listed["label"].null_count() == len(model) - len(human)
    extra = model.with_columns(label=pl.lit(None), doc_id=pl.lit("unknown"))
    more = pl.concat([model, extra.unique().cast(model.schema)])
    expected = pr.estimate(
        run, "dcg@5", qrels=human, model_qrels=model, sampled=sampled
    )
    for own, labels in ((listed, model), (human, more)):
        found = pr.estimate(
            run, "dcg@5", qrels=own, model_qrels=labels, sampled=sampled
        )
        assert_frame_equal(found, expected)
    unlabeled = model.with_columns(
        label=pl.when(pl.col("query_id") != human["query_id"][0]).then("label")
    )
    with pytest.raises(pr.DataError, match="people judged have no label by the model"):
        pr.estimate(run, "dcg@5", qrels=human, model_qrels=unlabeled, sampled=sampled)


def test_judgments_by_people_count_where_the_model_leaves_a_value_undefined(data):
    """It then says of the query what it says of the others on average."""
    run, human, model = data
    relevant = pl.when(pl.col("query_id") % 3 > 0).then("label").otherwise(0)
    model = model.with_columns(label=relevant)
    options = {"rel": 2, "no_relevant": "skip"}
    row = pr.estimate(run, "ap", qrels=human, model_qrels=model, **options)
    row = row.row(0, named=True)
    y, f = (
        dict(pr.per_query(run, "ap", qrels=q, **options).drop_nulls().rows())
        for q in (human, model)
    )
    assert len(y.keys() - f.keys()) > 2
    assert row["judged"] == len(y)
    assert row["queries"] == len(y.keys() | f.keys())
    assert row["human"] == pytest.approx(np.mean([*y.values()]))
    assert row["human_se"] == pytest.approx(stats.sem([*y.values()]))
    assert row["model"] == pytest.approx(np.mean([*f.values()]))
    others = [f[q] for q in f if q not in y]
    middle = sum(others) / len(others)
    wanted = by_hand([*y.values()], [f.get(q, middle) for q in y], others)
    found = [row[c] for c in ("estimate", "se", "lower", "upper", "weight")]
    assert found == pytest.approx(wanted)


def test_a_model_that_knows_nothing_changes_nothing(data):
    run, human, model = data
    same = model.with_columns(label=pl.lit(1))
    row = pr.estimate(run, "precision@5", qrels=human, model_qrels=same)
    row = row.row(0, named=True)
    assert row["weight"] == 0.0
    assert row["estimate"] == row["human"]
    assert (row["lower"], row["upper"]) == (row["human_lower"], row["human_upper"])
    opposite = model.with_columns(label=5 - pl.col("label"))
    row = pr.estimate(run, "dcg@5", qrels=human, model_qrels=opposite)
    row = row.row(0, named=True)
    assert (row["weight"], row["estimate"]) == (0.0, row["human"])
    every = pr.estimate(run, "precision@5", qrels=model, model_qrels=model)
    assert every["weight"].item() == 0.0  # nothing is left for the model


def test_systems_and_few_queries(data):
    run, human, model = data
    runs = {"a": run, "b": run.with_columns(score=-pl.col("score"))}
    found = pr.estimate(runs, ["ndcg@5", "rr"], qrels=human, model_qrels=model)
    assert found.select("system", "measure").rows() == [
        ("a", "ndcg@5"), ("a", "rr"), ("b", "ndcg@5"), ("b", "rr"),
    ]  # fmt: skip
    alone = pr.estimate(run, ["ndcg@5", "rr"], qrels=human, model_qrels=model)
    assert found.filter(system="a").drop("system").equals(alone)
    few = human.filter(pl.col("query_id").is_in(human["query_id"].unique().head(2)))
    row = pr.estimate(run, "rr", qrels=few, model_qrels=model).row(0, named=True)
    ends = ("se", "lower", "upper", "human_se", "human_lower", "human_upper")
    assert {row[name] for name in ends} == {None}
    assert row["judged"] == 2
    assert {found.schema[name] for name in ("queries", "judged")} == {pl.UInt32}


@pytest.mark.parametrize("others", [0, 1, 2])
def test_one_query_that_only_the_model_judged_tells_nothing(data, others):
    run, _, model = data
    queries = model["query_id"].unique(maintain_order=True)
    many = queries.len() - others
    human = model.filter(pl.col("query_id").is_in(queries.head(many).implode()))
    row = pr.estimate(run, "rr", qrels=human, model_qrels=model).row(0, named=True)
    assert (row["judged"], row["weight"] > 0) == (many, others == 2)
    if others < 2:
        assert (row["estimate"], row["se"]) == (row["human"], row["human_se"])


def test_choices_and_columns_are_those_of_an_evaluation(data):
    run, human, model = data
    plain = pr.estimate(run, "ap", qrels=human, model_qrels=model, rel=2)
    names = {"query_id": "topic", "doc_id": "page", "label": "grade", "score": "points"}
    run, human, model = (
        frame.rename(names, strict=False) for frame in (run, human, model)
    )
    named = {"query": "topic", "doc": "page", "label": "grade", "score": "points"}
    found = pr.estimate(run, "ap", qrels=human, model_qrels=model, rel=2, **named)
    assert found.equals(plain)
    strict = [f.with_columns(pl.col("grade") >= 2) for f in (human, model)]
    found = pr.estimate(run, "ap", qrels=strict[0], model_qrels=strict[1], **named)
    assert found.equals(plain)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "most"),
    [
        # Values correlate by 0.876: sqrt(1 - 0.876^2 160 / 200) = 0.62 is due.
        ({"noise": 0.1, "bias": 0.0}, 0.7),
        ({"noise": 0.3, "bias": 1.0}, 0.9),
        ({"noise": None}, 1.03),
        ({"noise": 0.3, "bias": 1.0, "sampled": "documents", "measure": "dcg@5"}, 0.8),
    ],
)
def test_coverage_and_gain(options, most):
    """Of 200 repetitions: 95 % is 0.95 within 3 standard errors of 0.0154."""
    own, human, width = coverage(repetitions=200, seed=1, **options)
    assert 0.904 <= own <= 0.996
    assert 0.904 <= human <= 0.996
    assert width <= most


@pytest.mark.parametrize(
    ("measure", "options", "words"),
    [
        ("hits", {}, None),
        ("num_rel", {}, "not a mean over queries"),
        ("gm_ap", {}, "not a mean over queries"),
        ("ndcg@5", {"sampled": "documents"}, "does not add up over documents"),
        ("precision", {"sampled": "documents"}, "does not add up"),
        ("rr", {"sampled": "pairs"}, "sampled must be"),
        ("rr", {"share": 0.5}, "share is the probability"),
        ("rr", {"level": 95}, "level must lie"),
        ("rr", {"doc": None}, "tells documents apart"),
    ],
)
def test_refused(data, measure, options, words):
    run, human, model = data
    if words is None:
        assert len(pr.estimate(run, measure, qrels=human, model_qrels=model)) == 1
        return
    with pytest.raises(ValueError, match=words):
        pr.estimate(run, measure, qrels=human, model_qrels=model, **options)


def test_ids_of_both_judgments_have_one_type(data):
    run, human, model = data
    texts = human.with_columns(pl.col("query_id").cast(pl.String))
    told = "'query_id' is String in qrels but Int64 in model_qrels.*cast one of them"
    with pytest.raises(TypeError, match=told):
        pr.estimate(run, "rr", qrels=texts, model_qrels=model)
    small = human.with_columns(pl.col("query_id").cast(pl.Int16))
    found, expected = (
        pr.estimate(run, "rr", qrels=own, model_qrels=model) for own in (small, human)
    )
    assert_frame_equal(found, expected)


def test_the_model_must_know_what_people_judged(data):
    run, _, model = data
    with pytest.raises(pr.DataError, match="60 queries that people") as caught:
        pr.estimate(run, "rr", qrels=model, model_qrels=model.clear())
    assert caught.value.count == 60
