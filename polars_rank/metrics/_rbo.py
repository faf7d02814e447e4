"""Two rankings, depth by depth: sizes of their first d documents and what they share.

With ties, a document of the block of places t to b is in the first d to the extent
``(d - t + 1) / (b - t + 1)`` (Corsi and Urbano, SIGIR 2024): at every depth one block
of each ranking is open, those before it are in, those after it out. Documents in and
open are counted, so n log n suffices.
"""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple, TypeAlias

import polars as pl

from polars_rank.core.expr import let, stable_sum
from polars_rank.core.parameters import Doc

__all__ = ["Estimate", "Tied", "powers", "rank_biased"]

Estimate: TypeAlias = Annotated[
    Literal["ext", "min", "max", "res"],
    Doc(
        "what is assumed below the end of the lists",
        {
            "ext": "agreement is extrapolated below the end of the lists",
            "min": "the least possible value",
            "max": "the largest possible value",
            "res": "the largest possible value minus the least",
        },
    ),
]
Tied: TypeAlias = Annotated[
    Literal["a", "b", "w"],
    Doc(
        "what ties mean",
        {
            "a": "the mean over all orders of tied documents",
            "b": "that mean, corrected for the information lost",
            "w": "ties share a rank, as in sports",
        },
    ),
]
ENDS: tuple[Literal["min", "max"], ...] = ("min", "max")


def rank_biased(
    x: pl.Expr, y: pl.Expr, *, p: float, estimate: Estimate, tied: Tied
) -> pl.Expr:
    """Rank-biased overlap of the rankings by two values, null where one lacks it."""
    places = [
        value.rank(end, descending=True).cast(pl.Int64).alias(f"{name}_{end}")
        for name, value in (("x", x), ("y", y))
        for end in ENDS
    ]

    def depths(doc: pl.Expr) -> pl.Expr:
        one = _List.of(doc, "x", "y", tied)
        other = _List.of(doc, "y", "x", tied)
        return let(_by_depth(doc, one, other, tied), lambda d: _sum(d, p, estimate))

    return let(pl.struct(places), depths)


class _List(NamedTuple):
    """One of the two rankings.

    ``first`` and ``last`` are places of every document's block; ``own`` tells which
    documents the other ranking lacks.
    """

    first: pl.Expr
    last: pl.Expr
    own: pl.Expr

    @staticmethod
    def of(doc: pl.Expr, name: str, other: str, tied: Tied) -> _List:
        first = doc.struct.field(f"{name}_min")
        last = first if tied == "w" else doc.struct.field(f"{name}_max")
        lacking = doc.struct.field(f"{other}_min").is_null()
        return _List(first, last, first.is_not_null() & lacking)

    @property
    def size(self) -> pl.Expr:
        return self.first.count().cast(pl.Int64)

    def open(self, depth: pl.Expr) -> pl.Expr:
        """The share of the open block that is in; 0 below the end."""
        first, last = (_at(place, depth) for place in (self.first, self.last))
        return ((depth - first + 1) / (last - first + 1)).fill_null(0.0)


def _by_depth(doc: pl.Expr, x: _List, y: _List, tied: Tied) -> pl.Expr:
    """The quantities that the estimates need at every depth."""
    least = pl.min_horizontal(x.size, y.size)
    depth = pl.int_range(1, pl.max_horizontal(x.size, y.size) + 1)
    common = doc.filter(x.first.is_not_null() & y.first.is_not_null())
    shared_x = _List.of(common, "x", "y", tied)
    shared_y = _List.of(common, "y", "x", tied)
    in_x, in_y = x.open(depth), y.open(depth)
    from_x, from_y = shared_x.first, shared_y.first
    to_x, to_y = shared_x.last, shared_y.last
    both_in = _between(pl.max_horizontal(to_x, to_y) + 1, None, depth)
    one_open = _between(pl.max_horizontal(from_x, to_y + 1), to_x, depth)
    other_open = _between(pl.max_horizontal(from_y, to_x + 1), to_y, depth)
    both_open = _between(
        pl.max_horizontal(from_x, from_y), pl.min_horizontal(to_x, to_y), depth
    )
    met = both_in + one_open * in_x + other_open * in_y + both_open * in_x * in_y
    longer = x.size > y.size
    return pl.struct(
        depth=depth,
        least=least,
        met=met,
        whole=_whole(doc, x, y, depth, tied),
        share=pl.when(longer).then(_share(x, depth)).otherwise(_share(y, depth)),
        most=pl.when(longer)
        .then(_most(x, least, depth))
        .otherwise(_most(y, least, depth)),
    )


