"""Comparison of systems: figures that scipy and statsmodels gave, loops, enumeration.

tests/parity/test_comparison.py runs those libraries themselves.
"""

from __future__ import annotations

import itertools
import math
import random
import runpy
import statistics
import warnings
from pathlib import Path
from typing import get_args

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

import polars_rank as pr
from polars_rank.comparison.input.procedures import (
    POOLED,
    RESAMPLING,
    TestName,
    ZeroMethod,
)
from polars_rank.comparison.tests import bootstrap, paired_tests
from polars_rank.comparison.tests.corrections import adjusted
from polars_rank.comparison.tests.effects import d_z_interval

A = [0.50, 0.25, 1.0, 0.00, 0.33, 0.75, 0.60, 0.20, 0.10, 0.90, 0.40, 0.55]
B = [0.55, 0.25, 1.0, 0.10, 0.50, 0.70, 0.80, 0.20, 0.30, 0.95, 0.50, 0.60]
C = [0.45, 0.30, 0.90, 0.05, 0.20, 0.70, 0.65, 0.10, 0.15, 0.85, 0.35, 0.50]
D = [0.60, 0.40, 1.0, 0.20, 0.45, 0.85, 0.75, 0.40, 0.25, 1.0, 0.55, 0.70]
SYSTEMS = dict(zip("ABCD", (A, B, C, D), strict=True))
SHORT = pytest.mark.filterwarnings("ignore:interval=.* is known to be too short")
TRAFFIC = [100, 80, 60, 50, 40, 30, 20, 10, 5, 3, 1, 1]


