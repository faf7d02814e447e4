"""Click logs at their extremes: very few impressions, arms where nobody differs.

Expected values are written down by hand, or come from scipy.
"""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from scipy.optimize import minimize

from polars_rank import clicks

# Of so few rows, that positions have no estimate.
pytestmark = pytest.mark.filterwarnings("ignore::polars_rank.DataWarning")
ESTIMATORS = ["poisson", "all_pairs", "pivot_one", "chain"]


def turned(clicked_below: bool) -> pl.DataFrame:
    """Two impressions with two documents in turned order; ``a`` is clicked on top."""
    return pl.DataFrame(
        {
            "impression_id": [1, 1, 2, 2],
            "query_id": [1] * 4,
            "doc_id": ["a", "b", "b", "a"],
            "position": [1, 2, 1, 2],
            "clicked": [True, False, False, clicked_below],
        }
    )


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_two_impressions_are_enough_where_one_document_is_clicked_in_both(estimator):
    found = clicks.propensities(turned(True), estimator=estimator)
    assert found["propensity"].to_list() == pytest.approx([1.0, 1.0])
    assert found["note"].to_list() == [None, None]


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_two_impressions_tie_positions_though_nobody_clicked(estimator):
    """It says that clicks are missing; that no document ties positions is not so."""
    found = clicks.propensities(turned(False), estimator=estimator)
    assert found["propensity"].to_list() == [1.0, None]
    assert "too few clicks" in found["note"][1]


def test_two_impressions_move_the_estimate_of_all_pairs():
    """One document links positions 1 and 3: the maximum likelihood, by scipy."""
    seen = {("b", 1): (10, 6), ("b", 2): (10, 5), ("c", 2): (10, 4), ("c", 3): (10, 3)}
    seen |= {("a", 1): (1, 0), ("a", 3): (1, 1)}  # (impressions, clicks)
    rows = [
        (doc, position, i < clicked)
        for (doc, position), (times, clicked) in seen.items()
        for i in range(times)
    ]
    log = pl.DataFrame(rows, ["doc_id", "position", "clicked"], orient="row")
    log = log.with_columns(pl.row_index("impression_id"), query_id=pl.lit(1))

    def loss(x) -> float:
        """Of propensities relative to the first, and of r for each document."""
        theta, r = [1.0, *np.exp(x[:2])], dict(zip("abc", np.exp(x[2:]), strict=True))
        total = 0.0
        for (doc, position), (times, clicked) in seen.items():
            (other,) = (
                n
                for (d, p), (n, _) in seen.items()
                if (d, p) != (doc, position) and d == doc
            )
            share, p = clicked / times, theta[position - 1] * r[doc]
            if p >= 1:
                return np.inf
            weight = times * other / (times + other)
            total += weight * (share * np.log(p) + (1 - share) * np.log(1 - p))
        return -total

    start = np.log([0.8, 0.6, 0.5, 0.6, 0.5])
    best = minimize(
        loss,
        start,
        method="Nelder-Mead",
        options={"xatol": 1e-10, "fatol": 1e-15, "maxiter": 20_000, "maxfev": 20_000},
    )
    options = {"estimator": "all_pairs", "max_steps": 100_000, "tol": 1e-12}
    found = clicks.propensities(log, **options)["propensity"]
    assert found.to_list() == pytest.approx([1.0, *np.exp(best.x[:2])], rel=1e-5)


@pytest.mark.parametrize("users", [1, 2])
def test_swaps_by_two_users_have_an_error_and_by_one_have_none(users):
    rows = [
        (10 * user + i, doc, place, doc == "a" and i % 3 > 0, user)
        for user in range(users)
        for i in range(10)
        for place, doc in enumerate("ab" if i % 2 else "ba", start=1)
    ]
    names = ["impression_id", "doc_id", "position", "clicked", "user_id"]
    log = pl.DataFrame(rows, names, orient="row").with_columns(
        query_id=pl.lit(1), partner=pl.lit(2), turned=pl.col("impression_id") % 2 == 0
    )
    options = {"swap": "partner", "swapped": "turned", "cluster": "user_id"}
    found = clicks.propensities(log, "swap", **options).row(1, named=True)
    assert found["propensity"] is not None
    assert (found["se"] is None) is (users == 1)


def possible(log: pl.DataFrame) -> dict[str, bool]:
    return {name: able for name, able, _ in clicks.report(log).methods.iter_rows()}


def test_one_impression_has_no_query_that_could_come_again():
    """So nothing is said of an id of search events in place of a query."""
    found = possible(turned(True).head(2))
    assert found["propensities: ctr"]
    assert not found["propensities: harvest"]


@pytest.mark.parametrize("times", [49, 50])
def test_one_pair_that_was_shown_50_times_is_enough_for_em(times):
    rows = {"impression_id": range(times), "query_id": [1] * times}
    rows |= {"doc_id": ["a"] * times, "position": [1] * times}
    log = pl.DataFrame(rows | {"clicked": [i % 2 for i in range(times)]})
    assert possible(log)["propensities: em"] is (times == 50)


@pytest.mark.parametrize(("lift", "p"), [(0, 1.0), (1, 0.0)])
def test_arms_without_any_spread_are_equal_or_surely_not(lift, p):
    """Every user of an arm is alike: the difference has no error."""
    users = range(40)
    log = pl.DataFrame(
        {
            "impression_id": users,
            "user_id": users,
            "position": [1] * 40,
            "arm": ["new" if i % 2 else "old" for i in users],
            "clicked": [(i % 2) * lift for i in users],
        }
    )
    (row,) = clicks.compare_arms(log, "ctr", arm="arm", control="old").to_dicts()
    assert (row["effect"], row["se"], row["p_value"]) == (lift, 0.0, p)


def test_a_simulated_log_has_arms_where_they_are_asked_for():
    design = {"n_impressions": 20, "n_queries": 4, "n_docs": 12, "n_users": 10}
    assert "arm" not in clicks.simulate(**design).draw().columns
    assert "arm" in clicks.simulate(**design, n_arms=2).draw().columns
