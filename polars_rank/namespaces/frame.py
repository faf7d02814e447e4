"""``.rank_eval`` on DataFrame and LazyFrame: the functions, as methods."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, Unpack

import polars as pl

from polars_rank._engine.options import RequestOptions
from polars_rank.analysis.contribution_rows import contributions
from polars_rank.evaluation.evaluate import evaluate, per_query
from polars_rank.evaluation.match_report import match_report
from polars_rank.evaluation.preferences import preferences
from polars_rank.io.frames import FrameLike
from polars_rank.measures.measure import MeasureLike, Measures
from polars_rank.namespaces.methods import show_signature

if TYPE_CHECKING:
    from polars_rank.analysis.results import Changes, Reasons, SeveralReasons
    from polars_rank.comparison.keywords import ComparisonOptions
    from polars_rank.comparison.result import Comparison
    from polars_rank.evaluation.both import Both
    from polars_rank.namespaces.clicks import ClickLogRankEval
    from polars_rank.uncertainty.bounds.bounds import bounds
    from polars_rank.uncertainty.bounds.several_runs import Runs


P = ParamSpec("P")
Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)


def _eager(
    function: Callable[Concatenate[pl.DataFrame, P], pl.DataFrame],
) -> Callable[Concatenate[DataFrameRankEval, P], pl.DataFrame]:
    @wraps(function)
    def method(
        self: DataFrameRankEval, /, *args: P.args, **kwargs: P.kwargs
    ) -> pl.DataFrame:
        return function(self._frame, *args, **kwargs)

    show_signature(method, function)
    return method


def _lazy(
    function: Callable[Concatenate[pl.LazyFrame, P], pl.LazyFrame],
) -> Callable[Concatenate[LazyFrameRankEval, P], pl.LazyFrame]:
    @wraps(function)
    def method(
        self: LazyFrameRankEval, /, *args: P.args, **kwargs: P.kwargs
    ) -> pl.LazyFrame:
        return function(self._frame, *args, **kwargs)

    show_signature(method, function)
    return method


def _collected(
    function: Callable[Concatenate[FrameLike, P], pl.DataFrame],
) -> Callable[Concatenate[_Shared[Any], P], pl.DataFrame]:
    @wraps(function)
    def method(
        self: _Shared[Any], /, *args: P.args, **kwargs: P.kwargs
    ) -> pl.DataFrame:
        return function(self._frame, *args, **kwargs)

    show_signature(method, function)
    return method


class _Shared(Generic[Frame]):
    """Methods of both kinds of frame; what needs numpy is imported when called."""

    @property
    def _frame(self) -> Frame:
        raise NotImplementedError

    @property
    def clicks(self) -> ClickLogRankEval:
        """Functions of :mod:`polars_rank.clicks`, for the click log in this frame."""
        from polars_rank.namespaces.clicks import ClickLogRankEval

        return ClickLogRankEval(self._frame)

    def compare(
        self,
        measures: Measures,
        **options: Unpack[ComparisonOptions],
    ) -> Comparison:
        """Evaluate the systems in this frame, and compare them query by query.

        ``options`` are those of :func:`compare`, such as ``system``, ``baseline``,
        ``test``, ``qrels`` and ``ties``. Labels may be in the frame as well.

        Examples
        --------
        >>> import polars as pl, polars_rank as pr
        >>> from polars_rank import example
        >>> log = pl.scan_parquet(example.systems_path())
        >>> log.rank_eval.compare("ndcg@10", baseline="bm25").pairs.height
        3
        """
        from polars_rank.comparison.compare import compare
        from polars_rank.comparison.input.run_values import (
            OF_DOCUMENTS,
            RunOptions,
            values_of_runs,
        )
        from polars_rank.comparison.input.values import Columns

        rest: dict[str, Any] = {**options}
        if not OF_DOCUMENTS.isdisjoint(options):
            return compare(self._frame, **rest | {"measures": measures})
        of_runs = {n: rest.pop(n) for n in options if n in RunOptions.__annotations__}
        roles = ("system", "query", "by", "weight", "cluster", "repeat")
        columns = Columns(**{name: rest[name] for name in roles if name in rest})
        judged = rest.pop("qrels", None)
        values = values_of_runs(self._frame, measures, columns, qrels=judged, **of_runs)
        return compare(values, **rest)

    def fuse(self, method: str = "rrf", **options: Any) -> Frame:
        """Fuse the systems in this frame: see :func:`polars_rank.fusion.fuse`."""
        from polars_rank.fusion.fuse import fuse

        return fuse(self._frame, method, **options)

    def changes(self, after: Runs, k: int = 10, **options: Any) -> Changes:
        """Compare the first k documents of this run with those of another.

        ``options`` are those of :func:`polars_rank.analysis.changes`.

        Examples
        --------
        >>> import polars as pl, polars_rank
        >>> run = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2, 1]})
        >>> other = run.with_columns(score=-pl.col("score"))
        >>> run.rank_eval.changes(other, k=1).queries["overlap"].item()
        0.0
        """
        from polars_rank.analysis.run_changes import changes

        return changes(self._frame, after, k, **options)

    def reasons(
        self, after: Runs, measure: MeasureLike, **options: Any
    ) -> Reasons | SeveralReasons:
        """Take the difference of another run's mean and this one's apart.

        ``after`` may be several runs; it and ``options`` are those of
        :func:`polars_rank.analysis.reasons`.

        Examples
        --------
        >>> import polars as pl, polars_rank
        >>> run = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2, 1]})
        >>> other = run.with_columns(score=-pl.col("score"))
        >>> why = run.rank_eval.reasons(other, "rr", qrels={1: {"a": 1}})
        >>> why.queries["difference"].item()
        -0.5
        """
        from polars_rank.analysis.difference_reasons import reasons

        return reasons(self._frame, after, measure, **options)

    def to_judge(
        self, measure: MeasureLike, *, qrels: FrameLike, **options: Any
    ) -> pl.DataFrame:
        """Name the unjudged documents whose label can change the mean most.

        ``options`` are those of :func:`polars_rank.analysis.to_judge`.

        Examples
        --------
        >>> import polars as pl, polars_rank
        >>> run = pl.DataFrame({"query_id": 1, "doc_id": ["a", "b"], "score": [2, 1]})
        >>> run.rank_eval.to_judge("rr", qrels={1: {"b": 1}})["doc_id"].to_list()
        ['a']
        """
        from polars_rank.analysis.next_judgments import to_judge

        return to_judge(self._frame, measure, qrels=qrels, **options)

    def evaluate_both(
        self, measures: Measures, **options: Unpack[RequestOptions]
    ) -> Both[Frame]:
        """Average every measure, and give the values of every query, in one pass.

        See :func:`evaluate_both`.
        """
        from polars_rank.evaluation.both import evaluate_both

        return evaluate_both(self._frame, measures, **options)

    if TYPE_CHECKING:
        bounds = _collected(bounds)
    else:  # what it needs is slow to import

        def bounds(self, measures: Measures, **options: Any) -> pl.DataFrame:
            """Bound values over ties and unknown labels: see :func:`bounds`."""
            from polars_rank.uncertainty.bounds.bounds import bounds

            return bounds(self._frame, measures, **options)


class DataFrameRankEval(_Shared[pl.DataFrame]):
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

    contributions = _eager(contributions)
    evaluate = _eager(evaluate)
    per_query = _eager(per_query)
    match_report = _eager(match_report)
    preferences = _eager(preferences)


class LazyFrameRankEval(_Shared[pl.LazyFrame]):
    """Evaluate the rankings in a LazyFrame, lazily."""

    def __init__(self, frame: pl.LazyFrame) -> None:
        # Polars keeps this object on the frame: a reference back would be a cycle.
        self._copy = frame.clone()

    @property
    def _frame(self) -> pl.LazyFrame:
        return self._copy

    contributions = _lazy(contributions)
    evaluate = _lazy(evaluate)
    per_query = _lazy(per_query)
    match_report = _lazy(match_report)
    preferences = _lazy(preferences)