def values(names: str = "ABCD", measure: str = "ndcg@10") -> pl.DataFrame:
    return pl.concat(
        pl.DataFrame(
            {
                "system": name,
                "query_id": [f"q{i:02}" for i in range(12)],
                measure: SYSTEMS[name],
                "traffic": TRAFFIC,
                "user": [i // 2 for i in range(12)],
            }
        )
        for name in names
    )


def row(base: str = "A", system: str = "B", **options) -> dict:
    found = pr.compare(values(), **options).pairs
    chosen = (pl.col("baseline") == base) & (pl.col("system") == system)
    return found.filter(chosen).row(0, named=True)


def close(value: float, digits: float = 1e-8):
    return pytest.approx(value, rel=digits)


# -- figures of scipy 1.17 and statsmodels 0.15 on the same numbers


def test_paired_t():
    found = row(correction="none")
    assert found["queries"] == 12
    assert found["difference"] == close(0.0725)
    assert found["statistic"] == close(3.0249539157)
    assert found["p_value"] == close(0.01155299999)
    assert (found["lower"], found["upper"]) == (
        close(0.0197483124),
        close(0.1252516876),
    )
    assert found["relative"] == close(0.0725 / 0.465)
    assert (found["wins"], found["ties"], found["losses"]) == (8, 3, 1)
    assert found["detectable"] == close(0.0737807, 1e-6)
    assert found["df"] == 11
    assert found["note"] is None


@pytest.mark.parametrize(
    ("test", "p"),
    [
        ("sign", 0.0390625),
        ("wilcoxon", 0.01953125),
        ("randomization", 80 / 4096),
        ("tukey", 0.0093564),
        ("lsd", 0.0018157),
    ],
)
def test_other_tests(test, p):
    assert row(test=test)["p_value"] == pytest.approx(p, rel=1e-5)


@pytest.mark.parametrize("measure", ["ndcg@10", "arp"])
@pytest.mark.parametrize("n", [34, 60])  # exact, and normal
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize(
    "options",
    [
        {"test": "t"},
        {"test": "sign"},
        *({"test": "wilcoxon", "zero_method": z} for z in get_args(ZeroMethod)),
    ],
)
@pytest.mark.parametrize("turned", [1, -1])
def test_the_better_system_is_that_of_the_test(
    measure, n, alternative, options, turned
):
    """Not of the means: b is a little higher often, and far lower seldom."""
    d = [0.0] * 4 + [0.005 + 0.0001 * i for i in range(n - 7)] + [-0.9, -0.8, -0.7]
    d = [turned * v for v in d]
    frame = pl.DataFrame(
        {
            "system": ["a"] * n + ["b"] * n,
            "query_id": [*range(n)] * 2,
            measure: [0.95] * n + [0.95 + v for v in d],
        }
    )
    (row,) = pr.compare(
        frame, alternative=alternative, level=0.8, **options
    ).pairs.to_dicts()
    ranks = stats.rankdata(np.abs(d)) * np.sign(d)
    above = {"t": sum(d), "sign": sum(np.sign(d)), "wilcoxon": sum(ranks)}
    assert above["t"] * above["sign"] < 0 > above["t"] * above["wilcoxon"]
    up = above[options["test"]] > 0
    sides = ("two-sided", "greater" if up else "less")
    assert row["significant"] == (alternative in sides)
    high, low = ("b", "a") if up else ("a", "b")
    better = low if measure == "arp" else high
    assert row["better"] == (better if row["significant"] else None)


def test_equivalent_systems_are_none_better():
    found = pr.compare(values("AC"), test="tost", margin=0.2)
    assert found.pairs.select("significant", "better").row(0) == (True, None)
    assert "Superscripts" not in str(found)


def test_wilcoxon_of_many_queries():
    d = paired_tests.rounded(np.tile(np.subtract(B, A), 5), 1.0)
    n, ranks = 45, []
    sizes = sorted(abs(x) for x in d if x)
    for x in d:
        if x:
            below = sum(s < abs(x) for s in sizes)
            same = sum(s == abs(x) for s in sizes)
            ranks.append((below + (same + 1) / 2, x > 0))
    plus = sum(r for r, up in ranks if up)
    ties = sum(sizes.count(s) ** 3 - sizes.count(s) for s in set(sizes))
    variance = (n * (n + 1) * (2 * n + 1) - ties / 2) / 24
    z = (plus - n * (n + 1) / 4) / math.sqrt(variance)
    found = paired_tests.wilcoxon(d)
    assert found.statistic == plus
    assert found.p == close(math.erfc(abs(z) / math.sqrt(2)))
    assert paired_tests.wilcoxon(np.zeros(5)).p == 1


@pytest.mark.covering(1)
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("zero_method", ["wilcox", "pratt", "zsplit"])
@pytest.mark.parametrize(("queries", "method"), [(11, "auto"), (90, "asymptotic")])
def test_differences_of_zero_in_wilcoxons_test(
    queries, method, zero_method, alternative
):
    d = np.round(np.random.default_rng(queries).normal(0.3, 2, queries))
    assert 0 < (d == 0).sum() < queries - (40 if method == "asymptotic" else 0)
    theirs = stats.wilcoxon(
        d, zero_method=zero_method, alternative=alternative, method=method
    )
    values = pl.DataFrame(
        {
            "system": ["a"] * queries + ["b"] * queries,
            "query_id": [*range(queries)] * 2,
            "x": np.concatenate([np.zeros(queries), d]),
        }
    )
    ours = pr.compare(
        values, test="wilcoxon", zero_method=zero_method, alternative=alternative
    ).pairs.row(0, named=True)
    assert ours["p_value"] == close(theirs.pvalue)
    if alternative != "two-sided":  # there scipy returns the smaller sum
        assert ours["statistic"] == theirs.statistic


@pytest.mark.parametrize(
    ("effect", "value"),
    [
        ("d_z", 0.8732289787),
        ("hedges", 0.8120678551),
        ("d_av", 0.2403156544),
        ("glass", 0.2322724676),
        ("cliff", 0.1388888889),
        ("dominance", 0.5833333333),
        ("rank_biserial", 0.8888888889),
        ("sakai", 1.3848753911),
    ],
)
def test_effects(effect, value):
    found = row(effect=effect)
    assert found["effect"] == close(value)
    assert (found["effect_lower"] is None) == (effect not in ("d_z", "hedges"))


def test_the_interval_of_d_z():
    found = row()
    ends = found["effect_lower"], found["effect_upper"]
    assert ends == (close(0.1884645367, 1e-9), close(1.5301772368, 1e-9))
    assert np.isnan(d_z_interval(float("nan"), 1, 0.95)[0])


TABLE = {  # t, Holm, BH, Tukey, LSD
    "AB": (0.0115530, 0.0346590, 0.0173295, 0.0093564, 0.0018157),
    "AC": (0.1227602, 0.1227602, 0.1227602, 0.4596454, 0.1479155),
    "AD": (3.77858e-06, 1.88929e-05, 1.13357e-05, 3.91668e-06, 6.74791e-07),
    "BC": (0.00155761, 0.00623045, 0.00311522, 0.000151030, 2.67345e-05),
    "BD": (0.0363755, 0.0727510, 0.0436506, 0.0473024, 0.0100963),
    "CD": (2.78815e-06, 1.67289e-05, 1.13357e-05, 5.57847e-08, 9.48196e-09),
}


def test_all_pairs_and_corrections():
    for place, options in enumerate(
        (
            {"correction": "none"},
            {},
            {"correction": "bh"},
            {"test": "tukey"},
            {"test": "lsd", "correction": "none"},
        )
    ):
        found = pr.compare(values(), **options).pairs
        for pair in found.iter_rows(named=True):
            expected = TABLE[pair["baseline"] + pair["system"]][place]
            rough = 1e-5 if expected > 1e-6 else 1e-2  # of an integral
            assert pair["p_adjusted"] == pytest.approx(expected, rel=rough), pair
            assert pair["significant"] == (expected < 0.05)


def test_randomized_tukey():
    found = pr.compare(values(), test="randomized_tukey", n_resamples=2000).pairs
    p = dict(zip(TABLE, found["p_value"], strict=True))
    expected = {"AB": 0.190, "AC": 0.830, "AD": 0.001, "BC": 0.0189, "BD": 0.393}
    for pair, value in expected.items():  # three errors of 2,000 draws
        assert abs(p[pair] - value) < 3 * math.sqrt(value * (1 - value) / 2000) + 1e-3


def test_analysis_of_variance():
    (found,) = pr.compare(values()).anova.rows(named=True)
    assert found["ss_system"] == close(0.1921083333)
    assert found["ss_query"] == close(3.6458416667)
    assert found["ss_error"] == close(0.0904416667)
    assert found["f"] == close(23.3652446328)
    assert found["p_value"] == pytest.approx(2.690533e-08, rel=1e-6)
    assert found["omega_squared"] == close(0.0467769458)
    assert found["partial_eta_squared"] == close(0.6799091606)


def test_friedman():
    (found,) = pr.compare(values()).friedman().rows(named=True)
    assert (found["queries"], found["df"]) == (12, 3)
    assert found["statistic"] == close(22.9115044248)
    assert found["p_value"] == close(4.2135e-05, 1e-4)
    assert found["w"] == close(22.9115044248 / 36)


@pytest.mark.slow
def test_friedman_is_a_loop():
    draw = random.Random(6)
    rows = [
        (s, q, "DE" if q < 9 else "JP", draw.choice([0.1, 0.2, 0.3, 0.1 + 0.2]))
        for s in "abc"
        for q in range(30)
    ]
    frame = pl.DataFrame(rows, schema=["system", "query_id", "land", "v"], orient="row")
    found = pr.compare(frame, by="land").friedman()
    assert found["land"].to_list() == ["DE", "JP"]
    for row in found.iter_rows(named=True):
        part = frame.filter(land=row["land"])
        by_query = [
            [round(v, 12) for v in g["v"]]
            for _, g in part.group_by("query_id", maintain_order=True)
        ]
        ranks = [
            [sum(u < v for u in g) + (sum(u == v for u in g) + 1) / 2 for v in g]
            for g in by_query
        ]
        n, k = len(ranks), 3
        sums = [sum(r[s] for r in ranks) for s in range(k)]
        ties = sum(g.count(v) ** 3 - g.count(v) for g in by_query for v in {*g})
        above = 12 / (n * k * (k + 1)) * sum(s * s for s in sums) - 3 * n * (k + 1)
        assert row["queries"] == n
        assert row["statistic"] == close(above / (1 - ties / (n * k * (k * k - 1))))
        assert row["p_value"] == close(math.exp(-row["statistic"] / 2))  # two degrees


def test_what_has_no_friedman_test():
    with pytest.raises(ValueError, match="three systems or more"):
        pr.compare(values("AB")).friedman()
    with pytest.raises(ValueError, match="without weights or clusters"):
        pr.compare(values(), weight="traffic").friedman()
    with pytest.raises(ValueError, match="these are moments"):
        pr.compare(pr.comparison.moments(values())).friedman()
    same = pl.concat(values("A").with_columns(system=pl.lit(s)) for s in "xyz")
    found = pr.compare(same, measures="ndcg@10").friedman()
    assert found.select("statistic", "p_value", "w").row(0) == (0, 1, 0)
    single = values().filter(query_id="q01")
    one = pr.compare(single).friedman().row(0, named=True)
    assert (one["queries"], one["statistic"], one["p_value"]) == (1, None, None)


def test_clusters_and_weights():
    found = row(cluster="user")
    assert found["df"] == 5
    assert found["p_value"] == close(0.00428768, 2e-6)
    assert found["statistic"] == close(0.0725 / 0.0146486632)
    assert "fewer than 10 clusters" in found["note"]
    found = row(weight="traffic")
    weights = values().filter(pl.col("system") == "A")["traffic"].to_list()
    kish = sum(weights) ** 2 / sum(w * w for w in weights)
    told = f"Effective number of queries, by their weights: {kish:.1f}."
    assert told in str(pr.compare(values(), weight="traffic"))
    assert "Effective" not in str(pr.compare(values()))
    mean = sum(w * (b - a) for w, a, b in zip(TRAFFIC, A, B, strict=True)) / 400
    assert found["difference"] == close(mean)
    assert found["statistic"] == close(mean / 0.0224324829)
    assert "effective size 6.3" in found["note"]


def test_equivalence():
    found = row(test="tost", margin=0.1)
    assert found["p_value_lower"] == close(8.793126541e-06)
    assert found["p_value_upper"] == close(0.1377805725)
    assert found["p_value"] == found["p_value_upper"]
    inside = row(test="tost", margin=found["upper"] + 1e-9, correction="none")
    assert inside["significant"]
    outside = row(test="tost", margin=found["upper"] - 1e-9, correction="none")
    assert not outside["significant"]


@SHORT
@pytest.mark.parametrize(
    ("interval", "low", "high", "rough"),
    [
        ("percentile", 0.02917, 0.11754, 0.002),
        ("bca", 0.0328, 0.1225, 0.002),
        ("studentized", 0.0250, 0.1335, 0.004),
        ("bayesian", 0.0317, 0.1179, 0.002),
    ],
)
def test_bootstrap_intervals(interval, low, high, rough):
    found = row(interval=interval, seed=1)
    assert found["lower"] == pytest.approx(low, abs=rough)  # Monte Carlo
    assert found["upper"] == pytest.approx(high, abs=rough)
    if interval == "bayesian":
        assert found["probability"] > 0.999


# -- loops


def test_randomization_is_the_enumeration():
    draw = random.Random(1)
    for _ in range(20):
        d = [draw.choice([-0.2, -0.1, 0.0, 0.1, 0.3]) for _ in range(9)]
        total = sum(d)
        flips = [
            sum(s * x for s, x in zip(signs, d, strict=True))
            for signs in itertools.product((1, -1), repeat=len(d))
        ]
        for alternative, share in (
            ("two-sided", sum(abs(f) >= abs(total) - 1e-9 for f in flips)),
            ("greater", sum(f >= total - 1e-9 for f in flips)),
            ("less", sum(f <= total + 1e-9 for f in flips)),
        ):
            (found,) = paired_tests.randomization(
                paired_tests.rounded(np.array(d)[:, None], 1.0),
                n_resamples=99,
                seed=0,
                alternative=alternative,
            )
            assert found.p == pytest.approx(share / len(flips), rel=1e-12)


@pytest.mark.slow
def test_drawn_flips_come_near_the_enumeration():
    d = np.random.default_rng(2).normal(0.25, 1, (41, 1))
    (drawn,) = paired_tests.randomization(d, n_resamples=9999, seed=0)
    (exact,) = paired_tests.randomization(d[:40], n_resamples=99, seed=0)
    t = (
        pr.compare(
            pl.DataFrame(
                {
                    "system": ["a"] * 41 + ["b"] * 41,
                    "query_id": [*range(41)] * 2,
                    "v": [0.0] * 41 + d[:, 0].tolist(),
                }
            )
        )
        .pairs["p_value"]
        .item()
    )
    assert drawn.p == pytest.approx(t, abs=0.02)
    assert 0 < exact.p < 1


@pytest.mark.slow
def test_randomized_tukey_is_the_enumeration():
    """All 6^4 permutations of the rows of a small matrix."""
    draw = np.random.default_rng(3)
    matrix = draw.random((4, 3))
    pairs = [(0, 1), (0, 2), (1, 2)]
    spans = []
    for rows in itertools.product(itertools.permutations(range(3)), repeat=4):
        means = np.mean([matrix[i][list(p)] for i, p in enumerate(rows)], axis=0)
        spans.append(means.max() - means.min())
    found = paired_tests.randomized_tukey(matrix, pairs, n_resamples=20_000, seed=0)
    means = matrix.mean(axis=0)
    for (i, j), test in zip(pairs, found, strict=True):
        exact = np.mean(np.array(spans) >= abs(means[j] - means[i]) - 1e-12)
        assert test.p == pytest.approx(exact, abs=0.012)  # 3 errors of the draws


def test_randomization_of_many_queries_says_that_t_is_enough():
    draw = np.random.default_rng(4)
    for queries, told in ((10_000, False), (10_001, True)):
        frame = pl.DataFrame(
            {
                "system": ["a"] * queries + ["b"] * queries,
                "query_id": [*range(queries)] * 2,
                "v": draw.random(2 * queries),
            }
        )
        found = pr.compare(frame, test="randomization", n_resamples=99)
        assert ("the paired t test says the same" in str(found)) == told
        assert "t test says" not in str(pr.compare(frame))


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_the_bootstrap_test_is_the_enumeration(alternative):
    """All 5^5 resamples of five differences, moved to the mean 0."""
    d, draws = [0.3, -0.1, 0.25, 0.05, 0.02], 20_000
    mean = statistics.fmean(d)
    moved = [statistics.fmean(r) - mean for r in itertools.product(d, repeat=5)]
    far = {
        "two-sided": [abs(m) >= abs(mean) - 1e-12 for m in moved],
        "greater": [m >= mean - 1e-12 for m in moved],
        "less": [m <= mean + 1e-12 for m in moved],
    }[alternative]
    found = only(
        two([0.0] * 5, d),
        test="bootstrap",
        alternative=alternative,
        n_resamples=draws,
    )
    exact = statistics.fmean(far)
    error = math.sqrt(exact * (1 - exact) / draws)
    assert found["statistic"] == close(mean)
    assert found["p_value"] == pytest.approx(exact, abs=4 * error + 1 / draws)


def test_the_sign_test_is_a_sum_of_binomials():
    for wins in range(7):
        for losses in range(7):
            n = wins + losses
            mass = [math.comb(n, i) / 2**n for i in range(n + 1)]
            above, below = sum(mass[wins:]), sum(mass[: wins + 1])
            two = min(1.0, 2 * min(above, below)) if n else 1.0
            assert paired_tests.sign(wins, losses).p == pytest.approx(two)
            if n:
                assert paired_tests.sign(wins, losses, "greater").p == close(above)
                assert paired_tests.sign(wins, losses, "less").p == close(below)


CORRECTIONS = ["bonferroni", "sidak", "holm", "hochberg", "bh", "by", "none"]


def step(p: list[float], correction: str) -> list[float]:
    """Adjusted p-values by their definition, one by one."""
    k = len(p)
    found = []
    for value in p:
        rank = sorted(p)
        if correction == "none":
            new = value
        elif correction == "bonferroni":
            new = k * value
        elif correction == "sidak":
            new = 1 - (1 - value) ** k
        elif correction == "holm":
            new = max((k - i) * v for i, v in enumerate(rank) if v <= value)
        elif correction == "hochberg":
            new = min((k - i) * v for i, v in enumerate(rank) if v >= value)
        else:
            scale = sum(1 / i for i in range(1, k + 1)) if correction == "by" else 1
            new = min(scale * k / (i + 1) * v for i, v in enumerate(rank) if v >= value)
        found.append(min(1.0, new))
    return found


@pytest.mark.parametrize("correction", CORRECTIONS)
def test_corrections(correction):
    draw = random.Random(4)
    for n in (1, 2, 7, 30):
        p = [draw.random() ** 3 for _ in range(n)]
        assert adjusted(p, correction).tolist() == pytest.approx(step(p, correction))
        holes = [*p, math.nan]
        found = adjusted(holes, correction)
        assert found[:-1].tolist() == pytest.approx(step(p, correction))
        assert math.isnan(found[-1])


@pytest.mark.parametrize("correction", [c for c in CORRECTIONS if c != "none"])
def test_small_p_values_keep_their_digits_beside_one_of_1(correction):
    """1 - (1 - p)^2 is p (2 - p), and all corrections of the smaller of two are 2 p."""
    scale = 1.5 if correction == "by" else 1.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = adjusted([1e-17, 1.0], correction).tolist()
    assert found == [pytest.approx(2e-17 * scale, rel=1e-12, abs=0.0), 1.0]


@pytest.mark.slow
def test_families():
    two = values().with_columns(ap=pl.col("ndcg@10") ** 2)
    k = {}
    for family in ("measure", "all", "none"):
        found = pr.compare(two, family=family, correction="bonferroni").pairs
        k[family] = (found["p_adjusted"] / found["p_value"]).filter(
            found["p_adjusted"] < 1
        )
    assert k["measure"].to_list() == pytest.approx([6.0] * len(k["measure"]))
    assert k["all"].to_list() == pytest.approx([12.0] * len(k["all"]))
    assert k["none"].to_list() == pytest.approx([1.0] * len(k["none"]))


@pytest.mark.parametrize(
    ("correction", "level"),
    [("bonferroni", 1 - 0.05 / 6), ("holm", 1 - 0.05 / 6), ("sidak", 0.95 ** (1 / 6))],
)
def test_intervals_that_hold_at_once(correction, level):
    found = row(simultaneous=True, correction=correction)
    d = np.subtract(B, A)
    ends = stats.ttest_1samp(d, 0).confidence_interval(level)
    assert (found["lower"], found["upper"]) == (close(ends.low), close(ends.high))
    alone = row(correction=correction)
    for same in ("p_value", "p_adjusted", "detectable", "effect_lower"):
        assert found[same] == alone[same]


@pytest.mark.parametrize("correction", ["bonferroni", "sidak", "holm"])
def test_one_interval_holds_by_itself(correction):
    found = pr.compare(values("AB"), correction=correction, simultaneous=True).pairs
    ends = stats.ttest_1samp(np.subtract(B, A), 0).confidence_interval(0.95)
    assert found.select("lower", "upper").row(0) == (close(ends.low), close(ends.high))


@pytest.mark.parametrize("options", [{}, {"test": "lsd"}, {"cluster": "user"}])
@pytest.mark.parametrize("correction", ["bonferroni", "sidak"])
def test_intervals_at_once_leave_out_0_where_the_difference_is_significant(
    options, correction
):
    by = [["one", "few", "many"][min(q // 2, 2)] for q in range(12)] * 4
    frame = values().with_columns(part=pl.Series(by))
    told = {
        "correction": correction,
        "simultaneous": True,
        "by": "part",
        "min_queries": 2,
    }
    found = pr.compare(frame, measures="ndcg@10", level=0.8, **told, **options).pairs
    tested = found.drop_nulls("p_value")
    assert 0 < tested["significant"].sum() < len(tested)
    without = (tested["lower"] > 0) | (tested["upper"] < 0)
    assert without.to_list() == tested["significant"].to_list()


@SHORT
@pytest.mark.parametrize("family", ["measure", "all"])
@pytest.mark.parametrize("correction", ["bonferroni", "sidak"])
def test_intervals_at_once_are_those_of_their_own_family(family, correction):
    """A measure that is known in one segment only has a small family."""
    part = ["one", "two", "six"] * 4
    frame = pl.concat(
        values(name).with_columns(
            part=pl.Series(part),
            ap=pl.when(pl.Series(part) == "one").then(pl.col("ndcg@10") / 2),
        )
        for name in "ABC"
    )
    options = {"by": "part", "min_queries": 2, "correction": correction}
    options |= {"simultaneous": True, "family": family}
    found = pr.compare(frame, ["ndcg@10", "ap"], **options).pairs
    sizes = {"ndcg@10": 9, "ap": 3} if family == "measure" else {}
    for row in found.drop_nulls("p_value").iter_rows(named=True):
        k = sizes.get(row["measure"], 12)
        level = 0.95 ** (1 / k) if correction == "sidak" else 1 - 0.05 / k
        d = np.subtract(SYSTEMS[row["system"]], SYSTEMS[row["baseline"]])
        d = [v for v, name in zip(d, part, strict=True) if name == row["part"]]
        d = np.divide(d, 2 if row["measure"] == "ap" else 1)
        ends = stats.ttest_1samp(d, 0).confidence_interval(level)
        assert (row["lower"], row["upper"]) == (close(ends.low), close(ends.high))
    # Of resamples, those of one measure alone.
    drawn = {"interval": "percentile", "n_resamples": 199, **options}
    if family == "measure":
        whole = pr.compare(frame, ["ndcg@10", "ap"], **drawn).pairs
        alone = [pr.compare(frame, name, **drawn).pairs for name in sizes]
        assert_frame_equal(whole, pl.concat(alone))


@SHORT
def test_other_intervals_that_hold_at_once():
    both = {"interval": "percentile", "n_resamples": 999}
    alone, wide = row(**both), row(**both, simultaneous=True)
    assert wide["lower"] < alone["lower"] < alone["upper"] < wide["upper"]
    equal = {"test": "tost", "margin": 0.1, "correction": "bonferroni"}
    found = pr.compare(values(), **equal, simultaneous=True).pairs
    inside = (found["lower"] > -0.1) & (found["upper"] < 0.1)
    assert inside.to_list() == found["significant"].to_list()
    of_moments = pr.compare(pr.comparison.moments(values()), simultaneous=True)
    whole = pr.compare(values(), simultaneous=True)
    assert_frame_equal(of_moments.pairs.drop("note"), whole.pairs.drop("note"))
    assert "simultaneous 95 % intervals" in str(whole)
    assert "not adjusted" not in str(whole)


def test_the_studentized_bootstrap_is_a_loop():
    x = np.array([0.1, 0.4, -0.2, 0.3, 0.05])[:, None]
    w = np.array([1.0, 2.0, 0.5, 1.0, 1.5])
    drawn = bootstrap.resampled(x, w, n_resamples=200, seed=7)
    generator = np.random.default_rng(7)
    picks = generator.integers(0, 5, (200, 5))
    for estimate, error, pick in zip(
        drawn.estimate[:, 0], drawn.error[:, 0], picks, strict=True
    ):
        total = sum(w[i] for i in pick)
        mean = sum(x[i, 0] for i in pick) / total
        rest = sum((x[i, 0] - mean * w[i]) ** 2 for i in pick)
        assert estimate == pytest.approx(mean)
        assert error == pytest.approx(math.sqrt(5 / 4 * rest) / total, abs=1e-9)


def test_weighted_clusters_are_a_loop():
    found = row(cluster="user", weight="traffic")
    d = [b - a for a, b in zip(A, B, strict=True)]
    mean = sum(w * x for w, x in zip(TRAFFIC, d, strict=True)) / sum(TRAFFIC)
    rest = [
        sum(TRAFFIC[i] * (d[i] - mean) for i in (2 * g, 2 * g + 1)) ** 2
        for g in range(6)
    ]
    error = math.sqrt(6 / 5 * sum(rest)) / sum(TRAFFIC)
    assert found["difference"] == close(mean)
    assert found["statistic"] == close(mean / error)


def test_crossed_seeds_are_a_loop():
    draw = random.Random(6)
    q, r = 15, 4
    d = [[draw.gauss(0.05, 0.1) for _ in range(r)] for _ in range(q)]
    for i in range(r):
        shift = draw.gauss(0, 0.1)
        for one in d:
            one[i] += shift
    rows = [
        (name, i, j, d[i][j] if name == "b" else 0.0)
        for name in "ab"
        for i in range(q)
        for j in range(r)
    ]
    frame = pl.DataFrame(rows, schema=["system", "query_id", "run", "v"], orient="row")
    mean = statistics.fmean(x for one in d for x in one)
    by_q = [statistics.fmean(one) for one in d]
    by_r = [statistics.fmean(d[i][j] for i in range(q)) for j in range(r)]
    ms_q = r * sum((x - mean) ** 2 for x in by_q) / (q - 1)
    ms_r = q * sum((x - mean) ** 2 for x in by_r) / (r - 1)
    rest = sum(
        (d[i][j] - by_q[i] - by_r[j] + mean) ** 2 for i in range(q) for j in range(r)
    )
    ms_e = rest / ((q - 1) * (r - 1))
    total = ms_q + ms_r - ms_e
    df = total**2 / (
        ms_q**2 / (q - 1) + ms_r**2 / (r - 1) + ms_e**2 / ((q - 1) * (r - 1))
    )
    fixed = pr.compare(frame, repeat="run").pairs.row(0, named=True)
    assert fixed["queries"] == q
    assert fixed["statistic"] == close(mean / (statistics.stdev(by_q) / math.sqrt(q)))
    both = pr.compare(frame, repeat="run", repeats="random").pairs.row(0, named=True)
    assert both["statistic"] == close(mean / math.sqrt(total / (q * r)))
    assert both["df"] == close(df)
    assert both["upper"] - both["lower"] > fixed["upper"] - fixed["lower"]


@SHORT
def test_resampled_seeds_are_the_enumeration():
    """All draws of three queries and of two seeds, each with each."""
    d = np.array([[0.1, 0.5], [0.2, 0.3], [-0.1, 0.4]])
    rows = [
        (name, i, j, d[i, j] if name == "b" else 0.0)
        for name in "ba"
        for i in range(3)
        for j in range(2)
    ]
    frame = pl.DataFrame(rows, schema=["system", "query_id", "run", "v"], orient="row")
    means = [
        d[np.ix_(queries, seeds)].mean()
        for queries in itertools.product(range(3), repeat=3)
        for seeds in itertools.product(range(2), repeat=2)
    ]
    told = {"baseline": "a", "repeat": "run", "interval": "percentile", "level": 0.8}
    found = pr.compare(frame, repeats="random", **told).pairs.row(0, named=True)
    ends = np.quantile(means, [0.1, 0.9])
    assert (found["lower"], found["upper"]) == (
        pytest.approx(ends[0], abs=0.02),
        pytest.approx(ends[1], abs=0.02),
    )
    fixed = pr.compare(frame, **told).pairs.row(0, named=True)
    assert fixed["upper"] - fixed["lower"] < 0.7 * (found["upper"] - found["lower"])
    told["interval"] = "bayesian"
    found = pr.compare(frame, repeats="random", **told).pairs.row(0, named=True)
    draw = np.random.default_rng(1)
    shares = (draw.dirichlet([1.0] * n, 20_000) for n in d.shape)
    drawn = np.einsum("bq,br,qr->b", *shares, d)
    assert found["lower"] == pytest.approx(np.quantile(drawn, 0.1), abs=0.01)
    assert found["upper"] == pytest.approx(np.quantile(drawn, 0.9), abs=0.01)
    assert found["probability"] == pytest.approx((drawn > 0).mean(), abs=0.01)


def test_seeds_that_tell_nothing():
    def runs(change):
        rows = [
            (name, i, j, 0.1 * i + change(i, j) * (name == "b"))
            for name in "ab"
            for i in range(6)
            for j in range(2)
        ]
        names = ["system", "query_id", "run", "v"]
        return pl.DataFrame(rows, schema=names, orient="row")

    def found(change):
        both = pr.compare(runs(change), repeat="run", repeats="random")
        return both.pairs.row(0, named=True)

    nothing = found(lambda i, j: 0.0)
    assert (nothing["p_value"], nothing["lower"], nothing["upper"]) == (1, 0, 0)
    assert nothing["note"] == "no query changed"
    constant = found(lambda i, j: 0.3)
    assert (constant["p_value"], constant["statistic"]) == (0, math.inf)
    assert constant["note"] == "constant difference"
    canceled = found(lambda i, j: 0.1 if i % 2 == j else -0.1)
    assert (canceled["p_value"], canceled["lower"]) == (None, None)
    assert "vary less than the rest" in canceled["note"]
    one = runs(lambda i, j: 0.01 * i).filter(run=0)
    with pytest.raises(pr.DataError, match=r"two repeats or more.*'run' has 1"):
        pr.compare(one, repeat="run", repeats="random")
    # What the test can detect goes by its own error and degrees of freedom.
    noisy = runs(lambda i, j: 0.01 * i + 0.05 * j)
    both = pr.compare(noisy, repeat="run", repeats="random").pairs.row(0, named=True)
    critical = stats.t.isf(0.025, both["df"])
    center = both["detectable"] * both["statistic"] / both["difference"]
    far = np.nan_to_num(stats.nct.cdf(-critical, both["df"], center))
    assert stats.nct.sf(critical, both["df"], center) + far == pytest.approx(0.8)


def test_welch():
    found = row(pairs="independent")
    v = [statistics.variance(x) / 12 for x in (A, B)]
    t = (statistics.fmean(B) - statistics.fmean(A)) / math.sqrt(sum(v))
    assert found["statistic"] == close(t)
    assert found["df"] == close(sum(v) ** 2 / (v[0] ** 2 / 11 + v[1] ** 2 / 11))
    uneven = values().filter((pl.col("system") == "A") | (pl.col("query_id") > "q03"))
    found = pr.compare(uneven, baseline="A", pairs="independent").pairs
    mean = statistics.fmean(B[4:]) - statistics.fmean(A)
    assert found.row(0, named=True)["difference"] == close(mean)


@pytest.mark.parametrize("step", [0.1, -0.1, 0.0])
def test_welch_of_constant_systems(step):
    """Nothing varies: any difference is certain, whatever the degrees of freedom."""
    frame = two([0.3] * 5, [0.3 + step] * 5).filter(
        (pl.col("system") == "a") | (pl.col("query_id") > 1)
    )
    found = only(frame, pairs="independent")
    assert (found["p_value"], found["df"]) == (1.0 if step == 0 else 0.0, 2.0)
    assert (found["lower"], found["upper"]) == pytest.approx((step, step), abs=1e-15)
    one = only(frame.filter(pl.col("query_id") < 3), pairs="independent")
    assert (one["queries"], one["p_value"], one["df"]) == (1, None, None)


# -- what is compared with what


def share(k: int, n: int, **columns: pl.Series) -> pl.DataFrame:
    """Of system a, k of n queries succeed; of b, all."""
    own = pl.DataFrame({"query_id": range(n), "success@5": [1.0] * k + [0.0] * (n - k)})
    best = own.with_columns(pl.col("success@5").clip(lower_bound=1.0))
    both = {"a": own, "b": best}
    return pl.concat(
        f.with_columns(system=pl.lit(s), **columns) for s, f in both.items()
    )


@pytest.mark.parametrize("k", [0, 3, 30])
def test_wilsons_interval_of_successes(k):
    found = pr.compare(share(k, 30)).means.select("lower", "upper")
    for ends, successes in zip(found.rows(), (k, 30), strict=True):
        wanted = stats.binomtest(successes, 30).proportion_ci(method="wilson")
        assert ends == pytest.approx((wanted.low, wanted.high), abs=1e-12)


def test_wilsons_interval_of_fewer_queries():
    """By weight as many as Kish counts; by cluster as many as have the same error."""
    w = [1.0 + i % 3 for i in range(30)]
    rows = share(12, 30, weight=pl.Series(w), user=pl.int_range(30) // 3)
    z = stats.norm.ppf(0.975)

    def wilson(p: float, n: float) -> tuple[float, float]:
        middle, scale = p + z * z / (2 * n), 1 + z * z / n
        spread = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
        return ((middle - spread) / scale, (middle + spread) / scale)

    weighted = pr.compare(rows, measures="success@5", weight="weight").means
    n = sum(w) ** 2 / sum(x * x for x in w)
    for row, p in zip(weighted.to_dicts(), (sum(w[:12]) / sum(w), 1.0), strict=True):
        assert (row["lower"], row["upper"]) == pytest.approx(wilson(p, n), abs=1e-12)
    clusters = pr.compare(rows, measures="success@5", cluster="user").means
    first, last = clusters.to_dicts()
    # four users of ten always succeed: sums of residuals 1.8 and -1.2
    variance = 10 / 9 * (4 * 1.8**2 + 6 * 1.2**2) / 30**2
    wanted = wilson(0.4, 0.24 / variance)
    assert (first["lower"], first["upper"]) == pytest.approx(wanted, abs=1e-12)
    assert (last["lower"], last["upper"]) == pytest.approx(wilson(1.0, 10), abs=1e-12)


def test_other_values_keep_students_interval():
    half = share(12, 30).with_columns(pl.col("success@5") * 0.5)
    row = pr.compare(half).means.row(0, named=True)
    d = [0.5] * 12 + [0.0] * 18
    error = statistics.stdev(d) / math.sqrt(30)
    spread = stats.t.ppf(0.975, 29) * error
    assert (row["lower"], row["upper"]) == pytest.approx((0.2 - spread, 0.2 + spread))


@pytest.mark.parametrize(
    "x",
    [
        [2.0] + [0.5] * 8,  # whose squares sum to 6, as the values do
        [v * 1e-13 for v in (0.1, 0.2, 0.3, 0.4)],
        [1e-13, 0.0, 0.0],
    ],
)
def test_values_like_shares_keep_students_interval(x):
    """In one segment of two, of which the other has shares."""
    n = len(x)
    frame = pl.concat(
        [
            two(x, [0.3] * n).with_columns(part=pl.lit(1)),
            two([1.0, 0.0, 1.0], [1.0] * 3).with_columns(
                pl.col("query_id") + n, part=pl.lit(2)
            ),
        ]
    )
    first, share = pr.compare(frame, "v", by="part").means.filter(system="a").to_dicts()
    reach = stats.t.ppf(0.975, n - 1) * statistics.stdev(x) / math.sqrt(n)
    mean = statistics.fmean(x)
    wanted = pytest.approx((mean - reach, mean + reach), abs=1e-9 * max(x))
    assert (first["lower"], first["upper"]) == wanted
    wilson = stats.binomtest(2, 3).proportion_ci(method="wilson")
    assert (share["lower"], share["upper"]) == pytest.approx((wilson.low, wilson.high))
    alone = pr.compare(frame.filter(part=1), "v").means.row(0, named=True)
    assert (alone["lower"], alone["upper"]) == wanted


@pytest.mark.parametrize("k", [0, 1, 3, 29_999, 30_000])
def test_wilsons_interval_of_sums(k):
    """Of a few successes among many queries, in days that are merged."""
    frame = share(k, 30_000).with_columns(day=pl.col("query_id") % 7)
    days = pr.comparison.moments(frame, by="day")
    wanted = stats.binomtest(k, 30_000).proportion_ci(method="wilson")
    for given in (days, frame):
        row = pr.compare(given, by=[]).means.row(0, named=True)
        ends = (row["lower"], row["upper"])
        assert ends == pytest.approx((wanted.low, wanted.high), rel=1e-9)


def test_baselines():
    def pairs(**options):
        found = pr.compare(values(), **options).pairs
        return ["".join(p) for p in found.select("baseline", "system").rows()]

    assert pairs() == ["AB", "AC", "AD", "BC", "BD", "CD"]
    assert pairs(baseline="C") == ["CA", "CB", "CD"]
    assert pairs(baseline=["B", "A"]) == ["BA", "BC", "BD", "AC", "AD"]
    turned = row("C", "A", baseline="C")
    straight = row("A", "C")
    for name in ("difference", "statistic", "effect"):
        assert turned[name] == close(-straight[name])
    assert turned["lower"] == close(-straight["upper"])
    assert (turned["wins"], turned["losses"]) == (straight["losses"], straight["wins"])


def test_numbers_are_no_names():
    """Systems may be numbers in the values: they are named by their text."""
    frame = values("AB").with_columns(pl.col("system").replace({"A": "1", "B": "2"}))
    frame = frame.with_columns(pl.col("system").cast(pl.Int64))
    found = pr.compare(frame, "ndcg@10", baseline="2").pairs
    assert found.select("baseline", "system").row(0) == ("2", "1")
    for wrong in ({"baseline": 2}, {"query": 2}, {"by": 2}):
        with pytest.raises(TypeError, match="named by text, such as '2', not by 2"):
            pr.compare(frame, "ndcg@10", **wrong)
    with pytest.raises(ValueError, match="no system 2; did you mean '2'"):
        pr.compare(frame, "ndcg@10", baseline=[2])


def test_lower_is_better_for_some():
    found = pr.compare(values(measure="arp"), baseline="A").pairs
    assert found.row(0, named=True)["wins"] == 1
    assert found.row(0, named=True)["losses"] == 8


def test_geometric_means_are_ratios():
    logs = values("AB").select(
        "system", "query_id", gm_ap=(pl.col("ndcg@10") + 0.1).log()
    )
    comparison = pr.compare(logs)
    found = comparison.pairs.row(0, named=True)
    means = [statistics.geometric_mean(x + 0.1 for x in s) for s in (A, B)]
    assert found["baseline_mean"] == close(means[0])
    assert found["mean"] == close(means[1])
    assert found["relative"] == close(means[1] / means[0] - 1)
    assert found["difference"] == close(math.log(means[1] / means[0]))
    assert comparison.means["mean"].to_list() == pytest.approx(means)


def test_segments_are_compared_one_by_one():
    split = values("AB").with_columns(part=pl.col("query_id") < "q05")
    found = pr.compare(split, by="part", min_queries=6).pairs
    late, early = found.rows(named=True)
    assert (late["part"], late["queries"]) == (False, 7)
    assert late["difference"] == close(
        statistics.fmean(B[5:]) - statistics.fmean(A[5:])
    )
    alone = pr.compare(split.filter(~pl.col("part"))).pairs.row(0, named=True)
    assert late["p_value"] == close(alone["p_value"])
    assert early["p_value"] is None
    assert early["lower"] is not None
    assert early["note"] == "fewer than 6 queries: not tested"
    assert late["p_adjusted"] == late["p_value"]  # what is not tested does not count


def segmented(sizes: list[int], shifts: list[float], seed: int) -> pl.DataFrame:
    rng = random.Random(seed)
    rows = []
    for part, (size, shift) in enumerate(zip(sizes, shifts, strict=True)):
        for i in range(size):
            a = rng.random()
            query = {"query_id": f"{part}-{i}", "part": f"s{part}"}
            b = a + shift + rng.gauss(0, 0.05 * (part + 1))
            rows += [{"system": s, **query, "rr": v} for s, v in (("A", a), ("B", b))]
    return pl.DataFrame(rows)


def test_differences_between_two_segments_are_welchs_t():
    frame = segmented([30, 22], [0.02, 0.05], 3)
    found = pr.compare(frame, by="part")
    wide = frame.pivot("system", index=["query_id", "part"], values="rr")
    d = {k[0]: (p["B"] - p["A"]).to_list() for k, p in wide.group_by("part")}
    theirs = stats.ttest_ind(d["s0"], d["s1"], equal_var=False)
    (row,) = found.between_segments.rows(named=True)
    assert (row["system"], row["baseline"], row["segments"]) == ("B", "A", 2)
    assert row["statistic"] == close(theirs.statistic**2)
    assert (row["df"], row["df_error"]) == (1.0, close(theirs.df))
    assert row["p_value"] == close(theirs.pvalue)
    assert found.to_dict()["between_segments"][0]["p_value"] == row["p_value"]


def test_differences_between_segments_are_a_loop():
    frame = segmented([40, 25, 33, 5], [0.0, 0.1, 0.03, 0.5], 4)
    found = pr.compare(frame, by="part")  # the last has too few queries
    wide = frame.pivot("system", index=["query_id", "part"], values="rr")
    d = [
        [b - a for a, b in wide.filter(part=f"s{i}").select("A", "B").rows()]
        for i in range(3)
    ]
    w = [len(x) / statistics.variance(x) for x in d]
    means, k = [statistics.fmean(x) for x in d], len(d)
    center = sum(a * m for a, m in zip(w, means, strict=True)) / sum(w)
    above = sum(a * (m - center) ** 2 for a, m in zip(w, means, strict=True)) / (k - 1)
    rest = sum((1 - a / sum(w)) ** 2 / (len(x) - 1) for a, x in zip(w, d, strict=True))
    (row,) = found.between_segments.rows(named=True)
    assert row["segments"] == 3
    assert row["statistic"] == close(above / (1 + 2 * (k - 2) / (k * k - 1) * rest))
    assert row["df_error"] == close((k * k - 1) / (3 * rest))
    assert row["p_value"] < 1e-4
    told = f"Segments differ in rr, B - A: Welch's F test, p = {row['p_value']:.2g}"
    assert told in str(found)
    moments = pr.compare(pr.comparison.moments(frame, by="part"))
    assert_frame_equal(moments.between_segments, found.between_segments)


def test_segments_that_cannot_be_told_apart():
    frame = segmented([30, 5], [0.0, 0.1], 5)
    (row,) = pr.compare(frame, by="part").between_segments.rows(named=True)
    assert (row["segments"], row["statistic"], row["p_value"]) == (1, None, None)
    same = frame.with_columns(rr=pl.lit(0.5))  # no difference varies
    (row,) = pr.compare(same, by="part", min_queries=2).between_segments.rows(
        named=True
    )
    assert (row["segments"], row["p_value"]) == (0, None)
    assert pr.compare(frame).between_segments is None


@SHORT
@pytest.mark.parametrize(
    "test", ["t", "randomization", "bootstrap", "randomized_tukey"]
)
def test_the_order_of_rows_does_not_matter(test):
    options = {"test": test, "n_resamples": 299, "interval": "percentile"}
    expected = pr.compare(values(), **options)
    shuffled = values().sample(fraction=1, shuffle=True, seed=5)
    found = pr.compare(shuffled, **options, baseline=["A", "B", "C"]).pairs
    assert found.sort("baseline", "system").equals(expected.pairs)


def test_frames_and_files(tmp_path):
    expected = pr.compare(values()).pairs
    assert pr.compare(values().lazy()).pairs.equals(expected)
    values().write_parquet(tmp_path / "v.parquet")
    assert pr.compare(tmp_path / "v.parquet", measures="ndcg@10").pairs.equals(expected)
    values().write_csv(tmp_path / "v.csv")
    assert pr.compare(str(tmp_path / "v.csv"), measures="ndcg@10").pairs.equals(
        expected
    )


def test_runs_and_judgments_in_one_call():
    draw = random.Random(8)
    runs = pl.DataFrame(
        {
            "system": [s for s in "ab" for _ in range(60)],
            "query_id": [i // 6 for i in range(60)] * 2,
            "doc_id": [i % 6 for i in range(60)] * 2,
            "score": [draw.random() for _ in range(120)],
        }
    )
    qrels = runs.filter(system="a").select(
        "query_id", "doc_id", label=pl.col("doc_id") % 3
    )
    per_query = pr.per_query(
        runs, ["ndcg@3", "ap"], qrels=qrels, query=["system", "query_id"]
    )
    expected = pr.compare(per_query).pairs
    one = pr.compare(runs, measures=["ndcg@3", "ap"], qrels=qrels)
    assert one.pairs.equals(expected)
    apart = {s: runs.filter(system=s).drop("system") for s in "ab"}
    measures = ["ndcg@3", "ap"]
    for judged in (qrels, qrels.lazy()):  # evaluated at once, and planned
        assert pr.compare(apart, measures, qrels=judged).pairs.equals(expected)
    for frame in (runs, runs.lazy()):
        found = frame.rank_eval.compare(measures, qrels=qrels, baseline="b")
        assert found.settings["baseline"] == "b"
        turned = one.pairs.select(
            -pl.col("difference"), "p_value", wins="losses", losses="wins"
        )
        assert found.pairs.select(turned.columns).equals(turned)
    with pytest.raises(ValueError, match="name the measures to compute"):
        pr.compare(apart, qrels=qrels)


def test_labeled_frames_are_compared_with_their_columns():
    draw = random.Random(9)
    frame = pl.DataFrame(
        [
            (
                s,
                t,
                q,
                "DE" if q % 2 else "JP",
                q + 1.0,
                draw.randint(0, 2),
                draw.random(),
            )
            for s in "ab"
            for t in (1, 2)
            for q in range(30)
            for _ in range(5)
        ],
        schema=["name", "run", "id", "land", "visits", "label", "score"],
        orient="row",
    )
    key = ["name", "run", "id"]
    values = frame.rank_eval.per_query(
        "rr", query=key, doc=None, keep=["land", "visits"]
    )
    columns = {"system": "name", "query": "id", "by": "land", "weight": "visits"}
    for given in (frame, frame.lazy()):
        found = given.rank_eval.compare("rr", doc=None, repeat="run", **columns)
        expected = pr.compare(values, repeat="run", **columns)
        assert_frame_equal(found.pairs, expected.pairs, rel_tol=1e-12)
        assert found.pairs["land"].to_list() == ["DE", "JP"]


# -- inputs that decide


def two(a: list, b: list, **more) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "system": ["a"] * len(a) + ["b"] * len(b),
            "query_id": [*range(len(a)), *range(len(b))],
            "v": [*a, *b],
            **more,
        },
        schema_overrides={"v": pl.Float64},
    )


def only(frame: pl.DataFrame, **options) -> dict:
    return pr.compare(frame, **options).pairs.row(0, named=True)


def test_unequal_sets_of_queries():
    frame = two([0.1, 0.2, 0.3, 0.4], [0.2, 0.1])
    with pytest.raises(
        pr.DataError, match=r"2 queries have no value of every system \('b' lacks 2\)"
    ) as caught:
        pr.compare(frame)
    assert caught.value.rule == "unpaired_query"
    assert caught.value.count == 2
    assert caught.value.examples == (2, 3)
    comparison = pr.compare(frame, pairs="common")
    assert comparison.pairs["queries"].item() == 2
    assert "2 queries left out that not every system has: 'b' lacks 2" in str(
        comparison
    )


def test_nulls():
    frame = two([0.1, None, 0.3, 0.5], [0.2, None, 0.1, 0.9])
    assert only(frame)["queries"] == 3
    one_side = two([0.1, None, 0.3], [0.2, 0.3, 0.1])
    with pytest.raises(pr.DataError, match="some systems only have a value of 1 query"):
        pr.compare(one_side)
    assert only(one_side, pairs="common")["queries"] == 2
    frame = two([None, None], [None, None])
    assert only(frame)["note"] == "no query"


@pytest.mark.parametrize("wrong", [math.nan, math.inf])
def test_what_is_no_number(wrong):
    with pytest.raises(
        pr.DataError, match=r"'v' is NaN or infinite in 1 row, e\.g\. of"
    ):
        pr.compare(two([0.1, wrong], [0.2, 0.1]))


def test_duplicates():
    frame = pl.concat([two([0.1, 0.2], [0.2, 0.1])] * 2)
    with pytest.raises(pr.DataError, match=r"several rows for a query.*need repeat="):
        pr.compare(frame)


def test_one_system():
    with pytest.raises(ValueError, match="the values hold one system, 'A'"):
        pr.compare(values("A"))
    with pytest.raises(ValueError, match="the values hold no rows"):
        pr.compare(values().clear())
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="needs two systems"):
        pr.compare(values("A").drop("system"))


def test_all_ties_may_differ():
    found = only(two([0.25] * 9, [0.5] * 9), tie=0.25)
    assert (found["ties"], found["note"]) == (9, "constant difference")


@pytest.mark.parametrize("test", [t for t in get_args(TestName) if t != "tost"])
def test_no_query_changed(test):
    found = only(two(A, A), test=test)
    assert (found["p_value"], found["difference"]) == (1.0, 0.0)
    assert (found["lower"], found["upper"]) == (0.0, 0.0)
    assert found["note"] == "no query changed"
    assert not found["significant"]
    for alternative in () if test in POOLED else ("greater", "less"):
        assert only(two(A, A), test=test, alternative=alternative)["p_value"] == 1.0


def test_constant_differences():
    found = only(two(A, [a + 0.1 for a in A]))
    assert (found["p_value"], found["statistic"]) == (0.0, math.inf)
    assert found["upper"] - found["lower"] == pytest.approx(0.0, abs=1e-12)
    assert found["note"] == "constant difference"
    found = only(two([a + 0.1 for a in A], A))
    assert (found["p_value"], found["statistic"]) == (0.0, -math.inf)


@pytest.mark.covering(1)
@pytest.mark.parametrize("interval", ["percentile", "bca", "studentized", "bayesian"])
@pytest.mark.parametrize("options", [{}, {"cluster": "user"}, {"weight": "traffic"}])
@pytest.mark.parametrize("step", [0.0, 0.1])
def test_resamples_of_equal_differences_are_equal(interval, options, step):
    frame = values("A")
    other = frame.with_columns(pl.col("ndcg@10") + step, system=pl.lit("B"))
    found = pr.compare(
        pl.concat([frame, other]),
        measures="ndcg@10",
        interval=interval,
        n_resamples=99,
        **options,
    ).pairs.row(0, named=True)
    assert (found["lower"], found["upper"]) == pytest.approx((step, step), abs=1e-14)


def test_studentized_resamples_without_an_error_do_not_count():
    """Of three queries one resample in nine holds one of them only."""
    d = np.array([0.3, 0.1, 0.7])
    draws = [np.array(c) for c in itertools.product(d, repeat=3) if len({*c}) > 1]
    t = [(x.mean() - d.mean()) / (x.std(ddof=1) / math.sqrt(3)) for x in draws]
    error = d.std(ddof=1) / math.sqrt(3)
    low, high = d.mean() - np.quantile(t, [0.975, 0.025]) * error
    found = pr.compare(
        two([0.1, 0.2, 0.1], [0.4, 0.3, 0.8]), interval="studentized"
    ).pairs.row(0, named=True)
    assert found["lower"] == pytest.approx(low)
    assert found["upper"] == pytest.approx(high)
    pair = pr.compare(two([0.1, 0.2], [0.4, 0.3]), interval="studentized").pairs
    assert pair.select("lower", "upper").row(0) == (
        None,
        None,
    )  # all are 0, or undefined


@pytest.mark.parametrize("test", get_args(TestName))
def test_one_and_two_queries(test):
    margin = {"margin": 0.5} if test == "tost" else {}
    found = only(two([0.1], [0.4]), test=test, **margin)
    assert found["difference"] == close(0.3)
    assert (found["p_value"], found["lower"], found["upper"]) == (None, None, None)
    assert found["note"] == "one query"
    found = only(two([0.1, 0.2], [0.4, 0.7]), test=test, n_resamples=99, **margin)
    assert 0 < found["p_value"] <= 1


def test_a_segment_of_one_query():
    frame = two(A, B).with_columns(part=pl.col("query_id").clip(0, 1))
    first, rest = pr.compare(frame, by="part", min_queries=5).pairs.rows(named=True)
    assert (first["queries"], first["p_value"], first["note"]) == (1, None, "one query")
    assert rest["p_value"] is not None


def test_few_queries_that_differ():
    a = [0.5] * 100
    b = [0.5] * 97 + [0.6, 0.7, 0.8]
    assert "only 3 queries differ" in only(two(a, b))["note"]
    assert "only 3 queries differ" in only(two(a[90:], b[90:]))["note"]
    assert only(two(a[95:], b[95:]))["note"] is None  # which is most of them


def test_skewed_differences():
    """No interval is advised that holds the truth less often than that of t."""
    b = [0.5] * 28 + [0.6] * 11 + [9.0]
    assert only(two([0.5] * 40, b))["note"] is None


@pytest.mark.parametrize("interval", ["percentile", "bca", "studentized", "bayesian"])
@pytest.mark.parametrize(
    ("n", "differ", "short"),
    [
        (49, 49, "most"),
        (50, 50, "none"),
        (50, 10, "none"),
        (50, 9, "all"),
        (9, 9, "most"),
    ],
)
def test_intervals_that_are_short_are_told(interval, n, differ, short):
    """Once, whatever the number of rows; rows of others have no such note."""
    some = [0.1 * (i % 7 + 1) if i < differ else 0.0 for i in range(n)]
    frame = two([0.0] * n, some)
    third = frame.filter(system="b").with_columns(system=pl.lit("c"))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = pr.compare(
            pl.concat([frame, third]), baseline="a", interval=interval, n_resamples=99
        )
    expected = short == "all" or (short == "most" and interval != "studentized")
    assert [w.category for w in told] == [pr.DataWarning] * expected
    for note in found.pairs["note"]:
        assert ("short interval" in (note or "")) == expected
    assert all(
        f"interval='{interval}' is known to be too short" in str(w.message)
        for w in told
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"traffic": pl.lit(0.0)}, "weights must be above 0: 'traffic' is not in 48"),
        ({"traffic": pl.lit(None)}, "weights must be above 0"),
        ({"user": pl.lit(None)}, "'user' is null in 48 rows"),
        ({"query_id": pl.lit(None, pl.String)}, "'query_id' is null in 48 rows"),
        ({"user": pl.int_range(pl.len())}, "'user' differs between systems for 12"),
    ],
)
def test_wrong_columns(change, message):
    with pytest.raises(pr.DataError, match=message):
        pr.compare(values().with_columns(**change), weight="traffic", cluster="user")


