"""Judgments out of clicks: formulas by plain loops, intervals by their definition."""

from __future__ import annotations

import math
import random
import sys
from collections import Counter, defaultdict

import polars as pl
import pytest
from slow import slow

import polars_rank as pr
from polars_rank import DataError, clicks
from polars_rank._engine.spill.budget import Budget

P = {1: 1.0, 2: 0.6, 3: 0.4, 4: 0.3}
ALPHA = {1: 0.9, 2: 0.5, 3: 0.4, 4: 0.2}
BETA = {1: 0.1, 2: 0.06, 3: 0.03, 4: 0.02}
PROPENSITIES = pl.DataFrame(
    {
        "position": [1, 2, 3, 4],
        "propensity": [*P.values()],
        "alpha": [*ALPHA.values()],
        "beta": [*BETA.values()],
    }
)


def random_log(seed, impressions=300):
    rng = random.Random(seed)
    rows = []
    for i in range(impressions):
        query, shown = rng.randrange(5), rng.sample(range(6), 4)
        rows += [
            (
                i,
                f"q{query}",
                f"d{doc}",
                position,
                rng.random() < 0.15 * doc * P[position],
            )
            for position, doc in enumerate(shown, start=1)
        ]
    names = ["impression_id", "query_id", "doc_id", "position", "clicked"]
    return pl.DataFrame(rows, schema=names, orient="row")


def rows_of(log):
    found = defaultdict(list)
    for row in log.iter_rows(named=True):
        found[row["query_id"], row["doc_id"]].append((row["position"], row["clicked"]))
    return found


def poisson_tail(k, mean):
    """P(X >= k)."""
    return 1 - sum(math.exp(-mean) * mean**i / math.factorial(i) for i in range(k))


def close(found, wanted):
    assert found == pytest.approx(wanted, rel=1e-11, abs=1e-12)


@pytest.mark.parametrize("method", ["ratio", "ips", "affine", "coec", "ctr"])
def test_estimates_are_those_of_a_plain_loop(method):
    log = random_log(1)
    bias = {} if method in ("ctr", "coec") else {"propensities": PROPENSITIES}
    found = clicks.judgments(log, method, **bias)
    shown, clicked = Counter(), Counter()
    for row in log.iter_rows(named=True):
        shown[row["position"]] += 1
        clicked[row["position"]] += row["clicked"]
    rate = {k: clicked[k] / n for k, n in shown.items()}
    pairs = rows_of(log)
    assert found.select("query_id", "doc_id").rows() == sorted(pairs)
    for row in found.iter_rows(named=True):
        cells = pairs[row["query_id"], row["doc_id"]]
        n, c = len(cells), sum(clicked for _, clicked in cells)
        assert (row["impressions"], row["clicks"]) == (n, c)
        exposure = {
            "ratio": lambda k: P[k],
            "ips": lambda k: P[k],
            "affine": ALPHA.get,
            "coec": rate.get,
            "ctr": lambda k: 1.0,
        }[method]
        examined = sum(exposure(k) for k, _ in cells)
        background = sum(BETA[k] for k, _ in cells) if method == "affine" else 0.0
        estimate = (c - background) / examined
        if method == "ips":
            estimate = sum(clicked / P[k] for k, clicked in cells) / n
        close(row["estimate"], estimate)
        assert row["label"] == (row["estimate"] if n >= 10 else None)
        low, high = row["lower"], row["upper"]
        if method == "ctr":
            # Wilson: rates at which the observed one is 1.96 standard errors off.
            for end in (low, high):
                if 0 < c < n:
                    z = (estimate - end) / math.sqrt(end * (1 - end) / n)
                    assert abs(z) == pytest.approx(1.959963984540054, rel=1e-9)
            continue
        # Garwood: means at which that many clicks, or that few, have 2.5 %.
        factor = estimate / c * examined if method == "ips" and c else 1.0
        low, high = (x / factor * examined + background for x in (low, high))
        assert 1 - poisson_tail(c + 1, high) == pytest.approx(0.025, abs=1e-9)
        if c:
            assert poisson_tail(c, low) == pytest.approx(0.025, abs=1e-9)
        else:
            close(low, 0.0)


