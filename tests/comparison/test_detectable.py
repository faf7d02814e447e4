"""Detectable differences: simulated tests find them with the power that is promised.

The tests of the simulations are scipy's, or plain numpy.
"""

from __future__ import annotations

import itertools
import math
from typing import get_args

import numpy as np
import polars as pl
import pytest
from scipy import stats
from scipy.optimize import brentq
from slow import slow

import polars_rank as pr
from polars_rank.comparison.input.procedures import TestName

ALPHA = 0.05
DRAWS = 999


def frame_of(differences: np.ndarray) -> pl.DataFrame:
    """A baseline of zeros, and a system per column of differences."""
    n, k = differences.shape
    names = ["s00", *(f"s{i + 1:02}" for i in range(k))]
    values = np.column_stack([np.zeros(n), differences])
    return pl.DataFrame(
        {
            "system": np.repeat(names, n),
            "query_id": np.tile(np.arange(n), k + 1),
            "v": values.T.ravel(),
        }
    )


def unit_differences(n: int, k: int, seed: int = 1) -> np.ndarray:
    """Columns with the mean 0 and the standard deviation 1."""
    x = np.random.default_rng(seed).normal(size=(n, k))
    x -= x.mean(axis=0)
    return x / x.std(axis=0, ddof=1)


def detectable(n: int, k: int, **options) -> float:
    pairs = pr.compare(
        frame_of(unit_differences(n, k)), baseline="s00", **options
    ).pairs
    found = pairs["detectable"]
    assert len(found) == k
    assert found.to_list() == pytest.approx([found[0]] * k)
    return float(found[0])


def level_of(correction: str, k: int) -> float:
    """The level that the smallest p-value of k must be below."""
    return {
        "none": ALPHA,
        "bonferroni": ALPHA / k,
        "sidak": 1 - (1 - ALPHA) ** (1 / k),
        "by": ALPHA / k / sum(1 / i for i in range(1, k + 1)),
    }.get(correction, ALPHA / k)


# -- the tests, of many samples at once


def t_test(x, alternative, _):
    return stats.ttest_1samp(x, 0, axis=1, alternative=alternative).pvalue


def wilcoxon(x, alternative, _):
    method = "exact" if x.shape[1] <= 40 else "asymptotic"
    return stats.wilcoxon(x, axis=1, alternative=alternative, method=method).pvalue


def sign(x, alternative, _):
    n, wins = x.shape[1], (x > 0).sum(axis=1)
    above, below = stats.binom.sf(wins - 1, n, 0.5), stats.binom.cdf(wins, n, 0.5)
    return above if alternative == "greater" else 2 * np.minimum(above, below)


def beyond(sums, total, alternative):
    if alternative == "greater":
        return (sums >= total - 1e-9).sum(axis=0)
    return (np.abs(sums) >= np.abs(total) - 1e-9).sum(axis=0)


def randomization(x, alternative, draw):
    n = x.shape[1]
    if n <= 12:
        signs = np.array(list(itertools.product((1.0, -1.0), repeat=n)))
        return beyond(signs @ x.T, x.sum(axis=1), alternative) / len(signs)
    signs = draw.integers(0, 2, (DRAWS, n)) * 2.0 - 1
    return (1 + beyond(signs @ x.T, x.sum(axis=1), alternative)) / (1 + DRAWS)


def bootstrap(x, alternative, draw):
    n = x.shape[1]
    weights = draw.multinomial(n, np.full(n, 1 / n), DRAWS) / n
    mean = x.mean(axis=1)
    return (1 + beyond(weights @ x.T - mean, mean, alternative)) / (1 + DRAWS)


SIMULATED = {
    "t": t_test,
    "wilcoxon": wilcoxon,
    "sign": sign,
    "randomization": randomization,
    "bootstrap": bootstrap,
}


