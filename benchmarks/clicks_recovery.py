"""Click logs: bias of estimates, and how often intervals hold the truth.

    python benchmarks/clicks_recovery.py [--repetitions 200] [--only harvest]

Logs are simulated, so that the truth is known. Coverage is the share of 95 % intervals
that hold it: of 200 repetitions, 92 to 98 % for an honest interval. Of propensities and
of judgments the bias is the largest of all positions or documents, and the coverage a
mean over them. The last column says what a row must show; rows that must fail show why
the simple way will not do.
"""

from __future__ import annotations

import argparse
import math
import statistics
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

import polars as pl

from polars_rank import clicks

Found = tuple[float, float, float, float]  # estimate, lower, upper, truth
Repeat = Callable[[int], list[Found]]


def aa(seed: int, cluster: str, kind: str, measure: str) -> Found:
    """Two arms that are the same: the truth of their difference is 0."""
    log = clicks.simulate(
        4000, n_queries=100, n_users=400, user_sd=1.0, n_arms=2, seed=seed
    ).draw()
    found = clicks.behavior(
        log, measure, by="arm", cluster=cluster, interval=kind, n_resamples=400
    )
    (a, b), (sa, sb) = found["estimate"], found["se"]
    half = 1.959964 * math.hypot(sa, sb)
    return b - a, b - a - half, b - a + half, 0.0


def compared(seed: int) -> Found:
    """The same by the comparison of arms."""
    log = clicks.simulate(
        4000, n_queries=100, n_users=400, user_sd=1.0, n_arms=2, seed=seed
    ).draw()
    row = clicks.compare_arms(log, "ctr", arm="arm", control="A").row(0, named=True)
    return row["effect"], row["lower"], row["upper"], 0.0


def adjusted(seed: int) -> Found:
    """The same with the clicks of the same users before the experiment."""
    # Impressions of even and odd number: before, and in the experiment.
    log = clicks.simulate(
        8000, n_queries=100, n_users=400, user_sd=1.0, n_arms=2, seed=seed
    ).draw()
    odd = pl.col("impression_id") % 2 == 1
    row = clicks.compare_arms(
        log.filter(odd), "ctr", arm="arm", control="A", covariates=log.filter(~odd)
    ).row(0, named=True)
    return row["effect"], row["lower"], row["upper"], 0.0


def lifted(seed: int, *, before: bool) -> Found:
    """Arms of which one clicks a tenth less often: the relative effect."""
    design = {
        "n_queries": 100,
        "n_users": 400,
        "user_sd": 1.0,
        "n_arms": 2,
        "seed": seed,
    }
    log = clicks.simulate(8000, lift=-0.1, **design).draw()
    odd = pl.col("impression_id") % 2 == 1
    same = (
        clicks.simulate(8000, **design).draw().filter(~odd)
    )  # the same users, no lift
    row = clicks.compare_arms(
        log.filter(odd),
        "ctr",
        arm="arm",
        control="A",
        covariates=same if before else None,
    ).row(0, named=True)
    return row["relative"], row["relative_lower"], row["relative_upper"], -0.1


def watched(seed: int, *, sequential: bool) -> Found:
    """Of ten looks at the same arms, more users each time: the one farthest from 0."""
    log = clicks.simulate(
        4000, n_queries=100, n_users=1000, user_sd=1.0, n_arms=2, seed=seed
    ).draw()
    looks = [
        clicks.compare_arms(
            log.filter(pl.col("user_id") < 100 * i),
            "ctr",
            arm="arm",
            control="A",
            sequential=sequential,
        ).row(0, named=True)
        for i in range(1, 11)
    ]
    row = min(looks, key=lambda look: min(look["upper"], -look["lower"]))
    return looks[-1]["effect"], row["lower"], row["upper"], 0.0


def interleaved(seed: int) -> Found:
    """Two teams of the same ranker: no preference."""
    log = clicks.simulate(
        2000, n_queries=100, n_users=300, user_sd=1.0, interleaved_share=1.0, seed=seed
    ).draw()
    coin = pl.col("impression_id").hash(seed) % 2 == 0  # the names of teams say nothing
    team = pl.col("team").cast(pl.String)
    swapped = pl.when(team == "A").then(pl.lit("B")).otherwise(pl.lit("A"))
    log = log.with_columns(team=pl.when(coin).then(team).otherwise(swapped))
    row = clicks.interleaving(log, team="team", cluster="user_id").row(0, named=True)
    return row["preference"], row["lower"], row["upper"], 0.0


