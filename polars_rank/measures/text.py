"""Measures as text: ``"ndcg(gain=exp2)@10"``, and other tools' names for them."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Callable, Iterable
from typing import Any

from polars_rank.measures.names import NUMBER, resolve_name

LONGEST = 1000  # characters
OUTSIDE = r"(?![^(]*\))"  # of brackets
# A comma before a number stands between the cutoffs of one measure, as in P.5,10.
COMMA = re.compile(
    r"\s*,(?!\s*-?[\d.]+(?:=-?[\d.]+)?(?:[,\s]|$))\s*" + OUTSIDE,
)
BLANK = re.compile(r"(?<![\s(@=,:;])\s+(?![\s(@=,:;-])" + OUTSIDE)  # not ndcg (k=3) @ 5
PATTERN = re.compile(
    r"(?P<name>[^\s()@]+)\s*(?:\((?P<inside>.*)\)\s*)?(@(?P<k>[^@()]*))?"
)
RANX_LEVEL = re.compile(r"(.+)-l(\d+)")
PARAMETER_NAMES = {"gains": "gain", "max_rel": "max_grade", "min_rel": "min_grade"}
PARAMETER_ALIASES: dict[tuple[str, Any], tuple[str, Any]] = {
    ("dcg", "log2"): ("gain", "linear"),
    ("dcg", "exp-log2"): ("gain", "exp2"),
}
OPTIONS = re.compile(r"(?P<name>\w+):(?P<options>[^=;]+=[^;]+(;[^=;]+=[^;]+)*)")
OPTION_VALUES: dict[tuple[str, Any], tuple[str, Any]] = {
    ("type", "Base"): ("gain", "linear"),
    ("type", "Exp"): ("gain", "exp2"),
    ("denominator", "LogPosition"): ("discount", "log2"),
    ("denominator", "Position"): ("discount", "position"),
    ("top", -1): ("k", None),
}
RELATIVE = {True: "min_k_R", False: "k"}
METRIC_PARAMETERS: dict[tuple[str, str], Callable[[Any], tuple[str, Any]]] = {
    ("f_measure", "beta"): lambda beta: ("x", beta),
    ("precision", "relative"): lambda relative: ("divisor", RELATIVE[bool(relative)]),
}


def read_measure(text: str) -> tuple[str, dict[str, Any]]:
    """Read the metric and the parameters of a measure written as text."""
    _require_short(text)
    body, rel = text, None
    if level := RANX_LEVEL.fullmatch(text.strip()):
        body, rel = level[1], int(level[2])
    if options := OPTIONS.fullmatch(text.strip()):
        return _of_catboost(options["name"], options["options"])
    zero = body.strip().endswith("-")
    body = body.strip()[:-1] if zero else body
    written, arguments, at = split_measure(body, _alone)
    metric, preset, params = resolve_name(written)
    for name, value in arguments:
        name, value = PARAMETER_ALIASES.get((name, _key(value)), (name, value))
        name = PARAMETER_NAMES.get(name, name)
        if other := METRIC_PARAMETERS.get((metric.name, name)):
            name, value = other(value)
        _set(params, name, value, text)
    if at is not None:
        number = cutoff if metric.at == metric.cutoff else _number
        _set(params, metric.at, number(at, text), text)
    if zero:  # XGBoost's ndcg@10-
        _set(params, "no_relevant", "zero", text)
    if rel is not None:
        name = metric.named("rel") or metric.named("optional_rel") or "rel"
        _set(params, name, rel, text)
    return metric.name, preset | params


def _alone(name: str) -> str | None:
    """Return ``feature`` if the measure has it: its column may be written alone."""
    return "feature" if "feature" in resolve_name(name)[0].parameters else None


def _of_catboost(written: str, options: str) -> tuple[str, dict[str, Any]]:
    """Read CatBoost's ``NDCG:top=10;type=Exp``; grades above ``border`` count."""
    metric, preset, params = resolve_name(written)
    measure = f"{written}:{options}"
    for option in options.split(";"):
        name, _, text = option.partition("=")
        value = _value(text.strip())
        name, value = OPTION_VALUES.get((name, value), (name, value))
        if name == "border":
            if not isinstance(value, int | float):
                msg = f"border is a number, not {value!r}, in the measure {measure!r}"
                raise ValueError(msg)
            name, value = "rel", math.nextafter(value, math.inf)
        name = {"top": "k", "rel": metric.named("rel") or "rel"}.get(name, name)
        _set(params, name, value, measure)
    return metric.name, preset | params


