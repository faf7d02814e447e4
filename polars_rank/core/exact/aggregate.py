"""Aggregates of the values of queries: a mean, a sum, a ratio of sums.

An aggregate has three steps. ``state`` says what one part of the data computes, a few
numbers per measure; ``merge`` combines the states of parts; ``finish`` computes the
value from a merged state. Parts may be days, files, or partitions of a cluster: their
states add up to the state of the whole.

Sums are exact: the result has the same bits for any order of the queries, any split
into parts and any number of threads.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import polars as pl

from polars_rank.core.expr import ratio

State: TypeAlias = dict[str, pl.Expr]


class Aggregate(Protocol):
    """A way to aggregate the values of queries."""

    def state(self, value: pl.Expr, weight: pl.Expr | None = None) -> State:
        """Aggregate the values of one part (null: undefined) into named sums."""
        ...

    def merge(self, name: str, column: pl.Expr) -> pl.Expr:
        """Return one column of the state, merged from several parts."""
        ...

    def finish(self, state: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return the value; ``state(name)`` is a column of the merged state."""
        ...


# -- exact sums

# A sum has the same bits in any order if it is one of integers: values are fixed-point
# numbers, as in the long accumulator of Kulisch and Miranker (SIAM Review 28, 1986).
# That one spans all exponents; values of measures span few, so four limbs do.
LIMB = 31  # bits: an Int64 holds the sum of 2^32 limbs
LIMBS = 4
LARGEST, SMALLEST = 2.0**31, 2.0**-20
ROUNDING = 1e-14  # of a sum of squares: differences below are none
PRODUCTS = ("x", "d", "xx", "xd", "dd")


def exact_sum(name: str, value: pl.Expr, times: pl.Expr | None = None) -> State:
    """Compute the state of an exact Float64 sum; nulls are left out.

    A value counts ``times`` times, an integer. Each value is cut into four integers of
    31 bits, whole part first, and integers add up exactly: bits down to 2^-93 count.
    That holds if the largest value is between 2^-20 and 2^31; otherwise the plain sum
    is taken, so it is kept as well.
    """
    whole = _trunc(value)
    fraction = (value - whole) * 2.0 ** (2 * LIMB)
    inner = _trunc(fraction)
    limbs = (
        whole,
        inner.floordiv(2**LIMB),
        inner.mod(2**LIMB),
        _trunc((fraction - inner) * 2.0**LIMB),
    )

    def total(term: pl.Expr) -> pl.Expr:
        return (term if times is None else term * times).sum()

    return {
        f"{name}_plain": total(value),
        f"{name}_high": value.abs().max(),
        **{f"{name}_{i}": total(limb) for i, limb in enumerate(limbs)},
    }


def _trunc(value: pl.Expr) -> pl.Expr:
    # The plain cast takes three times as long: it looks for values out of range.
    return value.cast(pl.Int64, wrap_numerical=True)


def exact_total(name: str, state: Mapping[str, pl.Expr]) -> pl.Expr:
    """Return the sum itself, rounded once, to the nearest: what ``math.fsum`` gives.

    The limbs make one integer of 128 bits. If the whole part is too large for that, the
    last bit is set if any bit below it is, so that rounding sees no false tie.
    """
    whole, upper, middle, lower = (state[f"{name}_{i}"] for i in range(LIMBS))
    carry = lower.floordiv(2**LIMB)
    more = lower != carry * 2**LIMB
    # ``more`` is a sticky bit: without it, a sum just above a tie would be
    # rounded as the tie itself (rounding to odd: Boldo and Melquiond, IEEE Transactions
    # on Computers 57, 2008).
    small = _joined(whole, upper, middle, lower).cast(pl.Float64) * 2.0 ** (-3 * LIMB)
    large = _joined(whole, upper, middle + carry) * 2 + more
    large = large.cast(pl.Float64) * 2.0 ** (-2 * LIMB - 1)
    total = pl.when(whole.is_between(-(2**31), 2**31)).then(small).otherwise(large)
    largest, plain = state[f"{name}_high"], state[f"{name}_plain"]
    exact = largest.is_between(SMALLEST, LARGEST, closed="left") | (largest == 0.0)
    return pl.when(exact & plain.is_finite()).then(total).otherwise(plain)


def _joined(*limbs: pl.Expr) -> pl.Expr:
    """Return one integer from the limbs; the last limb has the last bits."""
    first, *others = limbs
    number = first.cast(pl.Int128)
    for limb in others:
        number = number * 2**LIMB + limb
    return number


def fsum(value: pl.Expr) -> pl.Expr:
    """Sum a few values in memory exactly, with the same bits as ``exact_total``.

    One call of Python costs less here than the expressions of ``exact_sum``.
    """
    return value.map_batches(_fsum, return_dtype=pl.Float64, returns_scalar=True)


