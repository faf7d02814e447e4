"""Measures as values and as text: ``"ndcg(gain=exp2)@10"`` <-> ``Measure``."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias, cast

import polars as pl

from polars_rank.core.ranking import Ranking
from polars_rank.core.registry import (
    ALIASES,
    METRICS,
    SUBTOPIC_METRICS,
    Metric,
    Rows,
    check,
    closest,
    known,
    registered,
)
from polars_rank.core.subtopics import Subtopics

__all__ = ["Custom", "Measure", "MeasureLike", "Measures", "measure", "parse_measures"]


@dataclass(frozen=True)
class Measure:
    """A metric with its parameters: hashable, comparable, convertible to text.

    Attributes
    ----------
    metric
        Name of the metric, e.g. ``"ndcg"``.
    params
        Parameters that were given, sorted by name; a convention sets the others.
    name
        Name of the result column: the text as the user wrote it. Two measures that
        differ in it only are equal.

    Examples
    --------
    >>> from polars_rank import Measure
    >>> Measure.parse("ndcg_cut_10") == Measure.parse("nDCG@10")
    True
    >>> str(Measure.parse("nDCG(dcg='exp-log2')@10"))
    'ndcg(gain=exp2)@10'
    """

    metric: str
    params: tuple[tuple[str, Any], ...] = ()
    name: str = field(default="", compare=False)

    @staticmethod
    def parse(text: str) -> Measure:
        """Read a measure from its own text form or another tool's name for it."""
        return _parse(text)

    def __post_init__(self) -> None:
        """Check the parameters and order them."""
        given = dict(self.params)
        check(self.definition, given)
        given = {n: v for n, v in given.items() if (n, v) != ("k", None)}
        params = tuple(sorted((n, _freeze(v)) for n, v in given.items()))
        object.__setattr__(self, "params", params)
        object.__setattr__(self, "name", self.name or str(self))

    @property
    def definition(self) -> Metric:
        """The registered metric."""
        found = METRICS.get(self.metric) or SUBTOPIC_METRICS.get(self.metric)
        if found is None:
            raise _unknown(self.metric)
        return found

    @property
    def rows(self) -> Rows:
        """The documents that can change its value."""
        arguments = self.arguments
        named = isinstance(arguments.get("gain", "linear"), str)
        positive = arguments.get("rel") is None or arguments["rel"] > 0
        rows = self.definition.depends_on
        return "judged" if rows == "relevant" and not (named and positive) else rows

    @property
    def arguments(self) -> dict[str, Any]:
        """Parameters as keyword arguments of the metric."""
        return {n: dict(v) if isinstance(v, tuple) else v for n, v in self.params}

    def with_defaults(self, defaults: Mapping[str, Any]) -> Measure:
        """Fill in parameters that the measure leaves open."""
        own = {n: v for n, v in defaults.items() if n in self.definition.defaults}
        return replace(self, params=tuple((own | self.arguments).items()))

    def __str__(self) -> str:
        """Text form: ``metric(param=value, ...)@k``."""
        arguments = dict(self.params)
        k = arguments.pop("k", None)
        inside = ", ".join(f"{n}={_text(v)}" for n, v in arguments.items())
        return (
            self.metric
            + (f"({inside})" if inside else "")
            + ("" if k is None else f"@{k}")
        )


class Custom(NamedTuple):
    """A measure of the user's own: a function of the ranking, under a name."""

    name: str
    function: Callable[[Any], pl.Expr]

    def value(self, ranking: Ranking | Subtopics) -> pl.Expr:
        """The function's expression over the ranking; NaN is undefined, too."""
        value = self.function(ranking)
        if not isinstance(value, pl.Expr):
            msg = (
                f"the measure {self.name!r} must return a Polars expression over the "
                f"ranking, e.g. r.relevant().sum(), not {type(value).__name__}"
            )
            raise TypeError(msg)
        return value.cast(pl.Float64).fill_nan(None)


