"""Measures of behavior: formulas by plain loops, errors by formulas of papers."""

from __future__ import annotations

import itertools
import math
import random
import warnings
from collections import defaultdict

import polars as pl
import pytest
from slow import slow
from unequal import NEAR, allowance, effective, margin

from polars_rank import DataError, clicks, evaluate, example
from polars_rank.clicks.behavior import ratios


def random_log(seed, impressions=80, users=9):
    """Dwell times may be unknown; positions may be skipped; some are long lists."""
    rng = random.Random(seed)
    rows = []
    for i in range(impressions):
        user, time = rng.randrange(users), rng.randrange(2000)
        answered, shown = rng.random() < 0.5, rng.choice([1, 3, 12])
        for position in range(1, shown + 1):
            if shown == 12 and rng.random() < 0.2:
                continue
            clicked = rng.random() < 0.35
            known = clicked and rng.random() < 0.8
            rows.append(
                {
                    "impression_id": i,
                    "query_id": f"q{i % 6}",
                    "position": position,
                    "clicked": clicked,
                    "dwell": rng.choice([1.5, 4.0, 30.0, 31.25, 90.1])
                    if known
                    else None,
                    "time": float(time),
                    "clicked_at": time + rng.random() * 60 if clicked else None,
                    "user_id": user,
                    "session_id": f"{user}-{time // 700}",
                    "answered": answered,
                    "country": "DE" if user % 2 else "US",
                    "weight": 1.0 + user / 4,
                }
            )
    rng.shuffle(rows)
    return pl.DataFrame(rows)


NAMED = {
    "dwell": "dwell",
    "time": "time",
    "clicked_at": "clicked_at",
    "session": "session_id",
    "flag": "answered",
}


# -- plain loops: (numerator, denominator) of one impression, or None without a value


def places(rows, k=None):
    return sorted(
        r["position"] for r in rows if r["clicked"] and (k or 999) >= r["position"]
    )


def long_clicks(rows, k, dwell, unknown):
    def satisfied(r):
        known = r["dwell"] is not None
        return r["dwell"] >= dwell if known else unknown == "satisfied"

    return [p for r in rows if r["clicked"] and satisfied(r) for p in places([r], k)]


def plain_clicks(rows, k=None):
    return len(places(rows, k)), 1


def plain_any_click(rows, k=None):
    return bool(places(rows, k)), 1


def plain_abandonment(rows):
    return not places(rows), 1


def plain_good_abandonment(rows):
    return (rows[0]["answered"], 1) if not places(rows) else (0, 0)


def plain_bad_abandonment(rows):
    return not places(rows) and not rows[0]["answered"], 1


def plain_ctr(rows, k=None):
    return len(places(rows, k)), sum(r["position"] <= (k or 999) for r in rows)


def plain_ctr_at(rows, k=1):
    return places(rows).count(k), sum(r["position"] == k for r in rows)


def plain_first_click(rows):
    return (min(places(rows)), 1) if places(rows) else (0, 0)


def plain_last_click(rows):
    return (max(places(rows)), 1) if places(rows) else (0, 0)


def plain_mean_click(rows):
    at = places(rows)
    return (sum(at) / len(at), 1) if at else (0, 0)


def plain_click_position(rows):
    return sum(places(rows)), len(places(rows))


def plain_rr(rows, k=None):
    return 1 / min(places(rows, k)) if places(rows, k) else 0, 1


def plain_mean_rr(rows):
    at = places(rows)
    return sum(1 / p for p in at) / len(at) if at else 0, 1


def plain_p_skip(rows):
    at = places(rows)
    return (max(at) - len(at), max(at)) if at else (0, 0)


def plain_skips(rows):
    last = max(places(rows), default=0)
    return sum(r["position"] < last and not r["clicked"] for r in rows), 1


def plain_satisfied_clicks(rows, k=None, dwell=30, unknown="unsatisfied"):
    return len(long_clicks(rows, k, dwell, unknown)), 1


def plain_satisfied(rows, k=None, dwell=30, unknown="unsatisfied"):
    return bool(long_clicks(rows, k, dwell, unknown)), 1


def plain_satisfied_rr(rows, k=None, dwell=30, unknown="unsatisfied"):
    at = long_clicks(rows, k, dwell, unknown)
    return 1 / min(at) if at else 0, 1


def plain_quick_back(rows, dwell=5):
    quick = [
        r
        for r in rows
        if r["clicked"] and r["dwell"] is not None and r["dwell"] < dwell
    ]
    return len(quick), len(places(rows))


