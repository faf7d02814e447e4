"""Comparison of systems: the libraries for it; ranx has a file of its own.

Random differences of several kinds: continuous, with ties, skewed.
"""

from __future__ import annotations

import gc
import math
import warnings

import numpy as np
import polars as pl
import pytest

import polars_rank as pr
from polars_rank.comparison.tests import bootstrap, paired_tests
from polars_rank.comparison.tests.corrections import adjusted
from polars_rank.comparison.tests.power_of_t import power_of_t

stats = pytest.importorskip("scipy.stats")
pytestmark = pytest.mark.parity
NEAR = 1e-10
SEEDS = range(12)


def matrix(seed: int, systems: int = 4) -> np.ndarray:
    """Queries in rows; every third seed has ties, every third is skewed."""
    draw = np.random.default_rng(seed)
    queries = int(draw.integers(5, 60))
    hard = draw.random((queries, 1))
    noise = draw.gamma(1.0, 0.2, (queries, systems)) if seed % 3 == 2 else None
    values = hard + (
        draw.normal(0, 0.2, (queries, systems)) if noise is None else noise
    )
    return np.round(values, 1 if seed % 3 == 1 else 6)


def frame(x: np.ndarray, **columns: np.ndarray) -> pl.DataFrame:
    names = "abcdefgh"[: x.shape[1]]
    return pl.concat(
        pl.DataFrame(
            {
                "system": [name] * len(x),
                "query_id": np.arange(len(x)),
                "v": x[:, i],
                **columns,
            }
        )
        for i, name in enumerate(names)
    )


def only(x: np.ndarray, columns: dict | None = None, **options) -> dict:
    found = pr.compare(frame(x[:, :2], **(columns or {})), measures="v", **options)
    return found.pairs.row(0, named=True)


def close(value: float):
    return pytest.approx(value, rel=NEAR, abs=NEAR)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_scipy_paired_t(seed, alternative):
    x = matrix(seed)
    theirs = stats.ttest_rel(x[:, 1], x[:, 0], alternative=alternative)
    ours = only(x, alternative=alternative)
    ends = theirs.confidence_interval(0.95)
    assert ours["statistic"] == close(theirs.statistic)
    assert ours["p_value"] == close(theirs.pvalue)
    assert (ours["lower"], ours["upper"]) == (close(ends.low), close(ends.high))


@pytest.mark.parametrize("seed", SEEDS)
def test_scipy_sign_wilcoxon_welch(seed):
    x = matrix(seed)
    d = np.round(x[:, 1] - x[:, 0], 12)
    ours = only(x, test="sign")
    theirs = stats.binomtest(int((d > 0).sum()), int((d != 0).sum()), 0.5)
    assert ours["p_value"] == close(theirs.pvalue)
    ours = only(x, test="wilcoxon")
    n = int((d != 0).sum())
    if n > 40:
        theirs = stats.wilcoxon(d, method="asymptotic")
    elif n <= 13:
        theirs = stats.wilcoxon(d, method="auto")
    elif len({*np.abs(d)}) == len(d):
        theirs = stats.wilcoxon(d, method="exact")
    else:  # scipy has no exact test of that many with ties: the next test has
        theirs = None
    if theirs is not None:
        assert ours["p_value"] == close(theirs.pvalue)
    ours = only(x, pairs="independent")
    theirs = stats.ttest_ind(x[:, 1], x[:, 0], equal_var=False)
    assert (ours["statistic"], ours["p_value"]) == (
        close(theirs.statistic),
        close(theirs.pvalue),
    )


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_scipy_exact_randomization(seed, alternative):
    x = matrix(seed)[:12]
    d = paired_tests.rounded(x[:, 1] - x[:, 0], 1.0)

    def mean(values, axis):
        return np.mean(values, axis=axis)

    theirs = stats.permutation_test(
        (d,), mean, permutation_type="samples", vectorized=True, n_resamples=np.inf,
        alternative=alternative,
    )  # fmt: skip
    if alternative == "two-sided":  # scipy doubles the smaller tail: of |sum| the same
        assert only(x, test="randomization")["p_value"] == close(theirs.pvalue)
    else:
        ours = only(x, test="randomization", alternative=alternative)
        assert ours["p_value"] == close(theirs.pvalue)


@pytest.mark.parametrize("seed", SEEDS)
def test_scipy_interval_of_d_z(seed):
    ours = only(matrix(seed))
    n = ours["queries"]
    t = ours["effect"] * math.sqrt(n)
    for end, p in (("effect_lower", 0.975), ("effect_upper", 0.025)):
        below = stats.nct.cdf(t, n - 1, ours[end] * math.sqrt(n))
        assert below == pytest.approx(p, abs=NEAR)


