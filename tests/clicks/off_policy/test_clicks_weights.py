"""Whole weights of impressions are copies of them: every function that takes weights.

Copies lie in the cluster of their original, so that estimates, errors, intervals and
the number of clusters are the same. Counts of the log (``impressions``, ``clicks``,
``total_clicks``, ``queries``) are of its rows as they are. ``effective_size`` and
``largest_weight_share`` are not those of copies, either: a click of weight 3 is one
heavy click, and no three.
"""

from __future__ import annotations

import inspect
import math
import random
from datetime import datetime, timedelta

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from slow import every_other, slow

from polars_rank import clicks

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* of the ranking .* are documents"),
    pytest.mark.filterwarnings("ignore:a single click has"),
    pytest.mark.filterwarnings("ignore:the weights are those of"),
    pytest.mark.filterwarnings("ignore:.*sample ratio"),
]
COUNTS = ["impressions", "total_clicks", "queries", "clicks"]
BIAS = pl.DataFrame(
    {
        "position": [1, 2, 3, 4],
        "propensity": [1.0, 0.6, 0.4, 0.1],
        "alpha": [0.9, 0.5, 0.4, 0.2],
        "beta": [0.1, 0.06, 0.03, 0.02],
    }
)


def random_log(seed, least=1, impressions=60):
    """Sessions of two impressions have one weight, users several."""
    rng, start = random.Random(seed), datetime(2026, 1, 1)
    rows = []
    for i in range(impressions):
        session = i // 2
        weight = random.Random(1000 * seed + session).randint(least, 3)
        user, query = session % 12, f"q{rng.randrange(4)}"
        for position, doc in enumerate(rng.sample(range(6), rng.randint(1, 4)), 1):
            clicked = rng.random() < 0.4
            dwell = rng.choice([None, 2.0, 50.0]) if clicked else None
            seen = start + timedelta(seconds=20 * i)
            late = seen + timedelta(seconds=position) if clicked else None
            scores = rng.randrange(3), rng.random(), rng.random()
            at = i, f"s{session}", f"u{user}", "AB"[user % 2], weight, session % 3
            rows.append((*at, query, f"d{doc}", position, clicked, *scores))
            rows[-1] += (dwell, seen, late, i % 5 == 0)
    names = ["impression_id", "session", "u", "arm", "w", "part"]
    names += ["query_id", "doc_id", "position", "clicked", "a", "b", "r"]
    names += ["dwell", "time", "at", "flag"]
    return pl.DataFrame(rows, schema=names, orient="row", infer_schema_length=None)


def copies(log):
    """As many copies of an impression and its session as its weight says."""
    copy = pl.int_ranges(0, pl.col("w")).alias("copy")
    several = log.with_columns(copy).explode("copy", empty_as_null=False)
    own = (pl.col(name).cast(pl.String) for name in ("impression_id", "session"))
    named = (pl.concat_str(name, pl.lit(" of "), pl.col("copy")) for name in own)
    return several.with_columns(*named).drop("copy", "w")


RANKING = pl.DataFrame(
    {
        "query_id": [f"q{i}" for i in range(4) for _ in range(5)],
        "doc_id": [f"d{(i + j) % 8}" for i in range(4) for j in range(5)],
        "rank": [1, 2, 3, 4, 5] * 4,
        "r": [0.9, 0.1, 0.5, 0.3, 0.7] * 4,
    }
)
TIMES = {"session": "session", "time": "time", "clicked_at": "at", "dwell": "dwell"}
USERS = {"cluster": "u"}


def behavior(function, **options):
    measures = [*clicks.BEHAVIOR, "ctr@2", "satisfied(unknown=satisfied)"]
    return lambda log, **weight: function(
        log, measures, flag="flag", **TIMES, **USERS, **options, **weight
    )


def merged(log, **options):
    parts = [
        behavior(clicks.behavior_state)(log.filter(pl.col("u") < "u4"), **options),
        behavior(clicks.behavior_state)(log.filter(pl.col("u") >= "u4"), **options),
    ]
    return clicks.merge_behavior(parts, whole_clusters=True)


def merged_by_user(log, **options):
    state = behavior(clicks.behavior_state, keep_clusters=True)
    return clicks.merge_behavior([state(p, **options) for _, p in log.group_by("part")])


def compared(**more):
    def found(log, **weight):
        before = {"covariates": log.drop("arm")} if "before" in more else {}
        options = {k: v for k, v in more.items() if k != "before"} | before | weight
        return clicks.compare_arms(
            log, ["ctr", "rr"], arm="arm", control="A", **USERS, **options
        )

    return found


def estimated(method, new, **more):
    """What depends on copies only: neither counts nor sizes of single clicks."""

    def found(log, **weight):
        options = {"propensities": BIAS, "method": method, **more, **weight}
        if method in ("dr", "dm"):
            options["reward"] = "r"
        found = clicks.counterfactual(log, "dcg@3", new=new, **USERS, **options)
        return found.drop("effective_size", "largest_weight_share")

    return found


