"""Options as text and bytes that are the same in every process."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256

import polars as pl

from polars_rank._engine.tracing.recorder import Recorder
from polars_rank.measures.measure import Custom, Measure


def spelled_measure(measure: Measure | Custom) -> str:
    """Spell a measure with its version, a function with its formula."""
    if isinstance(measure, Custom):
        ranking = Recorder(
            rows="all", integer_grades=False, scored=True, expected=False
        ).ranking()
        return _of_function(measure.function, ranking)
    given = (v for _, v in measure.params if callable(v))
    functions = "".join(f", {spelled(function)}" for function in given)
    return f"{measure}, version {measure.definition.version}{functions}"


def spelled(value: object) -> object:
    """Spell a choice as text that is the same in every process, or as a plain value."""
    if isinstance(value, pl.Expr):
        own = spelled_option("", value)
        assert isinstance(own, bytes)
        return f"{value} #{sha256(own).hexdigest()[:16]}"
    if isinstance(value, list | tuple):
        return [spelled(v) for v in value]
    if callable(value):
        return _of_function(value, pl.col("grade"))
    return value if isinstance(value, str | int | float | None) else repr(value)


def _of_function(function: Callable[..., object], argument: object) -> str:
    """Spell a function by its name and by what it makes: lambdas share a name."""
    name = getattr(function, "__qualname__", type(function).__qualname__)
    made: object = ""
    with suppress(Exception):  # whatever it is: the plan will tell
        made = function(argument)
    return f"{function.__module__}.{name}" + (f": {made}" if str(made) else "")


def spelled_option(name: str, value: object) -> object:
    """Spell an option with bytes for expressions, the same in every process."""
    if isinstance(value, list | tuple) and has_expression(value):
        return [spelled_option(name, v) for v in value]
    if not isinstance(value, pl.Expr):
        return value
    try:
        return value.meta.serialize()
    except Exception as error:  # whatever pickling a function raises
        msg = (
            f"{name}={value} cannot be pickled, for it calls a Python function, and an "
            "Evaluation travels: write it with Polars expressions, or compute "
            f"{name} beforehand"
        )
        raise TypeError(msg) from error


def shown(value: object) -> str:
    """Spell an option as text, expressions without their address in memory."""
    if not has_expression(value):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    return str(value)


def has_expression(value: object) -> bool:
    """Whether an option is an expression, or several columns of which one is."""
    several = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(v, pl.Expr) for v in several)