@pytest.mark.filterwarnings("ignore:interval='.*' is known to be too short")
@pytest.mark.parametrize("seed", SEEDS)
def test_scipy_bootstrap(seed):
    """Other draws: up to their error."""
    x = matrix(seed)
    d = x[:, 1] - x[:, 0]
    for ours, theirs in (("percentile", "percentile"), ("bca", "BCa")):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = stats.bootstrap(
                (d,), np.mean, n_resamples=9999, method=theirs, rng=1
            ).confidence_interval
        row = only(x, interval=ours)
        error = 0.12 * d.std(ddof=1) / math.sqrt(len(d))
        assert row["lower"] == pytest.approx(found.low, abs=error)
        assert row["upper"] == pytest.approx(found.high, abs=error)


@pytest.mark.parametrize("seed", SEEDS)
def test_scipy_bca_of_the_same_resamples(seed):
    x = matrix(seed)
    d = x[:, 1] - x[:, 0]
    one, level = np.ones(len(d)), 0.9
    drawn = bootstrap.resampled(d[:, None], one, n_resamples=999, seed=seed)
    size = np.array([np.abs(x).max()])
    ours = bootstrap.bounds(d[:, None], one, size, drawn, "bca", level)
    means = drawn.estimate[:, 0]  # scipy tells ties only if they are to the last bit
    means = np.where(np.abs(means - d.mean()) < 1e-12, d.mean(), means)
    made = stats._resampling.BootstrapResult(None, means, None)
    theirs = stats.bootstrap(
        (d,), np.mean, n_resamples=0, bootstrap_result=made, method="BCa",
        confidence_level=level,
    ).confidence_interval  # fmt: skip
    assert ours.low[0] == close(theirs.low)
    assert ours.high[0] == close(theirs.high)


@pytest.mark.parametrize("seed", SEEDS)
def test_scipy_tukey_of_residuals(seed):
    """The studentized range, and scipy's Friedman test agrees on what is large."""
    x = matrix(seed)
    queries, systems = x.shape
    rest = x - x.mean(axis=1, keepdims=True) - x.mean(axis=0) + x.mean()
    df = (queries - 1) * (systems - 1)
    variance = (rest**2).sum() / df
    for row in pr.compare(frame(x), test="tukey").pairs.iter_rows(named=True):
        q = abs(row["difference"]) / math.sqrt(variance / queries)
        assert row["statistic"] == close(q)
        expected = stats.studentized_range.sf(q, systems, df)
        assert row["p_value"] == pytest.approx(expected, abs=1e-8)  # its own precision


def test_statsmodels_corrections(monkeypatch):
    multitest = pytest.importorskip("statsmodels.stats.multitest")
    monkeypatch.setattr(gc, "collect", int)  # with each of Holm's, a minute in all
    names = {
        "bonferroni": "bonferroni", "sidak": "sidak", "holm": "holm",
        "hochberg": "simes-hochberg", "bh": "fdr_bh", "by": "fdr_by",
    }  # fmt: skip
    draw = np.random.default_rng(1)
    for _ in range(200):
        p = draw.random(int(draw.integers(1, 40))) ** 3
        p[0] = p[-1]
        for ours, theirs in names.items():
            expected = multitest.multipletests(p, method=theirs)[1]
            assert adjusted(p, ours) == pytest.approx(expected, rel=1e-12, abs=1e-14)


@pytest.mark.parametrize("seed", SEEDS)
def test_statsmodels_weights_clusters_equivalence(seed):
    api = pytest.importorskip("statsmodels.api")
    weightstats = pytest.importorskip("statsmodels.stats.weightstats")
    x = matrix(seed)
    d, n = x[:, 1] - x[:, 0], len(x)
    draw = np.random.default_rng(seed)
    weight, user = draw.random(n) + 0.1, np.arange(n) // 3
    one = np.ones(n)
    theirs = api.WLS(d, one, weights=weight).fit(cov_type="HC1")
    ours = only(x, {"w": weight}, weight="w")
    assert ours["difference"] == close(theirs.params[0])
    assert ours["difference"] / ours["statistic"] == close(theirs.bse[0])
    options = {"cov_type": "cluster", "cov_kwds": {"groups": user}, "use_t": True}
    theirs = api.OLS(d, one).fit(**options)
    ours = only(x, {"u": user}, cluster="u")
    assert (ours["statistic"], ours["p_value"]) == (
        close(theirs.tvalues[0]),
        close(theirs.pvalues[0]),
    )
    p, low, high = weightstats.ttost_paired(x[:, 1], x[:, 0], -0.1, 0.1)
    ours = only(x, test="tost", margin=0.1)
    assert ours["p_value"] == close(p)
    assert (ours["p_value_lower"], ours["p_value_upper"]) == (
        close(low[1]),
        close(high[1]),
    )


