"""Measures of users' lists and of the catalog, against plain loops."""

from __future__ import annotations

import random
import warnings
from collections import defaultdict
from functools import partial
from itertools import product

import polars as pl
import pytest
from plain_ranks import plain_hash
from polars.testing import assert_frame_equal
from reference import fairness
from reference import recommendation as plain
from slow import slow
from vocabularies import CATALOG_METRICS, LIST_METRICS, TOTALS_METRICS

import polars_rank as pr
from polars_rank import analysis
from polars_rank.exceptions import DataError

MEASURES = [
    *(f"{name}@{k}" for name in LIST_METRICS for k in (1, 3)),
    *(name for name in LIST_METRICS if name not in ("surprisal", "category_diversity")),
    "novelty(of=interactions)@3",
    "mean_popularity(normalize=True)@3",
    "tail_share(head=0.3)@3",
    "tail_items(head=0.3)@3",
    "epc(rel=2)@3",
    "serendipity(rel=2)@3",
    "ild(feature=tags)@3",
    "ild(feature=tags)",
    "ild(feature=vector)@3",
    "ild(feature=vector, undefined=0)",
    "user_coverage(least=2)@3",
    "miscalibration(alpha=0.2)@3",
    *(f"rnd(step={step}){at}" for step in (2, 3) for at in ("", "@3", "@4")),
    "content_serendipity(rel=2)@3",
    "content_serendipity(vector)@3",
    "content_serendipity(feature=vector, rel=2)",
    *(
        f"{name}({given})"
        for name in ("awrf", "miscalibration")
        for given in ("tags", "feature=tags, k=1", "feature=tags, k=3")
    ),
    "exposure_loss(p=0.9)@3",
    "exposure_loss(rel=2)",
    "exposure_relevance(rel=2, p=0.8)@3",
]
CATALOG = [
    *(f"{name}@{k}" for name in CATALOG_METRICS for k in (1, 3)),
    *CATALOG_METRICS,
    "gini(over=recommended)@3",
    "gini(normalize=False)@3",
]
TOTALS = [
    *(f"{name}@{k}" for name in TOTALS_METRICS for k in (1, 3)),
    *TOTALS_METRICS,
    "pop_rsp(head=0.3)@3",
    "pop_reo(head=0.3)@3",
    "pop_reo(rel=2)@3",
]
# Each way of counting items: an error takes a hundred expressions for every measure.
COUNTED = ["coverage@1", "gini@3", "entropy", "personalization@3"]
OF_ALL = [*CATALOG, *TOTALS]
COLUMNS = {"query": "user", "doc": "item"}


class Shop:
    """Random lists, judgments, history and items; ids are numbers or text."""

    def __init__(self, seed, *, text=False):
        draw, mark = random.Random(seed), random.Random(f"mark {seed}")
        name = (lambda i: f"i{i}") if text else (lambda i: i)
        catalog = [name(i) for i in range(12)]
        self.features = {
            item: {
                "category": draw.choice("xyz"),
                "tags": draw.sample("abcd", draw.randint(0, 3)),
                "vector": [float(draw.randint(-2, 2)) for _ in range(3)],
                "protected": mark.random() < 0.4,
            }
            for item in catalog
        }
        users = range(1, 9)
        self.pairs = [(draw.choice(users), draw.choice(catalog[:9])) for _ in range(40)]
        self.lists = {}
        rows = []
        for user in users[:-1]:  # the last one has no list
            items = draw.sample(catalog, draw.randint(1, 6))
            scores = [draw.randint(0, 3) for _ in items]
            rows += [(user, i, float(s)) for i, s in zip(items, scores, strict=True)]
            # Equal scores: the larger id first, as text.
            order = sorted(zip(scores, map(str, items), items, strict=True))[::-1]
            self.lists[user] = [item for _, _, item in order]
        self.labels = defaultdict(dict)
        for user in users[1:]:
            for item in draw.sample(catalog, 5):
                self.labels[user][item] = draw.choice([0, 1, 1, 2])
        draw.shuffle(rows)
        self.run = pl.DataFrame(rows, ["user", "item", "score"], orient="row")
        self.qrels = pl.DataFrame(
            [(u, i, n) for u, own in self.labels.items() for i, n in own.items()],
            ["user", "item", "label"],
            orient="row",
        )
        self.history = pl.DataFrame(self.pairs, ["user", "item"], orient="row")
        self.items = pl.DataFrame(
            [{"item": item, **about} for item, about in self.features.items()],
            schema_overrides={"vector": pl.Array(pl.Float64, 3)},
        )

    @property
    def log(self):
        """The lists with their labels."""
        return self.run.join(self.qrels, on=["user", "item"], how="left")

    @property
    def listed_labels(self):
        """The labels of the listed items."""
        return {
            user: {i: n for i, n in self.labels[user].items() if i in items}
            for user, items in self.lists.items()
        }

    @property
    def frames(self):
        return {"history": self.history, "items": self.items, **COLUMNS}

    @property
    def known(self):
        return plain.History(self.pairs, self.features)


