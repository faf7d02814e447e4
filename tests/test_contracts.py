"""What every metric promises, on data that hypothesis makes up."""

from __future__ import annotations

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
few = settings(max_examples=25, deadline=None)

grades = st.lists(st.integers(0, 4), min_size=1, max_size=12)
graded = st.lists(
    st.tuples(st.integers(-2, 4) | st.none(), st.integers(-3, 3)),
    min_size=1,
    max_size=12,
)
cutoffs = st.none() | st.integers(1, 15)


def value(
    name: str, labels: list, scores: list | None = None, **params
) -> float | None:
    """The metric of one list; labels stand in rank order unless scores say else."""
    scores = scores or [-i for i in range(len(labels))]
    frame = pl.DataFrame(
        {"s": scores, "l": labels}, schema={"s": pl.Float64, "l": pl.Float64}
    )
    return frame.select(getattr(pl.col("l").rank_eval, name)("s", **params)).item()


def cut(name: str, k: int | None) -> dict[str, int]:
    """The cutoff, for a metric that has one."""
    return {"k": k} if k is not None and "k" in METRICS[name].defaults else {}


@pytest.mark.parametrize("name", BOUNDED)
@given(rows=graded, k=cutoffs)
@few
def test_between_0_and_1(name, rows, k):
    labels, scores = map(list, zip(*rows, strict=True))
    assert -1e-12 <= value(name, labels, scores, **cut(name, k)) <= 1 + 1e-12


@pytest.mark.parametrize("name", METRICS)
@given(rows=graded, data=st.data())
@few
def test_row_order_ids_and_copies_of_a_query_change_nothing(name, rows, data):
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
    measure = pr.measure(name, **cut(name, 5))
    once = pr.per_query(frame, [measure])[measure.name].item()
    copy = frame[list(order)].with_columns(query_id=pl.lit("b"))
    renamed = copy.with_columns(query_id=pl.lit("c"), doc_id="x" + pl.col("doc_id"))
    both = pr.per_query(pl.concat([copy, frame, renamed]), [measure])
    assert both[measure.name].to_list() == [once] * 3  # to the last bit


@pytest.mark.parametrize("name", [n for n in METRICS if cut(n, 1)])
@given(rows=graded)
@few
def test_a_cutoff_beyond_the_list_is_none(name, rows):
    labels, scores = map(list, zip(*rows, strict=True))
    if name in where("a list shorter than k costs"):
        return
    whole = value(name, labels, scores)
    assert value(name, labels, scores, k=len(rows) + 3) == pytest.approx(whole)


@pytest.mark.parametrize("name", where("the best order is 1"))
@given(labels=grades)
@few
def test_the_best_order_is_1_and_the_worst_is_least(name, labels):
    best = value(name, sorted(labels, reverse=True))
    assert best == pytest.approx(1.0 if any(labels) else 0.0)
    if name not in where("a better order can cost"):
        assert value(name, sorted(labels)) <= value(name, labels) + 1e-12


@pytest.mark.parametrize("name", ["kendall_distance", "spearman"])
@given(labels=st.lists(st.integers(-9, 9), min_size=2, max_size=9, unique=True))
@few
def test_same_and_opposite_order(name, labels):
    best, worst = {"kendall_distance": (0.0, 1.0), "spearman": (1.0, -1.0)}[name]
    assert value(name, labels, labels) == pytest.approx(best)
    assert value(name, labels, [-label for label in labels]) == pytest.approx(worst)


@pytest.mark.parametrize("name", where("a better document moved up never costs"))
@given(labels=grades, k=cutoffs, data=st.data())
@few
def test_a_better_document_moved_up_never_costs(name, labels, k, data):
    low = data.draw(st.integers(0, len(labels) - 1))
    high = data.draw(st.integers(0, low))
    if labels[low] <= labels[high]:
        return
    swapped = list(labels)
    swapped[low], swapped[high] = labels[high], labels[low]
    k = cut(name, k)
    assert value(name, swapped, **k) >= value(name, labels, **k) - 1e-12


@pytest.mark.parametrize("name", MEANS)
@given(rows=graded, k=cutoffs)
@few
def test_expected_lies_between_the_extremes(name, rows, k):
    labels, scores = map(list, zip(*rows, strict=True))
    low, mean, high = (
        value(name, labels, scores, ties=ties, **cut(name, k))
        for ties in ("pessimistic", "expected", "optimistic")
    )
    assert low - 1e-12 <= mean <= high + 1e-12


@pytest.mark.parametrize("name", METRICS)
def test_losses_and_distances_are_not_negative(name):
    found = value(name, [0, 2, 1, None], [1.0, 0.5, 3.0, 2.0])
    assert found >= (-1 if name in where("it can be negative") else 0)


@pytest.mark.parametrize("name", RELEVANCE)
@pytest.mark.parametrize(
    ("policy", "wanted"), [("zero", 0.0), ("one", 1.0), ("null", None), ("skip", None)]
)
def test_nothing_relevant(name, policy, wanted):
    if METRICS[name].aggregate == "geometric" and wanted is not None:
        wanted = pytest.approx(log(max(wanted, 1e-5)))
    for labels in ([0, 0], [None, None], [-1, -2]):
        assert value(name, labels, no_relevant=policy) == wanted
    with pytest.raises(pr.DataError, match=rf"{name} is undefined.*no_relevant="):
        value(name, [0, -1], no_relevant="error")
