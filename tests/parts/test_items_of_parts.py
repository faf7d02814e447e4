"""Lists and catalogs of recommenders in parts: the same bits as of the whole."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from slow import slow
from test_recommendations import MEASURES, OF_ALL, Shop
from vocabularies import LIST_METRICS

import polars_rank as pr
from polars_rank.exceptions import DataError
from polars_rank.parts import Part, evaluate_parts
from polars_rank.parts.partial import PLAUSIBLE

PARTS = 3


def part(frame, i):
    return frame.filter(pl.col("user") % PARTS == i)


def about(shop):
    return {"history": shop.history, "items": shop.items}


OPTIONS = {"query": "user", "doc": "item", "missing": "zero"}


FEW = ["novelty@2", "coverage@3", "gini", "personalization@1", "pop_rsp@3"]


@pytest.mark.parametrize(
    ("by", "stats", "measures"),
    [
        (None, "mean", FEW),
        ("half", ["mean", "se"], FEW),  # an error takes a hundred expressions
        slow("half", ["mean", "n", "std"], [*MEASURES, *OF_ALL]),
    ],
)
def test_parts_add_up(by, stats, measures, tmp_path):
    shop = Shop(4, text=True)
    run = shop.run.with_columns(half=pl.col("user") % 2)
    qrels = shop.qrels.filter(pl.col("user").is_in(run["user"].unique().to_list()))
    asked = ["ndcg@3", *measures]
    evaluation = pr.Evaluation(asked, by=by, stats=stats, **OPTIONS)
    files = []
    for i in range(PARTS):
        one = evaluation.partial(part(run, i), qrels=part(qrels, i), **about(shop))
        files.append(tmp_path / f"{i}.parquet")
        one.write_parquet(files[-1])
    given = {"qrels": qrels, "by": by, "stats": stats, **OPTIONS, **about(shop)}
    whole = pr.evaluate(run, asked, **given)
    assert_frame_equal(evaluation.merge(files), whole, check_exact=True)
    both = evaluation.add(files[:2])
    assert_frame_equal(evaluation.merge([both, files[2]]), whole, check_exact=True)


@pytest.mark.slow
def test_broadcast_judgments_and_users_without_a_list():
    shop = Shop(5)
    asked = ["ndcg@3", *(f"{name}@3" for name in LIST_METRICS), *FEW]
    given = {"qrels": shop.qrels, **OPTIONS, **about(shop), "stats": ["mean", "se"]}
    parts = [Part(part(shop.run, i)) for i in range(PARTS)]
    found = evaluate_parts(parts, asked, **given)
    assert_frame_equal(found, pr.evaluate(shop.run, asked, **given), check_exact=True)


@pytest.mark.parametrize(
    "change",
    [
        lambda shop: {"history": shop.history[:-1]},
        lambda shop: {"items": shop.items.with_columns(category=pl.lit("x"))},
    ],
)
def test_parts_of_different_items_do_not_add_up(change):
    shop = Shop(6)
    run = shop.run.with_columns(label=0)
    evaluation = pr.Evaluation(["novelty@3", "coverage@3", "ild@3"], **OPTIONS)
    one = evaluation.partial(part(run, 0), **about(shop))
    other = evaluation.partial(part(run, 1), **about(shop) | change(shop))
    with pytest.raises(DataError, match="partial 2 was made with another history or"):
        evaluation.merge([one, other])


def test_values_of_a_part():
    shop = Shop(7)
    evaluation = pr.Evaluation(["ndcg@3", *MEASURES], **OPTIONS)
    own = {"qrels": part(shop.qrels, 1), **about(shop)}
    found = evaluation.per_query(part(shop.run, 1), **own).collect()
    given = {"qrels": shop.qrels, **OPTIONS, **about(shop)}
    whole = pr.per_query(shop.run, ["ndcg@3", *MEASURES], **given)
    assert_frame_equal(found, part(whole, 1), check_exact=True)


def test_damaged_counts_of_items_are_refused():
    shop = Shop(8)
    evaluation = pr.Evaluation(["coverage@3", "ndcg@3"], **OPTIONS)
    one = evaluation.partial(shop.run.with_columns(label=0), **about(shop))
    lost = pl.when(pl.col("measure") != "coverage@3").then("items").alias("items")
    with pytest.raises(DataError, match="column 'items' holds a number that no part"):
        evaluation.merge([one.with_columns(lost)])
    errors = pr.Evaluation("coverage@3", stats=["mean", "se"], **OPTIONS)
    one = errors.partial(shop.run.with_columns(label=0), **about(shop))
    with pytest.raises(DataError, match="has no column 'lists'"):
        errors.merge([one.drop("lists")])


def test_lists_without_labels_are_plausible():
    shop = Shop(7)
    unlabeled = shop.run.with_columns(label=pl.lit(None, pl.Int8))
    for asked, plausible in ((["coverage@3", "ild@3"], True), ("ndcg@3", False)):
        evaluation = pr.Evaluation(asked, query="user", doc="item")
        one = evaluation.partial(unlabeled, **about(shop))
        assert {*one[PLAUSIBLE]} == {plausible}, asked
