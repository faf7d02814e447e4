"""The registry: one decorated function is one metric, everywhere."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar, get_args, get_type_hints

import polars as pl

from polars_rank.ranking import Fault, Ideal, NoRelevant, Ranking, Ties
from polars_rank.weights import DISCOUNTS, GAINS

__all__ = ["METRICS", "Metric", "Rows", "check", "closest", "metric", "value"]

Rows: TypeAlias = Literal["relevant", "judged", "all"]
Function = TypeVar("Function", bound=Callable[..., pl.Expr])


@dataclass(frozen=True)
class Metric:
    """A metric of the registry.

    Attributes
    ----------
    name
        The function, the namespace method and the text form are this one word.
    family
        The file that defines it.
    rows
        The documents that can change its value: ``"relevant"`` (positive grades),
        ``"judged"`` or ``"all"``. The frame level drops the others early.
    relevance
        Whether it is undefined for a query with nothing relevant.
    expected
        Whether it has a closed form for ``ties="expected"``.
    score
        Whether it looks at the scores themselves, not only at their order.
    """

    name: str
    function: Callable[..., pl.Expr]
    family: str
    rows: Rows
    relevance: bool
    expected: bool
    score: bool

    @property
    def defaults(self) -> dict[str, Any]:
        """Parameters and their default values, in order."""
        parameters = list(inspect.signature(self.function).parameters.values())[1:]
        return {p.name: p.default for p in parameters}

    @property
    def doc(self) -> str:
        """The docstring, without indentation."""
        return inspect.getdoc(self.function) or ""

    @property
    def summary(self) -> str:
        """What is measured, in one line."""
        return self.doc.partition("\n")[0]


METRICS: dict[str, Metric] = {}


def metric(
    *,
    rows: Rows,
    relevance: bool = True,
    expected: bool = True,
    score: bool = False,
) -> Callable[[Function], Function]:
    """Register a formula ``f(r: Ranking, *, ...) -> pl.Expr`` under its own name."""

    def register(function: Function) -> Function:
        name = function.__name__
        family = function.__module__.rpartition(".")[2]
        METRICS[name] = Metric(name, function, family, rows, relevance, expected, score)
        return function

    return register


def value(
    metric: Metric, r: Ranking, params: Mapping[str, Any], no_relevant: NoRelevant
) -> pl.Expr:
    """One value of the query: the formula, and the policy where it is undefined."""
    formula = metric.function(r, **params)
    if not metric.relevance:
        return formula
    relevant = _relevant_count(metric, r, params)
    defined = pl.when(relevant > 0).then(formula)
    if no_relevant == "error":
        message = (
            f"{metric.name} is undefined where nothing is relevant; "
            'choose a value with no_relevant="zero", "one", "skip" or "null"'
        )
        undefined = defined.is_null().cast(pl.UInt32)
        r.faults.append(Fault(undefined, message, refusal=True))
    fill = {"zero": 0.0, "one": 1.0}.get(no_relevant)
    return defined if fill is None else defined.fill_null(fill)


def _relevant_count(metric: Metric, r: Ranking, params: Mapping[str, Any]) -> pl.Expr:
    given = metric.defaults | dict(params)
    if "gain" in given:
        return r.sum(r.worth(given["gain"], given["rel"]) > 0)
    if "rel" in given:
        return r.relevant_count(given["rel"])
    return r.sum(r.grade > 0)


# -- arguments are checked once, where the expression is built


def closest(word: str, known: list[str]) -> str:
    """``"; did you mean 'x' or 'y'?"`` for a misspelt word, or nothing."""
    lowered = {name.lower(): name for name in reversed(known)}
    near = difflib.get_close_matches(word.lower(), lowered, n=3, cutoff=0.55)
    if not near:
        return ""
    return "; did you mean " + " or ".join(repr(lowered[n]) for n in near) + "?"


def check(
    metric: Metric,
    params: Mapping[str, Any],
    ties: Ties | None = None,
    no_relevant: NoRelevant = "zero",
) -> None:
    """Raise ``ValueError`` naming argument, rule and value."""
    if no_relevant not in get_args(NoRelevant):
        _refuse("no_relevant", f"one of {', '.join(get_args(NoRelevant))}", no_relevant)
    defaults = metric.defaults
    for name, given in params.items():
        if name not in defaults:
            msg = (
                f"{metric.name} has no parameter {name!r}; it has "
                f"{', '.join(defaults)}{closest(name, list(defaults))}"
            )
            raise ValueError(msg)
        CHECKS[name](metric, name, given)
    if ties is not None and ties not in get_args(Ties):
        _refuse("ties", f"one of {', '.join(get_args(Ties))}", ties)
    if ties == "expected" and not (metric.expected and params.get("divisor") != "hits"):
        msg = (
            f"{metric.name} has no closed form for ties='expected'; use another "
            "rule, or 'optimistic' and 'pessimistic' for the range"
        )
        raise ValueError(msg)


def _refuse(name: str, rule: str, given: object) -> None:
    msg = f"{name} must be {rule}, not {given!r}"
    raise ValueError(msg)


def _is_number(given: object) -> bool:
    return (
        isinstance(given, int | float)
        and not isinstance(given, bool)
        and given == given
        and abs(given) != float("inf")
    )


def _cutoff(metric: Metric, name: str, k: object) -> None:
    if k is not None and (type(k) is not int or k < 1):
        _refuse(name, "a whole number of at least 1, or None for no cutoff", k)


def _number(metric: Metric, name: str, given: object) -> None:
    if not _is_number(given) and not (given is None is metric.defaults[name]):
        _refuse(name, "a finite number", given)


def _gain(metric: Metric, name: str, gain: object) -> None:
    if isinstance(gain, Mapping):
        numbers = all(map(_is_number, [*gain, *gain.values()]))
        if not gain or not numbers or min(gain.values()) < 0:
            _refuse(name, "a mapping of grades to gains of at least 0", gain)
    elif not callable(gain) and not (isinstance(gain, str) and gain in GAINS):
        rule = f"one of {', '.join(GAINS)}, a mapping or a function of an expression"
        _refuse(name, rule, gain)


def _discount(metric: Metric, name: str, discount: object) -> None:
    named = isinstance(discount, str) and discount in DISCOUNTS
    if not callable(discount) and not named:
        rule = f"one of {', '.join(DISCOUNTS)} or a function of an expression"
        _refuse(name, rule, discount)


def _ideal(metric: Metric, name: str, ideal: object) -> None:
    if ideal not in get_args(Ideal):
        _refuse(name, " or ".join(get_args(Ideal)), ideal)


def _max_grade(metric: Metric, name: str, grade: object) -> None:
    if grade != "query" and not (_is_number(grade) and grade > 0):  # type: ignore[operator]
        _refuse(name, "a number above 0, or 'query' for the largest grade", grade)


def _divisor(metric: Metric, name: str, divisor: object) -> None:
    names = get_args(get_type_hints(metric.function)[name])
    if divisor not in names:
        _refuse(name, f"one of {', '.join(names)}", divisor)


CHECKS: dict[str, Callable[[Metric, str, Any], None]] = {
    "k": _cutoff,
    "rel": _number,
    "gain": _gain,
    "discount": _discount,
    "ideal": _ideal,
    "max_grade": _max_grade,
    "divisor": _divisor,
    "penalty": _number,
}
