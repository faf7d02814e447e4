"""The second binding: words and sums of many measures, each computed once."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property

import polars as pl

from polars_rank.core.ranking import Ranking
from polars_rank.core.registry import Rows

__all__ = ["WORDS", "Needs", "SharedRanking"]

WORDS = ("label", "rank", "score", "tie_first", "tie_last")


class Names:
    """Expressions by name; an expression that is known already keeps its name."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix
        self.named: dict[str, pl.Expr] = {}
        self._alike: dict[str, list[str]] = {}

    def add(self, expr: pl.Expr) -> str:
        """Name of the expression."""
        alike = self._alike.setdefault(str(expr), [])
        for name in alike:
            if self.named[name].meta.eq(expr):
                return name
        name = f"{self.prefix}{len(self.named)}"
        self.named[name] = expr
        alike.append(name)
        return name

    def roots(self) -> set[str]:
        """Columns that the expressions read."""
        return {root for expr in self.named.values() for root in expr.meta.root_names()}


class Needs:
    """What the measures of one plan ask for.

    Attributes
    ----------
    rows
        The documents that stand in the frame, beside each query's first.
    whole_grades
        Whether labels are integers: then positive means at least 1.
    scored
        Whether there are scores, not only ranks.
    expected
        Whether words are means over the orders of tied documents.
    words
        A value per document that looks at its neighbours (running counts).
    constants
        A value per query that is used beside its documents.
    terms
        A value per document that is summed.
    aggregates
        Any other value per query.
    retrieved, lead
        Whether the number of retrieved documents is asked for, and whether the first
        row is not relevant.
    """

    def __init__(
        self, rows: Rows, *, whole_grades: bool, scored: bool, expected: bool
    ) -> None:
        self.rows = rows
        self.whole_grades = whole_grades
        self.scored = scored
        self.expected = expected
        self.words = Names("word")
        self.constants = Names("constant")
        self.terms = Names("term")
        self.aggregates = Names("aggregate")
        self.retrieved = self.lead = False

    @cached_property
    def columns(self) -> set[str]:
        """Columns that words, terms and aggregates read, once all have asked."""
        asked = self.words, self.constants, self.terms, self.aggregates
        if any(names.roots() & self._sums() for names in asked):
            msg = (
                "a sum over the query stands beside its documents: write "
                "r.broadcast(term.sum()) instead of r.sum(term) or a count there"
            )
            raise ValueError(msg)
        read = set().union(*(names.roots() for names in asked))
        return read | ({"label"} if self.lead or "ideal_label" in read else set())

    @property
    def matter(self) -> pl.Expr:
        """Whether a document can change a value by its label."""
        label = pl.col("label")
        return label > 0 if self.rows == "relevant" else label.is_not_null()

    def _sums(self) -> set[str]:
        return self.terms.named.keys() | self.aggregates.named.keys()

    @cached_property
    def word_levels(self) -> list[dict[str, pl.Expr]]:
        """Words in the order of computation: each reads those of earlier levels."""
        words = dict(self.words.named)
        if "ideal_label" in self.columns:
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

    def ranking(self) -> Ranking:
        """Bind every word to the column of its name."""
        return Ranking(
            label=pl.col("label"),
            rank=pl.col("rank"),
            place=pl.col("place"),
            ideal_label=pl.col("ideal_label"),
            score=pl.col("score") if self.scored else -pl.col("rank"),
            tie_first=pl.col("tie_first") if self.expected else None,
            tie_last=pl.col("tie_last") if self.expected else None,
        )

    def shared_ranking(self) -> SharedRanking:
        """The same, writing down what the measures ask for."""
        plain = self.ranking()
        words = {f.name: getattr(plain, f.name) for f in fields(plain)}
        return SharedRanking(**words, needs=self)


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class SharedRanking(Ranking):
    """A ranking over columns that writes down what it needs."""

    needs: Needs

    def cached(self, word: pl.Expr) -> pl.Expr:
        """Compute the word once, as a column."""
        return pl.col(self.needs.words.add(word))

    def broadcast(self, value: pl.Expr) -> pl.Expr:
        """Compute the value once, repeated along the query's rows."""
        return pl.col(self.needs.constants.add(value))

    def sum(self, term: pl.Expr) -> pl.Expr:
        """Sum the term once; a query's terms stand in a list, in rank order."""
        name = self.needs.terms.add(term.cast(pl.Float64).fill_null(0.0))
        return pl.col(name).list.sum()

    def reduce(self, value: pl.Expr) -> pl.Expr:
        """Compute the value once."""
        return pl.col(self.needs.aggregates.add(value))

    def retrieved_count(self) -> pl.Expr:
        """``n``, counted where the rows were ranked."""
        self.needs.retrieved = True
        return pl.col("retrieved").fill_null(0).cast(pl.Float64)

    def cumulative_hits(self, rel: float = 1) -> pl.Expr:
        """Relevant documents at or above; the place where every row is relevant."""
        needs = self.needs
        if needs.rows == "relevant" and needs.whole_grades and 0 < rel <= 1:
            needs.lead = True
            return pl.col("place") - pl.col("lead")
        return super().cumulative_hits(rel)
