"""Measures from sampled negatives, against loops and rankings of all items."""

import random
from collections import Counter
from math import ceil, floor, log2, sqrt

import numpy as np
import polars as pl
import pytest
from plain_ranks import plain_em, plain_hash
from scipy.stats import t

from polars_rank import DataError, DataWarning, recommend
from polars_rank.recommend import rank_counts
from polars_rank.recommend.rank_estimators import chances

GAINS = {
    "hits": lambda r: 1.0,
    "recall": lambda r: 1.0,
    "ndcg": lambda r: 1 / log2(r + 1),
    "rr": lambda r: 1 / r,
    "ap": lambda r: 1 / r,
}
ALL = ["hits@3", "recall@5", "ndcg@4", "ndcg", "rr@3", "rr", "ap@2", "ap"]
ITEMS = 30


def gain(text, rank):
    name, _, k = text.partition("@")
    return GAINS[name](rank) if rank <= int(k or 10**9) else 0.0


def drawn(seed, users=60, m=(4, 9), popular=False):
    """Lists as dictionaries, with tied scores; of popular items, some are repeated."""
    rng = random.Random(seed)
    chance = [1 / i**0.5 for i in range(1, ITEMS)]
    chance = [0.0, *(c / sum(chance) for c in chance)]
    lists = {}
    for user in range(users):
        size = rng.randint(*m)
        others = range(1, ITEMS)
        if popular:
            items = rng.choices(others, chance[1:], k=size)
        else:
            items = rng.sample(others, size)
        scores = {i: rng.randrange(8) for i in others}
        own = rng.randrange(3, 8)
        lists[f"u{user}"] = (own, [(i, scores[i], chance[i]) for i in items])
    rows = [
        row
        for user, (own, negatives) in lists.items()
        for row in [
            (user, 0, 1, own, None),
            *((user, i, 0, s, p) for i, s, p in negatives),
        ]
    ]
    rng.shuffle(rows)
    names = ["user_id", "item_id", "label", "score", "p"]
    log = pl.DataFrame(rows, names, orient="row", infer_schema_length=None)
    return lists, log, min(chance[1:])


def is_above(score, own, ties="pessimistic"):
    return score >= own if ties == "pessimistic" else score > own


def counted(state, measure):
    """Counts of a state by group, negatives, above."""
    rows = state.filter(pl.col("measure") == measure)
    long = rows.explode("negatives", "above", "counts")
    return {row[:3]: row[3] for row in long.select(*COLUMNS).rows()}


COLUMNS = ["group", "negatives", "above", "counts"]


@pytest.mark.parametrize("ties", ["pessimistic", "optimistic"])
@pytest.mark.parametrize("lazy", [False, True])
def test_counts_are_those_of_a_loop(ties, lazy):
    lists, log, _ = drawn(1)
    known = Counter()
    for user, (own, negatives) in lists.items():
        above = sum(is_above(s, own, ties) for _, s, _ in negatives)
        known[plain_hash(user) % 20, len(negatives), above] += 1
    given = log.lazy() if lazy else log
    found = recommend.sampled_state(given, n_items=ITEMS, ties=ties, item="item_id")
    assert isinstance(found, pl.LazyFrame) == lazy
    assert counted(found.lazy().collect(), "sampled") == known


def thinned(user, own, negatives, rarest, seed):
    """Numbers above among the draws that each of eight thinnings keeps."""
    found, before = [0] * 8, Counter()
    for item, score, chance in negatives:
        key = f"{seed}\x1f{user}\x1f{item}\x1f{before[item]}"
        before[item] += 1
        number = plain_hash(key) / 2**64
        for i in range(8):
            kept = (number + i / 8) % 1 < rarest / chance
            found[i] += kept and is_above(score, own)
    return found


