"""``.rank_eval`` on Expr, DataFrame and LazyFrame: a thin, typed adapter."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias, Unpack

import polars as pl
import polars.selectors as cs

from polars_rank.coverage import CoverageOptions, coverage
from polars_rank.engine import AnyFrame
from polars_rank.evaluate import (
    EvaluateOptions,
    PerQueryOptions,
    evaluate,
    per_query,
)
from polars_rank.expression import ranked
from polars_rank.measure import Measures
from polars_rank.metrics.registry import METRICS, check, value
from polars_rank.ranking import Ideal, NoRelevant, Ties
from polars_rank.weights import Discount, Gain

__all__ = ["DataFrameRankEval", "ExprRankEval", "LazyFrameRankEval"]

Column: TypeAlias = str | pl.Expr
Score: TypeAlias = Column | None


@pl.api.register_expr_namespace("rank_eval")
class ExprRankEval:
    """Metrics of one ranked list; the expression holds the labels.

    Every method takes the score that ranks the documents (highest first). Metrics of
    relevance also take ``rank=`` instead, a column of known places; ``doc=``, document
    ids that break ties; ``ties=``; and ``no_relevant=``, the value where nothing is
    relevant. The parameters and definitions are those of ``polars_rank.metrics``.

    Examples
    --------
    >>> import polars as pl
    >>> import polars_rank
    >>> log = pl.DataFrame({"score": [0.9, 0.8], "label": [0, 1]})
    >>> log.select(pl.col("label").rank_eval.rr("score")).item()
    0.5
    """

    def __init__(self, expr: pl.Expr) -> None:
        self._label = expr

    def accuracy(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Whether any relevant document stands in the first k (success, hit rate)."""
        asked = dict(k=k, rel=rel)
        return self._value("accuracy", score, rank, doc, ties, no_relevant, asked)

    def precision(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        divisor: Literal["k", "retrieved", "min_k_R"] = "k",
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Share of the first k that is relevant; short lists are filled with misses."""
        asked = dict(k=k, rel=rel, divisor=divisor)
        return self._value("precision", score, rank, doc, ties, no_relevant, asked)

    def recall(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        divisor: Literal["R", "min_k_R"] = "R",
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Share of all relevant documents that stand in the first k."""
        asked = dict(k=k, rel=rel, divisor=divisor)
        return self._value("recall", score, rank, doc, ties, no_relevant, asked)

    def f1(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Harmonic mean of precision@k and recall@k."""
        asked = dict(k=k, rel=rel)
        return self._value("f1", score, rank, doc, ties, no_relevant, asked)

    def ap(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        divisor: Literal["R", "min_k_R", "hits", "k"] = "R",
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Average precision: mean of the precision at each relevant document."""
        asked = dict(k=k, rel=rel, divisor=divisor)
        return self._value("ap", score, rank, doc, ties, no_relevant, asked)

    def rr(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        rel: float = 1,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Reciprocal rank of the first relevant document; 0 if it stands below k."""
        asked = dict(k=k, rel=rel)
        return self._value("rr", score, rank, doc, ties, no_relevant, asked)

    def cg(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        gain: Gain = "linear",
        rel: float | None = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Cumulative gain: the sum of ``gain(label)`` over the first k."""
        asked = dict(k=k, gain=gain, rel=rel)
        return self._value("cg", score, rank, doc, ties, no_relevant, asked)

    def dcg(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        gain: Gain = "linear",
        discount: Discount = "log2",
        rel: float | None = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Discounted cumulative gain: the sum of ``gain(label) / log2(rank + 1)``."""
        asked = dict(k=k, gain=gain, discount=discount, rel=rel)
        return self._value("dcg", score, rank, doc, ties, no_relevant, asked)

    def ndcg(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        gain: Gain = "linear",
        discount: Discount = "log2",
        ideal: Ideal = "judged",
        rel: float | None = None,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """DCG as a share of the best DCG that the judged documents allow."""
        asked = dict(k=k, gain=gain, discount=discount, ideal=ideal, rel=rel)
        return self._value("ndcg", score, rank, doc, ties, no_relevant, asked)

    def err(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        max_grade: float | Literal["query"] = 4,
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """Expected reciprocal rank: mean of 1 / rank where the user is satisfied."""
        asked = dict(k=k, max_grade=max_grade)
        return self._value("err", score, rank, doc, ties, no_relevant, asked)

    def nerr(
        self,
        score: Score = None,
        *,
        k: int | None = None,
        max_grade: float | Literal["query"] = 4,
        ideal: Ideal = "judged",
        rank: Score = None,
        doc: Score = None,
        ties: Ties | None = None,
        no_relevant: NoRelevant = "zero",
    ) -> pl.Expr:
        """ERR as a share of the best ERR that the judged documents allow."""
        asked = dict(k=k, max_grade=max_grade, ideal=ideal)
        return self._value("nerr", score, rank, doc, ties, no_relevant, asked)

    def kendall_distance(
        self,
        score: Column,
        *,
        k: int | None = None,
        penalty: float = 0.5,
    ) -> pl.Expr:
        """Normalised Kendall tau distance: share of pairs that the two orders swap."""
        asked = dict(k=k, penalty=penalty)
        return self._value("kendall_distance", score, None, None, None, "zero", asked)

    def spearman(
        self,
        score: Column,
        *,
        k: int | None = None,
    ) -> pl.Expr:
        """Spearman's rho: correlation of the ranks by score and by label."""
        asked = dict(k=k)
        return self._value("spearman", score, None, None, None, "zero", asked)

    def squared_error(
        self,
        score: Column,
        *,
        k: int | None = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Mean squared error of score and label over the judged in the first k."""
        asked = dict(k=k)
        return self._value("squared_error", score, None, doc, ties, "zero", asked)

    def hinge(
        self,
        score: Column,
        *,
        k: int | None = None,
        doc: Score = None,
        ties: Ties | None = None,
    ) -> pl.Expr:
        """Mean of max(0, 1 - (score_a - score_b)) over pairs with label_a > label_b."""
        asked = dict(k=k)
        return self._value("hinge", score, None, doc, ties, "zero", asked)

    def listmle(
        self,
        score: Column,
        *,
        k: int | None = None,
    ) -> pl.Expr:
        """Negative log-likelihood that the scores draw the documents in label order."""
        asked = dict(k=k)
        return self._value("listmle", score, None, None, None, "zero", asked)

    def _value(
        self,
        name: str,
        score: Score,
        rank: Score,
        doc: Score,
        ties: Ties | None,
        no_relevant: NoRelevant,
        asked: Mapping[str, Any],
    ) -> pl.Expr:
        metric = METRICS[name]
        check(metric, asked, ties, no_relevant)
        return ranked(
            lambda ranking: value(metric, ranking, asked, no_relevant),
            self._label,
            by=_expr(score),
            rank=_expr(rank),
            doc=_expr(doc),
            ties=ties,
        )


def _expr(column: Score) -> pl.Expr | None:
    """A name is one column, also where it looks like a pattern."""
    return cs.by_name(column).as_expr() if isinstance(column, str) else column


@pl.api.register_dataframe_namespace("rank_eval")
class DataFrameRankEval:
    """``evaluate``, ``per_query`` and ``coverage`` of a DataFrame."""

    def __init__(self, frame: pl.DataFrame) -> None:
        # Polars keeps this object on the frame: a reference back would be a cycle, and
        # a copy alone would not see columns that are replaced in place.
        self._alive = weakref.ref(frame)
        self._copy = frame.lazy()

    @property
    def _frame(self) -> pl.LazyFrame:
        frame = self._alive()
        return self._copy if frame is None else frame.lazy()

    def evaluate(
        self, measures: Measures, **options: Unpack[EvaluateOptions]
    ) -> pl.DataFrame:
        """Mean of every measure over the queries; see ``polars_rank.evaluate``."""
        return evaluate(self._frame, measures, **options).collect()

    def per_query(
        self, measures: Measures, **options: Unpack[PerQueryOptions]
    ) -> pl.DataFrame:
        """Value of every measure and query; see ``polars_rank.per_query``."""
        return per_query(self._frame, measures, **options).collect()

    def coverage(
        self, qrels: AnyFrame, **options: Unpack[CoverageOptions]
    ) -> pl.DataFrame:
        """What was matched; see ``polars_rank.coverage``."""
        return coverage(self._frame, qrels, **options).collect()


@pl.api.register_lazyframe_namespace("rank_eval")
class LazyFrameRankEval:
    """``evaluate``, ``per_query`` and ``coverage`` of a LazyFrame."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        # Polars keeps this object on the frame: a reference back would be a cycle.
        self._frame = frame.clone()

    def evaluate(
        self, measures: Measures, **options: Unpack[EvaluateOptions]
    ) -> pl.LazyFrame:
        """Mean of every measure over the queries; see ``polars_rank.evaluate``."""
        return evaluate(self._frame, measures, **options)

    def per_query(
        self, measures: Measures, **options: Unpack[PerQueryOptions]
    ) -> pl.LazyFrame:
        """Value of every measure and query; see ``polars_rank.per_query``."""
        return per_query(self._frame, measures, **options)

    def coverage(
        self, qrels: AnyFrame, **options: Unpack[CoverageOptions]
    ) -> pl.LazyFrame:
        """What was matched; see ``polars_rank.coverage``."""
        return coverage(self._frame, qrels, **options)
