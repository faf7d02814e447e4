"""Parameters of metrics, described by their annotations.

A parameter is written once, as a type::

    m: Annotated[int, Range(least=1), Doc("relevant documents needed")] = 2

:class:`Range` or :class:`Allowed` is its rule, :class:`Doc` its description, and
:class:`Meaning` what it is to the library, whatever its name. Types that several
metrics share are in ``polars_rank.core.arguments`` and ``polars_rank.core.weights``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from math import isfinite
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)


@dataclass(frozen=True, eq=False)
class Doc:
    """Description of a parameter in one line, and of values that need one.

    If there are several, the last one counts.
    """

    text: str
    values: Mapping[Any, str] = field(default_factory=dict)


class OtherThan(NamedTuple):
    """All values of a parameter except this one."""

    value: Any

    def __contains__(self, value: object) -> bool:
        """Return whether it is another."""
        return bool(value != self.value)


@dataclass(frozen=True)
class Meaning:
    """The role of a parameter in the library, whatever its name.

    ``"k"`` is the cutoff, ``"optional_rel"`` a threshold that no convention sets. Any
    other meaning is a choice of conventions (``"rel"``, ``"gain"``, ``"ideal"`` ...):
    they fill the parameters that have it.
    """

    name: str


@dataclass(frozen=True)
class Range:
    """Bounds of a number: ``p: Annotated[float, Range(above=0, most=1)] = 0.8``.

    ``least`` and ``most`` belong to the range, ``above`` and ``below`` do not.
    """

    least: float | None = None
    most: float | None = None
    above: float | None = None
    below: float | None = None

    def __contains__(self, number: float) -> bool:
        """Return whether the number obeys every bound."""
        return (
            (self.least is None or number >= self.least)
            and (self.most is None or number <= self.most)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )

    def __str__(self) -> str:
        """Return the bounds in words: ``of at least 0 and below 1``."""
        words = {"of at least": self.least, "above": self.above}
        words |= {"of at most": self.most, "below": self.below}
        return " and ".join(f"{w} {b:g}" for w, b in words.items() if b is not None)


@dataclass(frozen=True)
class Allowed:
    """The allowed values of a parameter: in words, and as a test."""

    words: str
    test: Callable[[Any], bool]


NO_DOC = Doc("")


class Parameter(NamedTuple):
    """One parameter, as its annotation describes it.

    ``hint`` is the whole annotation.
    """

    name: str
    hint: Any
    allowed: Allowed
    meaning: str = ""
    doc: Doc = NO_DOC

    def check(self, value: object) -> None:
        """Raise ``ValueError`` if the value is not allowed."""
        if not self.allowed.test(value):
            refuse(self.name, self.allowed.words, value)


def read_parameters(function: Callable[..., Any]) -> dict[str, Parameter]:
    """Return every keyword parameter of a function."""
    keywords = signature(function).parameters.values()
    names = [p.name for p in keywords if p.kind is p.KEYWORD_ONLY]
    hints = get_type_hints(function, include_extras=True) if names else {}
    parameters = {name: read_hint(name, hints[name]) for name in names}
    meanings = [p.meaning for p in parameters.values() if p.meaning]
    for meaning in meanings:
        if meanings.count(meaning) > 1:
            msg = f"two parameters of {function.__name__} mean {meaning!r}; keep one"
            raise TypeError(msg)
    return parameters


def read_hint(name: str, hint: Any) -> Parameter:
    """Return the parameter that a type hint describes."""
    extras = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    meanings = [extra.name for extra in extras if isinstance(extra, Meaning)]
    docs = [extra for extra in extras if isinstance(extra, Doc)]
    return Parameter(
        name=name,
        hint=hint,
        allowed=_allowed(hint),
        meaning=meanings[-1] if meanings else "",
        doc=docs[-1] if docs else NO_DOC,
    )


def is_number(value: object) -> bool:
    """Return whether it is a finite number, of Python's or another kind (NumPy's)."""
    if not isinstance(value, Real) or isinstance(value, bool):
        return False
    return is_whole(value) if isinstance(value, Integral) else isfinite(value)


def is_whole(value: object) -> bool:
    """Return whether it is an integer of 64 bits, by type: 2.0 is not one."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        return False
    return -(2**63) <= int(value) < 2**63


def plain(value: Any) -> Any:
    """Return the value; numbers of other types become Python's own."""
    if is_whole(value):
        return int(value)
    return float(value) if is_number(value) else value


def refuse(name: str, rule: str, value: object) -> None:
    """Raise the error of an argument that breaks a rule."""
    msg = f"{name} must be {rule}, not {value!r}"
    raise ValueError(msg)


PLAIN: dict[Any, Allowed] = {
    NoneType: Allowed("None", lambda value: value is None),
    bool: Allowed("True or False", lambda value: type(value) is bool),
    int: Allowed("a whole number", is_whole),
    float: Allowed("a finite number", is_number),
}


def _allowed(hint: Any) -> Allowed:
    if get_origin(hint) is Annotated:
        hint, *extras = get_args(hint)
        if rules := [extra for extra in extras if isinstance(extra, Allowed)]:
            return rules[0]
        if ranges := [extra for extra in extras if isinstance(extra, Range)]:
            return _within(ranges[-1], _allowed(hint))
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Literal:
        words = f"one of {', '.join(map(str, inside))}"
        return Allowed(words, lambda value: _is_one_of(value, inside))
    if origin in (Union, UnionType):
        parts = [_allowed(part) for part in inside]
        words = " or ".join(part.words for part in parts)
        return Allowed(words, lambda value: any(part.test(value) for part in parts))
    if hint in PLAIN:
        return PLAIN[hint]
    msg = (
        f"no rule for arguments of type {hint}; give it one: "
        "Annotated[..., Allowed(words, test)]"
    )
    raise TypeError(msg)


def _within(bounds: Range, number: Allowed) -> Allowed:
    words = f"{number.words.replace('finite ', '')} {bounds}"
    return Allowed(words, lambda value: number.test(value) and value in bounds)


def _is_one_of(value: object, names: tuple[object, ...]) -> bool:
    return any(type(value) is type(name) and value == name for name in names)
