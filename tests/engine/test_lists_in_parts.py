"""Lists of items within ``memory_limit``: parts of the users change no number."""

from __future__ import annotations

import random
import re
import sys

import numpy as np
import polars as pl
import pytest
from faults import finish, program
from polars.testing import assert_frame_equal
from slow import slow

import polars_rank as pr
from polars_rank._engine.spill import budget
from polars_rank._engine.spill.budget import overhead, parse_memory_limit
from polars_rank._engine.stages.recommendation import in_parts
from polars_rank.core.source import lazy_source

USERS, ITEMS = 120, 60
COLUMNS = {"query": "user", "doc": "item"}
OF_ITEMS = ["ndcg@3", "novelty@3", "serendipity", "ild@4", "awrf@3"]
OF_USERS = ["unseen@3", "miscalibration@3", "content_serendipity@3"]
OF_ALL = ["coverage@3", "gini@3", "gini@1", "personalization@3"]
OF_TOTALS = ["pop_rsp@3", "treatment_ratio(protected)@3"]


def table(rows, names):
    return pl.DataFrame(rows, names, orient="row")


def shop(*, text=False):
    """Lists, judgments, history and items; ids are numbers or text."""
    draw = random.Random(5)
    name = "item {}".format if text else int
    lists = [
        (user, name(item), draw.randint(0, 3) / 1.0)
        for user in range(USERS)
        for item in draw.sample(range(ITEMS), draw.randint(1, 7))
    ]
    labels = [
        (user, name(item), draw.randint(0, 2))
        for user in range(1, USERS + 2)
        for item in draw.sample(range(ITEMS), 9)
    ]
    seen = [(draw.randrange(USERS), name(draw.randrange(ITEMS))) for _ in range(900)]
    about = [(name(i), draw.choice("xyz"), draw.random() < 0.4) for i in range(ITEMS)]
    return {
        "run": table(lists, ["user", "item", "score"]),
        "qrels": table(labels, ["user", "item", "label"]),
        "history": table(seen, ["user", "item"]),
        "items": table(about, ["item", "category", "protected"]),
    }


def evaluate(frames, asked, **options):
    run, *_ = frames.values()
    about = {name: frame for name, frame in frames.items() if name != "run"}
    found = pr.evaluate(
        run.lazy(), asked, missing="zero", **COLUMNS, **about, **options
    )
    return found.collect()


@pytest.fixture
def tiny(monkeypatch):
    """Parts of a few users."""
    small = budget.Budget(bucket=1 << 12, buffers=1 << 20)
    monkeypatch.setattr(budget.Budget, "of", lambda limit, factor: small)


@pytest.mark.parametrize(
    ("asked", "options"),
    [
        (OF_ITEMS + OF_ALL, {"stats": ["mean", "n", "se"]}),
        slow(OF_ITEMS + OF_ALL, {"by": pl.col("user") % 3}),
        (OF_ITEMS + OF_USERS + OF_ALL + OF_TOTALS, {"layout": "any"}),
        slow(OF_USERS, {"layout": "auto"}),
    ],
)
@pytest.mark.parametrize("text", [False, slow(True)])
def test_same_numbers(tiny, asked, options, text, tmp_path):
    frames = shop(text=text)
    bounded = {"memory_limit": "1GB", "temp_dir": tmp_path}
    found = evaluate(frames, asked, **options, **bounded)
    assert_frame_equal(found, evaluate(frames, asked, **options), check_exact=True)
    assert not any(tmp_path.iterdir())


def test_parts_are_evaluated_in_turn(tiny, monkeypatch):
    """The lists of a few users at a time, joined with the items of these alone."""
    told = []

    def heard(known, queries):
        items, facts = narrowed(known, queries)
        told.append((queries.height, facts.items.collect().height))
        return items, facts

    narrowed = in_parts._narrowed
    monkeypatch.setattr(in_parts, "_narrowed", heard)
    evaluate(shop(), ["novelty@3"], memory_limit="1GB")
    users, items = zip(*told, strict=True)
    assert sum(users) == USERS + 1  # one has judgments alone
    assert max(users) < 40
    assert max(items) < ITEMS


def test_a_history_that_is_read_once(tiny):
    """Its counts and the past of users are read apart: it is copied to a file first."""
    frames = shop()
    wanted = evaluate(frames, OF_ITEMS + OF_USERS)
    history, times = frames["history"], []

    def read(columns):
        times.append(1)
        yield history.select(columns)

    frames["history"] = lazy_source(read, history.schema, name="a stream")
    found = evaluate(frames, OF_ITEMS + OF_USERS, memory_limit="1GB")
    assert_frame_equal(found, wanted, check_exact=True)
    assert len(times) == 1


@pytest.mark.parametrize("asked", ["novelty@3", "unseen@3"])
def test_faults_count_once(tiny, asked):
    frames = shop()
    none = pl.DataFrame(
        {"user": [1, 2], "item": [None, None]}, frames["history"].schema
    )
    frames["history"] = pl.concat([frames["history"], none])
    messages = []
    for bounded in ({}, {"memory_limit": "1GB"}):
        with pytest.raises(pr.DataError, match="history") as error:
            evaluate(frames, asked, **bounded)
        messages.append(str(error.value))
    assert messages[0] == messages[1]


def test_a_catalog_that_does_not_fit(monkeypatch):
    """The limit in the message is enough."""
    monkeypatch.setattr(in_parts, "ITEM", 10**8 // ITEMS * 10)
    with pytest.raises(MemoryError, match="a catalog of 60 items, of which") as told:
        evaluate(shop(), "novelty@3", memory_limit="500MB")
    least = re.search(r'give memory_limit="(\d+MB)"', str(told.value))[1]
    assert evaluate(shop(), "novelty@3", memory_limit=least).height == 1


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_memory_stays_within_the_limit(tmp_path):
    """Of 400,000 lists, which take over 1 GB at once."""
    draw, users, each = np.random.default_rng(1), 400_000, 8
    user = np.repeat(np.arange(users, dtype=np.int32), each)
    for name in ("lists", "history"):
        item = (50_000 * draw.random(len(user)) ** 3).astype(np.int32)
        rows = pl.DataFrame({"user": user, "item": item})
        if name == "lists":
            rows = rows.unique(maintain_order=True)
            rows = rows.with_columns(rank=pl.int_range(1, pl.len() + 1).over("user"))
        rows.write_parquet(tmp_path / name)
    items = pl.DataFrame({"item": np.arange(50_000, dtype=np.int32)})
    items.with_columns(category=pl.col("item") % 20).write_parquet(tmp_path / "items")
    code = """
from pathlib import Path
import polars as pl
import polars_rank as pr
lists, history, items = (pl.scan_parquet(Path(sys.argv[1], name)) for name in FILES)
asked = ["unseen@8", "miscalibration@8", "novelty@8", "coverage@8"]
found = pr.evaluate(lists, asked, query="user", doc="item", rank="rank",
                    history=history, items=items, memory_limit=sys.argv[2])
assert found.collect()["queries"].item() == 400_000
told = Path("/proc/self/status").read_text()
print(1024 * int(told.split("VmHWM:")[1].split()[0]))
"""
    code = f"FILES = ('lists', 'history', 'items')\n{code}"
    limit = max(parse_memory_limit("500MB"), 3 * overhead())
    assert int(finish(program(code, tmp_path, limit, temp=tmp_path))) < limit
