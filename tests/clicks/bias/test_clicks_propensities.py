"""Propensities: every formula by plain loops, truth recovered, bad logs refused."""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict

import polars as pl
import pytest
from slow import slow
from unequal import NEAR, allowance, effective, margin

from polars_rank import DataError, clicks, example

Z = 1.959963984540054


def random_log(seed, impressions=400, queries=4, docs=5, gaps=0.1):
    """Lists of few documents; clicks by position; two users, a day, experiments."""
    rng = random.Random(seed)
    rows = []
    for i in range(impressions):
        query, shown = rng.randrange(queries), rng.sample(range(docs), docs)
        swap = rng.choice([None, 2, 3, 4, 5])
        swapped = rng.random() < 0.4
        for position, doc in enumerate(shown, start=1):
            if rng.random() < gaps and position > 1:
                continue
            clicked = rng.random() < (0.2 + 0.15 * doc) / position**0.7
            row = (
                i,
                f"q{query}",
                f"d{doc}",
                position,
                clicked,
                f"u{rng.randrange(90)}",
            )
            more = i % 3 == 0, swap, swapped and swap is not None, doc / docs, i % 2
            rows.append((*row, *more))
    names = ["impression_id", "query_id", "doc_id", "position", "clicked", "u"]
    names += ["shuffled", "swap", "swapped", "gamma", "day"]
    log = pl.DataFrame(rows, schema=names, orient="row")
    return log.with_columns(u=pl.col("u").first().over("impression_id"))


def loop_of(log):
    return [*log.iter_rows(named=True)]


def close(found, wanted):
    assert found == pytest.approx(wanted, rel=1e-10, abs=1e-12)


def sizes_of(rows, cluster):
    """Documents that each cluster was shown."""
    return Counter(row[cluster] for row in rows).values()


def ratio_of_rates(rows, k, first, cluster):
    """theta_k and its error, by the delta method over clusters."""
    if k == first:
        return 1.0, 0.0
    counts = defaultdict(lambda: [0, 0, 0, 0])
    for row in rows:
        if row["position"] in (k, first):
            at = 0 if row["position"] == k else 2
            counts[row[cluster]][at] += row["clicked"]
            counts[row[cluster]][at + 1] += 1
    clusters = len({row[cluster] for row in rows})
    c, n, c1, n1 = (sum(x[i] for x in counts.values()) for i in range(4))
    value = (c / n) / (c1 / n1)
    squares = sum(
        (x[0] / c - x[1] / n - x[2] / c1 + x[3] / n1) ** 2 for x in counts.values()
    )
    usual = value * math.sqrt(squares * clusters / (clusters - 1))
    return value, usual * allowance(sizes_of(rows, cluster))


@pytest.mark.parametrize("cluster", ["impression_id", "u"])
@pytest.mark.parametrize("method", ["ctr", "randomized"])
def test_rates_are_those_of_a_plain_loop(method, cluster):
    log = random_log(1)
    options = {"randomized": "shuffled"} if method == "randomized" else {}
    found = clicks.propensities(log, method, cluster=cluster, **options)
    rows = loop_of(log if method == "ctr" else log.filter("shuffled"))
    for row in found.iter_rows(named=True):
        k = row["position"]
        value, error = ratio_of_rates(rows, k, 1, cluster)
        close([row["propensity"], row["se"]], [value, error])
        sizes = sizes_of(rows, cluster)
        close(row["effective_clusters"], effective(sizes))
        factor = math.exp(margin(sizes) * row["se"] / value)
        ends = pytest.approx([value / factor, value * factor], rel=NEAR)
        assert [row["lower"], row["upper"]] == ends
        assert row["support"] == sum(r["position"] == k for r in rows)
        here = [r for r in loop_of(log) if r["position"] == k]
        assert (row["impressions"], row["clicks"]) == (
            len(here),
            sum(r["clicked"] for r in here),
        )
    best = clicks.propensities(
        log, method, cluster=cluster, normalize="max", **options
    ).sort("propensity")[-1]
    assert best["propensity"].item() == 1.0


def test_the_ratio_by_user_is_that_of_sums_over_users():
    # Lists are complete: the numbers of impressions cancel, and what is left is the
    # ratio of two sums over clusters (Deng, Knoblich and Lu).
    log = random_log(2, gaps=0)
    found = clicks.propensities(log, "ctr", cluster="u")["se"][2]
    sums = defaultdict(lambda: [0, 0])
    for row in loop_of(log):
        if row["position"] in (1, 3):
            sums[row["u"]][row["position"] == 1] += row["clicked"]
    y, x = ([v[i] for v in sums.values()] for i in range(2))
    ratio, g = sum(y) / sum(x), len(y)
    z = [(a - ratio * b) / (sum(x) / g) for a, b in zip(y, x, strict=True)]
    usual = math.sqrt(sum(v * v for v in z) / (g - 1) / g)
    close(found, usual * allowance(sizes_of(loop_of(log), "u")))


