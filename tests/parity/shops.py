"""Random shops: lists of items, a history, a test and a catalog, beside a tool."""

from __future__ import annotations

import random

import polars as pl
import pytest
from parity.record import record

import polars_rank as pr

ITEMS = 60
COLUMNS = {"query": "user_id", "doc": "item_id", "rank": "rank"}


class Shop:
    """Lists of 30 users; some users have no history, some items no interaction.

    ``lengths`` are those of lists, before what a ``fresh`` list leaves out: items that
    the user had before. A ``warm`` one has items with interactions alone.
    """

    def __init__(self, seed, *, lengths=(1, 3, 8, 20), fresh=False, warm=False):
        draw = random.Random(seed)
        users = range(30)
        popular = [i for i in range(ITEMS - 8) for _ in range(1 + 200 // (i + 1))]
        pairs = {(draw.choice(users[3:]), draw.choice(popular)) for _ in range(400)}
        # Repeats are interactions, too, but of one user.
        self.past = [pair for pair in sorted(pairs) for _ in range(draw.choice([1, 2]))]
        known = sorted({item for _, item in pairs}) if warm else range(ITEMS)
        self.lists = {}
        for user in users:
            own = draw.sample(known, draw.choice(lengths))
            self.lists[user] = [i for i in own if not fresh or (user, i) not in pairs]
        test = {(draw.choice(users), draw.randrange(ITEMS)) for _ in range(250)}
        self.test = sorted(test)
        self.tags = [[draw.randint(0, 1) for _ in range(6)] for _ in range(ITEMS)]
        self.vectors = [
            [float(draw.randint(1, 4)) for _ in "xyz"] for _ in range(ITEMS)
        ]

    @property
    def rows(self):
        """User, item and rank of all lists."""
        return [
            (user, item, rank)
            for user, own in self.lists.items()
            for rank, item in enumerate(own, 1)
        ]

    @property
    def items(self):
        """The catalog, with the features of its items."""
        tags = [[f"t{i}" for i, on in enumerate(row) if on] for row in self.tags]
        return pl.DataFrame(
            {
                "item_id": range(ITEMS),
                "tags": tags,
                "group": [i % 7 for i in range(ITEMS)],
                "vector": self.vectors,
            },
            schema_overrides={
                "tags": pl.List(pl.String),
                "vector": pl.Array(pl.Float64, 3),
            },
        )

    @property
    def qrels(self):
        """The test, as judgments."""
        pairs = pl.DataFrame(self.test, ["user_id", "item_id"], orient="row")
        return pairs.with_columns(label=1)

    def values(self, measure, **more):
        """Our value of each user."""
        run, frames = self._frames(more)
        found = pr.per_query(run, measure, missing="skip", **frames)
        return dict(found.iter_rows())

    def value(self, measure, **more):
        """Our value of all lists."""
        run, frames = self._frames(more)
        return pr.evaluate(run, measure, **frames).item(0, 1)

    def _frames(self, more):
        run = pl.DataFrame(self.rows, [*COLUMNS.values()], orient="row")
        if "qrels" not in more:
            run = run.with_columns(label=0)
        past = pl.DataFrame(self.past, ["user_id", "item_id"], orient="row")
        return run, {"history": past, "items": self.items, **COLUMNS, **more}


def shops(**how):
    """Twenty of them."""
    return [Shop(seed, **how) for seed in range(20)]


def agree(tool, name, ours, theirs, note="", tolerance=1e-12):
    """Compare the values of all users that a tool has, and record the distance."""
    gaps, cases = [0.0], 0
    for own, values in zip(ours, theirs, strict=True):
        assert own.keys() >= values.keys()
        for user, value in values.items():
            assert own[user] == pytest.approx(value, abs=tolerance), (name, user)
            gaps.append(abs(own[user] - value))
            cases += 1
    assert cases
    record(tool, name, max(gaps), cases, note)


def agree_on_all(tool, name, ours, theirs, note="", tolerance=1e-12):
    """Compare one value of each shop."""
    pairs = [({"all": a}, {"all": b}) for a, b in zip(ours, theirs, strict=True)]
    agree(tool, name, *zip(*pairs, strict=True), note, tolerance)
