"""Counterfactual estimates: formulas by plain loops, truth recovered, refusals."""

from __future__ import annotations

import itertools
import math
import random
from collections import defaultdict

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from slow import slow
from unequal import NEAR, allowance, effective, margin

from polars_rank import DataError, clicks
from polars_rank._engine.spill.budget import Budget
from polars_rank.core.source import lazy_source

# Of logs as short as these, which only their own test asks for.
pytestmark = pytest.mark.filterwarnings("ignore:the weights are those of")
PROPENSITIES = pl.DataFrame(
    {
        "position": [1, 2, 3, 4, 5],
        "propensity": [1.0, 0.6, 0.4, 0.3, 0.1],
        "alpha": [0.9, 0.5, 0.4, 0.2, 0.1],
        "beta": [0.1, 0.06, 0.03, 0.02, 0.01],
    }
)


def random_log(seed, impressions=60):
    rng = random.Random(seed)
    rows = []
    for i in range(impressions):
        query, shown = rng.randrange(4), rng.sample(range(7), rng.randint(1, 5))
        for position, doc in enumerate(shown, start=1):
            row = i, f"q{query}", f"d{doc}", position, rng.random() < 0.4
            scores = rng.randrange(3), rng.random()
            rows.append((*row, *scores, rng.random(), f"u{i % 13}", i % 2))
    names = ["impression_id", "query_id", "doc_id", "position", "clicked"]
    names += ["a", "b", "r", "u", "half"]
    return pl.DataFrame(rows, schema=names, orient="row")


def weight_of(measure):
    name, _, k = measure.partition("@")
    k = int(k) if k else math.inf
    formula = {
        "dcg": lambda r: 1 / math.log2(r + 1),
        "hits": lambda r: 1.0,
        "precision": lambda r: 1 / k,
        "rbp(p=0.8)": lambda r: 0.2 * 0.8 ** (r - 1),
        "rbp": lambda r: 0.1 * 0.9 ** (r - 1),
        "inverse_rank": lambda r: 1 / r,
        "average_rank": float,
    }[name]
    return lambda r: formula(r) if r <= k else 0.0


def lists_of(log):
    found = defaultdict(list)
    for row in log.iter_rows(named=True):
        found[row["impression_id"]].append(row)
    return found


def by_score(rows, score):
    order = sorted(rows, key=lambda r: (-r[score], r["position"]))
    return {row["doc_id"]: place for place, row in enumerate(order, start=1)}


def terms(rows, places, weight, method, clip=0.0, divisors=None):
    """Value of an impression, and the weight of its relevant documents."""
    value = relevant = 0.0
    table = {r["position"]: r for r in PROPENSITIES.iter_rows(named=True)}
    for row in rows:
        bias = table[row["position"]]
        trust = method in ("affine", "dr")
        alpha = bias["alpha"] if trust else bias["propensity"]
        beta = bias["beta"] if trust else 0.0
        if divisors is None:
            divisor = max(alpha, clip)
        else:
            divisor = max(divisors[row["query_id"], row["doc_id"]], clip)
        place = places.get(row["doc_id"])
        lam = 0.0 if place is None else weight(place)
        relevant += row["clicked"] / divisor
        if method in ("ips", "snips"):
            value += lam * row["clicked"] / divisor
        elif method == "affine":
            value += lam * (row["clicked"] - beta) / divisor
        elif method == "dr":
            value += lam * (row["clicked"] - beta - alpha * row["r"]) / divisor
        if method in ("dr", "dm") and divisors is None:
            value += lam * row["r"]
    return value, relevant


def ratio(pairs):
    """Ratio of the sums over clusters, and its error."""
    y, x = ([p[i] for p in pairs] for i in range(2))
    g, value = len(pairs), sum(y) / sum(x)
    z = [(a - value * b) / (sum(x) / g) for a, b in pairs]
    return value, math.sqrt(sum(v * v for v in z) / (g - 1) / g) * allowance(x)


def close(found, wanted):
    assert found == pytest.approx(wanted, rel=1e-11, abs=1e-12)


def loop(log, score, measure, method, clip, cluster):
    weight, sums = weight_of(measure), defaultdict(lambda: [0.0, 0.0])
    for rows in lists_of(log).values():
        value, relevant = terms(rows, by_score(rows, score), weight, method, clip)
        cell = sums[rows[0][cluster]]
        cell[0] += value
        cell[1] += relevant if method == "snips" else 1.0
    return sums


METHODS = ["ips", "snips", "affine", "dr"]


