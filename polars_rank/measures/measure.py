"""Measures as values: a metric with its parameters, and user-defined functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import chain
from math import inf
from typing import Any, NamedTuple, TypeAlias, TypeGuard, cast

import polars as pl

from polars_rank.core.expr import is_scalar
from polars_rank.core.metric.registry import METRICS, Metric, check, require_policy
from polars_rank.core.words.ranking import NoRelevant, Ranking
from polars_rank.core.words.recommended_items import RecommendedItems
from polars_rank.core.words.subtopics import Subtopics
from polars_rank.measures.groups import expand
from polars_rank.measures.names import resolve_name, unknown_measure
from polars_rank.measures.text import (
    BLANK,
    COMMA,
    read_measure,
    split_measures,
    write_value,
)


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
    no_relevant
        Value for a query with nothing relevant, in place of the convention's:
        ``"ndcg(no_relevant=zero)"``, or ``"ndcg@10-"`` as XGBoost writes it.

    Examples
    --------
    >>> from polars_rank import Measure
    >>> Measure.parse("ndcg_cut_10") == Measure.parse("nDCG@10")
    True
    >>> str(Measure.parse("nDCG(dcg='exp-log2')@10"))
    'ndcg(gain=exp2)@10'
    >>> Measure("ndcg", (("gain", "exp2"),)) @ 10 == Measure.parse("ndcg(gain=exp2)@10")
    True
    """

    metric: str
    params: tuple[tuple[str, Any], ...] = ()
    name: str = field(default="", compare=False)
    no_relevant: NoRelevant | None = None

    @staticmethod
    def parse(text: str) -> Measure:
        """Read a measure from its own text form or another tool's name for it."""
        return _parsed(text) if isinstance(text, str) else _parse(text)

    def __post_init__(self) -> None:
        """Check the parameters and order them."""
        if self.no_relevant is not None:
            require_policy(self.definition, self.no_relevant)
        params = check(self.definition, self.arguments)
        if params.get(self.definition.cutoff, ...) is None:
            del params[self.definition.cutoff]  # no cutoff is the default everywhere
        ordered = tuple(sorted((n, _freeze(value)) for n, value in params.items()))
        object.__setattr__(self, "params", ordered)
        object.__setattr__(self, "name", self.name or str(self))

    def __matmul__(self, place: float) -> Measure:
        """Set what follows ``@`` in text: ``measure("ndcg", gain="exp2") @ 10``."""
        at = self.definition.at
        if at in self.arguments:
            msg = f"{at} is already set in the measure {self.name!r}; set it once"
            raise ValueError(msg)
        params = (*self.params, (at, place))
        return replace(self, params=params, name=f"{self.name}@{place}")

    @cached_property
    def definition(self) -> Metric:
        """The registered metric."""
        if self.metric not in METRICS:
            raise unknown_measure(self.metric)
        return METRICS[self.metric]

    @property
    def arguments(self) -> dict[str, Any]:
        """Parameters as keyword arguments of the metric."""
        return {n: dict(v) if isinstance(v, tuple) else v for n, v in self.params}

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields, which the version that unpickles them checks again."""
        return Measure, (self.metric, self.params, self.name, self.no_relevant)

    def __str__(self) -> str:
        """Return the text form ``metric(param=value, ...)@k``."""
        arguments = dict(self.params)
        k = arguments.pop(self.definition.cutoff, None)
        if self.no_relevant is not None:
            arguments["no_relevant"] = self.no_relevant
        inside = ", ".join(f"{n}={write_value(v)}" for n, v in arguments.items())
        return (
            self.metric
            + (f"({inside})" if inside else "")
            + ("" if k is None else f"@{k}")
        )


def _parse(text: str) -> Measure:
    metric, params = read_measure(text)
    no_relevant = params.pop("no_relevant", None)
    try:
        return Measure(metric, tuple(params.items()), text, no_relevant)
    except ValueError as error:
        msg = f"the measure {text!r}: {error}"
        raise ValueError(msg) from None


_parsed = lru_cache(maxsize=1024)(_parse)


def is_of_catalog(measure: object) -> TypeGuard[Measure]:
    """Tell whether it counts the items of all lists together."""
    return isinstance(measure, Measure) and measure.definition.vocabulary == "catalog"


def is_of_totals(measure: object) -> TypeGuard[Measure]:
    """Tell whether it needs sums over all lists."""
    return isinstance(measure, Measure) and measure.definition.vocabulary == "totals"


def is_of_lists(measure: object) -> TypeGuard[Measure]:
    """Tell whether it needs the items of a user's list, or of all lists."""
    kinds = ("recommendations", "catalog", "totals")
    return isinstance(measure, Measure) and measure.definition.vocabulary in kinds


def needs_relevant_items(measure: object) -> TypeGuard[Measure]:
    """Tell whether it needs the relevant items that a user's list lacks, too."""
    return is_of_lists(measure) and measure.definition.depends_on != "all"


def reads_labels(measures: Iterable[object]) -> bool:
    """Tell whether the value of one depends on labels."""
    return not all(
        is_of_lists(m)
        and not needs_relevant_items(m)
        and m.definition.named("rel") is None
        for m in measures
    )