@pytest.mark.parametrize("memory", [10**9, 10**4])
def test_thinned_counts_are_those_of_a_loop(memory, monkeypatch):
    monkeypatch.setattr(rank_counts, "MEMORY", memory)
    lists, log, rarest = drawn(2, popular=True)
    naive, known = Counter(), Counter()
    for user, (own, negatives) in lists.items():
        group, size = plain_hash(user) % 20, len(negatives)
        naive[group, size, sum(is_above(s, own) for _, s, _ in negatives)] += 1
        for above in thinned(user, own, negatives, rarest, seed=5):
            known[group, size, above] += 1
    found = recommend.sampled_state(
        log,
        n_items=ITEMS,
        item="item_id",
        probability="p",
        min_probability=rarest,
        seed=5,
    )
    assert counted(found, "sampled") == naive
    assert counted(found, "thinned") == known
    again = log.sample(fraction=1, shuffle=True, seed=1)
    asked = {"item": "item_id", "probability": "p", "min_probability": rarest}
    assert recommend.sampled_state(again, n_items=ITEMS, seed=5, **asked).equals(found)


def users_of(lists):
    """Number above and of negatives, and group, of each user."""
    for user, (own, negatives) in lists.items():
        above = sum(is_above(s, own) for _, s, _ in negatives)
        yield above, len(negatives), plain_hash(user) % 20


def least(text):
    """How many negatives tell the ranks that matter."""
    name, _, k = text.partition("@")
    told = int(k or 3)
    return ceil(ITEMS / (told if name in ("hits", "recall") else min(told, 3)))


def errors(values, level=0.95):
    """Error and half of the interval, from estimates that leave groups out."""
    mean = sum(values) / len(values)
    squares = sum((v - mean) ** 2 for v in values)
    se = sqrt(squares * (len(values) - 1) / len(values))
    return se, se * t.ppf(0.5 + level / 2, len(values) - 1)


@pytest.mark.filterwarnings("ignore::polars_rank.DataWarning")
@pytest.mark.parametrize("level", [0.95, 0.8])
def test_naive_and_rank_are_those_of_loops(level):
    lists, log, _ = drawn(3, m=(9, 13))
    rows = [*users_of(lists)]
    found = recommend.sampled(
        log.lazy(), ALL, n_items=ITEMS, method="rank", level=level
    ).collect()
    assert found["measure"].to_list() == ALL
    for text, *numbers in found.select(
        "measure", "naive", "estimate", "se", "lower", "upper", "users", "negatives"
    ).rows():
        naive = sum(gain(text, x + 1) for x, _, _ in rows) / len(rows)

        def estimate(left_out, text=text):
            kept = [(x, m) for x, m, g in rows if g != left_out]
            ranks = [1 + floor((ITEMS - 1) * x / m + 1e-9) for x, m in kept]
            return sum(gain(text, r) for r in ranks) / len(ranks)

        value = estimate(None)
        se, reach = errors([estimate(g) for g in {g for *_, g in rows}], level)
        mean = sum(m for _, m, _ in rows) / len(rows)
        known = [naive, value, se, value - reach, value + reach, len(rows), mean]
        if mean < least(text):
            known[2:5] = [None] * 3
        assert numbers == pytest.approx(known, abs=1e-9)


@pytest.mark.filterwarnings("ignore::polars_rank.DataWarning")
@pytest.mark.parametrize("replacement", [False, True])
def test_em_is_that_of_loops(replacement):
    lists, log, _ = drawn(4, m=(10, 11))
    share = 1 / (ITEMS - 1) if replacement else None
    tables = {m: chances(ITEMS, m, share) for m in (10, 11)}
    table = np.hstack([tables[10], tables[11]]).tolist()
    places = {
        (m, x): i
        for i, (m, x) in enumerate((m, x) for m in (10, 11) for x in range(m + 1))
    }
    rows = [(places[m, x], g) for x, m, g in users_of(lists)]
    groups = sorted({g for _, g in rows})
    counts = [
        [sum(p == i and g != left for p, g in rows) for i in range(len(places))]
        for left in (None, *groups)
    ]
    pis = plain_em(table, counts[0], counts[1:])
    found = recommend.sampled(log, ALL, n_items=ITEMS, replacement=replacement)
    for text, value, error in found.select("measure", "estimate", "se").rows():
        gains = [gain(text, r) for r in range(1, ITEMS + 1)]
        values = [sum(p * f for p, f in zip(pi, gains, strict=True)) for pi in pis]
        assert value == pytest.approx(values[0], abs=1e-9)
        known = None if text == "ap@2" else errors(values[1:])[0]
        assert error == pytest.approx(known, abs=1e-9)


