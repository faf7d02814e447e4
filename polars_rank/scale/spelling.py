"""Options as text and bytes that are the same in every process."""

from __future__ import annotations

import polars as pl

__all__ = ["has_expression", "shown", "spelled", "spelled_option"]


def spelled(value: object) -> str:
    """A choice as text that is the same in every process."""
    if callable(value):
        name = getattr(value, "__qualname__", type(value).__qualname__)
        return f"{value.__module__}.{name}"
    return repr(value)


def spelled_option(name: str, value: object) -> object:
    """An option with bytes for expressions, the same in every process."""
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
    """An option as text; expressions without their address in memory."""
    if not has_expression(value):
        return repr(value)
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(shown, value))}]"
    return str(value)


def has_expression(value: object) -> bool:
    """Whether an option is an expression, or several columns of which one is."""
    several = value if isinstance(value, list | tuple) else [value]
    return any(isinstance(v, pl.Expr) for v in several)
