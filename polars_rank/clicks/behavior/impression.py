"""Define the vocabulary: the words of a measure about one impression.

A measure of behavior is a pair of numbers of an impression, a numerator and a
denominator; its value is the ratio of their sums. Each word below is a number of the
impression. Words are recorded as they are used, so that the plan computes each once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal, TypeAlias

import polars as pl

from polars_rank._engine.tracing.recorder import ExprTable
from polars_rank.clicks.log.click_log import ClickLog
from polars_rank.clicks.log.log_columns import column_of

UnknownDwell: TypeAlias = Literal["unsatisfied", "satisfied"]
UNIT = 2.0**52
at, position = pl.col("at"), pl.col("position")  # of a row


class Impression:
    """One impression, as expressions with one number each.

    Words that count are 0 for an impression without results, others are null.

    Attributes
    ----------
    words
        Aggregations of the rows of an impression that were asked for, by name.
    totals
        Values of a row whose sums were asked for, by name: UInt64, without nulls.
    steps
        Columns of impressions that look at other impressions of the session.
    """

    def __init__(self, roles: Mapping[str, str], carried: Mapping[str, str]) -> None:
        self._roles = roles
        self._carried = carried
        self._words = ExprTable("word")
        self._totals = ExprTable("total")
        self._steps = ExprTable("step")

    @classmethod
    def prepare(cls, log: ClickLog) -> ClickLog:
        """Add ``at``, the position of a click; null for a row that was not clicked."""
        clicked = pl.when(pl.col("clicked") > 0).then(position)
        return replace(log, rows=log.rows.with_columns(at=clicked))

    @property
    def words(self) -> dict[str, pl.Expr]:
        """Aggregations of the rows, by name."""
        return self._words.named

    @property
    def totals(self) -> dict[str, pl.Expr]:
        """Values of a row to be summed, by name."""
        return self._totals.named

    @property
    def steps(self) -> dict[str, pl.Expr]:
        """Columns computed along the sessions, by name."""
        return self._steps.named

    def _word(self, aggregation: pl.Expr) -> pl.Expr:
        return pl.col(self._words.add(aggregation))

    def _count(self, aggregation: pl.Expr) -> pl.Expr:
        return self._word(aggregation.cast(pl.Int64)).fill_null(0)

    def _exact(self, value: pl.Expr, dtype: type[pl.Int64 | pl.Int128]) -> pl.Expr:
        """Sum with a last bit that does not depend on the order of the rows."""
        units = (value * UNIT).round().cast(dtype, strict=False)
        return self._word(units.sum()).cast(pl.Float64).fill_null(0.0) / UNIT

    def _needs(self, word: str, *roles: str) -> None:
        for role in roles:
            if role not in self._roles:
                msg = f"{word} needs {column_of(role)}"
                raise ValueError(msg)

    @property
    def one(self) -> pl.Expr:
        """1: as the denominator, for a mean over impressions."""
        return pl.lit(1, pl.Int64)

    # -- clicks and positions

    def shown(self, k: int | None = None) -> pl.Expr:
        """Documents shown at the first ``k`` positions."""
        return self._count(pl.len() if k is None else (position <= k).sum())

    def shown_at(self, k: int) -> pl.Expr:
        """Whether position ``k`` was shown."""
        return self._count(position.eq(k).sum())

    def clicks(self, k: int | None = None) -> pl.Expr:
        """Clicks at the first ``k`` positions."""
        return self._count(at.count() if k is None else (at <= k).sum())

    def clicks_at(self, k: int) -> pl.Expr:
        """Clicks at position ``k``."""
        return self._count(at.eq(k).sum())

    @property
    def clicked(self) -> pl.Expr:
        """Whether there was any click."""
        return self.clicks() > 0

    @property
    def first(self) -> pl.Expr:
        """Highest position that was clicked; null without a click."""
        return self._word(at.min().cast(pl.Int64))

    @property
    def last(self) -> pl.Expr:
        """Lowest position that was clicked; null without a click."""
        return self._word(at.max().cast(pl.Int64))

    @property
    def skipped(self) -> pl.Expr:
        """Documents shown above the lowest click and not clicked."""
        return self._count((at.max() >= position).sum()) - self.clicks()

    @property
    def positions(self) -> pl.Expr:
        """Sum of the positions that were clicked."""
        return self._count(at.sum())

    @property
    def reciprocals(self) -> pl.Expr:
        """Sum of 1 / position over the clicks."""
        return self._exact(1.0 / at, pl.Int64)  # each at most UNIT

    def weighted(self, weights: Mapping[int, float]) -> pl.Expr:
        """Sum of the weights of the positions that were clicked."""
        whole = pl.lit(0.0)
        for position, weight in weights.items():
            whole = whole + self.clicks_at(position) * weight
        return whole

    # -- dwell times

    def _is_long(self, seconds: float, unknown: UnknownDwell) -> pl.Expr:
        """Return whether a click would be a satisfied one."""
        self._needs("a satisfied click", "dwell")
        long = pl.col("dwell") >= seconds
        return long.fill_null(value=unknown == "satisfied")

    def _satisfied(self, seconds: float, unknown: UnknownDwell) -> pl.Expr:
        """Return the position of a satisfied click."""
        return pl.when(self._is_long(seconds, unknown)).then(at)

    def satisfied_clicks(
        self, k: int | None, dwell: float, unknown: UnknownDwell
    ) -> pl.Expr:
        """Clicks at the first ``k`` positions of at least ``dwell`` seconds."""
        here = self._satisfied(dwell, unknown)
        return self._count(here.count() if k is None else (here <= k).sum())

    def first_satisfied(self, dwell: float, unknown: UnknownDwell) -> pl.Expr:
        """Highest position of such a click; null without one."""
        return self._word(self._satisfied(dwell, unknown).min().cast(pl.Int64))

    def quick_clicks(self, dwell: float) -> pl.Expr:
        """Clicks that lasted less than ``dwell`` seconds."""
        self._needs("a quick click", "dwell")
        return self._count(pl.when(pl.col("dwell") < dwell).then(at).count())

    @property
    def _dwell(self) -> pl.Expr:
        self._needs("dwell", "dwell")
        return pl.when(at.is_not_null()).then(pl.col("dwell"))

    @property
    def dwell(self) -> pl.Expr:
        """Seconds of all clicks whose dwell time is known."""
        return self._exact(self._dwell, pl.Int128)

    @property
    def dwelled(self) -> pl.Expr:
        """Number of clicks whose dwell time is known."""
        return self._count(self._dwell.count())

    # -- times

    def seconds_to(self, which: Literal["first", "last"]) -> pl.Expr:
        """Seconds from the impression to its first or last click; null without."""
        self._needs(f"time to the {which} click", "time", "clicked_at")
        after = pl.when(at.is_not_null()).then(pl.col("wait"))
        return self._word(after.min() if which == "first" else after.max())

    @property
    def answered(self) -> pl.Expr:
        """Whether the impression is flagged: answered without a click."""
        self._needs("good and bad abandonment", "flag")
        return self._word(pl.col("flag").max()).fill_null(value=False)

    # -- sessions

    def _in_session(self, value: pl.Expr) -> pl.Expr:
        """Evaluate over the impressions of the session, in order of time."""
        session = pl.col(self._carried[self._roles["session"]])
        return value.over(session, order_by=[self._time, "key0"])

    @property
    def _time(self) -> pl.Expr:
        self._needs("a measure of sessions", "session", "time")
        return self._word(pl.col("time").min())

    @property
    def begins_session(self) -> pl.Expr:
        """Whether it is the first impression of its session."""
        self._needs("a measure of sessions", "session", "time")
        first = self._in_session(pl.int_range(pl.len())) == 0
        return pl.col(self._steps.add(first))

    @property
    def seconds_to_next(self) -> pl.Expr:
        """Seconds to the next impression of the session; null for the last."""
        time = self._time
        gap = self._in_session(time.shift(-1)) - time
        return pl.col(self._steps.add(gap))

    def somewhere_in_session(self, condition: pl.Expr) -> pl.Expr:
        """Whether the condition holds for any impression of the session."""
        self._needs("a measure of sessions", "session", "time")
        session = pl.col(self._carried[self._roles["session"]])
        return pl.col(self._steps.add(condition.max().over(session)))