def test_statsmodels_power():
    power = pytest.importorskip("statsmodels.stats.power").TTestPower()
    for effect in (0.05, 0.2, 0.5, 1.5):
        for n in (3, 12, 60, 500):
            expected = power.power(effect, n, 0.05)
            if math.isnan(expected):  # far out statsmodels gives up
                assert power_of_t(effect, n) == 1.0
                continue
            assert power_of_t(effect, n) == pytest.approx(expected, rel=1e-9)
        needed = power.solve_power(effect, power=0.8, alpha=0.05)
        found = pr.comparison.power(sd=1.0, difference=effect)["queries"].item()
        assert found == max(2, math.ceil(float(needed)))
    for n in (12, 60, 500):
        expected = power.solve_power(nobs=n, power=0.8, alpha=0.05)
        found = pr.comparison.power(sd=1.0, n_queries=n)["difference"].item()
        assert found == pytest.approx(float(expected), rel=1e-7)  # its root's precision


@pytest.mark.parametrize("systems", [2, 3, 10])
@pytest.mark.parametrize("difference", [0.1, 0.3])
def test_statsmodels_power_of_independent_systems(systems, difference):
    power = pytest.importorskip("statsmodels.stats.power").FTestAnovaPower()
    sd = math.sqrt(0.05)
    f = difference / sd / math.sqrt(2 * systems)  # Cohen's, of means halfway between
    needed = power.solve_power(f, power=0.8, alpha=0.05, k_groups=systems)
    found = pr.comparison.power(
        sd=sd, difference=difference, n_systems=systems, paired=False
    )
    assert found["queries"].item() == math.ceil(float(needed) / systems)


@pytest.mark.parametrize("seed", SEEDS)
def test_statsmodels_analysis_of_variance(seed):
    anova = pytest.importorskip("statsmodels.stats.anova")
    pd = pytest.importorskip("pandas")
    x = matrix(seed)
    rows = [(s, q, x[q, s]) for q in range(x.shape[0]) for s in range(x.shape[1])]
    long = pd.DataFrame(rows, columns=["s", "q", "v"])
    theirs = anova.AnovaRM(long, "v", "q", within=["s"]).fit().anova_table
    (ours,) = pr.compare(frame(x)).anova.rows(named=True)
    assert ours["f"] == close(theirs["F Value"].iloc[0])
    assert ours["p_value"] == close(theirs["Pr > F"].iloc[0])


@pytest.mark.parametrize("seed", SEEDS)
def test_statsmodels_differences_between_segments(seed):
    oneway = pytest.importorskip("statsmodels.stats.oneway")
    x = matrix(seed)
    part = np.arange(len(x)) % 3
    d = x[:, 1] - x[:, 0]
    theirs = oneway.anova_oneway([d[part == i] for i in range(3)], use_var="unequal")
    found = pr.compare(frame(x, part=part), by="part", min_queries=2)
    ours = found.between_segments.row(0, named=True)
    assert ours["statistic"] == close(theirs.statistic)
    assert (ours["df"], ours["df_error"]) == tuple(map(close, theirs.df))
    assert ours["p_value"] == close(theirs.pvalue)


@pytest.mark.parametrize("seed", SEEDS)
def test_pingouin(seed):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pingouin = pytest.importorskip("pingouin")
        x = matrix(seed)
        b, a = x[:, 1], x[:, 0]
        effect = pingouin.compute_effsize(b, a, paired=True, eftype="cohen")
        wilcoxon = pingouin.wilcoxon(b, a)
    assert only(x, effect="d_av")["effect"] == close(effect)
    name = next(c for c in wilcoxon.columns if "RBC" in c)
    if seed % 3 != 1:  # it does not round: equal differences differ in the last bits
        assert only(x, effect="rank_biserial")["effect"] == close(
            wilcoxon[name].iloc[0]
        )
    d = np.round(b - a, 12)
    below = sum((np.sign(b[:, None] - a[None, :])).ravel())
    assert only(x, effect="cliff")["effect"] == close(below / len(a) ** 2)
    assert only(x, effect="d_z")["effect"] == close(d.mean() / d.std(ddof=1))


def test_arch_studentized_bootstrap():
    """Other draws: up to their error."""
    arch = pytest.importorskip("arch.bootstrap")
    for seed in (0, 3, 6):
        x = matrix(seed)
        d = x[:, 1] - x[:, 0]
        theirs = arch.IIDBootstrap(d, seed=1).conf_int(
            np.mean,
            9999,
            method="studentized",
            std_err_func=lambda m, v: np.array([v.std(ddof=1) / math.sqrt(len(v))]),
        )
        ours = only(x, interval="studentized")
        error = 0.2 * d.std(ddof=1) / math.sqrt(len(d))
        assert ours["lower"] == pytest.approx(theirs[0, 0], abs=error)
        assert ours["upper"] == pytest.approx(theirs[1, 0], abs=error)