@pytest.mark.filterwarnings("ignore::polars_rank.DataWarning")
def test_popular_draws_are_those_of_loops():
    """The naive number counts all draws, the others those that are kept."""
    lists, log, rarest = drawn(6, popular=True)
    asked = {"item": "item_id", "probability": "p", "min_probability": rarest}
    found = recommend.sampled(
        log, "hits@3", n_items=ITEMS, method="rank", seed=9, **asked
    ).row(0, named=True)
    naive, value = [], []
    for user, (own, negatives) in lists.items():
        naive.append(sum(is_above(s, own) for _, s, _ in negatives) < 3)
        for x in thinned(user, own, negatives, rarest, seed=9):
            rank = 1 + floor(x / (len(negatives) * rarest) + 1e-9)
            value.append(rank <= 3)
    assert found["naive"] == pytest.approx(sum(naive) / len(naive))
    assert found["estimate"] == pytest.approx(sum(value) / len(value))
    assert found["users"] == len(lists)


def test_em_of_popular_draws_is_that_of_loops():
    """An eighth of each thinning counts; more draws than items are none too many."""
    lists, log, rarest = drawn(7, m=(40, 40), popular=True)
    table = chances(ITEMS, 40, rarest).tolist()
    rows = [
        (x, plain_hash(user) % 20)
        for user, (own, negatives) in lists.items()
        for x in thinned(user, own, negatives, rarest, seed=0)
    ]
    counts = [
        [sum(x == i and g != left for x, g in rows) / 8 for i in range(41)]
        for left in (None, *sorted({g for _, g in rows}))
    ]
    pis = plain_em(table, counts[0], counts[1:])
    values = [sum(pi[:5]) for pi in pis]
    asked = {"item": "item_id", "probability": "p", "min_probability": rarest}
    found = recommend.sampled(log, "hits@5", n_items=ITEMS, **asked).row(0, named=True)
    assert found["estimate"] == pytest.approx(values[0], abs=1e-9)
    assert found["se"] == pytest.approx(errors(values[1:])[0], abs=1e-9)


def ranked(seed, users=400, items=60, m=20, popular=False):
    """A log of sampled negatives, and the rank of each relevant item among all."""
    rng = np.random.default_rng(seed)
    p = np.arange(1.0, items) ** (-0.5 if popular else 0)
    p /= p.sum()
    scores = rng.normal(size=(users, items))
    scores[:, 1:] += 0.3 * np.log(p)  # popular items rank higher
    scores[:, 0] += 0.3 * np.log(p).mean() + 1.2
    if popular:
        others = 1 + rng.choice(items - 1, (users, m), p=p)
    else:
        others = 1 + rng.random((users, items - 1)).argsort(axis=1)[:, :m]
    shown = np.column_stack([np.zeros(users, int), others])
    log = pl.DataFrame(
        {
            "user_id": np.repeat(np.arange(users), m + 1),
            "item_id": shown.ravel(),
            "label": np.tile(np.arange(m + 1) == 0, users),
            "score": np.take_along_axis(scores, shown, axis=1).ravel(),
            "p": np.append(1.0, p)[shown].ravel(),
        }
    )
    return log, 1 + (scores[:, 1:] > scores[:, :1]).sum(axis=1), p.min()


@pytest.mark.parametrize("method", ["em", "rank"])
def test_of_the_whole_catalog_nothing_is_estimated(method):
    log, ranks, _ = ranked(2, users=100, m=59)
    found = recommend.sampled(log, ["hits@10", "rr"], n_items=60, method=method)
    known = [(ranks <= 10).mean(), (1 / ranks).mean()]
    assert found["estimate"].to_list() == pytest.approx(known, abs=1e-9)
    assert found["naive"].to_list() == pytest.approx(known)
    assert found["min_negatives"].to_list() == [6, 20]