@pytest.mark.parametrize("within", ["log", "query"])
def test_a_prior_is_found_by_moments(within):
    log = random_log(2)
    found = clicks.judgments(log, propensities=PROPENSITIES, prior=within)
    pairs = {
        key: (sum(c for _, c in cells), sum(P[k] for k, _ in cells))
        for key, cells in rows_of(log).items()
    }
    mean = {}
    for key in pairs:
        inside = [v for k, v in pairs.items() if within == "log" or k[0] == key[0]]
        mean[key] = sum(c for c, _ in inside) / sum(e for _, e in inside)
    excess = sum((c - mean[k] * e) ** 2 - c for k, (c, e) in pairs.items())
    tau = excess / sum((mean[k] * e) ** 2 for k, (_, e) in pairs.items())
    assert tau > 0
    for row in found.iter_rows(named=True):
        key = row["query_id"], row["doc_id"]
        c, e = pairs[key]
        close(row["estimate"], (1 / tau + c) / (1 / tau / mean[key] + e))
        assert row["lower"] < row["estimate"] < row["upper"]


def test_a_prior_of_pseudo_counts_and_of_what_does_not_vary():
    log = random_log(3)
    found = clicks.judgments(log, propensities=PROPENSITIES, prior=(2, 8))
    plain = clicks.judgments(log, propensities=PROPENSITIES)
    for a, b in zip(found.rows(named=True), plain.rows(named=True), strict=True):
        examined = sum(P[k] for k, _ in rows_of(log)[a["query_id"], a["doc_id"]])
        close(a["estimate"], (2 + b["clicks"]) / (8 + examined))
    flat = pl.DataFrame(
        {
            "query_id": 1,
            "doc_id": [1, 2, 3],
            "position": 1,
            "n": [20, 40, 60],
            "c": [5, 10, 15],
        }
    )
    same = clicks.judgments(flat, "ctr", prior="log", count="n", clicked="c")
    assert same["estimate"].to_list() == [0.25] * 3


def test_grades():
    log = random_log(4)
    plain = clicks.judgments(log, propensities=PROPENSITIES, min_impressions=1)
    cut = clicks.judgments(
        log, propensities=PROPENSITIES, min_impressions=1, grades=[0.2, 0.5]
    )
    for label, estimate in zip(cut["label"], plain["estimate"], strict=True):
        assert label == (estimate >= 0.2) + (estimate >= 0.5)
    for within in ("log", "query"):
        parts = clicks.judgments(
            log,
            propensities=PROPENSITIES,
            min_impressions=1,
            grades=3,
            grades_within=within,
        )
        for row in parts.iter_rows(named=True):
            peers = [
                e
                for q, e in plain.select("query_id", "estimate").iter_rows()
                if within == "log" or q == row["query_id"]
            ]
            below = sum(e < row["estimate"] for e in peers)
            assert row["label"] == 3 * below // len(peers)


def test_what_was_seldom_shown_or_clicked_is_not_judged():
    log = random_log(5, impressions=60)
    found = clicks.judgments(log, "ctr", min_impressions=8, min_clicks=2, grades=2)
    enough = (found["impressions"] >= 8) & (found["clicks"] >= 2)
    assert 0 < enough.sum() < len(found)
    assert found["label"].is_not_null().to_list() == enough.to_list()
    assert found["estimate"].null_count() == 0


def test_they_go_straight_into_an_evaluation():
    simulation = clicks.simulate(20_000, n_queries=20, seed=3)
    qrels = clicks.judgments(
        simulation.draw(), propensities=simulation.propensities, grades=[0.1, 0.3]
    )
    truth = simulation.truth.with_columns(
        label=(pl.col("relevance") >= 0.1).cast(int) + (pl.col("relevance") >= 0.3)
    )
    run = simulation.truth.select("query_id", "doc_id", "score")
    values = [
        pr.evaluate(run, ["ndcg@5"], qrels=labels)["ndcg@5"][0]
        for labels in (qrels, truth.select("query_id", "doc_id", "label"))
    ]
    assert values[0] == pytest.approx(values[1], abs=0.05)
    agreed = clicks.agreement(qrels, truth).row(0, named=True)
    naive = clicks.judgments(simulation.draw(), "ctr", grades=[0.1, 0.3])
    assert agreed["kappa"] > 0.8
    assert agreed["kappa"] > clicks.agreement(naive, truth)["kappa"][0] + 0.1


def test_intervals_cover_the_truth():
    simulation = clicks.simulate(20_000, n_queries=30, seed=4)
    found = clicks.judgments(simulation.draw(), propensities=simulation.propensities)
    both = found.join(simulation.truth, on=["query_id", "doc_id"])
    covered = pl.col("relevance").is_between("lower", "upper").mean()
    assert both.filter(pl.col("clicks") > 0).select(covered).item() > 0.93
    bias = both.select((pl.col("estimate") / pl.col("relevance")).median()).item()
    assert bias == pytest.approx(1, abs=0.05)


