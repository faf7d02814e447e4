"""Arms of an experiment: plain formulas of the delta method and of CUPED."""

from __future__ import annotations

import math
import warnings
from collections import defaultdict
from statistics import NormalDist

import polars as pl
import pytest
from scipy.stats import t
from unequal import NEAR, allowance, effective

from polars_rank import DataError, clicks
from polars_rank._statistics.distributions import chi_square_tail

Z = NormalDist().inv_cdf


@pytest.fixture(scope="module")
def log():
    return clicks.simulate(
        1500, n_queries=40, n_users=400, user_sd=1.0, n_arms=3, lift=0.2, seed=11
    ).draw()


@pytest.fixture(scope="module")
def before():
    """The same users earlier; some were not there."""
    earlier = (
        clicks.simulate(1500, n_queries=40, n_users=400, user_sd=1.0, n_arms=3, seed=11)
        .draw()
        .filter(pl.col("user_id") % 5 > 0)
    )
    return earlier.drop("arm")


PARTS = {
    "ctr": lambda rows: (sum(r["clicked"] for r in rows), len(rows)),
    "any_click": lambda rows: (any(r["clicked"] for r in rows), 1),
    "first_click": lambda rows: (
        min((r["position"] for r in rows if r["clicked"]), default=0),
        any(r["clicked"] for r in rows),
    ),
}


def users_of(log, measure):
    """Sums of each user: numerator, denominator."""
    lists, sums, arms = defaultdict(list), defaultdict(lambda: [0.0, 0.0]), {}
    for row in log.iter_rows(named=True):
        lists[row["impression_id"]].append(row)
    for rows in lists.values():
        user = rows[0]["user_id"]
        arms[user] = rows[0].get("arm")
        for i, part in enumerate(PARTS[measure](rows)):
            sums[user][i] += part
    return sums, arms


def mean(values):
    values = list(values)
    return math.fsum(values) / len(values)


def cov(x, y):
    mx, my = mean(x), mean(y)
    return math.fsum((a - mx) * (b - my) for a, b in zip(x, y, strict=True)) / (
        len(x) - 1
    )


def linear(pairs):
    """Ratio, and what each user adds to it."""
    y, x = zip(*pairs, strict=True)
    ratio, below = sum(y) / sum(x), mean(x)
    return ratio, [(a - ratio * b) / below for a, b in pairs]


def plain(log, measure, arm, before=None):
    """Of control and treatment: value, variance of a user, users, effective users."""
    sums, arms = users_of(log, measure)
    early = users_of(before, measure)[0] if before is not None else {}
    groups = [[u for u in sums if arms[u] == a] for a in ("A", arm)]
    theta, whole = 0.0, 0.0
    if before is not None:
        everyone = groups[0] + groups[1]
        _, z = linear([sums[u] for u in everyone])
        whole, x = linear([early.get(u, [0.0, 0.0]) for u in everyone])
        theta = cov(z, x) / cov(x, x)
    found = []
    for users in groups:
        ratio, z = linear([sums[u] for u in users])
        variance = cov(z, z)
        if before is not None:
            r, x = linear([early.get(u, [0.0, 0.0]) for u in users])
            ratio -= theta * (r - whole)
            both = [a - theta * b for a, b in zip(z, x, strict=True)]
            variance = cov(both, both)
        sizes = [sums[u][1] for u in users]
        variance *= allowance(sizes) ** 2
        found.append((ratio, variance, len(users), effective(sizes)))
    return found


def welch(*parts):
    """Degrees of freedom of a sum of variances, each of effective clusters."""
    return sum(v for v, _ in parts) ** 2 / sum(v**2 / (k - 1) for v, k in parts)