HEAD, TAIL = {"n_queries": 100}, {"n_queries": 4000}


def examined(
    seed: int, method: str, design: dict[str, float], **options: object
) -> list[Found]:
    """Propensities of positions 2 to 10; the truth is 1 / position."""
    shares = {"randomized": 0.1, "swap": 0.25}
    named = {method: method} if method in shares else {}
    share = {f"{name}_share": shares[name] for name in named}
    log = clicks.simulate(20_000, **design, **share, seed=seed).draw()
    if method == "swap":
        named["swapped"] = "swapped"
    found = clicks.propensities(log, method, **named, **options).filter(
        pl.col("position") > 1
    )
    columns = found.select("propensity", "lower", "upper").fill_null(math.nan).rows()
    return [(*row, 1 / k) for k, row in enumerate(columns, start=2)]


def mistaken(seed: int) -> list[Found]:
    """Harvesting where users trust what is above: no position-based model."""
    design = clicks.simulate(20_000, **HEAD, user_model="trust", seed=seed)
    found = clicks.propensities(design.draw()).join(design.propensities, on="position")
    columns = ["propensity", "lower", "upper", "propensity_right"]
    return found.filter(pl.col("position") > 1).select(columns).rows()


def paired(seed: int) -> list[Found]:
    """The same by FairPairs: of a shuffled list, either order of neighbors is fair."""
    log = clicks.simulate(20_000, **HEAD, randomized_share=1.0, seed=seed).draw()
    # Pairs (1, 2), (3, 4) ... or (2, 3), (4, 5) ...: by the number of the impression.
    place = pl.col("position").cast(pl.Int64)
    above = (place + pl.col("impression_id").cast(pl.Int64)) % 2 == 0
    partner = pl.when(above).then(place + 1).otherwise(place - 1)
    log = log.with_columns(swap=pl.when(partner.is_between(1, 10)).then(partner))
    found = clicks.propensities(log, "fair_pairs", swap="swap")
    columns = found.filter(pl.col("position") > 1)
    rows = columns.select("propensity", "lower", "upper").fill_null(math.nan).rows()
    return [(*row, 1 / k) for k, row in enumerate(rows, start=2)]


def modeled(seed: int) -> list[Found]:
    """The same by EM with the true relevance, on rare documents."""
    design = clicks.simulate(20_000, **TAIL, seed=seed)
    found = clicks.propensities(
        with_relevance(design), "regression_em", relevance="relevance"
    ).filter(pl.col("position") > 1)
    columns = found.select("propensity", "lower", "upper").rows()
    return [(*row, 1 / k) for k, row in enumerate(columns, start=2)]


def trusting(seed: int, name: str) -> list[Found]:
    """alpha or beta of each position, from clicks and the true relevance."""
    design = clicks.simulate(20_000, **HEAD, user_model="trust", seed=seed)
    found = clicks.propensities(with_relevance(design), "trust", relevance="relevance")
    values = zip(
        found[name], found[f"{name}_se"], design.propensities[name], strict=True
    )
    return [(v, v - 1.959964 * se, v + 1.959964 * se, true) for v, se, true in values]


def with_relevance(design: clicks.Simulation) -> pl.DataFrame:
    """The log, with the true relevance of every document."""
    pair = ["query_id", "doc_id"]
    return design.draw().join(design.truth.select(*pair, "relevance"), on=pair)


def another(
    seed: int, method: str = "ips", propensities: object = None, **options: object
) -> list[Found]:
    """DCG@10 of another ranking; the truth differs between the logs."""
    design = clicks.simulate(5000, n_queries=100, n_users=2500, seed=seed, **options)
    if propensities is None:
        propensities = design.propensities
    elif propensities == "same":
        propensities = clicks.propensities(design.draw())
    row = clicks.counterfactual(
        design.draw(),
        new="new_score",
        method=method,
        propensities=propensities,
        cluster="user_id",
    ).row(0, named=True)
    return [(row["estimate"], row["lower"], row["upper"], design.value("new_score"))]


def of(design: clicks.Simulation, log: pl.DataFrame, row: int = 0, **options: object):
    """A row of the estimate: what is known of the log, and 95 % of it."""
    known = {"propensities": design.propensities, "cluster": "user_id", **options}
    found = clicks.counterfactual(log, **{"new": "new_score", **known})
    return found.select("estimate", "lower", "upper").row(row)