SYSTEMS = {"columns": ["a", "b"], "both": {"a": "a", "f": RANKING}}
CALLS = {
    "behavior": behavior(clicks.behavior),
    "behavior by": behavior(clicks.behavior, by="part"),
    "behavior per impression": behavior(clicks.behavior, unit="impression"),
    "behavior, errors": behavior(clicks.behavior, interval="normal"),
    "behavior, bootstrap": behavior(clicks.behavior, interval="bootstrap"),
    "behavior_state": merged,
    "behavior_state, by user": merged_by_user,
    "compare_arms": compared(),
    "compare_arms, CUPED": compared(before=True, adjust="holm"),
    "compare_arms, always valid": compared(sequential=True, by="part"),
    "sensitivity": lambda log, **weight: clicks.sensitivity(
        log, "dcg@3", new=SYSTEMS["both"], **USERS, **weight
    ),
    "sensitivity by": lambda log, **weight: clicks.sensitivity(
        log, new=["a", "b"], by="part", **USERS, **weight
    ),
    **{
        f"counterfactual {method}, {systems}, {more}": estimated(
            method, SYSTEMS[systems], **more
        )
        for method in ("ips", "snips", "affine", "dr", "dm")
        for systems in SYSTEMS
        for more in (
            {},
            {"clip": 0.3, "baseline": "a"},
            {"policy_aware": True},
            {
                "policy_aware": True,
                "clip": 0.2345,
                "by": "part",
            },  # no mean is equal to it
            {"interval": "bootstrap", "by": "part"},
        )
        if not ("policy_aware" in more and method in ("snips", "dm"))
        if not ("clip" in more and method == "dm")
    },
}
REFUSED = {
    "click_entropy": lambda log: clicks.click_entropy(log, weight="w"),
    "interleaving": lambda log: clicks.interleaving(log, team="arm", weight="w"),
    "judgments": lambda log: clicks.judgments(log, propensities=BIAS, weight="w"),
    "propensities": lambda log: clicks.propensities(log, weight="w"),
    "counterfactual": lambda log: clicks.counterfactual(
        log, new="a", propensities="harvest", weight="w"
    ),
    "team_shares": lambda log: clicks.team_shares(log, team="arm", weight="w"),
}
ROWS_OF_THE_LOG = {"report", "dedupe", "per_impression"}  # copies would be further rows


ERRORS = [
    "se",
    "lower",
    "upper",
    "clusters",
    "p_value",
    "p_adjusted",
    "mde",
    "srm_p_value",
]
ERRORS += ["relative_lower", "relative_upper"]
ERRORS += ["clusters_control", "clusters_treatment"]


@pytest.mark.parametrize("call", every_other(CALLS))
@pytest.mark.parametrize("least", [1, slow(0)])
def test_whole_weights_are_copies(call, least):
    """A cluster of weight 0 is one of the log, and none of the copies."""
    log = random_log(len(call), least)
    found, wanted = CALLS[call](log, weight="w"), CALLS[call](copies(log))
    ignored = COUNTS if least else [*COUNTS, *ERRORS]
    found, wanted = (frame.drop(ignored, strict=False) for frame in (found, wanted))
    assert_frame_equal(found, wanted, rel_tol=1e-10, abs_tol=1e-12)


def test_a_cluster_of_weight_0_is_one_of_the_log():
    log = random_log(3).with_columns(w=(pl.col("u") != "u1").cast(pl.Int64))
    options = {"interval": "normal", **USERS}
    found = clicks.behavior(log, "ctr", weight="w", **options)
    without = clicks.behavior(log.filter(w=1), "ctr", **options)
    n = log["u"].n_unique()
    assert (found["clusters"].item(), without["clusters"].item()) == (n, n - 1)
    assert found["estimate"].item() == pytest.approx(without["estimate"].item())
    factors = math.sqrt((n - 1) / n), math.sqrt((n - 2) / (n - 1))
    ratio = found["se"].item() / without["se"].item()
    assert ratio == pytest.approx(factors[0] / factors[1], rel=1e-10)


@pytest.mark.parametrize("call", REFUSED)
def test_weights_that_would_be_ignored_are_refused(call):
    with pytest.raises(ValueError, match="weight="):
        REFUSED[call](random_log(1))


def test_each_function_of_a_log_is_among_them():
    tried = {name.partition(" ")[0].rstrip(",") for name in CALLS}
    known = tried | REFUSED.keys() | ROWS_OF_THE_LOG
    functions = {
        name for name in clicks.__all__ if inspect.isfunction(getattr(clicks, name))
    }
    takes = {
        name
        for name in functions
        if "options" in inspect.signature(getattr(clicks, name)).parameters
    }
    assert takes == known


def test_the_mean_propensity_of_a_document_weighs_impressions():
    """Three impressions of [a, b clicked], one of [a clicked]; b is best anew.

    a was at position 1 in all four, b at position 2 in three of them: its mean
    propensity is 3/4 of 1/2. The value is (3 / (3/8) * 1 + 1 / 1 * 1/2) / 4 = 17/8.
    """
    log = pl.DataFrame(
        {
            "impression_id": [1, 1, 2],
            "query_id": ["q"] * 3,
            "doc_id": ["a", "b", "a"],
            "position": [1, 2, 1],
            "clicked": [False, True, True],
            "w": [3, 3, 1],
        }
    )
    new = pl.DataFrame({"query_id": ["q", "q"], "doc_id": ["b", "a"], "rank": [1, 2]})
    found = clicks.counterfactual(
        log, "inverse_rank", new=new, propensities=1.0, policy_aware=True, weight="w"
    )
    assert found["estimate"].item() == pytest.approx(17 / 8, rel=1e-12)