@pytest.mark.parametrize(
    ("method", "clip"),
    [
        *zip(METHODS, [0.35, None, 0.35, 0.35], strict=True),
        *map(slow, METHODS, [None, 0.35, None, None]),
        ("dm", None),
    ],
)
def test_estimates_are_those_of_a_plain_loop(method, clip):
    log = random_log(1)
    measures = [("dcg@3", "impression_id"), ("precision@2", "u")]
    if method == "snips" and not clip:
        measures += [("hits@4", "u"), ("rbp(p=0.8)", "u"), ("rbp", "u")]
        measures += [("inverse_rank", "u"), ("average_rank", "u")]
    for measure, cluster in measures:
        found = clicks.counterfactual(
            log,
            measure,
            new=["a", "b"],
            baseline="b",
            propensities=PROPENSITIES,
            method=method,
            clip=clip,
            reward="r" if method in ("dr", "dm") else None,
            cluster=cluster,
        )
        assert found["system"].to_list() == ["a", "b", "a - b"]
        both = {s: loop(log, s, measure, method, clip or 0.0, cluster) for s in "ab"}
        for i, s in enumerate("ab"):
            value, error = ratio([*both[s].values()])
            close(found.row(i, named=True)["estimate"], value)
            close(found.row(i, named=True)["se"], error)
        difference = [
            (x[0] - y[0], x[1])
            for x, y in zip(both["a"].values(), both["b"].values(), strict=True)
        ]
        value, error = ratio(difference)
        last = found.row(2, named=True)
        close([last["estimate"], last["se"]], [value, error])
        sizes = [x for _, x in difference]
        close(last["effective_clusters"], effective(sizes))
        half = margin(sizes) * error
        assert last["upper"] - value == pytest.approx(half, rel=NEAR)


def test_diagnostics_are_those_of_a_plain_loop():
    log = random_log(2)
    found = clicks.counterfactual(
        log, new="b", propensities=PROPENSITIES, clip=0.35, by="half", cluster="u"
    )
    p = dict(PROPENSITIES.select("position", "propensity").iter_rows())
    for half in (0, 1):
        rows = [r for r in log.iter_rows(named=True) if r["half"] == half]
        clicked = [r for r in rows if r["clicked"]]
        w = [1 / max(p[r["position"]], 0.35) for r in clicked]
        raw = [1 / p[r["position"]] for r in clicked]
        row = found.row(half, named=True)
        assert row["half"] == half
        assert row["clicks"] == len(clicked)
        assert row["impressions"] == len({r["impression_id"] for r in rows})
        assert row["clusters"] == len({r["u"] for r in rows})
        close(row["effective_size"], sum(w) ** 2 / sum(x * x for x in w))
        close(row["largest_weight_share"], max(w) / sum(w))
        low = sum(p[r["position"]] < 0.35 for r in clicked)
        close(row["clipped"], low / len(clicked))
        close(row["cut"], 1 - sum(w) / sum(raw))
        close(row["relevant_per_impression"], sum(w) / row["impressions"])
        assert row["support_share"] == 1.0
        assert row["scale"] == "relative"


def ranking_frame(log, seed=5):
    """Ranks of documents per query, some of which were never logged."""
    rng = random.Random(seed)
    rows = []
    for query in sorted(set(log["query_id"])):
        docs = rng.sample(range(9), 6)
        rows += [(query, f"d{d}", i, rng.random()) for i, d in enumerate(docs, start=1)]
    names = ["query_id", "doc_id", "rank", "r"]
    return pl.DataFrame(rows, schema=names, orient="row")


@pytest.mark.filterwarnings("ignore:.* of the ranking .new. are documents")
@pytest.mark.parametrize(
    ("method", "aware"),
    [
        *[("ips", True), ("affine", False), ("dr", True), ("dm", False)],
        *[slow("ips", False), slow("affine", True), slow("dr", False)],
    ],
)
def test_a_ranking_in_a_frame_is_that_of_a_plain_loop(method, aware):
    log, weight = random_log(3), weight_of("dcg@4")
    ranking = ranking_frame(log)
    log = log.drop("r").join(
        ranking.select("query_id", "doc_id", "r"), on=["query_id", "doc_id"], how="left"
    )
    found = clicks.counterfactual(
        log,
        "dcg@4",
        new=ranking,
        propensities=PROPENSITIES,
        method=method,
        policy_aware=aware,
        reward="r" if method in ("dr", "dm") else None,
    ).row(0, named=True)
    log = log.with_columns(pl.col("r").fill_null(0.0))
    places, model = defaultdict(dict), defaultdict(float)
    for row in ranking.iter_rows(named=True):
        places[row["query_id"]][row["doc_id"]] = row["rank"]
        model[row["query_id"]] += weight(row["rank"]) * row["r"]
    divisors = None
    if aware:
        name = "propensity" if method == "ips" else "alpha"
        p = dict(PROPENSITIES.select("position", name).iter_rows())
        number = defaultdict(set)
        total = defaultdict(float)
        for row in log.iter_rows(named=True):
            number[row["query_id"]].add(row["impression_id"])
            total[row["query_id"], row["doc_id"]] += p[row["position"]]
        divisors = {key: t / len(number[key[0]]) for key, t in total.items()}
    values, supports = [], []
    logged = set(log.select("query_id", "doc_id").iter_rows())
    for rows in lists_of(log).values():
        query = rows[0]["query_id"]
        value, _ = terms(
            [{**r, "r": r["r"]} for r in rows],
            places[query],
            weight,
            method if method != "dm" else "nothing",
            divisors=divisors,
        )
        if method == "dr" and not aware:  # the loop adds the model of shown documents
            value -= sum(
                weight(places[query][r["doc_id"]]) * r["r"]
                for r in rows
                if r["doc_id"] in places[query]
            )
        values.append((value + (model[query] if method in ("dr", "dm") else 0.0), 1.0))
        lam = {d: weight(place) for d, place in places[query].items()}
        seen = sum(v for d, v in lam.items() if (query, d) in logged)
        supports.append(seen / sum(lam.values()))
    value, error = ratio(values)
    close([found["estimate"], found["se"]], [value, error])
    close(found["support_share"], sum(supports) / len(supports))
    # The order by a score is the same ranking.
    scored = ranking.select("query_id", "doc_id", "r", score=-pl.col("rank"))
    again = clicks.counterfactual(
        log,
        "dcg@4",
        new={"new": scored},
        propensities=PROPENSITIES,
        method=method,
        policy_aware=aware,
        reward="r" if method in ("dr", "dm") else None,
    )
    close(again["estimate"][0], value)