def relevant(seed: int) -> list[Found]:
    """The mean weight of a relevant document: another truth."""
    design = clicks.simulate(5000, n_queries=100, n_users=2500, seed=seed)
    one = design.value("new_score", lambda rank: rank * 0.0 + 1.0)
    truth = design.value("new_score") / one
    return [(*of(design, design.draw(), method="snips"), truth)]


def better(seed: int) -> list[Found]:
    """By how much another ranking is better than that of production."""
    design = clicks.simulate(5000, n_queries=100, n_users=2500, seed=seed)
    truth = design.value("new_score") - design.value("score")
    systems = {"new": ["new_score", "score"], "baseline": "score"}
    return [(*of(design, design.draw(), row=2, **systems), truth)]


def predicted(seed: int, scale: float, method: str, clip: float | None = None):
    """With a model of rewards: the truth, or a part of it."""
    design = clicks.simulate(5000, n_queries=100, n_users=2500, seed=seed)
    log = with_relevance(design).with_columns(reward=pl.col("relevance") * scale)
    model = {"method": method, "reward": "reward", "clip": clip}
    return [(*of(design, log, **model), design.value("new_score"))]


def clipped(seed: int) -> list[Found]:
    design = clicks.simulate(5000, n_queries=100, n_users=2500, seed=seed)
    return [(*of(design, design.draw(), clip=0.2), design.value("new_score"))]


def resampled(seed: int) -> list[Found]:
    design = clicks.simulate(5000, n_queries=100, n_users=2500, seed=seed)
    row = of(design, design.draw(), interval="bootstrap", n_resamples=400)
    return [(*row, design.value("new_score"))]


def fitted(seed: int) -> list[Found]:
    """With alpha and beta of the same log, out of the true relevance."""
    design = clicks.simulate(
        5000, n_queries=100, n_users=2500, user_model="trust", seed=seed
    )
    log = with_relevance(design)
    lines = clicks.propensities(log, "trust", relevance="relevance", cluster="user_id")
    row = of(design, log, method="affine", propensities=lines)
    return [(*row, design.value("new_score"))]


def whole(seed: int, *, aware: bool, **options: object) -> list[Found]:
    """A ranking in a frame, of which a list shows some documents by chance."""
    design = clicks.simulate(
        5000,
        n_queries=20,
        n_users=2500,
        logging="plackett_luce",
        temperature=3.0,
        seed=seed,
    )
    frame = design.truth.select("query_id", "doc_id", score="new_score")
    rank = pl.col("new_score").rank("ordinal", descending=True).over("query_id")
    value = pl.col("traffic") * pl.col("relevance") / (rank + 1).log(2)
    truth = design.truth.select(value.filter(rank <= 10).sum()).item()
    known = {"new": frame, "policy_aware": aware, **options}
    return [(*of(design, design.draw(), **known), truth)]


def judged(seed: int, method: str, user: str = "pbm") -> list[Found]:
    """Relevance of the ten documents of the commonest query."""
    design = clicks.simulate(3000, n_queries=20, n_docs=10, user_model=user, seed=seed)
    known = None if method in ("ctr", "coec") else design.propensities
    found = clicks.judgments(design.draw(), method, propensities=known)
    pair = ["query_id", "doc_id"]
    both = found.join(design.truth, on=pair).filter(pl.col("query_id") == 0).sort(pair)
    return both.select("estimate", "lower", "upper", "relevance").rows()


def of_all_users(design: clicks.Simulation) -> clicks.Simulation:
    """The same documents; truths are then those of users who are not in the log, too.

    A truth of the users at hand would leave out that they were drawn.
    """
    return replace(design, n_users=20_000) if design.user_sd else design


def anew(
    seed: int, design: dict[str, float], method: str = "ips", **options: object
) -> list[Found]:
    """Propensities of the same log, whose errors are in the interval."""
    drawn = clicks.simulate(
        5000, **{"n_queries": 100, "n_users": 2500, **design}, seed=seed
    )
    log, score = with_relevance(drawn), "new_score"
    log = log.with_columns(reward="relevance")
    known = {"propensities": "harvest", "method": method, **options}
    if method == "dr":
        known["reward"] = "reward"
    every = of_all_users(drawn)
    one = every.value(score, lambda rank: rank * 0.0 + 1.0)
    truth = every.value(score) / (one if method == "snips" else 1.0)
    return [(*of(drawn, log, **known), truth)]