def depth_of(measure: Measure) -> float:
    """Return how many of the first documents the measure looks at."""
    metric = measure.definition
    k = (metric.defaults | measure.arguments).get(metric.cutoff)
    return inf if k is None else k


def recommended_items(
    measure: Measure, assumed: dict[str, Any], *, grouped: bool = False
) -> RecommendedItems:
    """Return the aggregate of a measure of the catalog, for errors of grouped users.

    A convention may assume values of parameters that are not given.
    """
    metric = measure.definition
    given = metric.defaults | assumed | measure.arguments
    arguments, depth = tuple(given.items()), depth_of(measure)
    return RecommendedItems(metric.function, arguments, grouped, depth)


class Custom(NamedTuple):
    """A user-defined measure: a function of the ranking, under a name."""

    name: str
    function: Callable[[Any], pl.Expr]

    def value(self, ranking: Ranking | Subtopics) -> pl.Expr:
        """Return the function's expression over the ranking; NaN becomes null."""
        value = self.function(ranking)
        if not isinstance(value, pl.Expr):
            msg = (
                f"the measure {self.name!r} must return a Polars expression over the "
                f"ranking, e.g. r.relevant().sum(), not {type(value).__name__}"
            )
            raise TypeError(msg)
        if isinstance(ranking, Ranking) and not is_scalar(value):
            msg = (
                f"a measure of your own, {self.name!r}, must return one number for "
                "each query, not one for each document; reduce it, e.g. r.sum(...)"
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
    """Build a measure from a metric's name, or another tool's, and parameters.

    Parameters
    ----------
    metric
        Name of the metric, such as ``"ndcg"`` or ``"map_cut"``, without ``@k``.
    name
        Name of the result column. Default: the text form.
    params
        Parameters of the metric, such as ``k`` and ``gain``, and ``no_relevant``.

    Raises
    ------
    ValueError
        For an unknown metric or parameter, or a value that is not allowed.

    Examples
    --------
    >>> import polars_rank as pr
    >>> pr.measure("ndcg", gain="exp2") @ 10
    Measure(metric='ndcg', params=(('gain', 'exp2'), ('k', 10)), name='ndcg(gain=exp2)@10', no_relevant=None)
    """  # noqa: E501
    if isinstance(metric, str) and "@" in metric:
        name, _, place = metric.partition("@")
        msg = (
            f"pr.measure takes a metric's name, not {metric!r}: write "
            f"pr.measure({name!r}) @ {place}, or pr.Measure.parse({metric!r})"
        )
        raise ValueError(msg)
    known, preset, after = resolve_name(metric)
    no_relevant = params.pop("no_relevant", None)
    given = tuple((preset | after | params).items())
    return Measure(known.name, given, name, no_relevant)


def split_given(names: Iterable[str]) -> tuple[str, ...]:
    """Return the names in texts that may be columns of values: ``ndcg@10,ap``, ``rr``.

    Commas stand between names. So do blanks, unless that makes names of no measure: a
    column may have a name of several words.
    """
    parts = chain.from_iterable(map(COMMA.split, map(str.strip, names)))
    return tuple(chain.from_iterable(map(_at_blanks, parts)))


def _at_blanks(name: str) -> list[str]:
    try:
        parse_measures(name)
    except ValueError:
        return [name]
    return BLANK.split(name)


def parse_measures(measures: Measures) -> list[Measure | Custom]:
    """Read everything that ``evaluate`` accepts as measures; names must be unique."""
    several = isinstance(measures, Iterable) and not isinstance(measures, str | Mapping)
    entries = cast("Iterable[object]", measures if several else [measures])
    parsed: list[Measure | Custom] = []
    for entry in entries:
        if isinstance(entry, Measure):
            parsed.append(entry)
        elif isinstance(entry, str):
            named = chain.from_iterable(map(expand, split_measures(entry)))
            parsed.extend(map(Measure.parse, named))
        elif isinstance(entry, Mapping):
            parsed.extend(_custom(name, f) for name, f in entry.items())
        else:
            msg = (
                "a measure is text like 'ndcg@10', a Measure, or a mapping of names "
                f"to functions of a Ranking, not {type(entry).__name__}: {entry!r}"
            )
            raise TypeError(msg)
    if not parsed:
        msg = "no measures given; name at least one, e.g. 'ndcg@10'"
        raise ValueError(msg)
    names = [entry.name for entry in parsed]
    if twice := sorted({name for name in names if names.count(name) > 1}):
        msg = f"measure given twice: {', '.join(twice)}; name each once"
        raise ValueError(msg)
    return parsed


def _custom(name: str, function: object) -> Custom:
    if not isinstance(name, str) or not callable(function):
        msg = (
            "a user-defined measure is {name: function}, not "
            f"{{{name!r}: {function!r}}}"
        )
        if isinstance(function, str):
            msg += "; a measure under another name is pr.measure(..., name=...)"
        raise TypeError(msg)
    return Custom(name, function)


def _freeze(value: Any) -> Any:
    return tuple(sorted(value.items())) if isinstance(value, Mapping) else value
