"""tea-tasting: differences of ratios between two arms, with and without covariates."""

from __future__ import annotations

import polars as pl
import pytest

from polars_rank import clicks

tt = pytest.importorskip("tea_tasting")
pytestmark = pytest.mark.parity


def users(log, suffix=""):
    """Clicks, documents and impressions of each user."""
    return log.group_by("user_id").agg(
        pl.col("clicked").sum().cast(pl.Int64).alias(f"clicks{suffix}"),
        pl.len().cast(pl.Int64).alias(f"shown{suffix}"),
        pl.col("impression_id").n_unique().cast(pl.Int64).alias(f"impressions{suffix}"),
    )


@pytest.mark.parametrize("cuped", [False, True])
@pytest.mark.parametrize(
    ("measure", "denominator"), [("ctr", "shown"), ("clicks", "impressions")]
)
def test_ratios(measure, denominator, cuped):
    design = {"n_queries": 40, "n_users": 500, "user_sd": 1.0, "n_arms": 2, "seed": 21}
    log = clicks.simulate(3000, lift=0.1, **design).draw()
    before = clicks.simulate(3000, **design).draw().drop("arm")
    arms = log.group_by("user_id").agg(pl.col("arm").first().cast(pl.String))
    data = users(log).join(arms, on="user_id")
    data = data.join(users(before, "_before"), on="user_id", how="left").fill_null(0)
    metric = tt.RatioOfMeans(
        "clicks",
        denominator,
        **(
            {
                "numer_covariate": "clicks_before",
                "denom_covariate": f"{denominator}_before",
            }
            if cuped
            else {}
        ),
        use_t=False,
        equal_var=False,
    )
    experiment = tt.Experiment({"value": metric}, variant="arm")
    result = experiment.analyze(
        data.with_columns(arm=pl.col("arm") == "B"), control=False
    )
    wanted = result["value"]
    row = clicks.compare_arms(
        log, measure, arm="arm", control="A", covariates=before if cuped else None
    ).row(0, named=True)
    pairs = {
        "control": wanted.control,
        "treatment": wanted.treatment,
        "effect": wanted.effect_size,
        "relative": wanted.rel_effect_size,
    }
    for name, value in pairs.items():
        assert row[name] == pytest.approx(value, rel=1e-10), name
    # Theirs are of the normal and of the plain delta method; ours of t with the
    # effective number of users less one and an error that allows for their sizes: of
    # 500 users a little wider, never narrower.
    for prefix, theirs in (
        ("", wanted.effect_size_ci_upper - wanted.effect_size_ci_lower),
        (
            "relative_",
            wanted.rel_effect_size_ci_upper - wanted.rel_effect_size_ci_lower,
        ),
    ):
        width = row[f"{prefix}upper"] - row[f"{prefix}lower"]
        assert theirs <= width <= 1.02 * theirs, prefix
    assert row["p_value"] == pytest.approx(wanted.pvalue, abs=0.005)


def test_detectable_effect():
    """Theirs solves the power of both sides exactly; ours leaves out the wrong one."""
    design = {"n_queries": 40, "n_users": 500, "user_sd": 1.0, "n_arms": 2, "seed": 21}
    log = clicks.simulate(3000, **design).draw()
    arms = log.group_by("user_id").agg(pl.col("arm").first().cast(pl.String))
    data = users(log).join(arms, on="user_id")
    row = clicks.compare_arms(log, "ctr", arm="arm", control="A").row(0, named=True)
    a, b = (row[f"clusters_{arm}"] for arm in ("control", "treatment"))
    # They take one variance, that of all: ours of each arm is scaled to it.
    metric = tt.RatioOfMeans(
        "clicks", "shown", use_t=False, equal_var=False, power=0.8, ratio=b / a
    )
    (found,) = metric.solve_power(data, "effect_size")
    both = clicks.behavior(log, "ctr", cluster="user_id", interval="normal")
    variance = both["se"].item() ** 2 * (a + b)
    se = (variance / a + variance / b) ** 0.5
    # The error of users of unequal sizes is larger than theirs, here by 4e-4.
    assert row["mde"] * se / row["se"] == pytest.approx(found.effect_size, rel=1e-3)