def plain_dwell(rows):
    known = [r["dwell"] for r in rows if r["clicked"] and r["dwell"] is not None]
    return math.fsum(known), len(known)


def waits(rows):
    return [r["clicked_at"] - r["time"] for r in rows if r["clicked"]]


def plain_time_to_first_click(rows):
    return (min(waits(rows)), 1) if waits(rows) else (0, 0)


def plain_time_to_last_click(rows):
    return (max(waits(rows)), 1) if waits(rows) else (0, 0)


PLAIN = {
    name[6:]: f for name, f in dict(globals()).items() if name.startswith("plain_")
}


# -- the same of one session, whose impressions are in order of time


def session_queries_per_session(impressions):
    return len(impressions), 1


def session_reformulation_rate(impressions, within=30):
    times = [rows[0]["time"] for rows in impressions]
    return sum(b - a <= within for a, b in itertools.pairwise(times)), len(times)


def session_session_success(impressions, dwell=30, unknown="unsatisfied"):
    return any(long_clicks(rows, None, dwell, unknown) for rows in impressions), 1


OF_SESSIONS = {
    name[8:]: f for name, f in dict(globals()).items() if name.startswith("session_")
}
MEASURES_OF_SESSIONS = {
    **{name: (name, {}) for name in OF_SESSIONS},
    "reformulation_rate(within=60)": ("reformulation_rate", {"within": 60}),
    "session_success(dwell=90, unknown=satisfied)": (
        "session_success",
        {"dwell": 90, "unknown": "satisfied"},
    ),
}

MEASURES = {
    **{name: (name, {}) for name in PLAIN},
    "clicks@2": ("clicks", {"k": 2}),
    "any_click@1": ("any_click", {"k": 1}),
    "ctr@3": ("ctr", {"k": 3}),
    "ctr_at@3": ("ctr_at", {"k": 3}),
    "rr@2": ("rr", {"k": 2}),
    "satisfied_clicks(dwell=31)@2": ("satisfied_clicks", {"k": 2, "dwell": 31}),
    "satisfied(unknown=satisfied)@1": ("satisfied", {"k": 1, "unknown": "satisfied"}),
    "satisfied_rr(unknown=satisfied, dwell=90)@3": (
        "satisfied_rr",
        {"k": 3, "dwell": 90, "unknown": "satisfied"},
    ),
    "quick_back(dwell=2)": ("quick_back", {"dwell": 2}),
}


def by_impression(log):
    lists = defaultdict(list)
    for row in log.iter_rows(named=True):
        lists[row["impression_id"]].append(row)
    return lists


def plain_pairs(log, measure):
    name, params = MEASURES[measure]
    return {i: PLAIN[name](rows, **params) for i, rows in by_impression(log).items()}


def divided(num, den):
    return num / den if den else None


def close(found, wanted):
    if wanted is None:
        return found is None
    return found == pytest.approx(wanted, rel=1e-12, abs=1e-12)


def test_every_measure_has_a_plain_loop():
    assert not PLAIN.keys() & OF_SESSIONS.keys()
    apart = (PLAIN.keys() | OF_SESSIONS.keys()) ^ clicks.BEHAVIOR.keys()
    assert not apart, "plain_<name> or session_<name> of each measure, and no other"
    for definition in clicks.BEHAVIOR.values():
        first = definition.doc.splitlines()[0]
        assert first.endswith("."), definition.name
        assert all(p.doc.text for p in definition.parameters.values()), definition.name


@pytest.mark.parametrize("seed", [0, slow(1), slow(2)])
def test_values_of_impressions(seed):
    log = random_log(seed)
    found = clicks.per_impression(log, [*MEASURES], **NAMED)
    assert found["impression_id"].is_sorted()
    for measure in MEASURES:
        pairs = plain_pairs(log, measure)
        for i, value in found.select("impression_id", measure).iter_rows():
            assert close(value, divided(*pairs[i])), (measure, i)


def test_values_of_impressions_have_no_weight():
    log = random_log(2)
    plain = clicks.per_impression(log, [*MEASURES], **NAMED)
    weights = [pl.col("impression_id") % 3, 0.1, pl.col("impression_id") / 7]
    for weight in weights:
        weighed = log.with_columns(w=weight)
        found = clicks.per_impression(weighed, [*MEASURES], weight="w", **NAMED)
        assert found.equals(plain)