@pytest.mark.slow
@pytest.mark.parametrize("popular", [False, True])
def test_intervals_hold_the_value_of_the_catalog(popular):
    """Of 100 runs, seeds 0 to 99, fewer than 88 hold it with probability 0.001."""
    runs, kept, naive, off = 100, 0, [], []
    truth = np.mean(
        [(ranked(1000 + s, popular=popular)[1] <= 10).mean() for s in range(200)]
    )
    for seed in range(runs):
        log, _, rarest = ranked(seed, popular=popular)
        asked = {"item": "item_id", "probability": "p", "min_probability": rarest}
        row = recommend.sampled(
            log, "hits@10", n_items=60, **(asked if popular else {})
        ).row(0, named=True)
        kept += row["lower"] < truth < row["upper"]
        naive.append(row["naive"] - truth)
        off.append(row["estimate"] - truth)
    assert kept >= 88
    assert abs(np.mean(off)) < 0.01 < 0.1 < abs(np.mean(naive))


def test_parts_add_up_and_are_counted_once(tmp_path):
    _, log, rarest = drawn(5, users=90, popular=True)
    log = log.with_columns(land=pl.col("user_id").str.slice(1).cast(int) % 2)
    asked = {"n_items": ITEMS, "by": "land", "item": "item_id"}
    asked |= {"probability": "p", "min_probability": rarest}
    third = pl.col("user_id").str.slice(1).cast(int) % 3
    for i in range(3):
        part = recommend.sampled_state(log.lazy().filter(third == i), **asked)
        part.sink_parquet(tmp_path / f"day{i}.parquet")
    with pytest.warns(DataWarning, match="do not tell the first"):
        whole = recommend.sampled(log, "hits@5", **asked)
    assert whole["land"].to_list() == [0, 1]
    with pytest.warns(DataWarning, match="do not tell the first"):
        merged = recommend.merge_sampled(tmp_path, "hits@5")
    assert merged.equals(whole)
    with pytest.warns(DataWarning, match="do not tell the first"):
        own = recommend.sampled(log.filter(land=1), "hits@5", **asked)
    assert own.equals(whole.filter(land=1))
    days = [pl.read_parquet(tmp_path / f"day{i}.parquet") for i in (0, 0, 1)]
    with pytest.raises(DataError, match="state 1 and state 2: the same part twice"):
        recommend.merge_sampled(days)
    other = recommend.sampled_state(
        log, **asked | {"n_items": 40, "min_probability": 0.01}
    )
    with pytest.raises(DataError, match="n_items is 40 there and 30 here"):
        recommend.merge_sampled([days[0], other])
    lost = days[0].with_columns(above=pl.col("above").list.eval(pl.element() + 99))
    with pytest.raises(DataError, match="has counts that no log has"):
        recommend.merge_sampled(lost)


@pytest.mark.filterwarnings("ignore::polars_rank.DataWarning")
def test_ids_of_categories_are_as_text():
    _, log, _ = drawn(6)
    text = log.with_columns(land="s" + pl.col("user_id").str.slice(-1))
    asked = {"n_items": ITEMS, "by": "land", "item": "item_id"}
    expected = recommend.sampled(text, ALL, **asked)
    own = text.with_columns(pl.col("user_id", "land").cast(pl.Categorical))
    found = recommend.sampled(own, ALL, **asked)
    assert found.schema["land"] == pl.Categorical
    assert found.cast({"land": pl.String}).equals(expected)
    state = recommend.sampled_state(own, **asked)
    assert recommend.merge_sampled(state, ALL).rows() == expected.rows()


def test_days_of_one_size_are_different_parts():
    """Other users, or the same ones with other ranks."""
    day = pl.DataFrame({"user_id": [1, 1], "label": [1, 0], "score": [2, 1]})
    others = (
        day.with_columns(user_id=pl.lit(2)),
        day.with_columns(score=-pl.col("score")),
    )
    for other in others:
        states = [recommend.sampled_state(d, n_items=2) for d in (day, other)]
        assert recommend.merge_sampled(states, "hits@1")["users"].item() == 2
    named = [recommend.sampled_state(day, n_items=2, part=p) for p in ("mon", "tue")]
    assert recommend.merge_sampled(named, "hits@1")["users"].item() == 2