def _whole(doc: pl.Expr, x: _List, y: _List, depth: pl.Expr, tied: Tied) -> pl.Expr:
    """The divisor of the documents in common."""
    if tied == "a":
        return depth.cast(pl.Float64)
    if tied == "w":
        ends = (_at(doc.struct.field(f"{name}_max"), depth) for name in ("x", "y"))
        first, second = (end.fill_null(depth) for end in ends)
        return (first + second) / 2.0
    squares = []
    for side in (x, y):
        first, last = _at(side.first, depth), _at(side.last, depth)
        square = first - 1 + (last - first + 1) * side.open(depth).pow(2)
        squares.append(square.fill_null(depth).cast(pl.Float64))
    return squares[0].sqrt() * squares[1].sqrt()


def _share(side: _List, depth: pl.Expr) -> pl.Expr:
    """Mean share that is in, over documents in or open in this ranking only."""
    first, last = side.first.filter(side.own), side.last.filter(side.own)
    whole, partly = _between(last + 1, None, depth), _between(first, last, depth)
    return (whole + partly * side.open(depth)) / (whole + partly)


def _most(side: _List, least: pl.Expr, depth: pl.Expr) -> pl.Expr:
    """How many documents of this ranking only could be in the other, by depth."""
    first, last = side.first.filter(side.own), side.last.filter(side.own)
    first, last = first.sort(), last.sort()
    turn = least + pl.int_range(1, first.len() + 1)
    whole = _between(pl.max_horizontal(turn, last + 1), None, depth)
    partly = _between(pl.max_horizontal(turn, first), last, depth)
    return whole + partly * side.open(depth)


def _sum(at: pl.Expr, p: float, estimate: Estimate) -> pl.Expr:
    """The sum over the known depths, and the tail below."""
    depth, least, met, whole, share, most = (
        at.struct.field(f) for f in ("depth", "least", "met", "whole", "share", "most")
    )
    weight = powers(p, depth)
    size, least = depth.max().cast(pl.Float64), least.max().cast(pl.Float64)
    beyond = (depth - least).clip(lower_bound=0.0)
    # Polars divides one value by a literal in another way than many.
    in_all, beneath = met.last(), weight.last() * p * (1.0 / (1.0 - p))

    def total(common: pl.Expr, tail: pl.Expr) -> pl.Expr:
        value = (1.0 - p) / p * (stable_sum(common / whole * weight) + tail)
        return pl.when(least > 0).then(value)

    if estimate == "ext":
        agreed = (met / whole).filter(depth == least).first()
        added = pl.when(beyond > 0).then(beyond * agreed * share).otherwise(0.0)
        return total(met + added, (in_all + (size - least) * agreed) / size * beneath)
    low = total(met, in_all * (-pl.lit(1.0 - p).log() - stable_sum(weight / depth)))
    # Every document of the shorter list turns up in the longer one, then all agree.
    end = size + least - in_all
    step = pl.int_range(0, (end - size).round(0).cast(pl.Int64) + 1).cast(pl.Float64)
    power, deep = powers(p, step).shift(1, fill_value=1.0), size + step
    rising = (2.0 * deep - end) / deep * power
    rising = weight.last() * stable_sum(rising.filter(step > 0))
    added = pl.when(beyond > 0).then(most).otherwise(0.0)
    high = total(met + added, rising + beneath * power.last())
    return {"min": low, "max": high, "res": high - low}[estimate]


def powers(p: float, depth: pl.Expr) -> pl.Expr:
    """Powers of p from the first; the last bit of ``pow`` depends on neighbors."""
    return (depth * 0.0 + p).cum_prod()


def _at(place: pl.Expr, depth: pl.Expr) -> pl.Expr:
    """First or last place of the block that is open at a depth."""
    return place.drop_nulls().sort().gather(depth - 1, null_on_oob=True)


def _between(start: pl.Expr, end: pl.Expr | None, depth: pl.Expr) -> pl.Expr:
    """How many documents' stretches, from start to end, hold the depth."""
    if end is None:
        return _until(start, depth + 1)
    real = start <= end
    return _until(start.filter(real), depth + 1) - _until(end.filter(real), depth)


def _until(place: pl.Expr, depth: pl.Expr) -> pl.Expr:
    """How many places lie before a depth."""
    return place.sort().search_sorted(depth, side="left").cast(pl.Int64)