# -- identities


def test_identities():
    log = random_log(4)
    options = {"new": "b", "propensities": PROPENSITIES.drop("alpha", "beta")}
    ips, snips = (
        clicks.counterfactual(log, method=m, **options).row(0, named=True)
        for m in ("ips", "snips")
    )
    close(snips["estimate"] * snips["relevant_per_impression"], ips["estimate"])
    # Nothing clipped, all shown: the model cancels.
    dr = clicks.counterfactual(log, method="dr", reward="r", **options)
    close(dr["estimate"][0], ips["estimate"])
    # No propensity is below: clipping there changes nothing.
    same = clicks.counterfactual(log, clip=0.1, **options)
    close(same["estimate"][0], ips["estimate"])
    assert same["clipped"][0] == 0.0
    # A power of the position, as a number and as a frame.
    eta = pl.DataFrame({"position": range(1, 6)}).with_columns(
        propensity=pl.col("position").cast(pl.Float64) ** -0.7
    )
    number, frame = (
        clicks.counterfactual(log, new="b", propensities=p)["estimate"][0]
        for p in (0.7, eta)
    )
    close(number, frame)
    # A logged column: absolute.
    logged = log.join(PROPENSITIES.select("position", "propensity"), on="position")
    column = clicks.counterfactual(logged, new="b", propensity="propensity")
    close(column["estimate"][0], ips["estimate"])
    assert column["scale"][0] == "absolute"
    own = clicks.counterfactual(
        log, {"mine": lambda rank: 1 / (rank + 1).log(2)}, **options
    )
    close(
        own["estimate"][0], clicks.counterfactual(log, "dcg", **options)["estimate"][0]
    )


@pytest.mark.filterwarnings("ignore:a single click")  # the likely outcome without any
def test_expectation_over_all_clicks_is_the_truth():
    """Every outcome of the clicks of two lists, weighed by its probability."""
    gamma, theta = {"x": 0.7, "y": 0.3, "z": 0.1}, [0.9, 0.5, 0.2]
    lists = [("x", "y", "z"), ("z", "x", "y")]
    new = {"x": 1.0, "y": 3.0, "z": 2.0}
    propensities = pl.DataFrame({"position": [1, 2, 3], "propensity": theta})
    rows = []
    for number, outcome in enumerate(itertools.product([0, 1], repeat=6)):
        chance = 1.0
        shown = [(i, k, d) for i, docs in enumerate(lists) for k, d in enumerate(docs)]
        for (_, k, d), c in zip(shown, outcome, strict=True):
            p = theta[k] * gamma[d]
            chance *= p if c else 1 - p
        rows += [
            (2 * number + i, "q", d, k + 1, c, new[d], chance / 2)
            for (i, k, d), c in zip(shown, outcome, strict=True)
        ]
    names = ["impression_id", "query_id", "doc_id", "position", "clicked"]
    log = pl.DataFrame(rows, schema=[*names, "new", "weight"], orient="row")
    found = clicks.counterfactual(
        log, new="new", propensities=propensities, weight="weight"
    )
    truth = gamma["y"] + gamma["z"] / math.log2(3) + gamma["x"] / 2
    close(found["estimate"][0], truth)  # the weights of all impressions sum to 1