def ahead(seed: int, design: dict[str, float]) -> list[Found]:
    """The same of the difference of two rankings."""
    drawn = clicks.simulate(
        5000, **{"n_queries": 100, "n_users": 2500, **design}, seed=seed
    )
    every = of_all_users(drawn)
    truth = every.value("new_score") - every.value("score")
    known = {"new": ["new_score", "score"], "baseline": "score"}
    return [(*of(drawn, drawn.draw(), row=2, propensities="harvest", **known), truth)]


def positions(method: str, design: dict[str, float], **options: object) -> Repeat:
    return lambda seed: examined(seed, method, design, **options)


def one(repeat: Callable[[int], Found]) -> Repeat:
    return lambda seed: [repeat(seed)]


COVERED, BIASED = "bias to 3 %, 92 to 98 %", "bias above 15 %"
ANEW = {
    "100 queries": {},
    "4,000 queries": {"n_queries": 4000},
    "users of differing taste": {"n_users": 400, "user_sd": 1.0},
    "50 users of differing taste": {"n_users": 50, "user_sd": 1.0},
}
USERS = {**HEAD, "n_users": 400, "user_sd": 1.0}
ROWS: dict[str, tuple[Repeat, str]] = {
    "harvest, head": (positions("harvest", HEAD), COVERED),
    "harvest, 300 queries": (positions("harvest", {"n_queries": 300}), COVERED),
    "harvest, tail": (positions("harvest", TAIL), COVERED),
    "harvest, all pairs, head": (
        positions("harvest", HEAD, estimator="all_pairs"),
        "bias to 3 %",
    ),
    "harvest, all pairs, tail": (
        positions("harvest", TAIL, estimator="all_pairs"),
        "bias to 3 %",
    ),
    "harvest, head, errors by user": (
        positions("harvest", USERS, cluster="user_id"),
        COVERED,
    ),
    "harvest, trust bias": (mistaken, BIASED),
    "harvest, pivot, tail": (positions("harvest", TAIL, estimator="pivot_one"), ""),
    "harvest, chain, tail": (positions("harvest", TAIL, estimator="chain"), ""),
    "randomized, a tenth shuffled": (positions("randomized", HEAD), COVERED),
    "swap, a quarter takes part": (positions("swap", HEAD), COVERED),
    "fair_pairs, all lists take part": (paired, COVERED),
    "trust, alpha": (lambda s: trusting(s, "alpha"), COVERED),
    "trust, beta": (lambda s: trusting(s, "beta"), COVERED),
    "regression_em, tail, the true model": (modeled, COVERED),
    "em, head": (positions("em", HEAD), "bias to 3 %"),
    "em, tail": (positions("em", TAIL), "bias to 3 %"),
    "em, tail, rare documents, too": (
        positions("em", TAIL, min_impressions=1),
        BIASED,
    ),
    "ctr, head": (positions("ctr", HEAD), BIASED),
    "ctr, tail": (positions("ctr", TAIL), BIASED),
    "ips": (another, COVERED),
    "ips, difference of two rankings": (better, COVERED),
    "ips, bootstrap by user": (resampled, COVERED),
    "ips, clipped at 0.2": (clipped, "bias downwards"),
    "snips, its own truth": (relevant, COVERED),
    "dr, half of the relevance as model": (lambda s: predicted(s, 0.5, "dr"), COVERED),
    "dr, the true model, clipped at 0.2": (
        lambda s: predicted(s, 1.0, "dr", 0.2),
        "bias to 3 %",
    ),
    "dm, half of the relevance as model": (lambda s: predicted(s, 0.5, "dm"), BIASED),
    "ips of a frame, policy-aware": (lambda s: whole(s, aware=True), COVERED),
    "ips, propensities of the same log, taken as known": (
        lambda s: another(s, propensities="same"),
        "bias to 3 %",
    ),
    **{
        f"ips, {name}, jackknife": (lambda s, d=design: anew(s, d), COVERED)
        for name, design in ANEW.items()
    },
    "ips, difference of two rankings, jackknife": (lambda s: ahead(s, {}), COVERED),
    "ips, difference, users of differing taste, jackknife": (
        lambda s: ahead(s, ANEW["users of differing taste"]),
        COVERED,
    ),
    "snips, jackknife": (lambda s: anew(s, {}, "snips"), COVERED),
    "dr, the true model, clipped at 0.2, jackknife": (
        lambda s: anew(s, {}, "dr", clip=0.2),
        COVERED,
    ),
    "ips of a frame, policy-aware, jackknife": (
        lambda s: whole(s, aware=True, propensities="harvest"),
        COVERED,
    ),
    "clicks as they are": (lambda s: another(s, propensities=0.0), BIASED),
    "affine, trust bias": (lambda s: another(s, "affine", user_model="trust"), COVERED),
    "affine, alpha and beta of the same log": (fitted, "bias to 3 %"),
    "ips, trust bias": (lambda s: another(s, user_model="trust"), BIASED),
    "A/A ctr, errors by user": (
        one(lambda s: aa(s, "user_id", "normal", "ctr")),
        "92 to 98 %",
    ),
    "A/A ctr, errors by impression": (
        one(lambda s: aa(s, "impression_id", "normal", "ctr")),
        "below 85 %",
    ),
    "A/A p_skip, errors by user": (
        one(lambda s: aa(s, "user_id", "normal", "p_skip")),
        "92 to 98 %",
    ),
    "A/A ctr, bootstrap by user": (
        one(lambda s: aa(s, "user_id", "bootstrap", "ctr")),
        "92 to 98 %",
    ),
    "A/A comparison of arms": (one(compared), "92 to 98 %"),
    "A/A comparison of arms, CUPED": (one(adjusted), "92 to 98 %"),
    "A/A interleaving": (one(interleaved), "92 to 98 %"),
    "a tenth fewer clicks: relative effect": (
        one(lambda s: lifted(s, before=False)),
        COVERED,
    ),
    "a tenth fewer clicks, CUPED": (one(lambda s: lifted(s, before=True)), COVERED),
    "A/A, ten looks": (one(lambda s: watched(s, sequential=False)), "below 92 %"),
    "A/A, ten looks, intervals at any time": (
        one(lambda s: watched(s, sequential=True)),
        "95 % or more",
    ),
    "judgments, ratio": (lambda s: judged(s, "ratio"), "bias to 3 %"),
    "judgments, ips": (lambda s: judged(s, "ips"), "bias to 3 %"),
    "judgments, affine, trust bias": (
        lambda s: judged(s, "affine", "trust"),
        "bias to 3 %",
    ),
    "judgments, ratio, trust bias": (lambda s: judged(s, "ratio", "trust"), BIASED),
    "judgments, ctr": (lambda s: judged(s, "ctr"), BIASED),
    "judgments, coec": (lambda s: judged(s, "coec"), "another scale"),
}


