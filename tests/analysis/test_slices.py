"""Slices: a search in plain loops with scipy's Welch test, and simulations."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal
from scipy import stats

from polars_rank import analysis
from polars_rank.exceptions import DataError

FEATURES = ["country", "device", "words"]


def drawn(seed, n=600, effect=0.0):
    draw = np.random.default_rng(seed)
    frame = pl.DataFrame(
        {
            "query_id": draw.permutation(n),
            "country": draw.choice(["DE", "FR", "US"], n),
            "device": draw.choice(["phone", "desk"], n),
            "words": draw.integers(1, 4, n),
            "difference": draw.normal(0.0, 0.2, n),
        }
    )
    bad = (pl.col("country") == "DE") & (pl.col("device") == "phone")
    return frame.with_columns(
        pl.col("difference") - pl.when(bad).then(effect).otherwise(0.0),
        country=pl.when(pl.col("query_id") % 10 > 0).then("country"),
    )


# -- the search, again, by loops


def welch(inside, outside):
    found = stats.ttest_ind(inside, outside, equal_var=False)
    interval = found.confidence_interval(0.95)
    return np.mean(inside) - np.mean(outside), found.pvalue, *interval


def split(rows, chosen):
    """Values of the rows that have the chosen features, and of the others."""
    inside, outside = [], []
    for row in rows:
        holds = all(row[name] == value for name, value in chosen)
        (inside if holds else outside).append(row["difference"])
    return inside, outside


def searched(frame, most, honest):
    rows = frame.sort("query_id").to_dicts()
    halves = [rows[1::2], rows[::2]] if honest else [rows, rows]
    search, check = halves
    found = []
    for size in range(1, most + 1):
        for names in combinations(FEATURES, size):
            for values in {tuple(row[n] for n in names) for row in rows}:
                chosen = [*zip(names, values, strict=True)]
                inside, outside = split(search, chosen)
                tested, others = split(check, chosen)
                if min(len(inside), len(tested)) < 20:
                    continue
                gap, p, *_ = welch(inside, outside)
                if p >= 0.05:
                    continue
                parents = [[*c] for c in combinations(chosen, size - 1) if c]
                nested = []
                for parent in parents:
                    within = [r for r in search if all(r[n] == v for n, v in parent)]
                    nested.append(split(within, chosen))
                if any(welch(*parts)[1] >= 0.05 for parts in nested):
                    continue
                name = ", ".join(f"{n}={'null' if v is None else v}" for n, v in chosen)
                impact = len(inside) / len(search) * gap
                number = len(tested) + (len(inside) if honest else 0)
                share = len(tested) / len(check)
                near = float(f"{abs(impact):.9g}")
                found.append((near, name, number, share, welch(tested, others)))
    return sorted(found, key=lambda row: (-row[0], row[1]))


@pytest.mark.parametrize("honest", [True, False])
def test_the_search_is_that_of_loops(honest):
    frame = drawn(3, effect=0.2)
    found = analysis.slices(frame, FEATURES, honest=honest)
    wanted = searched(frame, 2, honest)
    assert found["slice"].to_list() == [name for _, name, *_ in wanted]
    assert len(wanted) > 2
    for row, (_, _, number, share, (gap, p, lower, upper)) in zip(
        found.rows(named=True), wanted, strict=True
    ):
        assert row["queries"] == number
        assert [row["gap"], row["lower"], row["upper"]] == pytest.approx(
            [gap, lower, upper]
        )
        assert row["p_value"] == pytest.approx(p, rel=1e-8)
        assert row["impact"] == pytest.approx(share * gap)
    adjusted = stats.false_discovery_control(found["p_value"].to_numpy())
    assert found["p_adjusted"].to_list() == pytest.approx(adjusted.tolist())
    assert found["significant"].to_list() == [p < 0.05 for p in adjusted]


def test_what_was_planted_is_found():
    found = analysis.slices(drawn(4, n=2000, effect=0.2), FEATURES, max_features=3)
    worst = found.filter(pl.col("significant")).sort("gap").row(0, named=True)
    assert worst["slice"] == "country=DE, device=phone"
    assert worst["upper"] < -0.1
    smaller = pl.col("slice").str.contains("DE, device=phone, words")
    assert found.filter(smaller).is_empty()


def test_numbers_are_cut_at_their_quantiles():
    n = 400
    values = pl.DataFrame({"id": range(n), "length": np.arange(n) / 10}).with_columns(
        rr=pl.when(pl.col("length") < 10).then(0.2).otherwise(0.7)
    )
    found = analysis.slices(values, "length", of="rr", query="id", bins=4)
    first, *others = found.rows(named=True)
    assert first["slice"] == "length=(-inf, 10]"
    assert first["gap"] == pytest.approx(-0.5, abs=0.01)
    assert first["p_value"] < 1e-12
    assert all(row["gap"] > 0 for row in others)
    assert {row["slice"] for row in others} == {
        "length=(10, 20]",
        "length=(20, 29.9]",
        "length=(29.9, inf)",
    }


def test_rows_in_any_order_and_lazy_frames_give_the_same(tmp_path):
    frame = drawn(5, effect=0.2)
    found = analysis.slices(frame, FEATURES)
    path = tmp_path / "values.parquet"
    frame.write_parquet(path)
    for other in (frame.reverse(), frame.lazy(), path):
        assert_frame_equal(analysis.slices(other, FEATURES), found)
    nothing = frame.with_columns(difference=pl.lit(None, dtype=pl.Float64))
    more = pl.concat([frame, nothing.with_columns(pl.col("query_id") + 600)])
    assert_frame_equal(analysis.slices(more, FEATURES), found)
    assert analysis.slices(frame.clear(), FEATURES).is_empty()
    assert analysis.slices(frame.with_columns(difference=0.0), FEATURES).is_empty()


@pytest.mark.slow
def test_how_often_nothing_is_called_a_slice():
    """Seeds 0 to 399: with halves at most 5 % err; a search that tests itself does."""
    errs = {True: 0, False: 0}
    for seed in range(400):
        frame = drawn(seed)
        for honest in errs:
            found = analysis.slices(frame, FEATURES, honest=honest)
            errs[honest] += bool(found["significant"].any())
    assert errs[True] / 400 < 0.05 + 3 * (0.05 * 0.95 / 400) ** 0.5
    assert errs[False] / 400 > 0.15


@pytest.mark.parametrize(
    ("options", "error", "told"),
    [
        ({"features": "land"}, pl.exceptions.ColumnNotFoundError, "land"),
        ({"features": []}, ValueError, "features must name"),
        ({"of": "ndcg"}, pl.exceptions.ColumnNotFoundError, "ndcg"),
        ({"max_features": 4}, ValueError, "max_features must be a whole number"),
        ({"min_queries": 1}, ValueError, "min_queries must be a whole number"),
        ({"bins": 1}, ValueError, "bins must be"),
        ({"level": 1}, ValueError, "level must lie"),
    ],
)
def test_wrong_arguments(options, error, told):
    with pytest.raises(error, match=told):
        analysis.slices(drawn(1), **{"features": FEATURES, **options})


def test_values_that_are_no_numbers():
    frame = drawn(1).with_columns(difference=float("nan"))
    with pytest.raises(DataError, match="NaN or infinite"):
        analysis.slices(frame, FEATURES)


def test_several_rows_of_a_query_are_refused():
    """Three copies of each row would make p-values of what is noise."""
    draw = np.random.default_rng(4)
    once = pl.DataFrame({"query_id": range(80), "x": ["a", "b"] * 40}).with_columns(
        difference=pl.Series(draw.normal(size=80))
    )
    assert analysis.slices(once, "x", honest=False).height == 0
    with pytest.raises(DataError, match="240 values are of 80 queries"):
        analysis.slices(pl.concat([once] * 3), "x", honest=False)
    segments = pl.concat([once.with_columns(day=day) for day in range(3)])
    assert analysis.slices(segments, "x", query=["day", "query_id"]).height == 0
    with pytest.raises(DataError, match="several of query 0; give one row"):
        analysis.slices(segments, "x")
    unnamed = once.with_columns(query_id=pl.col("query_id").replace(3, None))
    with pytest.raises(DataError, match="'query_id' is null in some rows"):
        analysis.slices(unnamed, "x")
