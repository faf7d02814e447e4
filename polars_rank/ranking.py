"""The vocabulary: what a metric may say about one ranked list.

A metric is a formula over a :class:`Ranking`. It never sorts, never windows and
never names a column: it speaks the words below. The same formula is bound to raw
columns (:func:`ranked`, an expression that works anywhere) and to the shared
columns of a frame (``polars_rank.engine``, one plan for many measures).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, cast

import polars as pl

from polars_rank.errors import DataError

__all__ = [
    "Discount",
    "Fault",
    "Gain",
    "Ideal",
    "NoRelevant",
    "Ranking",
    "Ties",
    "arg_sort_by",
    "descending",
    "inverse",
    "let",
    "one",
    "order_by",
    "ranked",
    "ratio",
    "reciprocal",
]

Ties: TypeAlias = Literal[
    "doc_desc", "doc_asc", "order", "expected", "optimistic", "pessimistic"
]
NoRelevant: TypeAlias = Literal["zero", "one", "skip", "null", "error"]
Ideal: TypeAlias = Literal["judged", "retrieved"]
Gain: TypeAlias = (
    Literal["linear", "exp2", "binary"]
    | Mapping[float, float]
    | Callable[[pl.Expr], pl.Expr]
)
Discount: TypeAlias = (
    Literal["log2", "log2_from_2", "position"] | Callable[[pl.Expr], pl.Expr]
)

GAINS: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "linear": lambda grade: grade,
    "exp2": lambda grade: pl.lit(2.0).pow(grade) - 1.0,
    "binary": lambda grade: (grade > 0).cast(pl.Float64),
}
DISCOUNTS: dict[str, Callable[[pl.Expr], pl.Expr]] = {
    "log2": lambda rank: (rank + 1.0).log(2.0),
    "log2_from_2": lambda rank: rank.log(2.0).clip(lower_bound=1.0),
    "position": lambda rank: rank,
}
LARGEST_EXP2_GRADE = 1023

NAN_SCORE = (
    "NaN scores cannot be ranked; drop these rows or give them a score, e.g. with "
    "pl.col('score').fill_nan(...)"
)
NULL_SCORE = (
    "scores are null; drop these rows, or leave the documents to the judgments (qrels=)"
)
BELOW_ONE = "ranks below 1; rank= counts places from 1 (null: not retrieved)"
INFINITE_GRADE = (
    "grades that are NaN or infinite; give a finite number, or null for unjudged"
)


@dataclass(frozen=True)
class Fault:
    """A rule that documents may break: how many do, and what to tell the user."""

    count: pl.Expr
    message: str


@dataclass(frozen=True, kw_only=True)
class Ranking:
    """One query's documents in rank order, as expressions with a value per document.

    Documents that are judged but were not retrieved come last, with a null rank.

    Attributes
    ----------
    label
        Grade as Float64; null where nobody judged the document.
    rank
        1-based place as Float64; null where the document was not retrieved.
    place
        1, 2, 3 ... along this record.
    ideal_label
        The grades in descending order, aligned with ``place``.
    score
        What the system gave; null where the document was not retrieved.
    tie_first, tie_last
        First and last place of the document's block of equal scores. Only with
        ``expected``: then every word is the mean over all orders of tied documents.
    """

    label: pl.Expr
    rank: pl.Expr
    place: pl.Expr
    ideal_label: pl.Expr
    score: pl.Expr
    tie_first: pl.Expr | None = None
    tie_last: pl.Expr | None = None
    faults: list[Fault] = field(default_factory=list, compare=False, repr=False)

    @property
    def expected(self) -> bool:
        """Whether words are means over the orders of tied documents."""
        return self.tie_first is not None

    # -- hooks: a frame binding computes shared words and sums once for all measures

    def share(self, word: pl.Expr) -> pl.Expr:
        """Mark a word (one value per document) as worth computing once."""
        return word

    def constant(self, value: pl.Expr) -> pl.Expr:
        """Mark a value of the query for use beside its documents."""
        return value

    def sum(self, term: pl.Expr) -> pl.Expr:
        """Sum over the documents of the query."""
        return term.sum().cast(pl.Float64)

    def aggregate(self, value: pl.Expr) -> pl.Expr:
        """Any other value of the query as a whole, e.g. a correlation."""
        return value

    def require(self, broken: pl.Expr, message: str) -> None:
        """Declare documents that make the measure meaningless: they are an error."""
        self.faults.append(Fault(self.sum(broken), message))

    # -- grades

    @property
    def grade(self) -> pl.Expr:
        """The grade where positive, else 0 (unjudged and negative grades gain 0)."""
        return pl.when(self.label > 0).then(self.label).otherwise(0.0)

    def _grade_from(self, rel: float) -> pl.Expr:
        return pl.when(self.label >= rel).then(self.grade).otherwise(0.0)

    def relevant(self, rel: float = 1) -> pl.Expr:
        """Whether the document is relevant: ``label >= rel``, never below 0."""
        return (self.label >= max(rel, 0)).fill_null(value=False)

    def worth(self, gain: Gain = "linear", rel: float | None = None) -> pl.Expr:
        """Gain of the document; 0 if unjudged, of negative grade or below ``rel``."""
        if gain == "exp2":
            self.require(
                self.label > LARGEST_EXP2_GRADE,
                "a grade above 1023: 2^grade overflows; rescale the grades or use "
                'gain="linear"',
            )
        if isinstance(gain, str):
            return GAINS[gain](self.grade if rel is None else self._grade_from(rel))
        judged = self.label >= max(rel or 0, 0)
        worth = _custom_gain(gain)(self.label).cast(pl.Float64)
        return pl.when(judged).then(worth).otherwise(0.0)

    def sorted_worth(self, gain: Gain = "linear", rel: float | None = None) -> pl.Expr:
        """Gains in descending order, aligned with ``place``."""
        if isinstance(gain, str):
            return self.ideal.worth(gain, rel)
        return self.share(descending(self.worth(gain, rel)))

    # -- places

    def at(self, f: Callable[[pl.Expr], pl.Expr], k: int | None = None) -> pl.Expr:
        """Weight of this place: ``f(rank)``, 0 below the cutoff."""
        if k is None:
            return f(self.rank)
        return pl.when(self.rank <= k).then(f(self.rank)).otherwise(0.0)

    def weigh(self, f: Callable[[pl.Expr], pl.Expr], k: int | None = None) -> pl.Expr:
        """Weight of this document: ``f(rank)``, 0 below the cutoff.

        With ``expected`` ties: the mean weight of the places of its block.
        """
        if not self.expected:
            return self.at(f, k)
        return self.share(self._block_mean(self.at(f, k)))

    def within(self, k: int | None = None) -> pl.Expr:
        """Whether the document was retrieved in the first ``k`` places.

        With ``expected`` ties: the share of the orders in which it is.
        """
        if self.expected:
            return self.weigh(one, k).fill_null(0.0)
        if k is None:
            return self.rank.is_not_null()
        return (self.rank <= k).fill_null(value=False)

    # -- counts of a query

    def relevant_count(self, rel: float = 1) -> pl.Expr:
        """``R``: relevant documents, retrieved or not."""
        return self.sum(self.relevant(rel))

    def retrieved_count(self) -> pl.Expr:
        """``n``: retrieved documents."""
        return self.sum(self.rank.is_not_null())

    def found(self, k: int | None = None, rel: float = 1) -> pl.Expr:
        """Relevant documents among the first ``k``."""
        if self.expected:
            return self.sum(self.relevant(rel) * self.within(k))
        return self.sum(self.relevant(rel) & self.within(k))

    # -- running words

    def hits(self, rel: float = 1) -> pl.Expr:
        """Relevant documents at or above this one."""
        return self.share(self.relevant(rel).cum_sum().cast(pl.Float64))

    def relevant_hits(self, rel: float = 1) -> pl.Expr:
        """``hits`` where the document is relevant, else 0.

        With ``expected`` ties: the mean over the orders, place by place (McSherry
        and Najork, ECIR 2008): of a block of ``t`` documents with ``r`` relevant,
        after ``h`` hits, place ``i`` of the block has ``r/t (h + 1 + i (r-1)/(t-1))``.
        """
        relevant = self.relevant(rel)
        if not self.expected:
            return pl.when(relevant).then(self.hits(rel)).otherwise(0.0)
        t, i, r = self._block_size, self._block_index, self._block_sum(relevant)
        above = self.share(self._sum_above_block(relevant))
        among = pl.when(t > 1).then(i * (r - 1.0) / (t - 1.0)).otherwise(0.0)
        return r / t * (above + 1.0 + among)

    def first(self, rel: float = 1) -> pl.Expr:
        """Whether this place holds the first relevant document.

        With ``expected`` ties: the share of the orders in which it does.
        """
        relevant = self.relevant(rel)
        if not self.expected:
            return (relevant & (self.hits(rel) == 1.0)).cast(pl.Float64)
        t, i, r = self._block_size, self._block_index, self._block_sum(relevant)
        miss = ((t - r - i) / (t - i)).clip(lower_bound=0.0)
        none_yet = miss.cum_prod()
        return self.share(none_yet.shift(1, fill_value=1.0) - none_yet)

    def unstopped(self, stop: pl.Expr) -> pl.Expr:
        """Chance that the user gets here: product of ``1 - stop`` above this place."""
        return self.share((1.0 - stop).cum_prod().shift(1, fill_value=1.0))

    # -- other orders

    @property
    def ideal(self) -> Ranking:
        """The best order of the judged documents: by grade, descending."""
        return replace(
            self,
            label=self.ideal_label,
            rank=self.place,
            tie_first=None,
            tie_last=None,
        )

    def ideal_over(self, pool: Ideal) -> Ranking:
        """The best order of all judged documents, or of the retrieved ones only."""
        if pool == "judged":
            return self
        retrieved = pl.when(self.rank.is_not_null()).then(self.label)
        best = self.share(descending(retrieved))
        return replace(self, label=retrieved, ideal_label=best)

    # -- blocks of tied documents (rows stand in rank order, place = row number)

    @property
    def _block_size(self) -> pl.Expr:
        return self._last - self._first + 1.0

    @property
    def _block_index(self) -> pl.Expr:
        return self.rank - self._first

    @property
    def _first(self) -> pl.Expr:
        assert self.tie_first is not None
        return self.tie_first

    @property
    def _last(self) -> pl.Expr:
        assert self.tie_last is not None
        return self.tie_last

    def _sum_above_block(self, value: pl.Expr) -> pl.Expr:
        running = value.cast(pl.Float64).cum_sum().shift(1, fill_value=0.0)
        return running.gather(self._first.cast(pl.Int64) - 1)

    def _block_sum(self, value: pl.Expr) -> pl.Expr:
        running = value.cast(pl.Float64).cum_sum()
        through = running.gather(self._last.cast(pl.Int64) - 1)
        return self.share(through - self._sum_above_block(value))

    def _block_mean(self, value: pl.Expr) -> pl.Expr:
        alone = self._block_size == 1.0
        return (
            pl.when(alone)
            .then(value)
            .otherwise(self._block_sum(value) / self._block_size)
        )


def one(rank: pl.Expr) -> pl.Expr:
    """Weight 1 at every place that exists."""
    return pl.when(rank.is_not_null()).then(1.0)


def reciprocal(rank: pl.Expr) -> pl.Expr:
    """Weight ``1 / rank``."""
    return 1.0 / rank


def inverse(discount: Discount) -> Callable[[pl.Expr], pl.Expr]:
    """Weight ``1 / discount(rank)``."""
    f = DISCOUNTS[discount] if isinstance(discount, str) else discount
    return lambda rank: 1.0 / f(rank)


def arg_sort_by(
    keys: Sequence[pl.Expr], *, descending: Sequence[bool] = (False,)
) -> pl.Expr:
    """Positions that sort by the keys, stably, nulls last; to be gathered.

    Of a plain ``sort_by`` that a sum and a running sum share, the optimiser of Polars
    2.1 drops the sort for both; a gather stays.
    """
    positions = pl.int_range(0, keys[0].len())
    return positions.sort_by(
        keys, descending=list(descending), nulls_last=True, maintain_order=True
    )


def descending(value: pl.Expr) -> pl.Expr:
    """Sorted from the largest down, nulls last."""
    return value.gather(value.arg_sort(descending=True, nulls_last=True))


def ratio(part: pl.Expr, whole: pl.Expr) -> pl.Expr:
    """``part / whole``; undefined (null) where the whole is 0."""
    return pl.when(whole != 0).then(part / whole)


def _custom_gain(gain: Gain) -> Callable[[pl.Expr], pl.Expr]:
    if isinstance(gain, Mapping):
        listed = {float(grade): float(worth) for grade, worth in gain.items()}
        return lambda grade: grade.replace(listed)
    assert callable(gain)
    return gain


def order_by(
    score: pl.Expr, *, label: pl.Expr, doc: pl.Expr | None, ties: Ties
) -> tuple[list[pl.Expr], list[bool]]:
    """Sort keys and their directions that put a query's documents in rank order."""
    grade = pl.when(label > 0).then(label).otherwise(0)
    second: dict[Ties, tuple[pl.Expr | None, bool]] = {
        "doc_desc": (doc, True),
        "doc_asc": (doc, False),
        "optimistic": (grade, True),
        "pessimistic": (grade, False),
    }
    key, descending = second.get(ties, (None, False))
    return ([score], [True]) if key is None else ([score, key], [True, descending])