@pytest.mark.parametrize("halves", [False, True])
def test_swaps_are_those_of_a_plain_loop(halves):
    log = random_log(3)
    sizes = sizes_of([r for r in loop_of(log) if r["swap"]], "u")
    options = {"swapped": "swapped"} if halves else {}
    found = clicks.propensities(log, "swap", swap="swap", cluster="u", **options)
    for row in found.iter_rows(named=True):
        j = row["position"]
        if j == 1:
            assert (row["propensity"], row["se"]) == (1.0, 0.0)
            continue
        used = [
            (r, r["swapped"] if halves else 0, r["position"] == j)
            for r in loop_of(log)
            if r["swap"] == j and r["position"] in (1, j)
        ]
        means = {}
        for half in (False, True) if halves else (0,):
            for own in (False, True):
                of = [r["clicked"] for r, h, o in used if (h, o) == (half, own)]
                means[half, own] = sum(of) / len(of), len(of)
        rate = {
            own: sum(m for (_, o), (m, _) in means.items() if o == own)
            for own in (False, True)
        }
        influence = defaultdict(float)
        for r, half, own in used:
            mean, number = means[half, own]
            sign = 1 if own else -1
            influence[r["u"]] += sign * (r["clicked"] - mean) / number / rate[own]
        g = len(influence)
        value = rate[True] / rate[False]
        error = value * math.sqrt(sum(v * v for v in influence.values()) * g / (g - 1))
        error *= allowance(sizes)
        close([row["propensity"], row["se"]], [value, error])


def pairs_of(log, *more, unclicked=False):
    """Impressions and clicks of pairs by position; only pairs that say something."""
    table = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for r in loop_of(log):
        cell = table[(r["query_id"], r["doc_id"], *(r[m] for m in more))]
        cell[r["position"]][0] += 1
        cell[r["position"]][1] += r["clicked"]
    return {
        p: cells
        for p, cells in table.items()
        if len(cells) > 1 and (unclicked or any(c for _, c in cells.values()))
    }


def loop_poisson(pairs, k, steps=250):
    """The published fixed point: clicks at k by those expected there."""
    theta = [1.0] * k
    for _ in range(steps):
        above, below = [0.0] * k, [0.0] * k
        for cells in pairs.values():
            total = sum(c for _, c in cells.values())
            whole = sum(n * theta[p - 1] for p, (n, _) in cells.items())
            for p, (n, c) in cells.items():
                above[p - 1] += c
                below[p - 1] += total * n / whole
        theta = [a / b for a, b in zip(above, below, strict=True)]
        theta = [t / theta[0] for t in theta]
    return theta


def inverse(matrix):
    """By elimination."""
    n = len(matrix)
    rows = [[*r, *(float(i == j) for j in range(n))] for i, r in enumerate(matrix)]
    for i in range(n):
        pivot = rows[i][i]
        rows[i] = [x / pivot for x in rows[i]]
        for j in range(n):
            if j != i:
                rows[j] = [
                    x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)
                ]
    return [r[n:] for r in rows]


def sandwich(information, scores):
    """Errors of ln theta at positions 2 ...: H^-1 (sum U U') H^-1 g / (g - 1)."""
    bread = inverse([row[1:] for row in information[1:]])
    k, g = len(bread), len(scores)
    meat = [
        [sum(u[i + 1] * u[j + 1] for u in scores.values()) for j in range(k)]
        for i in range(k)
    ]
    return [
        math.sqrt(
            sum(
                bread[i][a] * meat[a][b] * bread[b][i]
                for a in range(k)
                for b in range(k)
            )
            * g
            / (g - 1)
        )
        for i in range(k)
    ]


def one_out(informations, scores):
    """Errors of ln theta at positions 2 ...: steps without each group in turn."""
    k, g = 4, len(scores)
    whole = [
        [sum(own[i][j] for own in informations.values()) for j in range(5)]
        for i in range(5)
    ]
    squares = [0.0] * k
    for group, u in scores.items():
        own = informations[group]
        rest = [[whole[i][j] - own[i][j] for j in range(1, 5)] for i in range(1, 5)]
        bread = inverse(rest)
        for i in range(k):
            squares[i] += sum(bread[i][j] * u[j + 1] for j in range(k)) ** 2
    return [math.sqrt(square * (g - 1) / g) for square in squares]


