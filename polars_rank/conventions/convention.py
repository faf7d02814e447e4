"""Conventions: every disputed choice in one value that can be named and printed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, cast, get_args

from polars_rank.core.parameters import rules
from polars_rank.core.ranking import Ideal, NoRelevant, Ties
from polars_rank.core.registry import METRICS, check, closest, registered
from polars_rank.core.weights import Discount, Gain
from polars_rank.metrics.gain import IdealOrder

__all__ = ["Convention"]

Exceptions: TypeAlias = tuple[tuple[str, str, Any], ...]


@dataclass(frozen=True)
class Convention:
    """The choices that a tool makes for its users. Print it, compare it, change it.

    Attributes
    ----------
    name
        Its name; ``replace`` marks a changed one with ``*``.
    ties
        Order of equal scores. The two ``doc_`` rules need document identifiers, else
        ties keep the input order. ``"optimistic"`` and ``"pessimistic"`` go by grade,
        so they are bounds for gains that rise with the grade.
    score_dtype
        Type in which scores are compared.
    missing
        Value of a judged query that is missing from the run: ``"zero"``, or ``"skip"``
        it, or ``"error"``.
    no_relevant
        Value of a query with nothing relevant: ``"zero"``, ``"one"``, ``"null"`` (the
        mean is null too), ``"skip"`` (left out of the mean) or ``"error"``.
    unjudged
        ``"nonrelevant"``: unjudged documents hold their place; ``"drop"``: the ranking
        closes up over them and over negative grades (condensed list).
    judgments
        Judgments that count: of all ``"judged"`` documents, or of the ``"retrieved"``
        ones only, as in tools that see nothing but the ranked rows.
    negative_grade
        Negative grades: ``"zero"`` (not relevant, gain 0) or ``"error"``.
    rel
        Default of the parameter ``rel`` of measures that know relevant and not
        relevant only; a gain is cut by ``rel`` where a measure says so.
    gain, discount, ideal, max_grade
        Defaults of the measures' parameters of these names.
    precision_divisor, recall_divisor, ap_divisor
        Defaults of ``divisor`` of the three measures.
    exceptions
        What holds for one metric only: ``{"recall": {"no_relevant": "one"}}``, with
        ``no_relevant`` and the metric's own parameters.

    Examples
    --------
    >>> import polars_rank as pr
    >>> pr.CONVENTIONS["trec_eval"].replace(ties="expected").ties
    'expected'
    """

    name: str = "trec_eval"
    ties: Ties = "doc_desc"
    score_dtype: Literal["given", "float32"] = "given"
    missing: Literal["zero", "skip", "error"] = "zero"
    no_relevant: NoRelevant = "zero"
    unjudged: Literal["nonrelevant", "drop"] = "nonrelevant"
    judgments: Ideal = "judged"
    negative_grade: Literal["zero", "error"] = "zero"
    rel: float = 1
    gain: Gain = "linear"
    discount: Discount = "log2"
    ideal: IdealOrder = "judged"
    max_grade: float | Literal["query"] = 4
    precision_divisor: Literal["k", "retrieved", "min_k_R"] = "k"
    recall_divisor: Literal["R", "min_k_R"] = "R"
    ap_divisor: Literal["R", "min_k_R", "min_k_R_n", "hits", "k"] = "R"
    exceptions: Exceptions | Mapping[str, Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        """Check every choice."""
        for name, rule in _CHOICES.items():
            if getattr(self, name) not in rule:
                given = getattr(self, name)
                msg = f"{name} must be one of {', '.join(rule)}, not {given!r}"
                raise ValueError(msg)
        for metric, choice in _PARAMETERS:
            name = choice if choice != "divisor" else f"{metric}_divisor"
            check(registered(metric), {choice: getattr(self, name)})
        object.__setattr__(self, "exceptions", _listed(self.exceptions))
        for metric, choice, value in self._exceptions:
            if metric not in METRICS:
                near = closest(metric, list(METRICS))
                msg = f"exceptions name an unknown metric {metric!r}{near}"
                raise ValueError(msg)
            if choice == "no_relevant":
                check(registered(metric), {}, no_relevant=value)
            else:
                check(registered(metric), {choice: value})

    @property
    def _exceptions(self) -> Exceptions:
        return cast("Exceptions", self.exceptions)

    def replace(self, **changes: Any) -> Convention:
        """Return the convention with some choices changed."""
        known = [f.name for f in dataclasses.fields(self)]
        for name in changes:
            if name not in known:
                msg = f"a convention has no choice {name!r}{closest(name, known)}"
                raise ValueError(msg)
        changes.setdefault("name", self.name.rstrip("*") + "*")
        return dataclasses.replace(self, **changes)

    def defaults(self, metric: str) -> dict[str, Any]:
        """Defaults of a metric's parameters."""
        known = registered(metric).defaults
        given = {n: getattr(self, n) for n in ("gain", "discount", "ideal")}
        given["max_grade"] = self.max_grade
        if known.get("rel") is not None:
            given["rel"] = self.rel
        if (divisor := getattr(self, f"{metric}_divisor", None)) is not None:
            given["divisor"] = divisor
        rule = rules(registered(metric).function)
        given = {n: v for n, v in given.items() if n in known and rule[n][1](v)}
        own = {n: v for m, n, v in self._exceptions if (m, n) == (metric, n)}
        own.pop("no_relevant", None)
        return given | own

    def no_relevant_of(self, metric: str) -> NoRelevant:
        """Value of the metric for a query with nothing relevant."""
        own = {m: v for m, n, v in self._exceptions if n == "no_relevant"}
        return cast("NoRelevant", own.get(metric, self.no_relevant))


def _listed(given: Exceptions | Mapping[str, Mapping[str, Any]]) -> Exceptions:
    """Metric, choice and value of every exception, sorted: equal ones are equal."""
    if isinstance(given, Mapping):
        given = tuple((m, n, v) for m, own in given.items() for n, v in own.items())
    return tuple(sorted(given, key=lambda exception: exception[:2]))


_CHOICES: dict[str, tuple[str, ...]] = {
    "ties": get_args(Ties),
    "score_dtype": ("given", "float32"),
    "missing": ("zero", "skip", "error"),
    "no_relevant": get_args(NoRelevant),
    "unjudged": ("nonrelevant", "drop"),
    "judgments": get_args(Ideal),
    "negative_grade": ("zero", "error"),
}
_PARAMETERS = (
    ("ndcg", "gain"),
    ("ndcg", "discount"),
    ("ndcg", "ideal"),
    ("err", "max_grade"),
    ("accuracy", "rel"),
    ("precision", "divisor"),
    ("recall", "divisor"),
    ("ap", "divisor"),
)