MeasureLike: TypeAlias = str | Measure
Measures: TypeAlias = (
    MeasureLike
    | Iterable[MeasureLike | Mapping[str, Callable[[Ranking], pl.Expr]]]
    | Mapping[str, Callable[[Ranking], pl.Expr]]
)


def measure(metric: str, /, *, name: str = "", **params: Any) -> Measure:
    """Build a measure from a metric's name and parameters.

    Examples
    --------
    >>> import polars_rank as pr
    >>> pr.measure("ndcg", k=10, gain="exp2")
    Measure(metric='ndcg', params=(('gain', 'exp2'), ('k', 10)), name='ndcg(gain=exp2)@10')
    """  # noqa: E501
    return Measure(metric, tuple(params.items()), name)


def parse_measures(measures: Measures) -> list[Measure | Custom]:
    """Read all that ``evaluate`` accepts as measures; names must be unique."""
    found: list[Measure | Custom] = []
    several = isinstance(measures, Iterable) and not isinstance(measures, str | Mapping)
    entries = cast("Iterable[object]", measures if several else [measures])
    for entry in entries:
        if isinstance(entry, Measure):
            found.append(entry)
        elif isinstance(entry, str):
            found.append(Measure.parse(entry))
        elif isinstance(entry, Mapping):
            found.extend(_custom(name, f) for name, f in entry.items())
        else:
            msg = (
                "a measure is text like 'ndcg@10', a Measure, or a mapping of names "
                f"to functions of a Ranking, not {type(entry).__name__}: {entry!r}"
            )
            raise TypeError(msg)
    if not found:
        msg = "no measures given; name at least one, e.g. 'ndcg@10'"
        raise ValueError(msg)
    names = [entry.name for entry in found]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        msg = f"measure given twice: {', '.join(twice)}; name each once"
        raise ValueError(msg)
    return found


def _custom(name: str, function: object) -> Custom:
    if not isinstance(name, str) or not callable(function):
        msg = f"a measure of your own is name: function, not {name!r}: {function!r}"
        raise TypeError(msg)
    return Custom(name, function)


# -- text

PATTERN = re.compile(
    r"(?P<name>[^\s()@]+)\s*(\((?P<inside>.*)\))?\s*(@(?P<k>[^@()]*))?"
)
NUMBER = re.compile(r"-?(\d+(\.\d*)?|\.\d+)")
RANX_PERSISTENCE = re.compile(r"rbp\.(\d+)")
RANX_LEVEL = re.compile(r"(.+)-l(\d+)")
PARAMETER_NAMES = {"gains": "gain", "max_rel": "max_grade", "min_rel": "min_grade"}
PARAMETER_ALIASES: dict[tuple[str, Any], tuple[str, Any]] = {
    ("dcg", "log2"): ("gain", "linear"),
    ("dcg", "exp-log2"): ("gain", "exp2"),
}


def _parse(text: str) -> Measure:
    if not isinstance(text, str):
        msg = f"a measure is text like 'ndcg@10', not {type(text).__name__}"
        raise TypeError(msg)
    body, rel = text.strip(), None
    if level := RANX_LEVEL.fullmatch(body):
        body, rel = level[1], int(level[2])
    match = PATTERN.fullmatch(body)
    if match is None:
        msg = (
            f"cannot read the measure {text!r}; write metric@k, e.g. 'ndcg@10', or "
            "metric(parameter=value)@k, e.g. 'ndcg(gain=exp2)@10'"
        )
        raise ValueError(msg)
    metric, preset, params = _resolve(match["name"])
    for name, value in _arguments(match["inside"] or "", text):
        name, value = PARAMETER_ALIASES.get((name, _key(value)), (name, value))
        name = PARAMETER_NAMES.get(name, name)
        if name in params:
            msg = f"{name} is given twice in the measure {text!r}"
            raise ValueError(msg)
        params[name] = value
    if match["k"] is not None:
        at = registered(metric).at
        if at in params:
            msg = f"{at} is given twice in the measure {text!r}"
            raise ValueError(msg)
        params[at] = (_cutoff if at == "k" else _number)(match["k"], text)
    if rel is not None:
        if "rel" in params:
            msg = f"rel is given twice in the measure {text!r}"
            raise ValueError(msg)
        params["rel"] = rel
    return Measure(metric, tuple((preset | params).items()), text)