@pytest.mark.parametrize("within", [None, "day"])
def test_the_poisson_fit_is_that_of_the_fixed_point(within):
    log = random_log(4)
    found = clicks.propensities(log, within=within)
    pairs = pairs_of(log, *([within] if within else []))
    theta = loop_poisson(pairs, 5)
    close(found["propensity"].to_list(), theta)
    informations = defaultdict(lambda: [[0.0] * 5 for _ in range(5)])
    scores = defaultdict(lambda: [0.0] * 5)
    for (query, *_), cells in pairs.items():
        total = sum(c for _, c in cells.values())
        whole = sum(n * theta[p - 1] for p, (n, _) in cells.items())
        share = {p: n * theta[p - 1] / whole for p, (n, _) in cells.items()}
        information = informations[query]
        for p, (_, c) in cells.items():
            scores[query][p - 1] += c - total * share[p]
            information[p - 1][p - 1] += total * share[p]
            for q in cells:
                information[p - 1][q - 1] -= total * share[p] * share[q]
    errors = one_out(informations, scores)
    wanted = [t * e for t, e in zip(theta[1:], errors, strict=True)]
    close(found["se"].to_list()[1:], wanted)
    assert found["converged"].all()
    assert found["note"].null_count() == 5


@pytest.mark.parametrize("cluster", ["u", "copy"])
def test_errors_of_the_poisson_fit_by_user_are_those_of_a_plain_loop(cluster):
    log = random_log(5).with_columns(copy="query_id")
    pairs = pairs_of(log)
    theta = loop_poisson(pairs, 5)
    information = [[0.0] * 5 for _ in range(5)]
    shares, mean = {}, {}
    for key, cells in pairs.items():
        total = sum(c for _, c in cells.values())
        whole = sum(n * theta[p - 1] for p, (n, _) in cells.items())
        shares[key] = {p: n * theta[p - 1] / whole for p, (n, _) in cells.items()}
        mean[key] = {p: total * theta[p - 1] / whole for p in cells}
        for p in cells:
            information[p - 1][p - 1] += total * shares[key][p]
            for q in cells:
                information[p - 1][q - 1] -= total * shares[key][p] * shares[key][q]
    scores = defaultdict(lambda: [0.0] * 5)
    for r in loop_of(log):
        key, at = (r["query_id"], r["doc_id"]), r["position"]
        if key in pairs:
            residual = r["clicked"] - mean[key][at]
            scores[r[cluster]][at - 1] += residual
            for p, share in shares[key].items():
                scores[r[cluster]][p - 1] -= residual * share
    found = clicks.propensities(log, cluster=cluster)
    errors = sandwich(information, scores)
    factor = allowance(sizes_of(loop_of(log), cluster))
    wanted = [t * e * factor for t, e in zip(theta[1:], errors, strict=True)]
    close(found["se"].to_list()[1:], wanted)
    assert set(found["clusters"]) == {len(scores)}


def tables_of(log, weighting):
    """A[k][j]: clicks at k of pairs shown at k and j, and how many there are."""
    clicked, shown = defaultdict(float), defaultdict(float)
    for cells in pairs_of(log, unclicked=True).values():
        for k, (n, c) in cells.items():
            for j, (m, _) in cells.items():
                if j != k:
                    weight = n * m / (n + m) if weighting == "harmonic" else 1.0
                    clicked[k, j] += weight * c / n
                    shown[k, j] += weight
    return clicked, shown


def loop_ratios(log, estimator, weighting):
    a, m = tables_of(log, weighting)
    if estimator == "pivot_one":
        return [1.0, *(a[k, 1] / a[1, k] for k in range(2, 6))]
    if estimator == "chain":
        theta = [1.0]
        for k in range(2, 6):
            theta.append(theta[-1] * a[k, k - 1] / a[k - 1, k])
        return theta
    p, r = [0.5] * 6, dict.fromkeys(m, 0.5)
    for _ in range(1500):
        up, down = defaultdict(float), defaultdict(float)
        top, total = [0.0] * 6, [0.0] * 6
        for k, j in m:
            unseen = (m[k, j] - a[k, j]) / (1 - p[k] * r[k, j])
            for side in ((k, j), (j, k)):
                up[side] += a[k, j] + unseen * r[k, j] * (1 - p[k])
                down[side] += m[k, j]
            top[k] += a[k, j] + unseen * p[k] * (1 - r[k, j])
            total[k] += m[k, j]
        p = [0.5, *(top[k] / total[k] for k in range(1, 6))]
        r = {side: up[side] / down[side] for side in up}
    return [x / p[1] for x in p[1:]]


