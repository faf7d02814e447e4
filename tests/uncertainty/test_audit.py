"""The audit: each row is an evaluation under another choice."""

from __future__ import annotations

import json
import math
import random

import polars as pl
import pytest
from vocabularies import METRICS

import polars_rank as pr
from polars_rank.conventions.choices import CHOICES
from polars_rank.uncertainty.audit.alternatives import alternatives


@pytest.fixture(scope="module")
def data():
    """Two systems; ties, unjudged documents, a missing query, one without relevance."""
    rng = random.Random(5)
    run, qrels = [], []
    for query in range(6):
        for doc in range(8):
            for system in ("a", "b"):
                if query != 3 or system == "a":
                    run.append((system, query, f"d{doc}", rng.randint(1, 4)))
            if rng.random() < 0.7:
                grade = 0 if query == 5 else rng.choice([0, 0, 1, 2])
                qrels.append((query, f"d{doc}", grade))
        qrels.append((query, "never", 1 if query % 2 == 0 else 0))
    return (
        pl.DataFrame(run, ["system", "query_id", "doc_id", "score"], orient="row"),
        pl.DataFrame(qrels, ["query_id", "doc_id", "label"], orient="row"),
    )


def evaluated(run, qrels, measure, system, **options):
    own = run.filter(pl.col("system") == system).drop("system")
    found = pr.evaluate(own, measure, qrels=qrels, check="off", **options)
    return found.to_series(1).item()


TWO = {"ties": ["order", "doc_asc"]}
WRITTEN = {
    ("gain", "exp2"): "ndcg(gain=exp2)@4",
    ("ideal", "retrieved"): "ndcg(ideal=retrieved)@4",
    ("discount", "position"): "ndcg(discount=position)@4",
    ("k", "8"): "ndcg@8",
    ("k", "2"): "ndcg@2",
}
CHANGED = {
    ("ties", "optimistic"): {"ties": "optimistic"},
    ("ties", "expected"): {"ties": "expected"},
    ("unjudged", "drop"): {"unjudged": "drop"},
    ("missing", "skip"): {"missing": "skip"},
    ("no_relevant", "one"): {"no_relevant": "one"},
}


@pytest.mark.slow
def test_each_row_is_an_evaluation_of_its_own(data):
    run, qrels = data
    found = pr.audit(run, "ndcg@4", qrels=qrels, system="system").values
    cells = {
        (row["choice"], row["value"], row["system"]): row
        for row in found.iter_rows(named=True)
    }
    for system in ("a", "b"):
        base = evaluated(run, qrels, "ndcg@4", system)
        for choice, text in WRITTEN.items():
            row = cells[*choice, system]
            assert row["baseline_mean"] == base
            assert row["mean"] == evaluated(run, qrels, text, system)
            assert row["difference"] == row["mean"] - base
        for choice, options in CHANGED.items():
            wanted = evaluated(run, qrels, "ndcg@4", system, **options)
            assert cells[*choice, system]["mean"] == wanted
    assert cells["missing", "skip", "b"]["difference"] > 0
    assert cells["missing", "skip", "a"]["difference"] == 0


def test_summary_is_sorted_and_names_the_swaps():
    """A third of the relevant documents for a; b finds another at place 3."""
    log = pl.DataFrame(
        {
            "system": ["a"] * 3 + ["b"] * 3,
            "query_id": [1] * 6,
            "doc_id": ["x", "y", "z", "y", "x", "w"],
            "score": [3, 2, 1] * 2,
        }
    )
    qrels = pl.DataFrame(
        {"query_id": [1, 1, 1], "doc_id": ["x", "w", "v"], "label": [2, 1, 1]}
    )
    found = pr.audit(log, "recall@2", qrels=qrels, system="system", choices={"k": [3]})
    assert found.choices.row(0, named=True) == {
        "measure": "recall@2", "choice": "k", "value": "3",
        "min_difference": 0.0,
        "max_difference": pytest.approx(1 / 3), "size": pytest.approx(1 / 3),
        "tau": None, "swapped": [], "significant_swaps": [], "note": None,
    }  # fmt: skip
    sizes = pr.audit(
        log, "dcg@2", qrels=qrels, system="system", choices=["k", "gain", "discount"]
    ).choices["size"]
    assert sizes.to_list() == sorted(sizes, reverse=True)
    assert sizes[0] > 0