def _resolve(name: str) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The metric, what its name stands for, and what was given behind it."""
    if digits := RANX_PERSISTENCE.fullmatch(name):
        return "rbp", {"scale": 1}, {"p": float(f"0.{digits[1]}")}
    for end in range(len(name), 0, -1):
        metric = known(name[:end])
        rest = name[end:]
        if metric is None or (rest and rest[0] not in "_."):
            continue
        after = _after(metric, rest[1:]) if rest else {}
        if after is not None:
            return metric.name, dict(metric.aliases.get(name[:end], {})), after
    raise _unknown(name)


def _after(metric: Metric, rest: str) -> dict[str, Any] | None:
    """Read trec_eval's ``5``, ``0.10``, ``1,-1,0,0``, ``1=3.5,2=9`` or ``p=0.8``."""
    parts = [part.partition("=") for part in rest.split(",")]
    if not all(NUMBER.fullmatch(value or name) for name, _, value in parts):
        return None
    if all(equals for _, equals, _ in parts):
        named = {name: _read(value) for name, _, value in parts}
        if "gain" in metric.defaults and all(map(NUMBER.fullmatch, named)):
            return {"gain": {_read(grade): worth for grade, worth in named.items()}}
        return named if named.keys() <= metric.defaults.keys() else None
    fits = len(parts) == len(metric.suffix) and metric.defaults.keys() >= {
        *metric.suffix
    }
    if not fits or any(equals for _, equals, _ in parts):
        return None
    values = [_read(name) for name, _, _ in parts]
    return dict(zip(metric.suffix, values, strict=True))


def _read(number: str) -> float:
    return float(number) if "." in number else int(number)


def _unknown(name: str) -> ValueError:
    own = [*METRICS, *SUBTOPIC_METRICS]
    others = [alias for alias, m in ALIASES.items() if m.name not in alias.lower()]
    near = closest(name, [*own, *others])
    return ValueError(f"unknown measure {name!r}{near or '; known: ' + ', '.join(own)}")


def _cutoff(digits: str, text: str) -> int:
    if not re.fullmatch(r"[0-9]+", digits.strip()) or int(digits) < 1:
        msg = (
            f"the cutoff after @ must be a whole number of at least 1, "
            f"not {digits.strip()!r}, in the measure {text!r}"
        )
        raise ValueError(msg)
    return int(digits)


def _number(digits: str, text: str) -> float:
    if not NUMBER.fullmatch(digits.strip()):
        msg = f"after @ comes a number, not {digits.strip()!r}, in the measure {text!r}"
        raise ValueError(msg)
    return float(digits)


def _arguments(inside: str, text: str) -> Iterable[tuple[str, Any]]:
    for part in re.split(r",(?![^{]*\})", inside):
        if not part.strip():
            if inside.strip():
                msg = f"an empty parameter in the measure {text!r}"
                raise ValueError(msg)
            continue
        name, equals, value = part.partition("=")
        if not equals or not value.strip():
            msg = (
                f"write parameter=value, not {part.strip()!r}, in the measure {text!r}"
            )
            raise ValueError(msg)
        yield name.strip(), _value(value.strip())


def _value(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _key(value: Any) -> Any:
    return value if isinstance(value, str) else None


# -- values


def _freeze(value: Any) -> Any:
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value


def _text(value: Any) -> str:
    if isinstance(value, tuple):
        return "{" + ", ".join(f"{_text(g)}: {_text(w)}" for g, w in value) + "}"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    return str(value)