@pytest.mark.covering(1, rest=2)
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
@pytest.mark.parametrize("n", [12, 50, 200])
@pytest.mark.parametrize(
    ("correction", "k"),
    [("none", 1), ("bonferroni", 3), ("sidak", 3), ("holm", 3), ("by", 2)],
)
@pytest.mark.parametrize("test", [*SIMULATED])
def test_a_detectable_difference_is_found_with_the_power(
    test, correction, k, n, alternative
):
    options = {"test": test, "correction": correction, "alternative": alternative}
    difference = detectable(n, k, **options, n_resamples=DRAWS)
    draw = np.random.default_rng(7)
    runs, hits = 10_000, 0
    for _ in range(10):
        x = draw.normal(difference, 1, (runs // 10, n))
        p = SIMULATED[test](x, alternative, draw)
        hits += int((p < level_of(correction, k)).sum())
    # Three errors of the simulation and, for what is an expansion in 1 / n, or drawn
    # with an error of its own, one and a half points of power.
    near = 0.012 + (0.015 if test in ("wilcoxon", "randomization", "bootstrap") else 0)
    assert hits / runs == pytest.approx(0.8, abs=near)


POOLED = ["tukey", "lsd"]  # looked at with all systems


@pytest.mark.parametrize("test", [POOLED[0], *map(slow, POOLED[1:])])
@pytest.mark.parametrize(("systems", "n"), [(4, 15), slow(10, 50)])
def test_a_difference_of_pooled_variance_is_found_with_the_power(test, systems, n):
    draw = np.random.default_rng(3)
    found = pr.compare(
        frame_of(draw.normal(size=(n, systems - 1))), test=test, correction=None
    )
    pairs = systems * (systems - 1) // 2
    difference = found.pairs["detectable"].to_list()
    assert difference == pytest.approx([difference[0]] * pairs)
    variance, df = found.anova.select("variance", "df_error").row(0)
    runs = 10_000
    x = draw.normal(0, math.sqrt(variance), (runs, n, systems))
    x[:, :, 0] += difference[0]
    means = x.mean(axis=1)
    rest = x - means[:, None, :] - x.mean(axis=2, keepdims=True)
    rest += means.mean(axis=1)[:, None, None]
    pooled = (rest**2).sum(axis=(1, 2)) / df
    statistic = np.abs(means[:, 0] - means[:, 1]) / np.sqrt(pooled / n)
    if test == "tukey":
        critical = stats.studentized_range.ppf(1 - ALPHA, systems, df)
    else:
        critical = math.sqrt(2) * stats.t.isf(ALPHA / pairs / 2, df)
    assert (statistic > critical).mean() == pytest.approx(0.8, abs=0.012)


def test_a_difference_of_independent_samples_is_found_with_the_power():
    draw = np.random.default_rng(5)
    a, b = draw.normal(size=30), draw.normal(0, 3, 20)
    frame = pl.DataFrame(
        {
            "system": ["a"] * 30 + ["b"] * 20,
            "query_id": [*range(30), *range(20)],
            "v": np.concatenate([a, b]),
        }
    )
    row = pr.compare(frame, pairs="independent").pairs.row(0, named=True)
    x = draw.normal(row["detectable"], b.std(ddof=1), (10_000, 20))
    y = draw.normal(0, a.std(ddof=1), (10_000, 30))
    p = stats.ttest_ind(x, y, axis=1, equal_var=False).pvalue
    assert (p < ALPHA).mean() == pytest.approx(0.8, abs=0.012)


# -- of t, by its noncentral distribution


def found_by(critical, error: float, df: float, *, sides: int = 2) -> float:
    """The difference found with a power of 80 % where t is beyond critical(center)."""

    def missing(center: float) -> float:
        at = critical(center)
        below = np.nan_to_num(stats.nct.cdf(-at, df, center))
        return stats.nct.sf(at, df, center) - 0.8 + (sides - 1) * below

    return error * brentq(missing, 0, 20, xtol=1e-12)


def of_t(error: float, df: float, level: float, *, sides: int = 2) -> float:
    return found_by(lambda _: stats.t.isf(level / sides, df), error, df, sides=sides)


def test_randomization_knows_the_kurtosis_of_signs_that_are_turned():
    """Cornish and Fisher's quantile of the sum, by the moments that scipy gives."""
    n, df = 12, 11
    tail = 102 / 2**n  # the last p-value below 0.05 is two tails of 102 of 4096 signs
    t, z = stats.t.isf(tail, df), stats.norm.isf(tail)

    def excess(about_zero) -> float:
        """Of x with random signs, by its root of the sum of squares."""
        return -2 * about_zero.moment(4) / about_zero.moment(2) ** 2 / n

    def critical(center: float) -> float:
        at = t * math.sqrt(n / (df + t**2))  # exact without an effect
        change = excess(stats.norm(center / math.sqrt(n))) - excess(stats.norm(0))
        at += change / 24 * (z**3 - 3 * z)
        return at * math.sqrt(df / (n - at**2))

    expected = found_by(critical, 1 / math.sqrt(n), df)
    assert detectable(n, 1, test="randomization") == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("correction", ["none", "bonferroni", "sidak", "by", "bh"])
def test_the_level_is_that_of_the_correction(correction):
    n, k = 25, 4
    expected = of_t(1 / math.sqrt(n), n - 1, level_of(correction, k))
    assert detectable(n, k, correction=correction) == pytest.approx(expected, rel=1e-8)
    alone = of_t(1 / math.sqrt(n), n - 1, ALPHA)
    assert detectable(n, k, family="none") == pytest.approx(alone, rel=1e-8)


def test_two_measures_are_one_family_or_two():
    frame = frame_of(unit_differences(25, 2)).with_columns(w=-pl.col("v"))
    for family, k in (("measure", 2), ("all", 4), ("none", 1)):
        found = pr.compare(frame, baseline="s00", family=family).pairs["detectable"]
        expected = of_t(0.2, 24, ALPHA / k)
        assert found.to_list() == pytest.approx([expected] * 4, rel=1e-8)


def test_clusters_and_a_one_sided_test():
    frame = frame_of(unit_differences(24, 1)).with_columns(user=pl.col("query_id") // 4)
    row = pr.compare(frame, cluster="user", alternative="less").pairs.row(0, named=True)
    d = unit_differences(24, 1).reshape(6, 4).mean(axis=1)
    expected = of_t(d.std(ddof=1) / math.sqrt(6), 5, ALPHA, sides=1)
    assert row["detectable"] == pytest.approx(expected, rel=1e-8)


# -- what is left out


LEFT_OUT = [
    ({"test": "tost", "margin": 0.1}, "looks for no difference"),
    ({"test": "randomized_tukey", "n_resamples": 99}, "the means of all systems"),
    ({"test": "wilcoxon", "zero_method": "pratt"}, "zero_method='pratt'"),
    ({"test": "sign", "tie": 0.1}, "are ties, by tie=0.1"),
]


def test_every_test_is_simulated_or_left_out_with_a_reason():
    """A new one would have the power of another."""
    told = {options["test"] for options, _ in LEFT_OUT}
    apart = ({*SIMULATED, *POOLED} | told) ^ {*get_args(TestName)}
    assert not apart, "left_out says why, or SIMULATED has it"


@pytest.mark.parametrize(("options", "why"), LEFT_OUT)
def test_what_is_not_known_is_left_out_with_the_reason(options, why):
    found = pr.compare(frame_of(unit_differences(20, 2)), **options)
    assert found.pairs["detectable"].null_count() == 3
    assert "80 % power" not in str(found)
    assert f"{why}" in str(found).split("Detectable is left out: ")[1]


@pytest.mark.parametrize("test", ["sign", "wilcoxon", "randomization", "bootstrap"])
def test_too_few_queries_or_draws_tell_no_detectable_difference(test):
    n, draws = (30, 99) if test == "bootstrap" else (5, 9999)
    found = pr.compare(
        frame_of(unit_differences(n, 1)), test=test, n_resamples=draws, level=0.95
    ).pairs
    assert found["detectable"].item() is None
    assert "too few queries or resamples" in found["note"].item()


def test_a_segment_that_is_not_tested_has_no_detectable_difference():
    frame = frame_of(unit_differences(30, 1)).with_columns(
        part=pl.when(pl.col("query_id") < 5)
        .then(pl.lit("few"))
        .otherwise(pl.lit("all"))
    )
    found = pr.compare(frame, by="part").pairs
    assert dict(found.select("part", pl.col("detectable").is_null()).rows()) == {
        "few": True,
        "all": False,
    }


def test_queries_that_do_not_differ_spread_a_detectable_difference():
    """Of 40 queries 20 change: the sign test finds them as it does among 20."""
    d = np.concatenate([unit_differences(20, 1), np.zeros((20, 1))])
    for test in ("sign", "wilcoxon"):
        among = detectable(20, 1, test=test)
        row = pr.compare(frame_of(d), test=test).pairs.row(0, named=True)
        assert row["detectable"] == pytest.approx(among / 2, rel=1e-9)


def test_the_text_says_what_the_power_is_of():
    frame = frame_of(unit_differences(20, 3))
    for correction, text in {
        "none": "80 % power.",
        "bonferroni": "80 % power, corrected.",
        "holm": "80 % power, as if Bonferroni corrected; Holm finds no less.",
        "by": "80 % power, even where nothing else differs.",
    }.items():
        assert text in str(pr.compare(frame, correction=correction))
