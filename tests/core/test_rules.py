"""A broken rule tells programs what people read in the message."""

from __future__ import annotations

import pickle

import polars as pl
import pytest

import polars_rank as pr
from polars_rank.core import rules
from polars_rank.core.rules import Rule

LOG = pl.DataFrame(
    {
        "query_id": ["p", "p", "q", "q"],
        "doc_id": ["a", "b", "a", "b"],
        "score": [2.0, 1.0, 2.0, 1.0],
        "label": [1.0, 0.0, 0.0, 1.0],
        "weight": [1.0, 1.0, 2.0, 2.0],
    }
)


def put(column: str, *values: object) -> pl.DataFrame:
    return LOG.with_columns(pl.Series(column, values))


RANKED = LOG.drop("score")
BROKEN = {
    "nan_score": (put("score", 1.0, float("nan"), 2.0, 1.0), {}, ("p",)),
    "null_score": (put("score", 1.0, 2.0, None, None), {}, ("q",)),
    "infinite_grade": (put("label", 0.0, 1.0, float("inf"), 1.0), {}, ("q",)),
    "null_doc": (put("doc_id", "a", None, "a", "b"), {}, ("p",)),
    "duplicate_doc": (put("doc_id", "a", "b", "c", "c"), {}, ("q",)),
    "null_query": (put("query_id", "p", "p", None, None), {}, ()),
    "invalid_rank": (
        RANKED.with_columns(place=pl.Series([1, 2, 0, 1])),
        {"rank": "place"},
        ("q",),
    ),
    "duplicate_rank": (
        RANKED.with_columns(place=pl.Series([1, 2, 3, 3])),
        {"rank": "place"},
        ("q",),
    ),
    "negative_grade": (
        put("label", 1.0, -1.0, 0.0, 1.0),
        {"convention": "sklearn"},
        ("p",),
    ),
    "gain_overflow": (put("label", 1.0, 0.0, 2000.0, 1.0), {}, ("q",)),
}


@pytest.mark.covering(2)
@pytest.mark.parametrize("rule", BROKEN)
@pytest.mark.parametrize("function", [pr.evaluate, pr.per_query])
@pytest.mark.parametrize("engine", ["in-memory", "streaming"])
def test_the_error_names_rule_count_and_queries(rule, function, engine):
    frame, options, queries = BROKEN[rule]
    measure = {"gain_overflow": "ndcg(gain=exp2)"}.get(rule, "ndcg")
    for given in (frame, frame.lazy()):
        with pytest.raises(pr.DataError) as caught:
            function(given, measure, **options).lazy().collect(engine=engine)
        error = caught.value
        assert (error.rule, error.examples) == (rule, queries)
        assert error.count is not None
        assert error.count >= 1
        assert str(error.count) in str(error)
        assert "python_udf" not in str(error), "Polars' plan is no part of the message"
        again = pickle.loads(pickle.dumps(error))
        assert (str(again), again.rule) == (str(error), rule)


def test_an_expression_names_the_rule():
    with pytest.raises(pr.DataError) as caught:
        BROKEN["nan_score"][0].select(pl.col("label").rank_eval.rr("score"))
    assert (caught.value.rule, caught.value.count) == ("nan_score", 1)


def test_a_forbidden_document_has_a_rule_of_its_own():
    def strict(r):
        r.forbid(r.label > 0.5, "labels above a half")
        return r.hits_at(1)

    with pytest.raises(pr.DataError, match=r"labels above a half \(") as caught:
        pr.evaluate(LOG, {"strict": strict})
    assert caught.value.rule == "forbidden"


def test_every_rule_has_a_name_of_its_own_and_a_way_out():
    written = [value for value in vars(rules).values() if isinstance(value, Rule)]
    names = [rule.name for rule in written]
    assert len(names) == len(set(names)) >= 18
    assert all(rule.message.count(";") + rule.message.count(":") for rule in written)


def test_other_errors_have_no_rule(tmp_path):
    error = pr.DataError("file: no such file")
    assert (error.rule, error.count, error.examples) == (None, None, ())