@pytest.mark.parametrize(
    ("seed", "per", "weight"),
    [
        (0, None, None),
        (0, "impression", "weight"),
        slow(1, None, "weight"),
        slow(1, "impression", None),
        slow(2, None, None),
    ],
)
def test_values_of_segments(seed, per, weight):
    log = random_log(seed)
    options = NAMED | ({"weight": weight} if weight else {})
    found = clicks.behavior(log, [*MEASURES], by="country", unit=per, **options)
    lists = by_impression(log)
    for row in found.iter_rows(named=True):
        inside = [
            i for i, rows in lists.items() if rows[0]["country"] == row["country"]
        ]
        assert row["impressions"] == len(inside)
        assert row["total_clicks"] == sum(len(places(lists[i])) for i in inside)
        assert row["queries"] == len({lists[i][0]["query_id"] for i in inside})
        for measure in MEASURES:
            pairs = plain_pairs(log, measure)
            if per:
                pairs = {i: (n / d, 1) if d else (0, 0) for i, (n, d) in pairs.items()}
            w = {i: lists[i][0]["weight"] if weight else 1.0 for i in inside}
            num = math.fsum(w[i] * pairs[i][0] for i in inside)
            den = math.fsum(w[i] * pairs[i][1] for i in inside)
            assert close(row[measure], divided(num, den)), measure


@pytest.mark.parametrize("weight", [None, "weight"])
def test_measures_of_sessions(weight):
    log = random_log(5)
    sessions = defaultdict(list)
    for i, rows in by_impression(log).items():
        sessions[rows[0]["session_id"]].append((rows[0]["time"], i, rows))
    options = NAMED | ({"weight": weight} if weight else {})
    found = clicks.behavior(log, [*MEASURES_OF_SESSIONS], by="country", **options)
    assert found["country"].to_list() == ["DE", "US"]
    for row in found.iter_rows(named=True):
        own = [
            [rows for *_, rows in sorted(session, key=lambda shown: shown[:2])]
            for session in sessions.values()
            if session[0][2][0]["country"] == row["country"]
        ]
        w = [rows[0][0]["weight"] if weight else 1.0 for rows in own]
        for measure, (name, params) in MEASURES_OF_SESSIONS.items():
            pairs = [OF_SESSIONS[name](session, **params) for session in own]
            num, den = (
                math.fsum(a * pair[i] for a, pair in zip(w, pairs, strict=True))
                for i in (0, 1)
            )
            assert num, measure
            assert close(row[measure], num / den), measure


@pytest.mark.parametrize("layout", ["any", "auto", "contiguous"])
@pytest.mark.parametrize("measure", [*MEASURES_OF_SESSIONS])
def test_unknown_sessions_are_not_one_session(measure, layout):
    log = random_log(5).sort("impression_id")
    some = pl.col("impression_id") % 4 == 0
    log = log.with_columns(session_id=pl.when(~some).then("session_id"))
    options = {"layout": layout, **NAMED}
    with pytest.raises(DataError, match="sessions are not one session") as error:
        clicks.behavior(log.lazy(), measure, **options).collect()
    assert error.value.rule == "null_session"
    clicks.behavior(log, "ctr", **options)  # asks for no session


def test_measures_are_those_of_rankings_where_these_are():
    """hits@k, accuracy@k and rr@k of ``evaluate`` with clicks as labels."""
    log = pl.scan_parquet(example.clicks_path())
    theirs = evaluate(
        log,
        ["hits@3", "accuracy@3", "rr@3", "rr", "mean_rr"],
        query="impression_id",
        label="clicked",
        rank="position",
    ).collect()
    ours = clicks.behavior(log, ["clicks@3", "any_click@3", "rr@3", "rr", "mean_rr"])
    assert theirs.row(0)[1:] == pytest.approx(ours.collect().row(0)[3:], rel=1e-12)
    skip = log.group_by("impression_id").agg(
        first=pl.col("clicked").rank_eval.first_click(rank="position"),
        last=pl.col("clicked").rank_eval.last_click(rank="position"),
        mean=pl.col("clicked").rank_eval.mean_click(rank="position"),
        skip=pl.col("clicked").rank_eval.p_skip(rank="position"),
    )
    names = ["first_click", "last_click", "mean_click", "p_skip"]
    both = (
        skip.sort("impression_id")
        .collect()
        .drop("impression_id")
        .rename(dict(zip(["first", "last", "mean", "skip"], names, strict=True)))
    )
    one = clicks.per_impression(log, names).collect().drop("impression_id")
    assert both.with_columns(pl.all().fill_null(-1).round(12)).equals(
        one.with_columns(pl.all().fill_null(-1).round(12))
    )


# -- intervals


