"""Errors of tasks: returned as values, and raised where the evaluation was asked for.

An engine wraps what a task raises in errors of its own, and tries again what can never
succeed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import polars as pl

# Errors that another try would meet again. Others, such as a full disk, may pass.
LASTING = (TypeError, ValueError, pl.exceptions.PolarsError)


def caught(function: Callable[[Any], Any], item: Any) -> Any:
    """Return the result, or the error instead of it."""
    try:
        return function(item)
    except LASTING as error:
        return error


def raised(result: Any) -> Any:
    """Return the result, or raise the error."""
    if isinstance(result, Exception):
        raise result
    return result


def with_plain_errors(
    map: Callable[..., Iterable[Any]], kind: type
) -> Callable[..., Iterator[Any]]:
    """The same ``map``; errors of a task come as they are, whatever the engine.

    There must be one result for each task, of this kind.
    """

    def visit(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        given = found = 0

        def counted() -> Iterator[Any]:
            nonlocal given
            for item in items:
                given += 1
                yield item

        tasks = counted()
        for result in map(partial(caught, function), tasks):
            value = raised(result)
            if not isinstance(value, kind):
                msg = (
                    f"map= gives a {type(value).__name__} where the result of a task "
                    "should be: wait for it, as polars_rank.ray.map, .spark.map and "
                    ".dask.map do, e.g. with client.gather(client.map(function, items))"
                )
                raise TypeError(msg)
            found += 1
            yield value
        for _ in tasks:  # that map= did not take
            pass
        if found != given:
            msg = f"map= gives {found} of {given} results; it must give them all"
            raise ValueError(msg)

    return visit
