"""Errors of tasks: returned as values, and raised where the evaluation was asked for.

An engine wraps what a task raises in errors of its own, and tries again what can never
succeed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import polars as pl

__all__ = ["caught", "raised", "with_plain_errors"]

# Errors that another try would meet again. Others, such as a full disk, may pass.
LASTING = (TypeError, ValueError, pl.exceptions.PolarsError)


def caught(function: Callable[[Any], Any], item: Any) -> Any:
    """The result, or the error instead of it."""
    try:
        return function(item)
    except LASTING as error:
        return error


def raised(result: Any) -> Any:
    """The result; an error is raised."""
    if isinstance(result, Exception):
        raise result
    return result


def with_plain_errors(
    map: Callable[..., Iterable[Any]],
) -> Callable[..., Iterator[Any]]:
    """The same ``map``; errors of a task come as they are, whatever the engine."""

    def visit(function: Callable[[Any], Any], items: Iterable[Any]) -> Iterator[Any]:
        for result in map(partial(caught, function), items):
            yield raised(result)

    return visit
