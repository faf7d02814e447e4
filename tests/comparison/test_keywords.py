"""Keywords that functions of comparisons pass on are those of what they call."""

import inspect
from typing import get_type_hints

import polars as pl
import pytest

import polars_rank as pr
from polars_rank.comparison.keywords import ComparisonOptions, RunOptions, SumOptions

RUN = pl.DataFrame(
    {
        "query_id": [1, 1, 2, 2] * 2,
        "doc_id": ["a", "b"] * 4,
        "score": [2.0, 1.0, 1.0, 1.0] * 2,
        "system": ["x"] * 4 + ["y"] * 4,
    }
)
QRELS = pl.DataFrame({"query_id": [1, 2], "doc_id": ["b", "a"], "label": [1, 1]})


def keywords(function):
    parameters = inspect.signature(function).parameters.values()
    return {p.name for p in parameters if p.kind is p.KEYWORD_ONLY}


def test_options_are_the_keywords_they_stand_for():
    own = keywords(pr.compare)
    runs = set(get_type_hints(RunOptions))
    assert set(get_type_hints(ComparisonOptions)) == own | runs
    assert not own & runs
    assert runs == keywords(pr.per_query) - {"query", "qrels", "keep"}
    sums = keywords(pr.comparison.moments) - {"by", "path", "part"}
    assert set(get_type_hints(SumOptions)) == sums


def test_measures_come_second():
    for function in (
        *(pr.compare, pr.gate, pr.comparison.moments, pr.comparison.power),
        *(pr.comparison.orders, pr.comparison.discriminative, pr.comparison.stability),
        *(pr.comparison.standardize, pr.comparison.trend, pr.comparison.reproduction),
    ):
        first, second, *rest = inspect.signature(function).parameters.values()
        assert (first.name, second.name) == ("values", "measures")
        assert all(p.kind in (p.KEYWORD_ONLY, p.VAR_KEYWORD) for p in rest)


def test_options_of_runs_are_passed_on():
    """The tie of the second query is averaged, or broken by the id."""
    means = [
        pr.compare(RUN, ["rr"], qrels=QRELS, ties=ties).means["mean"].to_list()
        for ties in ("expected", "doc_desc")
    ]
    assert means == [[0.625, 0.625], [0.5, 0.5]]
    judged = RUN.join(QRELS, on=["query_id", "doc_id"], how="left")
    for frame, told in ((RUN, {"qrels": QRELS}), (judged, {})):
        found = frame.rank_eval.compare("rr", ties="expected", test="sign", **told)
        assert found.means["mean"].to_list() == [0.625, 0.625]
        assert found.settings["test"] == "sign"


def test_options_of_values_are_refused():
    values = pl.DataFrame({"system": ["a", "b"], "query_id": [1, 1], "rr": [0.5, 1.0]})
    with pytest.raises(TypeError, match="ties= is for runs, which are evaluated"):
        pr.compare(values, ties="expected")
    with pytest.raises(TypeError, match="resample"):
        pr.compare({"a": RUN, "b": RUN}, ["rr"], qrels=QRELS, resample=99)


def test_measures_of_recommenders_are_compared():
    """Of two users who know a, one knows b: novelty@1 is 0 with a first, else 1."""
    history = pl.DataFrame({"query_id": [1, 2, 2], "doc_id": ["a", "a", "b"]})
    turned = pl.when(system="y").then(-pl.col("score")).otherwise("score")
    runs = RUN.with_columns(score=turned)
    options = {"qrels": QRELS, "ties": "doc_asc", "history": history}
    found = pr.compare(runs, "novelty@1", **options)
    assert found.means["mean"].to_list() == [0.0, 0.5]


def test_a_frame_that_tells_of_documents_is_a_run():
    """As are frames by name: whether labels are in it, or nobody needs any."""
    judged = RUN.join(QRELS, on=["query_id", "doc_id"], how="left")
    items = RUN.select("doc_id").unique()
    for given, measures in (
        ({"label": "label"}, ["rr"]),
        ({"doc": "doc_id"}, ["rr"]),
        ({"items": items}, ["coverage@1", "rr"]),
        ({"items": items}, ["coverage@1"]),
    ):
        runs = {n: judged.filter(system=n).drop("system") for n in ("x", "y")}
        named = pr.compare(runs, measures, **given)
        for found in (
            pr.compare(judged, measures, **given),
            judged.rank_eval.compare(measures, **given),
        ):
            assert found.pairs.equals(named.pairs)
            assert found.means.equals(named.means)
    with pytest.raises(ValueError, match="'doc_id' and 'score' tell of documents"):
        pr.compare(judged, ["rr"])
    values = judged.group_by("system", "query_id").agg(score=pl.col("score").mean())
    assert pr.compare(values, ["score"]).pairs.height == 1