def ranked(
    formula: Callable[[Ranking], pl.Expr],
    label: pl.Expr,
    *,
    by: pl.Expr | None = None,
    rank: pl.Expr | None = None,
    doc: pl.Expr | None = None,
    ties: Ties | None = None,
) -> pl.Expr:
    """Bind a formula to raw columns: one value for the documents of the group at hand.

    The result works in ``group_by().agg()``, in ``.over()`` and in ``select()``.

    Parameters
    ----------
    formula
        A metric: an expression over a :class:`Ranking` that gives one value.
    label
        Grades.
    by
        Scores; the highest stands first. Not needed with ``rank``.
    rank
        1-based places that are already known; null where not retrieved.
    doc
        Document identifiers that break ties, compared as text.
    ties
        What to do with equal scores. Default: ``"doc_desc"`` with ``doc``, else
        ``"order"``.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> log = pl.DataFrame({"score": [0.9, 0.8, 0.7], "label": [0, 1, 1]})
    >>> hits = pr.ranked(lambda r: r.found(2), pl.col("label"), by=pl.col("score"))
    >>> log.select(hits).item()
    1.0
    """
    if (by is None) == (rank is None):
        msg = "give either a score (the first argument) or rank=, not both or neither"
        raise ValueError(msg)
    if ties in ("doc_desc", "doc_asc") and doc is None:
        msg = f"ties={ties!r} needs doc=, the column of document identifiers"
        raise ValueError(msg)
    if label.meta.has_multiple_outputs():
        msg = "the labels must be one column; write an expression for each"
        raise ValueError(msg)
    ties = ties or ("order" if doc is None else "doc_desc")
    text = None if doc is None else doc.cast(pl.String)
    if by is not None:
        keys, downwards = order_by(by, label=label, doc=text, ties=ties)
    else:
        keys, downwards = [cast("pl.Expr", rank)], [False]
    known = (by if by is not None else keys[0]).cast(pl.Float64)
    rows = pl.struct(label=label.cast(pl.Float64), known=known).sort_by(
        keys, descending=downwards, nulls_last=True, maintain_order=True
    )
    faults: list[Fault] = []

    def value(row: pl.Expr) -> pl.Expr:
        ranking = _bound(row, scored=by is not None, expected=ties == "expected")
        result = formula(ranking).cast(pl.Float64).alias("value")
        faults.extend(ranking.faults)
        counts = (f.count.alias(f"fault{i}") for i, f in enumerate(ranking.faults))
        return pl.struct(result, *counts)

    return _checked(let(rows, value), faults).alias(label.meta.output_name())