def arguments(text):
    measure = pr.Measure.parse(text)
    return measure.metric, measure.arguments


def expected(shop, user, text, labels):
    name, given = arguments(text)
    own = shop.lists.get(user, [])
    return plain.LISTS[name](own, user, labels[user], shop.known, **given)


@pytest.mark.covering(1)
@pytest.mark.parametrize("layout", ["any", "contiguous", "auto"])
@pytest.mark.parametrize("judged", [True, False])
def test_lists_equal_plain_loops(judged, layout):
    for seed in range(6):
        shop = Shop(seed, text=seed % 2 == 1)
        run = shop.run.sort("user", maintain_order=True)
        qrels = shop.qrels if judged else None
        if not judged:
            run = shop.log.sort("user", maintain_order=True)
        rows = pr.per_query(
            run if seed % 3 else run.lazy(),
            ["ndcg@3", *MEASURES],
            qrels=qrels,
            missing="zero" if judged else None,
            no_relevant="zero",
            layout=layout,
            **shop.frames,
        )
        rows = rows.lazy().collect()
        assert rows.height == (len(shop.labels) if judged else len(shop.lists))
        labels = shop.labels if judged else shop.listed_labels
        for row in rows.iter_rows(named=True):
            for text in MEASURES:
                wanted = expected(shop, row["user"], text, labels)
                near = None if wanted is None else pytest.approx(wanted, abs=1e-12)
                assert row[text] == near, (seed, row["user"], text)


def test_shares_of_categories_equal_the_loops_of_somebody_else():
    """Written from the papers by another author, with all categories at once."""
    for seed, feature in product(range(20, 30), ("category", "tags")):
        shop = Shop(seed)
        genres = {item: about[feature] for item, about in shop.features.items()}
        past = {u: [i for who, i in shop.pairs if who == u] for u in shop.lists}
        target = defaultdict(float)
        for own in genres.values():
            for genre in own:  # a category is one letter
                target[genre] += 1 / len(own)
        for k in (1, 3, None):
            at = "" if k is None else f"@{k}"
            asked = [f"miscalibration(alpha=0.05, feature={feature}){at}"]
            asked.append(f"awrf({feature}){at}")
            run = shop.run.with_columns(label=0)
            found = pr.per_query(run, asked, **shop.frames)
            wanted = (
                fairness.calibration(shop.lists, past, genres, k, alpha=0.05),
                fairness.awrf(shop.lists, genres, target, k),
            )
            for user, *values in found.iter_rows():
                for name, value, loop in zip(asked, values, wanted, strict=True):
                    near = (
                        loop[user]
                        if loop[user] is None
                        else pytest.approx(loop[user], abs=1e-12)
                    )
                    assert value == near, (seed, user, name)


@pytest.mark.parametrize("dtype", [pl.Int8, pl.Int32, pl.UInt16, pl.UInt32, pl.UInt64])
def test_ids_of_any_width(dtype):
    """Pairs of narrow numbers are counted in another way; so are negative ones."""
    shop = Shop(11)
    shift = 5 if dtype in (pl.Int8, pl.Int32) else 0
    frames = {"run": shop.run.with_columns(label=0), "history": shop.history}
    asked = ["novelty@3", "surprisal@3", "mean_popularity@3", "unseen@3"]

    def values(dtype):
        ids = (pl.col("user", "item") - shift).cast(dtype)
        run, history = (frame.with_columns(ids) for frame in frames.values())
        # Ids that settle ties are text.
        return pr.evaluate(run, asked, history=history, ties="order", **COLUMNS)

    assert_frame_equal(values(dtype), values(pl.Int64), check_exact=True)


@pytest.mark.parametrize(
    ("ties", "wanted"), [("optimistic", 1), ("pessimistic", 1 / 2)]
)
def test_equal_scores_and_labels_go_by_id(ties, wanted):
    """Of two tied items 9 is the larger as text; another list has 10 alone."""
    run = pl.DataFrame({"user": [1, 1, 2], "item": [9, 10, 10], "score": 1, "label": 0})
    for rows in (run, run.reverse()):
        items = pl.DataFrame({"item": [9, 10]})
        found = pr.evaluate(rows, "coverage@1", items=items, ties=ties, **COLUMNS)
        assert found["coverage@1"].item() == wanted


