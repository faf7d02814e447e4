"""The alternatives of an audit: every other value of every disputed choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple, get_args, get_origin

from polars_rank.conventions.choices import CHOICES
from polars_rank.conventions.convention import SETTLED, Convention
from polars_rank.conventions.explain import in_effect
from polars_rank.core.metric.registry import METRICS, closest
from polars_rank.core.parameters import Parameter, is_number
from polars_rank.measures.measure import Custom, Measure

DUPLICATES = "on_duplicate"
EVERY_COPY = "keep"  # as in rows that are not checked
DEPTH = "max_rank"
DEPTHS = [100, 1000]  # of runs, that is usual
NO_NUMBER = ("error", "null")  # values that refuse, or leave no mean


class Alternative(NamedTuple):
    """One other value of one choice, for one measure.

    Attributes
    ----------
    measure
        Name of the measure that is audited.
    asked
        The measure to compute, under a column name of its own.
    policy
        The choice to change in the convention, or the argument of ``evaluate``; None
        for a parameter of the measure.
    """

    measure: str
    choice: str
    value: Any
    asked: Measure | Custom
    policy: str | None = None


def alternatives(
    measures: Sequence[Measure | Custom],
    convention: Convention,
    choices: Sequence[str] | Mapping[str, Sequence[Any]] | None,
    max_rank: int | None = None,
) -> Iterator[Alternative]:
    """Yield every other value of every choice, with columns named in order."""
    if choices is not None:
        _require_known([choices] if isinstance(choices, str) else choices)
    wanted = [choices] if isinstance(choices, str) else choices
    count = 0
    for measure in measures:
        several = [
            *_choices(measure, convention),
            *_arguments(convention, max_rank),
        ]
        for name, now, policy, parameter in several:
            if wanted is not None and name not in wanted:
                continue
            if isinstance(wanted, Mapping):
                values = list(wanted[name])
            else:
                values = _others(name, now, parameter, _cutoff(measure))
            for value in values:
                if value == now or not _computable(measure, name, value):
                    continue
                if not _consistent(convention, name, value):
                    continue
                column = f"other{count}"
                count += 1
                if parameter is None:
                    made = renamed(measure, column)
                else:
                    assert isinstance(measure, Measure)
                    params = measure.arguments | {parameter.name: value}
                    made = Measure(measure.metric, tuple(params.items()), column)
                yield Alternative(measure.name, name, value, made, policy)


def _choices(
    measure: Measure | Custom, convention: Convention
) -> Iterator[tuple[str, Any, str | None, Parameter | None]]:
    """Yield what can change a measure: name, value, field of the convention or None.

    Parameters come under the name that conventions give to their meaning.
    """
    if isinstance(measure, Custom):
        for name in _policies():
            yield name, getattr(convention, name), name, None
        return
    parameters = measure.definition.parameters
    for name, now in in_effect(measure, convention).items():
        parameter = parameters.get(name)
        if parameter is None:
            yield name, now, name, None
        else:
            meaning = parameter.meaning
            yield (meaning if meaning in CHOICES else name), now, None, parameter


def _arguments(
    convention: Convention, max_rank: int | None
) -> Iterator[tuple[str, Any, str | None, Parameter | None]]:
    """Yield the choices that are arguments of ``evaluate``."""
    if convention.ties != "expected":  # whose means have no depth
        yield DEPTH, max_rank, DEPTH, None


def _cutoff(measure: Measure | Custom) -> int | None:
    return measure.arguments.get("k") if isinstance(measure, Measure) else None


def _policies() -> list[str]:
    """Return the choices that are not parameters of any metric."""
    meanings = {name for metric in METRICS.values() for name in metric.meanings}
    return [name for name in CHOICES if name not in meanings]


def _others(
    name: str, now: Any, parameter: Parameter | None, k: int | None
) -> list[Any]:
    """Return values worth trying beside the present one; ``k`` is the cutoff."""
    if name == "k":
        return [] if now is None else _half_and_double(now)
    if name == DEPTH:
        depths = DEPTHS if now is None else _half_and_double(now)
        return [d for d in depths if k is None or min(d, k) != min(now or k, k)]
    if name == DUPLICATES:  # without copies, there is nothing to try
        return [] if now == "error" else [*CHOICES[name].values, EVERY_COPY]
    if name in ("rel", "optional_rel"):
        return [now + 1] if is_number(now) else []
    if name in CHOICES:
        values = list(CHOICES[name].values)
    else:
        values = [] if parameter is None else _named(parameter.hint)
    if parameter is not None:
        values = [v for v in values if parameter.allowed.test(v)]
    return values


def _half_and_double(depth: int) -> list[int]:
    return sorted({max(1, depth // 2), 2 * depth})


def _named(hint: Any) -> list[Any]:
    """Return the values of a type that have names."""
    if hint is bool:
        return [True, False]
    if get_origin(hint) is Literal:
        return list(get_args(hint))
    return [v for part in get_args(hint) for v in _named(part)]


def _computable(measure: Measure | Custom, name: str, value: Any) -> bool:
    """Tell whether there is a number under the value."""
    if name in _policies() and value in NO_NUMBER:
        return False
    if name == "ties" and value == "expected":
        return isinstance(measure, Measure) and measure.definition.has_tie_mean(
            measure.arguments
        )
    return True


def _consistent(convention: Convention, name: str, value: Any) -> bool:
    """Tell whether copies of a document have a first one, if that one counts."""
    chosen = {DUPLICATES: convention.on_duplicate, "ties": convention.ties, name: value}
    return chosen[DUPLICATES] != "keep_rank" or chosen["ties"] in SETTLED


def _require_known(names: Sequence[str] | Mapping[str, Sequence[Any]]) -> None:
    parameters = {p for metric in METRICS.values() for p in metric.parameters}
    known = sorted({*CHOICES, *parameters, DEPTH})
    for name in names:
        if name not in known:
            msg = f"there is no choice {name!r}{closest(name, known)}"
            raise ValueError(msg)


def renamed(measure: Measure | Custom, name: str) -> Measure | Custom:
    """Return the same measure under another name."""
    if isinstance(measure, Custom):
        return measure._replace(name=name)
    return replace(measure, name=name)


def as_given(measure: Measure | Custom) -> Any:
    """Spell a measure as ``evaluate`` and ``bounds`` take it."""
    if isinstance(measure, Custom):
        return {measure.name: measure.function}
    return measure
