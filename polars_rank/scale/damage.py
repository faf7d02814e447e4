"""Partials that nobody can have made: lost rows and columns, impossible sums."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf

import polars as pl

from polars_rank._engine.result import Aggregation
from polars_rank.core.aggregate import UndefinedIsOne, exact_total
from polars_rank.core.state import DIGESTS, PLACE, State, damaged, require_columns
from polars_rank.scale.partial import ATTRIBUTES, COUNTS, PLAUSIBLE, states_of

__all__ = ["require_partial", "require_rows", "require_sums"]

BESIDE = (("judged", "found"), ("asked", "unknown"), ("matched", "judged"))
NEAR = 1e-9  # of a sum: beyond any rounding


def require_partial(state: State, aggregation: Aggregation) -> None:
    """Refuse what lacks a column, or has one of another type."""
    numbers = {column for own in states_of(aggregation) for column in own}
    numbers |= {"queries", "unlisted"} | {n for n in COUNTS if n in state.frame.columns}
    for present, needed in BESIDE:
        numbers |= {needed} if present in state.frame.columns else set()
    numbers |= set() if aggregation.check == "off" else {"highest"}
    others = [f"by{i}" for i in range(len(aggregation.by))]
    others += ["violations", PLAUSIBLE]
    require_columns(
        state,
        {
            "measure": "text",
            ATTRIBUTES: "text",
            **dict.fromkeys(sorted(numbers), "number"),
            **dict.fromkeys(others, "any"),
        },
    )


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


def _faults(parts: pl.DataFrame, aggregation: Aggregation) -> Iterator[tuple[int, str]]:
    """Counts that are null or below 0, and states that are null; and where."""
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
            if column.endswith("_high"):
                bad = pl.col(column) < 0
            elif column in ("n", "nulls"):
                bad = ~pl.col(column).is_between(0, queries)
            else:
                bad = pl.col(column).is_null()
            bad = own & bad.fill_null(value=not column.endswith("_high"))
            wrong[column] = wrong.get(column, pl.lit(value=False)) | bad
    found = parts.select(PLACE, **wrong)
    for name in wrong:
        yield from ((i, name) for i in found.filter(pl.col(name))[PLACE].head(1))


def require_sums(
    parts: pl.DataFrame,
    states: Sequence[State],
    aggregation: Aggregation,
    bounds: Sequence[tuple[float, float]],
) -> None:
    """Refuse sums that no values within the bounds of their measure have.

    The rows have to keep all rules: values of others may be anything.
    """
    for name, aggregate, ends, state in zip(
        aggregation.names,
        aggregation.aggregates,
        bounds,
        states_of(aggregation),
        strict=True,
    ):
        totals = {column: pl.col(column) for column in state}
        x, n = exact_total("x", totals), pl.col("n").cast(pl.Float64)
        size, largest = n, pl.col("x_high").fill_null(0.0)
        if aggregation.weighted:
            size = exact_total("w", totals) if "w_plain" in state else n
        least, most = ends
        if aggregation.weighted and (
            isinstance(aggregate, UndefinedIsOne) or "w_plain" not in state
        ):
            least, most = -inf, inf  # a sum of weights, or values without theirs
        near = NEAR * (n * largest + 1.0)
        right = (x - pl.col("x_plain")).abs() <= near
        right &= x.abs() <= n * largest + near
        for end, sign in ((least, 1), (most, -1)):
            if abs(end) < inf:
                right &= sign * (x - end * size) >= -near - NEAR * size
        known = pl.col("x_plain").is_finite() & largest.is_finite()
        own = parts.filter(measure=name)
        wrong = own.filter(~(right | ~known).fill_null(value=False))
        for place in wrong[PLACE].head(1):
            shown = f"the sum of {name!r}" + ("" if least == -inf else f" of {ends}")
            fault = f"{shown} is none that its queries can have; make it anew"
            raise damaged(states[place].name, fault)