def plain_interval(pairs, clusters):
    """Estimate and standard error of the delta method: Deng, Knoblich, Lu, 2018."""
    y, x = defaultdict(float), defaultdict(float)
    for i, (num, den) in pairs.items():
        y[clusters[i]] += num
        x[clusters[i]] += den
    g, total = len(y), sum(x.values())
    if not total:
        return None, None
    ratio = sum(y.values()) / total
    z = [(y[c] - ratio * x[c]) / (total / g) for c in y]
    usual = math.sqrt(sum(v * v for v in z) / (g - 1) / g)
    return ratio, usual * allowance([*x.values()])


@pytest.mark.parametrize(
    "cluster", [None, "user_id", slow("session_id"), slow(["user_id", "query_id"])]
)
def test_intervals_are_those_of_the_delta_method(cluster):
    log = random_log(1, impressions=400, users=70)
    lists = by_impression(log)
    keys = [cluster] if isinstance(cluster, str) else cluster or ["impression_id"]
    clusters = {i: tuple(rows[0][k] for k in keys) for i, rows in lists.items()}
    options = {"cluster": cluster} if cluster else {"user": None}
    log = log if cluster else log.drop("user_id")
    measures = [*MEASURES][::3] if cluster in (None, "user_id") else [*MEASURES]
    found = clicks.behavior(
        log, measures, interval="normal", level=0.9, **NAMED, **options
    )
    assert found["measure"].to_list() == measures
    for row in found.iter_rows(named=True):
        pairs = plain_pairs(log, row["measure"])
        estimate, se = plain_interval(pairs, clusters)
        sizes = defaultdict(float)
        for i, (_, den) in pairs.items():
            sizes[clusters[i]] += den
        half = margin(sizes.values(), 0.9) * se
        assert row["effective_clusters"] == pytest.approx(effective(sizes.values()))
        assert close(row["estimate"], estimate)
        assert row["se"] == pytest.approx(se, rel=1e-10), row["measure"]
        assert row["upper"] - row["estimate"] == pytest.approx(half, rel=NEAR)
        assert row["estimate"] - row["lower"] == pytest.approx(half, rel=NEAR)
        assert row["impressions"] == len(lists)
        assert row["clusters"] == len({*clusters.values()})


@pytest.mark.parametrize("interval", ["normal", "bootstrap"])
@pytest.mark.parametrize("users", [1, 2])
def test_a_ratio_of_one_user_has_no_error(interval, users):
    """Only the users who click have a first click."""
    log = pl.DataFrame(
        [
            (user, f"{user} {i}", position, user <= users and position == i)
            for user in range(1, 6)
            for i in (1, 2, 3)
            for position in (1, 2, 3, 4)
        ],
        schema=["user_id", "impression_id", "position", "clicked"],
        orient="row",
    )
    measures = ["first_click", "clicks"]
    options = {"cluster": "user_id", "interval": interval}
    first, count = clicks.behavior(log, measures, **options).to_dicts()
    assert first["estimate"] == 2.0
    errors = [first[name] for name in ("se", "lower", "upper")]
    assert errors == ([None] * 3 if users == 1 else [0.0, 2.0, 2.0])  # both as the mean
    assert count["se"] > 0


def test_few_clusters_have_wider_intervals():
    pytest.importorskip("scipy")
    log = random_log(2, users=12)
    row = clicks.behavior(log, "clicks", interval="normal", cluster="user_id").row(
        0, named=True
    )
    assert row["clusters"] == 12
    users = [rows[0]["user_id"] for rows in by_impression(log).values()]
    t = margin([users.count(user) for user in {*users}])
    assert row["upper"] - row["estimate"] == pytest.approx(t * row["se"], rel=1e-9)


def test_one_cluster_has_no_error():
    log = random_log(2, users=1)
    for kind in ("normal", "bootstrap"):
        row = clicks.behavior(log, "clicks", interval=kind, cluster="user_id").row(
            0, named=True
        )
        assert row["estimate"] is not None
        assert row["se"] is row["lower"] is row["upper"] is None


def test_the_bootstrap_agrees_with_the_delta_method():
    log = clicks.simulate(4000, n_queries=50, n_users=600, user_sd=1.0, seed=3).draw()
    names = ["clicks", "ctr@3", "rr", "p_skip"]
    options = {"cluster": "user_id"}
    normal = clicks.behavior(log, names, interval="normal", **options)
    drawn = clicks.behavior(
        log, names, interval="bootstrap", n_resamples=2000, **options
    )
    assert drawn["estimate"].to_list() == pytest.approx(
        normal["estimate"].to_list(), rel=1e-12
    )
    # Of 2,000 replicates the standard deviation is known to 1.6 percent.
    assert drawn["se"].to_list() == pytest.approx(normal["se"].to_list(), rel=0.08)
    for end in ("lower", "upper"):
        off = (drawn[end] - normal[end]).abs() / normal["se"]
        assert off.max() < 0.3
    shuffled = log.sample(fraction=1, shuffle=True, seed=1)
    again = clicks.behavior(
        shuffled, names, interval="bootstrap", n_resamples=2000, **options
    )
    assert again.equals(drawn)
    other = clicks.behavior(log, names, interval="bootstrap", seed=1, **options)
    assert not other["se"].equals(drawn["se"])


