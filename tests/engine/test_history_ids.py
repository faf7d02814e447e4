"""A history of other items, or other users, than those of the lists is told of."""

from __future__ import annotations

import warnings
from functools import partial

import polars as pl
import pytest

import polars_rank as pr
from polars_rank._engine.checks import enforce, history, totals

RECO = pl.DataFrame(
    {"user": [1, 1, 2, 2], "item": [5, 6, 5, 7], "score": [2.0, 1.0, 2.0, 1.0]}
)
QRELS = pl.DataFrame({"user": [1, 2], "item": [6, 5], "label": 1})
ITEMS = pl.DataFrame({"item": [5, 6, 7, 8], "genre": ["a", "b", "a", "b"]})
HISTORY = pl.DataFrame({"user": [1, 2, 3], "item": [8, 8, 5]})
IDS = {"query": "user", "doc": "item"}
OTHER_ITEMS = HISTORY.with_columns(pl.col("item") + 100)
OTHER_USERS = HISTORY.with_columns(pl.col("user") + 100)
OF_ITEMS = ["novelty@2", "mean_popularity", "tail_share@2", "epc@2", "unseen@2"]
OF_PAST = ["miscalibration(genre)@2", "content_serendipity(genre)@2"]


def evaluate(reco, measures, *, way, folder, history, **options):
    frames = {"history": history, "items": ITEMS, "qrels": QRELS} | options
    if way == "plans":
        frames = {
            n: f.lazy() if isinstance(f, pl.DataFrame) else f for n, f in frames.items()
        }
        return pr.evaluate(reco.lazy(), measures, **IDS, **frames).collect()
    if way == "files":
        for name, frame in {"reco": reco, "history": history}.items():
            frame.write_parquet(folder / f"{name}.parquet")
        frames["history"] = pl.scan_parquet(folder / "history.parquet")
        reco = pl.scan_parquet(folder / "reco.parquet")
        found = pr.evaluate(reco, measures, **IDS, **frames)
        return found.collect(engine="streaming")
    return pr.evaluate(reco, measures, **IDS, **frames)


@pytest.mark.parametrize("way", ["frames", "plans", "files"])
@pytest.mark.parametrize("measure", OF_ITEMS)
def test_a_history_of_other_items(measure, way, tmp_path):
    given = {"way": way, "folder": tmp_path, "history": OTHER_ITEMS}
    with pytest.raises(pr.DataError, match=r"no item of the lists is in history=") as e:
        evaluate(RECO, [measure], **given)
    assert e.value.rule == "no_common_item"
    assert all(word in str(e.value) for word in (measure, "5", "105", "doc="))
    with pytest.warns(pr.DataWarning, match="no item of the lists") as caught:
        evaluate(RECO, [measure], check="warn", **given)
    assert len(caught) == 1
    with warnings.catch_warnings(action="error"):
        evaluate(RECO, [measure], check="off", **given)
        evaluate(RECO, [measure], **given | {"history": HISTORY})


def test_lists_that_come_while_the_warning_is_written(monkeypatch):
    """One thread looks for the ids that it tells of, and another has lists, too."""
    others = []

    def passed(lists, columns, passes):
        def called(series):
            others.append(partial(passes, series))
            return passes(series)

        return enforce.passed(lists, columns, called)

    def first_ids(*given):
        if others:
            others.pop()()
        return totals.first_ids(*given)

    monkeypatch.setattr(history, "passed", passed)
    monkeypatch.setattr(history, "first_ids", first_ids)
    given = {"way": "frames", "folder": None, "history": OTHER_ITEMS}
    with pytest.warns(pr.DataWarning, match="no item of the lists") as caught:
        evaluate(RECO, ["novelty@2"], check="warn", **given)
    assert len(caught) == 1
    assert not others


@pytest.mark.parametrize("measure", OF_PAST)
def test_a_history_of_items_that_have_no_feature(measure, tmp_path):
    given = {"way": "frames", "folder": tmp_path, "history": OTHER_ITEMS}
    with pytest.raises(pr.DataError, match=r"no item of items= is in history="):
        evaluate(RECO, [measure], **given)
    # New items only, which have nothing to do with what is known about the past.
    past = HISTORY.with_columns(item=8)
    with warnings.catch_warnings(action="error"):
        evaluate(RECO, [measure], **given | {"history": past})


@pytest.mark.parametrize("way", ["frames", "plans", "files"])
@pytest.mark.parametrize("measure", ["unseen@2", *OF_PAST])
def test_a_history_of_other_users(measure, way, tmp_path):
    given = {"way": way, "folder": tmp_path, "history": OTHER_USERS}
    told = r"no user of the lists is in history=.* like 1, 2, history= like 101, 102"
    with pytest.warns(pr.DataWarning, match=told) as caught:
        evaluate(RECO, [measure, "novelty@2"], **given)
    assert [measure in str(one.message) for one in caught] == [True]
    assert "novelty" not in str(caught[0].message)
    with warnings.catch_warnings(action="error"):
        evaluate(RECO, ["novelty@2", "mean_popularity"], **given)
        evaluate(RECO, [measure], check="off", **given)


def test_items_that_are_none_of_the_catalog(tmp_path):
    strange = ITEMS.with_columns(pl.col("item") + 100)
    given = {"way": "frames", "folder": tmp_path, "history": HISTORY}
    with pytest.raises(pr.DataError, match="items are not in items=") as caught:
        evaluate(RECO, ["ild(genre)@2"], items=strange, **given)
    assert caught.value.rule == "unknown_item"


@pytest.mark.parametrize("way", ["frames", "files"])
def test_one_in_common_is_enough_wherever_it_is(way, tmp_path):
    """It is in the last of more lists than are looked at."""
    users, far = range(1, 400), {"history": OTHER_ITEMS, "qrels": None, "items": None}
    reco = pl.DataFrame({"user": users, "item": users, "score": 1.0, "label": 0})
    reco = reco.with_columns(item=pl.col("item") + 1000)
    given = {"way": way, "folder": tmp_path, **far}
    with pytest.raises(pr.DataError, match="no item of the lists"):
        evaluate(reco, ["novelty@2"], **given)
    last = reco.with_columns(item=pl.when(user=399).then(105).otherwise(pl.col("item")))
    with warnings.catch_warnings(action="error"):
        evaluate(last, ["novelty@2"], **given)


def test_parts_and_streams_are_not_judged():
    """A part may have nothing in common, and a stream cannot be read again."""
    log = RECO.with_columns(label=0)
    with warnings.catch_warnings(action="error"):
        pr.Evaluation("novelty@2", **IDS).partial(log, history=OTHER_ITEMS)
        stream = pl.scan_arrow_c_stream(OTHER_ITEMS.to_arrow().to_reader())
        pr.evaluate(log, "novelty@2", history=stream, **IDS)


def test_within_a_limit_of_memory(tmp_path):
    given = {"way": "files", "folder": tmp_path, "memory_limit": "1GB"}
    with pytest.raises(pr.DataError, match="no item of the lists"):
        evaluate(RECO, ["novelty@2"], history=OTHER_ITEMS, **given)
    with pytest.warns(pr.DataWarning, match="no user of the lists") as caught:
        evaluate(RECO, ["unseen@2"], history=OTHER_USERS, **given)
    assert len(caught) == 1