def test_users_are_left_out_together_by_cluster():
    """Lists of one user are in one group: of two users in two groups, df is 1."""
    log = pl.DataFrame(
        {
            "list": [f"{u}:{i}" for u in "ab" for i in range(30) for _ in range(3)],
            "user_id": ["a"] * 90 + ["b"] * 90,
            "label": [1, 0, 0] * 60,
            "score": [2, 1, 0] * 30 + [1, 2, 0] * 30,
        }
    )
    state = recommend.sampled_state(log, n_items=3, user="list", cluster="user_id")
    assert {*state["group"]} == {plain_hash(u) % 20 for u in "ab"}
    found = recommend.merge_sampled(state, "hits@1", method="rank")
    assert found.row(0)[1:4] == pytest.approx((0.5, 0.5, 0.5))
    one = log.filter(user_id="a")
    found = recommend.sampled(one, "hits@1", n_items=3, user="list", cluster="user_id")
    assert found["estimate"].item() == pytest.approx(1)
    assert found.select("se", "lower", "upper").row(0) == (None, None, None)


def test_a_log_without_rows():
    log = pl.DataFrame(schema={"user_id": int, "label": int, "score": float})
    found = recommend.sampled(log, "hits@2", n_items=3)
    assert found.row(0) == ("hits@2", *[None] * 5, 0, None, None)
    state = recommend.sampled_state(log, n_items=3)
    assert recommend.merge_sampled(state, "hits@2").equals(found)


def test_the_ranks_that_are_not_told_apart_are_counted():
    """49 negatives of 196 items: 1 in 4, though 1/196 x 49 is less as a float."""
    log = pl.DataFrame({"user_id": 1, "label": [1, *[0] * 49], "score": [*range(50)]})
    with pytest.warns(DataWarning, match="the first 4 ranks apart"):
        recommend.sampled(log, "hits@1", n_items=196)


@pytest.mark.parametrize(
    ("measure", "least"),
    [("hits@5", 200), ("ndcg@50", 334), ("rr", 334), ("hits@20", 50)],
)
def test_the_fewest_negatives_are_told(measure, least):
    rows = [(u, int(i == 0), -i) for u in range(3) for i in range(50)]  # 49 negatives
    log = pl.DataFrame(rows, ["user_id", "label", "score"], orient="row")
    with pytest.warns(DataWarning, match=f"draw at least {least} negatives"):
        found = recommend.sampled(log, measure, n_items=1000)
    assert found["min_negatives"].item() == least
    more = [(u, 0, -i) for u in range(3) for i in range(50, least + 1)]
    log = pl.concat([log, pl.DataFrame(more, log.schema, orient="row")])
    assert recommend.sampled(log, measure, n_items=1000)["negatives"].item() == least


GOOD = {"user_id": [1, 1, 1], "item_id": [7, 8, 9], "label": [1, 0, 0]}
GOOD |= {"score": [0.5, 0.4, 0.6], "p": [None, 0.2, 0.3]}


@pytest.mark.parametrize(
    ("changed", "asked", "rule"),
    [
        ({"label": [0, 0, 0]}, {}, "no_relevant_item"),
        ({"label": [1, 2, 0]}, {}, "several_relevant_items"),
        ({"user_id": [1, 2, 2], "label": [1, 1, 0]}, {}, "no_negatives"),
        ({"item_id": [7, 7, 9]}, {"item": "item_id"}, "relevant_negative"),
        (
            {"item_id": [7, 9, 9]},
            {"item": "item_id", "check": "full"},
            "repeated_negative",
        ),
        ({}, {"n_items": 2}, "too_many_negatives"),
        ({"score": [0.5, float("nan"), 0.6]}, {}, "nan"),
        ({"label": [1.0, float("nan"), 0.0]}, {}, "nan"),
        ({"user_id": [1, None, 1]}, {}, "null_key"),
        ({"score": [0.5, None, 0.6]}, {}, "null_key"),
        ({"p": [None, None, 0.3]}, {"probability": "p"}, "improbable_negative"),
        ({"p": [None, 0.01, 0.3]}, {"probability": "p"}, "improbable_negative"),
        ({"p": [None, 1.5, 0.3]}, {"probability": "p"}, "improbable_negative"),
    ],
)
def test_bad_rows_are_named(changed, asked, rule):
    if "probability" in asked:
        asked = asked | {"item": "item_id", "min_probability": 0.02}
    log = pl.DataFrame(GOOD | changed)
    with pytest.raises(DataError) as told:
        recommend.sampled(log, "hits@3", **{"n_items": 5} | asked)
    assert told.value.rule == rule
    plan = recommend.sampled(log.lazy(), "hits@3", **{"n_items": 5} | asked)
    with pytest.raises(DataError):
        plan.collect()


