"""A recipe: the method, norms, weights and parameters of a fusion, checked once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypedDict

import polars as pl

from polars_rank.core.metric.registry import closest
from polars_rank.core.parameters import is_number, plain, refuse
from polars_rank.fusion.formulas.methods import METHODS, Method
from polars_rank.fusion.formulas.norms import NORMS, Norm
from polars_rank.fusion.formulas.words import Candidate, Model, Pair

Weights: TypeAlias = Mapping[str, float] | Sequence[float]
Norms: TypeAlias = str | Mapping[str, str]

ARGUMENTS = (  # of ``fuse`` and ``tune``, one of which a misspelled one may mean
    *("method", "norm", "weights", "depth", "grid", "steps", "n_folds", "seed"),
    *("system", "query", "doc", "score", "rank", "descending", "check"),
    *("on_duplicate", "memory_limit", "temp_dir"),
)


class Parameters(TypedDict, total=False):
    """The parameters of methods."""

    k: float
    gamma: float
    phi: float
    sigma: float
    n_segments: int
    w: int


@dataclass(frozen=True, eq=False)
class Recipe:
    """What to combine, and how.

    Attributes
    ----------
    method
        The method.
    norms
        The norm of each run; of ``"scores"`` alone.
    weights
        The weight of each run.
    arguments
        The parameters of the method.
    models
        What was learned of each run, for methods that learn.
    """

    method: Method
    norms: tuple[Norm, ...]
    weights: tuple[float, ...]
    arguments: Mapping[str, float]
    models: tuple[Model, ...] = ()

    @property
    def of_scores(self) -> bool:
        """Whether scores are combined, not ranks alone."""
        return self.method.of == "scores"

    def value(self, words: Candidate | Pair) -> pl.Expr:
        """The formula, with the words that it is about."""
        return self.method.function(words, **self.arguments)

    @property
    def told(self) -> str:
        """What determines its values, as text."""
        norms = [norm.name for norm in self.norms]
        arguments = dict(self.arguments)
        return repr((self.method.name, norms, self.weights, arguments, self.models))


def method_of(name: str) -> Method:
    """Return the method of that name, its own or another tool's."""
    for method in METHODS.values():
        if name in (method.name, *method.aliases):
            return method
    known = [n for m in METHODS.values() for n in (m.name, *m.aliases)]
    near = closest(name, known) if isinstance(name, str) else ""
    msg = f"no method {name!r}{near or '.'} The methods are: {', '.join(METHODS)}"
    raise ValueError(msg)


def recipe_of(
    names: Sequence[str],
    method: str,
    norm: Norms | None,
    weights: Weights | None,
    parameters: Mapping[str, Any],
) -> Recipe:
    """Check what is to be done with runs of these names."""
    found = method_of(method)
    if weights is None and method in found.aliases and method.startswith("w"):
        msg = (
            f"method {method!r} needs weights={{run: weight}}; without weights it is "
            f"{found.name!r}"
        )
        raise ValueError(msg)
    if weights is not None and not found.weighted:
        able = ", ".join(m.name for m in METHODS.values() if m.weighted)
        msg = f"method {found.name!r} has no weights; those that have: {able}"
        raise ValueError(msg)
    return Recipe(
        method=found,
        norms=_norms(names, found, norm),
        weights=_weights(names, weights),
        arguments=arguments_of(found, parameters),
    )


def arguments_of(method: Method, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Check the parameters of a method, and fill in defaults."""
    for name in parameters:
        if name not in method.parameters:
            own = ", ".join(method.parameters) or "none"
            others = [m.name for m in METHODS.values() if name in m.parameters]
            of = f"; {name} is of {', '.join(others)}" if others else ""
            of = of or closest(name, [*method.parameters, *ARGUMENTS]).rstrip("?")
            msg = f"method {method.name!r} takes no {name}{of}; its own: {own}"
            raise TypeError(msg)
    given = method.defaults | dict(parameters)
    for name, parameter in method.parameters.items():
        if name not in given:
            msg = (
                f"method {method.name!r} needs {name}=, {parameter.doc.text}: "
                f"{parameter.allowed.words}; fusion.tune finds one by judgments"
            )
            raise TypeError(msg)
        parameter.check(given[name])
    return {name: plain(value) for name, value in given.items()}


def _norms(
    names: Sequence[str], method: Method, norm: Norms | None
) -> tuple[Norm, ...]:
    if norm is not None and method.of != "scores":
        msg = (
            f"norm= is for methods that combine scores; {method.name!r} uses "
            f"{method.of} alone: leave it out"
        )
        raise ValueError(msg)
    if isinstance(norm, Mapping):
        require_runs("norm", norm, names)
        return tuple(_norm(norm[name]) for name in names)
    return (_norm("min_max" if norm is None else norm),) * len(names)


def _norm(name: str) -> Norm:
    if isinstance(name, str) and (own := name.replace("-", "_")) in NORMS:
        return NORMS[own]
    msg = f"norm must be one of {', '.join(NORMS)}, not {name!r}"
    raise ValueError(msg)


def _weights(names: Sequence[str], weights: Weights | None) -> tuple[float, ...]:
    if weights is None:
        return (1.0,) * len(names)
    if isinstance(weights, Mapping):
        require_runs("weights", weights, names)
        weights = [weights[name] for name in names]
    elif not isinstance(weights, Sequence) or len(weights) != len(names):
        rule = f"one number for each of the {len(names)} runs ({', '.join(names)})"
        refuse("weights", rule, weights)
    for name, weight in zip(names, weights, strict=True):
        if not is_number(weight) or weight < 0:
            refuse(f"the weight of run {name!r}", "a number of at least 0", weight)
    if not any(weights):
        msg = "all weights are 0; give at least one run a weight above 0"
        raise ValueError(msg)
    return tuple(map(float, weights))


def require_runs(
    argument: str, given: Mapping[str, object], names: Sequence[str]
) -> None:
    """Raise ``ValueError`` unless a mapping names just the runs."""
    missing = [name for name in names if name not in given]
    unknown = [name for name in given if name not in names]
    if missing or unknown:
        what = f"lacks run {missing[0]!r}" if missing else f"has no run {unknown[0]!r}"
        if not missing:
            what = f"names {unknown[0]!r}, which is no run"
        msg = f"{argument} {what}; name each of these once: {', '.join(names)}"
        raise ValueError(msg)
