"""The words of formulas: a list of a run, a candidate document, a pair of documents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add

import polars as pl

FLOOR = 1e-9  # of divisors: where all scores are equal, a norm is 0, not undefined
UNITS, REST = 2.0**56, 2**5  # of the largest term; what rounding leaves of one
DIGITS = 13  # of values: 0.1 + 0.2 and 0.3 are one value, in which documents tie


def at_least_floor(divisor: pl.Expr) -> pl.Expr:
    """Raise a divisor to 1e-9, as ranx does."""
    return divisor.clip(lower_bound=FLOOR)


def in_order(terms: Iterable[pl.Expr]) -> pl.Expr:
    """Add up from left to right; ``sum_horizontal`` adds in an order of its threads."""
    return reduce(add, terms)


def in_units(terms: Sequence[pl.Expr]) -> pl.Expr:
    """Add up whole units of the largest term, which have the same sum in any order.

    What rounding leaves where terms cancel is 0.
    """
    largest = pl.max_horizontal(*(term.abs() for term in terms))
    units = ((t / largest * UNITS).cast(pl.Int64, strict=False) for t in terms)
    total = in_order(units)
    known = pl.when(total.abs() > len(terms) * REST).then(total).otherwise(0)
    return (known.cast(pl.Float64) / UNITS * largest).fill_null(in_order(terms))


def settled(value: pl.Expr) -> pl.Expr:
    """Round a value, so that documents tie whose values are equal on paper."""
    return value.cast(pl.Float64).round_sig_figs(DIGITS)


class RunList:
    """The documents that one run retrieved for one query.

    Sums go from the least score to the largest, so that a value has the same bits
    whatever the order of the rows.
    """

    score = pl.col("score")
    rank = pl.col("rank")  # from 1

    @property
    def length(self) -> pl.Expr:
        """The number of its documents."""
        return pl.len().cast(pl.Float64)

    @property
    def total(self) -> pl.Expr:
        """The sum of its scores."""
        return _sum_in_order(self.score.sort())

    @property
    def mean(self) -> pl.Expr:
        """The mean score."""
        return self.total / self.length

    @property
    def sd(self) -> pl.Expr:
        """The standard deviation of its scores (divisor n)."""
        deviation = self.score.sort() - self.mean
        return (_sum_in_order(deviation * deviation) / self.length).sqrt()


def _sum_in_order(values: pl.Expr) -> pl.Expr:
    """Add up from first to last; for a ``sum``, Polars would leave out the sort."""
    return values.cum_sum().last()


@dataclass(frozen=True)
class Model:
    """What training judgments tell of a run.

    Attributes
    ----------
    queries
        Number of training queries.
    ap
        Mean average precision of the run.
    places
        Length of a list, rank, and how many lists of that length have a relevant
        document there, and how many there are.
    """

    queries: int
    ap: float = 0.0
    places: tuple[tuple[int, int, int, int], ...] = ()

    @property
    def probabilities(self) -> list[float]:
        """The share of lists that reach a rank and have a relevant document there."""
        last = max((rank for _, rank, _, _ in self.places), default=0)
        hits, lists = [0] * last, [0] * last
        for _, rank, found, count in self.places:
            hits[rank - 1] += found
            lists[rank - 1] += count
        return [h / n if n else 0.0 for h, n in zip(hits, lists, strict=True)]

    def share(self, after: int, last: int) -> float:
        """Return the share of relevant documents at the ranks after one, to a last."""
        hits = sum(h for _, rank, h, _ in self.places if after < rank <= last)
        return hits / (last - after) / self.queries


@dataclass(frozen=True)
class Candidate:
    """A document that at least one run retrieved for a query.

    Attributes
    ----------
    scores, ranks
        Its normalized score and its rank (from 1) in each run; null where the run
        lacks it.
    lengths
        Length of each run's list for the query, 0 where it has none.
    documents
        Number of candidates of the query.
    weights
        Weight of each run.
    models
        What was learned of each run, for methods that learn.
    """

    scores: Sequence[pl.Expr]
    ranks: Sequence[pl.Expr]
    lengths: Sequence[pl.Expr]
    documents: pl.Expr
    weights: Sequence[float]
    models: Sequence[Model] = ()

    def sum(self, terms: Iterable[pl.Expr]) -> pl.Expr:
        """Add a term of each run; a null adds nothing."""
        return in_units([term.fill_null(0) for term in terms])

    def weighted_sum(self, terms: Iterable[pl.Expr]) -> pl.Expr:
        """Add a term of each run times its weight; a null adds nothing."""
        return self.sum(w * t for w, t in zip(self.weights, terms, strict=True))

    def count(self, terms: Iterable[pl.Expr]) -> pl.Expr:
        """Count the runs whose term is known: those that have the document."""
        return in_order(t.is_not_null().cast(pl.Float64) for t in terms)

    def weight(self, terms: Iterable[pl.Expr]) -> pl.Expr:
        """Add up the weights of the runs whose term is known."""
        return self.weighted_sum(t.is_not_null().cast(pl.Float64) for t in terms)


@dataclass(frozen=True)
class Pair:
    """Two candidates of a query.

    Attributes
    ----------
    preferences
        Of each run: 1 if it has the first above the second, or alone; -1 if it has the
        second so; 0 if it has neither.
    weights
        Weight of each run.
    """

    preferences: Sequence[pl.Expr]
    weights: Sequence[float]

    def majority(self) -> pl.Expr:
        """Return 1 if the weight of the runs is with the first, -1, or 0 for a tie."""
        share = [
            p * (w / sum(self.weights))
            for w, p in zip(self.weights, self.preferences, strict=True)
        ]
        # Weights such as 0.1 + 0.2 - 0.3 must balance: no majority by rounding.
        return in_order(share).round(12).sign()
