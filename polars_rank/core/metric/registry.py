"""The registry: each decorated function is a metric in every interface."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import inf, log
from typing import Any, Literal, TypeAlias, TypeVar, get_args

import polars as pl

from polars_rank.core.metric import documentation
from polars_rank.core.parameters import (
    OtherThan,
    Parameter,
    plain,
    read_parameters,
    refuse,
)
from polars_rank.core.rules import Violation, undefined
from polars_rank.core.weights import Gain
from polars_rank.core.words.list_totals import Totals
from polars_rank.core.words.ranking import NoRelevant, Ranking, Ties
from polars_rank.core.words.recommendations import Recommendations
from polars_rank.core.words.recommended_items import Catalog
from polars_rank.core.words.subtopics import Subtopics

Rows: TypeAlias = Literal["relevant", "judged", "all"]
AggregateName: TypeAlias = Literal["mean", "sum", "geometric"]
Better: TypeAlias = Literal["higher", "lower"]
Vocabulary: TypeAlias = Literal[
    "ranking", "subtopics", "recommendations", "catalog", "totals"
]
SMALLEST = 1e-5  # of the values that a geometric mean takes
Function = TypeVar("Function", bound=Callable[..., pl.Expr])


@dataclass(frozen=True, kw_only=True, eq=False)
class Metric:
    """A metric of the registry.

    Attributes
    ----------
    name
        Name of the function, the namespace method and the text form.
    family
        The file that defines it.
    depends_on
        The documents that can change its value: ``"relevant"`` (positive grades),
        ``"judged"`` or ``"all"``. The frame level drops the others early. With
        ``"relevant"`` its formula is 0 or null where nothing is relevant. Of a user's
        list, ``"relevant"`` says that relevant items count which the list lacks.
    needs_relevant
        Whether it is undefined for a query with nothing relevant.
    tie_mean
        Whether it supports ``ties="expected"``: its words are means over the orders of
        tied documents, and its value is linear in them.
    no_tie_mean_when
        Values of parameters for which it does not; ``OtherThan(None)``: any value.
    of_two_rankings
        Whether it compares two rankings of one kind, so that the judgments may well be
        another run: a query that is only in the run is then told of.
    uses_scores
        Whether it depends on the scores themselves, not only on their order.
    tie_sensitive
        Whether the order of documents with equal scores can change it.
    aggregate
        How values of queries are combined: ``"mean"``, ``"sum"`` (counts), or
        ``"geometric"`` mean, with the query's value given as ``log(max(value, 1e-5))``.
    better
        Whether ``"higher"`` or (for losses) ``"lower"`` values are better.
    suffix
        The parameters set by what follows ``_`` or ``.`` in trec_eval's names:
        ``P_5``, ``utility.1,-1,0,0``. Default: the cutoff, if it has one.
    aliases
        Names in other tools, with the parameters that each implies.
    bounds
        Least and largest value of a query, whatever the parameters, unless they are
        functions or tables of gains. A kept sum beyond them is damaged.
    version
        Of the definition, which kept sums carry: raised when a value would change, so
        that old and new sums are not added.
    """

    name: str
    function: Callable[..., pl.Expr]
    family: str
    depends_on: Rows = "all"
    needs_relevant: bool = True
    tie_mean: bool = False
    no_tie_mean_when: Mapping[str, Any] = field(default_factory=dict)
    of_two_rankings: bool = False
    uses_scores: bool = False
    tie_sensitive: bool = True
    aggregate: AggregateName = "mean"
    better: Better = "higher"
    suffix: tuple[str, ...] | None = None
    aliases: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    bounds: tuple[float, float] = (0.0, 1.0)
    version: int = 1

    # -- read off the signature

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The argument of its formula, which the annotation of it tells.

        It is a ``"ranking"`` (``r: Ranking``), a query's ``"subtopics"``
        (``s: Subtopics``), a user's ``"recommendations"`` (``r: Recommendations``), the
        ``"catalog"`` (``c: Catalog``) or ``"totals"`` over all lists (``t: Totals``).
        Only frames can have measures of the last four.
        """
        annotation = next(iter(self.function.__annotations__.values()), Ranking)
        if isinstance(annotation, str):
            annotation = eval(annotation, getattr(self.function, "__globals__", {}))
        return VOCABULARIES.get(annotation, "ranking")

    @cached_property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters, in order."""
        return read_parameters(self.function)

    @cached_property
    def defaults(self) -> dict[str, Any]:
        """The metric's own defaults.

        A parameter that is a disputed choice has none: conventions decide it.
        """
        return dict(getattr(self.function, "__kwdefaults__", None) or {})

    @cached_property
    def meanings(self) -> dict[str, str]:
        """Names of the parameters that mean something to the library, by meaning."""
        parameters = self.parameters.values()
        return {p.meaning: p.name for p in parameters if p.meaning is not None}

    def named(self, meaning: str) -> str | None:
        """Name of the parameter that has the meaning, e.g. of the cutoff ``"k"``."""
        return self.meanings.get(meaning)

    def depends_on_with(self, params: Mapping[str, Any]) -> Rows:
        """Return ``depends_on`` with these parameters: grades of 0 may count, too."""
        gain, rel, least = (
            params.get(self.meanings.get(meaning, ""))
            for meaning in ("gain", "rel", "optional_rel")
        )
        named = gain is None or isinstance(gain, str)
        positive = all(grade is None or grade > 0 for grade in (rel, least))
        if self.depends_on == "relevant" and not (named and positive):
            return "judged"
        return self.depends_on

    def is_zero_of_nothing(self, params: Mapping[str, Any]) -> bool:
        """Return whether its formula is 0 or null where nothing is relevant."""
        ranked = self.vocabulary == "ranking"
        return ranked and self.depends_on_with(params) == "relevant"

    def bounds_with(self, params: Mapping[str, Any]) -> tuple[float, float]:
        """``bounds`` of what is aggregated; none with gains that nobody knows."""
        named = not any(callable(v) or isinstance(v, Mapping) for v in params.values())
        if not named or self.vocabulary == "subtopics":  # whose ideal is not the best
            return UNBOUNDED
        return (log(SMALLEST), 0.0) if self.aggregate == "geometric" else self.bounds

    @cached_property
    def cutoff(self) -> str:
        """Name of the cutoff; ``"k"`` also if it has none."""
        return self.meanings.get("k", "k")

    @cached_property
    def after(self) -> tuple[str, ...]:
        """The parameters set by what follows ``_`` or ``.``: ``P_5``."""
        if self.suffix is not None:
            return self.suffix
        return (self.cutoff,) if "k" in self.meanings else ()

    @cached_property
    def at(self) -> str:
        """The parameter set by what follows ``@``: ``P@5``, ``IPrec@0.1``."""
        alone = "k" not in self.meanings and len(self.after) == 1
        return self.after[0] if alone else self.cutoff

    # -- what follows

    @property
    def zero(self) -> float | None:
        """Value of a query without documents; None where it is undefined."""
        if self.aggregate == "geometric":
            return log(SMALLEST)
        return 0.0 if self.needs_relevant or self.aggregate == "sum" else None

    @property
    def summary(self) -> str:
        """The measured quantity in one line."""
        return (self.function.__doc__ or "").partition("\n")[0]

    @property
    def sections(self) -> dict[str, str]:
        """Undefined case, errors, source ...: as written, and as the flags imply."""
        return documentation.sections(self)

    @property
    def doc(self) -> str:
        """The documentation: the docstring, and what follows from the flags."""
        return documentation.text(self)

    def adds_unweighted_one(self, no_relevant: NoRelevant) -> bool:
        """Return whether an undefined value adds an unweighted 1 to the sum."""
        mean = self.needs_relevant and self.aggregate == "mean"
        return mean and no_relevant == "one_unweighted"

    def has_tie_mean(self, params: Mapping[str, Any]) -> bool:
        """Return whether it is defined for ``ties="expected"`` with the parameters."""
        if not self.tie_sensitive:
            return True
        values = self.defaults | dict(params)
        return self.tie_mean and not any(
            values.get(name) in (when if isinstance(when, OtherThan) else [when])
            for name, when in self.no_tie_mean_when.items()
        )


POSITIVE, SIGNED, UNBOUNDED = (0.0, inf), (-1.0, 1.0), (-inf, inf)  # bounds of values

VOCABULARIES: dict[object, Vocabulary] = {
    Subtopics: "subtopics",
    Recommendations: "recommendations",
    Catalog: "catalog",
    Totals: "totals",
}
METRICS: dict[str, Metric] = {}
ALIASES: dict[str, Metric] = {}  # other tools' names


def metric(
    *,
    depends_on: Rows = "all",
    needs_relevant: bool = True,
    tie_mean: bool = False,
    no_tie_mean_when: Mapping[str, Any] | None = None,
    of_two_rankings: bool = False,
    uses_scores: bool = False,
    tie_sensitive: bool = True,
    aggregate: AggregateName = "mean",
    better: Better = "higher",
    suffix: tuple[str, ...] | None = None,
    aliases: Mapping[str, Mapping[str, Any]] | None = None,
    bounds: tuple[float, float] = (0.0, 1.0),
    version: int = 1,
) -> Callable[[Function], Function]:
    """Register a formula ``f(r: Ranking, *, ...) -> pl.Expr`` under its own name.

    With ``s: Subtopics``, ``r: Recommendations``, ``c: Catalog`` or ``t: Totals`` it is
    a formula over the subtopics of a query, a user's list, or all lists. The flags are
    those of :class:`Metric`; the defaults are safe: they refuse, or take the slow way.
    The allowed values, meaning and description of a parameter are read off its
    annotation.
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
            of_two_rankings=of_two_rankings,
            uses_scores=uses_scores,
            tie_sensitive=tie_sensitive,
            aggregate=aggregate,
            better=better,
            suffix=suffix,
            aliases=aliases or {},
            bounds=bounds,
            version=version,
        )
        for name in (added.name, *added.aliases):
            if other := find_metric(name):
                msg = f"{name!r} names both {other.name} and {added.name}; keep one"
                raise ValueError(msg)
        METRICS[added.name] = added
        ALIASES.update(dict.fromkeys(added.aliases, added))
        return function

    return register


