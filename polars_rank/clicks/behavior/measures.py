"""Define measures of behavior: pairs of numbers per impression.

The value of a measure is the sum of the first divided by the sum of the second. With
``i.one`` as the second it is a mean over impressions; if the second sum is 0, it is
null.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, cast

import polars as pl

from polars_rank.clicks.behavior.impression import Impression
from polars_rank.core.arguments import Cutoff
from polars_rank.core.metric.registry import closest
from polars_rank.core.parameters import Doc, Parameter, Range, read_parameters
from polars_rank.measures.text import cutoff, split_measure, split_measures

Pair: TypeAlias = tuple[pl.Expr, pl.Expr]
Formula: TypeAlias = Callable[..., Pair]
Custom: TypeAlias = Callable[[Impression], Pair | pl.Expr]
Measures: TypeAlias = str | Iterable[str | Mapping[str, Custom]] | Mapping[str, Custom]

Place: TypeAlias = Annotated[int, Range(least=1), Doc("position")]
Dwell: TypeAlias = Annotated[
    float, Range(least=0), Doc("seconds that a satisfied click lasts at least")
]
Unknown: TypeAlias = Annotated[
    Literal["unsatisfied", "satisfied"],
    Doc("what a click of unknown dwell time is, e.g. the last of a session"),
]
DEFAULT = ("any_click", "clicks", "ctr", "abandonment", "rr", "mean_rr", "p_skip")


class Definition(NamedTuple):
    """A measure of the registry."""

    name: str
    formula: Formula
    parameters: dict[str, Parameter]
    doc: str
    version: int = 1  # raised when a value would change: kept sums carry it


BEHAVIOR: dict[str, Definition] = {}


def _measure(formula: Formula) -> Formula:
    name = formula.__name__
    doc = formula.__doc__ or ""
    BEHAVIOR[name] = Definition(name, formula, read_parameters(formula), doc)
    return formula


# -- clicks


@_measure
def clicks(i: Impression, *, k: Cutoff = None) -> Pair:
    """Clicks per impression (Radlinski, Kurup and Joachims, CIKM 2008)."""
    return i.clicks(k), i.one


@_measure
def any_click(i: Impression, *, k: Cutoff = None) -> Pair:
    """Share of impressions with a click (UCTR)."""
    return i.clicks(k) > 0, i.one


@_measure
def abandonment(i: Impression) -> Pair:
    """Share of impressions without a click (Radlinski et al., CIKM 2008)."""
    return ~i.clicked, i.one


@_measure
def good_abandonment(i: Impression) -> Pair:
    """Share of the abandoned impressions that were answered (Li et al., SIGIR 2009)."""
    return ~i.clicked & i.answered, ~i.clicked


@_measure
def bad_abandonment(i: Impression) -> Pair:
    """Share of impressions without a click that were not answered either."""
    return ~i.clicked & ~i.answered, i.one


@_measure
def ctr(i: Impression, *, k: Cutoff = None) -> Pair:
    """Clicks per shown document."""
    return i.clicks(k), i.shown(k)


@_measure
def ctr_at(i: Impression, *, k: Place = 1) -> Pair:
    """Clicks per document shown at position k."""
    return i.clicks_at(k), i.shown_at(k)


# -- positions


@_measure
def first_click(i: Impression) -> Pair:
    """Mean position of the highest click, over impressions with one."""
    return i.first, i.clicked


@_measure
def last_click(i: Impression) -> Pair:
    """Mean position of the lowest click, over impressions with one."""
    return i.last, i.clicked


@_measure
def mean_click(i: Impression) -> Pair:
    """Mean over impressions with a click of their mean clicked position."""
    return pl.when(i.clicked).then(i.positions / i.clicks()), i.clicked


@_measure
def click_position(i: Impression) -> Pair:
    """Mean position of a click, over clicks."""
    return i.positions, i.clicks()


@_measure
def rr(i: Impression, *, k: Cutoff = None) -> Pair:
    """Reciprocal of the highest clicked position; 0 without a click in the top k."""
    near = i.clicked if k is None else i.first <= k
    return pl.when(near).then(1.0 / i.first).otherwise(0.0), i.one


@_measure
def mean_rr(i: Impression) -> Pair:
    """Mean of the clicks' reciprocal positions; 0 without a click (CIKM 2008)."""
    return pl.when(i.clicked).then(i.reciprocals / i.clicks()).otherwise(0.0), i.one


@_measure
def p_skip(i: Impression) -> Pair:
    """Share of the positions down to the last click without one (KDD 2009)."""
    return i.last - i.clicks(), i.last


@_measure
def skips(i: Impression) -> Pair:
    """Documents shown above the last click and not clicked."""
    return i.skipped, i.one


# -- dwell times


@_measure
def satisfied_clicks(
    i: Impression,
    *,
    k: Cutoff = None,
    dwell: Dwell = 30,
    unknown: Unknown = "unsatisfied",
) -> Pair:
    """Clicks per impression of at least ``dwell`` seconds (Fox et al., TOIS 2005)."""
    return i.satisfied_clicks(k, dwell, unknown), i.one


@_measure
def satisfied(
    i: Impression,
    *,
    k: Cutoff = None,
    dwell: Dwell = 30,
    unknown: Unknown = "unsatisfied",
) -> Pair:
    """Share of impressions with a satisfied click."""
    return i.satisfied_clicks(k, dwell, unknown) > 0, i.one


