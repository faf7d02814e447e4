"""The documentation of a metric: its docstring, and what follows from its flags.

A docstring holds what only its author knows: the definition and titled sections. The
undefined case, the errors of gains and scales, and whether there is a mean over tied
orders follow from flags and types.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Protocol

from polars_rank.core.parameters import OtherThan

TITLES = ("Undefined", "Errors", "Source", "Equal to", "Example")
SECTION = re.compile(rf"^({'|'.join(TITLES)}): ", re.MULTILINE)
NO_TIE_MEAN = 'no closed form for ``ties="expected"``'


class Described(Protocol):
    """What the documentation of a metric follows from."""

    @property
    def function(self) -> Callable[..., Any]:
        """The formula, whose docstring is read."""

    @property
    def vocabulary(self) -> str:
        """The argument of the formula."""

    @property
    def needs_relevant(self) -> bool:
        """Whether it is undefined for a query with nothing relevant."""

    @property
    def no_tie_mean_when(self) -> Mapping[str, Any]:
        """Values of parameters for which there is no mean over tied orders."""

    def named(self, meaning: str) -> str | None:
        """Name of the parameter that has the meaning."""

    def has_tie_mean(self, params: Mapping[str, Any]) -> bool:
        """Return whether there is a mean over tied orders."""


def text(metric: Described, parameters: str = "") -> str:
    """Join the definition, the block of parameters (if any) and the sections."""
    listed = "\n".join(f"{title}: {body}" for title, body in sections(metric).items())
    return "\n\n".join(filter(None, (definition(metric), parameters, listed)))


def block(descriptions: Iterable[tuple[str, str]]) -> str:
    """List names and descriptions as the section ``Parameters`` of a docstring."""
    lines = ["Parameters", "----------"]
    for name, description in descriptions:
        sentence = f"{description[:1].upper()}{description[1:]}."
        lines += [name, textwrap.indent(_filled(sentence, 76), " " * 4)]
    return "\n".join(lines)


def definition(metric: Described) -> str:
    """Return the docstring down to its sections."""
    return SECTION.split(_docstring(metric))[0].strip()


def sections(metric: Described) -> dict[str, str]:
    """Return all sections: first what the flags imply, then what the docstring adds."""
    _, *parts = SECTION.split(_docstring(metric))
    written = dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))
    derived = {"Undefined": _undefined(metric), "Errors": _errors(metric)}
    for title, sentences in derived.items():
        both = [*sentences, *([written[title]] if title in written else [])]
        if both:
            joined = "; ".join(sentence.rstrip(".") for sentence in both)
            written[title] = _filled(f"{title}: {joined}.").removeprefix(f"{title}: ")
    return {title: written[title] for title in TITLES if title in written}


def _undefined(metric: Described) -> Iterator[str]:
    if not metric.needs_relevant:
        return
    if metric.vocabulary == "subtopics":
        yield "no subtopic has a relevant document"
    elif metric.named("gain"):
        yield "no document has a positive gain"
    elif metric.named("rel"):
        yield "nothing is relevant"
    else:
        yield "no document has a positive grade"


def _errors(metric: Described) -> Iterator[str]:
    if gain := metric.named("gain"):
        yield f'a gain below 0; ``{gain}="exp2"`` and a grade above 1023'
    if max_grade := metric.named("max_grade"):
        yield f"a grade above ``{max_grade}``"
    if not metric.has_tie_mean({}):
        yield NO_TIE_MEAN
        return
    for name, value in metric.no_tie_mean_when.items():
        yield f"with ``{argument(name, value)}``, {NO_TIE_MEAN}"


def argument(name: str, value: Any) -> str:
    """Write a parameter with its value or condition: ``divisor="hits"``, ``k``."""
    if not isinstance(value, OtherThan):
        return f'{name}="{value}"'
    return name if value.value is None else f"{name} != {value.value:g}"


def _docstring(metric: Described) -> str:
    return inspect.getdoc(metric.function) or ""


@cache
def _filled(text: str, width: int = 80) -> str:
    words = " ".join(text.split())
    return textwrap.fill(words, width, break_long_words=False, break_on_hyphens=False)
