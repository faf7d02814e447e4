"""Docstrings, as numpydoc reads them."""

from __future__ import annotations

import inspect
from typing import Any

HEADING = ["Returns", "-------"]


def returns_in_words(
    app: Any, what: str, name: str, value: Any, options: Any, lines: list[str]
) -> None:
    """Put the annotated type above a section Returns that is prose.

    Numpydoc takes every line of such a section for a type.
    """
    for start in range(len(lines) - 1):
        if lines[start : start + 2] == HEADING:
            break
    else:
        return
    start += 2
    end = next(
        (i - 1 for i in range(start, len(lines)) if lines[i].startswith("-----")),
        len(lines),
    )
    said = lines[start:end]
    if len(said) > 1 and said[1].startswith(" "):
        return  # a type and its description already
    lines[start:end] = [annotated(value), *(f"    {line}".rstrip() for line in said)]


def annotated(value: Any) -> str:
    """The type that a function returns, as it is annotated."""
    try:
        found = inspect.signature(value).return_annotation
    except (TypeError, ValueError):
        return "value"
    if found is inspect.Signature.empty:
        return "value"
    return str(getattr(found, "__name__", found))