def of_vocabulary(vocabulary: Vocabulary) -> dict[str, Metric]:
    """Return the metrics whose formulas are of this vocabulary."""
    return {name: m for name, m in METRICS.items() if m.vocabulary == vocabulary}


def find_metric(name: str) -> Metric | None:
    """Return the metric of that name, its own or another tool's, or None."""
    return METRICS.get(name) or ALIASES.get(name)


def value(
    metric: Metric,
    r: Ranking | Subtopics,
    params: Mapping[str, Any],
    no_relevant: NoRelevant,
) -> pl.Expr:
    """Return the value of the query, with ``no_relevant`` where it is undefined.

    ``params`` are complete: see ``conventions.tools.complete_arguments``.
    """
    defined = _value(metric, r, params, no_relevant)
    if metric.aggregate == "geometric":
        return defined.clip(lower_bound=SMALLEST).log()
    return defined


def _value(
    metric: Metric,
    r: Ranking | Subtopics,
    params: Mapping[str, Any],
    no_relevant: NoRelevant,
) -> pl.Expr:
    formula = metric.function(r, **params)
    if not metric.needs_relevant:
        return formula
    if no_relevant == "zero" and metric.is_zero_of_nothing(params):
        return formula.fill_null(0.0)
    rel, gain, least = (
        params.get(metric.meanings.get(meaning, ""))
        for meaning in ("rel", "gain", "optional_rel")
    )
    if isinstance(r, Subtopics):
        relevant = r.count(1 if rel is None else rel)
    elif gain is not None:
        # By name, gains are above 0 where grades are: powers of 2 need not be computed.
        known: Gain = "linear" if isinstance(gain, str) else gain
        relevant = r.count_all(r.gain(known, least if rel is None else rel) > 0)
    else:
        relevant = r.count_all(r.grade > 0) if rel is None else r.relevant_count(rel)
    defined = pl.when(relevant > 0).then(formula)
    if no_relevant == "error":
        missing = defined.is_null().cast(pl.UInt32)
        r.violations.append(Violation(undefined(metric.name), missing))
    fill = {"zero": 0.0, "one": 1.0, "one_unweighted": 1.0}.get(no_relevant)
    return defined if fill is None else defined.fill_null(fill)


