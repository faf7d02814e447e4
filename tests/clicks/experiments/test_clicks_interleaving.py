"""Interleaving: credits by plain loops, tests by enumeration."""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter, defaultdict

import polars as pl
import pytest
from slow import slow
from unequal import NEAR, allowance, effective, margin

from polars_rank import DataError, clicks
from polars_rank.clicks.experiments import interleaving as module

NAMES = ["A", "B", "C"]


def random_log(seed, impressions=120, teams=2, users=15):
    rng = random.Random(seed)
    rows = []
    for i in range(impressions):
        part = rng.random() < 0.9  # the others were not interleaved
        orders = [rng.sample(range(7), 7) for _ in range(2)]
        for position, doc in enumerate(
            rng.sample(range(7), rng.randint(1, 5)), start=1
        ):
            common = rng.random() < 0.15  # a document that is no team's
            clicked = rng.random() < 0.3
            rows.append(
                {
                    "impression_id": i,
                    "position": position,
                    "clicked": clicked,
                    "dwell": rng.choice([None, 3.0, 30.0, 60.0]) if clicked else None,
                    "team": rng.choice(NAMES[:teams]) if part and not common else None,
                    "worth": rng.choice([0.1, 0.2, 0.3, 1.0]),
                    "credit_a": rng.choice([0.1, 0.2, 0.3]),
                    "credit_b": rng.choice([0.1, 0.2, 0.3]),
                    "rank_a": orders[0].index(doc) + 1,
                    "rank_b": orders[1].index(doc) + 1 if rng.random() < 0.9 else None,
                    "user_id": i % users,
                    "country": "DE" if i % users % 2 else "US",
                }
            )
    rng.shuffle(rows)
    return pl.DataFrame(rows)


def by_impression(log):
    lists = defaultdict(list)
    for row in log.sort("position").iter_rows(named=True):
        lists[row["impression_id"]].append(row)
    return lists.values()


CREDITS = {
    "clicks": lambda rows, r: 1,
    "any": lambda rows, r: None,
    "first": lambda rows, r: r is next(s for s in rows if s["clicked"]),
    "satisfied": lambda rows, r: (r["dwell"] or 0) >= 30,
    "inverse_rank": lambda rows, r: 1 / r["position"],
    "worth": lambda rows, r: r["worth"],
}


def plain_credit(rows, team, credit):
    clicked = [r for r in rows if r["clicked"] and r["team"] == team]
    if credit == "any":
        return bool(clicked)
    return round(math.fsum(CREDITS[credit](rows, r) for r in clicked), 9)


def outcomes(lists, credit_of, *, no_click="ignore"):
    """One outcome per impression, and its user."""
    for rows in lists:
        if any(r["clicked"] for r in rows) or no_click == "tie":
            a, b = credit_of(rows)
            yield (a > b) - (a < b), rows[0]["user_id"], any(r["clicked"] for r in rows)


def check(row, found):
    found = list(found)
    signs = Counter(sign for sign, *_ in found)
    n, users = len(found), defaultdict(list)
    for sign, user, _ in found:
        users[user].append(sign)
    assert (row["wins"], row["losses"], row["ties"]) == (signs[1], signs[-1], signs[0])
    assert row["impressions"] == n
    assert row["clicked"] == sum(clicked for *_, clicked in found)
    mean = sum(sign for sign, *_ in found) / n
    assert row["preference"] == pytest.approx(mean / 2, rel=1e-12, abs=1e-15)
    g = len(users)
    z = [(sum(v) - mean * len(v)) / (n / g) for v in users.values()]
    se = math.sqrt(math.fsum(x * x for x in z) / (g - 1) / g) / 2
    sizes = [len(v) for v in users.values()]
    assert row["se"] == pytest.approx(se * allowance(sizes), rel=1e-9)
    assert row["clusters"] == g
    assert row["effective_clusters"] == pytest.approx(effective(sizes), rel=1e-12)
    half = margin(sizes) * row["se"]
    assert row["upper"] - row["preference"] == pytest.approx(half, rel=NEAR)
    won = sum(sum(v) > 0 for v in users.values())
    decided = won + sum(sum(v) < 0 for v in users.values())
    cases = [math.comb(decided, i) for i in range(decided + 1)]
    p = sum(c for c in cases if c <= cases[won]) / 2**decided
    assert row["p_value"] == pytest.approx(p, rel=1e-12)


def interleaved(log):
    return [rows for rows in by_impression(log) if any(r["team"] for r in rows)]


