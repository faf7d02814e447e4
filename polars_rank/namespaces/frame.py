"""``.rank_eval`` on DataFrame and LazyFrame: a thin, typed adapter."""

from __future__ import annotations

import weakref
from typing import Unpack

import polars as pl

from polars_rank._engine import AnyFrame
from polars_rank.evaluation.evaluate import (
    EvaluateOptions,
    PerQueryOptions,
    evaluate,
    per_query,
)
from polars_rank.evaluation.match_report import MatchReportOptions, match_report
from polars_rank.evaluation.preferences import PreferenceOptions, preferences
from polars_rank.measures.measure import Measures

__all__ = ["DataFrameRankEval", "LazyFrameRankEval"]


@pl.api.register_dataframe_namespace("rank_eval")
class DataFrameRankEval:
    """What the package does with a DataFrame."""

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

    def match_report(
        self, qrels: AnyFrame, **options: Unpack[MatchReportOptions]
    ) -> pl.DataFrame:
        """What was matched; see ``polars_rank.match_report``."""
        return match_report(self._frame, qrels, **options).collect()

    def preferences(
        self, judgments: AnyFrame, **options: Unpack[PreferenceOptions]
    ) -> pl.DataFrame:
        """Preferences that the order fulfils; see ``polars_rank.preferences``."""
        return preferences(self._frame, judgments, **options).collect()


@pl.api.register_lazyframe_namespace("rank_eval")
class LazyFrameRankEval:
    """What the package does with a LazyFrame."""

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

    def match_report(
        self, qrels: AnyFrame, **options: Unpack[MatchReportOptions]
    ) -> pl.LazyFrame:
        """What was matched; see ``polars_rank.match_report``."""
        return match_report(self._frame, qrels, **options)

    def preferences(
        self, judgments: AnyFrame, **options: Unpack[PreferenceOptions]
    ) -> pl.LazyFrame:
        """Preferences that the order fulfils; see ``polars_rank.preferences``."""
        return preferences(self._frame, judgments, **options)