# -- invariance


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* of the ranking")
def test_the_order_of_rows_files_and_buckets_change_nothing(tmp_path, monkeypatch):
    log = random_log(6, impressions=400)
    options = {
        "new": {"a": "a", "f": ranking_frame(log)},
        "baseline": "a",
        "by": "half",
    }
    found = clicks.counterfactual(log, propensities=PROPENSITIES, **options)
    mixed = log.sample(fraction=1, shuffle=True, seed=1)
    for i, part in enumerate((mixed[:300], mixed[300:])):
        part.write_parquet(tmp_path / f"{i}.parquet")
    files = pl.scan_parquet(tmp_path / "*.parquet")
    budget = "polars_rank._engine.spill.budget.Budget.of"
    monkeypatch.setattr(budget, lambda *_: Budget(50_000, 1 << 20))
    for frame, more in (
        (mixed, {}),
        (files, {}),
        (files, {"memory_limit": "1GB", "temp_dir": tmp_path / "spill"}),
        (log.lazy(), {"layout": "contiguous"}),
    ):
        (tmp_path / "spill").mkdir(exist_ok=True)
        other = clicks.counterfactual(
            frame, propensities=PROPENSITIES, **options, **more
        )
        assert_frame_equal(other.lazy().collect(), found, rel_tol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* of the ranking", "ignore:a single click")
@pytest.mark.covering(1)
@pytest.mark.parametrize("layout", ["any", "contiguous"])
@pytest.mark.parametrize("options", [{"method": "dr", "reward": "r"}, {}], ids=str)
def test_rankings_and_policies_are_joined_in_buckets(
    options, layout, tmp_path, monkeypatch
):
    log = random_log(8, impressions=300).with_columns(r=0.3)
    new = {"f": ranking_frame(log).with_columns(r=0.3), "a": "a"}
    options |= {"new": new, "policy_aware": True, "by": "half"}
    wanted = clicks.counterfactual(log, propensities=PROPENSITIES, **options)
    log.write_parquet(tmp_path / "log.parquet")
    budget = "polars_rank._engine.spill.budget.Budget.of"
    monkeypatch.setattr(budget, lambda *_: Budget(30_000, 1 << 20))
    seen = []
    found = clicks.counterfactual(
        pl.scan_parquet(tmp_path / "log.parquet"),
        propensities=PROPENSITIES,
        memory_limit="1GB",
        progress=seen.append,
        layout=layout,
        **options,
    )
    assert_frame_equal(found.collect(), wanted, rel_tol=1e-12)
    assert any(step.unit == "buckets" and step.total > 1 for step in seen)


@pytest.mark.filterwarnings("ignore:a single click")
def test_segments_and_impressions_without_results():
    log = random_log(7)
    options = {"new": "b", "propensities": PROPENSITIES}
    both = clicks.counterfactual(log, by="half", **options)
    one = clicks.counterfactual(log.filter(pl.col("half") == 1), **options)
    close(both["estimate"][1], one["estimate"][0])
    every = pl.DataFrame({"impression_id": range(120)})
    half = clicks.counterfactual(log, impressions=every, **options)
    whole = clicks.counterfactual(log, **options)
    close(half["estimate"][0], whole["estimate"][0] / 2)
    assert half["impressions"][0] == 120
    per_half = PROPENSITIES.join(pl.DataFrame({"half": [0, 1]}), how="cross")
    per_half = per_half.with_columns(pl.col("propensity") / (1 + pl.col("half")))
    found = clicks.counterfactual(log, new="b", propensities=per_half, by="half")
    close(found["estimate"].to_list(), [both["estimate"][0], 2 * both["estimate"][1]])


@pytest.mark.filterwarnings("ignore:.* of the ranking", "ignore:a single click")
@pytest.mark.covering(1)
@pytest.mark.parametrize("new", ["a", "frame"])
@pytest.mark.parametrize("aware", [False, True])
def test_a_segment_is_the_log_of_that_segment(new, aware):
    """Also what is known of a query: how often, and which documents were shown."""
    log = random_log(8, impressions=30)
    options = {
        "new": ranking_frame(log) if new == "frame" else new,
        "propensities": 0.5,
        "policy_aware": aware,
    }
    halves = log.select("impression_id", "half").unique()
    logs = {"whole": log, "only impressions": log.drop("half")}
    for name, whole in logs.items():
        more = {} if name == "whole" else {"impressions": halves}
        found = clicks.counterfactual(whole, by="half", **options, **more)
        for half in (0, 1):
            one = clicks.counterfactual(log.filter(half=half), **options)
            row = found.filter(half=half).drop("half").row(0, named=True)
            for column, wanted in one.drop("system", "scale").to_dicts()[0].items():
                assert row[column] == pytest.approx(wanted, rel=1e-12), column


@pytest.mark.filterwarnings("ignore:a single click")
def test_diagnostics_weigh_impressions():
    log = random_log(9).with_columns(w=pl.col("impression_id") % 4 + 0.5)
    options = {"new": "b", "propensities": 0.5, "weight": "w", "clip": 0.6}
    found = clicks.counterfactual(log, **options).row(0, named=True)
    true = [
        (row["w"], row["position"] ** -0.5)
        for row in log.iter_rows(named=True)
        if row["clicked"]
    ]
    heavy = [w / max(p, 0.6) for w, p in true]
    close(found["effective_size"], sum(heavy) ** 2 / sum(h * h for h in heavy))
    close(found["largest_weight_share"], max(heavy) / sum(heavy))
    close(found["cut"], 1 - sum(heavy) / sum(w / p for w, p in true))
    per_document = clicks.counterfactual(log, method="snips", **options)
    relevant = per_document["relevant_per_impression"][0]
    close(per_document["estimate"][0] * relevant, found["estimate"])


def test_impressions_without_results_in_a_contiguous_log():
    log = random_log(7).lazy()
    every = pl.DataFrame({"impression_id": range(120)})
    found, wanted = (
        clicks.counterfactual(
            log, new="b", propensities=PROPENSITIES, impressions=every, layout=layout
        ).collect()
        for layout in ("contiguous", "any")
    )
    assert found.equals(wanted)


def test_bootstrap_and_no_interval():
    log = clicks.simulate(2000, n_queries=30, seed=3).draw().drop("user_id")
    options = {"new": ["new_score", "score"], "baseline": "score", "propensities": 1}
    normal = clicks.counterfactual(log, **options)
    drawn = clicks.counterfactual(log, interval="bootstrap", **options)
    none = clicks.counterfactual(log, interval="none", **options)
    close(drawn["estimate"].to_list(), normal["estimate"].to_list())
    close(none["estimate"].to_list(), normal["estimate"].to_list())
    assert drawn["se"].to_list() == pytest.approx(normal["se"].to_list(), rel=0.15)
    assert none["se"].null_count() == 3


# -- sensitivity


def test_sensitivity_is_that_of_each_strength_and_finds_the_crossing():
    log = clicks.simulate(3000, n_queries=40, seed=1).draw().drop("user_id")
    found = clicks.sensitivity(log, new=["new_score", "score"], eta=[0, 0.5, 2])
    asked = found.filter(~pl.col("crossover"))
    for eta in (0.0, 0.5, 2.0):
        wanted = clicks.counterfactual(
            log, new=["new_score", "score"], baseline="score", propensities=eta
        )["estimate"]
        rows = asked.filter(pl.col("eta") == eta)
        close(rows["estimate"].to_list(), wanted[:2].to_list())
        close(rows["difference"].to_list(), [wanted[2], 0.0])
    worse = log.with_columns(upside=-pl.col("position").cast(pl.Float64))
    # A ranking as logged wins without bias, and loses to a better one with it.
    found = clicks.sensitivity(worse, new=["new_score", "upside"], eta=[0, 1, 2])
    crossed = found.filter("crossover")
    assert len(crossed) == 2
    assert crossed["difference"].abs().max() < 1e-9
    signs = found.filter(~pl.col("crossover"), pl.col("system") == "new_score")
    assert signs["difference"].sign().to_list()[0] == -1
    assert signs["difference"].sign().to_list()[-1] == 1
    split = log.with_columns(half=pl.col("impression_id") % 2)
    by = clicks.sensitivity(split, new=["new_score", "score"], by="half")
    one = clicks.sensitivity(
        split.filter(pl.col("half") == 1), new=["new_score", "score"]
    )
    close(
        by.filter(pl.col("half") == 1)["estimate"].to_list(), one["estimate"].to_list()
    )


def test_sensitivity_is_that_of_a_plain_loop():
    log = clicks.simulate(400, n_queries=20, k=5, seed=3).draw()
    log = log.with_columns(other=pl.col("doc_id") % 3 / 10 - pl.col("position"))
    lists = [part.rows(named=True) for part in log.partition_by("impression_id")]

    def value(column, eta):
        total = 0.0
        for shown in lists:
            best = sorted(shown, key=lambda r: (-r[column], r["position"]))
            for place, r in enumerate(best[:4], start=1):
                total += r["clicked"] * r["position"] ** eta / math.log2(place + 1)
        return total / len(lists)

    found = clicks.sensitivity(
        log, "dcg@4", new=["new_score", "other"], baseline="other", eta=[0, 0.7, 2]
    )
    for row in found.filter(~pl.col("crossover")).iter_rows(named=True):
        close(row["estimate"], value(row["system"], row["eta"]))
    # They change places once: where a bisection of the plain values ends.
    low, high = 0.0, 2.0
    for _ in range(60):
        middle = (low + high) / 2
        ahead = value("new_score", middle) > value("other", middle)
        low, high = (low, middle) if ahead else (middle, high)
    crossed = found.filter("crossover")
    assert crossed["system"].to_list() == ["new_score", "other"]
    assert crossed["eta"].to_list() == pytest.approx([low, low], abs=1e-9)
    for row in crossed.iter_rows(named=True):
        assert row["estimate"] == pytest.approx(value(row["system"], low), rel=1e-9)


@pytest.mark.parametrize("by", [None, "half"])
def test_sensitivity_weighs_impressions(by):
    log = clicks.simulate(300, n_queries=20, k=5, seed=3).draw().drop("user_id")
    number = pl.col("impression_id")
    log = log.with_columns(heavy=number % 3 + 0.5, half=number % 2)
    options = {"new": ["new_score", "score"], "weight": "heavy", "by": by}
    found = clicks.sensitivity(log, eta=[0, 2], **options)
    for eta in (0, 2):
        rows = found.filter(~pl.col("crossover"), pl.col("eta") == eta)
        wanted = clicks.counterfactual(log, propensities=eta, **options)
        close(rows["estimate"].to_list(), wanted["estimate"].to_list())
    shuffled = log.sample(fraction=1.0, shuffle=True, seed=2)
    again = clicks.sensitivity(shuffled.lazy(), eta=[0, 2], **options).collect()
    assert again.equals(found)


@pytest.mark.parametrize("eta", [None, "1", [], [float("nan")], [100], ["a"], [None]])
def test_strengths_that_are_none(eta):
    with pytest.raises(ValueError, match="eta must be one or more numbers from -100"):
        clicks.sensitivity(random_log(1), new="a", eta=eta)


def test_sensitivity_says_what_the_log_does_not_know():
    log = clicks.simulate(60, n_queries=5, k=3, n_docs=5, seed=3).draw()
    pairs = log.select("query_id", "doc_id").unique().sort("query_id", "doc_id")
    half = pairs.with_columns(rank=pl.int_range(1, pl.len() + 1).over("query_id"))
    new = pl.col("doc_id") + pl.when(pl.col("rank") == 2).then(99).otherwise(0)
    options = {"new": {"half": half.with_columns(doc_id=new.cast(pl.UInt32))}}
    with pytest.warns(UserWarning, match="of the ranking 'half' are documents"):
        clicks.sensitivity(log, baseline="score", **options)
    none = half.with_columns(doc_id=pl.col("doc_id") + 99)
    with pytest.raises(DataError, match="no document of the ranking 'none'"):
        clicks.sensitivity(log, new={"none": none})
    with pytest.warns(UserWarning, match="there are no clicks"):
        found = clicks.sensitivity(log.with_columns(clicked=False), new="score")
    assert found["estimate"].null_count() == found["difference"].null_count() == 5


def test_a_single_strength_is_fine():
    log = clicks.simulate(50, n_queries=5, k=3, n_docs=5, seed=3).draw()
    one, several = (clicks.sensitivity(log, new="score", eta=e) for e in (1, [1.0]))
    assert one.equals(several)


# -- bad input


@pytest.mark.parametrize("measure", ["ndcg@10", "ap", "err@5", "rr", "recall@3"])
def test_measures_that_do_not_add_up_are_refused(measure):
    with pytest.raises(ValueError, match="does not add up over documents"):
        clicks.counterfactual(random_log(1), measure, new="a", propensities=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"measure": "nothing"}, "unknown measure 'nothing'"),
        ({"measure": "precision"}, "needs a cutoff"),
        ({"measure": "dcg(p=0.5)"}, "p belongs to rbp"),
        ({"measure": {"flat": 0.5}}, "one name: function of the rank"),
        ({"measure": {"a": abs, "b": abs}}, "one name: function of the rank"),
        ({"method": "rips"}, "method must be one of ips, snips"),
        ({"method": "dr"}, "needs a model"),
        ({"reward": "r"}, 'reward= is for methods "dr" and "dm"'),
        ({"clip": 0}, "clip must be above 0"),
        (
            {"baseline": "c"},
            "systems a, or a column of scores in the log, not 'c'",
        ),
        ({"propensities": None}, "name the logged column with propensity="),
        ({"new": []}, "new must name at least one ranking"),
        ({"policy_aware": True, "method": "snips"}, "policy_aware= is not for"),
        ({"interval": "t"}, "interval must be one of none, normal, bootstrap"),
    ],
)
def test_wrong_arguments_are_refused_at_once(options, message):
    given = {"measure": "dcg@10", "new": "a", "propensities": PROPENSITIES, **options}
    measure = given.pop("measure")
    with pytest.raises(ValueError, match=message):
        clicks.counterfactual(random_log(1).lazy(), measure, **given)


