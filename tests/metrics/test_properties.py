"""What every metric promises, on data that hypothesis makes up."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache, partial
from itertools import pairwise
from math import log

import polars as pl
import pytest
from cases import where
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal
from variants import variants
from vocabularies import METRICS

import polars_rank as pr
from polars_rank.conventions.tools import complete_arguments
from polars_rank.core.metric.registry import of_vocabulary

RELEVANCE = [name for name, m in METRICS.items() if m.needs_relevant]
RANKED = of_vocabulary("ranking")
UNBOUNDED = where("there is no upper bound") + where("it can be negative")
BOUNDED = [name for name in RELEVANCE if name not in UNBOUNDED]
MEANS = [
    name
    for name in RELEVANCE
    if METRICS[name].tie_mean
    and METRICS[name].tie_sensitive
    and name not in where("a better order can cost")
]
few = settings(max_examples=3, deadline=None)  # each for all metrics

grades = st.lists(st.integers(0, 4), min_size=1, max_size=12)
graded = st.lists(
    st.tuples(st.integers(-2, 4) | st.none(), st.integers(-3, 3)),
    min_size=1,
    max_size=12,
)
cutoffs = st.none() | st.integers(1, 15)
Values = dict[str, float | None]


def some(lists: st.SearchStrategy) -> st.SearchStrategy:
    """Several lists an example: they cost one plan."""
    return st.lists(lists, min_size=5, max_size=10)


def values(
    names: Iterable[str], lists: list[list[tuple]], k: int | None = None, **params
) -> list[Values]:
    """The metrics of each list of labels and scores.

    A metric without a cutoff has none.
    """
    rows = [(q, *row) for q, listed in enumerate(lists) for row in listed]
    schema = {"q": pl.Int64, "l": pl.Float64, "s": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    asked = [expression(name, k, **params) for name in names]
    found = frame.group_by("q", maintain_order=True).agg(asked).drop("q")
    return found.rows(named=True)


def in_rank_order(labels: list) -> list[tuple]:
    return [(label, -i) for i, label in enumerate(labels)]


@cache
def expression(name: str, k: int | None, **params) -> pl.Expr:
    method = getattr(pl.col("l").rank_eval, name)
    return method("s", **cut(name, k), **params).alias(name)


def cut(name: str, k: int | None) -> dict[str, int]:
    """The cutoff, for a metric that has one."""
    return {"k": k} if k is not None and "k" in METRICS[name].parameters else {}


def assert_close(found: list[Values], wanted: list[Values]) -> None:
    for one, other in zip(found, wanted, strict=True):
        assert one == pytest.approx(other)


def assert_ordered(*rising: list[Values], otherwise: str = "") -> None:
    """No metric of a list falls from one list of values to the next."""
    for lows, highs in pairwise(rising):
        for low, high in zip(lows, highs, strict=True):
            falls = {n: (low[n], high[n]) for n in low if not low[n] <= high[n] + 1e-12}
            assert not falls, otherwise


@given(lists=some(graded), k=cutoffs)
@few
def test_between_0_and_1(lists, k):
    found = values(BOUNDED, lists, k)
    least, most = (dict.fromkeys(BOUNDED, bound) for bound in (0.0, 1.0))
    assert_ordered(
        [least] * len(lists),
        found,
        [most] * len(lists),
        otherwise="a fact in WHERE of tests/cases: no upper bound, it can be negative",
    )


@given(lists=some(graded), seed=st.integers(0, 2**32))
@few
def test_row_order_ids_and_copies_of_a_query_change_nothing(lists, seed):
    rows = [
        (f"a{q:02}", f"d{i:02}", score, label)
        for q, listed in enumerate(lists)
        for i, (label, score) in enumerate(listed)
    ]
    schema = {"query_id": pl.String, "doc_id": pl.String}
    schema |= {"score": pl.Float64, "label": pl.Float64}
    frame = pl.DataFrame(rows, schema=schema, orient="row")
    measures = [pr.measure(n, name=n, **cut(n, 5)) for n in METRICS]
    once = pr.per_query(frame, measures).drop("query_id")
    copy = frame.sample(fraction=1, shuffle=True, seed=seed)
    copy = copy.with_columns(query_id="b" + pl.col("query_id"))
    renamed = copy.with_columns(
        query_id="c" + pl.col("query_id"), doc_id="x" + pl.col("doc_id")
    )
    both = pr.per_query(pl.concat([copy, frame, renamed]), measures).drop("query_id")
    for found in both.iter_slices(len(lists)):
        assert_frame_equal(found, once, check_exact=True)  # to the last bit


@given(lists=some(graded), more=st.integers(0, 3))
@few
def test_a_cutoff_beyond_the_list_is_none(lists, more):
    names = [n for n in METRICS if cut(n, 1)]
    names = [n for n in names if n not in where("a list shorter than k costs")]
    found = values(names, lists, k=max(map(len, lists)) + more)
    assert_close(found, values(names, lists))


@given(lists=some(grades))
@few
def test_the_best_order_is_1_and_the_worst_is_least(lists):
    names = where("the best order is 1")
    best = [in_rank_order(sorted(labels, reverse=True)) for labels in lists]
    wanted = [dict.fromkeys(names, 1.0 if any(labels) else 0.0) for labels in lists]
    assert_close(values(names, best), wanted)
    names = [n for n in names if n not in where("a better order can cost")]
    worst = [in_rank_order(sorted(labels)) for labels in lists]
    given_order = [in_rank_order(labels) for labels in lists]
    assert_ordered(values(names, worst), values(names, given_order))


@given(some(st.lists(st.integers(-9, 9), min_size=2, max_size=9, unique=True)))
@few
def test_same_and_opposite_order(lists):
    names = ["kendall_distance", "spearman"]
    best = values(names, [[(x, x) for x in labels] for labels in lists])
    worst = values(names, [[(x, -x) for x in labels] for labels in lists])
    assert_close(best, [{"kendall_distance": 0.0, "spearman": 1.0}] * len(lists))
    assert_close(worst, [{"kendall_distance": 1.0, "spearman": -1.0}] * len(lists))


@given(pairs=some(st.tuples(grades, st.integers(0, 11), st.integers(0, 11))), k=cutoffs)
@few
def test_a_better_document_moved_up_never_costs(pairs, k):
    before, after = [], []
    for labels, one, other in pairs:
        high, low = sorted((one % len(labels), other % len(labels)))
        swapped = list(labels)
        if labels[low] > labels[high]:
            swapped[low], swapped[high] = labels[high], labels[low]
        before.append(in_rank_order(labels))
        after.append(in_rank_order(swapped))
    names = where("a better document moved up never costs")
    assert_ordered(values(names, before, k), values(names, after, k))


@given(lists=some(graded), k=cutoffs)
@few
def test_expected_lies_between_the_extremes(lists, k):
    rules = ("pessimistic", "expected", "optimistic")
    assert_ordered(*(values(MEANS, lists, k, ties=rule) for rule in rules))


def test_losses_and_distances_are_not_negative():
    found = values(METRICS, [[(0, 1.0), (2, 0.5), (1, 3.0), (None, 2.0)]])
    least = {n: -1.0 if n in where("it can be negative") else 0.0 for n in METRICS}
    assert_ordered([least], found)


@pytest.mark.parametrize(
    ("policy", "wanted"), [("zero", 0.0), ("one", 1.0), ("null", None), ("skip", None)]
)
def test_nothing_relevant(policy, wanted):
    geometric = None if wanted is None else pytest.approx(log(max(wanted, 1e-5)))
    lists = [in_rank_order(labels) for labels in ([0, 0], [None, None], [-1, -2])]
    for found in values(RELEVANCE, lists, no_relevant=policy):
        for name, value in found.items():
            mean = METRICS[name].aggregate != "geometric"
            assert value == (wanted if mean else geometric), name


@pytest.mark.parametrize("name", [n for n in RELEVANCE if n in RANKED])
def test_a_formula_of_relevant_documents_is_0_or_null_where_there_are_none(name):
    """It is that of no document, so nothing has to ask whether any is relevant."""
    metric = METRICS[name]
    lists = [in_rank_order(labels) for labels in ([0, 0, 0], [None, None], [-1, 0, -1])]
    rows = [(q, *row) for q, listed in enumerate(lists) for row in listed]
    frame = pl.DataFrame(rows, schema=["q", "l", "s"], orient="row")
    ranked = pl.when(pl.col("q") != 0).then(-pl.col("s") + 1)  # or nothing is retrieved
    asked = []
    for params in filter(metric.is_zero_of_nothing, variants(name)):
        chosen = complete_arguments(metric, params)
        least = [chosen[p] for p in map(metric.named, ("rel", "optional_rel")) if p]
        below = 0.4 if any(least) else 0.0  # relevant where no grade is asked for
        for ties in ["order"] + ["expected"] * metric.has_tie_mean(chosen):
            formula = partial(metric.function, **chosen)
            label = pl.col("l") + below
            asked.append(pr.metric_expr(formula, label, score="s", ties=ties))
        asked.append(pr.metric_expr(formula, label, rank=ranked))
    found = frame.group_by("q").agg(x.alias(str(i)) for i, x in enumerate(asked))
    assert set(found.drop("q").fill_null(0.0).unpivot()["value"]) <= {0.0}


def test_nothing_relevant_is_refused_where_it_is_an_error():
    for name in RELEVANCE:
        with pytest.raises(pr.DataError, match=rf"{name} is undefined.*no_relevant="):
            values([name], [in_rank_order([0, -1])], no_relevant="error")