def test_many_clusters_are_drawn_in_groups(monkeypatch):
    log = clicks.simulate(4000, n_queries=50, n_users=3000, user_sd=1.0, seed=3).draw()
    options = {"interval": "bootstrap", "cluster": "user_id", "n_resamples": 2000}
    whole = clicks.behavior(log, "ctr", **options)
    monkeypatch.setattr(ratios, "BUCKETS", 500)
    grouped = clicks.behavior(log, "ctr", **options)
    assert grouped["clusters"].equals(whole["clusters"])
    # 500 groups add sqrt(1/1000), 3 percent, and the replicates 2 percent.
    assert grouped["se"].item() == pytest.approx(whole["se"].item(), rel=0.15)
    assert grouped["se"].item() != whole["se"].item()


def test_poisson_numbers():
    table = ratios._table()
    assert table.mean() == 1.0
    assert table.var() == pytest.approx(1, abs=1e-3)
    for n in range(5):
        assert (table == n).mean() == pytest.approx(
            math.exp(-1) / math.factorial(n), abs=2e-5
        )


def test_users_who_are_not_named_are_warned_of():
    log = random_log(1)
    with pytest.warns(UserWarning, match="give cluster='user_id'"):
        clicks.behavior(log, "clicks", interval="normal")
    named = log.rename({"user_id": "who"})
    with pytest.warns(UserWarning, match="give cluster='who'"):
        clicks.behavior(named, "clicks", interval="normal", user="who")
    clicks.behavior(log, "clicks", interval="normal", cluster="user_id")
    clicks.behavior(log, "clicks")


def coverage(by, interval, repetitions, seed=0):
    """How often an A/A interval covers no difference."""
    covered = 0
    for r in range(repetitions):
        log = clicks.simulate(
            2000, n_queries=100, n_users=200, user_sd=1.0, n_arms=2, seed=seed + r
        ).draw()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = clicks.behavior(
                log,
                "ctr",
                by="arm",
                interval=interval,
                **({"cluster": by} if by else {}),
            )
        (a, b), (sa, sb) = found["estimate"], found["se"]
        covered += abs(a - b) <= 1.96 * math.hypot(sa, sb)
    return covered / repetitions


@pytest.mark.slow
def test_intervals_cover_by_user_and_not_by_impression():
    """40 repetitions: 0.95 is 38, and below 33 hardly ever; users come back."""
    assert coverage("user_id", "normal", 40) > 0.82
    assert coverage(None, "normal", 40) < 0.88


# -- one value in every layout


def everything(log, **options):
    return (
        clicks.behavior(log, [*MEASURES], by="country", **NAMED, **options)
        .lazy()
        .collect()
    )


@pytest.mark.slow
def test_the_same_bits_in_any_layout(tmp_path, monkeypatch):
    log = random_log(3, impressions=500).sort("impression_id", "position")
    wanted = everything(log)
    for seed in range(3):
        shuffled = log.sample(fraction=1, shuffle=True, seed=seed)
        assert everything(shuffled).equals(wanted)
        assert everything(shuffled.lazy()).equals(wanted)
    assert everything(log.lazy(), layout="contiguous").equals(wanted)
    for i, part in enumerate(log.iter_slices(999)):
        part.write_parquet(tmp_path / f"{i}.parquet")
    files = pl.scan_parquet(tmp_path / "*.parquet")
    assert everything(files).equals(wanted)
    from polars_rank._engine.spill.budget import Budget

    small = Budget(50_000, 1 << 20)
    monkeypatch.setattr("polars_rank._engine.spill.budget.Budget.of", lambda *_: small)
    assert everything(files, memory_limit="1GB", layout="any").equals(wanted)
    options = {"interval": "normal", "cluster": "user_id"}
    normal = everything(log, **options)
    assert everything(shuffled.lazy(), **options).equals(normal)
    spilled = everything(files, memory_limit="1GB", layout="any", **options)
    assert spilled.equals(normal)