def test_accuracy_does_not_change_beside_them():
    shop = Shop(3)
    accuracy = ["ndcg@3", "ap", "recall@3", "rr", "precision@5"]
    beside = pr.per_query(
        shop.run, [*accuracy, *MEASURES], qrels=shop.qrels, missing="zero",
        **shop.frames,
    )  # fmt: skip
    alone = pr.per_query(
        shop.run, accuracy, qrels=shop.qrels, missing="zero", **COLUMNS
    )
    assert_frame_equal(beside.select(alone.columns), alone, check_exact=True)


def test_the_catalog_equals_plain_loops():
    for seed in range(6):
        shop = Shop(seed, text=seed % 2 == 1)
        (row,) = pr.evaluate(
            shop.run.with_columns(label=0), CATALOG, **shop.frames
        ).to_dicts()
        for text in CATALOG:
            name, given = arguments(text)
            lists = shop.lists.values()
            wanted = plain.CATALOGS[name](lists, shop.known, **given)
            near = None if wanted is None else pytest.approx(wanted, abs=1e-12)
            assert row[text] == near, (seed, text)


@pytest.mark.covering(1)
@pytest.mark.parametrize("layout", ["any", "contiguous", "auto"])
@pytest.mark.parametrize("missing", ["zero", "skip"])
@pytest.mark.parametrize("judged", [True, False])
def test_totals_equal_plain_loops(judged, missing, layout):
    """Relevant items count whether or not a list has them."""
    compared = 0
    for seed in range(30, 36):
        shop = Shop(seed, text=seed % 2 == 1)
        run = shop.run.sort("user", maintain_order=True)
        if not judged:  # others than the listed ones are unknown
            run = shop.log.sort("user", maintain_order=True)
        (row,) = pr.evaluate(
            run if seed % 3 else run.lazy(),
            ["ndcg@3", *TOTALS],
            qrels=shop.qrels if judged else None,
            missing=missing if judged else None,
            no_relevant="zero",
            layout=layout,
            **shop.frames,
        ).lazy().collect().to_dicts()  # fmt: skip
        users = shop.lists.keys() if not judged else shop.labels.keys()
        if judged and missing == "skip":
            users = users & shop.lists.keys()
        lists = {user: shop.lists.get(user, []) for user in users}
        labels = shop.labels if judged else shop.listed_labels
        for text in TOTALS:
            name, given = arguments(text)
            wanted = plain.TOTALS[name](lists, labels, shop.known, **given)
            near = None if wanted is None else pytest.approx(wanted, abs=1e-12)
            assert row[text] == near, (seed, text)
            compared += wanted not in (None, 0.0)
    assert compared > 3 * len(TOTALS)


def test_totals_of_popularity_equal_the_loops_of_somebody_else():
    """Written from the paper by another author, with sets of items."""
    for seed in range(20, 32):
        shop = Shop(seed)
        past = {u: [i for who, i in shop.pairs if who == u] for u in range(9)}
        users = shop.lists.keys() & shop.labels.keys()
        lists = {user: shop.lists[user] for user in users}
        about = past, [*shop.features]
        for k, head in ((1, 0.8), (3, 0.5), (None, 0.8)):
            at = "" if k is None else f"@{k}"
            asked = [f"pop_rsp(head={head}){at}", f"pop_reo(head={head}){at}"]
            given = {"qrels": shop.qrels, "missing": "skip", **shop.frames}
            found = pr.evaluate(shop.run, asked, **given).row(0)[1:]
            wanted = (
                fairness.pop_rsp(lists, *about, k, head),
                fairness.pop_reo(lists, shop.labels, *about, k, head),
            )
            for value, loop in zip(found, wanted, strict=True):
                assert value == (loop if loop is None else pytest.approx(loop))


def test_exposure_equals_the_loops_of_somebody_else():
    """Written from the papers by another author; a catalog of one user's items."""
    names = {"EE-L": "exposure_loss", "EE-D": "exposure_disparity"}
    names |= {"EE-R": "exposure_relevance"}
    for seed in range(20, 32):
        shop = Shop(seed)
        for user in shop.lists.keys() & shop.labels.keys():
            own = {*shop.lists[user], *shop.labels[user]}
            items = shop.items.filter(pl.col("item").is_in(own))
            given = {"qrels": shop.qrels.filter(user=user), **COLUMNS, "items": items}
            given["check"] = "off"  # of lists without a judged item
            for k, p in ((2, 0.5), (None, 0.8)):
                at = "" if k is None else f"@{k}"
                asked = [f"{name}(p={p}){at}" for name in names.values()]
                run = shop.run.filter(user=user)
                found = pr.per_query(run, asked, **given).row(0)[1:]
                lists, labels = {user: shop.lists[user]}, {user: shop.labels[user]}
                loop = fairness.expected_exposure(lists, labels, k, p)[user]
                wanted = (None,) * 3 if loop is None else (*map(loop.get, names),)
                assert found == pytest.approx(wanted, abs=1e-12), (seed, user)