@pytest.mark.parametrize(
    ("asked", "error", "match"),
    [
        ({"measures": "auc"}, ValueError, "'auc' is no measure of one rank"),
        ({"measures": "hits"}, ValueError, "'hits@10'"),
        ({"measures": "ndcg(gain=exp2)@3"}, ValueError, "there is no gain"),
        ({"method": "ml"}, ValueError, "method must be one of em, decreasing"),
        ({"ties": "order"}, ValueError, "ties must be one of"),
        ({"check": "off"}, ValueError, "check must be one of"),
        ({"check": "full"}, ValueError, "check='full' needs item="),
        ({"n_items": 1}, ValueError, "n_items must be the size"),
        ({"n_items": 2.5}, ValueError, "n_items must be the size"),
        ({"level": 2}, ValueError, "level must lie"),
        ({"probability": "p"}, ValueError, "go together"),
        ({"probability": "p", "min_probability": 0.1}, ValueError, "needs item="),
        ({"min_probability": 0.1}, ValueError, "go together"),
        (
            {"probability": "p", "min_probability": 0.5, "item": "item_id"},
            ValueError,
            "at most 1 / \\(n_items - 1\\)",
        ),
        ({"by": "measure"}, ValueError, "a result has a column 'measure'"),
        ({"user": "users"}, pl.exceptions.ColumnNotFoundError, "user column 'users'"),
        ({"score": "word"}, TypeError, "score column 'word' is String"),
        ({"methods": "em"}, TypeError, "methods"),
    ],
)
def test_wrong_arguments_are_named_at_once(asked, error, match):
    log = pl.LazyFrame(GOOD).with_columns(word=pl.lit("a"))
    with pytest.raises(error, match=match):
        recommend.sampled(log, **{"n_items": 5} | asked)


def test_decreasing_allows_for_users_of_several_lists():
    """Twice the same list of each user tells no more than once."""
    rng = np.random.default_rng(5)
    above = np.minimum(rng.geometric(0.1, 600) - 1, 20)
    rows = [
        (user, copy, place, place == 0, 0 if place == 0 else (place <= x) * 2 - 1)
        for copy in (0, 1)
        for user, x in enumerate(above)
        for place in range(21)
    ]
    log = pl.DataFrame(
        rows, ["user_id", "copy", "item_id", "label", "score"], orient="row"
    ).with_columns(list=pl.format("{}-{}", "user_id", "copy"))
    asked = {"n_items": 100, "method": "decreasing"}
    once = recommend.sampled(log.filter(pl.col("copy") == 0), "hits@10", **asked)
    twice = recommend.sampled(log, "hits@10", user="list", cluster="user_id", **asked)
    independent = recommend.sampled(log, "hits@10", user="list", **asked)
    wide, same, narrow = (
        (found["upper"] - found["lower"]).item() for found in (once, twice, independent)
    )
    assert same == pytest.approx(wide, rel=0.25)
    assert narrow < 0.85 * wide
    assert once["se"].item() is None
    assert once["lower"].item() < once["estimate"].item() < once["upper"].item()


def test_decreasing_of_one_user_has_no_interval():
    log = pl.DataFrame({"user_id": [1] * 3, "label": [1, 0, 0], "score": [5, 9, 1]})
    found = recommend.sampled(log, "hits@2", n_items=3, method="decreasing")
    assert found.select("lower", "upper").row(0) == (None, None)
    assert 0 <= found["estimate"].item() <= 1