def test_counts_have_no_mean():
    with pytest.raises(ValueError, match="'num_ret' is a count that is summed"):
        pr.compare(values(measure="num_ret"))


def test_seeds_that_are_missing():
    frame = pl.concat(
        [two(A, B).with_columns(run=0), two(A, B).with_columns(run=1)[1:]]
    )
    with pytest.raises(pr.DataError, match="every query needs every repeat"):
        pr.compare(frame, repeat="run")


@pytest.mark.parametrize("role", ["by", "weight", "cluster"])
def test_what_differs_between_the_seeds_of_a_query_is_refused(role):
    """Whatever the order of the rows; a null says nothing."""
    known = [1, 3, None, 2] if role == "by" else [1, 3, 2, 2]
    frame = pl.DataFrame(
        {
            "system": ["a"] * 4 + ["b"] * 4,
            "query_id": [1, 1, 2, 2] * 2,
            "run": [1, 2] * 4,
            "rr": [0.1, 0.2, 0.3, 0.4, 0.5, 0.5, 0.6, 0.9],
            "part": known * 2,
        }
    )
    options = {"measures": "rr", "repeat": "run", role: "part"}
    told = "'part' differs between repeats for 1 query, e.g. query 1; give each query"
    for rows in (frame, frame.reverse()):
        with pytest.raises(pr.DataError, match=told) as caught:
            pr.compare(rows, **options)
        assert (caught.value.rule, caught.value.count) == ("varying_segment", 1)
        same = rows.with_columns(pl.col("part").replace({1: 3}))
        found = pr.compare(same, **options)
        assert found.means["queries"].sum() == 4


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"test": "student"}, "test must be one of t, randomization"),
        ({"correction": "hom"}, "did you mean 'holm'"),
        ({"baseline": "E"}, "no system 'E'.*[Tt]here are: A, B, C, D"),
        ({"baseline": ["A", "A"]}, "named twice"),
        ({"measures": []}, "no measure to compare"),
        ({"test": "tukey", "correction": "holm"}, "corrects for all pairs by itself"),
        ({"test": "wilcoxon", "weight": "traffic"}, "weight= cannot be used with"),
        ({"zero_method": "pratt"}, "zero_method= belongs to test='wilcoxon'"),
        ({"test": "tukey", "cluster": "user"}, "cluster= cannot be used with"),
        ({"test": "tukey", "alternative": "less"}, "no one-sided form"),
        ({"test": "tukey", "interval": "bca"}, "intervals of its own"),
        ({"level": 95}, "level must lie between 0 and 1"),
        (
            {"test": "randomization", "n_resamples": 50},
            "n_resamples must be at least 99",
        ),
        ({"test": "tost"}, "margin= belongs to test='tost'"),
        ({"margin": 0.1}, "margin= belongs to test='tost'"),
        ({"test": "tost", "margin": -1.0}, "margin must be above 0"),
        ({"interval": "bca", "alternative": "less"}, "no one-sided form"),
        ({"pairs": "independent", "test": "sign"}, "pairs='independent' is for"),
        ({"repeats": "random"}, "repeats='random' needs repeat="),
        (
            {"repeats": "random", "repeat": "traffic", "interval": "bca"},
            "for fixed repeats",
        ),
        ({"effect": "sakai", "cluster": "user"}, "cannot be used with effect='sakai'"),
        ({"effect": "huge"}, "effect must be one of"),
        ({"tie": math.nan}, "tie must be a number of 0 or more"),
        ({"simultaneous": True, "test": "tukey"}, "hold at once by themselves"),
        ({"simultaneous": True, "family": "none"}, "family='none' corrects for no"),
    ],
)
def test_wrong_arguments(options, message):
    with pytest.raises(ValueError, match=message):
        pr.compare(values(), **options)