@pytest.mark.parametrize("weighting", ["equal", "harmonic"])
@pytest.mark.parametrize("estimator", ["pivot_one", "chain", "all_pairs"])
def test_harvesting_is_that_of_the_paper(estimator, weighting):
    # Nobody clicks a document of the last query, which all pairs know of, too.
    ignored = (pl.col("query_id") == "q3") & (pl.col("doc_id") != "d4")
    log = random_log(6, impressions=200)
    log = log.with_columns(clicked=pl.col("clicked") & ~ignored)
    found = clicks.propensities(
        log, estimator=estimator, weighting=weighting, tol=1e-13, max_steps=20_000
    )
    wanted = loop_ratios(log, estimator, weighting)
    assert found["propensity"].to_list() == pytest.approx(wanted, rel=1e-9)
    if estimator == "all_pairs":
        return
    # Errors: each of the four queries is left out in turn.
    without = [
        loop_ratios(log.filter(pl.col("query_id") != q), estimator, weighting)
        for q in sorted(set(log["query_id"]))
    ]
    for k in range(1, 5):
        logs = [math.log(theta[k]) for theta in without]
        mean = sum(logs) / 4
        error = math.sqrt(3 / 4 * sum((x - mean) ** 2 for x in logs))
        close(found["se"][k], wanted[k] * error)


def test_on_two_positions_all_ways_agree():
    rows = [("q", d, p) for d in "ab" for p in (1, 2)]
    counts = [(10, 6), (10, 3), (10, 4), (10, 2)]  # at each position as often
    log = pl.DataFrame(
        [(*row, n, c) for row, (n, c) in zip(rows, counts, strict=True)],
        schema=["query_id", "doc_id", "position", "n", "c"],
        orient="row",
    )
    options = {"count": "n", "clicked": "c"}
    for estimator in ("poisson", "pivot_one", "chain", "all_pairs"):
        found = clicks.propensities(log, estimator=estimator, tol=1e-12, **options)
        assert found["propensity"][1] == pytest.approx(0.5, abs=1e-9)
        assert found["se"][1] is None  # of a single query
    em = clicks.propensities(log, "em", min_impressions=1, tol=1e-12, **options)
    assert em["propensity"][1] == pytest.approx(0.5, abs=1e-6)


def plain_em(pairs, steps):
    """Examination and the likelihood after so many steps, as published."""
    a, theta = dict.fromkeys(pairs, 0.5), [0.5] * 6
    for _ in range(steps):
        old_a, old = dict(a), list(theta)
        up, down = [0.0] * 6, [0.0] * 6
        for pair, cells in pairs.items():
            top = 0.0
            for k, (n, c) in cells.items():
                x, e = old_a[pair], old[k]
                missed = (n - c) / max(1 - x * e, 1e-300)
                top += c + missed * x * (1 - e)
                up[k] += c + missed * e * (1 - x)
                down[k] += n
            a[pair] = top / sum(n for n, _ in cells.values())
        theta = [0.5, *(up[k] / down[k] for k in range(1, 6))]
    likelihood = sum(
        c * math.log(a[p] * theta[k])
        + (n - c) * math.log(max(1 - a[p] * theta[k], 1e-300))
        for p, cells in pairs.items()
        for k, (n, c) in cells.items()
    )
    return [t / theta[1] for t in theta[1:]], likelihood


@pytest.mark.parametrize(("seed", "impressions"), [(7, 400), (3, 30), (8, 60)])
def test_em_ends_where_the_steps_of_em_lead(seed, impressions):
    """In short logs, too, where some document cannot be more attractive."""
    log = random_log(seed, impressions)
    wanted, likelihood = plain_em(pairs_of(log), 2500)
    found = clicks.propensities(log, "em", min_impressions=1)
    assert found["propensity"].to_list() == pytest.approx(wanted, rel=1e-5)
    # No step of EM climbs higher, nor does it leave much to climb.
    assert likelihood <= found["log_likelihood"][0] + 1e-9
    assert found["log_likelihood"][0] == pytest.approx(likelihood, abs=1e-6)
    assert found["converged"].all()


@pytest.mark.parametrize("user", ["pbm", "trust"])
@pytest.mark.parametrize("queries", [100, slow(4000)])
def test_fits_converge_in_few_steps(queries, user):
    """Where EM ends at 500 steps, and its last steps are small but many are left."""
    log = clicks.simulate(20_000, n_queries=queries, user_model=user, seed=1003).draw()
    for options in ({"method": "em"}, {"estimator": "all_pairs"}):
        found, exact = (
            clicks.propensities(log, tol=tol, **options) for tol in (1e-6, 1e-11)
        )
        assert found["converged"].all()
        assert found["steps"].max() < 10
        off = (found["propensity"] / exact["propensity"] - 1).abs()
        assert off.max() < 1e-6