def test_discounted_differences_equal_the_loops_of_somebody_else():
    """Of longer lists, with the steps of the paper, too."""
    compared = 0
    for seed in range(8):
        draw = random.Random(seed)
        share = draw.choice([0.1, 0.5, 0.9])
        marks = {item: draw.random() < share for item in range(60)}
        lists = {u: draw.sample(range(60), draw.choice([3, 10, 35])) for u in range(6)}
        rows = [(u, i, r) for u, own in lists.items() for r, i in enumerate(own, 1)]
        run = pl.DataFrame(rows, ["user", "item", "rank"], orient="row")
        items = pl.DataFrame({"item": [*marks], "protected": marks.values()})
        asked, given = ["rnd", "rnd(step=3)", "rnd(step=4)@20"], [(None, 10), (None, 3)]
        given.append((20, 4))
        found = pr.per_query(run, asked, items=items, rank="rank", **COLUMNS)
        text = {item: str(marked) for item, marked in marks.items()}
        for user, *values in found.iter_rows():
            for value, (k, step) in zip(values, given, strict=True):
                wanted = fairness.rnd(lists[user][:k], text, "True", step)
                assert value == (wanted if wanted is None else pytest.approx(wanted))
                compared += wanted is not None
    assert compared > 50


@pytest.mark.parametrize("impact", [False, True])
def test_exposure_ratios_equal_the_loops_of_somebody_else(impact):
    name = "impact_ratio" if impact else "treatment_ratio"
    compared = 0
    for seed in range(20, 32):
        shop = Shop(seed)
        lists = {u: own for u, own in shop.lists.items() if u in shop.labels}
        marks = {i: str(about["protected"]) for i, about in shop.features.items()}
        for k in (1, 3, None):
            given = {"qrels": shop.qrels, "missing": "skip", **shop.frames}
            at = "" if k is None else f"@{k}"
            found = pr.evaluate(shop.run, name + at, **given).item(0, 1)
            groups = ("True", "False")
            wanted = fairness.exposure_ratio(
                lists, shop.labels, marks, groups, impact, k
            )
            assert found == (wanted if wanted is None else pytest.approx(wanted))
            compared += bool(wanted)
    assert compared > 20


def test_the_group_is_boolean():
    shop = Shop(7)
    given = {"missing": "skip", "qrels": shop.qrels, **shop.frames}
    with pytest.raises(TypeError, match=r"'category' must be Boolean, true for items"):
        pr.evaluate(shop.run, "treatment_ratio(category)@3", **given)
    items = shop.items.with_columns(
        protected=pl.when(pl.col("item") > 8).then("protected")
    )
    rule = "column 'protected': the feature of a recommended"
    with pytest.raises(DataError, match=rule):
        pr.evaluate(shop.run, "impact_ratio@3", **given | {"items": items})


def test_relevant_items_that_the_history_lacks():
    """Exposure is shared by the items of the catalog, which has to have them."""
    run = pl.DataFrame({"user": 1, "item": ["a", "b"], "score": [2.0, 1.0]})
    history = pl.DataFrame({"user": 2, "item": ["a", "b", "c"]})
    qrels = pl.DataFrame({"user": 1, "item": ["a", "z"], "label": [1, 1]})
    given = {"qrels": qrels, "history": history, **COLUMNS}
    with pytest.raises(DataError, match=r"relevant items are not in history="):
        pr.evaluate(run, "exposure_loss", **given)
    items = pl.DataFrame({"item": ["a", "b", "c", "z"]})
    pr.evaluate(run, "exposure_loss", **given, items=items)
    with pytest.warns(pr.DataWarning, match="no user of the lists is in history="):
        pr.evaluate(run, "pop_reo", **given)  # has no number of items


def test_totals_are_weighted():
    """Equal weights change nothing; a user of weight 0 does not count."""
    shop = Shop(3)
    given = {"missing": "skip", "qrels": shop.qrels, **shop.frames}

    def values(weight, **more):
        run = shop.run.with_columns(weight=weight)
        return pr.evaluate(run, TOTALS, weight="weight", **given, **more)

    plainly = pr.evaluate(shop.run, TOTALS, **given)
    assert_frame_equal(values(pl.lit(2.5)), plainly, rel_tol=1e-12)
    judged = shop.lists.keys() & shop.labels.keys()
    users = pl.DataFrame({"user": [*(judged - {2})]})
    fewer = pr.evaluate(shop.run, TOTALS, queries=users, **given)
    found = values((pl.col("user") != 2).cast(pl.Float64))
    assert_frame_equal(found.drop("queries"), fewer.drop("queries"), rel_tol=1e-12)
    assert not found.equals(plainly)


