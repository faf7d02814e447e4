"""Sums over pairs of documents in n log n steps: no pair is formed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import polars as pl

from polars_rank.core.expr import let, stable_sum

__all__ = [
    "ONE",
    "Blocks",
    "Pairs",
    "block_sum",
    "both",
    "every_bit",
    "let_pairs",
    "others_tied",
    "pair_sum",
    "running_within",
    "tied",
]

ONE = pl.lit(1)


class Pairs(NamedTuple):
    """The number, or weight, of pairs of documents, by how two values order them.

    ``tied_x`` and ``tied_y`` are the pairs of equal values whatever the other value;
    ``tied_both`` those that are equal in both.
    """

    all: pl.Expr
    concordant: pl.Expr
    tied_x: pl.Expr
    tied_y: pl.Expr
    tied_both: pl.Expr

    @property
    def discordant(self) -> pl.Expr:
        """Pairs in opposite order."""
        apart = self.all - self.tied_x - self.tied_y + self.tied_both
        return apart - self.concordant

    @property
    def difference(self) -> pl.Expr:
        """Concordant less discordant pairs."""
        return self.concordant - self.discordant

    def let(self, f: Callable[[Pairs], pl.Expr]) -> pl.Expr:
        """``f`` of these numbers, a single value, each computed once."""
        numbers = pl.struct(**self._asdict())
        return let(numbers, lambda n: f(Pairs(*map(n.struct.field, self._fields))))


class Blocks(NamedTuple):
    """Per document, how many are above and within its block of equal scores."""

    score: pl.Expr
    positive: pl.Expr

    @property
    def first(self) -> pl.Expr:
        return self.score.rank("min", descending=True).cast(pl.Int64)

    @property
    def last(self) -> pl.Expr:
        return self.score.rank("max", descending=True).cast(pl.Int64)

    @property
    def relevant(self) -> pl.Expr:
        return self.positive.sum().cast(pl.Float64)

    @property
    def nonrelevant(self) -> pl.Expr:
        return (~self.positive).sum().cast(pl.Float64)

    @property
    def relevant_above(self) -> pl.Expr:
        return self._running.shift(1, fill_value=0.0).gather(self.first - 1)

    @property
    def relevant_tied(self) -> pl.Expr:
        return self._running.gather(self.last - 1) - self.relevant_above

    @property
    def nonrelevant_above(self) -> pl.Expr:
        return self.first - 1.0 - self.relevant_above

    @property
    def nonrelevant_tied(self) -> pl.Expr:
        return self.last - self.first + 1.0 - self.relevant_tied

    @property
    def _running(self) -> pl.Expr:
        return self.positive.cast(pl.Float64).cum_sum()


def let_pairs(x: pl.Expr, y: pl.Expr, f: Callable[[Pairs], pl.Expr]) -> pl.Expr:
    """``f`` of the pairs of all documents, a single value; each kind is counted once.

    Source: Knight, JASA 1966, for ties.
    """

    def counted(doc: pl.Expr) -> pl.Expr:
        x, y = doc.struct.field("x"), doc.struct.field("y")
        n = y.len().cast(pl.Float64)
        pairs = Pairs(
            all=n * (n - 1.0) / 2.0,
            concordant=pair_sum(x, y, [(ONE, ONE)]),
            tied_x=tied(x),
            tied_y=tied(y),
            tied_both=tied(both(x, y)),
        )
        return pairs.let(f)

    return let(pl.struct(x=x.rank("dense"), y=y.rank("dense")), counted)


def both(x: pl.Expr, y: pl.Expr, *, descending: bool = False) -> pl.Expr:
    """One number for two: it orders documents by ``x``, equal ones by ``y``."""
    first = x.rank("dense", descending=descending).cast(pl.Int64)
    second = y.rank("dense", descending=descending).cast(pl.Int64)
    return first * (y.len().cast(pl.Int64) + 1) + second


def tied(value: pl.Expr) -> pl.Expr:
    """Pairs of equal values."""
    return others_tied(value).sum().cast(pl.Float64) / 2.0


def others_tied(value: pl.Expr) -> pl.Expr:
    """How many other documents have the value of this one."""
    return value.rank("max").cast(pl.Int64) - value.rank("min").cast(pl.Int64)


def block_sum(value: pl.Expr, key: pl.Expr) -> pl.Expr:
    """Sum of the values of all documents that share the key."""
    running = value.gather(key.arg_sort()).cum_sum()
    first, last = (key.rank(end).cast(pl.Int64) - 1 for end in ("min", "max"))
    return running.gather(last) - running.shift(1, fill_value=0).gather(first)


def pair_sum(
    x: pl.Expr, y: pl.Expr, terms: Sequence[tuple[pl.Expr, pl.Expr]]
) -> pl.Expr:
    """Sum of ``above_a * below_b``, over terms and pairs with x_a > x_b and y_a > y_b.

    By every bit of the place by ``y``: in a block sorted by ``x``, the ones (a) that
    come before a zero (b) are summed as they run; those of an equal ``x`` come after.
    """
    weights = {f"above{i}": above for i, (above, _) in enumerate(terms)}
    weights |= {f"below{i}": below for i, (_, below) in enumerate(terms)}

    def ordered(event: pl.Expr) -> pl.Expr:
        block, x, one = (event.struct.field(f) for f in ("block", "x", "one"))
        by_block_x_one = (block * event.len() + x) * 2 + one  # as one number
        return let(event.sort_by(by_block_x_one), swept)

    def swept(event: pl.Expr) -> pl.Expr:
        block, one = event.struct.field("block"), event.struct.field("one")
        sums = (
            (1 - one)
            * event.struct.field(f"below{i}")
            * running_within(one * event.struct.field(f"above{i}"), block)
            for i in range(len(terms))
        )
        return pl.sum_horizontal(stable_sum(s) for s in sums)

    down = x.rank("dense", descending=True).cast(pl.Int64) - 1
    return every_bit(y, {"x": down, **weights}, ordered)


def every_bit(
    value: pl.Expr, others: dict[str, pl.Expr], f: Callable[[pl.Expr], pl.Expr]
) -> pl.Expr:
    """``f`` of the documents, each repeated for every bit of its place by ``value``.

    Two places first differ in one bit; above it they share a prefix. So each pair of
    different values meets in one ``block`` (a bit and a prefix) in which the greater
    has ``one`` and the smaller has not. Beside these the fields are ``others``.
    """

    def spread(doc: pl.Expr) -> pl.Expr:
        n, greatest = doc.len().cast(pl.Int64), doc.struct.field("number").max()
        bits = (greatest.fill_null(0) + 0.5).log(2).floor().cast(pl.Int64) + 1
        row = pl.int_range(0, n * bits)
        return let(pl.struct(doc=doc.gather(row % n), bit=row // n), cut)

    def cut(event: pl.Expr) -> pl.Expr:
        doc, bit = event.struct.field("doc"), event.struct.field("bit")
        number = doc.struct.field("number")
        prefix = number // 2**bit
        kept = [doc.struct.field(name) for name in others]
        block = bit * (number.max() + 1) + prefix // 2
        return let(pl.struct(*kept, block=block, one=prefix % 2), f)

    number = value.rank("dense").cast(pl.Int64) - 1
    named = (other.alias(name) for name, other in others.items())
    return let(pl.struct(*named, number=number), spread)


def running_within(value: pl.Expr, block: pl.Expr) -> pl.Expr:
    """Running sum along each block; the rows of a block are contiguous."""
    running = value.cum_sum()
    starts = (block != block.shift(1)).fill_null(value=True)
    return running - pl.when(starts).then(running - value).forward_fill()
