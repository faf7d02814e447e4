"""``.rank_eval`` on DataFrame and LazyFrame: the functions, as methods."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec

import polars as pl

from polars_rank._engine.request import AnyFrame
from polars_rank.evaluation.evaluate import evaluate, per_query
from polars_rank.evaluation.match_report import match_report
from polars_rank.evaluation.preferences import preferences
from polars_rank.measures.measure import Measures

if TYPE_CHECKING:
    from polars_rank.comparison.result import Comparison

__all__ = ["DataFrameRankEval", "LazyFrameRankEval"]

P = ParamSpec("P")


def _eager(
    function: Callable[Concatenate[pl.DataFrame, P], pl.DataFrame],
) -> Callable[Concatenate[DataFrameRankEval, P], pl.DataFrame]:
    @wraps(function)
    def method(
        self: DataFrameRankEval, /, *args: P.args, **kwargs: P.kwargs
    ) -> pl.DataFrame:
        return function(self._frame, *args, **kwargs)

    _show_signature(method, function)
    return method


def _lazy(
    function: Callable[Concatenate[pl.LazyFrame, P], pl.LazyFrame],
) -> Callable[Concatenate[LazyFrameRankEval, P], pl.LazyFrame]:
    @wraps(function)
    def method(
        self: LazyFrameRankEval, /, *args: P.args, **kwargs: P.kwargs
    ) -> pl.LazyFrame:
        return function(self._frame, *args, **kwargs)

    _show_signature(method, function)
    return method


def _compared(
    frame: pl.DataFrame | pl.LazyFrame,
    measures: Measures,
    qrels: AnyFrame | None,
    options: Mapping[str, Any] | None,
    arguments: dict[str, Any],
) -> Comparison:
    # These need numpy, which is not imported with the package.
    from polars_rank.comparison.compare import compare
    from polars_rank.comparison.runs import values_of_runs

    columns = ("system", "query", "seed", "by", "weight", "cluster")
    told = {name: arguments[name] for name in columns if name in arguments}
    values = values_of_runs(frame, measures, qrels=qrels, options=options, **told)
    return compare(values, **arguments)


def _show_signature(method: Any, function: Callable[..., object]) -> None:
    """Show the function's parameters, its first one as ``self``."""
    first, *others = signature(function).parameters.values()
    own = first.replace(name="self", annotation=first.empty)
    method.__signature__ = signature(function).replace(parameters=[own, *others])


@pl.api.register_dataframe_namespace("rank_eval")
class DataFrameRankEval:
    """Evaluate the rankings in a DataFrame."""

    def __init__(self, frame: pl.DataFrame) -> None:
        # Polars keeps this object on the frame: a reference back would be a cycle, and
        # a copy alone would not see columns that are replaced in place.
        self._alive = weakref.ref(frame)
        self._copy = frame.clone()

    @property
    def _frame(self) -> pl.DataFrame:
        frame = self._alive()
        return self._copy if frame is None else frame

    evaluate = _eager(evaluate)
    per_query = _eager(per_query)
    match_report = _eager(match_report)
    preferences = _eager(preferences)

    def compare(
        self,
        measures: Measures,
        *,
        qrels: AnyFrame | None = None,
        options: Mapping[str, Any] | None = None,
        **arguments: Any,
    ) -> Comparison:
        """Evaluate the systems in this frame, and compare them query by query.

        ``options`` are further arguments of :func:`per_query`, ``arguments`` those of
        :func:`compare`, such as ``system``, ``query``, ``baseline`` and ``test``.
        """
        return _compared(self._frame, measures, qrels, options, arguments)

    def bounds(self, measures: Measures, **arguments: Any) -> pl.DataFrame:
        """Bound values over ties and unknown labels: see :func:`bounds`."""
        from polars_rank.robustness.bounds import bounds  # needs numpy

        return bounds(self._frame, measures, **arguments)


@pl.api.register_lazyframe_namespace("rank_eval")
class LazyFrameRankEval:
    """Evaluate the rankings in a LazyFrame, lazily."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        # Polars keeps this object on the frame: a reference back would be a cycle.
        self._frame = frame.clone()

    evaluate = _lazy(evaluate)
    per_query = _lazy(per_query)
    match_report = _lazy(match_report)
    preferences = _lazy(preferences)

    def compare(
        self,
        measures: Measures,
        *,
        qrels: AnyFrame | None = None,
        options: Mapping[str, Any] | None = None,
        **arguments: Any,
    ) -> Comparison:
        """Evaluate the systems in this frame, and compare them query by query.

        ``options`` are further arguments of :func:`per_query`, ``arguments`` those of
        :func:`compare`, such as ``system``, ``query``, ``baseline`` and ``test``.
        """
        return _compared(self._frame, measures, qrels, options, arguments)

    def bounds(self, measures: Measures, **arguments: Any) -> pl.DataFrame:
        """Bound values over ties and unknown labels: see :func:`bounds`."""
        from polars_rank.robustness.bounds import bounds  # needs numpy

        return bounds(self._frame, measures, **arguments)