def _fsum(values: pl.Series) -> float:
    if values.null_count():  # drop_nulls alone would take longer than the sum
        values = values.drop_nulls()
    try:
        return math.fsum(values.to_list())
    except (OverflowError, ValueError):  # too large for a float, or inf - inf
        return float(values.sum())


class ExactSums:
    """Merging of exact sums and counts: all columns add up except the largest value."""

    def merge(self, name: str, column: pl.Expr) -> pl.Expr:
        """Take the largest of the largest values; add up everything else."""
        return column.max() if name.endswith("_high") else column.sum()


# -- aggregates


@dataclass(frozen=True)
class Sum(ExactSums):
    """Sum of the values, each times its weight; a sum of nothing is undefined.

    ``few`` says that the values are few and in memory: the state then holds the sum
    itself, and is that of the whole.
    """

    weighted: bool = False
    few: bool = False

    def state(self, value: pl.Expr, weight: pl.Expr | None = None) -> State:
        """Return the sum, and the number of values."""
        return {"n": value.count(), **self._sum("x", _times(value, weight))}

    def finish(self, state: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return the sum."""
        return pl.when(state["n"] > 0).then(self._total("x", state))

    def _sum(self, name: str, value: pl.Expr) -> State:
        return {name: fsum(value)} if self.few else exact_sum(name, value)

    def _total(self, name: str, state: Mapping[str, pl.Expr]) -> pl.Expr:
        return state[name] if self.few else exact_total(name, state)


class Mean(Sum):
    """Mean over the queries that have a value."""

    def state(self, value: pl.Expr, weight: pl.Expr | None = None) -> State:
        """Add the weights of the queries that have a value to the state of a sum."""
        state = super().state(value, weight)
        if weight is not None:
            weight = pl.when(value.is_not_null()).then(weight)
            state |= self._sum("w", weight.cast(pl.Float64))
        return state

    def finish(self, state: Mapping[str, pl.Expr]) -> pl.Expr:
        """Divide the sum by the number, or by the weights; undefined if that is 0."""
        mean = ratio(self._total("x", state), self._number(state))
        return mean.fill_nan(None) if self.weighted else mean

    def _number(self, state: Mapping[str, pl.Expr]) -> pl.Expr:
        return self._total("w", state) if self.weighted else state["n"]


class GeometricMean(Mean):
    """Geometric mean, of values that are given as logarithms."""

    def finish(self, state: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return the exponential of the mean."""
        return super().finish(state).exp()


class Moments(Mean):
    """Mean, variance and standard error; queries are taken as a random sample."""

    def state(self, value: pl.Expr, weight: pl.Expr | None = None) -> State:
        """Add the sum of squares to the state of the mean; refuse weights."""
        if weight is not None:
            msg = "the variance of weighted queries is not defined; leave out weight="
            raise ValueError(msg)
        return super().state(value) | self._sum("xx", value * value)

    def variance(self, state: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return the sample variance (divisor n - 1), which needs two values."""
        n = self._number(state).cast(pl.Float64)
        squares, total = self._total("xx", state), self._total("x", state)
        above = (squares - total * (total / n)).clip(lower_bound=0.0)
        return pl.when(n > 1).then(above / (n - 1.0))

    def standard_error(self, state: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return the standard deviation of the mean."""
        return (self.variance(state) / self._number(state)).sqrt()


@dataclass(frozen=True, eq=False)
class RatioOfSums(ExactSums):
    """Sum of the values divided by that of their ``denominator``: clicks per view."""

    denominator: pl.Expr

    def state(self, value: pl.Expr, weight: pl.Expr | None = None) -> State:
        """Return both sums over the queries that have both values."""
        both = value.is_not_null() & self.denominator.is_not_null()
        above, below = (
            pl.when(both).then(_times(part, weight)).cast(pl.Float64)
            for part in (value, self.denominator)
        )
        return exact_sum("x", above) | exact_sum("d", below)

    def finish(self, state: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return one divided by the other; undefined if the denominators sum to 0."""
        return ratio(exact_total("x", state), exact_total("d", state))


@dataclass(frozen=True, eq=False)
class RatioMoments(ExactSums):
    """A ratio of sums with its standard error; units are taken as a random sample.

    A unit is a row: a query, or the sums of a cluster of rows that depend on each
    other, such as a user's. The ``denominator`` is 1 by default, so that the ratio is a
    mean; with weights, the weighted mean. The error is that of the delta method, with
    the factor n / (n - 1). For a mean it is the standard error, for a weighted mean
    HC1, and over clusters CR1.

    ``few`` says that the units are few and in memory: the state then holds the sums
    themselves, and is that of the whole.

    Source: Deng, Knoblich and Lu, KDD 2018 (ratios); MacKinnon and White, 1985 (HC1).
    """

    denominator: pl.Expr | None = None
    few: bool = False

    def state(self, value: pl.Expr, weight: pl.Expr | None = None) -> State:
        """Count units; sum value and denominator, their squares and products.

        Units for which one of these is null do not count.
        """
        if self.denominator is None and weight is None:
            y = value.cast(pl.Float64)
            return {"n": y.count(), **self._sum("x", y), **self._sum("xx", y * y)}
        below = pl.lit(1.0) if self.denominator is None else self.denominator
        known = value.is_not_null() & below.is_not_null()
        if weight is not None:
            known = known & weight.is_not_null()
        x, d = (
            pl.when(known).then(_times(part, weight).cast(pl.Float64))
            for part in (value, below)
        )
        parts = {"x": x, "d": d, "xx": x * x, "xd": x * d, "dd": d * d}
        sums: State = {"n": known.sum()}
        for name, part in parts.items():
            sums |= self._sum(name, part)
        return sums | ({"d_high": d.abs().max()} if self.few else {})

    def sums(self, state: Mapping[str, pl.Expr]) -> State:
        """Return the sums themselves: n, x, d, xx, xd, dd; columns to compute first."""
        n = state["n"].cast(pl.Float64)
        held = [c if self.few else c.removesuffix("_plain") for c in state]
        found = {c: self._total(c, state) for c in PRODUCTS if c in held}
        if "d" not in found:  # denominators are 1
            found |= {"d": n, "dd": n, "xd": found["x"]}
        return {"n": n, **{name: found[name] for name in PRODUCTS}}

    def finish(self, state: Mapping[str, pl.Expr]) -> pl.Expr:
        """Divide one sum by the other; undefined if the denominators sum to 0."""
        sums = self.sums(state)
        return ratio(sums["x"], sums["d"])

    @staticmethod
    def variance(sums: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return the variance of ``value - ratio * denominator`` (divisor n - 1).

        It needs two units with a denominator: of one it says nothing, as the ratio is
        that unit's own. For a mean it is the sample variance. A value within the
        rounding error of the sums is 0.
        """
        n, x, d, xx, xd, dd = (sums[name] for name in ("n", *PRODUCTS))
        r = ratio(x, d)
        squares = xx - r * (2.0 * xd - r * dd)
        above = pl.when(squares > ROUNDING * (xx + r * r * dd)).then(squares)
        several = (n > 1) & (dd < d * d)
        return pl.when(several).then(above.otherwise(0.0) / (n - 1.0))

    @staticmethod
    def standard_error(sums: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return the standard deviation of the ratio."""
        return (RatioMoments.variance(sums) * sums["n"]).sqrt() / sums["d"].abs()

    @staticmethod
    def effective_size(sums: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return Kish's effective sample size, in units of equal weight."""
        return ratio(sums["d"] * sums["d"], sums["dd"])

    def _sum(self, name: str, value: pl.Expr) -> State:
        return {name: fsum(value)} if self.few else exact_sum(name, value)

    def _total(self, name: str, state: Mapping[str, pl.Expr]) -> pl.Expr:
        return state[name] if self.few else exact_total(name, state)


@dataclass(frozen=True)
class NullIfAny:
    """Another aggregate, undefined as soon as one query is."""

    aggregate: Aggregate

    def state(self, value: pl.Expr, weight: pl.Expr | None = None) -> State:
        """Add the number of undefined values to the state of the other aggregate."""
        return self.aggregate.state(value, weight) | {"nulls": value.null_count()}

    def merge(self, name: str, column: pl.Expr) -> pl.Expr:
        """Merge as the other aggregate does; add up the undefined values."""
        return column.sum() if name == "nulls" else self.aggregate.merge(name, column)

    def finish(self, state: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return the other aggregate's value unless a query was undefined."""
        return pl.when(state["nulls"] == 0).then(self.aggregate.finish(state))


@dataclass(frozen=True)
class UndefinedIsOne:
    """A mean to which an undefined value adds 1, and its weight to the divisor."""

    aggregate: Mean

    def state(self, value: pl.Expr, weight: pl.Expr | None = None) -> State:
        """Return the state of the mean."""
        state = self.aggregate.state(value.fill_null(1.0), weight)
        if weight is None:
            return state
        return state | self.aggregate._sum("x", (value * weight).fill_null(1.0))

    def merge(self, name: str, column: pl.Expr) -> pl.Expr:
        """Merge as the mean does."""
        return self.aggregate.merge(name, column)

    def finish(self, state: Mapping[str, pl.Expr]) -> pl.Expr:
        """Return the mean."""
        return self.aggregate.finish(state)


def _times(value: pl.Expr, weight: pl.Expr | None) -> pl.Expr:
    return value if weight is None else value * weight