@pytest.mark.parametrize(
    "options",
    [
        {"method": "em"},
        {"method": "harvest"},
        {"method": "harvest", "estimator": "all_pairs"},
        {"method": "regression_em", "relevance": "gamma"},
    ],
    ids=str,
)
def test_what_did_not_converge_is_null_with_a_word(options):
    with pytest.warns(UserWarning, match="did not converge in 1 steps, so its prop"):
        found = clicks.propensities(random_log(8), max_steps=1, **options)
    assert not found["converged"].any()
    assert found["propensity"].null_count() == found["se"].null_count() == 5
    assert set(found["note"]) == {"the fit did not converge"}


def attractiveness(cells, theta):
    """The likeliest one of a pair: where the derivative is 0, by bisection."""
    low, high = 0.0, 1 / max(theta[k - 1] for k in cells)
    for _ in range(100):
        a = (low + high) / 2
        rates = [(n, c, a * theta[k - 1]) for k, (n, c) in cells.items()]
        rises = sum((c - n * p) / (1 - p) for n, c, p in rates) > 0
        low, high = (a, high) if rises else (low, a)
    return (low + high) / 2


def profile_score(cells, theta):
    """Derivatives of the log-likelihood of a pair by ln theta, at the likeliest a."""
    a, u = attractiveness(cells, theta), [0.0] * 5
    for k, (n, c) in cells.items():
        u[k - 1] = (c - n * a * theta[k - 1]) / (1 - a * theta[k - 1])
    return u


def often_shown(log):
    pairs = defaultdict(lambda: defaultdict(lambda: [0, 0]))
    for r in loop_of(log):
        cell = pairs[r["query_id"], r["doc_id"]][r["position"]]
        cell[0] += 1
        cell[1] += r["clicked"]
    return {p: x for p, x in pairs.items() if sum(n for n, _ in x.values()) >= 50}


def test_errors_of_em_are_those_of_the_profile_likelihood():
    """Its curvature by differences; the default clusters are queries."""
    log = random_log(8)
    found = clicks.propensities(log, "em", max_steps=20_000, tol=1e-13)
    theta, step = found["propensity"].to_list(), 1e-5
    informations = defaultdict(lambda: [[0.0] * 5 for _ in range(5)])
    scores = defaultdict(lambda: [0.0] * 5)
    for (query, _), cells in often_shown(log).items():
        for i, u in enumerate(profile_score(cells, theta)):
            scores[query][i] += u
        for j in range(5):
            above, below = (
                profile_score(
                    cells, [t * math.exp(h * (i == j)) for i, t in enumerate(theta)]
                )
                for h in (step, -step)
            )
            for i in range(5):
                informations[query][i][j] -= (above[i] - below[i]) / (2 * step)
    errors = one_out(informations, scores)
    wanted = [t * e for t, e in zip(theta[1:], errors, strict=True)]
    assert found["se"].to_list()[1:] == pytest.approx(wanted, rel=1e-6)
    assert set(found["clusters"]) == {len(scores)}


def test_errors_of_em_by_user_are_those_of_a_plain_loop():
    """Scores of rows, less what they say of the attractiveness of their pair."""
    log = random_log(8)
    found = clicks.propensities(log, "em", max_steps=20_000, tol=1e-13, cluster="u")
    theta = found["propensity"].to_list()
    information = [[0.0] * 5 for _ in range(5)]
    rate, curvature = {}, {}
    for pair, cells in often_shown(log).items():
        a, curves = attractiveness(cells, theta), {}
        for k, (n, c) in cells.items():
            p = rate[pair, k] = a * theta[k - 1]
            curves[k] = (n - c) * p / (1 - p) ** 2
        curvature[pair] = curves
        for i in curves:
            information[i - 1][i - 1] += curves[i]
            for j in curves:
                share = curves[j] / sum(curves.values())
                information[i - 1][j - 1] -= curves[i] * share
    scores = defaultdict(lambda: [0.0] * 5)
    for r in loop_of(log):
        pair, k = (r["query_id"], r["doc_id"]), r["position"]
        if pair in curvature:
            p, curves = rate[pair, k], curvature[pair]
            u = (r["clicked"] - p) / (1 - p)
            scores[r["u"]][k - 1] += u
            for j in curves:
                scores[r["u"]][j - 1] -= u * curves[j] / sum(curves.values())
    errors = sandwich(information, scores)
    factor = allowance(sizes_of(loop_of(log), "u"))
    wanted = [t * e * factor for t, e in zip(theta[1:], errors, strict=True)]
    assert found["se"].to_list()[1:] == pytest.approx(wanted, rel=1e-7)
    assert set(found["clusters"]) == {len(scores)}


