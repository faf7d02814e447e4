"""The distribution of the values of queries: its ends, quantiles, the worst tenth.

Its state is how often each value occurs, so that states of parts add up. A part keeps
``KEPT`` values as they are. If there are more in the whole, values are rounded to
``BITS`` significant bits, in every part alike: the result does not depend on the parts.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from polars_rank.core.exact.aggregate import Aggregate, State, UndefinedIsOne

KEPT = 2**16  # distinct values that are kept as they are
BITS = 16  # of a rounded value: 2^15 values between 0.5 and 1
ROUNDING = 1e-12  # of a sum of weights: differences below are none
NAMED = {"median": 50.0}
ENDS = ("min", "max")
WORST = "worst_tenth"
PERCENT = re.compile(r"p(\d+(?:\.\d+)?)")


def percent_of(stat: str) -> float | None:
    """Return the percentage of a quantile; None for other words.

    Examples
    --------
    >>> percent_of("p99.5"), percent_of("median"), percent_of("p101")
    (99.5, 50.0, None)
    """
    found = PERCENT.fullmatch(stat)
    percent = float(found[1]) if found else NAMED.get(stat)
    return None if percent is None or percent > 100 else percent


def is_of_distribution(stat: str) -> bool:
    """Tell whether the statistic needs more than sums."""
    return stat in ENDS or needs_counts(stat)


def needs_counts(stat: str) -> bool:
    """Tell whether the statistic needs to know how often each value occurs."""
    return stat == WORST or percent_of(stat) is not None


@dataclass(frozen=True)
class Distribution:
    """Another aggregate, with the distribution of the values beside it.

    Attributes
    ----------
    aggregate
        The mean or the sum.
    counted
        Whether the state counts how often each value occurs, not the ends alone.
    weighted
        Whether it adds up weights instead.
    worst_is_high
        Whether high values are bad.
    whole
        Whether the values are all there are: then none is rounded.
    """

    aggregate: Aggregate
    counted: bool = True
    weighted: bool = False
    worst_is_high: bool = False
    whole: bool = False

    def state(self, value: pl.Expr, weight: pl.Expr | None = None) -> State:
        """Add the ends of the values, and their counts, to the other state."""
        state = self.aggregate.state(value, weight)
        if isinstance(self.aggregate, UndefinedIsOne):
            value = value.fill_null(1.0)
        if weight is not None:  # a query of weight 0 does not count
            value = pl.when(weight > 0).then(value)
        state |= {"low": value.min(), "top": value.max()}
        if not self.counted:
            return state
        times = pl.lit(1, pl.Int64) if weight is None else weight.cast(pl.Float64)
        own = pl.struct(value=value.cast(pl.Float64), times=times)
        own = own.filter(value.is_not_null())
        return state | {"counts": self._held(own, pl.lit(value=False))}

    def merge(self, name: str, column: pl.Expr) -> pl.Expr:
        """Take the ends of all parts; add up the counts."""
        if name == "low":
            return column.min()
        if name == "top":
            return column.max()
        if name != "counts":
            return self.aggregate.merge(name, column)
        rows = column.struct.field("values").explode()
        rounded = column.struct.field("rounded").any()
        return self._held(rows.filter(rows.is_not_null()), rounded)

    def finish(self, state: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return the other aggregate's value."""
        return self.aggregate.finish(state)

    def statistic(self, stat: str, state: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return an end, a quantile or the mean of the worst tenth."""
        if stat in ENDS:
            return state["low" if stat == "min" else "top"]
        values = state["counts"].struct.field("values")
        value, times = (pl.element().struct.field(n) for n in ("value", "times"))
        if stat == WORST:
            found = worst_tenth(value, times, high=self.worst_is_high)
        else:
            percent = percent_of(stat)
            assert percent is not None
            find = weighted_quantile if self.weighted else quantile
            found = find(value, times, percent)
        return values.list.eval(found).list.first()

    def _held(self, rows: pl.Expr, rounded: pl.Expr) -> pl.Expr:
        """Return what a state holds: each value once, rounded if there are many."""
        values = counted(rows).implode()
        if self.whole:
            return pl.struct(values=values, rounded=rounded)
        rounded = rounded | (values.list.len() > KEPT)
        coarse = counted(
            pl.struct(
                value=_rounded(pl.element().struct.field("value")),
                times=pl.element().struct.field("times"),
            )
        )
        fewer = pl.when(rounded).then(values).list.eval(coarse)
        return pl.struct(values=pl.coalesce(fewer, values), rounded=rounded)


def counted(rows: pl.Expr) -> pl.Expr:
    """Put equal values together: each once, sorted, with the sum of its ``times``."""
    rows = rows.sort()
    value = rows.struct.field("value")
    last = (value != value.shift(-1)).fill_null(value=True)
    upto = rows.struct.field("times").cum_sum().filter(last)
    times = upto - upto.shift(1, fill_value=0)
    return pl.struct(value=value.filter(last), times=times)


def _rounded(value: pl.Expr) -> pl.Expr:
    """Round to ``BITS`` significant bits, to the nearest.

    Source: Dekker, Numerische Mathematik 18, 1971 (splitting of Veltkamp).
    """
    far = value * (2.0 ** (53 - BITS) + 1.0)
    return far - (far - value)


def quantile(value: pl.Expr, times: pl.Expr, percent: float) -> pl.Expr:
    """Interpolate between the two nearest of sorted values that occur ``times`` times.

    Equal to: ``numpy.quantile`` (its default, type 7 of Hyndman and Fan, 1996).
    """
    place = (times.sum() - 1) * (percent / 100)
    upto, below = times.cum_sum(), place.floor()
    low = value.filter(upto > below).first()
    high = value.filter(upto > place.ceil()).first()
    # As numpy adds, from the nearer end: so the last bits are equal, too.
    gap, part = high - low, place - below
    return pl.when(part < 0.5).then(low + gap * part).otherwise(high - gap * (1 - part))


def weighted_quantile(value: pl.Expr, weight: pl.Expr, percent: float) -> pl.Expr:
    """Find the least value with which the weights reach a share of their sum.

    Equal to: ``numpy.quantile(values, q, weights=weights, method="inverted_cdf")``.
    """
    upto = weight.cum_sum()
    reached = upto * 100 >= weight.sum() * percent * (1 - ROUNDING)
    return value.filter(reached).first()


def worst_tenth(value: pl.Expr, times: pl.Expr, *, high: bool) -> pl.Expr:
    """Average the worst tenth of sorted values; one counts in part at its edge.

    Source: Acerbi and Tasche, 2002 (expected shortfall, or conditional value at risk,
    at 10 %).
    """
    n, upto = times.sum(), times.cum_sum()
    worse = n - upto if high else upto - times
    part = (n - worse * 10).clip(0, times * 10)
    return pl.when(n > 0).then((value * part).sum() / n)