def test_the_order_of_rows_totals_and_buckets_change_nothing(tmp_path):
    log = random_log(6)
    wanted = clicks.judgments(log, propensities=PROPENSITIES, grades=4)
    mixed = log.sample(fraction=1, shuffle=True, seed=1)
    assert clicks.judgments(mixed, propensities=PROPENSITIES, grades=4).equals(wanted)
    mixed.write_parquet(tmp_path / "log.parquet")
    bounded = clicks.judgments(
        pl.scan_parquet(tmp_path / "log.parquet"),
        propensities=PROPENSITIES.lazy(),
        grades=4,
        memory_limit="1GB",
    )
    assert bounded.collect().equals(wanted)
    totals = log.group_by("query_id", "doc_id", "position").agg(
        n=pl.len(), c=pl.col("clicked").sum()
    )
    found = clicks.judgments(
        totals, propensities=PROPENSITIES, grades=4, count="n", clicked="c"
    )
    assert found.equals(wanted)
    column = log.join(PROPENSITIES.select("position", "propensity"), on="position")
    named = clicks.judgments(column, propensity="propensity", grades=4)
    close(named["estimate"].to_list(), wanted["estimate"].to_list())


@pytest.mark.slow
@pytest.mark.parametrize(
    "method", ["affine", "column", *map(slow, ("ratio", "ips", "coec", "ctr"))]
)
def test_many_buckets_give_the_same_bits(method, tmp_path, monkeypatch):
    log = random_log(8).join(PROPENSITIES.select("position", "propensity"), "position")
    bias = {} if method in ("ctr", "coec") else {"propensities": PROPENSITIES}
    if method == "column":
        bias, method = {"propensity": "propensity"}, "ratio"
    wanted = clicks.judgments(log, method, min_impressions=1, **bias)
    log.sample(fraction=1, shuffle=True, seed=3).write_parquet(tmp_path / "log.parquet")
    seen = []
    monkeypatch.setattr(
        "polars_rank._engine.spill.budget.Budget.of",
        lambda *_: Budget(30_000, 1 << 20),
    )
    found = clicks.judgments(
        pl.scan_parquet(tmp_path / "log.parquet"),
        method,
        min_impressions=1,
        memory_limit="1GB",
        progress=seen.append,
        **bias,
    )
    assert found.collect().equals(wanted)
    assert any(step.unit == "buckets" and step.total > 1 for step in seen)


def test_click_rates_take_no_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "scipy.special", None)
    assert clicks.judgments(random_log(1), "ctr")["lower"].null_count() == 0
    with pytest.raises(ModuleNotFoundError, match=r"polars-rank\[stats\]"):
        clicks.judgments(random_log(1), "coec")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "pbm"}, "method must be one of ratio, ips"),
        ({"propensities": None}, "name the logged column with propensity="),
        ({"method": "ctr"}, 'propensities= is not for method "ctr"'),
        ({"grades": [0.5, 0.2]}, "thresholds in rising order"),
        ({"grades": 1}, "grades must be at least 2"),
        ({"grades": [0.5], "grades_within": "query"}, "for a number of grades"),
        ({"grades_within": "day"}, "grades_within must be 'log' or 'query'"),
        ({"prior": (0, 1)}, "prior must be above 0"),
        ({"prior": "day"}, "prior must be a pair"),
        ({"method": "ips", "prior": "log"}, "prior= is for"),
        ({"by": "query_id"}, "judgments take no by="),
        ({"level": 95}, "level must lie between"),
    ],
)
def test_wrong_arguments_are_refused_at_once(options, message):
    given = {"method": "ratio", "propensities": PROPENSITIES, **options}
    method = given.pop("method")
    with pytest.raises(ValueError, match=message):
        clicks.judgments(random_log(1).lazy(), method, **given)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"clicked": pl.lit(2)}, "invalid_click"),
        # Place 0 has no propensity either: which is told first depends on threads.
        ({"position": pl.lit(0)}, "invalid_position or no_propensity"),
        ({"position": pl.lit(1)}, "duplicate_position"),
        ({"doc_id": pl.lit("d")}, "duplicate_shown"),
        ({"position": pl.col("position") + 1}, "no_propensity"),
    ],
)
def test_bad_rows_are_refused(change, rule):
    log = random_log(1).with_columns(**change)
    with pytest.raises(DataError) as error:
        clicks.judgments(log, propensities=PROPENSITIES)
    assert error.value.rule in rule.split(" or ")


# -- agreement