@pytest.mark.parametrize("function", [clicks.counterfactual, clicks.sensitivity])
def test_the_baseline_may_be_another_column_of_scores(function):
    log = random_log(1)
    given = {} if function is clicks.sensitivity else {"propensities": PROPENSITIES}
    both = function(log, new=["a", "b"], baseline="b", **given)
    assert_frame_equal(function(log, new="a", baseline="b", **given), both)


def test_columns_that_are_missing_are_named():
    missing = pl.exceptions.ColumnNotFoundError
    for given, message in (
        ({"new": "c"}, "new column 'c' is not in the log"),
        ({"propensities": PROPENSITIES.drop("propensity")}, "no column 'propensity'"),
        (
            {"propensities": PROPENSITIES.drop("beta"), "method": "affine"},
            "no column 'beta': estimate it with method \"trust\"",
        ),
        ({"new": {"n": random_log(1).drop("a")}}, "needs a column 'score' or 'rank'"),
    ):
        options = {"new": "a", "propensities": PROPENSITIES, **given}
        with pytest.raises(missing, match=message):
            clicks.counterfactual(random_log(1), **options)


@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"a": pl.lit(None, pl.Float64)}, "invalid_new_score"),
        ({"a": pl.lit(float("nan"))}, "invalid_new_score"),
        ({"r": pl.lit(1.5)}, "invalid_relevance"),
        ({"clicked": pl.lit(2)}, "invalid_click"),
        ({"position": pl.col("position") - 1}, "invalid_position"),
        ({"position": pl.lit(1)}, "duplicate_position"),
        ({"doc_id": pl.lit("d")}, "duplicate_shown"),
        ({"query_id": pl.col("doc_id")}, "two_values"),
    ],
)
def test_bad_rows_are_refused(change, rule):
    log = random_log(1).with_columns(**change)
    options = {"reward": "r", "method": "dr"} if "r" in change else {}
    with pytest.raises(DataError) as error:
        clicks.counterfactual(log, new="a", propensities=PROPENSITIES, **options)
    assert error.value.rule == rule