@pytest.mark.parametrize("cluster", ["impression_id", "u"])
def test_trust_is_least_squares(cluster):
    log = random_log(9)
    found = clicks.propensities(log, "trust", relevance="gamma", cluster=cluster)
    lines, influence = {}, {}
    groups = {r[cluster] for r in loop_of(log)}
    factor = allowance(sizes_of(loop_of(log), cluster))
    for k in range(1, 6):
        here = [r for r in loop_of(log) if r["position"] == k]
        n = len(here)
        x, y = ([float(r[c]) for r in here] for c in ("gamma", "clicked"))
        mx, my = sum(x) / n, sum(y) / n
        spread = sum((v - mx) ** 2 for v in x)
        alpha = sum((v - mx) * (w - my) for v, w in zip(x, y, strict=True)) / spread
        beta = my - alpha * mx
        lines[k] = alpha, beta
        influence[k] = {g: [0.0, 0.0] for g in groups}
        for r in here:
            e = r["clicked"] - alpha * r["gamma"] - beta
            slope = e * (r["gamma"] - mx) / spread
            influence[k][r[cluster]][0] += slope
            influence[k][r[cluster]][1] += e / n - slope * mx
    g = len(groups)
    rate = {k: sum(v) for k, v in lines.items()}
    for row in found.iter_rows(named=True):
        k = row["position"]
        close([row["alpha"], row["beta"]], lines[k])
        for i, name in enumerate(("alpha_se", "beta_se")):
            squares = sum(v[i] ** 2 for v in influence[k].values())
            close(row[name], factor * math.sqrt(squares * g / (g - 1)))
        value = rate[k] / rate[1]
        squares = sum(
            (sum(influence[k][c]) / rate[k] - sum(influence[1][c]) / rate[1]) ** 2
            for c in groups
        )
        close(row["propensity"], value)
        error = value * math.sqrt(squares * g / (g - 1)) if k > 1 else 0.0
        assert row["se"] == pytest.approx(error * factor, rel=1e-9)


# -- what is not identified


def test_positions_that_nothing_ties_to_the_first_are_null_with_a_reason():
    rows = [(1, "a", 1, 9, 5), (1, "a", 2, 9, 3), (1, "b", 3, 9, 4), (1, "b", 4, 9, 2)]
    rows += [(1, "c", 1, 9, 4), (1, "c", 5, 9, 0)]
    log = pl.DataFrame(rows, ["query_id", "doc_id", "position", "n", "c"], orient="row")
    for estimator in ("poisson", "all_pairs"):
        with pytest.warns(UserWarning, match="without a propensity: 3, 4, 5"):
            found = clicks.propensities(
                log, estimator=estimator, count="n", clicked="c"
            )
        notes = found["note"].to_list()
        assert notes[:2] == [None, None]
        assert (
            notes[2]
            == notes[3]
            == ("no document was shown here and at a position tied to the reference")
        )
        assert notes[4].startswith("too few clicks")
        assert found["propensity"].is_null().to_list() == [False] * 2 + [True] * 3
        assert found["lower"].is_null()[2:].all()
    with pytest.warns(UserWarning, match="without a propensity: 3, 4, 5"):
        found = clicks.propensities(log, estimator="chain", count="n", clicked="c")
    with pytest.warns(UserWarning, match="without a propensity: 3, 4, 5"):
        found = clicks.propensities(log, estimator="pivot_one", count="n", clicked="c")
    assert found["propensity"].null_count() == 3


def test_a_log_without_clicks_has_no_propensities():
    log = random_log(1).with_columns(clicked=pl.lit(0))
    for method in ("harvest", "ctr", "em"):
        with pytest.warns(UserWarning, match="without a propensity"):
            found = clicks.propensities(log, method)
        assert found["propensity"][1:].null_count() == 4
        assert found["note"][1:].null_count() == 0


def test_shuffled_positions_end_where_they_end():
    with pytest.warns(UserWarning, match="without a propensity: 4, 5"):
        found = clicks.propensities(
            random_log(1), "randomized", randomized="shuffled", shuffled=3
        )
    assert found["propensity"].is_null().to_list() == [False] * 3 + [True] * 2
    assert set(found["note"][3:]) == {"the position was not shuffled or swapped"}


# -- invariance


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"estimator": "all_pairs"},
        {"cluster": "u"},
        {"method": "em"},
        {"method": "ctr"},
        {"method": "swap", "swap": "swap"},
        {"by": "day"},
        {"method": "em", "cluster": "u"},
        {"method": "trust", "relevance": "gamma", "cluster": "u"},
        {"method": "regression_em", "relevance": "gamma", "cluster": "u"},
    ],
    ids=str,
)
def test_the_order_of_rows_and_buckets_change_nothing(options, tmp_path):
    options = dict(options)
    method = options.pop("method", "harvest")
    log = random_log(10)
    found = clicks.propensities(log, method, **options)
    mixed = log.sample(fraction=1, shuffle=True, seed=2)
    again = clicks.propensities(mixed.lazy(), method, **options).collect()
    parts = [mixed[:700], mixed[700:]]
    for i, part in enumerate(parts):
        part.write_parquet(tmp_path / f"{i}.parquet")
    files = pl.scan_parquet(tmp_path / "*.parquet")
    bounded = clicks.propensities(files, method, memory_limit="1GB", **options)
    for other in (again, bounded.collect()):
        assert other.equals(found)


