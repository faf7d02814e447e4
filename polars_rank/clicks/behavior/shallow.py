"""Implement the impression words for up to 64 positions as bit sets.

Position k is the bit 2^(k - 1), so that the sum of a column is a set, if no position
comes twice: the number of bits says whether one does. What is said of a set (how many
are in the top k, which is the first) costs nothing beside another sum of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import polars as pl

from polars_rank._engine.layout import try_else
from polars_rank.clicks.behavior.impression import (
    UNIT,
    Impression,
    UnknownDwell,
    position,
)
from polars_rank.clicks.behavior.measures import BehaviorMeasure
from polars_rank.clicks.behavior.traced import Traced, Unit, trace
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.impressions import in_layout, may_be_tried
from polars_rank.exceptions import DataError

BITS = 64
ALL = 2**BITS - 1


class ShallowImpression(Impression):
    """One impression of at most 64 positions, none of them twice."""

    @classmethod
    def prepare(cls, log: ClickLog) -> ClickLog:
        """Add the ``bit`` of each row, and the ``click``: the bit, or 0."""
        rows = super().prepare(log).rows
        checked = [position] if log.check == "off" else [position, log.faulty]
        bit = pl.map_batches(
            checked, _bits, return_dtype=pl.UInt64, is_elementwise=True
        )
        rows = rows.with_columns(bit=bit).with_columns(
            click=_where(pl.col("clicked") > 0, "bit")
        )
        return replace(log, rows=rows, shallow=True)

    def _set(self, bits: pl.Expr) -> pl.Expr:
        return pl.col(self._totals.add(bits)).fill_null(pl.lit(0, pl.UInt64))

    @property
    def _shown(self) -> pl.Expr:
        return self._set(pl.col("bit"))

    @property
    def _clicked(self) -> pl.Expr:
        return self._set(pl.col("click"))

    def shown(self, k: int | None = None) -> pl.Expr:
        """Documents shown at the first ``k`` positions."""
        return _size(_top(self._shown, k))

    def shown_at(self, k: int) -> pl.Expr:
        """Whether position ``k`` was shown."""
        return _size(_at(self._shown, k))

    def clicks(self, k: int | None = None) -> pl.Expr:
        """Clicks at the first ``k`` positions."""
        return _size(_top(self._clicked, k))

    def clicks_at(self, k: int) -> pl.Expr:
        """Clicks at position ``k``."""
        return _size(_at(self._clicked, k))

    @property
    def clicked(self) -> pl.Expr:
        """Whether there was any click."""
        return self._clicked != 0

    @property
    def first(self) -> pl.Expr:
        """Highest position that was clicked; null without a click."""
        return _first(self._clicked)

    @property
    def last(self) -> pl.Expr:
        """Lowest position that was clicked; null without a click."""
        return _last(self._clicked)

    @property
    def skipped(self) -> pl.Expr:
        """Documents shown above the lowest click and not clicked."""
        # A bit less one is the set of all positions above it. Those of the shown that
        # are in it, and the lowest click itself, less all clicks, were skipped.
        lowest = pl.lit(2, pl.UInt64).pow(self.last - 1)
        above = self._shown & (lowest - 1)
        return (_size(above | lowest) - self.clicks()).fill_null(0)

    @property
    def positions(self) -> pl.Expr:
        """Sum of the positions that were clicked: by the binary digits of these."""
        # A sum of numbers is the sum over binary digits of 2^digit times how many of
        # the numbers have the digit: seven counts of bits in place of 64.
        whole = pl.lit(0, pl.Int64)
        for digit in range(BITS.bit_length()):
            having = sum(1 << k - 1 for k in range(1, BITS + 1) if k >> digit & 1)
            whole = whole + _size(self._clicked & _literal(having)) * 2**digit
        return whole

    @property
    def reciprocals(self) -> pl.Expr:
        """Sum of 1 / position over the clicks."""
        units = self._clicked.map_batches(
            _reciprocals, return_dtype=pl.Int64, is_elementwise=True
        )
        return units.cast(pl.Float64) / UNIT

    def satisfied_clicks(
        self, k: int | None, dwell: float, unknown: UnknownDwell
    ) -> pl.Expr:
        """Clicks at the first ``k`` positions that lasted ``dwell`` seconds."""
        return _size(_top(self._satisfied_set(dwell, unknown), k))

    def first_satisfied(self, dwell: float, unknown: UnknownDwell) -> pl.Expr:
        """Highest position of such a click; null without one."""
        return _first(self._satisfied_set(dwell, unknown))

    def _satisfied_set(self, seconds: float, unknown: UnknownDwell) -> pl.Expr:
        return self._set(_where(self._is_long(seconds, unknown), "click"))

    def quick_clicks(self, dwell: float) -> pl.Expr:
        """Clicks that lasted less than ``dwell`` seconds."""
        self._needs("a quick click", "dwell")
        return _size(self._set(_where(pl.col("dwell") < dwell, "click")))


def shallow_first(
    log: ClickLog, plan: Callable[[ClickLog, type[Impression]], pl.LazyFrame]
) -> pl.LazyFrame:
    """Try the words of shallow impressions first; plan for any depth otherwise."""
    whole = plan(log, Impression)
    if not may_be_tried(log):
        return whole
    return try_else(
        lambda: plan(log, ShallowImpression),
        whole,
        name=f"positions up to {BITS}",
        claim=f"no position is beyond {BITS}, or twice in an impression",
        otherwise="positions of any depth are summed",
        reads=[log.rows],
    )


def plan_behavior(
    log: ClickLog,
    measures: Sequence[BehaviorMeasure],
    unit: Unit | None,
    plan: Callable[[ClickLog, Traced], pl.LazyFrame],
) -> pl.LazyFrame:
    """Plan in the requested layout, and with the words of shallow impressions first.

    Columns that the measures need and the log has not are told at once.
    """

    known: dict[type[Impression], Traced] = {}  # the same in all layouts

    def of_words(log: ClickLog, vocabulary: type[Impression]) -> pl.LazyFrame:
        if vocabulary not in known:
            known[vocabulary] = trace(log, measures, unit=unit, vocabulary=vocabulary)
        return plan(log, known[vocabulary])

    return in_layout(log, lambda log: shallow_first(log, of_words))


def _bits(columns: Sequence[pl.Series]) -> pl.Series:
    """Compute the bit of each position; an error leads to the other plan.

    That one describes the fault in full.
    """
    import numpy as np

    position, *faulty = columns
    if len(position):
        deepest, least = position.max(), position.min()
        sound = not position.null_count() and least >= 1 and deepest <= BITS  # type: ignore[operator]
        if not sound or any(fault.any() for fault in faulty):
            msg = f"a position beyond {BITS}, or a row that breaks a rule"
            raise DataError(msg, rule="shallow")
    one = np.uint64(1)
    bits = np.left_shift(one, position.to_numpy().astype(np.uint64) - one)
    return pl.Series(position.name, bits)


def _reciprocals(positions: pl.Series) -> pl.Series:
    """Sum 1 / position in whole units, eight positions at a time."""
    import numpy as np

    # A table of all sets of 64 positions has 2^64 entries, one of eight has 256.
    sets = positions.fill_null(0).to_numpy().astype("<u8")
    eights = sets.view(np.uint8).reshape(len(sets), BITS // 8)
    total = np.zeros(len(sets), np.int64)
    deepest = int(sets.max(initial=0)).bit_length()
    for i, table in enumerate(_reciprocal_tables()[: -(-deepest // 8)]):
        total += table[eights[:, i]]
    return pl.Series(positions.name, total)


@cache
def _reciprocal_tables() -> list[Any]:
    """Compute the sums of the 256 sets of each eight positions."""
    import numpy as np

    # Whole units add up to the same sum in any order; floats do not.
    units = np.round(1.0 / np.arange(1, BITS + 1) * UNIT).astype(np.int64)
    member = np.arange(256)[:, None] >> np.arange(8) & 1
    return [(member * units[i : i + 8]).sum(1) for i in range(0, BITS, 8)]


def _literal(bits: int) -> pl.Expr:
    return pl.lit(bits, pl.UInt64)


def _where(condition: pl.Expr, bits: str) -> pl.Expr:
    return pl.when(condition).then(pl.col(bits)).otherwise(_literal(0))


def _size(positions: pl.Expr) -> pl.Expr:
    return positions.bitwise_count_ones().cast(pl.Int64)


def _top(positions: pl.Expr, k: int | None) -> pl.Expr:
    return positions if k is None or k >= BITS else positions & _literal(2**k - 1)


def _at(positions: pl.Expr, k: int) -> pl.Expr:
    return positions & _literal(2 ** (k - 1) if k <= BITS else 0)


def _first(positions: pl.Expr) -> pl.Expr:
    below = positions.bitwise_trailing_zeros().cast(pl.Int64)
    return pl.when(positions != 0).then(below + 1)


def _last(positions: pl.Expr) -> pl.Expr:
    above = positions.bitwise_leading_zeros().cast(pl.Int64)
    return pl.when(positions != 0).then(BITS - above)
