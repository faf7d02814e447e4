"""The vocabulary: the words of a metric about one ranked list.

A metric is a formula over a :class:`Ranking`. It never sorts, never windows and
never names a column: it uses only the words below. The same formula is bound to raw
columns (``polars_rank.core.words.binding``, works in any context) and to the shared
columns of a frame (``polars_rank._engine``, one plan for many measures).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias

import polars as pl

from polars_rank.core.expr import descending, divide
from polars_rank.core.rules import GAIN_OVERFLOW, NEGATIVE_GAIN, Rule, Violation
from polars_rank.core.weights import GAINS, LARGEST_EXP2_GRADE, Gain, custom_gain, one

Ties: TypeAlias = Literal[
    "doc_desc", "doc_asc", "order", "expected", "optimistic", "pessimistic"
]
NoRelevant: TypeAlias = Literal[
    "zero", "one", "one_unweighted", "skip", "null", "error"
]
Ideal: TypeAlias = Literal["judged", "retrieved"]
Depth: TypeAlias = int | pl.Expr | None  # of a cutoff; an expression: r.broadcast(...)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Ranking:
    """One query's documents in rank order, as expressions with a value per document.

    Documents that are judged but were not retrieved come last, with a null rank.

    Attributes
    ----------
    label
        Grade as Float64; null where nobody judged the document.
    rank
        1-based rank as Float64; null where the document was not retrieved.
    place
        1, 2, 3 ... over all documents of the query, retrieved or not.
    ideal_label
        The grades in descending order, aligned with ``place``.
    score
        Score that the system gave, as Float64; null where the document was not
        retrieved.
    raw_score
        The score in its own type: for comparisons, since Float64 would round it.
    tie_first, tie_last
        First and last place of the document's block of equal scores. Only with
        ``expected``: then ``weight``, ``in_top``, ``hits_at``, ``relevant_hits`` and
        ``is_first_relevant`` are means over all orders of the tied documents.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> log = pl.DataFrame(
    ...     {"query_id": [1, 1, 1], "score": [0.9, 0.8, 0.7], "label": [0, 1, 2]}
    ... )
    >>> mine = {"gain in the top 2": lambda r: r.sum(r.gain() * r.in_top(2))}
    >>> pr.per_query(log, mine).rows()
    [(1, 1.0)]
    """

    label: pl.Expr
    rank: pl.Expr
    place: pl.Expr
    ideal_label: pl.Expr
    score: pl.Expr
    raw_score: pl.Expr
    tie_first: pl.Expr | None = None
    tie_last: pl.Expr | None = None
    violations: list[Violation] = field(default_factory=list)

    @property
    def expected(self) -> bool:
        """Whether words are means over the orders of tied documents."""
        return self.tie_first is not None

    # -- hooks: a frame binding computes shared words and sums once for all measures

    def cached(self, word: pl.Expr) -> pl.Expr:
        """Mark a word (one value per document) as worth computing once."""
        return word

    def running(self, word: pl.Expr) -> pl.Expr:
        """Mark a word that depends on this document and those above it alone."""
        return self.cached(word)

    def zero_below(self, k: Depth, word: pl.Expr) -> pl.Expr:
        """Mark a word that is 0, or false, for every document below rank ``k``."""
        return word

    def broadcast(self, value: pl.Expr) -> pl.Expr:
        """Mark a value of the query for use in an expression over its documents."""
        return value

    def sum(self, term: pl.Expr) -> pl.Expr:
        """Sum over the documents of the query."""
        return term.sum().cast(pl.Float64)

    def count_all(self, condition: pl.Expr) -> pl.Expr:
        """Count the documents that meet the condition, which no rank may change."""
        return self.sum(condition)

    def reduce(self, value: pl.Expr) -> pl.Expr:
        """Mark any other value of the query as a whole, e.g. a correlation."""
        return value

    def forbid(self, condition: pl.Expr, rule: Rule | str) -> None:
        """Raise a :class:`DataError` if a document meets the condition."""
        if isinstance(rule, str):
            rule = Rule("forbidden", rule)
        self.violations.append(Violation(rule, self.count_all(condition)))

    # -- grades

    @property
    def grade(self) -> pl.Expr:
        """The grade if it is positive, else 0 (also if unjudged)."""
        return pl.when(self.label > 0).then(self.label).otherwise(0.0)

    def _grade_from(self, rel: float) -> pl.Expr:
        return pl.when(self.label >= rel).then(self.grade).otherwise(0.0)

    def relevant(self, rel: float = 1) -> pl.Expr:
        """Return whether the document is relevant: ``label >= max(rel, 0)``."""
        return (self.label >= max(rel, 0)).fill_null(value=False)

    def nonrelevant(self, rel: float = 1) -> pl.Expr:
        """Return whether the document is judged, not relevant: ``0 <= label < rel``."""
        return ((self.label >= 0) & (self.label < rel)).fill_null(value=False)

    def gain(self, gain: Gain = "linear", rel: float | None = None) -> pl.Expr:
        """Gain of the document; 0 if unjudged, of negative grade or below ``rel``."""
        if gain == "exp2":
            self.forbid(self.label > LARGEST_EXP2_GRADE, GAIN_OVERFLOW)
        if isinstance(gain, str):
            return GAINS[gain](self.grade if rel is None else self._grade_from(rel))
        judged = self.label >= max(rel or 0, 0)
        worth = custom_gain(gain)(self.label).cast(pl.Float64)
        self.forbid(judged & ~(worth >= 0), NEGATIVE_GAIN)
        return pl.when(judged).then(worth).otherwise(0.0)

    def ideal_gain(self, gain: Gain = "linear", rel: float | None = None) -> pl.Expr:
        """Gains in descending order, aligned with ``place``."""
        if isinstance(gain, str):
            return self.ideal.gain(gain, rel)
        return self.cached(descending(self.gain(gain, rel)))

    def normalized_grade(self, least: float, most: float) -> pl.Expr:
        """Grade scaled to 0 ... 1: 0 at or below ``least``, 1 at ``most``."""
        return divide(self.grade.clip(lower_bound=least) - least, most - least)

    # -- places

    def rank_weight(self, f: Callable[[pl.Expr], pl.Expr], k: Depth = None) -> pl.Expr:
        """Weight of this rank: ``f(rank)``, 0 below the cutoff."""
        if k is None:
            return f(self.rank)
        weight = pl.when(self.rank <= k).then(f(self.rank)).otherwise(0.0)
        return self.zero_below(k, weight)

    def weight(self, f: Callable[[pl.Expr], pl.Expr], k: Depth = None) -> pl.Expr:
        """Weight of this document: ``f(rank)``, 0 below the cutoff.

        With ``expected`` ties: the mean weight of the places of its block.
        """
        if not self.expected:
            return self.rank_weight(f, k)
        return self.cached(self._block_mean(self.rank_weight(f, k)))

    def in_top(self, k: Depth = None) -> pl.Expr:
        """Return whether the document is among the first ``k`` retrieved.

        With ``expected`` ties: the share of the orders in which it is.
        """
        if isinstance(k, int | float) and k < 1:
            msg = f"k must be at least 1, or None for no cutoff, not {k}"
            raise ValueError(msg)
        if self.expected:
            return self.weight(one, k).fill_null(0.0)
        if k is None:
            return self.rank.is_not_null()
        return self.zero_below(k, (self.rank <= k).fill_null(value=False))

    def lookup_at_rank(self, along: pl.Expr) -> pl.Expr:
        """Value at this rank of a word along ``place``; the last one beyond its end."""
        place = self.rank.clip(1, along.len()).cast(pl.Int64)
        return self.cached(along.gather(place - 1))

    # -- counts of a query

    def relevant_count(self, rel: float = 1) -> pl.Expr:
        """``R``: number of relevant documents, retrieved or not."""
        return self.count_all(self.relevant(rel))

    def retrieved_count(self) -> pl.Expr:
        """``n``: number of retrieved documents."""
        return self.count_all(self.rank.is_not_null())

    def count(self, which: pl.Expr, k: Depth = None) -> pl.Expr:
        """Number of documents among the first ``k`` for which ``which`` holds."""
        if self.expected:
            return self.sum(which * self.in_top(k))
        return self.sum(which & self.in_top(k))

    def hits_at(self, k: Depth = None, rel: float = 1) -> pl.Expr:
        """Number of relevant documents among the first ``k``."""
        return self.count(self.relevant(rel), k)

    def weight_of_first(
        self, f: Callable[[pl.Expr], pl.Expr], k: Depth = None, rel: float = 1
    ) -> pl.Expr:
        """Weight ``f(rank)`` of the first relevant document; 0 if below the cutoff."""
        return self.sum(self.is_first_relevant(rel) * self.rank_weight(f, k))

    # -- running words

    def cumulative_hits(self, rel: float = 1) -> pl.Expr:
        """Number of relevant documents at or above this one."""
        self._require_one_order("cumulative_hits")
        return self.running(self.relevant(rel).cum_sum().cast(pl.Float64))

    def relevant_hits(self, rel: float = 1) -> pl.Expr:
        """``cumulative_hits`` where the document is relevant, else 0.

        With ``expected`` ties: the mean over the orders, place by place (McSherry
        and Najork, ECIR 2008): of a block of ``t`` documents with ``r`` relevant,
        after ``h`` hits, place ``i`` of the block has ``r/t (h + 1 + i (r-1)/(t-1))``.
        """
        relevant = self.relevant(rel)
        if not self.expected:
            return pl.when(relevant).then(self.cumulative_hits(rel)).otherwise(0.0)
        t, i, r = self._block_size, self._block_index, self._block_sum(relevant)
        above = self.cached(self._sum_above_block(relevant))
        among = pl.when(t > 1).then(i * (r - 1.0) / (t - 1.0)).otherwise(0.0)
        return r / t * (above + 1.0 + among)

    def is_first_relevant(self, rel: float = 1) -> pl.Expr:
        """Return 1 if this is the first relevant document, else 0.

        With ``expected`` ties: the share of the orders in which it does.
        """
        relevant = self.relevant(rel)
        if not self.expected:
            return (relevant & (self.cumulative_hits(rel) == 1.0)).cast(pl.Float64)
        t, i, r = self._block_size, self._block_index, self._block_sum(relevant)
        # The chance that none of the r relevant documents of a block is in its first i
        # places is a product of (t - r - i) / (t - i): see McSherry and Najork, ECIR
        # 2008, on reciprocal rank. It is 0 at the last place that the first can have,
        # and stays 0, so later blocks need no case of their own.
        none_yet = ((t - r - i) / (t - i)).cum_prod()
        return self.cached(none_yet.shift(1, fill_value=1.0) - none_yet)

    def reach_probability(self, stop: pl.Expr) -> pl.Expr:
        """Probability that the user gets here: product of ``1 - stop`` above."""
        self._require_one_order("reach_probability")
        return self.running((1.0 - stop).cum_prod().shift(1, fill_value=1.0))

    def cumulative_gain(self, worth: pl.Expr) -> pl.Expr:
        """Sum of ``worth``, e.g. ``r.gain()``, over the documents down to this one."""
        self._require_one_order("cumulative_gain")
        return self.running(worth.cum_sum())

    def cumulative_gain_above(self, worth: pl.Expr) -> pl.Expr:
        """Sum of ``worth``, e.g. ``r.gain()``, over the documents above this one."""
        return self.running(self.cumulative_gain(worth).shift(1, fill_value=0.0))

    def ideal_cumulative_gain(
        self, gain: Gain = "linear", rel: float | None = None
    ) -> pl.Expr:
        """Cumulative gain of the ideal order at this rank."""
        best = self.cached(self.ideal_gain(gain, rel).cum_sum())
        last = self.rank.clip(upper_bound=best.len())
        return self.cached(best.gather(last.cast(pl.Int64) - 1))

    def _require_one_order(self, word: str) -> None:
        if self.expected:
            msg = f"{word!r} has no mean over the orders of ties='expected'"
            raise ValueError(msg)

    # -- other orders

    @property
    def ideal(self) -> Ranking:
        """The ideal order of the judged documents: by grade, descending."""
        return replace(
            self,
            label=self.ideal_label,
            rank=self.place,
            tie_first=None,
            tie_last=None,
        )

    def ideal_over(self, pool: Ideal) -> Ranking:
        """Return the ranking whose ideal has all judged, or retrieved, documents."""
        if pool == "judged":
            return self
        retrieved = pl.when(self.rank.is_not_null()).then(self.label)
        best = self.cached(descending(retrieved))
        return replace(self, label=retrieved, ideal_label=best)

    # -- blocks of tied documents (rows are in rank order, place = row number)

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
        return self.cached(through - self._sum_above_block(value))

    def _block_mean(self, value: pl.Expr) -> pl.Expr:
        alone = self._block_size == 1.0
        return (
            pl.when(alone)
            .then(value)
            .otherwise(self._block_sum(value) / self._block_size)
        )


def order_by(
    score: pl.Expr,
    *,
    label: pl.Expr,
    doc: pl.Expr | None,
    ties: Ties,
    apart: bool = False,
) -> tuple[list[pl.Expr], list[bool]]:
    """Sort keys and their directions that put a query's documents in rank order.

    Of equal scores and labels, the rules by grade go by id only if documents are told
    ``apart``: the order changes no value, and takes time.
    """
    # Below all other grades: some measures tell unjudged from 0.
    grade = label.cast(pl.Float64).fill_null(float("-inf"))
    last = doc if apart else None
    others: dict[Ties, tuple[list[pl.Expr | None], bool]] = {
        "doc_desc": ([doc], True),
        "doc_asc": ([doc], False),
        "optimistic": ([grade, last], True),
        "pessimistic": ([grade, last], False),
    }
    among, descending = others.get(ties, ([], False))
    keys = [score, *(key for key in among if key is not None)]
    return keys, [True, *[descending] * (len(keys) - 1)]
