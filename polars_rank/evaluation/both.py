"""Means and values of queries together, from one pass."""

from __future__ import annotations

from inspect import signature
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar, Unpack, overload

import polars as pl

from polars_rank._engine.frame_function import like_input
from polars_rank._engine.options import RequestOptions
from polars_rank._engine.plan import plan_both
from polars_rank._engine.request import Request
from polars_rank.core.metric.registry import not_taken
from polars_rank.evaluation.evaluate import evaluate
from polars_rank.io.frames import EagerFrameLike, FrameLike
from polars_rank.measures.measure import Measures

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
DEFAULTS: dict[str, Any] = {"keep": None} | {
    name: parameter.default
    for name, parameter in signature(evaluate).parameters.items()
    if name not in ("frame", "measures")
}


class Both(NamedTuple, Generic[Frame]):
    """Means over the queries, and their values: frames, in that order.

    Attributes
    ----------
    means
        As :func:`evaluate` returns them.
    queries
        As :func:`per_query` returns them.
    """

    means: Frame
    queries: Frame


@overload
def evaluate_both(
    frame: pl.LazyFrame, measures: Measures, **options: Unpack[RequestOptions]
) -> Both[pl.LazyFrame]: ...
@overload
def evaluate_both(
    frame: EagerFrameLike, measures: Measures, **options: Unpack[RequestOptions]
) -> Both[pl.DataFrame]: ...
@overload
def evaluate_both(
    frame: FrameLike, measures: Measures, **options: Unpack[RequestOptions]
) -> Both[pl.DataFrame] | Both[pl.LazyFrame]: ...
def evaluate_both(
    frame: FrameLike, measures: Measures, **options: Unpack[RequestOptions]
) -> Both[pl.DataFrame] | Both[pl.LazyFrame]:
    """Average every measure, and give the values of every query, in one pass.

    Parameters
    ----------
    frame, measures
        As in :func:`evaluate`.
    options
        Those of :func:`evaluate`, and ``keep`` of :func:`per_query`.

    Returns
    -------
    A pair, ``means`` and ``queries``: what :func:`evaluate` and :func:`per_query`
    return. The rows are read, ranked and joined once. For a LazyFrame both are lazy,
    and share the pass if they are collected together, by ``polars.collect_all``; with
    ``memory_limit`` they do not, as neither may hold what the other needs.

    Raises
    ------
    ValueError, TypeError, DataError
        As the two functions.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> log = pl.DataFrame(
    ...     {"query_id": [1, 1, 2], "score": [0.9, 0.8, 0.7], "label": [0, 1, 1]}
    ... )
    >>> means, queries = pr.evaluate_both(log, ["rr", "precision@1"])
    >>> means["rr"].item(), queries["rr"].to_list()
    (0.75, [0.5, 1.0])
    """
    for name in options:
        if name not in DEFAULTS:
            raise TypeError(not_taken("evaluate_both", name, [*DEFAULTS]))
    whole: Any = DEFAULTS | {**options}
    request = Request.of(frame, measures, result="both", **whole)
    rows, finish = plan_both(request)
    if isinstance(frame, pl.LazyFrame):
        shared = rows if request.resources is not None else rows.cache()
        return Both(*finish(shared))
    in_memory = request.grouping == "hash"
    held: Any = like_input(frame, rows, in_memory=in_memory, request=request)
    means, values = finish(held.lazy())
    return Both(
        *(
            like_input(held, part, in_memory=in_memory, request=request)
            for part in (means, values)
        )
    )


def both_from_file(
    frame: pl.LazyFrame,
    measures: Measures,
    path: Path,
    **options: Unpack[RequestOptions],
) -> Both[pl.LazyFrame]:
    """Read, rank and join once, into a file of few columns: both are plans over it.

    So neither is held in memory, however many queries there are.
    """
    whole: Any = DEFAULTS | {**options}
    rows, finish = plan_both(Request.of(frame, measures, result="means", **whole))
    rows.sink_parquet(path, compression="lz4", engine="streaming")
    return Both(*finish(pl.scan_parquet(path, glob=False)))
