"""Few rows in memory: a plan of their own, and the bits of all other layouts."""

from __future__ import annotations

import math
import re
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from vocabularies import METRICS

import polars_rank as pr

TIES = ["order", "doc_desc", "optimistic", "expected"]
TOGETHER = ["ndcg@10", "precision@5", "recall@20", "rr@10", "err@3"]
WITH_CUTOFF = [m for m in METRICS if pr.Measure.parse(m).definition.named("k")]


def log(queries: int, documents: int, seed: int = 0, *, grades: str = "integer"):
    """Rows in any order; equal scores, labels that are negative or unknown."""
    rng, n = np.random.default_rng(seed), queries * documents
    label = {
        "integer": rng.integers(-1, 4, n),
        "fraction": rng.random(n) * 3,
    }[grades]
    return pl.DataFrame(
        {
            "query_id": rng.permutation(np.repeat(np.arange(queries), documents)),
            "doc_id": rng.permutation(n),
            "score": rng.integers(0, documents, n),
            "label": pl.Series(label).set(pl.Series(rng.random(n) < 0.2), None),
        }
    )


def answers(rows: pl.DataFrame, measures, **options) -> tuple[list, list]:
    """The results, or the error, of the rows as few, and of the same ones as many."""
    found = []
    for frame, layout in ((rows, "auto"), (rows.lazy(), "any")):
        found.append([])
        for function in (pr.evaluate, pr.per_query):
            with warnings.catch_warnings(record=True) as told:
                warnings.simplefilter("always")
                try:
                    result = function(frame, measures, layout=layout, **options)
                    values = result.lazy().collect()
                except (pr.DataError, ValueError) as error:
                    values = re.sub(r" \(.*|: document .*", "", str(error))
            found[-1].append((values, [str(w.message) for w in told]))
    return found[0], found[1]


def assert_alike(rows: pl.DataFrame, measures, **options):
    for (few, told), (many, told_of_many) in zip(
        *answers(rows, measures, **options), strict=True
    ):
        assert told == told_of_many
        if isinstance(few, str):
            assert few == many
        else:
            assert few.schema == many.schema
            assert few.rows() == many.rows()  # no two values here are NaN


@pytest.mark.covering(1, rest=2)
@pytest.mark.parametrize("measure", WITH_CUTOFF)
@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("grades", ["integer", "fraction"])
@pytest.mark.parametrize("check", ["strict", "off"])
@pytest.mark.parametrize("k", [1, 10, 200])
def test_a_cutoff_has_the_bits_of_all_documents(measure, ties, grades, check, k):
    rows = log(3, 150, k, grades=grades)
    k_of = {pr.Measure.parse(measure).definition.cutoff: k}
    assert_alike(rows, pr.measure(measure, **k_of), ties=ties, check=check, rel=1)


@pytest.mark.parametrize("convention", ["trec_eval", "xgboost", "ranx", "gdeval"])
def test_measures_together_have_the_bits_of_all_documents(convention):
    rows = log(5, 60).with_columns(pl.col("label").clip(0))
    assert_alike(rows, TOGETHER, convention=convention)
    assert_alike(rows, [*TOGETHER, "ap"], convention=convention)


@pytest.mark.parametrize("on_duplicate", ["best", "keep_rank"])
def test_copies_have_the_bits_of_all_documents(on_duplicate):
    rows = log(4, 40).with_columns(pl.col("doc_id") % 30)
    assert_alike(rows, TOGETHER, on_duplicate=on_duplicate)


def slices(monkeypatch, measures, **options) -> set[str]:
    """How many rows a plan of few rows takes of a query."""
    plans = []
    collect = pl.LazyFrame.collect

    def seen(frame, **how):
        plans.append(frame.explain(optimized=False))
        return collect(frame, **how)

    monkeypatch.setattr(pl.LazyFrame, "collect", seen)
    pr.evaluate(log(2, 30), measures, doc=None, **options)
    return set(re.findall(r"length=(\d+)", " ".join(plans)))


@pytest.mark.parametrize(
    ("measures", "options", "expected"),
    [
        (["ndcg@7"], {}, {"7"}),
        (TOGETHER, {}, {"20"}),
        (["ndcg(gain=exp2)@7"], {}, {"7"}),
        (["ndcg(gain=exp2)@7"], {"check": "off"}, set()),  # infinity times 0
        (["ndcg@7", "ap"], {}, set()),
        (["ndcg@7"], {"ties": "expected"}, set()),
        (["ndcg@7"], {"max_rank": 9}, set()),
        ({"mine": lambda r: r.sum(r.gain() * r.in_top(7))}, {}, set()),
    ],
)
def test_only_documents_that_can_matter_are_kept(
    measures, options, expected, monkeypatch
):
    assert slices(monkeypatch, measures, **options) == expected


def test_what_is_no_number_below_a_cutoff_is_one_error_or_one_value():
    """0 times infinity is NaN: without checks, the value of all documents."""
    rows = log(1, 30, grades="fraction").with_columns(
        label=pl.when(pl.col("score") == pl.col("score").min())
        .then(math.inf)
        .otherwise(pl.col("label").fill_null(0.0))
    )
    for few, many in zip(*answers(rows, "dcg@3", ties="order"), strict=True):
        assert few == many
        assert few[0].startswith("grades that are NaN or infinite")
    for (few, _), (many, _) in zip(
        *answers(rows, "dcg@3", ties="order", check="off"), strict=True
    ):
        assert str(few["dcg@3"][0]) == str(many["dcg@3"][0])


def test_errors_come_before_warnings_and_only_they():
    rows = log(3, 10).with_columns(label=None, score=math.nan)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for function in (pr.evaluate, pr.per_query):
            with pytest.raises(pr.DataError, match="NaN"):
                function(rows, "ndcg@5")


def test_each_evaluation_warns_of_its_own_rows():
    rows = log(3, 10).with_columns(label=pl.lit(None, pl.Int64))
    for function in (pr.evaluate, pr.per_query):
        for _ in range(2):
            with pytest.warns(pr.DataWarning, match="is null in every row"):
                function(rows, "ndcg@5")


def test_plans_are_shared_by_threads_and_rows_are_not():
    logs = [log(3, 40, seed) for seed in range(12)]
    alone = [pr.per_query(rows, TOGETHER).rows() for rows in logs]
    with ThreadPoolExecutor(4) as pool:
        together = pool.map(lambda rows: pr.per_query(rows, TOGETHER).rows(), logs)
        assert list(together) == alone