@pytest.mark.parametrize("by", ["country", []])
def test_merged_days_are_the_whole(by, tmp_path):
    log = random_log(8, impressions=300, users=120)
    names = ["clicks", "mean_rr", "dwell", "p_skip"]
    options = {"dwell": "dwell", "by": by, "cluster": "user_id"}
    whole = clicks.behavior(log, names, interval="normal", **options)
    days = [log.filter(pl.col("user_id") % 3 == i) for i in range(3)]
    states = [clicks.behavior_state(day, names, **options) for day in days]
    assert clicks.merge_behavior(states, whole_clusters=True).equals(whole)
    assert clicks.merge_behavior(
        [states[2], states[0], states[1]], whole_clusters=True
    ).equals(whole)
    for i, state in enumerate(states):
        state.write_parquet(tmp_path / f"{i}.parquet")
    kept = pl.scan_parquet(tmp_path / "*.parquet")
    assert clicks.merge_behavior(kept, whole_clusters=True).equals(whole)


def test_rows_that_are_not_contiguous_are_noticed():
    log = random_log(3).sort("position")
    with pytest.raises(DataError, match="not contiguous"):
        everything(log.lazy(), layout="contiguous")


def test_ids_of_several_columns():
    log = random_log(4)
    split = log.with_columns(
        day=pl.col("impression_id") % 3, n=pl.col("impression_id") // 3
    )
    assert everything(split, impression=["day", "n"]).equals(everything(log))
    lazy = everything(split.lazy().sort("day", "n"), impression=["day", "n"])
    assert lazy.equals(everything(log))


@pytest.mark.parametrize("engine", ["streaming", slow("in-memory")])
def test_plans_stream(engine):
    log = pl.scan_parquet(example.clicks_path())
    for options in ({"layout": "any"}, {"layout": "contiguous"}):
        plan = clicks.behavior(
            log,
            [*MEASURES][:12],
            by="device",
            dwell="dwell",
            flag="randomized",
            **options,
        )
        assert plan.collect(engine=engine).height == 2
        graph = plan.show_graph(
            engine="streaming", plan_stage="physical", raw_output=True, show=False
        )
        assert "in-memory-map" not in graph


# -- impressions without results


def test_impressions_without_results():
    log = random_log(6, impressions=30)
    known = log.unique("impression_id").select("impression_id", "country", "user_id")
    none = pl.DataFrame(
        {"impression_id": [100, 101], "country": ["FR", "DE"], "user_id": [1, 2]}
    )
    every = pl.concat([known, none])
    found = clicks.behavior(
        log, ["abandonment", "ctr", "clicks", "rr"], by="country", impressions=every
    )
    plain = clicks.behavior(log, ["abandonment", "ctr", "clicks", "rr"], by="country")
    de, fr, us = found.rows()
    assert fr == ("FR", 1, 0, 0, 1.0, None, 0.0, 0.0)
    old = plain.row(0)
    n = old[1]
    assert de[:3] == ("DE", n + 1, old[2])
    assert de[4] == pytest.approx((old[4] * n + 1) / (n + 1))
    assert de[5] == old[5]  # clicks per shown document: nothing was shown
    assert us == plain.row(1)
    every = every.with_columns(pl.col("impression_id").cast(pl.Int32))
    normal = clicks.behavior(
        log,
        "abandonment",
        interval="normal",
        cluster="user_id",
        impressions=every.lazy(),
        level=0.5,
    )
    assert normal["impressions"].item() == 32


@pytest.mark.parametrize("layout", ["any", "auto", "contiguous"])
def test_segments_that_only_impressions_have_are_bounded(layout):
    log = (
        random_log(6, impressions=30)
        .sort("impression_id")
        .with_columns(query_id=pl.col("impression_id") % 4)
    )
    every = log.unique("impression_id").select("impression_id", seg="country")
    none = pl.DataFrame({"impression_id": [100, 101], "seg": ["FR", "DE"]})
    every = pl.concat([every, none])
    options = {"by": "seg", "impressions": every, "layout": layout}
    found = clicks.behavior(log.lazy(), "ctr", memory_limit="1GB", **options).collect()
    segment = dict(every.iter_rows())
    queries = defaultdict(set, {name: set() for name in segment.values()})
    for row in log.iter_rows(named=True):
        queries[segment[row["impression_id"]]].add(row["query_id"])
    counted = dict(found.select("seg", "queries").iter_rows())
    assert counted == {name: len(of) for name, of in queries.items()}
    assert found.equals(clicks.behavior(log, "ctr", **options))