@pytest.mark.parametrize("seed", SEEDS)
def test_scipy_friedman(seed):
    x = matrix(seed)
    theirs = stats.friedmanchisquare(*np.round(x, 12).T)
    (ours,) = pr.compare(frame(x)).friedman().rows(named=True)
    assert ours["statistic"] == close(theirs.statistic)
    assert ours["p_value"] == close(theirs.pvalue)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.filterwarnings("ignore")  # of its dependencies
def test_autorank(seed):
    """Tests of two and of four systems; mean ranks need no tie: it has other ones."""
    autorank = pytest.importorskip("autorank").autorank
    pd = pytest.importorskip("pandas")
    x = matrix(seed)

    def theirs(systems: int, mode: str):
        table = pd.DataFrame(x[:, :systems], columns=list("abcd")[:systems])
        return autorank(table, force_mode=mode, verbose=False)

    found = theirs(2, "parametric")
    assert found.omnibus == "ttest"
    assert only(x)["p_value"] == close(found.pvalue)
    (row,) = pr.compare(frame(x)).anova.rows(named=True)
    found = theirs(4, "parametric")
    assert found.omnibus == "anova"
    assert row["p_value"] == close(found.pvalue)
    found = theirs(4, "nonparametric")
    assert found.omnibus == "friedman"
    (row,) = pr.compare(frame(x)).friedman().rows(named=True)
    assert row["p_value"] == close(found.pvalue)


@pytest.mark.parametrize("seed", SEEDS)
def test_baycomp(seed):
    """Student's posterior of the mean, whose error it takes from cross-validation."""
    baycomp = pytest.importorskip("baycomp")
    x = matrix(seed)
    n = len(x)
    _, above = baycomp.CorrelatedTTest.probs(x[:, 0], x[:, 1])
    row = only(x, alternative="greater")
    wider = math.sqrt(1 + n / (n - 1))  # Nadeau and Bengio's correction, of n folds
    assert above == close(1 - stats.t.sf(row["statistic"] / wider, n - 1))


@pytest.mark.parametrize("seed", SEEDS)
def test_baycomp_signs(seed):
    """The posterior of the sign test comes near the p-value where nothing is tied."""
    baycomp = pytest.importorskip("baycomp")
    x = matrix(seed - seed % 3)
    _, above = baycomp.SignTest.probs(
        x[:, 0], x[:, 1], prior=0, nsamples=50_000, random_state=1
    )
    row = only(x, test="sign", alternative="greater")
    # of Beta(wins, losses), twice, without and with the draw that the p-value adds
    low, high = (
        stats.beta.sf(0.5, row["wins"] + a, row["losses"] + b)
        for a, b in ((0, 1), (1, 0))
    )
    assert 1 - row["p_value"] == close(low)
    assert low - 0.01 <= above <= high + 0.01


@pytest.mark.filterwarnings("ignore")  # of its dependencies
@pytest.mark.parametrize("seed", SEEDS)
def test_repro_eval(seed):
    effects = pytest.importorskip("repro_eval.measure.overall_effects")
    scores = pytest.importorskip("repro_eval.measure.effectiveness")
    tests = pytest.importorskip("repro_eval.measure.statistics")
    draw = np.random.default_rng(seed)
    x = np.clip(matrix(seed, 2), 0, 1)
    y = np.clip(x + draw.normal(0, 0.1, x.shape), 0, 1)
    other = np.clip(matrix(seed + 50, 2), 0, 1)

    def told(values: np.ndarray, system: int, first: int = 0) -> dict:
        return {
            str(first + q): {"v": float(v)} for q, v in enumerate(values[:, system])
        }

    again = frame(y)
    found = pr.comparison.reproduction(again, original=frame(x), baseline="a").row(
        1, named=True
    )
    old, new = told(x, 1), told(y, 1)
    assert found["rmse"] == close(scores.RMSE(old, new)["v"])
    assert found["nrmse"] == close(scores.nRMSE(old, new)["v"])
    assert found["p_value"] == close(tests.ttest(old, new)["v"])
    runs = {
        "orig_score_a": old, "orig_score_b": told(x, 0),
        "rep_score_a": new, "rep_score_b": told(y, 0),
    }  # fmt: skip
    assert found["effect_ratio"] == close(effects.ER(**runs)["v"])
    assert found["delta_ri"] == close(effects.DRI(**runs)["v"])
    apart = frame(other).with_columns(pl.col("query_id") + 1000)
    found = pr.comparison.reproduction(apart, original=frame(x)).row(1, named=True)
    theirs = tests.ttest(old, told(other, 1, 1000), rpd=False)
    assert found["p_value"] == close(theirs["v"])
