"""What the arguments of a metric may be: rules, read off its annotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeAlias,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from polars_rank.core.weights import DISCOUNTS, GAINS, Discount, Gain

__all__ = ["Persistence", "Range", "Share", "is_number", "refuse", "rules"]

Rule: TypeAlias = tuple[str, Callable[[Any], bool]]  # in words, and whether it holds


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
        """Whether the number obeys every bound."""
        return (
            (self.least is None or number >= self.least)
            and (self.most is None or number <= self.most)
            and (self.above is None or number > self.above)
            and (self.below is None or number < self.below)
        )

    def __str__(self) -> str:
        """The bounds in words: ``of at least 0 and below 1``."""
        words = {"of at least": self.least, "above": self.above}
        words |= {"of at most": self.most, "below": self.below}
        return " and ".join(f"{w} {b:g}" for w, b in words.items() if b is not None)


Share: TypeAlias = Annotated[float, Range(least=0, most=1)]
Persistence: TypeAlias = Annotated[float, Range(above=0, below=1)]


def is_number(given: object) -> bool:
    """Whether it is a finite number."""
    return (
        isinstance(given, int | float)
        and not isinstance(given, bool)
        and given == given
        and abs(given) != float("inf")
    )


def refuse(name: str, rule: str, given: object) -> None:
    """Raise the error of an argument that breaks a rule."""
    msg = f"{name} must be {rule}, not {given!r}"
    raise ValueError(msg)


@cache
def rules(function: Callable[..., Any]) -> dict[str, Rule]:
    """The rule of every parameter of a metric's function."""
    hints = get_type_hints(function, include_extras=True)
    own = {n: hint for n, hint in hints.items() if n not in ("r", "s", "return")}
    return {n: _cutoff(h) if n == "k" else _rule(h) for n, h in own.items()}


def _rule(hint: Any) -> Rule:
    if known := next((rule for known, rule in KNOWN if hint == known), None):
        return known
    origin, inside = get_origin(hint), get_args(hint)
    if origin is Literal:
        return f"one of {', '.join(map(str, inside))}", lambda v: _one_of(v, inside)
    if origin is Annotated and isinstance(inside[1], Range):
        bounds, (words, holds) = inside[1], _rule(inside[0])
        words = f"{words.replace('finite ', '')} {bounds}"
        return words, lambda v: holds(v) and v in bounds
    if origin in (Union, UnionType):
        some = [_rule(part) for part in inside]
        return " or ".join(r[0] for r in some), lambda v: any(r[1](v) for r in some)
    msg = f"no rule for arguments of type {hint}; add it to metrics/parameters.py"
    raise TypeError(msg)


def _cutoff(hint: Any) -> Rule:
    words, optional = "a whole number of at least 1", NoneType in get_args(hint)
    return (
        words + (", or None for no cutoff" if optional else ""),
        lambda k: (optional and k is None) or (type(k) is int and k >= 1),
    )


def _one_of(given: object, names: tuple[object, ...]) -> bool:
    return any(type(given) is type(name) and given == name for name in names)


def _is_gain(gain: object) -> bool:
    if isinstance(gain, Mapping):
        numbers = all(map(is_number, [*gain, *gain.values()]))
        return bool(gain) and numbers and min(gain.values()) >= 0
    return callable(gain) or (isinstance(gain, str) and gain in GAINS)


def _is_discount(discount: object) -> bool:
    return callable(discount) or (isinstance(discount, str) and discount in DISCOUNTS)


KNOWN: tuple[tuple[Any, Rule], ...] = (
    (NoneType, ("None", lambda v: v is None)),
    (bool, ("True or False", lambda v: type(v) is bool)),
    (int, ("a whole number", lambda v: type(v) is int)),
    (float, ("a finite number", is_number)),
    (
        Gain,
        (
            f"one of {', '.join(GAINS)}, a mapping of grades to gains of at least 0 "
            "or a function of an expression",
            _is_gain,
        ),
    ),
    (
        Discount,
        (f"one of {', '.join(DISCOUNTS)} or a function of an expression", _is_discount),
    ),
)