def test_impressions_that_are_unknown_or_come_twice():
    log = random_log(6, impressions=5)
    ids = pl.DataFrame({"impression_id": [0, 1, 2, 3]})
    with pytest.raises(DataError, match="missing from impressions=") as error:
        clicks.behavior(log, "clicks", impressions=ids)
    assert error.value.rule == "unknown_impression"
    assert error.value.examples == (4,)
    twice = pl.DataFrame({"impression_id": [0, 1, 2, 3, 4, 4]})
    with pytest.raises(DataError, match="more than one row per impression"):
        clicks.behavior(log, "clicks", impressions=twice)
    with pytest.raises(
        pl.exceptions.ColumnNotFoundError, match="impression column 'impression_id'"
    ):
        clicks.behavior(log, "clicks", impressions=twice.rename({"impression_id": "i"}))


# -- rules


RULES = {
    "invalid_position": {"position": [1, None, 1]},
    "invalid_click": {"clicked": [1, 0, 2]},
    "duplicate_position": {"position": [1, 1, 1]},
    "null_impression": {"impression_id": [1, 1, None]},
    "two_values": {"country": ["DE", "US", "US"]},
    "invalid_weight": {"weight": [1.0, 1.0, -1.0]},
    "invalid_dwell": {"dwell": [1.0, -1.0, None]},
}


@pytest.mark.covering(1)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("layout", ["any", "contiguous"])
def test_broken_rules(rule, layout):
    rows = {
        "impression_id": [1, 1, 2],
        "position": [1, 2, 1],
        "clicked": [1, 0, 1],
        "country": ["DE", "DE", "US"],
        "weight": [1.0, 1.0, 2.0],
        "dwell": [1.0, None, None],
    }
    options = {"by": "country", "weight": "weight", "dwell": "dwell", "layout": layout}
    log = pl.DataFrame(rows | RULES[rule]).lazy()
    with pytest.raises(DataError) as error:
        clicks.behavior(log, "clicks", **options).collect()
    assert error.value.rule == rule
    assert error.value.count == 1
    where = (
        1
        if rule
        in ("invalid_position", "duplicate_position", "two_values", "invalid_dwell")
        else 2
    )
    if rule != "null_impression":
        assert f"e.g. in impression {where}" in str(error.value)
    with pytest.warns(
        UserWarning, match=error.value.args[0].split(" (")[0][:40].replace("(", r"\(")
    ):
        clicks.behavior(log, "clicks", check="warn", **options).collect()
    clicks.behavior(log, "clicks", check="off", **options).collect()


def test_documents_that_come_twice():
    log = pl.DataFrame(
        {
            "impression_id": [1, 1],
            "doc_id": ["a", "a"],
            "position": [1, 2],
            "clicked": [0, 1],
        }
    )
    assert clicks.behavior(log, "ctr").row(0) == (1, 1, 0.5)
    with pytest.raises(DataError, match="duplicate documents within an impression"):
        clicks.behavior(log, "ctr", check="full")
    assert clicks.behavior(log, ["ctr", "rr"], on_duplicate="first").row(0) == (
        1,
        1,
        1.0,
        1.0,
    )


def test_a_document_that_comes_twice_keeps_what_was_logged_of_its_clicks():
    names = ["impression_id", "doc_id", "position", "clicked", "dwell", "clicked_at"]
    twice = [
        (1, "a", 1, 0, None, None, False),
        (1, "b", 2, 1, 8.0, 109.0, False),
        (1, "a", 3, 1, 40.0, 107.0, False),
        (1, "a", 4, 1, 2.0, 120.0, False),
        (2, "a", 1, 0, None, None, None),
        (2, "a", 2, 0, None, None, True),
    ]
    once = [
        (1, "a", 1, 1, 40.0, 107.0, False),
        (1, "b", 2, 1, 8.0, 109.0, False),
        (2, "a", 1, 0, None, None, True),
    ]
    measures = ["any_click", "time_to_first_click", "time_to_last_click", "dwell"]
    measures += ["good_abandonment", "bad_abandonment", "satisfied_clicks", "rr"]
    options = {n: n for n in ("dwell", "time", "clicked_at", "flag")}
    first, wanted = (
        clicks.per_impression(
            pl.DataFrame(rows, [*names, "flag"], orient="row").with_columns(time=100.0),
            measures,
            on_duplicate=choice,
            **options,
        )
        for rows, choice in ((twice, "first"), (once, "error"))
    )
    assert first.equals(wanted)
    assert wanted["time_to_first_click"].to_list() == [7.0, None]
    assert wanted["good_abandonment"].to_list() == [None, 1.0]


AWKWARD = {
    "one impression": [(1, 1, 1)],
    "no click": [(1, 1, 0), (1, 2, 0), (2, 1, 0)],
    "all clicked": [(1, 1, 1), (1, 2, 1), (2, 1, 1)],
    "gaps": [(1, 3, 1), (1, 90, 0), (1, 200, 1), (2, 70, 1)],
}