@pytest.mark.parametrize(
    ("credit", "no_click"),
    [
        (credit, way) if (i + j) % 2 else slow(credit, way)
        for i, credit in enumerate(CREDITS)
        for j, way in enumerate(["ignore", "tie"])
    ],
)
def test_team_draft(credit, no_click):
    log = random_log(1, users=80)
    options = {"team": "team", "credit": credit, "no_click": no_click, "dwell": "dwell"}
    row = clicks.interleaving(log, cluster="user_id", **options).row(0, named=True)
    assert (row["team_a"], row["team_b"]) == ("A", "B")

    def credit_of(rows):
        return [plain_credit(rows, team, credit) for team in "AB"]

    check(row, outcomes(interleaved(log), credit_of, no_click=no_click))
    lazy = clicks.interleaving(log.lazy(), cluster="user_id", **options).collect()
    assert lazy.row(0, named=True) == row
    bounded = clicks.interleaving(
        log.lazy(), cluster="user_id", memory_limit="1GB", **options
    )
    assert bounded.collect().row(0, named=True) == row


def test_three_teams_by_segment():
    log = random_log(2, teams=3, impressions=300, users=140)
    found = clicks.interleaving(log, team="team", by="country", cluster="user_id")
    keys = found.select("country", "team_a", "team_b").rows()
    pairs = itertools.combinations("ABC", 2)
    assert keys == [(c, *pair) for c, pair in itertools.product(["DE", "US"], pairs)]
    for row in found.iter_rows(named=True):
        lists = [r for r in interleaved(log) if r[0]["country"] == row["country"]]
        teams = row["team_a"], row["team_b"]
        check(
            row,
            outcomes(
                lists,
                lambda rows, t=teams: [plain_credit(rows, x, "clicks") for x in t],
            ),
        )


def test_credits_that_were_logged():
    log = random_log(3, users=80)
    columns = {"old": "credit_a", "new": "credit_b"}
    row = clicks.interleaving(log, credits=columns, cluster="user_id").row(
        0, named=True
    )
    assert (row["team_a"], row["team_b"]) == ("old", "new")

    def credit_of(rows):
        clicked = [r for r in rows if r["clicked"]]
        return [round(math.fsum(r[c] for r in clicked), 9) for c in columns.values()]

    check(row, outcomes(by_impression(log), credit_of))


def test_balanced():
    """Clicks down to the place at which either ranking holds the lowest click."""
    log = random_log(4, users=80)
    ranks = {"A": "rank_a", "B": "rank_b"}
    row = clicks.interleaving(
        log, ranks=ranks, method="balanced", cluster="user_id"
    ).row(0, named=True)

    def credit_of(rows):
        clicked = [r for r in rows if r["clicked"]]
        if not clicked:
            return 0, 0
        lowest = max(clicked, key=lambda r: r["position"])
        k = min(lowest["rank_a"], lowest["rank_b"] or 99)
        return [sum((r[c] or 99) <= k for r in clicked) for c in ranks.values()]

    check(row, outcomes(by_impression(log), credit_of))


def plain_odds(rows, depth):
    """All assignments of documents to rankers, each with its probability."""
    more = less = total = 0.0
    whole = sum(r**-3 for r in range(1, depth + 1))
    for teams in itertools.product(("rank_a", "rank_b"), repeat=len(rows)):
        p, difference = 1.0, 0
        for i, (row, rank) in enumerate(zip(rows, teams, strict=True)):
            above = sum(r[rank] ** -3 for r in rows[:i] if r[rank])
            p *= (row[rank] or math.inf) ** -3 / (whole - above) / 2
            difference += row["clicked"] * (1 if rank == "rank_a" else -1)
        total += p
        more += p * (difference > 0)
        less += p * (difference < 0)
    return more / total, less / total


def test_probabilistic():
    log = random_log(5, impressions=60, users=80)
    options = {"ranks": {"A": "rank_a", "B": "rank_b"}, "method": "probabilistic"}
    row = clicks.interleaving(log, depth=7, cluster="user_id", **options).row(
        0, named=True
    )
    odds = [
        plain_odds(rows, 7)
        for rows in by_impression(log)
        if any(r["clicked"] for r in rows)
    ]
    wins, losses = (math.fsum(side) for side in zip(*odds, strict=True))
    assert row["impressions"] == len(odds)
    assert row["wins"] == pytest.approx(wins, rel=1e-12)
    assert row["losses"] == pytest.approx(losses, rel=1e-12)
    assert row["ties"] == pytest.approx(len(odds) - wins - losses, rel=1e-12)
    assert row["preference"] == pytest.approx(
        (wins - losses) / len(odds) / 2, rel=1e-11
    )
    assert row["p_value"] is None


