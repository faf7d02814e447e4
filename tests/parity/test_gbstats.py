"""GrowthBook's gbstats: variances of ratios, and intervals that are always valid."""

from __future__ import annotations

import polars as pl
import pytest
from parity.compare import need

from polars_rank import clicks

models = need("gbstats.models.statistics")
tests = need("gbstats.frequentist.tests")
pytestmark = pytest.mark.parity


def ratio(sums):
    """Their statistic of clicks by documents of users."""
    x, y = (sums[name].cast(pl.Float64) for name in ("clicks", "shown"))
    parts = (models.SampleMeanStatistic(len(v), v.sum(), v.dot(v)) for v in (x, y))
    return models.RatioStatistic(len(sums), *parts, x.dot(y))


@pytest.mark.parametrize("sequential", [False, True])
def test_effects(sequential):
    log = clicks.simulate(
        3000, n_queries=40, n_users=500, user_sd=1.0, n_arms=2, lift=0.1, seed=21
    ).draw()
    users = log.group_by("arm", "user_id").agg(
        clicks=pl.col("clicked").sum(), shown=pl.len()
    )
    a, b = (ratio(users.filter(pl.col("arm") == arm)) for arm in ("A", "B"))
    settings = {"difference_type": "absolute"}
    test = (
        tests.SequentialTwoSidedTTest(a, b, tests.SequentialConfig(**settings))
        if sequential
        else tests.TwoSidedTTest(a, b, tests.FrequentistConfig(**settings))
    )
    row = clicks.compare_arms(
        log, "ctr", arm="arm", control="A", sequential=sequential
    ).row(0, named=True)
    assert row["effect"] == pytest.approx(test.point_estimate, rel=1e-12)
    assert row["se"] ** 2 == pytest.approx(test.variance, rel=1e-10)
    if sequential:  # else theirs are of Student's t
        ends = [row["lower"], row["upper"]]
        assert ends == pytest.approx(test.confidence_interval, rel=1e-10)
        assert row["p_value"] == pytest.approx(test.p_value, rel=1e-9)