def audience(users, seed, *, text=False):
    """Lists of up to four of thirty items; few users have a group for themselves."""
    draw = random.Random(seed)
    name = (lambda i: f"i{i}") if text else (lambda i: i)
    catalog, weights = [name(i) for i in range(30)], [1 / (i + 1) for i in range(30)]
    lists = {}
    for user in range(users):
        taken = dict.fromkeys(draw.choices(catalog, weights, k=draw.randint(1, 4)))
        lists[f"u{user}" if text else user] = [*taken]
    rows = [(u, i, -n) for u, own in lists.items() for n, i in enumerate(own)]
    run = pl.DataFrame(rows, ["user", "item", "score"], orient="row")
    return lists, run, pl.DataFrame({"item": catalog})


def group_of(user):
    return plain_hash(str(user)) % 20


@pytest.mark.parametrize(
    ("users", "text", "measures"),
    [(users, text, COUNTED) for users in (1, 3) for text in (False, True)]
    + [(90, False, CATALOG), (90, True, COUNTED)],
)
def test_errors_of_the_catalog_equal_plain_loops(users, text, measures):
    lists, run, items = audience(users, seed=users, text=text)
    stats = ["mean", "n", "se", "std", "median"]
    table = pr.evaluate(run, measures, stats=stats, items=items, **COLUMNS)
    found = table.row(0, named=True)
    known = plain.History([], dict.fromkeys(items["item"]))
    for measure in measures:
        name, given = arguments(measure)
        value = partial(plain.CATALOGS[name], history=known, **given)
        wanted = plain.jackknife(lists, group_of, value)
        near = None if wanted is None else pytest.approx(wanted, rel=1e-9, abs=1e-12)
        assert found[f"{measure}_se"] == near, measure
        assert found[f"{measure}_n"] == users
        assert found[f"{measure}_std"] is found[f"{measure}_median"] is None
    assert users < 90 or found["coverage@1_se"] > 0
    means = pr.evaluate(run, measures, items=items, **COLUMNS)
    assert_frame_equal(table.select(means.columns), means, rel_tol=1e-14)


@pytest.mark.parametrize("memory_limit", [None, "500MB"])
def test_errors_of_the_catalog_of_each_system(memory_limit):
    """A user is in one group, whichever systems make lists for the user."""
    _, run, items = audience(40, seed=1)
    _, other, _ = audience(50, seed=2)
    runs = {"a": run, "b": other}
    both = pl.concat(
        one.with_columns(system=pl.lit(name)) for name, one in runs.items()
    )
    asked = {"stats": ["mean", "se"], "items": items, "doc": "item"}
    found = pr.evaluate(
        both.lazy(), COUNTED, by="system", query=["system", "user"],
        memory_limit=memory_limit, **asked,
    ).collect()  # fmt: skip
    for name, one in runs.items():
        alone = pr.evaluate(one, COUNTED, query="user", **asked)
        own = found.filter(pl.col("system") == name).drop("system")
        assert_frame_equal(own, alone, check_exact=True)


@pytest.mark.parametrize("memory_limit", [None, "500MB"])
def test_segments_of_the_catalog(memory_limit):
    shop = Shop(2)
    half = pl.col("user") % 2
    run = shop.log.with_columns(half=half)
    found = pr.evaluate(
        run.lazy(), OF_ALL, by="half", memory_limit=memory_limit, **shop.frames
    ).collect()
    for part in (0, 1):
        alone = pr.evaluate(run.filter(half == part), OF_ALL, **shop.frames)
        own = found.filter(pl.col("half") == part).drop("half")
        assert_frame_equal(own, alone, rel_tol=1e-12)


@pytest.fixture(scope="module")
def every_measure():
    """A shop, arguments of evaluate, and the means without a memory limit."""
    shop = Shop(4, text=True)
    given = {"measures": ["ndcg@3", *MEASURES, *OF_ALL], "qrels": shop.qrels}
    given |= {"missing": "zero", **shop.frames}
    run = shop.run.sort("user")
    return run, given, pr.evaluate(run, **given)


@pytest.mark.parametrize("layout", [slow("auto"), "any", "contiguous"])
def test_a_memory_limit_changes_nothing(layout, every_measure):
    run, given, wanted = every_measure
    found = pr.evaluate(run.lazy(), memory_limit="500MB", layout=layout, **given)
    assert_frame_equal(found.collect(), wanted, check_exact=True)