def split_measures(text: str) -> list[str]:
    """Split a text at the blanks and commas that stand between measures."""
    _require_short(text)
    return [m for part in COMMA.split(text.strip()) for m in BLANK.split(part)]


def split_measure(
    text: str, alone: Callable[[str], str | None] = lambda name: None
) -> tuple[str, list[tuple[str, Any]], str | None]:
    """Split into name, arguments in brackets, and what follows the ``@``.

    ``alone`` tells of a name which of its arguments may be written as a value alone.
    """
    _require_short(text)
    match = PATTERN.fullmatch(text.strip())
    if match is None:
        msg = (
            f"cannot read the measure {text!r}; write metric@k, e.g. 'ndcg@10', or "
            "metric(parameter=value)@k, e.g. 'ndcg(gain=exp2)@10'"
        )
        raise ValueError(msg)
    name, inside = match["name"], match["inside"] or ""
    return name, list(_arguments(inside, text, lambda: alone(name))), match["k"]


def _require_short(text: str) -> None:
    """Refuse a text that is not short, before a pattern is matched with it."""
    if not isinstance(text, str):
        msg = f"a measure is text like 'ndcg@10', not {type(text).__name__}"
        raise TypeError(msg)
    if len(text) > LONGEST:
        msg = (
            f"a measure of {len(text)} characters, which begins with {text[:40]!r}; "
            f"at most {LONGEST} are read"
        )
        raise ValueError(msg)


def _set(params: dict[str, Any], name: str, value: Any, text: str) -> None:
    if name in params:
        msg = f"{name} is given twice in the measure {text!r}"
        raise ValueError(msg)
    params[name] = value


def cutoff(digits: str, text: str) -> int:
    """Read what follows the ``@`` as a number of places."""
    if not re.fullmatch(r"[0-9]+", digits.strip()) or int(digits) < 1:
        several = "; write each in full: ndcg@5, ndcg@10" if "," in digits else ""
        msg = (
            f"the cutoff after @ must be a whole number of at least 1, "
            f"not {digits.strip()!r}, in the measure {text!r}{several}"
        )
        raise ValueError(msg)
    return int(digits)


def _number(digits: str, text: str) -> float:
    if not NUMBER.fullmatch(digits.strip()):
        msg = (
            f"after @ a number is expected, not {digits.strip()!r}, in measure {text!r}"
        )
        raise ValueError(msg)
    return float(digits)


def _arguments(
    inside: str, text: str, alone: Callable[[], str | None]
) -> Iterable[tuple[str, Any]]:
    for part in re.split(r",(?![^{]*\})", inside):
        if not part.strip():
            if inside.strip():
                msg = f"an empty parameter in the measure {text!r}"
                raise ValueError(msg)
            continue
        name, equals, value = part.partition("=")
        if not equals and part.strip() and (own := alone()):
            name, value = own, part
        if not value.strip():
            msg = (
                f"write parameter=value, not {part.strip()!r}, in the measure {text!r}"
            )
            raise ValueError(msg)
        yield name.strip(), _value(value.strip())


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):  # too deep
        return text


def _key(value: Any) -> Any:
    return value if isinstance(value, str) else None


def write_value(value: Any) -> str:
    """Write a parameter's value in the text form."""
    if isinstance(value, tuple):
        return (
            "{"
            + ", ".join(f"{write_value(g)}: {write_value(w)}" for g, w in value)
            + "}"
        )
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    return str(value)