def test_a_swap_is_named():
    log = pl.DataFrame(
        {
            "system": ["a", "a", "b", "b"],
            "query_id": [1] * 4,
            "doc_id": ["x", "y", "y", "x"],
            "score": [2, 1, 2, 1],
        }
    )
    qrels = pl.DataFrame({"query_id": [1, 1], "doc_id": ["x", "y"], "label": [1, 2]})
    found = pr.audit(
        log, "err@2", qrels=qrels, system="system", choices={"k": [1], "rel": []}
    )
    assert found.choices["swapped"].to_list() == [[]]
    # cg@1 is the gain of x for a, of y for b: 5 and 3; linear 1 and 2; binary 1 and 1.
    gains = pr.measure("cg", gain={1: 5.0, 2: 3.0}, name="mine") @ 1
    found = pr.audit(log, [gains], qrels=qrels, system="system", choices=["gain"])
    rows = {row["value"]: row for row in found.choices.iter_rows(named=True)}
    assert rows["linear"]["swapped"] == ["a, b"]
    assert rows["linear"]["tau"] == -1.0
    assert rows["binary"]["swapped"] == []
    assert "a, b" in found.verdict
    assert "2 of 3 alternatives swap" in found.verdict


def test_every_choice_of_conventions_is_tried():
    """A choice that is added appears by itself, or this fails."""
    everything = [
        pr.measure(name) for name in ("ndcg", "ap", "precision", "recall", "err")
    ]
    tried = {
        (a.choice, a.value)
        for a in alternatives(everything, pr.CONVENTIONS["trec_eval"], None)
    }
    wanted = {
        (name, value)
        for name, choice in CHOICES.items()
        for value in choice.values
        if value != getattr(pr.CONVENTIONS["trec_eval"], name)
    }
    refused = {
        ("missing", "error"), ("no_relevant", "error"), ("no_relevant", "null"),
        ("negative_grade", "error"),
    }  # fmt: skip
    # Rows with copies of a document are refused, so no rule for copies matters.
    idle = {("on_duplicate", "best"), ("on_duplicate", "keep_rank")}
    assert wanted - tried == refused | idle
    assert ("rel", 2) in tried


def test_cutoffs_duplicates_and_divisors_are_tried():
    """Beside what conventions choose."""
    measures = [pr.Measure.parse(name) for name in ("ndcg@10", "ap@10")]
    start = pr.CONVENTIONS["trec_eval"]
    found = alternatives(measures, start.replace(on_duplicate="best"), None)
    tried = {(a.measure, a.choice, a.value) for a in found}
    assert {("ndcg@10", "k", 5), ("ndcg@10", "k", 20)} <= tried
    assert ("ap@10", "ap_divisor", "min_k_R") in tried
    assert ("ndcg@10", "on_duplicate", "keep") in tried
    both = {"ties", "unjudged", "missing", "on_duplicate", "k"}
    assert ("ndcg@10", "on_duplicate", "keep_rank") in tried
    assert both | {"gain", "discount"} <= {c for m, c, _ in tried if m == "ndcg@10"}
    assert both | {"ap_divisor", "rel"} <= {c for m, c, _ in tried if m == "ap@10"}


@pytest.mark.slow
def test_every_metric_can_be_audited(data):
    run, qrels = data
    asked = [pr.measure(name) for name in METRICS if name not in ("hinge", "listmle")]
    found = pr.audit(run, asked, qrels=qrels, system="system", choices=["ties"])
    assert found.choices["measure"].n_unique() == len(
        [m for m in asked if m.definition.tie_sensitive]
    )