def test_known_ranks():
    """Ranks may have gaps: a cutoff is a rank."""
    shop = Shop(5)
    run = pl.DataFrame({"user": 2, "item": [1, 5, 7], "rank": [1, 4, 9]})
    asked = ["user_coverage(least=2)@3", "user_coverage(least=2)@4", "novelty@4"]
    for qrels in (shop.qrels.filter(pl.col("user") == 2), None):
        rows = pr.per_query(
            run.with_columns(label=1), asked, qrels=qrels, rank="rank", **shop.frames
        )
        known = shop.known
        novelty = plain.novelty([1, 5], 2, {}, known)
        assert rows.row(0)[1:] == (0.0, 1.0, pytest.approx(novelty, abs=1e-12))


@pytest.mark.parametrize("layout", ["any", "contiguous"])
def test_relevant_items_beside_known_ranks(layout):
    shop = Shop(50)
    rows = [(u, i, r) for u, own in shop.lists.items() for r, i in enumerate(own, 1)]
    ranked = pl.DataFrame(rows, ["user", "item", "rank"], orient="row")
    asked = ["exposure_loss@3", "exposure_relevance", *TOTALS]
    given = {"qrels": shop.qrels, "missing": "zero", "layout": layout, **shop.frames}
    found = pr.evaluate(ranked, asked, rank="rank", **given)
    wanted = pr.evaluate(shop.run.sort("user"), asked, **given)
    assert_frame_equal(found, wanted, check_exact=True)


def test_judgments_of_retrieved_items_alone():
    """A convention may leave out what was not retrieved, here as well."""
    shop = Shop(51, text=True)
    convention = pr.CONVENTIONS["trec_eval"].replace(judgments="retrieved")
    asked = ["exposure_loss@3", "exposure_relevance"]
    given = {"qrels": shop.qrels, "missing": "skip", **shop.frames}
    found = pr.per_query(shop.run, asked, convention=convention, **given)
    for user, *values in found.iter_rows():
        for text, value in zip(asked, values, strict=True):
            wanted = expected(shop, user, text, shop.listed_labels)
            near = None if wanted is None else pytest.approx(wanted, abs=1e-12)
            assert value == near, (user, text)


def test_labels_are_needed_only_by_measures_that_read_them():
    shop = Shop(6)
    with warnings.catch_warnings(action="error"):
        pr.evaluate(shop.run, ["novelty@3", "coverage@3"], **shop.frames)
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="label column"):
        pr.evaluate(shop.run, ["novelty@3", "epc@3"], **shop.frames)
    pr.evaluate(shop.run, ["novelty@3", "pop_rsp@3"], **shop.frames)
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="label column"):
        pr.evaluate(shop.run, ["novelty@3", "pop_reo@3"], **shop.frames)


def test_relevant_items_outside_the_catalog_are_refused():
    shop = Shop(7)
    unlisted = pl.DataFrame({"user": [3], "item": [99], "label": [1]})
    qrels = pl.concat([shop.qrels.cast(pl.Int64), unlisted])
    given = {"qrels": qrels, "missing": "skip", **shop.frames}
    with pytest.raises(DataError, match=r"relevant items are not in items=.* query 3"):
        pr.evaluate(shop.run, "pop_reo@3", **given)
    pr.evaluate(shop.run, "epc@3", **given)  # which looks at listed items only


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        (lambda s: {"history": s.history.clear()}, "history= has no rows"),
        (
            lambda s: {"history": pl.concat([s.history, s.history[:1] * None])},
            "history= has null users or items",
        ),
        (lambda s: {"items": s.items[:-3]}, "recommended items are not in items="),
        (lambda s: {"items": pl.concat([s.items, s.items[:2]])}, "more than one row"),
        (
            lambda s: {"items": s.items.with_columns(category=pl.lit(None, pl.String))},
            r"the feature of a recommended \(or relevant\) item is null in items=",
        ),
    ],
)
def test_bad_rows_are_named(change, rule):
    shop = Shop(7)
    run = shop.run.with_columns(label=0)
    given = shop.frames | change(shop)
    with pytest.raises(DataError, match=rule):
        pr.evaluate(run, ["novelty@3", "ild@6"], **given)


@pytest.mark.parametrize("number", [None, float("nan"), float("inf")])
def test_vectors_are_whole(number):
    shop = Shop(7)
    item, rows = shop.lists[1][0], [*shop.items["vector"].to_list()]
    rows[shop.items["item"].to_list().index(item)][1] = number
    items = shop.items.with_columns(
        vector=pl.Series(rows, dtype=pl.Array(pl.Float64, 3))
    )
    given = {**shop.frames, "items": items}
    with pytest.raises(DataError, match="null, NaN or infinite; mend it") as caught:
        pr.evaluate(shop.run, "ild(vector)@3", **given)
    assert caught.value.rule == "odd_vector"
    assert pr.evaluate(shop.run, "ild(tags)@3", **given).item(0, 1) is not None