def test_values_in_a_frame_of_another_library():
    whole = pr.compare(values(), baseline="A")
    assert pr.compare(values().to_arrow(), baseline="A").pairs.equals(whole.pairs)
    dataset = type("Dataset", (), {"__module__": "ray.data.dataset"})()
    with pytest.raises(TypeError, match=r"values: a Ray Dataset.*write_parquet"):
        pr.compare(dataset)


def test_columns_that_are_not_there():
    with pytest.raises(pl.exceptions.ColumnNotFoundError, match="did you mean 'user'"):
        pr.compare(values(), cluster="usr")
    with pytest.raises(TypeError, match=r"values are a frame .* or the path of"):
        pr.compare([1, 2])
    with pytest.raises(TypeError, match="must be numeric"):
        pr.compare(values(), measures="query_id", query="user")
    with pytest.raises(ValueError, match="no Float column"):
        pr.compare(values().drop("ndcg@10", "traffic"))


def test_one_sided():
    found = row(alternative="greater", correction="none")
    assert found["p_value"] == close(0.01155299999 / 2)
    assert found["upper"] == math.inf
    assert found["lower"] > row()["lower"]
    assert row(alternative="less", correction="none")["p_value"] == close(
        1 - found["p_value"]
    )


@pytest.fixture(scope="module")
def simulation():
    folder = Path(__file__).parents[2] / "benchmarks"
    return runpy.run_path(str(folder / "intervals.py"))