# -- arguments are checked once, where the expression is built


ALIKE = 0.6  # likeness of a name that may be meant


def similar(word: str, names: Iterable[str], *, n: int = 3) -> list[str]:
    """Return names that resemble a misspelled word, best first.

    difflib overlooks letters and words in another order: ``ngcd``, ``capped_recall``.
    """
    from difflib import SequenceMatcher  # rarely needed, slow to import

    letters, parts = sorted(word), word.split("_")
    matcher = SequenceMatcher(b=word)
    found = {}
    for name in names:
        matcher.set_seq1(name)
        turned = len(word) > 2 and sorted(name) == letters
        own = name.split("_")
        same = 0.7 + 0.1 * len(own) if len(parts) > 1 and _all_in(own, parts) else 0.0
        # Upper bounds of the ratio, which is dear: most names fail one of them.
        bounds = (matcher.real_quick_ratio, matcher.quick_ratio)
        may_be = all(bound() >= ALIKE for bound in bounds)
        likeness = matcher.ratio() if may_be and not turned else 0.0
        found[name] = 1.0 if turned else max(likeness, same)
    near = [name for name, likeness in found.items() if likeness >= ALIKE]
    return sorted(near, key=lambda name: -found[name])[:n]


def _all_in(parts: Sequence[str], others: Sequence[str]) -> bool:
    """Return whether every part begins as another one: ``cap`` as ``capped``."""

    def alike(a: str, b: str) -> bool:
        return min(len(a), len(b)) > 2 and (a.startswith(b) or b.startswith(a))

    return all(any(alike(part, other) for other in others) for part in parts)