def test_faults_of_frames_have_no_query_for_an_example():
    shop = Shop(7)
    twice = {**shop.frames, "items": pl.concat([shop.items, shop.items[:2]])}
    with pytest.raises(DataError, match=r"keep one of each \(2 found\)$") as caught:
        pr.evaluate(shop.run, "ild@3", **twice)
    assert not caught.value.examples


@pytest.mark.filterwarnings("error")
def test_lists_without_labels_are_no_reason_for_a_warning():
    shop = Shop(7)
    for asked in ("novelty@3", ["gini@3", "ild@3"]):
        pr.evaluate(shop.run, asked, **shop.frames)
    unlabeled = shop.run.with_columns(label=pl.lit(None, pl.Int8))
    with pytest.raises(pr.DataWarning, match="null in every row"):
        pr.evaluate(unlabeled, ["novelty@3", "ndcg@3"], **shop.frames)


@pytest.mark.parametrize("measure", ["coverage@3", "gini@3", "serendipity@3"])
def test_no_list_has_more_than_the_catalog(measure):
    """Else the coverage of a catalog that is the history's could be above 1."""
    shop = Shop(7)
    run = shop.run.with_columns(label=0)
    frames = {"history": shop.history.filter(pl.col("item") < 3), **COLUMNS}
    with pytest.raises(DataError, match="not in history=, whose items are the catalog"):
        pr.evaluate(run, measure, **frames)
    assert pr.evaluate(run, "entropy@3", **frames).item(0, 1) > 0
    with pytest.warns(pr.DataWarning, match="not in history="):
        pr.evaluate(run, measure, check="warn", **frames)


@pytest.mark.parametrize(
    ("measure", "given", "told"),
    [
        ("novelty@3", {}, "novelty: give the past interactions"),
        (["coverage@3", "unseen@3"], {}, "^unseen: give the past interactions"),
        ("coverage@3", {}, "coverage: give the catalog"),
        ("ild@3", {}, "feature='category' is a column of items"),
    ],
)
def test_missing_frames_are_named(measure, given, told):
    shop = Shop(8)
    with pytest.raises(ValueError, match=told):
        pr.evaluate(shop.run.with_columns(label=0), measure, **COLUMNS, **given)


def test_copies_of_unjudged_items_are_found():
    """They are counted where rows are ranked, whether or not a label matters."""
    shop = Shop(9)
    judged = {*shop.qrels.select("user", "item").iter_rows()}
    rows = shop.run.sort("user", "item").filter(pl.col("user") > 1).rows()
    user, item, score = next(row for row in rows if row[:2] not in judged)
    copy = {"user": user, "item": item, "score": score}
    run = pl.concat([shop.run, pl.DataFrame(copy)])
    given = {"qrels": shop.qrels, "missing": "zero", **shop.frames}
    with pytest.raises(DataError, match=rf"duplicate documents .* query {user}"):
        pr.evaluate(run, "novelty", **given)
    best = pr.evaluate(run, MEASURES, on_duplicate="best", **given)
    assert_frame_equal(best, pr.evaluate(shop.run, MEASURES, **given), check_exact=True)
    with pytest.raises(ValueError, match="leaves copies of items"):
        pr.evaluate(run, "novelty", on_duplicate="keep_rank", **given)


@pytest.mark.covering(1)
@pytest.mark.parametrize("convention", ["trec_eval", "trec_eval_9", "lightgbm", "ranx"])
@pytest.mark.parametrize("layout", ["any", "contiguous"])
def test_lists_without_checks(convention, layout):
    """A plan without checks reads fewer columns."""
    shop = Shop(10, text=True)
    given = {"qrels": shop.qrels, "layout": layout, "convention": convention}
    run = shop.run.sort("user", maintain_order=True).lazy()
    for asked in (["novelty@3"], ["coverage@3"], ["epc@3", "ndcg@3"], MEASURES):
        given |= {"missing": "zero", **shop.frames}
        checked = pr.evaluate(run, asked, **given).collect()
        quick = pr.evaluate(run, asked, check="off", **given).collect()
        assert_frame_equal(quick, checked, check_exact=True)