def test_weights_and_listed_queries_count_as_in_an_evaluation(data):
    run, qrels = data
    heavy = pl.DataFrame({"query_id": [0, 1, 2], "mass": [1.0, 3.0, 4.0]})
    asked = {"qrels": qrels, "queries": heavy, "weight": "mass"}
    found = pr.audit(run, "dcg@4", system="system", choices=["gain"], **asked)
    labels = {(q, d): y for q, d, y in qrels.rows()}
    for row in found.values.filter(value="binary").iter_rows(named=True):
        own = run.filter(system=row["system"])
        total = [0.0, 0.0]  # of labels as gains, and of relevant documents
        for query, mass in heavy.rows():
            top = own.filter(query_id=query).sort("score", "doc_id", descending=True)
            for place, doc in enumerate(top["doc_id"].head(4)):
                label = labels.get((query, doc)) or 0
                total[0] += mass * label / math.log2(place + 2)
                total[1] += mass * (label > 0) / math.log2(place + 2)
        means = [t / 8 for t in total]
        assert [row["baseline_mean"], row["mean"]] == pytest.approx(means)


def test_duplicates():
    log = pl.DataFrame(
        {
            "query_id": [1] * 3,
            "doc_id": ["x", "x", "y"],
            "score": [3, 2, 1],
            "label": [1, 1, 0],
        }
    )
    found = pr.audit(log, "hits", on_duplicate="best", choices=["on_duplicate"])
    assert found.values.select("baseline_mean", "mean").row(0) == (1.0, 2.0)
    with pytest.raises(pr.DataError, match="duplicate documents"):
        pr.audit(log, "hits")


def test_runs_by_name_functions_and_shortcuts(data):
    run, qrels = data
    runs = {name: run.filter(pl.col("system") == name).drop("system") for name in "ab"}
    asked = ["rr", {"mine": lambda r: r.hits_at(2)}]
    runs["a"] = runs["a"].with_columns(system=pl.lit("tag of the file"))
    found = pr.audit(runs, asked, qrels=qrels, ties="order", choices=TWO)
    whole = pr.audit(
        run, asked, qrels=qrels, system="system", ties="order", choices=TWO
    )
    assert found.values.equals(whole.values)
    assert "order" not in found.choices["value"]
    assert {"rr", "mine"} == {*found.choices["measure"]}


def test_shown(data):
    run, qrels = data
    tried = ["ties", "rel", "score_dtype", "negative_grade"]
    found = pr.audit(run, "rr", qrels=qrels, system="system", choices=tried)
    text = str(found)
    assert text.splitlines()[2].split() == [
        "measure", "choice", "value", "difference", "tau", "swapped", "significant",
    ]  # fmt: skip
    assert "No effect here: " in text
    assert "negative_grade" not in text  # no number under its other value
    assert found.to_markdown().count("\n|") >= 4
    assert r"\toprule" in found.to_latex()
    assert "<table" in found.to_html()
    assert json.dumps(found.to_dict())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"choices": ["tie"]}, "no choice 'tie'; did you mean 'ties'"),
        ({"choices": ["max_grade"]}, "nothing to audit"),
        ({"system": "sytem"}, "sytem"),
        ({"convention": "trec"}, "unknown convention 'trec'"),
    ],
)
def test_wrong_arguments(data, options, words):
    run, qrels = data
    with pytest.raises((ValueError, pl.exceptions.ColumnNotFoundError), match=words):
        pr.audit(run, "rr", qrels=qrels, **options)