@pytest.mark.parametrize(
    ("wins", "losses", "ties", "preference"),
    [(754, 81, 71, 0.371413), (83, 720, 103, -0.351545), (395, 342, 138, 0.030286)],
)
def test_the_preference_of_published_counts(wins, losses, ties, preference):
    """Three data sets of Wikimedia's interleaved package, BSD-3: their counts."""
    sides = [("A", wins), ("B", losses), (None, ties)]
    team = [side for side, n in sides for _ in range(n)]
    n = len(team)
    rows = {
        "impression_id": [*range(n)] * 2,
        "position": [1] * n + [2] * n,
        "team": [t or "A" for t in team]
        + ["B" if t in (None, "A") else "A" for t in team],
        "clicked": [True] * n + [t is None for t in team],
    }
    row = clicks.interleaving(pl.DataFrame(rows), team="team").row(0, named=True)
    assert (row["wins"], row["losses"], row["ties"]) == (wins, losses, ties)
    assert row["preference"] == pytest.approx(preference, abs=5e-7)


def signed(wins, losses):
    return pl.Series([1.0] * wins + [-1.0] * losses, dtype=pl.Float64)


@pytest.mark.parametrize(("wins", "losses"), [(0, 5), (3, 7), (6, 6), (11, 2)])
def test_the_sign_test_is_the_binomial(wins, losses):
    n = wins + losses
    chances = [math.comb(n, i) / 2**n for i in range(n + 1)]
    wanted = math.fsum(p for p in chances if p <= chances[wins] * (1 + 1e-9))
    assert module._sign_test(signed(wins, losses)) == pytest.approx(wanted, rel=1e-12)


def test_the_sign_test_of_many_is_normal():
    exact = 2 * sum(math.comb(1100, i) for i in range(521)) / 2**1100
    assert module._sign_test(signed(520, 580)) == pytest.approx(exact, rel=0.02)
    assert module._sign_test(signed(0, 0)) is None


def test_the_permutation_test_is_enumeration():
    log = random_log(6, users=8)
    options = {
        "team": "team",
        "cluster": "user_id",
        "test": "permutation",
        "credit": "first",
    }
    pytest.importorskip("scipy")  # few clusters
    row = clicks.interleaving(log, **options).row(0, named=True)
    users = defaultdict(int)
    for sign, user, _ in outcomes(
        interleaved(log), lambda rows: [plain_credit(rows, t, "first") for t in "AB"]
    ):
        users[user] += sign
    found = abs(sum(users.values()))
    signs = itertools.product((1, -1), repeat=len(users))
    sums = [
        abs(sum(s * v for s, v in zip(f, users.values(), strict=True))) for f in signs
    ]
    wanted = sum(s >= found for s in sums) / len(sums)
    assert row["p_value"] == pytest.approx(wanted, abs=5 * math.sqrt(0.25 / 10_000))
    shuffled = log.sample(fraction=1, shuffle=True, seed=2)
    assert clicks.interleaving(shuffled, **options).row(0, named=True) == row
    by_signs = clicks.interleaving(log, **{**options, "test": "sign"}).row(
        0, named=True
    )
    won = sum(net > 0 for net in users.values())
    lost = sum(net < 0 for net in users.values())
    assert by_signs.pop("p_value") == module._sign_test(signed(won, lost))
    assert by_signs == {n: v for n, v in row.items() if n != "p_value"}


def test_the_shares_of_a_fair_draft():
    log = clicks.simulate(3000, n_queries=20, interleaved_share=1.0, seed=3).draw()
    found = clicks.team_shares(log, team="team")
    assert (
        found.group_by("position")
        .agg(pl.col("documents").sum())["documents"]
        .unique()
        .item()
        == 3000
    )
    assert found["p_value"].min() > 1e-4
    first = found.filter(pl.col("position") == 1).row(0, named=True)
    x = (first["documents"] - 1500) ** 2 / 1500 * 2
    assert first["p_value"] == pytest.approx(math.erfc(math.sqrt(x / 2)), rel=1e-9)
    broken = log.with_columns(
        team=pl.when(pl.col("position") == 1).then(pl.lit("A")).otherwise("team")
    )
    found = clicks.team_shares(broken.lazy(), team="team").collect()
    first = found.filter(pl.col("position") == 1)
    assert first.select("team", "share").rows() == [("A", 1.0)]
    assert first["p_value"].item() < 1e-100