def test_a_category_that_an_item_has_twice_counts_once():
    shop = Shop(14)
    run = shop.run.with_columns(label=0)
    tags = pl.col("tags")
    again = pl.concat_list(tags, pl.lit(None, pl.String), tags.list.reverse())
    asked = [
        "ild(tags)@3",
        "category_diversity(tags)@3",
        "awrf(tags)",
        "miscalibration(tags)",
    ]
    given = shop.frames | {"items": shop.items.with_columns(tags=again)}
    found = pr.per_query(run, asked, **given)
    assert_frame_equal(found, pr.per_query(run, asked, **shop.frames), rel_tol=1e-12)


def test_items_without_a_category_are_left_out():
    """Of the catalog and of the past: those of a list break a rule."""
    shop = Shop(15)
    run = shop.run.filter(pl.col("item") < 6).with_columns(label=0)
    asked = ["awrf@3", "miscalibration@3"]
    category = pl.when(pl.col("item") < 7).then("category")
    found = pr.per_query(
        run,
        asked,
        **shop.frames | {"items": shop.items.with_columns(category=category)},
    )
    fewer = shop.frames | {"items": shop.items.filter(pl.col("item") < 7)}
    assert_frame_equal(found, pr.per_query(run, asked, **fewer), check_exact=True)


def test_each_feature_has_a_past_of_its_own():
    """Items without one feature still have the other."""
    shop = Shop(13)
    few = pl.when(pl.col("item") < 6).then("vector").alias("vector")
    items = shop.items.with_columns(few)
    run = shop.run.filter(pl.col("item") < 6).with_columns(label=1)
    both = ["content_serendipity(category)@3", "content_serendipity(vector)@3"]
    given = {**shop.frames, "items": items}
    together = pr.per_query(run, both, **given)
    for name in both:
        alone = pr.per_query(run, name, **given)
        assert_frame_equal(together.select("user", name), alone, check_exact=True)
    known = plain.History(shop.pairs, {i["item"]: i for i in items.to_dicts()})
    for user, *values in together.iter_rows():
        own = [item for item in shop.lists[user] if item < 6]
        labels = dict.fromkeys(own, 1)
        for value, feature in zip(values, ("category", "vector"), strict=True):
            wanted = plain.content_serendipity(own, user, labels, known, 3, feature)
            assert value == pytest.approx(wanted, abs=1e-12)


def test_other_misuse_is_refused():
    shop = Shop(9)
    run = shop.run.with_columns(label=0, weight=1.0)
    for name in ("coverage", "pop_reo"):
        with pytest.raises(ValueError, match=f"{name} is a number of all lists toget"):
            pr.per_query(run, f"{name}@3", **shop.frames)
    with pytest.raises(ValueError, match="has no weights"):
        pr.evaluate(run, "gini@3", weight="weight", **shop.frames)
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="'colour' is not in"):
        pr.evaluate(run, "ild(feature=colour)@3", **shop.frames)
    with pytest.raises(TypeError, match="'vector' must have a category per item"):
        pr.evaluate(run, "awrf(vector)@3", **shop.frames)
    with pytest.raises(TypeError, match=r"'tags' must be a category .* or a vector"):
        pr.evaluate(run, "content_serendipity(tags)@3", **shop.frames)
    text = shop.history.with_columns(pl.col("item").cast(pl.String))
    with pytest.raises(TypeError, match="never equal"):
        pr.evaluate(run, "novelty@3", **shop.frames | {"history": text})
    with pytest.raises(ValueError, match="doc must name the column of items"):
        pr.evaluate(run, "entropy@3", query="user", doc=None)
    with pytest.raises(ValueError, match="contributions are of measures of relevance"):
        analysis.contributions(run, "novelty@3", query="user", doc="item")
    with pytest.raises(ValueError, match="measure of recommendations, are not known"):
        pr.bounds(run, "novelty@3", query="user", doc="item")
    with pytest.raises(AttributeError, match="what is known about the items of a list"):
        _ = pl.col("label").rank_eval.novelty


def test_which_way_is_better():
    """Lists that are popular, miscalibrated or alike are worse in a comparison."""
    of_lists = {name for name, m in LIST_METRICS.items() if m.better == "lower"}
    assert of_lists == {
        *("mean_popularity", "miscalibration", "exposure_loss", "exposure_disparity"),
        "rnd",
    }
    assert {n for n, m in CATALOG_METRICS.items() if m.better == "lower"} == {"gini"}
    of_totals = {name for name, m in TOTALS_METRICS.items() if m.better == "lower"}
    assert of_totals == {"pop_reo", "pop_rsp"}


def test_explain_tells_of_lists():
    shop = Shop(12)
    run = shop.run.with_columns(label=0).lazy()
    plan = pr.evaluate(run, "novelty@3", **shop.frames)
    assert "sum by query -> join items and sum lists -> check" in plan.explain()