def test_a_position_without_propensity_is_named():
    some = PROPENSITIES.filter(pl.col("position") != 4)
    unknown = PROPENSITIES.with_columns(
        propensity=pl.when(pl.col("position") != 4).then("propensity")
    )
    for frame in (some, unknown):
        with pytest.raises(DataError, match=r"without a propensity.*in position 4"):
            clicks.counterfactual(random_log(1), new="a", propensities=frame)
    for value in (0.0, -1.0, float("nan"), float("inf")):
        wrong = PROPENSITIES.with_columns(
            propensity=pl.when(pl.col("position") == 4)
            .then(value)
            .otherwise("propensity")
        )
        with pytest.raises(DataError, match="not above 0") as error:
            clicks.counterfactual(random_log(1), new="a", propensities=wrong)
        assert error.value.rule == "unusable_propensity"
    above = PROPENSITIES.with_columns(pl.col("propensity") * 3)  # relative ones can be
    clicks.counterfactual(random_log(1), new="a", propensities=above)
    logged = random_log(1).with_columns(p=pl.lit(1.5))
    with pytest.raises(DataError, match="propensities that are null"):
        clicks.counterfactual(logged, new="a", propensity="p")


def test_support_is_said():
    log = random_log(1)
    ranking = ranking_frame(log)
    with pytest.warns(UserWarning, match=r"of the ranking 'new' are documents"):
        clicks.counterfactual(log, new=ranking, propensities=PROPENSITIES)
    with pytest.raises(DataError, match="no document of the ranking 'x' was logged"):
        clicks.counterfactual(
            log,
            new={"x": ranking.with_columns(doc_id=pl.col("doc_id") + "?")},
            propensities=PROPENSITIES,
        )
    with pytest.raises(DataError, match="duplicate documents"):
        clicks.counterfactual(
            log, new=pl.concat([ranking, ranking]), propensities=PROPENSITIES
        )
    with pytest.raises(TypeError, match="never equal"):
        clicks.counterfactual(
            log,
            new=ranking.with_columns(doc_id=pl.lit(1)),
            propensities=PROPENSITIES,
        )