def _bound(row: pl.Expr, *, scored: bool, expected: bool) -> Ranking:
    """A ranking over the rows of one query in rank order: label and score or rank."""
    label, known = row.struct.field("label"), row.struct.field("known")
    place = pl.int_range(1, row.len() + 1).cast(pl.Float64)
    infinite = Fault((~label.is_finite()).sum(), INFINITE_GRADE)
    if scored:
        nan = Fault(known.is_nan().sum(), NAN_SCORE)
        faults = [nan, Fault(known.null_count(), NULL_SCORE), infinite]
    else:
        faults = [Fault((known < 1).sum(), BELOW_ONE), infinite]

    def tie(end: Literal["min", "max"]) -> pl.Expr:
        return known.rank(end, descending=True).cast(pl.Float64)

    return Ranking(
        label=label,
        rank=place if scored else known,
        place=place,
        ideal_label=descending(label),
        score=known if scored else -known,
        tie_first=tie("min") if expected else None,
        tie_last=tie("max") if expected else None,
        faults=faults,
    )


def let(value: pl.Expr, f: Callable[[pl.Expr], pl.Expr]) -> pl.Expr:
    """``f(value)``, a single value, with ``value`` computed once however often used."""
    return value.implode().list.eval(f(pl.element())).list.first()


def _checked(result: pl.Expr, faults: Sequence[Fault]) -> pl.Expr:
    """The value of every group, or a :class:`DataError` if one breaks a rule."""

    def check(columns: Sequence[pl.Series]) -> pl.Series:
        groups = columns[0].struct
        for i, fault in enumerate(faults):
            count = groups.field(f"fault{i}")
            if broken := count.sum():
                where = f"{(count > 0).sum()} of {len(count)} groups"
                msg = f"{fault.message} ({broken} found, in {where})"
                raise DataError(msg)
        return groups.field("value")

    return pl.map_batches([result], check, return_dtype=pl.Float64, is_elementwise=True)
