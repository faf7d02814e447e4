"""The registry: one decorated function is one metric, everywhere."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import log
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import polars as pl

from polars_rank.core.parameters import refuse, rules
from polars_rank.core.ranking import NoRelevant, Ranking, Ties
from polars_rank.core.rules import Violation, undefined
from polars_rank.core.subtopics import Subtopics

__all__ = [
    "ALIASES",
    "METRICS",
    "SMALLEST",
    "SUBTOPIC_METRICS",
    "AggregateName",
    "Metric",
    "Rows",
    "check",
    "closest",
    "known",
    "metric",
    "registered",
    "value",
]

Rows: TypeAlias = Literal["relevant", "judged", "all"]
AggregateName: TypeAlias = Literal["mean", "sum", "geometric"]
SMALLEST = 1e-5  # of the values that a geometric mean takes
Function = TypeVar("Function", bound=Callable[..., pl.Expr])


@dataclass(frozen=True, kw_only=True, eq=False)
class Metric:
    """A metric of the registry.

    Attributes
    ----------
    name
        The function, the namespace method and the text form are this one word.
    family
        The file that defines it.
    depends_on
        The documents that can change its value: ``"relevant"`` (positive grades),
        ``"judged"`` or ``"all"``. The frame level drops the others early.
    needs_relevant
        Whether it is undefined for a query with nothing relevant.
    tie_mean
        Whether it is written for ``ties="expected"``: with words that are means over
        the orders of tied documents, so that its value is the mean of its values.
    no_tie_mean_when
        Values of parameters with which it is not (``...``: any value but None).
    uses_scores
        Whether it looks at the scores themselves, not only at their order.
    tie_sensitive
        Whether the order of documents with equal scores can change it.
    aggregate
        How queries are put together: ``"mean"``, ``"sum"`` (counts), or the
        ``"geometric"`` mean; then a query's value is ``log(max(value, 1e-5))``.
    suffix
        The parameters set by what follows ``_`` or ``.`` in trec_eval's names:
        ``P_5``, ``utility.1,-1,0,0``.
    aliases
        Names in other tools, with the parameters that each stands for.
    subtopics
        Whether it is a formula over the :class:`Subtopics` of a query: then frames
        alone can have it, with judgments that name their subtopics.
    """

    name: str
    function: Callable[..., pl.Expr]
    family: str
    depends_on: Rows = "all"
    needs_relevant: bool = True
    tie_mean: bool = False
    no_tie_mean_when: Mapping[str, Any] = field(default_factory=dict)
    uses_scores: bool = False
    tie_sensitive: bool = True
    aggregate: AggregateName = "mean"
    suffix: tuple[str, ...] = ("k",)
    aliases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    subtopics: bool = False

    @property
    def defaults(self) -> dict[str, Any]:
        """Parameters and their default values, in order."""
        return dict(getattr(self.function, "__kwdefaults__", None) or {})

    @property
    def at(self) -> str:
        """The parameter set by what follows ``@``: ``P@5``, ``IPrec@0.1``."""
        cut = "k" in self.defaults or len(self.suffix) != 1
        return "k" if cut else self.suffix[0]

    @property
    def zero(self) -> float | None:
        """Value of a query of which there is nothing; None where it is undefined."""
        if self.aggregate == "geometric":
            return log(SMALLEST)
        return 0.0 if self.needs_relevant or self.aggregate == "sum" else None

    @property
    def doc(self) -> str:
        """The docstring, without indentation."""
        return inspect.getdoc(self.function) or ""

    @property
    def summary(self) -> str:
        """What is measured, in one line."""
        return (self.function.__doc__ or "").partition("\n")[0]

    def has_tie_mean(self, params: Mapping[str, Any]) -> bool:
        """Whether it has a closed form for ``ties="expected"`` with the parameters."""
        if not self.tie_sensitive:
            return True
        given = self.defaults | dict(params)
        return self.tie_mean and not any(
            given[name] == value or (value is ... and given[name] is not None)
            for name, value in self.no_tie_mean_when.items()
        )


METRICS: dict[str, Metric] = {}  # of one ranked list
SUBTOPIC_METRICS: dict[str, Metric] = {}  # of a query whose subtopics are judged
ALIASES: dict[str, Metric] = {}  # other tools' names


def metric(
    *,
    depends_on: Rows = "all",
    needs_relevant: bool = True,
    tie_mean: bool = False,
    no_tie_mean_when: Mapping[str, Any] | None = None,
    uses_scores: bool = False,
    tie_sensitive: bool = True,
    aggregate: AggregateName = "mean",
    suffix: tuple[str, ...] = ("k",),
    aliases: Mapping[str, Mapping[str, Any]] | None = None,
    subtopics: bool = False,
) -> Callable[[Function], Function]:
    """Register a formula ``f(r: Ranking, *, ...) -> pl.Expr`` under its own name.

    With ``subtopics`` it is one over ``s: Subtopics``. What is not declared is refused
    or takes the slow, safe way: the flags are those of :class:`Metric`.
    """

    def register(function: Function) -> Function:
        added = Metric(
            name=function.__name__,
            function=function,
            family=function.__module__.rpartition(".")[2],
            depends_on=depends_on,
            needs_relevant=needs_relevant,
            tie_mean=tie_mean,
            no_tie_mean_when=no_tie_mean_when or {},
            uses_scores=uses_scores,
            tie_sensitive=tie_sensitive,
            aggregate=aggregate,
            suffix=suffix,
            aliases=aliases or {},
            subtopics=subtopics,
        )
        for name in (added.name, *added.aliases):
            if other := known(name):
                msg = f"{name!r} names both {other.name} and {added.name}; keep one"
                raise ValueError(msg)
        (SUBTOPIC_METRICS if subtopics else METRICS)[added.name] = added
        ALIASES.update(dict.fromkeys(added.aliases, added))
        return function

    return register


def registered(name: str) -> Metric:
    """The metric of either kind whose own name this is."""
    return METRICS.get(name) or SUBTOPIC_METRICS[name]


def known(name: str) -> Metric | None:
    """The metric of either kind that has the name, its own or another tool's."""
    return METRICS.get(name) or SUBTOPIC_METRICS.get(name) or ALIASES.get(name)