def row_of(name: str, repetitions: int) -> dict[str, object]:
    """What the repetitions of a row found."""
    repeat, wanted = ROWS[name]
    runs = [repeat(1000 + i) for i in range(repetitions)]
    worst = max(map(summary, zip(*runs, strict=True)), key=lambda s: abs(s[0]))
    held = [low <= true <= high for run in runs for _, low, high, true in run]
    return {
        "estimate": name,
        "bias": worst[0],
        "of its standard error": worst[1],
        "spread": worst[2],
        "coverage": statistics.mean(held),
        "wanted": wanted,
    }


def summary(found: Sequence[Found]) -> tuple[float, float, float]:
    """Bias, that divided by its standard error, and spread: relative to the truth."""
    true = statistics.mean(f[3] for f in found)
    errors = [(f[0] - f[3]) / (true or 1.0) for f in found if not math.isnan(f[0])]
    bias, spread = statistics.mean(errors), statistics.stdev(errors)
    return bias, bias / (spread / math.sqrt(len(errors))), spread


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--only", default="", help="rows with this text in their name")
    given = parser.parse_args()
    warnings.simplefilter("ignore", UserWarning)
    print("| estimate | bias | t | spread | coverage | wanted |")
    print("|---|---:|---:|---:|---:|---|")
    for name in (name for name in ROWS if given.only in name):
        _, bias, t, spread, coverage, wanted = row_of(name, given.repetitions).values()
        print(
            f"| {name} | {bias:.2%} | {t:.1f} | {spread:.2%} | {coverage:.1%} "
            f"| {wanted} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
