"""Open logs of any library, and files, as Polars frames."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import signature
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

import polars as pl

from polars_rank._engine.frame_function import FrameFunction, like_input
from polars_rank._engine.request import AnyFrame
from polars_rank.clicks.log.log_columns import LogColumns, LogOptions
from polars_rank.core.metric.registry import not_taken
from polars_rank.io.frames import FrameLike, as_polars

P = ParamSpec("P")
R = TypeVar("R")
FRAMES = ("impressions", "covariates", "propensities")  # of arguments
WORDS = ("harvest",)  # where a path would do, too


def opened(source: object, name: str) -> AnyFrame:
    """Open ``source``, called ``name`` in messages, as a Polars frame."""
    if isinstance(source, Mapping):
        msg = f"{name} must be a frame or a path, not dict; wrap it with pl.DataFrame()"
        raise TypeError(msg)
    return as_polars(cast("FrameLike", source), name=name)


def opening(
    function: Callable[Concatenate[AnyFrame, P], R],
) -> Callable[Concatenate[FrameLike, P], R]:
    """Let a function take a log, and frames in arguments, of any library."""
    known = _keywords(function)

    @wraps(function)
    def of_any(log: FrameLike, /, *args: P.args, **kwargs: P.kwargs) -> R:
        for name in kwargs:
            if name not in known:
                raise TypeError(not_taken(function.__name__, name, known))
        for name in FRAMES:
            given = kwargs.get(name)
            word = name == "propensities" and isinstance(given, str) and given in WORDS
            if given is not None and not isinstance(given, int | float) and not word:
                kwargs[name] = opened(given, name)
        frame = opened(log, "the log")
        result = function(frame, *args, **kwargs)
        if isinstance(result, pl.LazyFrame) and not isinstance(log, pl.LazyFrame):
            return cast("R", like_input(log, result))
        return result

    return of_any


def _keywords(function: Callable[..., Any]) -> list[str]:
    """List the names of its arguments, and of options that it hands on."""
    parameters = signature(function).parameters.values()
    own = [
        p.name
        for p in parameters
        if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        own += [*LogOptions.__annotations__, *LogColumns.__annotations__]
    return own


def function_of_log(
    function: Callable[Concatenate[AnyFrame, P], AnyFrame],
) -> FrameFunction[P]:
    """Open the log for a function that gives a frame like its input."""
    return cast("FrameFunction[P]", opening(function))