def value(
    metric: Metric,
    r: Ranking | Subtopics,
    params: Mapping[str, Any],
    no_relevant: NoRelevant,
) -> pl.Expr:
    """One value of the query: the formula, and the policy where it is undefined."""
    found = _value(metric, r, params, no_relevant)
    if metric.aggregate == "geometric":
        return found.clip(lower_bound=SMALLEST).log()
    return found


def _value(
    metric: Metric,
    r: Ranking | Subtopics,
    params: Mapping[str, Any],
    no_relevant: NoRelevant,
) -> pl.Expr:
    formula = metric.function(r, **params)
    if not metric.needs_relevant:
        return formula
    relevant = _relevant_count(metric, r, params)
    defined = pl.when(relevant > 0).then(formula)
    if no_relevant == "error":
        missing = defined.is_null().cast(pl.UInt32)
        r.violations.append(Violation(undefined(metric.name), missing))
    fill = {"zero": 0.0, "one": 1.0}.get(no_relevant)
    return defined if fill is None else defined.fill_null(fill)


def _relevant_count(
    metric: Metric, r: Ranking | Subtopics, params: Mapping[str, Any]
) -> pl.Expr:
    given = metric.defaults | dict(params)
    if isinstance(r, Subtopics):
        return r.count(given["rel"])
    if "gain" in given:
        return r.sum(r.gain(given["gain"], given.get("rel")) > 0)
    if "rel" in given:
        return r.relevant_count(given["rel"])
    return r.sum(r.grade > 0)


# -- arguments are checked once, where the expression is built


def closest(word: str, known: list[str]) -> str:
    """``"; did you mean 'x' or 'y'?"`` for a misspelt word, or nothing."""
    from difflib import get_close_matches  # rarely needed, slow to import

    lowered = {name.lower(): name for name in reversed(known)}
    near = get_close_matches(word.lower(), lowered, n=3, cutoff=0.55)
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
        refuse("no_relevant", f"one of {', '.join(get_args(NoRelevant))}", no_relevant)
    for name, given in params.items():
        if name not in metric.defaults:
            raise _no_parameter(metric, name)
        rule, holds = rules(metric.function)[name]
        if not holds(given):
            refuse(name, rule, given)
    if ties is not None and ties not in get_args(Ties):
        refuse("ties", f"one of {', '.join(get_args(Ties))}", ties)
    if ties == "expected" and not metric.has_tie_mean(params):
        msg = (
            f"{metric.name} has no closed form for ties='expected'; use another "
            "rule, or 'optimistic' and 'pessimistic' for the range"
        )
        raise ValueError(msg)


def _no_parameter(metric: Metric, name: str) -> ValueError:
    known = metric.defaults
    if name == "k":
        return ValueError(f"{metric.name} has no cutoff; leave out k (as text: @k)")
    has = f"it has {', '.join(known)}" if known else "it has none"
    near = closest(name, list(known))
    return ValueError(f"{metric.name} has no parameter {name!r}; {has}{near}")