def test_segments_are_logs_of_their_own():
    log = random_log(11)
    for method in ("harvest", "ctr", "em"):
        both = clicks.propensities(log, method, by="day")
        for day in (0, 1):
            one = clicks.propensities(log.filter(pl.col("day") == day), method)
            assert both.filter(pl.col("day") == day).drop("day").equals(one)


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("harvest", {}),
        ("harvest", {"cluster": "u"}),
        ("harvest", {"estimator": "all_pairs"}),
        ("em", {}),
        ("ctr", {"cluster": "u"}),
        ("randomized", {"randomized": "shuffled"}),
        ("swap", {"swap": "swap"}),
        ("regression_em", {"relevance": "gamma"}),
        ("trust", {"relevance": "gamma"}),
    ],
)
def test_a_segment_of_nan_is_one(method, options):
    log = random_log(14).with_columns(
        seg=pl.when(pl.col("day") == 1).then(math.nan).otherwise(0.0)
    )
    wanted = clicks.propensities(log, method, by="day", **options)
    found = clicks.propensities(log, method, by="seg", **options)
    assert found.drop("seg").equals(wanted.drop("day"))
    assert wanted["propensity"].null_count() == 0
    assert found["seg"].is_nan().to_list() == [day == 1 for day in wanted["day"]]


def test_positions_count_from_0_and_totals_are_a_log():
    log = random_log(12)
    wanted = clicks.propensities(log)
    zero = log.with_columns(pl.col("position") - 1)
    assert clicks.propensities(zero, first_position=0).equals(wanted)
    totals = log.group_by("query_id", "doc_id", "position").agg(
        n=pl.len(), c=pl.col("clicked").sum()
    )
    assert clicks.propensities(totals, count="n", clicked="c").equals(wanted)
    with_all = clicks.propensities(
        log.drop("day"),
        by="day",
        impressions=log.select("impression_id", "day").unique(),
    )
    assert with_all.equals(clicks.propensities(log, by="day"))


# -- bad input


@pytest.mark.parametrize(
    ("method", "options", "message"),
    [
        ("nothing", {}, "method must be one of harvest, randomized"),
        ("randomized", {}, 'method "randomized" needs a column with whether the list'),
        ("swap", {}, 'method "swap" needs a column with the position'),
        ("trust", {}, 'method "trust" needs a column with relevance'),
        ("ctr", {"swap": "swap"}, 'swap= is not for method "ctr"'),
        ("em", {"estimator": "chain"}, 'estimator= is for method "harvest"'),
        ("harvest", {"weighting": "none"}, "weighting must be one of harmonic, equal"),
        ("harvest", {"max_steps": 0}, "max_steps must be a whole number"),
        ("harvest", {"tol": 0}, "tol must be above 0"),
        ("harvest", {"weight": "gamma"}, "propensities take no weight="),
        ("harvest", {"level": 95}, "level must lie between 0 and 1"),
        ("swap", {"swap": "swap", "normalize": "max"}, "compares with the first"),
        ("ctr", {"shuffled": 3}, 'is for method "randomized", not for "ctr": leave'),
        (
            "randomized",
            {"randomized": "shuffled", "shuffled": 1},
            "shuffled must be at least 2 positions, or None for all, not 1",
        ),
        (
            "harvest",
            {"estimator": "chain", "cluster": "u"},
            "leaves out queries in turn",
        ),
    ],
)
def test_wrong_arguments_are_refused_at_once(method, options, message):
    with pytest.raises(ValueError, match=message):
        clicks.propensities(random_log(1).lazy(), method, **options)


def test_a_column_that_is_missing_is_named():
    with pytest.raises(
        pl.exceptions.ColumnNotFoundError, match="randomized column 'shufled'"
    ):
        clicks.propensities(random_log(1), "randomized", randomized="shufled")


def test_users_that_nobody_names_are_warned_of():
    log = random_log(1).rename({"u": "user_id"})
    with pytest.warns(UserWarning, match="give cluster='user_id'"):
        clicks.propensities(log, "ctr")


