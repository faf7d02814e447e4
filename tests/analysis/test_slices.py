"""Slices: a search in plain loops with scipy's Welch test, and simulations."""

from __future__ import annotations

import json
import math
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from plain_ranks import plain_hash
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
    rows = frame.to_dicts()
    halves = [], []
    for row in rows:
        halves[plain_hash(str(row["query_id"])) % 2].append(row)
    search, check = halves if honest else (rows, rows)
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
    found = analysis.slices(drawn(5, n=2000, effect=0.2), FEATURES, max_features=3)
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
    found = analysis.slices(values, "length", of="rr", query="id", n_bins=4)
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


# -- parts


def parts_of(frame, numbers, **options):
    """States of the rows that these numbers, one for each row, put together."""
    own = frame.with_columns(day=pl.Series(numbers)).partition_by("day")
    return [analysis.slices_state(day.drop("day"), FEATURES, **options) for day in own]


@pytest.mark.parametrize("honest", [True, False])
def test_parts_add_up_to_the_bits_of_all_rows(honest, tmp_path):
    frame = drawn(6, n=900, effect=0.2)
    draw = np.random.default_rng(8)
    edges = {"words": [1.5]}
    wanted = analysis.slices(frame, FEATURES, honest=honest, edges=edges)
    assert wanted["slice"].str.contains("words=(-inf, 1.5]", literal=True).any()
    for _ in range(3):
        shuffled = frame.sample(fraction=1, shuffle=True, seed=draw.integers(99))
        states = parts_of(shuffled, draw.integers(0, 7, 900), edges=edges)
        again = [states[i] for i in draw.permutation(len(states))]
        found = analysis.merge_slices(again, honest=honest)
        assert_frame_equal(found, wanted, check_exact=True)
    for i, state in enumerate(states):
        state.write_parquet(tmp_path / f"{i}.parquet")
    found = analysis.merge_slices(tmp_path / "*.parquet", honest=honest)
    assert_frame_equal(found, wanted, check_exact=True)
    assert_frame_equal(analysis.slices(shuffled.lazy(), FEATURES, honest=honest),
                       analysis.slices(frame, FEATURES, honest=honest),
                       check_exact=True)  # fmt: skip


def test_sums_are_rounded_once():
    frame = drawn(7, n=500).with_columns(pl.col("difference") * 1e3)
    found = analysis.slices(frame, "device", honest=False, min_queries=2, level=1e-9)
    for row in found.to_dicts():
        values = frame.filter(device=row["slice"].removeprefix("device="))
        assert row["mean"] == math.fsum(values["difference"]) / len(values)
    assert len(found) == 2


def test_a_query_is_in_one_half_on_all_days():
    frame = drawn(8, n=300)
    days = [frame, frame.with_columns(pl.col("difference") + 0.1)]
    states = [analysis.slices_state(day.with_columns(q=pl.col("query_id")), "q",
                                    edges={"q": [*range(299)]})
              for day in days]  # fmt: skip
    halves = pl.concat(states).group_by("q").agg(pl.col("half").unique())
    assert halves["half"].list.len().to_list() == [1] * 300
    found = analysis.merge_slices(parts_of(pl.concat(days), [0] * 300 + [1] * 300))
    assert found.is_empty() or found["queries"].max() <= 600


def test_parts_that_do_not_add_up_are_refused():
    frame = drawn(9)
    first, second = frame.head(400), frame.tail(200)
    one, two = (analysis.slices_state(day, FEATURES) for day in (first, second))
    same = analysis.slices_state(first, FEATURES, part="tuesday")
    analysis.merge_slices([one, two, same])
    with pytest.raises(DataError, match="state 1 and state 3: the same part twice"):
        analysis.merge_slices([one, two, one.reverse()])
    other = analysis.slices_state(second, FEATURES, edges={"words": [2]})
    with pytest.raises(DataError, match=r"words edges is \[2.0\] there and"):
        analysis.merge_slices([one, other])
    with pytest.raises(DataError, match="other columns: words"):
        analysis.merge_slices([one, analysis.slices_state(second, FEATURES[:2])])
    with pytest.raises(DataError, match="no state of slices, but a frame of query_id"):
        analysis.merge_slices([frame])
    with pytest.raises(ValueError, match="nothing to merge"):
        analysis.merge_slices([])
    with pytest.raises(ValueError, match="a state has a column 'half'"):
        analysis.slices_state(frame.rename({"words": "half"}), ["country", "half"])
    nothing = analysis.slices_state(frame.clear(), FEATURES)
    assert analysis.merge_slices([nothing]).is_empty()
    assert_frame_equal(
        analysis.merge_slices([one, nothing, two]), analysis.merge_slices([one, two])
    )
    assert json.loads(one["definition"][0])["features"]["words"]["type"] == "integer"


@pytest.mark.parametrize(
    ("column", "wrong", "told"),
    [
        ("n", 0, "a number of queries is below 1"),
        ("x_plain", 100.0, "a sum is none that its queries can have"),
        ("xx_0", -5, "a sum is none that its queries can have"),
        ("x_2", None, "a value is null"),
        ("half", "third", "the half is none of search and check"),
    ],
)
def test_damaged_states_are_refused(column, wrong, told):
    state = analysis.slices_state(drawn(1), FEATURES)
    dtype = state.schema[column]
    first = pl.int_range(pl.len()) == 3
    bad = pl.when(first).then(pl.lit(wrong, dtype)).otherwise(column).alias(column)
    with pytest.raises(DataError, match=f"the state: in the sums .* {told}"):
        analysis.merge_slices(state.with_columns(bad))


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
        ({"n_bins": 1}, ValueError, "n_bins must be"),
        ({"edges": {"words": []}}, ValueError, "edges of 'words' must be one or more"),
        ({"edges": {"words": ["2"]}}, ValueError, "must be one or more numbers"),
        ({"edges": {"country": [2]}}, ValueError, "cuts numbers .* 'country' is none"),
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
    found = analysis.slices(segments, "x", query=["day", "query_id"])
    assert not found["significant"].any()
    with pytest.raises(DataError, match="several of query 0; give one row"):
        analysis.slices(segments, "x")
    unnamed = once.with_columns(query_id=pl.col("query_id").replace(3, None))
    with pytest.raises(DataError, match="'query_id' is null in some rows"):
        analysis.slices(unnamed, "x")