@pytest.mark.parametrize("cuped", [False, True])
def test_effects_are_those_of_the_plain_formulas(log, before, cuped):
    covariates = before if cuped else None
    found = clicks.compare_arms(
        log, [*PARTS], arm="arm", control="A", covariates=covariates
    )
    assert found.select("measure", "arm").rows() == [
        (m, a) for m in PARTS for a in "BC"
    ]
    for row in found.iter_rows(named=True):
        (rc, vc, nc, kc), (rt, vt, nt, kt) = plain(
            log, row["measure"], row["arm"], covariates
        )
        se = math.sqrt(vc / nc + vt / nt)
        spread = math.sqrt(vc / nc / rc**2 + vt / nt / rt**2)
        df = welch((vc / nc, kc), (vt / nt, kt))
        z = float(t.ppf(0.975, df))
        near = {"p_value": 1e-3, "relative_lower": NEAR, "relative_upper": NEAR}
        near |= {"lower": NEAR, "upper": NEAR}  # p-values are off by as much, far out
        wanted = {
            "control": rc,
            "treatment": rt,
            "effect": rt - rc,
            "se": se,
            "lower": rt - rc - z * se,
            "upper": rt - rc + z * se,
            "relative": rt / rc - 1,
            "relative_lower": rt / rc * math.exp(-z * spread) - 1,
            "relative_upper": rt / rc * math.exp(z * spread) - 1,
            "p_value": 2 * float(t.sf(abs(rt - rc) / se, df)),
            "mde": (Z(0.975) + Z(0.8)) * se,
            "clusters_control": nc,
            "clusters_treatment": nt,
            "effective_clusters_control": kc,
            "effective_clusters_treatment": kt,
        }
        for name, value in wanted.items():
            assert row[name] == pytest.approx(value, rel=near.get(name, 1e-9)), name
    if cuped:
        plain_se = clicks.compare_arms(log, "ctr", arm="arm", control="A")["se"]
        explained = found.filter(pl.col("measure") == "ctr")["se"]
        assert (explained < 0.9 * plain_se).all()


@pytest.mark.slow
def test_the_same_bits_in_any_order(log, before):
    options = {"arm": "arm", "control": "A", "covariates": before}
    wanted = clicks.compare_arms(log, ["ctr", "rr"], **options)
    shuffled = log.sample(fraction=1, shuffle=True, seed=3).lazy()
    found = clicks.compare_arms(shuffled, ["ctr", "rr"], **options)
    assert isinstance(found, pl.LazyFrame)
    assert found.collect().equals(wanted)
    bounded = clicks.compare_arms(
        shuffled, ["ctr", "rr"], memory_limit="1GB", **options
    )
    assert bounded.collect().equals(wanted)