def test_bad_rows_are_refused():
    log = random_log(1)
    other = log.with_columns(shuffled=False, swap=pl.lit(None, pl.Int32))
    for method, options in (
        ("randomized", {"randomized": "shuffled"}),
        ("swap", {"swap": "swap"}),
    ):
        with pytest.raises(DataError, match="no impression is marked") as error:
            clicks.propensities(other, method, **options)
        assert error.value.rule == "nothing_shuffled"
    half = log.filter(pl.col("swapped") | pl.col("swap").is_null())
    with pytest.raises(DataError, match="mark all that took part"):
        clicks.propensities(half, "swap", swap="swap", swapped="swapped")
    for wrong in (1.5, float("nan"), -0.1):
        with pytest.raises(DataError, match="relevance or rewards"):
            clicks.propensities(
                log.with_columns(gamma=pl.lit(wrong)), "trust", relevance="gamma"
            )
    twice = pl.concat([log, log.with_columns(pl.col("position") + 5)])
    with pytest.raises(DataError, match="duplicate documents within an impression"):
        clicks.propensities(twice)
    clicks.propensities(twice, on_duplicate="first")
    for change, rule in (
        (pl.col("position") - 1, "invalid_position"),
        (pl.col("clicked").cast(pl.Int8) * 2, "invalid_click"),
    ):
        with pytest.raises(DataError) as error:
            clicks.propensities(log.with_columns(change))
        assert error.value.rule == rule


# -- truth


def test_the_example_shows_its_propensities():
    log = pl.scan_parquet(example.clicks_path())
    found = clicks.propensities(log, within="arm").collect()
    naive = clicks.propensities(log, "ctr", cluster="user_id").collect()
    for k in range(2, 11):
        row = found.row(k - 1, named=True)
        assert abs(row["propensity"] - 1 / k) < 5 * row["se"]
        assert naive["propensity"][k - 1] < 0.9 / k


@pytest.mark.slow
@pytest.mark.parametrize("queries", [100, 4000], ids=["head", "tail"])
def test_the_truth_is_recovered(queries):
    """20 logs: bias within 3 % and 4 errors of the mean; intervals cover 85 %."""
    several, covered = [], 0
    for seed in range(20):
        log = clicks.simulate(20_000, n_queries=queries, seed=1000 + seed).draw()
        found = clicks.propensities(log.drop("user_id"))
        several.append(found["propensity"].to_list())
        truth = 1 / pl.int_range(1, 11, eager=True)
        covered += (found["lower"][1:] <= truth[1:]).sum()
        covered -= (found["upper"][1:] < truth[1:]).sum()
        if seed == 0:
            naive = clicks.propensities(log.drop("user_id"), "ctr")["propensity"]
            assert naive[1] < 0.85 * 0.5
    for k in range(2, 11):
        ratios = [theta[k - 1] * k for theta in several]
        mean = sum(ratios) / 20
        spread = math.sqrt(sum((x - mean) ** 2 for x in ratios) / 19 / 20)
        assert abs(mean - 1) < max(0.03, 4 * spread)
    assert covered / (20 * 9) > 0.85


@pytest.mark.slow
def test_experiments_and_trust_recover_the_truth():
    log = clicks.simulate(
        100_000, n_queries=300, randomized_share=0.2, swap_share=0.5, seed=5
    ).draw()
    for method, options in (
        ("randomized", {"randomized": "randomized"}),
        ("swap", {"swap": "swap", "swapped": "swapped"}),
        ("em", {}),
        ("harvest", {"estimator": "all_pairs"}),
    ):
        found = clicks.propensities(log.drop("user_id"), method, **options)
        for row in found.rows(named=True)[1:]:
            assert abs(row["propensity"] - 1 / row["position"]) < 5 * row["se"], method
    trust = clicks.simulate(100_000, n_queries=300, user_model="trust", seed=6)
    rows = trust.draw().join(trust.truth.select("doc_id", "relevance"), on="doc_id")
    found = clicks.propensities(rows.drop("user_id"), "trust", relevance="relevance")
    joined = found.join(trust.propensities, on="position", suffix="_true")
    for row in joined.iter_rows(named=True):
        assert abs(row["alpha"] - row["alpha_true"]) < 5 * row["alpha_se"]
        assert abs(row["beta"] - row["beta_true"]) < 5 * row["beta_se"]


def test_an_interval_can_have_no_bounds():
    """Two users who disagree, at a high level: more than a float holds."""
    rows = [(i, i % 2, k, k == 1 + i % 2) for i in range(8) for k in (1, 2)]
    names = ["impression_id", "user_id", "position", "clicked"]
    log = pl.DataFrame(rows, schema=names, orient="row")
    found = clicks.propensities(log, "ctr", cluster="user_id", level=0.999)
    assert found.select("propensity", "lower", "upper").row(1) == (1.0, 0.0, math.inf)
