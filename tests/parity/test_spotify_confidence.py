"""spotify-confidence: the z-test of two proportions, of independent impressions."""

from __future__ import annotations

import polars as pl
import pytest
from parity.compare import need

from polars_rank import clicks

theirs = need("spotify_confidence")
pandas = need("pandas")
pytestmark = [
    pytest.mark.parity,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]


def test_proportions():
    log = clicks.simulate(
        3000, n_queries=40, n_users=3000, n_arms=2, lift=0.1, seed=22
    ).draw()
    lists = log.group_by("arm", "impression_id").agg(pl.col("clicked").any())
    data = lists.group_by("arm").agg(pl.col("clicked").sum(), n=pl.len()).sort("arm")
    test = theirs.ZTest(
        pandas.DataFrame(data.cast({"arm": pl.String}).to_dict(as_series=False)),
        numerator_column="clicked",
        numerator_sum_squares_column=None,
        denominator_column="n",
        categorical_group_columns="arm",
        interval_size=0.95,
    )
    wanted = test.difference(level_1="A", level_2="B", absolute=True).iloc[0]
    row = clicks.compare_arms(
        log, "any_click", arm="arm", control="A", cluster="impression_id"
    ).row(0, named=True)
    n = data["n"].to_list()
    # Their variance of a proportion is divided by n, not by n - 1.
    assert row["effect"] == pytest.approx(wanted["difference"], rel=1e-12)
    half = (wanted["ci_upper"] - wanted["ci_lower"]) / 2
    assert (row["upper"] - row["lower"]) / 2 == pytest.approx(half, rel=2 / min(n))
