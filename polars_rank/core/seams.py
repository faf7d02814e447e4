"""What a room asks of one above it, which it may not import.

The package names who answers, and that module is imported when somebody asks.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

_ANSWERS: dict[str, tuple[str, str]] = {}


def answered_by(question: str, module: str, function: str) -> None:
    """Say which function of which module answers a question."""
    _ANSWERS[question] = module, function


def ask(question: str) -> Callable[..., Any]:
    """Return the function that answers a question."""
    module, function = _ANSWERS[question]
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found