def test_a_log_without_clicks_and_one_cluster():
    log = random_log(1)
    empty = log.with_columns(clicked=pl.lit(value=False))
    for method in ("ips", "snips"):
        with pytest.warns(UserWarning, match="there are no clicks"):
            found = clicks.counterfactual(
                empty, new="a", propensities=PROPENSITIES, method=method
            )
        assert found.select("estimate", "se", "effective_size").row(0) == (
            None,
            None,
            None,
        )
    one = clicks.counterfactual(
        log.with_columns(u=pl.lit(1)), new="a", propensities=PROPENSITIES, cluster="u"
    )
    assert one["se"][0] is None
    assert one["estimate"][0] is not None
    lonely = log.with_columns(clicked=pl.col("impression_id") == 0)
    with pytest.warns(UserWarning, match="a single click has"):
        clicks.counterfactual(lonely, new="a", propensities=PROPENSITIES)


@pytest.mark.filterwarnings("error:the weights are those of")
def test_few_effective_clicks_are_told():
    """Where there are intervals; weights alone may be as heavy as they like."""
    log = random_log(1)
    options = {"new": "a", "propensities": PROPENSITIES}
    found = clicks.counterfactual(log, interval="none", **options)
    few = rf"the weights are those of {found['effective_size'].item():.0f} clicks"
    with pytest.warns(UserWarning, match=few):
        clicks.counterfactual(log, **options)
    many = clicks.simulate(1000, n_queries=20, seed=1).draw().drop("user_id")
    clicks.counterfactual(many, new="score", propensities=1.0)