@pytest.mark.parametrize("case", AWKWARD)
def test_awkward_logs(case):
    names = ["impression_id", "position", "clicked"]
    log = pl.DataFrame(AWKWARD[case], schema=names, orient="row")
    words = ("satisfied", "quick", "dwell", "good", "bad", "time")
    measures = [m for m in MEASURES if not any(word in m for word in words)]
    found = clicks.behavior(log, measures).row(0, named=True)
    for measure in measures:
        pairs = plain_pairs(log, measure).values()
        total = divided(*map(math.fsum, zip(*pairs, strict=True)))
        assert close(found[measure], total), measure


def test_the_same_bits_in_any_order():
    log = random_log(3, impressions=300)
    names = ["mean_rr", "dwell", "mean_click", "p_skip"]
    wanted = clicks.behavior(log, names, dwell="dwell", by="country")
    for seed in range(3):
        shuffled = log.sample(fraction=1, shuffle=True, seed=seed).lazy()
        found = clicks.behavior(shuffled, names, dwell="dwell", by="country")
        assert found.collect().equals(wanted)


def test_an_empty_log():
    log = pl.DataFrame(
        schema={"impression_id": pl.Int64, "position": pl.Int64, "clicked": pl.Boolean}
    )
    assert clicks.behavior(log, ["clicks", "ctr"]).row(0) == (0, 0, None, None)
    found = clicks.behavior(log, "clicks", interval="normal").row(0, named=True)
    assert found["estimate"] is found["se"] is None


# -- measures as text and functions


def test_a_measure_of_ones_own():
    log = random_log(2)
    found = clicks.behavior(
        log,
        [
            {"top clicks": lambda i: (i.clicks(3), i.one), "some": lambda i: i.clicked},
            {"by weight": lambda i: i.weighted({1: 1.0, 2: 0.5})},
            "clicks@3",
        ],
    ).row(0, named=True)
    assert found["top clicks"] == found["clicks@3"]
    assert found["some"] == clicks.behavior(log, "any_click")["any_click"].item()
    lists = by_impression(log)
    worth = sum(
        places(rows).count(1) + 0.5 * places(rows).count(2) for rows in lists.values()
    )
    assert found["by weight"] == pytest.approx(worth / len(lists))
    with pytest.raises(TypeError, match="must return a numerator and a denominator"):
        clicks.behavior(log, {"x": lambda i: 3})


WRONG = [
    ("clicks@0", ValueError, "cutoff after @ must be a whole number of at least 1"),
    (
        "clikcs",
        ValueError,
        "unknown measure of behavior 'clikcs'; did you mean 'clicks'",
    ),
    ("abandonment@3", ValueError, "abandonment has no parameter 'k'"),
    ("satisfied(dwell=-1)", ValueError, "dwell must be a number of at least 0"),
    ("clicks(k=1)@2", ValueError, "k is given twice"),
    ("clicks(", ValueError, "cannot read the measure"),
    ([], ValueError, "no measures given"),
    (["clicks", "clicks"], ValueError, "given twice: clicks"),
    ([3], TypeError, "a measure is text like 'clicks@10'"),
    ({"x": 3}, TypeError, "a measure of your own is name: function"),
    ("satisfied", ValueError, "needs a column with dwell times: name it with dwell="),
    (
        "time_to_first_click",
        ValueError,
        "with the times of impressions: name it",
    ),
    ("session_success", ValueError, "needs a column with"),
    (
        "good_abandonment",
        ValueError,
        "whether the results answered the query",
    ),
]


@pytest.mark.parametrize(("measures", "error", "message"), WRONG)
def test_wrong_measures(measures, error, message):
    with pytest.raises(error, match=message):
        clicks.behavior(random_log(1), measures)


ARGUMENTS = [
    ({"unit": "query"}, "unit must be None or 'impression'"),
    ({"interval": "exact"}, "interval must be one of none, normal, bootstrap"),
    ({"level": 95}, "level must lie between 0 and 1"),
    ({"n_resamples": 1}, "n_resamples must be a whole number of at least 2"),
    ({"count": "position"}, "but this looks at each impression"),
]


@pytest.mark.parametrize(("options", "message"), ARGUMENTS)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        clicks.behavior(random_log(1), "clicks", **options)


def test_names_of_columns_that_clash():
    log = random_log(1).with_columns(impressions=pl.lit(1))
    with pytest.raises(
        ValueError, match="two output columns would be called 'impressions'"
    ):
        clicks.behavior(log, "clicks", by="impressions")