@_measure
def satisfied_rr(
    i: Impression,
    *,
    k: Cutoff = None,
    dwell: Dwell = 30,
    unknown: Unknown = "unsatisfied",
) -> Pair:
    """Reciprocal position of the highest satisfied click; 0 if below the top k."""
    first = i.first_satisfied(dwell, unknown)
    near = first.is_not_null() if k is None else first <= k
    return pl.when(near).then(1.0 / first).otherwise(0.0), i.one


@_measure
def quick_back(
    i: Impression,
    *,
    dwell: Annotated[
        float, Range(above=0), Doc("seconds below which a click is a quick back")
    ] = 5,
) -> Pair:
    """Share of clicks after which the user came back within ``dwell`` seconds."""
    return i.quick_clicks(dwell), i.clicks()


@_measure
def dwell(i: Impression) -> Pair:
    """Seconds per click, over clicks whose dwell time is known."""
    return i.dwell, i.dwelled


# -- times


@_measure
def time_to_first_click(i: Impression) -> Pair:
    """Seconds from the impression to its first click, over impressions with one."""
    seconds = i.seconds_to("first")
    return seconds, seconds.is_not_null()


@_measure
def time_to_last_click(i: Impression) -> Pair:
    """Seconds from the impression to its last click, over impressions with one."""
    seconds = i.seconds_to("last")
    return seconds, seconds.is_not_null()


# -- sessions


@_measure
def queries_per_session(i: Impression) -> Pair:
    """Impressions per session."""
    return i.one, i.begins_session


@_measure
def reformulation_rate(
    i: Impression,
    *,
    within: Annotated[
        float, Range(above=0), Doc("seconds within which the next impression follows")
    ] = 30,
) -> Pair:
    """Share of impressions followed by another of the session ``within`` seconds."""
    return (i.seconds_to_next <= within).fill_null(value=False), i.one


@_measure
def session_success(
    i: Impression, *, dwell: Dwell = 30, unknown: Unknown = "unsatisfied"
) -> Pair:
    """Share of sessions with a satisfied click."""
    any_satisfied = i.somewhere_in_session(i.satisfied_clicks(None, dwell, unknown) > 0)
    return i.begins_session & any_satisfied, i.begins_session


# -- measures as text


@dataclass(frozen=True)
class BehaviorMeasure:
    """A measure with its parameters, under the name of its result."""

    name: str
    formula: Formula
    arguments: Mapping[str, Any]

    def pair(self, impression: Impression) -> Pair:
        """Return numerator and denominator; a function may leave out the latter."""
        found = self.formula(impression, **self.arguments)
        pair = found if isinstance(found, tuple) else (found, impression.one)
        if len(pair) != 2 or not all(isinstance(part, pl.Expr) for part in pair):
            msg = (
                f"the measure {self.name!r} must return a numerator and a denominator "
                "over the impression, e.g. (i.clicks(3), i.one)"
            )
            raise TypeError(msg)
        return pair


def parse_behavior(measures: Measures) -> list[BehaviorMeasure]:
    """Read everything that ``behavior`` accepts as measures; names must be unique."""
    several = isinstance(measures, Iterable) and not isinstance(measures, str | Mapping)
    parsed: list[BehaviorMeasure] = []
    for entry in cast("Iterable[object]", measures if several else [measures]):
        if isinstance(entry, str):
            parsed += map(_read, split_measures(entry))
        elif isinstance(entry, Mapping):
            parsed += [_custom(name, formula) for name, formula in entry.items()]
        else:
            msg = (
                "a measure is text like 'clicks@10', or a mapping of names to "
                f"functions of an Impression, not {type(entry).__name__}: {entry!r}"
            )
            raise TypeError(msg)
    if not parsed:
        msg = "no measures given; name at least one, e.g. 'clicks@10'"
        raise ValueError(msg)
    names = [m.name for m in parsed]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        msg = f"measure given twice: {', '.join(twice)}; name each once"
        raise ValueError(msg)
    return parsed


def _read(text: str) -> BehaviorMeasure:
    name, arguments, at = split_measure(text)
    if name not in BEHAVIOR:
        near = closest(name, [*BEHAVIOR]) or "; known: " + ", ".join(BEHAVIOR)
        msg = f"unknown measure of behavior {name!r}{near}"
        raise ValueError(msg)
    definition = BEHAVIOR[name]
    if at is not None:
        arguments.append(("k", cutoff(at, text)))
    given: dict[str, Any] = {}
    for parameter, value in arguments:
        if parameter in given:
            msg = f"{parameter} is given twice in the measure {text!r}"
            raise ValueError(msg)
        if parameter not in definition.parameters:
            known = ", ".join(definition.parameters) or "none"
            msg = f"{name} has no parameter {parameter!r}; its parameters are: {known}"
            raise ValueError(msg)
        definition.parameters[parameter].check(value)
        given[parameter] = value
    return BehaviorMeasure(text, definition.formula, given)


def _custom(name: object, formula: object) -> BehaviorMeasure:
    if not isinstance(name, str) or not callable(formula):
        msg = f"a measure of your own is name: function, not {name!r}: {formula!r}"
        raise TypeError(msg)
    return BehaviorMeasure(name, formula, {})