@pytest.mark.slow
@pytest.mark.parametrize("case", ["clusters", "weights"])
def test_intervals_hold_the_true_mean(simulation, case):
    """95 % of them, short of what few and skewed queries cost: 500 repetitions."""
    assert 0.92 - 0.02 <= simulation["designed"](case, 500, seed=5) <= 0.98
    if case == "clusters":  # what the errors of clusters are there for
        assert simulation["designed"]("clusters ignored", 500, seed=5) < 0.85


@pytest.mark.slow
def test_intervals_are_short_where_they_warn(simulation):
    """Of two systems of the example, on 10 and 50 queries; 1,000 and 500 runs."""
    of_shop = simulation["populations"]()["shop, ndcg@10"]
    found = simulation["coverage"](of_shop, 10, 1000, 5, simulation["INTERVALS"])
    for name in ("percentile", "bca", "bayesian"):
        assert found[name] < 0.90
    assert min(found["t"], found["studentized"]) > 0.90
    found = simulation["coverage"](of_shop, 50, 500, 5, ("t", "bca"))
    assert found["t"] > 0.93 - 0.02
    assert found["bca"] > 0.92 - 0.02


def test_rows_of_documents_are_no_values():
    """Their scores would be taken for a measure."""
    log = pl.DataFrame(
        {"system": ["a", "b"], "query_id": 1, "doc_id": "x", "score": [0.2, 0.1]}
    )
    for call in (
        lambda: pr.compare(log),
        lambda: pr.compare(log.lazy().drop("system")),
        lambda: pr.gate(log, baseline=log),
    ):
        with pytest.raises(ValueError, match=r"row per query.*rank_eval\.compare"):
            call()