def closest(word: str, names: list[str]) -> str:
    """Return ``"; did you mean 'x' or 'y'?"`` for a misspelled word, or nothing."""
    lowered = {name.lower(): name for name in reversed(names)}
    near = similar(word.lower(), lowered)
    if not near:
        return ""
    return "; did you mean " + " or ".join(repr(lowered[n]) for n in near) + "?"


_ELSEWHERE = {
    ("evaluate", "keep"): "; by= splits the mean by columns, per_query keeps them",
    ("per_query", "by"): "; keep= keeps columns, and evaluate splits the mean by them",
}


def not_taken(function: str, name: str, known: list[str]) -> str:
    """Return the message for an argument that a function does not know."""
    near = _ELSEWHERE.get((function, name)) or closest(name, known)
    if not near and any(name in metric.parameters for metric in METRICS.values()):
        example = "ndcg@10" if name == "k" else f"ndcg({name}=...)@10"
        near = f": it is a parameter of measures; write it there, as in '{example}'"
    return f"{function} takes no {name}{near}"


def check(metric: Metric, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the checked arguments, with numbers as Python's own.

    A ``ValueError`` names parameter, rule and value.
    """
    for name, argument in params.items():
        if name not in metric.parameters:
            raise _no_parameter(metric, name)
        metric.parameters[name].check(argument)
    return {name: plain(argument) for name, argument in params.items()}


def check_policy(
    metric: Metric,
    params: Mapping[str, Any],
    ties: Ties | None,
    no_relevant: NoRelevant,
) -> None:
    """Raise ``ValueError`` for an unknown rule, or one that this metric lacks."""
    if no_relevant not in get_args(NoRelevant):
        refuse("no_relevant", f"one of {', '.join(get_args(NoRelevant))}", no_relevant)
    if ties is not None and ties not in get_args(Ties):
        refuse("ties", f"one of {', '.join(get_args(Ties))}", ties)
    if ties == "expected" and not metric.has_tie_mean(params):
        msg = (
            f"{metric.name} has no closed form for ties='expected'; use another "
            "rule, or 'optimistic' and 'pessimistic' for the range"
        )
        raise ValueError(msg)


def require_policy(metric: Metric, no_relevant: NoRelevant) -> None:
    """Raise ``ValueError`` if ``no_relevant`` does not apply to the metric."""
    check_policy(metric, {}, None, no_relevant)
    if not metric.needs_relevant:
        msg = f"'no_relevant' has no effect on {metric.name}: leave it out"
        raise ValueError(msg)


def _no_parameter(metric: Metric, name: str) -> ValueError:
    names = list(metric.parameters)
    if name == "k":
        return ValueError(f"{metric.name} has no cutoff; leave out k (as text: @k)")
    has = f"it has {', '.join(names)}" if names else "it has none"
    near = closest(name, names)
    return ValueError(f"{metric.name} has no parameter {name!r}; {has}{near}")
