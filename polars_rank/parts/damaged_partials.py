"""Partials that nobody can have made: lost rows and columns, impossible sums."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from polars_rank._engine.finish import Aggregation
from polars_rank.core.exact.aggregate import UndefinedIsOne, exact_total
from polars_rank.core.exact.state import DIGESTS, PLACE, State, damaged, require_columns
from polars_rank.core.metric.registry import UNBOUNDED
from polars_rank.core.words.list_totals import ListTotals
from polars_rank.core.words.recommended_items import (
    ITEMS,
    ITEMS_BY_LENGTH,
    LISTS,
    RecommendedItems,
)
from polars_rank.parts.partial import ATTRIBUTES, COUNTS, PLAUSIBLE, states_of

BESIDE = (("judged", "found"), ("asked", "unknown"), ("matched", "judged"))
COUNTED = (ITEMS, ITEMS_BY_LENGTH, LISTS)
OF_SOME_VALUES = ("low", "top", *COUNTED)  # null if there are none
NEAR = 1e-9  # of a sum: beyond any rounding


def require_partial(state: State, aggregation: Aggregation) -> None:
    """Refuse what lacks a column, or has one of another type."""
    numbers = {column for own in states_of(aggregation) for column in own}
    numbers |= {"queries", "unlisted"} | {n for n in COUNTS if n in state.frame.columns}
    for present, needed in BESIDE:
        numbers |= {needed} if present in state.frame.columns else set()
    numbers |= set() if aggregation.check == "off" else {"highest", "unjudged"}
    others = [f"by{i}" for i in range(len(aggregation.by))]
    others += ["violations", PLAUSIBLE]
    for lists in numbers & {"counts", *COUNTED}:
        numbers.remove(lists)
        others.append(lists)
    require_columns(
        state,
        {
            "measure": "text",
            ATTRIBUTES: "text",
            **dict.fromkeys(sorted(numbers), "number"),
            **dict.fromkeys(others, "any"),
        },
    )
    dtype = state.frame.schema.get("counts")
    if "counts" in others and not isinstance(dtype, pl.Struct):
        fault = f"column 'counts' is {dtype}, no struct; make it anew"
        raise damaged(state.name, fault)


def require_rows(
    parts: pl.DataFrame, states: Sequence[State], aggregation: Aggregation
) -> None:
    """Refuse a segment without the row of a measure, and counts below 0.

    ``parts`` are the rows of all partials, each with the place of its own.
    """
    by = [f"by{i}" for i in range(len(aggregation.by))]
    names = list(aggregation.names)
    measure = pl.col("measure")
    unknown = parts.filter(measure.is_not_null() & ~measure.is_in(names))
    for place, name in unknown.select(PLACE, "measure").iter_rows():
        raise damaged(states[place].name, f"measure {name!r} is none of {names}")
    segments = parts.group_by(PLACE, DIGESTS, *by, maintain_order=True).agg("measure")
    whole = pl.col("measure").list.n_unique() == len(names) + 1
    for place, found in segments.filter(~whole).select(PLACE, "measure").iter_rows():
        lost = [repr(n) for n in names if n not in found]
        lost += [] if None in found else ["the counts"]
        fault = f"a segment lacks the row of {' and of '.join(lost)}; make it anew"
        raise damaged(states[place].name, fault)
    for i, column in _faults(parts, aggregation):
        fault = f"column {column!r} holds a number that no part can have; make it anew"
        raise damaged(states[i].name, fault)


def _faults(parts: pl.DataFrame, aggregation: Aggregation) -> list[tuple[int, str]]:
    """Find counts that are null or below 0, and states that are null."""
    by = [f"by{i}" for i in range(len(aggregation.by))]
    head = pl.col("measure").is_null()
    queries = pl.col("queries").filter(head).max().over(PLACE, DIGESTS, *by)
    counts = [n for n in COUNTS if n in parts.columns]
    wrong = {name: head & (pl.col(name) < 0) for name in counts}
    for name in ("queries", "unlisted"):
        wrong[name] = head & (pl.col(name) < 0).fill_null(value=True)
    for measure, state in zip(aggregation.names, states_of(aggregation), strict=True):
        own = pl.col("measure") == measure
        for column in state:
            if column.endswith("_high") or column == "catalog":
                bad = pl.col(column) < 0
            elif column == "counts":
                bad = _is_miscounted(weighted=aggregation.weighted)
            elif column in OF_SOME_VALUES:
                bad = pl.col(column).is_null() & (pl.col("n") > 0)
            elif column in ("n", "nulls"):
                bad = ~pl.col(column).is_between(0, queries)
            else:
                bad = pl.col(column).is_null()
            optional = column in (*OF_SOME_VALUES, "catalog")
            unknown = not column.endswith("_high") and not optional
            bad = own & bad.fill_null(value=unknown)
            wrong[column] = wrong.get(column, pl.lit(value=False)) | bad
    firsts = (pl.col(PLACE).filter(bad).first().alias(n) for n, bad in wrong.items())
    places = parts.select(firsts).row(0, named=True)
    return [(place, name) for name, place in places.items() if place is not None]


def _is_miscounted(*, weighted: bool) -> pl.Expr:
    """Tell whether counts of values are not those of the queries with a value."""
    times, counts = pl.element().struct.field("times"), pl.col("counts").struct
    values = counts.field("values")
    lost = counts.field("rounded").is_null() & (pl.col("n") > 0)
    wrong = values.list.eval((times <= 0).any()).list.first()
    if not weighted:
        total = values.list.eval(times.sum()).list.first()
        wrong = wrong.fill_null(value=False) | (total.fill_null(0) != pl.col("n"))
    return lost | wrong.fill_null(value=False)


def require_sums(
    parts: pl.DataFrame,
    states: Sequence[State],
    aggregation: Aggregation,
    bounds: Sequence[tuple[float, float]],
) -> None:
    """Refuse sums that no values within the bounds of their measure have.

    The rows have to keep all rules: values of others may be anything.
    """
    ends = dict(zip(aggregation.names, bounds, strict=True))
    own = zip(aggregation.names, aggregation.aggregates, strict=True)
    for (name, aggregate), state in zip(own, states_of(aggregation), strict=True):
        mixed = isinstance(aggregate, UndefinedIsOne) or "w_plain" not in state
        if aggregation.weighted and mixed:
            ends[name] = UNBOUNDED  # a sum of weights, or values without theirs
    totals = {column: pl.col(column) for column in parts.columns}
    n, high = pl.col("n").cast(pl.Float64), pl.col("x_high").fill_null(0.0)
    size = pl.col("size")
    kinds = zip(aggregation.names, aggregation.aggregates, strict=True)
    without = RecommendedItems | ListTotals
    summed = [n for n, kind in kinds if not isinstance(kind, without)]
    if not summed:
        return
    rows = parts.filter(pl.col("measure").is_in(summed)).select(
        PLACE,
        "measure",
        "x_plain",
        n=n,
        high=high,
        near=NEAR * (n * high + 1.0),
        x=exact_total("x", totals),
        size=exact_total("w", totals) if "w_plain" in totals else n,
        least=pl.col("measure").replace_strict({m: e[0] for m, e in ends.items()}),
        most=pl.col("measure").replace_strict({m: e[1] for m, e in ends.items()}),
    )
    x, near, plain = pl.col("x"), pl.col("near"), pl.col("x_plain")
    right = (x - plain).abs() <= near
    right &= x.abs() <= pl.col("n") * pl.col("high") + near
    for end, sign in (("least", 1.0), ("most", -1.0)):
        below = sign * (x - pl.col(end) * size) < -near - NEAR * size
        right &= ~(pl.col(end).is_finite() & below)
    known = plain.is_finite() & pl.col("high").is_finite()
    wrong = rows.filter(~(right | ~known).fill_null(value=False))
    for place, name in wrong.select(PLACE, "measure").rows():
        shown = f"the sum of {name!r}"
        shown += "" if ends[name] == UNBOUNDED else f", of values in {ends[name]},"
        fault = f"{shown} is none that its queries can have; make it anew"
        raise damaged(states[place].name, fault)
