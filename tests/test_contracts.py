"""What every metric promises, on data that hypothesis makes up."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from math import log

import polars as pl
import pytest
from cases import where
from hypothesis import given, settings
from hypothesis import strategies as st
from vocabularies import METRICS

import polars_rank as pr

RELEVANCE = [name for name, m in METRICS.items() if m.needs_relevant]
UNBOUNDED = where("there is no upper bound") + where("it can be negative")
BOUNDED = [name for name in RELEVANCE if name not in UNBOUNDED]
MEANS = [
    name
    for name in RELEVANCE
    if METRICS[name].tie_mean
    and METRICS[name].tie_sensitive
    and name not in where("a better order can cost")
]
few = settings(max_examples=15, deadline=None)  # each for all metrics

grades = st.lists(st.integers(0, 4), min_size=1, max_size=12)
graded = st.lists(
    st.tuples(st.integers(-2, 4) | st.none(), st.integers(-3, 3)),
    min_size=1,
    max_size=12,
)
cutoffs = st.none() | st.integers(1, 15)
Values = dict[str, float | None]


def values(
    names: Iterable[str],
    labels: list,
    scores: list | None = None,
    k: int | None = None,
    **params,
) -> Values:
    """The metrics of one list; labels stand in rank order unless scores say else.

    A metric without a cutoff has none.
    """
    scores = scores or [-i for i in range(len(labels))]
    frame = pl.DataFrame(
        {"s": scores, "l": labels}, schema={"s": pl.Float64, "l": pl.Float64}
    )
    asked = [expression(name, k, **params) for name in names]
    return frame.select(asked).row(0, named=True)


@cache
def expression(name: str, k: int | None, **params) -> pl.Expr:
    method = getattr(pl.col("l").rank_eval, name)
    return method("s", **cut(name, k), **params).alias(name)


def cut(name: str, k: int | None) -> dict[str, int]:
    """The cutoff, for a metric that has one."""
    return {"k": k} if k is not None and "k" in METRICS[name].parameters else {}


def assert_close(found: Values, wanted: Values) -> None:
    assert found == pytest.approx(wanted)


def assert_ordered(*rising: Values) -> None:
    """No metric falls from one row of values to the next."""
    for low, high in pairwise(rising):
        falls = {n: (low[n], high[n]) for n in low if not low[n] <= high[n] + 1e-12}
        assert not falls


@given(rows=graded, k=cutoffs)
@few
def test_between_0_and_1(rows, k):
    labels, scores = map(list, zip(*rows, strict=True))
    found = values(BOUNDED, labels, scores, k)
    assert_ordered(dict.fromkeys(found, 0.0), found, dict.fromkeys(found, 1.0))


@given(rows=graded, data=st.data())
@few
def test_row_order_ids_and_copies_of_a_query_change_nothing(rows, data):
    labels, scores = map(list, zip(*rows, strict=True))
    frame = pl.DataFrame(
        {
            "query_id": ["a"] * len(rows),
            "doc_id": [f"d{i:02}" for i in range(len(rows))],
            "score": scores,
            "label": labels,
        },
        schema_overrides={"label": pl.Float64},
    )
    order = data.draw(st.permutations(range(len(rows))))
    measures = [pr.measure(n, name=n, **cut(n, 5)) for n in METRICS]
    once = pr.per_query(frame, measures).drop("query_id").row(0, named=True)
    copy = frame[list(order)].with_columns(query_id=pl.lit("b"))
    renamed = copy.with_columns(query_id=pl.lit("c"), doc_id="x" + pl.col("doc_id"))
    both = pr.per_query(pl.concat([copy, frame, renamed]), measures)
    found = {name: both[name].to_list() for name in once}
    changed = {n: (once[n], found[n]) for n in once if found[n] != [once[n]] * 3}
    assert not changed  # to the last bit


@given(rows=graded)
@few
def test_a_cutoff_beyond_the_list_is_none(rows):
    labels, scores = map(list, zip(*rows, strict=True))
    names = [n for n in METRICS if cut(n, 1)]
    names = [n for n in names if n not in where("a list shorter than k costs")]
    found = values(names, labels, scores, k=len(rows) + 3)
    assert_close(found, values(names, labels, scores))


@given(labels=grades)
@few
def test_the_best_order_is_1_and_the_worst_is_least(labels):
    names = where("the best order is 1")
    best = values(names, sorted(labels, reverse=True))
    assert_close(best, dict.fromkeys(names, 1.0 if any(labels) else 0.0))
    names = [n for n in names if n not in where("a better order can cost")]
    assert_ordered(values(names, sorted(labels)), values(names, labels))


@given(labels=st.lists(st.integers(-9, 9), min_size=2, max_size=9, unique=True))
@few
def test_same_and_opposite_order(labels):
    names, turned = ["kendall_distance", "spearman"], [-label for label in labels]
    best, worst = values(names, labels, labels), values(names, labels, turned)
    assert_close(best, {"kendall_distance": 0.0, "spearman": 1.0})
    assert_close(worst, {"kendall_distance": 1.0, "spearman": -1.0})


@given(labels=grades, k=cutoffs, data=st.data())
@few
def test_a_better_document_moved_up_never_costs(labels, k, data):
    low = data.draw(st.integers(0, len(labels) - 1))
    high = data.draw(st.integers(0, low))
    if labels[low] <= labels[high]:
        return
    swapped = list(labels)
    swapped[low], swapped[high] = labels[high], labels[low]
    names = where("a better document moved up never costs")
    assert_ordered(values(names, labels, k=k), values(names, swapped, k=k))


@given(rows=graded, k=cutoffs)
@few
def test_expected_lies_between_the_extremes(rows, k):
    labels, scores = map(list, zip(*rows, strict=True))
    rules = ("pessimistic", "expected", "optimistic")
    assert_ordered(*(values(MEANS, labels, scores, k, ties=rule) for rule in rules))


def test_losses_and_distances_are_not_negative():
    found = values(METRICS, [0, 2, 1, None], [1.0, 0.5, 3.0, 2.0])
    least = {n: -1.0 if n in where("it can be negative") else 0.0 for n in METRICS}
    assert_ordered(least, found)


@pytest.mark.parametrize(
    ("policy", "wanted"), [("zero", 0.0), ("one", 1.0), ("null", None), ("skip", None)]
)
def test_nothing_relevant(policy, wanted):
    geometric = None if wanted is None else pytest.approx(log(max(wanted, 1e-5)))
    for labels in ([0, 0], [None, None], [-1, -2]):
        found = values(RELEVANCE, labels, no_relevant=policy)
        for name, value in found.items():
            mean = METRICS[name].aggregate != "geometric"
            assert value == (wanted if mean else geometric), name


def test_nothing_relevant_is_refused_where_it_is_an_error():
    for name in RELEVANCE:
        with pytest.raises(pr.DataError, match=rf"{name} is undefined.*no_relevant="):
            values([name], [0, -1], no_relevant="error")