def ordered_values() -> pl.DataFrame:
    """Of four systems D is the best by ndcg@10, and the first by its name is A."""
    return values("CADB").with_columns(arp=100 * pl.col("ndcg@10"))


def systems_in(text: str) -> str:
    """The systems in the first table of a text."""
    first = text.split("Differences")[0]
    return "".join(line[0] for line in first.splitlines() if line[:1] in [*"ABCD"])


@pytest.mark.covering(1)
@pytest.mark.parametrize("measure", ["ndcg@10", "arp"])
@pytest.mark.parametrize("parts", [False, True])
def test_systems_are_shown_best_first_by_name_or_as_given(measure, parts):
    frame = ordered_values()
    source = pr.comparison.moments(frame) if parts else frame
    assert sorted("ABCD", key=lambda s: -sum(SYSTEMS[s])) == [*"DBAC"]
    best = "DBAC" if measure == "ndcg@10" else "CABD"  # of arp low ranks are best
    for order, names in {"mean": best, "name": "ABCD", "given": "CADB"}.items():
        found = pr.compare(source, measures=[measure], baseline="A", order=order)
        assert systems_in(str(found).replace("Means", "")) == names
        pairs = [f"{s} − A" for s in names.replace("A", "")]
        assert [row[2].text for row in found.tables()[1].rows] == [s[0] for s in pairs]
        drawn = found.plot.forest().to_dict()["vconcat"][0]["layer"]
        sorts = [p["encoding"]["y"]["sort"] for p in drawn if "y" in p["encoding"]]
        assert sorts == [pairs] * len(sorts)
        assert "".join(found.means["system"]) == "CADB"  # frames stay as they are
    default = pr.compare(source, measures=[measure], baseline="A")
    assert systems_in(str(default).replace("Means", "")) == best


