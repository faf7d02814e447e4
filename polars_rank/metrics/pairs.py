"""Sums over pairs of documents in n log n: the pairs are never formed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import polars as pl

from polars_rank.ranking import arg_sort_by, let, steady_sum

__all__ = [
    "Pairs",
    "block_sum",
    "both",
    "every_bit",
    "pair_sum",
    "pairs_of",
    "running_within",
    "tied",
]


class Pairs(NamedTuple):
    """Pairs of documents, by how two values order them.

    ``tied_x`` and ``tied_y`` count the pairs of equal values whatever the other value;
    ``tied_both`` those that are equal in both.
    """

    all: pl.Expr
    discordant: pl.Expr
    tied_x: pl.Expr
    tied_y: pl.Expr
    tied_both: pl.Expr

    @property
    def concordant(self) -> pl.Expr:
        """Pairs in the same order by both values."""
        apart = self.all - self.tied_x - self.tied_y + self.tied_both
        return apart - self.discordant


def pairs_of(x: pl.Expr, y: pl.Expr) -> Pairs:
    """Count the pairs of all documents (Knight, JASA 1966)."""
    n = y.len().cast(pl.Float64)
    by_x = y.gather(arg_sort_by([x, y], descending=[False, False]))
    return Pairs(
        all=n * (n - 1.0) / 2.0,
        discordant=_inversions(by_x.rank("ordinal").cast(pl.Int64) - 1),
        tied_x=tied(x),
        tied_y=tied(y),
        tied_both=tied(both(x, y)),
    )


def both(x: pl.Expr, y: pl.Expr, *, descending: bool = False) -> pl.Expr:
    """One number for two: it orders documents by ``x``, equal ones by ``y``."""
    first = x.rank("dense", descending=descending).cast(pl.Int64)
    second = y.rank("dense", descending=descending).cast(pl.Int64)
    return first * (y.len().cast(pl.Int64) + 1) + second


def tied(value: pl.Expr) -> pl.Expr:
    """Pairs of equal values: every one sees the others of its block."""
    others = value.rank("max").cast(pl.Int64) - value.rank("min").cast(pl.Int64)
    return others.sum().cast(pl.Float64) / 2.0


def block_sum(value: pl.Expr, key: pl.Expr) -> pl.Expr:
    """Sum of the values of all documents that share the key."""
    running = value.gather(key.arg_sort()).cum_sum()
    first, last = (key.rank(end).cast(pl.Int64) - 1 for end in ("min", "max"))
    return running.gather(last) - running.shift(1, fill_value=0).gather(first)


def pair_sum(
    x: pl.Expr, y: pl.Expr, terms: Sequence[tuple[pl.Expr, pl.Expr]]
) -> pl.Expr:
    """Sum of ``above_a * below_b``, over terms and pairs with x_a > x_b and y_a > y_b.

    The places by ``y`` of two documents first differ in one bit; above it they share a
    prefix. Within a prefix, sorted by ``x``, the ones (a) that come before a zero (b)
    are summed as they run.
    """
    weights = {f"above{i}": above for i, (above, _) in enumerate(terms)}
    weights |= {f"below{i}": below for i, (_, below) in enumerate(terms)}

    def total(doc: pl.Expr) -> pl.Expr:
        doc, bit = every_bit(doc)
        number = doc.struct.field("y")
        block = bit * number.len() + number // 2 ** (bit + 1)
        one = (number // 2**bit) % 2
        kept = [doc.struct.field(name) for name in ("x", *weights)]
        return let(pl.struct(block.alias("block"), one.alias("one"), *kept), swept)

    def swept(event: pl.Expr) -> pl.Expr:
        keys = (event.struct.field(f) for f in ("block", "x", "one"))
        event = event.sort_by(*keys)
        block, one = event.struct.field("block"), event.struct.field("one")
        sums = (
            (1 - one)
            * event.struct.field(f"below{i}")
            * running_within(one * event.struct.field(f"above{i}"), block)
            for i in range(len(terms))
        )
        return pl.sum_horizontal(steady_sum(s) for s in sums)

    weighed = [weight.alias(name) for name, weight in weights.items()]
    down = x.rank("dense", descending=True).cast(pl.Int64).alias("x")
    up = (y.rank("dense").cast(pl.Int64) - 1).alias("y")
    return let(pl.struct(down, up, *weighed), total)


def every_bit(value: pl.Expr) -> tuple[pl.Expr, pl.Expr]:
    """All documents once for each bit of a number below their count; and the bit."""
    n = value.len().cast(pl.Int64)
    bits = n.clip(lower_bound=1).cast(pl.Float64).log(2).cast(pl.Int64) + 2
    row = pl.int_range(0, n * bits)
    return value.gather(row % n), row // n


def running_within(value: pl.Expr, block: pl.Expr) -> pl.Expr:
    """Running sum along each block; ``block`` is sorted."""
    running = value.cum_sum()
    start = block.rank("min").cast(pl.Int64) - 1
    return running - running.shift(1, fill_value=0).gather(start)


def _inversions(place: pl.Expr) -> pl.Expr:
    """Pairs out of order in a permutation of 0, 1, 2, ...: no pair is formed.

    Two numbers first differ in one bit; above it they share a prefix. Sorted by that
    prefix (stably), the pair is an inversion where the one comes before the zero.
    """

    def count(number: pl.Expr) -> pl.Expr:
        number, bit = every_bit(number)
        block = bit * number.len() + number // 2 ** (bit + 1)
        one = ((number // 2**bit) % 2).sort_by(block, maintain_order=True)
        return ((1 - one) * running_within(one, block.sort())).sum()

    return let(place, count)