def test_intervals_at_any_time(log):
    """Waudby-Smith et al., 2023, as GrowthBook writes it."""
    row = clicks.compare_arms(log, "ctr", arm="arm", control="A", sequential=True).row(
        0, named=True
    )
    n, alpha = row["clusters_control"] + row["clusters_treatment"], 0.05
    rho = math.sqrt((-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / 5000)
    half = math.sqrt(row["se"] ** 2 * n) * math.sqrt(
        2
        * (n * rho**2 + 1)
        / (n * rho) ** 2
        * math.log(math.sqrt(n * rho**2 + 1) / alpha)
    )
    assert row["upper"] - row["effect"] == pytest.approx(half, rel=1e-9)
    assert row["effect"] - row["lower"] == pytest.approx(half, rel=1e-9)
    # At the level 1 - p the interval just reaches 0, by the rho of 0.05.
    at_p = math.sqrt(row["se"] ** 2 * n) * math.sqrt(
        2
        * (n * rho**2 + 1)
        / (n * rho) ** 2
        * math.log(math.sqrt(n * rho**2 + 1) / row["p_value"])
    )
    if row["p_value"] < 1:
        assert at_p == pytest.approx(abs(row["effect"]), rel=1e-9)


def test_holm(log):
    found = clicks.compare_arms(log, [*PARTS], arm="arm", control="A", adjust="holm")
    p = sorted(found["p_value"])
    adjusted, least = {}, 0.0
    for i, value in enumerate(p):
        least = max(least, min(1.0, value * (len(p) - i)))
        adjusted[value] = least
    assert found["p_adjusted"].to_list() == [adjusted[v] for v in found["p_value"]]
    assert (found["p_adjusted"] >= found["p_value"]).all()


def test_few_users_have_student_t():
    pytest.importorskip("scipy")
    small = clicks.simulate(120, n_queries=5, n_users=20, n_arms=2, seed=1).draw()
    row = clicks.compare_arms(small, "ctr", arm="arm", control="A").row(0, named=True)
    (_, vc, nc, kc), (_, vt, nt, kt) = plain(small, "ctr", "B")
    df = welch((vc / nc, kc), (vt / nt, kt))
    assert row["p_value"] == pytest.approx(2 * t.sf(abs(row["effect"]) / row["se"], df))
    assert row["upper"] - row["effect"] == pytest.approx(t.ppf(0.975, df) * row["se"])


def test_a_broken_assignment_is_warned_of(log):
    thinned = log.filter((pl.col("arm") != "B") | (pl.col("user_id") % 3 == 0))
    with pytest.warns(UserWarning, match="not of the planned sizes"):
        found = clicks.compare_arms(thinned, "ctr", arm="arm", control="A")
    counts = thinned.group_by("arm").agg(pl.col("user_id").n_unique())["user_id"]
    expected = counts.sum() / 3
    x = sum((n - expected) ** 2 / expected for n in counts)
    assert found["srm_p_value"][0] == pytest.approx(
        math.exp(-x / 2), rel=1e-9
    )  # two degrees
    split = {"A": 3, "B": 1, "C": 3}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = clicks.compare_arms(
            thinned, "ctr", arm="arm", control="A", expected_split=split
        )
    assert found["srm_p_value"][0] > 0.001
    with pytest.raises(ValueError, match="a positive share for each of the arms"):
        clicks.compare_arms(log, "ctr", arm="arm", control="A", expected_split={"A": 1})


def test_segments(log):
    log = log.with_columns(
        country=pl.when(pl.col("user_id") % 2 == 0).then(pl.lit("DE"))
    )
    found = clicks.compare_arms(log, "ctr", arm="arm", control="A", by="country")
    assert found.select("country", "arm").rows() == [
        ("DE", "B"),
        ("DE", "C"),
        (None, "B"),
        (None, "C"),
    ]
    alone = clicks.compare_arms(
        log.filter(pl.col("country") == "DE"), "ctr", arm="arm", control="A"
    )
    assert found.head(2).drop("country").equals(alone)


def test_a_segment_of_nan_is_one(log):
    segment = {0: 1.0, 1: math.nan, 2: None}  # sorted in this order
    log = log.with_columns(number=pl.col("user_id") % 3)
    log = log.with_columns(seg=pl.col("number").replace_strict(segment))
    options = {"arm": "arm", "control": "A"}
    wanted = clicks.compare_arms(log, "ctr", by="number", **options)
    found = clicks.compare_arms(log, "ctr", by="seg", **options)
    assert found.drop("seg").equals(wanted.drop("number"))
    named = wanted["number"].replace_strict(segment)
    assert found["seg"].equals(named, null_equal=True)
    state = clicks.behavior_state(
        log, "ctr", by=["arm", "seg"], cluster="user_id", keep_clusters=True
    )
    assert clicks.merge_arms(state, **options).equals(found)


def test_users_in_two_arms(log):
    mixed = log.with_columns(
        arm=pl.when(pl.col("impression_id") == 0)
        .then(pl.lit("C"))
        .otherwise(pl.lit("A"))
    )
    user = log["user_id"][0]
    with pytest.raises(
        DataError, match=rf"in more than one arm.*1 found, e.g. {user}\)"
    ) as error:
        clicks.compare_arms(mixed, "ctr", arm="arm", control="A")
    assert error.value.rule == "two_arms"


def test_arms_that_are_missing(log):
    for control, kept in (("A", "A"), ("Z", None)):
        rows = log.filter(pl.col("arm") == kept) if kept else log
        with pytest.raises(DataError, match=f"needs the control '{control}'"):
            clicks.compare_arms(rows, "ctr", arm="arm", control=control)
    null = log.with_columns(arm=pl.when(pl.col("impression_id") > 3).then("arm"))
    with pytest.raises(DataError, match="arms are null"):
        clicks.compare_arms(null, "ctr", arm="arm", control="A")


@pytest.mark.parametrize("users", [1, 2])
def test_one_user_of_an_arm_tells_no_error(users):
    """Only some of them click, and so have a first click."""
    log = pl.DataFrame(
        [
            (arm, f"{arm}{user}", f"{arm}{user}-{i}", i, user < users)
            for arm, clicked in (("a", (1, 2)), ("b", (2, 3)))
            for user in range(5)
            for i in clicked
        ],
        schema=["arm", "user_id", "impression_id", "position", "clicked"],
        orient="row",
    )
    options = {"arm": "arm", "control": "a", "cluster": "user_id"}
    row = clicks.compare_arms(log, "first_click", **options).row(0, named=True)
    values = row["control"], row["treatment"], row["effect"]
    assert values == pytest.approx((1.5, 2.5, 1.0), rel=1e-15)  # ratios of two means
    names = ["se", "lower", "upper", "relative_lower", "relative_upper", "p_value"]
    assert all((row[name] is None) == (users == 1) for name in [*names, "mde"]), row


def test_what_has_no_value(log):
    none = log.with_columns(clicked=pl.lit(0))
    row = clicks.compare_arms(none, ["ctr", "first_click"], arm="arm", control="A")
    assert row.filter(pl.col("measure") == "first_click")["effect"].null_count() == 2
    zero = row.row(0, named=True)
    assert (zero["effect"], zero["se"], zero["relative"]) == (0.0, 0.0, None)


@pytest.mark.parametrize("dtype", [pl.Int64, pl.UInt64])
def test_users_of_the_time_before_are_of_any_whole_type(log, before, dtype):
    options = {"arm": "arm", "control": "A"}
    wanted = clicks.compare_arms(log, "ctr", covariates=before, **options)
    other = before.with_columns(pl.col("user_id").cast(dtype))
    found = clicks.compare_arms(log, "ctr", covariates=other, **options)
    assert found.equals(wanted)


@pytest.mark.parametrize("lazy", [False, True])
def test_users_that_are_never_equal_to_those_of_the_time_before(log, before, lazy):
    text = before.with_columns(pl.col("user_id").cast(pl.String))
    message = "'user_id' is U?Int.. in the log but String in the covariates, and these"
    with pytest.raises(TypeError, match=message):
        clicks.compare_arms(
            log.lazy() if lazy else log, "ctr", arm="arm", control="A", covariates=text
        )


WRONG = [
    ({"adjust": "bonferroni"}, ValueError, "adjust must be None or 'holm'"),
    ({"level": 0}, ValueError, "level must lie between 0 and 1"),
    (
        {"cluster": "nobody"},
        pl.exceptions.ColumnNotFoundError,
        "'nobody' is not in the log",
    ),
    ({"arm": "score"}, TypeError, "an arm must be"),
]


@pytest.mark.parametrize(("options", "error", "message"), WRONG)
def test_wrong_arguments(log, options, error, message):
    with pytest.raises(error, match=message):
        clicks.compare_arms(log, "ctr", **({"arm": "arm", "control": "A"} | options))


@pytest.mark.parametrize(
    ("x", "df", "p"),
    [
        (3.841459, 1, 0.05),
        (5.991465, 2, 0.05),
        (7.814728, 3, 0.05),
        (18.307038, 10, 0.05),
        (24.995790, 15, 0.05),
    ],
)
def test_tails_of_chi_square(x, df, p):
    """Critical values from tables."""
    assert chi_square_tail(x, df) == pytest.approx(p, rel=1e-6)