def test_pairs_of_all_systems_begin_with_those_of_the_best():
    found = pr.compare(ordered_values(), measures="ndcg@10")
    shown = [tuple(cell.text for cell in row[1:3]) for row in found.tables()[1].rows]
    assert shown == [
        ("D", "B"), ("A", "D"), ("C", "D"), ("A", "B"), ("C", "B"), ("C", "A"),
    ]  # fmt: skip
    drawn = found.plot.deltas().to_dict()["vconcat"]
    titles = [panel["title"]["text"] for panel in drawn]
    assert titles == [f"ndcg@10: {b} − {a}" for a, b in shown]


def test_baselines_keep_their_order():
    found = pr.compare(ordered_values(), measures="arp", baseline=["B", "C"])
    shown = ["".join(c.text for c in row[1:3]) for row in found.tables()[1].rows]
    assert shown == ["BC", "BA", "BD", "CA", "CD"]


def test_the_order_of_several_measures_and_segments_is_that_of_the_first_measure():
    frame = ordered_values().with_columns(half=pl.col("user") > 2)
    means, pairs = pr.compare(frame, by="half", min_queries=2, baseline="A").in_order()
    for _, part in means.group_by("measure", "half"):
        assert "".join(part["system"]) == "DBAC"
    for _, part in pairs.group_by("measure", "half"):
        assert "".join(part["system"]) == "DBC"
    assert (
        pairs["half"].to_list() == [False] * 3 + [True] * 3 + [False] * 3 + [True] * 3
    )
    by_arp = pr.compare(frame, measures=["arp", "ndcg@10"])
    assert systems_in(str(by_arp).replace("Means", "")) == "CABD"