# -- truth


@pytest.mark.slow
def test_a_simulated_log_gives_the_true_value():
    simulation = clicks.simulate(20_000, n_queries=100, seed=12)
    found = clicks.counterfactual(
        simulation.draw().drop("user_id"),
        new=["new_score", "score"],
        baseline="score",
        propensities=simulation.propensities,
    )
    new, old = (simulation.value(s) for s in ("new_score", "score"))
    for row, truth in zip(
        found.iter_rows(named=True), (new, old, new - old), strict=True
    ):
        assert abs(row["estimate"] - truth) < 5 * row["se"]
    naive = clicks.counterfactual(
        simulation.draw().drop("user_id"), new="new_score", propensities=0
    )
    assert naive["estimate"][0] < 0.6 * new


@pytest.mark.slow
def test_intervals_cover_the_truth():
    """40 logs: IPS is unbiased and covers 85 %; under trust bias affine, not IPS."""
    for user, method in (("pbm", "ips"), ("trust", "affine")):
        errors, covered, wrong = [], 0, []
        for seed in range(40):
            simulation = clicks.simulate(
                5000, n_queries=100, user_model=user, seed=500 + seed
            )
            truth = simulation.value("new_score")
            options = {"new": "new_score", "propensities": simulation.propensities}
            log = simulation.draw().drop("user_id")
            row = clicks.counterfactual(log, method=method, **options).row(
                0, named=True
            )
            errors.append(row["estimate"] / truth - 1)
            covered += row["lower"] <= truth <= row["upper"]
            plain = clicks.counterfactual(log, **options)
            wrong.append(plain["estimate"][0] / truth - 1)
        mean = sum(errors) / 40
        spread = math.sqrt(sum((e - mean) ** 2 for e in errors) / 39 / 40)
        assert abs(mean) < 4 * spread
        assert covered / 40 > 0.85
        if user == "trust":
            assert sum(wrong) / 40 > 0.2


@pytest.mark.covering(1)
@pytest.mark.parametrize("layout", ["any", "contiguous"])
@pytest.mark.parametrize(
    ("change", "rule"),
    [
        ({"position": 0}, "invalid_position"),
        ({"clicked": 2}, "invalid_click"),
        ({"position": 1}, "duplicate_position"),
    ],
)
def test_of_two_errors_the_fault_of_the_log_is_told(change, rule, layout):
    """A row without a propensity in front; a row that breaks a rule far below."""
    log = random_log(3).sort("impression_id")
    log = log.filter(pl.len().over("impression_id") > 1)
    ((column, wrong),) = change.items()
    last = pl.int_range(pl.len()) == pl.len() - 1
    value = pl.when(last).then(wrong).otherwise(pl.col(column).cast(pl.Int64))
    log = log.with_columns(value.alias(column))
    known = pl.DataFrame({"position": [1, 2, 3], "propensity": [1.0, 0.5, 0.3]})
    for frame in (log, log.lazy()):
        with pytest.raises(DataError) as error:
            clicks.counterfactual(
                frame, new="a", propensities=known, cluster="u", layout=layout
            ).lazy().collect()
        assert error.value.rule == rule
        with pytest.raises(DataError) as error:
            clicks.judgments(frame, propensities=known).lazy().collect()
        assert error.value.rule == rule
    with pytest.raises(DataError) as error:
        clicks.judgments(random_log(3), propensities=known)
    assert error.value.rule == "no_propensity"


def test_the_log_is_read_once():
    """Though estimates and diagnostics are two sums over the same impressions."""
    frame, reads = random_log(4), []

    def read(_):
        reads.append(1)
        yield frame

    log = lazy_source(read, frame.schema, name="counted", rereadable=True)
    options = {"propensities": PROPENSITIES, "cluster": "impression_id"}
    found = clicks.counterfactual(log, new=["a", "b"], baseline="b", **options)
    assert_frame_equal(
        found.collect(),
        clicks.counterfactual(frame, new=["a", "b"], baseline="b", **options),
        rel_tol=1e-12,
    )
    assert len(reads) == 1
