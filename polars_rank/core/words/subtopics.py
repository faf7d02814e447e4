"""The vocabulary of diversity: the words of a metric about a query's subtopics.

A subtopic (intent, aspect) has grades of its own for the documents of the query. A
formula is evaluated for each subtopic, then reduced over subtopics; it never names a
column.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import polars as pl

from polars_rank.core.expr import ratio
from polars_rank.core.rules import Violation
from polars_rank.core.words.ranking import Ranking

Empty: TypeAlias = Literal["skip", "zero"]


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Subtopics:
    """One query's ranking, as each of its subtopics sees it.

    Attributes
    ----------
    each
        The documents in rank order with the grades of one subtopic: a formula over it
        has one value for every subtopic.
    sum
        Sum of such a value over the subtopics.
    greedy
        ``greedy(alpha, rel, k)`` is ``each`` in the greedy ideal order, k documents
        long: each rank goes to the document that adds most, where the j-th relevant
        document of a subtopic adds ``(1 - alpha)^(j - 1)``; of equal ones, to the one
        with the largest id, compared as text. (The ideal order is NP-hard to find.)

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> run = pl.DataFrame({"query_id": [1, 1], "doc_id": ["a", "b"], "score": [2, 1]})
    >>> qrels = pl.DataFrame(
    ...     {"query_id": 1, "subtopic": ["x", "y"], "doc_id": ["a", "b"], "label": 1}
    ... )
    >>> mine = {"covered by the first": lambda s: s.mean(s.each.hits_at(1))}
    >>> pr.per_query(run, mine, qrels=qrels, subtopic="subtopic").rows()
    [(1, 0.5)]
    """

    each: Ranking
    sum: Callable[[pl.Expr], pl.Expr]
    greedy: Callable[[float, float, int], Ranking]
    violations: list[Violation] = field(default_factory=list)

    def count(self, rel: float = 1) -> pl.Expr:
        """Number of subtopics with a relevant document, retrieved or not."""
        return self.sum(self.each.relevant_count(rel) > 0)

    def judged_count(self) -> pl.Expr:
        """Number of subtopics with a judged document."""
        return self.sum(self.each.label.count() > 0)

    def mean(self, value: pl.Expr, rel: float = 1, empty: Empty = "skip") -> pl.Expr:
        """Mean over the subtopics with something relevant.

        With ``empty="zero"``, over all that were judged.
        """
        whole = self.count(rel) if empty == "skip" else self.judged_count()
        return ratio(self.sum(value), whole)