def test_an_order_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="order must be one of mean, name, given"):
        pr.compare(values(), order="best")


ORACLES = {  # of the p-value, by what shares no code with it
    "t": test_paired_t,
    "randomization": test_randomization_is_the_enumeration,
    "wilcoxon": test_differences_of_zero_in_wilcoxons_test,
    "sign": test_the_sign_test_is_a_sum_of_binomials,
    "bootstrap": test_the_bootstrap_test_is_the_enumeration,
    "tukey": test_other_tests,
    "randomized_tukey": test_randomized_tukey_is_the_enumeration,
    "lsd": test_other_tests,
    "tost": test_equivalence,
}


def test_every_test_has_an_oracle():
    apart = ORACLES.keys() ^ {*get_args(TestName)}
    assert not apart, "a test in ORACLES that shares no code with each"


def test_every_test_has_values_of_its_own():
    """None is taken for another where a branch is missing."""
    found = {
        test: pr.compare(
            values(), test=test, margin=0.05 if test == "tost" else None
        ).pairs["p_value"]
        for test in get_args(TestName)
    }
    for one, other in itertools.combinations(found, 2):
        assert not found[one].equals(found[other]), (one, other)


def test_a_test_that_draws_is_among_those_that_resample():
    """These have a least number of resamples; more than 40 differences are drawn."""
    x = np.random.default_rng(2).normal(0.1, 1, (2, 50))
    frame = pl.DataFrame(
        {"system": ["A"] * 50 + ["B"] * 50, "query_id": [*range(50)] * 2}
    ).with_columns(v=x.ravel())
    for test in get_args(TestName):
        options = {"test": test, "margin": 0.05 if test == "tost" else None}
        one, other = (
            pr.compare(frame, seed=seed, n_resamples=99, **options).pairs["p_value"]
            for seed in (0, 1)
        )
        assert one.equals(other) == (test not in RESAMPLING), f"{test} in RESAMPLING?"


@pytest.mark.parametrize("test", get_args(TestName))
def test_a_test_uses_weights_or_refuses_them(test):
    """None takes them and counts every query once."""
    frame = values("AB").with_columns(w=1.0 + pl.col("query_id").rank("dense"))
    options = {"test": test, "margin": 0.05 if test == "tost" else None}
    plain = pr.compare(frame, **options).pairs["p_value"].to_list()
    if test in ("t", "tost", "randomization", "bootstrap"):
        weighted = pr.compare(frame, weight="w", **options).pairs
        assert weighted["p_value"].to_list() != plain
        return
    with pytest.raises(ValueError, match="weight"):
        pr.compare(frame, weight="w", **options)
