"""Shares of documents in the value of a query: what each document adds to it.

A value is a function of the sums of its formula. Where it is a sum over documents, it
is linear in some of them, given the others: nDCG in DCG, given the ideal DCG. The slope
is the value at 1 less the value at 0, and a document adds its own term times the slope.
So there is no second formula: the first is traced with numbers in place of its sums.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from random import Random
from typing import Literal, NamedTuple, TypeAlias

import polars as pl

from polars_rank._engine.tracing.recorder import ExprTable, Recorder, RecordingRanking
from polars_rank.core.words.ranking import Ranking

DOCUMENTS, FACTORS = "documents of the query", "factors of the query"
OTHERS = "documents that change no value"
RANKED = {"rank", "score", "tie_first", "tie_last"}
ZERO, ONE = pl.lit(0.0), pl.lit(1.0)
SAMPLES = 16


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Sharing(Ranking):
    """A ranking whose sums are noted, and given other values; to be mixed in.

    Attributes
    ----------
    sums
        The terms of each sum, by its name.
    given
        Values in place of sums, by name; the others are the sums of the query.
    alone
        Whether words of several documents count each relevant one alone.
    shared
        These words, with the condition of relevance.
    """

    sums: ExprTable
    given: Mapping[str, pl.Expr]
    alone: bool = False
    shared: list[tuple[Literal["hits", "first"], pl.Expr]] = field(default_factory=list)

    def sum(self, term: pl.Expr) -> pl.Expr:
        """Return the value that is given in place of the sum."""
        name = self.sums.add(term)
        if name in self.given:
            return self.given[name]
        return super().sum(term)

    def count_all(self, condition: pl.Expr) -> pl.Expr:
        """Count judgments, whatever the ranks: no document adds to the value by it."""
        return super().sum(condition)

    def relevant_hits(self, rel: float = 1) -> pl.Expr:
        """Note that a relevant document counts those above it."""
        relevant = self.relevant(rel).cast(pl.Float64)
        self.shared.append(("hits", relevant))
        if not self.alone:
            return super().relevant_hits(rel)
        if not self.expected:
            return relevant
        return self._block_sum(relevant) / self._block_size

    def is_first_relevant(self, rel: float = 1) -> pl.Expr:
        """Note that it is a mean over the places of a block of tied documents."""
        first = super().is_first_relevant(rel)
        if not self.expected:
            return first
        relevant = self.relevant(rel).cast(pl.Float64)
        self.shared.append(("first", relevant))
        return relevant if self.alone else first

    def of_documents(self, term: pl.Expr, own: pl.Expr) -> pl.Expr:
        """Return what a document adds, of a term that counts several of them.

        ``own`` is the term that counts each one alone. Average precision is a sum over
        pairs of relevant documents, and each of the two is given half of it: of the
        pair with one above, and of those with all below. Tied documents that are
        relevant can change places, so that the mean over their orders gives them equal
        shares of what their block adds.
        """
        word, relevant = self.shared[0]
        if not self.expected:
            return (term + relevant * self.cached(own.cum_sum(reverse=True))) / 2.0
        among = self._block_sum(relevant)
        if word == "first":
            total = self._block_sum(term)
        else:
            above = self.cached(self._sum_above_block(relevant))
            last = self._last.cast(pl.Int64) - 1
            below = own.cum_sum(reverse=True).shift(-1, fill_value=0.0).gather(last)
            within = self._block_sum(2.0 * term - above * own)
            total = (within + among * self.cached(below)) / 2.0
        return pl.when(relevant > 0).then(total / among).otherwise(0.0)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SharingRanking(Sharing, RecordingRanking):
    """A ranking over columns, whose sums are noted and given other values."""


class NotSharedError(ValueError):
    """The value is not a sum over documents, and why."""


ValueOf: TypeAlias = Callable[[Sharing], pl.Expr]
Make: TypeAlias = Callable[..., Sharing]


class Shares(NamedTuple):
    """What the documents of a query add to its value: terms, and a factor for each.

    ``terms`` are columns of the documents; ``slopes`` and ``rest``, which no document
    adds, are in terms of the sums of the query. ``alone`` says that a term depends on
    the rank and the label of its document only, and the others on no rank.
    """

    terms: Sequence[str]
    slopes: Sequence[pl.Expr]
    rest: pl.Expr
    alone: bool = False

    def document(self, schema: pl.Schema) -> list[str]:
        """Name the columns that tell which document it is."""
        return [name for name in ("doc", "rank", "label") if name in schema]

    def documents(self, document: Sequence[str]) -> pl.Expr:
        """Return the documents of a query with their terms, as one list."""
        terms = (pl.col(name).alias(f"t{i}") for i, name in enumerate(self.terms))
        return pl.struct(*document, *terms).alias(DOCUMENTS)

    @property
    def factors(self) -> pl.Expr:
        """Return the slopes and the rest of a query, as one struct."""
        slopes = {f"slope{i}": slope for i, slope in enumerate(self.slopes)}
        factors = slopes | {"rest": self.rest}
        named = (f.cast(pl.Float64).alias(name) for name, f in factors.items())
        return pl.struct(*named).alias(FACTORS)


def shares_of(value_of: ValueOf, recorder: Recorder, name: str) -> Shares:
    """Record the terms of a measure, whose ``value_of`` a ranking is traced."""
    make = partial(_ranking, recorder)
    chosen = chosen_sums(value_of, recorder, name)
    slopes, rest = slopes_of(value_of, make, chosen)
    terms = [recorder.terms.add(term) for term in terms_of(value_of, make, chosen)]
    alone = _are_alone(recorder, terms, [*slopes, rest])
    return Shares(terms, slopes, rest, alone)


def _are_alone(
    recorder: Recorder, terms: Sequence[str], factors: Sequence[pl.Expr]
) -> bool:
    """Return whether a document adds its own term whatever the others are."""
    tables = recorder.terms.named, recorder.aggregates.named
    known = {name: expr for table in tables for name, expr in table.items()}
    own = {root for name in terms for root in known[name].meta.root_names()}
    read = {root for factor in factors for root in factor.meta.root_names()}
    others = [known[name] for name in read if name in known]
    return own <= {"label", "rank"} and not any(
        _is_of_run(expr, recorder) for expr in others
    )


def slopes_of(
    value_of: ValueOf, make: Make, chosen: Sequence[str]
) -> tuple[list[pl.Expr], pl.Expr]:
    """Return how the value grows with each of the chosen sums, and what it is at 0."""
    sums, zeros = ExprTable("sum"), dict.fromkeys(chosen, ZERO)
    rest = value_of(make(sums=sums, given=zeros))
    at_one = (value_of(make(sums=sums, given=zeros | {n: ONE})) for n in chosen)
    return [value - rest for value in at_one], rest


def terms_of(value_of: ValueOf, make: Make, chosen: Sequence[str]) -> list[pl.Expr]:
    """Return what a document adds to each of the chosen sums."""
    sums, alone = ExprTable("sum"), ExprTable("sum")
    zeros = dict.fromkeys(chosen, ZERO)
    value_of(make(sums=sums, given=zeros))
    ranking = make(sums=alone, given=zeros, alone=True)
    value_of(ranking)
    terms = []
    for name in chosen:
        term, own = _number(sums.named[name]), _number(alone.named[name])
        counts_several = not own.meta.eq(term)
        terms.append(ranking.of_documents(term, own) if counts_several else term)
    return terms


def _number(term: pl.Expr) -> pl.Expr:
    return term.cast(pl.Float64).fill_null(0.0)


def chosen_sums(value_of: ValueOf, like: Recorder, name: str) -> list[str]:
    """Return ``shared_sums``; an error names the measure, the rule and the way out."""
    try:
        return shared_sums(value_of, like)
    except NotSharedError as error:
        msg = f"{name} has no contributions of documents: {error}"
        raise ValueError(msg) from None


def shared_sums(value_of: ValueOf, like: Recorder) -> list[str]:
    """Name the sums over the documents of a run that the value is linear in.

    Random numbers take the place of all sums: a formula that is not linear would have
    to meet all of them by chance.
    """
    scratch = Recorder(
        like.rows,
        integer_grades=like.integer_grades,
        scored=like.scored,
        expected=like.expected,
    )
    sums = ExprTable("sum")
    value_of(_ranking(scratch, sums, {}))
    candidates = [n for n, term in sums.named.items() if _is_of_run(term, scratch)]
    given = {name: pl.col(name) for name in sums.named}
    value = value_of(_ranking(scratch, sums, given))
    rows = _samples(value, scratch, sums)
    for size in range(len(candidates), 0, -1):
        several = [
            [*chosen]
            for chosen in combinations(candidates, size)
            if _is_linear(value, rows, chosen)
        ]
        if len(several) == 1:
            return several[0]
        if several:
            break
    raise NotSharedError(
        "it is not a sum over the documents of the run, as ndcg, precision, recall, "
        "ap, rr, rbp and err are"
    )


def _ranking(
    recorder: Recorder,
    sums: ExprTable,
    given: Mapping[str, pl.Expr],
    *,
    alone: bool = False,
) -> SharingRanking:
    plain = recorder.recording_ranking()
    words = {name: getattr(plain, name) for name in plain.__dataclass_fields__}
    return SharingRanking(**words, sums=sums, given=given, alone=alone)


def _is_of_run(term: pl.Expr, recorder: Recorder) -> bool:
    """Return whether the term depends on ranks, itself or by words that it reads."""
    read: set[str] = set()
    new = {*term.meta.root_names()}
    while new:
        read |= new
        words = [recorder.words.named[n] for n in new if n in recorder.words.named]
        new = {root for word in words for root in word.meta.root_names()} - read
    return bool(read & RANKED)


def _samples(value: pl.Expr, recorder: Recorder, sums: ExprTable) -> pl.DataFrame:
    """Draw numbers for the sums of some queries."""
    draw = Random(0)
    rows = range(SAMPLES)
    columns = {
        name: pl.Series([draw.uniform(0.1, 9.0) for _ in rows]) for name in sums.named
    }
    known = [*recorder.terms.named, *recorder.aggregates.named, "retrieved"]
    for name in known:
        whole = pl.Series([float(draw.randint(1, 9)) for _ in rows])
        one = whole.reshape((SAMPLES, 1)).arr.to_list()
        columns[name] = one if name in recorder.terms.named else whole
    if unknown := set(value.meta.root_names()) - columns.keys():
        read = ", ".join(sorted(unknown))
        raise NotSharedError(f"its formula reads {read} otherwise than by r.sum(...)")
    return pl.DataFrame(columns)


def _is_linear(value: pl.Expr, rows: pl.DataFrame, chosen: Sequence[str]) -> bool:
    """Return whether the value is linear in the chosen sums, the others as they are."""
    other = rows.select(pl.col(chosen).reverse())

    def at(numbers: pl.DataFrame) -> pl.Series:
        return rows.with_columns(numbers).select(value.cast(pl.Float64)).to_series()

    one, two, both, none = (
        at(numbers)
        for numbers in (
            rows.select(chosen),
            other,
            rows.select(pl.col(name) + other[name] for name in chosen),
            rows.select(pl.col(chosen) * 0.0),
        )
    )
    if any(len(found) != len(rows) or found.null_count() for found in (one, none)):
        return False
    gap = (both - one - two + none).abs() / (1.0 + both.abs() + none.abs())
    moved = (one - none).abs().max()
    return bool((gap < 1e-9).all()) and bool(moved)
