"""The second binding: record which words and sums the measures ask for, each once.

A formula is traced, as in JAX: it runs once, on a ranking whose words are columns that
do not exist yet. Each word that depends on neighboring documents, each sum and each
other value of the query is recorded in the :class:`Recorder` under a name, and the
formula goes on with the column of that name. The plan then computes what was recorded,
once for all measures.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cached_property
from itertools import chain
from math import inf

import polars as pl

from polars_rank.core.metric.registry import Rows
from polars_rank.core.words.cutoffs import Cutoffs
from polars_rank.core.words.ranking import Depth, Ranking

WORDS = ("label", "rank", "score", "tie_first", "tie_last")


@dataclass
class ExprTable:
    """Expressions by name; an expression that is added again keeps its name."""

    prefix: str
    named: dict[str, pl.Expr] = field(default_factory=dict)
    _alike: dict[str, list[str]] = field(default_factory=dict)

    def add(self, expr: pl.Expr) -> str:
        """Return the name of the expression."""
        # The text finds candidates; it is no proof, as all literal series look alike.
        alike = self._alike.setdefault(str(expr), [])
        for name in alike:
            if self.named[name].meta.eq(expr):
                return name
        name = f"{self.prefix}{len(self.named)}"
        self.named[name] = expr
        alike.append(name)
        return name

    def aliased(self) -> list[pl.Expr]:
        """Return the expressions under their names."""
        return [expr.alias(name) for name, expr in self.named.items()]

    def roots(self) -> set[str]:
        """Return the columns that the expressions read."""
        return {root for expr in self.named.values() for root in expr.meta.root_names()}


class Recorder:
    """The words and sums that the measures of one plan need.

    Attributes
    ----------
    rows
        The documents that the plan keeps, besides the first of each query.
    integer_grades
        Whether labels are integers: then positive means at least 1.
    scored
        Whether there are scores, not only ranks.
    expected
        Whether words are means over the orders of tied documents.
    words
        Values per document that depend on neighboring ones (running counts).
    constants
        Values per query that are used in expressions over its documents.
    terms
        Values per document that are summed.
    aggregates
        Other values per query.
    counts
        Numbers of documents, whatever their rank; with ``top`` alone, else ``terms``.
    cutoffs
        How many of the first documents can change a value, but for ``counts``.
    top
        Whether the plan keeps the first documents alone, as many as ``cutoffs`` said.
    list_depth
        How many of the first documents the plan keeps, whether or not they matter.
    retrieved, lead
        Whether measures need the number of retrieved documents, and whether the first
        row is not relevant.
    """

    def __init__(
        self,
        rows: Rows,
        *,
        integer_grades: bool,
        scored: bool,
        expected: bool,
        top: bool = False,
        list_depth: float = 0,
    ) -> None:
        self.rows: Rows = "all" if top or list_depth == inf else rows
        self.list_depth = list_depth
        self.top = top
        self.integer_grades = integer_grades
        self.scored = scored
        self.expected = expected
        self.words = ExprTable("word")
        self.constants = ExprTable("constant")
        self.terms = ExprTable("term")
        self.aggregates = ExprTable("aggregate")
        self.counts = ExprTable("count")
        self.cutoffs = Cutoffs()
        self.retrieved = self.lead = False

    @cached_property
    def columns(self) -> set[str]:
        """Columns that words, terms and aggregates read, after all were recorded."""
        tables = self.words, self.constants, self.terms, self.aggregates
        exprs = chain.from_iterable(table.named.values() for table in tables)
        read = {root for expr in exprs for root in expr.meta.root_names()}
        if read & (self.terms.named.keys() | self.aggregates.named.keys()):
            msg = (
                "a sum over the query is used beside its documents: write "
                "r.broadcast(term.sum()) instead of r.sum(term) or a count there"
            )
            raise ValueError(msg)
        return read | ({"label"} if self.lead or "ideal_label" in read else set())

    @property
    def matter(self) -> pl.Expr:
        """Whether a document can change a value by its label."""
        label = pl.col("label")
        return label > 0 if self.rows == "relevant" else label.is_not_null()

    @property
    def kept(self) -> pl.Expr:
        """Whether a ranked document matters, or is among the first that are listed."""
        first = pl.col("rank") <= self.list_depth
        return self.matter | first if self.list_depth else self.matter

    @cached_property
    def word_levels(self) -> list[dict[str, pl.Expr]]:
        """Words in the order of computation: each reads those of earlier levels."""
        words = dict(self.words.named)
        if "ideal_label" in self.columns and not self.top:
            best = pl.col("label").sort(descending=True, nulls_last=True)
            words["ideal_label"] = best
        levels: list[dict[str, pl.Expr]] = []
        later = self.constants.named.keys() | {"place"}
        while words:
            ready = {
                name: word
                for name, word in words.items()
                if not (words.keys() | later) & set(word.meta.root_names())
            }
            levels.append(ready)
            later = set()
            words = {name: word for name, word in words.items() if name not in ready}
        if not levels and (
            self.lead or self.constants.named or "place" in self.columns
        ):
            levels.append({})
        return levels

    @cached_property
    def summands(self) -> list[str | pl.Expr]:
        """Columns that the aggregates read, and the terms."""
        roots = self.aggregates.roots() - self.terms.named.keys()
        return [*sorted(roots), *self.terms.aliased()]

    @cached_property
    def sums(self) -> list[pl.Expr]:
        """The terms as lists, to be summed, and the aggregates."""
        return [*map(pl.col, self.terms.named), *self.aggregates.aliased()]

    def ranking(self) -> Ranking:
        """Bind every word to the column of its name."""
        raw_score = pl.col("score") if self.scored else -pl.col("rank")
        return Ranking(
            label=pl.col("label"),
            rank=pl.col("rank"),
            place=pl.col("rank" if self.top else "place"),
            ideal_label=pl.col("ideal_label"),
            score=raw_score.cast(pl.Float64),
            raw_score=raw_score,
            tie_first=pl.col("tie_first") if self.expected else None,
            tie_last=pl.col("tie_last") if self.expected else None,
        )

    def recording_ranking(self) -> RecordingRanking:
        """Return the same, recording what the measures need."""
        plain = self.ranking()
        words = {f.name: getattr(plain, f.name) for f in fields(plain)}
        return RecordingRanking(**words, recorder=self)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class RecordingRanking(Ranking):
    """A ranking over columns that records what it needs."""

    recorder: Recorder

    def cached(self, word: pl.Expr) -> pl.Expr:
        """Compute the word once, as a column; it may depend on all documents."""
        self.recorder.cutoffs.depths.add(None)
        return self.running(word)

    def running(self, word: pl.Expr) -> pl.Expr:
        """Compute the word once, as a column."""
        return pl.col(self.recorder.words.add(word))

    def zero_below(self, k: Depth, word: pl.Expr) -> pl.Expr:
        """Note the cutoff."""
        return self.recorder.cutoffs.note(word, k)

    def broadcast(self, value: pl.Expr) -> pl.Expr:
        """Compute the value once, repeated along the query's rows."""
        self.recorder.cutoffs.depths.add(None)
        return pl.col(self.recorder.constants.add(value))

    def sum(self, term: pl.Expr) -> pl.Expr:
        """Sum the term once; a query's terms are a list, in rank order."""
        self.recorder.cutoffs.add(term)
        return self._total(term)

    def count_all(self, condition: pl.Expr) -> pl.Expr:
        """Count once; where rows are left out, before that."""
        recorder = self.recorder
        if recorder.top:
            return pl.col(recorder.counts.add(Ranking.sum(self, condition)))
        if not {*condition.meta.root_names()} <= {"label", "ideal_label"}:
            recorder.cutoffs.depths.add(None)
        return self._total(condition)

    def _total(self, term: pl.Expr) -> pl.Expr:
        name = self.recorder.terms.add(term.cast(pl.Float64).fill_null(0.0))
        return pl.col(name).list.sum()

    def reduce(self, value: pl.Expr) -> pl.Expr:
        """Compute the value once."""
        self.recorder.cutoffs.depths.add(None)
        return pl.col(self.recorder.aggregates.add(value))

    def retrieved_count(self) -> pl.Expr:
        """Return ``n``, which was counted where the rows were ranked."""
        self.recorder.retrieved = True
        return pl.col("retrieved").fill_null(0).cast(pl.Float64)

    def cumulative_hits(self, rel: float = 1) -> pl.Expr:
        """Count relevant documents down to here: ``place`` if all are relevant."""
        recorder = self.recorder
        only = recorder.rows == "relevant" and not recorder.list_depth
        if only and recorder.integer_grades and 0 < rel <= 1:
            recorder.lead = True
            return pl.col("place") - pl.col("lead")
        return super().cumulative_hits(rel)