def test_the_shares_of_one_team_prove_nothing():
    found = clicks.team_shares(random_log(1, teams=1), team="team")
    assert set(found["share"]) == {1.0}
    assert set(found["p_value"]) == {None}


def test_the_shares_of_segments():
    log = random_log(2, impressions=300).with_columns(half=pl.col("impression_id") % 2)
    both = clicks.team_shares(log, team="team", by="half")
    for half in (0, 1):
        one = clicks.team_shares(log.filter(pl.col("half") == half), team="team")
        assert both.filter(pl.col("half") == half).drop("half").equals(one)


@pytest.mark.parametrize("function", [clicks.interleaving, clicks.team_shares])
def test_lists_have_no_weights(function):
    with pytest.raises(ValueError, match="interleaving takes no weight="):
        function(random_log(1), team="team", weight="impression_id")


def test_one_team_is_an_error():
    log = random_log(1, teams=1)
    with pytest.raises(DataError, match="needs two teams; those of the log are: 'A'"):
        clicks.interleaving(log, team="team", cluster="user_id")


@pytest.mark.parametrize("lazy", [False, True])
def test_lists_of_one_team_each_are_not_interleaved(lazy):
    """A column that is constant within an impression names no rankers."""
    log = random_log(5)
    given = log.lazy() if lazy else log
    with pytest.raises(DataError, match="'country' must vary within") as error:
        clicks.interleaving(given, team="country", cluster="user_id").lazy().collect()
    assert error.value.rule == "not_interleaved"
    for team, possible in (("country", False), ("team", True)):
        methods = clicks.report(given, team=team).methods
        found = methods.filter(method="interleaving").row(0, named=True)
        assert found["possible"] == possible
        assert ("one team in every list" in found["why"]) != possible


def test_a_list_of_one_team_among_others_is_fine():
    """Short lists are; and where no list has a click there is nothing to say."""
    log = random_log(6).filter(pl.col("team").is_not_null())
    lists = [{r["team"] for r in rows} for rows in by_impression(log)]
    assert {len(teams) for teams in lists} == {1, 2}
    found = clicks.interleaving(log, team="team", cluster="user_id")
    assert found["impressions"].item() > 0
    none = log.with_columns(clicked=0)
    with pytest.warns(UserWarning, match="no interleaved list has a click"):
        found = clicks.interleaving(none, team="team", cluster="user_id")
    assert found["preference"].to_list() == [None] * len(found)


def test_users_are_warned_of():
    with pytest.warns(UserWarning, match="give cluster='user_id'"):
        clicks.interleaving(random_log(1), team="team")


WRONG = [
    ({}, "a team draft needs team= or credits="),
    (
        {"team": "team", "credits": {"a": "credit_a", "b": "credit_b"}},
        "one of them only",
    ),
    ({"team": "team", "method": "balanced"}, "needs the ranks of two rankers"),
    ({"ranks": {"a": "rank_a"}, "method": "balanced"}, "needs the ranks of two"),
    ({"team": "team", "method": "multi"}, "method must be one of team_draft"),
    ({"team": "team", "no_click": "win"}, "no_click must be one of ignore, tie"),
    ({"team": "team", "test": "t"}, "test must be one of sign, permutation"),
    ({"team": "team", "level": 95}, "level must lie between 0 and 1"),
    ({"team": "team", "credit": "satisfied"}, "name it with dwell="),
    (
        {"credits": {"a": "credit_a", "b": "credit_b"}, "credit": "any"},
        "leave out credit=",
    ),
]


@pytest.mark.parametrize(("options", "message"), WRONG)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        clicks.interleaving(random_log(1), cluster="user_id", **options)
    with pytest.raises(
        pl.exceptions.ColumnNotFoundError, match="credit column 'nothing'"
    ):
        clicks.interleaving(
            random_log(1), team="team", credit="nothing", cluster="user_id"
        )


def test_few_clusters_of_several_segments_are_told_once():
    log = clicks.simulate(60, n_queries=5, interleaved_share=0.9, seed=1).draw()
    part = {"part": pl.col("impression_id") % 3}
    ranks = {"A": "position", "B": "last"}
    log = log.with_columns(**part, last=11 - pl.col("position").cast(pl.Int64))
    with pytest.warns(UserWarning, match="rest on") as told:
        clicks.interleaving(
            log, ranks=ranks, method="balanced", by="part", cluster="impression_id"
        )
    assert [str(w.message)[:14] for w in told if "rest on" in str(w.message)] == [
        "3 of 3 results"
    ]