@pytest.mark.slow
def test_bounds_of_what_is_not_known(data):
    run, qrels = data
    found = pr.audit(
        run,
        ["ndcg@4", "ap", "judged@4"],
        qrels=qrels,
        system="system",
        bounds=True,
        choices=["gain"],
    )
    rows = {(r["measure"], r["system"]): r for r in found.bounds.iter_rows(named=True)}
    assert len(rows) == 6
    for measure in ("ndcg@4", "ap"):
        for way in ("ties", "labels"):
            options = {"qrels": qrels, "system": "system", "over": way}
            for row in pr.bounds(run, measure, **options).iter_rows(named=True):
                ours = rows[measure, row["system"]]
                ends = ours["mean"], ours[f"{way}_lower"], ours[f"{way}_upper"]
                assert ends == (row["mean"], row["lower"], row["upper"])
    for system in "ab":  # labels have nothing to do with judged@4
        about = rows["judged@4", system]
        assert about["labels_lower"] is None
        assert about["ties_lower"] <= about["mean"] <= about["ties_upper"]
        assert "about who was judged" in about["note"]
    assert "\nBounds\n" in str(found)
    assert "over unknown labels" in found.to_markdown()
    assert found.to_dict()["bounds"][0]["measure"] == "ndcg@4"
    plain = pr.audit(run, "ap", qrels=qrels, system="system", choices=["ties"])
    assert plain.bounds is None
    assert found.differences["measure"].to_list() == ["ndcg@4", "ap", "judged@4"]
    for row in found.differences.head(2).to_dicts():
        options = {"qrels": qrels, "system": "system", "over": ["ties", "labels"]}
        told = pr.bounds(run, row["measure"], baseline="a", **options).row(
            0, named=True
        )
        for name in ("baseline", "system", "difference", "lower", "upper"):
            assert row[name] == told[name]
        assert row["better"] is None
    assert "about who was judged" in found.differences["note"][2]
    assert "Differences over all tied orders and unknown labels" in str(found)
    with pytest.raises(ValueError, match="goes without max_rank="):
        pr.audit(run, "ap", qrels=qrels, system="system", bounds=True, max_rank=5)


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["ndcg", "squared_error"])
def test_one_system_is_always_better(measure):
    """Whatever z is: its place is the same in both lists."""
    run = pl.DataFrame(
        {
            "system": ["good"] * 3 + ["bad"] * 3,
            "query_id": [1] * 6,
            "doc_id": [*"xyz", *"yxz"],
            "score": [3, 2, 1] * 2,
        }
    )
    qrels = pl.DataFrame({"query_id": [1, 1], "doc_id": ["x", "y"], "label": [1, 0]})
    asked = {"qrels": qrels, "system": "system", "bounds": True, "choices": ["ties"]}
    found = pr.audit(run, measure, **asked).differences
    row = found.row(0, named=True)
    assert (row["baseline"], row["system"], row["better"]) == ("bad", "good", "good")
    assert row["lower"] * row["upper"] > 0
    tied = run.with_columns(score=pl.lit(1))
    found = pr.audit(tied, measure, **asked).differences
    assert found["better"].to_list() == [None]


def test_a_depth_has_no_mean_over_tied_orders(data):
    run, qrels = data
    asked = {"qrels": qrels, "system": "system", "choices": ["ties"]}
    found = pr.audit(run, "ap", **asked, max_rank=5)
    ties = found.choices.filter(choice="ties")["value"].to_list()
    assert "optimistic" in ties
    assert "expected" not in ties


def test_measures_of_subtopics(data):
    run, qrels = data
    qrels = qrels.with_columns(subtopic=pl.lit("s"))
    asked = {"qrels": qrels, "subtopic": "subtopic", "choices": ["missing", "k"]}
    found = pr.audit(run.filter(system="a").drop("system"), "alpha_ndcg@3", **asked)
    assert "No effect here: missing (no judged query is missing)." in str(found)
    without = run.filter(pl.col("system") == "a", pl.col("query_id") != 0)
    found = pr.audit(without.drop("system"), "alpha_ndcg@3", **asked)
    assert "No effect" not in str(found)
