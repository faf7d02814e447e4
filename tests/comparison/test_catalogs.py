"""Differences in measures of the catalog, against a plain jackknife of both systems."""

from __future__ import annotations

import polars as pl
import pytest
from polars.testing import assert_frame_equal
from reference import recommendation as plain
from scipy import stats
from test_recommendations import audience, group_of

import polars_rank as pr

ASKED = ["coverage@3", "gini@3", "personalization@3"]


@pytest.fixture(scope="module")
def shop():
    """Two systems for the same users; items; a segment of each user."""
    (one, first, items), (two, second, _) = (audience(50, seed=s) for s in (1, 2))
    ages = pl.DataFrame({"user": range(50)}).with_columns(
        age=pl.when(pl.col("user") % 3 > 0).then(pl.lit("old")).otherwise(pl.lit("new"))
    )
    given = {"items": items, "query": "user", "doc": "item"}
    return {"a": one, "b": two}, {"a": first, "b": second}, ages, given


def expected(lists, measure, items, users):
    """Difference of b and a, and its error: both lose the same users at a time."""
    name, arguments = pr.Measure.parse(measure).metric, {"k": 3}
    known = plain.History([], dict.fromkeys(items["item"]))
    pairs = {user: [lists["a"][user], lists["b"][user]] for user in users}

    def difference(own):
        a, b = zip(*own, strict=True)
        value = plain.CATALOGS[name]
        return value(b, known, **arguments) - value(a, known, **arguments)

    error = plain.jackknife(pairs, group_of, difference)
    return difference([*pairs.values()]), error, len({*map(group_of, users)}) - 1


def test_differences_equal_plain_loops(shop):
    lists, runs, ages, given = shop
    found = pr.compare(
        runs, ASKED, segments=ages, by="age", min_queries=5, level=0.9, **given
    )
    assert found.between_segments is not None
    assert found.between_segments.is_empty()
    assert found.pairs["measure"].unique(maintain_order=True).to_list() == ASKED
    for row in found.pairs.iter_rows(named=True):
        users = ages.filter(pl.col("age") == row["age"])["user"].to_list()
        own, error, df = expected(lists, row["measure"], given["items"], users)
        reach = stats.t.ppf(0.95, df) * error
        assert row["queries"] == len(users)
        assert row["difference"] == pytest.approx(own, abs=1e-12)
        assert (row["se"], row["df"]) == (pytest.approx(error, rel=1e-9), df)
        assert row["upper"] - row["difference"] == pytest.approx(reach, rel=1e-9)
        p = 2 * stats.t.sf(abs(own / error), df)
        assert row["p_value"] == pytest.approx(p, rel=1e-9)
    for row in found.means.iter_rows(named=True):
        alone = pr.evaluate(
            runs[row["system"]], row["measure"], stats=["mean", "se"], by="age",
            segments=ages, **given,
        ).filter(pl.col("age") == row["age"])  # fmt: skip
        assert (row["mean"], row["se"]) == pytest.approx(alone.row(0)[2:], rel=1e-12)


def test_beside_measures_of_users(shop):
    """The rows stand in the order of the measures; the others do not change."""
    _, runs, _, given = shop
    both = pr.compare(runs, ["coverage@3", "user_coverage(least=3)@3"], **given)
    alone = pr.compare(runs, "user_coverage(least=3)@3", **given)
    assert both.pairs["measure"].to_list() == [
        "coverage@3",
        "user_coverage(least=3)@3",
    ]
    assert_frame_equal(both.pairs[1:], alone.pairs)
    assert "of all lists together" in both.pairs["note"][0]
    one = pl.concat(
        run.with_columns(system=pl.lit(name), label=1) for name, run in runs.items()
    )
    qrels = one.select("system", "user", "item", "label")
    frame = pr.compare(one.drop("label"), "coverage@3", qrels=qrels, **given)
    assert_frame_equal(frame.pairs, both.pairs[:1], rel_tol=1e-12)


@pytest.mark.parametrize(
    "wrong", [{"test": "wilcoxon"}, {"interval": "bca"}, {"pairs": "common"}]
)
def test_what_needs_values_of_users_is_refused(shop, wrong):
    _, runs, _, given = shop
    with pytest.raises(ValueError, match=f"not with {next(iter(wrong))}="):
        pr.compare(runs, "coverage@3", **wrong, **given)
