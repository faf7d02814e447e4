"""Functions of a frame: lazy for lazy, and clear about arguments and errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from inspect import signature
from typing import Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

import polars as pl

from polars_rank._engine.checks.rows import with_row
from polars_rank._engine.request import AnyFrame, Request
from polars_rank.core.fork import note_run, warn_if_forked
from polars_rank.core.metric.registry import not_taken
from polars_rank.exceptions import DataError
from polars_rank.io.frames import EagerFrameLike, FrameLike
from polars_rank.io.unreadable import damage_named
from polars_rank.measures.measure import Custom

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
P = ParamSpec("P")


class FrameFunction(Protocol[P]):
    """A function of a frame: returns a LazyFrame for a LazyFrame, else a DataFrame."""

    @overload
    def __call__(
        self, frame: pl.LazyFrame, /, *args: P.args, **kwargs: P.kwargs
    ) -> pl.LazyFrame: ...
    @overload
    def __call__(
        self, frame: EagerFrameLike, /, *args: P.args, **kwargs: P.kwargs
    ) -> pl.DataFrame: ...
    @overload
    def __call__(
        self, frame: FrameLike, /, *args: P.args, **kwargs: P.kwargs
    ) -> AnyFrame: ...


def frame_function(
    function: Callable[Concatenate[FrameLike, P], AnyFrame],
) -> FrameFunction[P]:
    """Type a function as one that returns what ``like_input`` returns.

    An argument that it does not take is a ``TypeError`` that says what to write; one
    with ``**options`` checks them itself.
    """
    parameters = signature(function).parameters
    known = [*parameters]
    takes_more = any(p.kind is p.VAR_KEYWORD for p in parameters.values())

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> AnyFrame:
        for name in kwargs:
            if name not in known and not takes_more:
                raise TypeError(not_taken(function.__name__, name, known))
        return function(*args, **kwargs)  # type: ignore[arg-type]

    return cast("FrameFunction[P]", call)


@overload
def like_input(
    frame: Frame,
    result: pl.LazyFrame | Callable[[], pl.DataFrame],
    *,
    in_memory: bool = False,
    request: Request | None = None,
) -> Frame: ...
@overload
def like_input(
    frame: FrameLike,
    result: pl.LazyFrame | Callable[[], pl.DataFrame],
    *,
    in_memory: bool = False,
    request: Request | None = None,
) -> AnyFrame: ...
def like_input(
    frame: FrameLike,
    result: pl.LazyFrame | Callable[[], pl.DataFrame],
    *,
    in_memory: bool = False,
    request: Request | None = None,
) -> AnyFrame:
    """Return a LazyFrame for a LazyFrame, a DataFrame otherwise.

    A ``request`` may come with a function that computes its result. Errors in the data
    are raised again here, without the traceback through the plan; with the ``request``
    they name the row. A file that cannot be read is named, too.
    """
    warn_if_forked()
    note_run()  # a plan, too: asked for its schema, Polars starts threads
    if isinstance(frame, pl.LazyFrame):
        return result if isinstance(result, pl.LazyFrame) else result().lazy()
    try:
        planned = [result] if isinstance(result, pl.LazyFrame) else []
        with damage_named(planned if request is None else request.inputs):
            if not isinstance(result, pl.LazyFrame):
                return result()
            return result.collect(engine="in-memory" if in_memory else "streaming")
    except pl.exceptions.InvalidOperationError as error:
        own = [] if request is None else request.measures
        names = [m.name for m in own if isinstance(m, Custom)]
        if not names:
            raise
        msg = (
            f"a measure of your own, {' or '.join(map(repr, names))}, must return one "
            "number for each query, e.g. r.relevant().sum(): "
            + str(error).partition("\n")[0]
        )
        raise TypeError(msg) from error
    except DataError as error:
        told = error if request is None else with_row(error, request)
    raise told.with_traceback(None)