def two_sets(seed):
    rng = random.Random(seed)
    pairs = [(q, d) for q in range(6) for d in range(8)]
    schema = ["query_id", "doc_id", "label"]
    truth = {pair: rng.randrange(4) for pair in pairs}
    sides = []
    for _ in range(2):
        rows = [
            (
                *p,
                min(3, max(0, g + rng.randrange(-1, 2)))
                if rng.random() < 0.9
                else None,
            )
            for p, g in truth.items()
            if rng.random() < 0.9
        ]
        sides.append(pl.DataFrame(rows, schema=schema, orient="row"))
    return sides


@pytest.mark.parametrize("weights", ["linear", "quadratic", "none"])
def test_agreement_is_that_of_a_plain_loop(weights):
    left, right = two_sets(1)
    a, b = (
        {(q, d): v for q, d, v in frame.iter_rows() if v is not None}
        for frame in (left, right)
    )
    common = sorted(a.keys() & b.keys())
    n = len(common)
    cost = {
        "linear": lambda i, j: abs(i - j),
        "quadratic": lambda i, j: (i - j) ** 2,
        "none": lambda i, j: i != j,
    }[weights]
    observed = sum(cost(a[p], b[p]) for p in common) / n
    chance = sum(cost(a[p], b[q]) for p in common for q in common) / n / n
    found = clicks.agreement(left, right, weights=weights, rel=2).row(0, named=True)
    assert found["pairs"] == n
    assert found["only_qrels"] == len(a.keys() - b.keys())
    assert found["only_reference"] == len(b.keys() - a.keys())
    close(found["equal"], sum(a[p] == b[p] for p in common) / n)
    close(found["kappa"], 1 - observed / chance)
    taus, areas = [], []
    for query in range(6):
        docs = [p for p in common if p[0] == query]
        two = [(p, q) for i, p in enumerate(docs) for q in docs[:i]]
        signs = [
            (
                (a[p] > a[q]) - (a[p] < a[q]),
                (b[p] > b[q]) - (b[p] < b[q]),
            )
            for p, q in two
        ]
        both = sum(x * x for x, _ in signs) * sum(y * y for _, y in signs)
        if both:
            taus.append(sum(x * y for x, y in signs) / math.sqrt(both))
        good = [a[p] for p in docs if b[p] >= 2]
        bad = [a[p] for p in docs if b[p] < 2]
        if good and bad:
            wins = sum((x > y) + (x == y) / 2 for x in good for y in bad)
            areas.append(wins / len(good) / len(bad))
    close(found["kendall_tau"], sum(taus) / len(taus))
    close(found["auc"], sum(areas) / len(areas))
    cells = Counter((a.get(p), b.get(p)) for p in a.keys() | b.keys())
    table = clicks.confusion(left, right)
    assert {(x, y): m for x, y, m in table.iter_rows()} == cells


def test_agreement_of_estimates_and_of_nothing():
    left, right = two_sets(2)
    estimates = left.with_columns(pl.col("label") / 7)
    found = clicks.agreement(
        estimates, right.rename({"label": "g"}), reference_label="g"
    )
    assert found.select("equal", "kappa").row(0) == (None, None)
    assert found["kendall_tau"][0] is not None
    other = right.with_columns(pl.col("query_id") + 100)
    nothing = clicks.agreement(left, other).row(0, named=True)
    assert nothing["pairs"] == 0
    assert nothing["kappa"] is None
    assert nothing["kendall_tau"] is None
    with pytest.raises(ValueError, match="query and document come twice in reference"):
        clicks.agreement(left, pl.concat([right, right]))
    with pytest.raises(ValueError, match="weights must be one of"):
        clicks.agreement(left, right, weights="cubic")
    with pytest.raises(pl.exceptions.ColumnNotFoundError):
        clicks.agreement(left, right, doc="url")


def test_the_last_bit_of_agreement_does_not_depend_on_the_order_of_rows():
    left, right = two_sets(7)
    wanted = clicks.agreement(left, right, weights="quadratic")
    for seed in range(20):
        shuffled = left.sample(fraction=1.0, shuffle=True, seed=seed)
        assert clicks.agreement(shuffled, right, weights="quadratic").equals(wanted)


def test_the_default_method_is_one_that_can_be_computed():
    """Without propensities, clicks over those expected at their positions."""
    log = random_log(9)
    assert clicks.judgments(log).equals(clicks.judgments(log, "coec"))
    by_ratio = clicks.judgments(log, "ratio", propensities=PROPENSITIES)
    assert clicks.judgments(log, propensities=PROPENSITIES).equals(by_ratio)
    known = log.with_columns(seen=1 / pl.col("position"))
    found = clicks.judgments(known, propensity="seen")
    assert found.equals(clicks.judgments(known, "ratio", propensity="seen"))
