"""Functions of a frame as methods, which show the signature of the function."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any


def show_signature(method: Any, function: Callable[..., object]) -> None:
    """Show the function's parameters, its first one as ``self``."""
    first, *others = signature(function).parameters.values()
    own = first.replace(name="self", annotation=first.empty)
    method.__signature__ = signature(function).replace(parameters=[own, *others])
