"""Recipes of the guide to recommenders, run on random data, beside plain loops."""

from __future__ import annotations

import math
import random
import re
from itertools import product
from pathlib import Path

import polars as pl
import pytest

import polars_rank as pr

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "recommend.md"
BLOCKS = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.S)
ITEMS = range(9)


def recipe(word: str, start: str, **frames: pl.DataFrame) -> dict:
    """Run a recipe from the line that begins so, without what it asserts."""
    (block,) = (b for b in BLOCKS if word in b)
    code = block[block.index(start) :]
    names = {"pl": pl, "pr": pr, "math": math, **frames}
    exec(re.sub(r"(?m)^assert .*$", "", code), names)
    return names


@pytest.mark.parametrize("seed", range(5))
def test_expected_exposure_of_lists_that_are_drawn(seed):
    draw = random.Random(seed)
    lists, liked = {}, {}
    for user in range(4):
        liked[user] = set(draw.sample(ITEMS, draw.randint(1, 4)))
        for number in range(draw.choice([1, 2, 5])):
            lists[user, number] = draw.sample(ITEMS, draw.randint(1, 6))
    rows = [
        (*key, item, rank)
        for key, own in lists.items()
        for rank, item in enumerate(own, 1)
    ]
    names = ["user_id", "draw", "item_id", "rank"]
    drawn = pl.DataFrame(rows, names, orient="row")
    pairs = [(user, item) for user, own in liked.items() for item in own]
    likes = pl.DataFrame(pairs, ["user_id", "item_id"], orient="row")
    catalog = [*ITEMS]
    items = pl.DataFrame({"item_id": catalog})
    found = recipe(
        "exposure_disparity",
        "wanted =",
        drawn=drawn,
        liked=likes.with_columns(label=1),
        items=items,
    )
    assert found["found"].height == 4
    for user, disparity, relevance, loss in found["found"].rows():
        own = [items for (who, _), items in lists.items() if who == user]
        mean = dict.fromkeys(catalog, 0.0)
        for items, item in product(own, catalog):
            if item in items:
                mean[item] += 0.5 ** items.index(item) / len(own)
        places = [0.5**i for i in range(len(catalog))]
        m = len(liked[user])
        high, low = sum(places[:m]) / m, sum(places[m:]) / max(1, len(catalog) - m)
        due = {i: high if i in liked[user] else low for i in catalog}
        assert disparity == pytest.approx(sum(e * e for e in mean.values()))
        assert relevance == pytest.approx(sum(mean[i] * due[i] for i in catalog))
        squared = sum((mean[i] - due[i]) ** 2 for i in catalog)
        assert loss == pytest.approx(squared, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_items_that_go_together(seed):
    draw = random.Random(seed)
    had = [(draw.randrange(6), draw.choice(ITEMS[:8])) for _ in range(25)]
    top = [(u, i) for u in range(3) for i in draw.sample(ITEMS, draw.randint(2, 5))]
    ids = ["user_id", "item_id"]
    given = {
        "history": pl.DataFrame(had, ids, orient="row"),
        "top": pl.DataFrame(top, ids, orient="row"),
    }
    found = recipe("def alike", "had =", **given)

    def alike(a, b):
        first, second = ({u for u, i in had if i == item} for item in (a, b))
        shared = len(first & second)
        return shared / math.sqrt(len(first) * len(second)) if shared else 0.0

    def mean(values):
        return sum(values) / len(values)

    lists = {u: [i for who, i in top if who == u] for u, _ in top}
    pasts = {u: {i for who, i in had if who == u} for u, _ in top}
    assert dict(found["ild"].rows()) == pytest.approx(
        {
            u: mean([1 - alike(a, b) for a in o for b in o if a != b])
            for u, o in lists.items()
        }
    )
    new = {(u, i): value for u, i, value in found["new"].rows()}
    assert new == pytest.approx(
        {(u, i): mean([1 - alike(i, j) for j in pasts[u]]) for u, i in top if pasts[u]}
    )
