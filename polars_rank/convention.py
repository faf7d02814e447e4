"""Conventions: every disputed choice in one value that can be named and printed."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, get_args

from polars_rank.metrics.registry import METRICS, check, closest
from polars_rank.ranking import Ideal, NoRelevant, Ties
from polars_rank.weights import Discount, Gain

__all__ = ["CONVENTIONS", "Convention", "convention_of"]


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
    gain, discount, ideal, max_grade
        Defaults of the measures' parameters of these names.
    precision_divisor, recall_divisor, ap_divisor
        Defaults of ``divisor`` of the three measures.

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
    gain: Gain = "linear"
    discount: Discount = "log2"
    ideal: Ideal = "judged"
    max_grade: float | Literal["query"] = 4
    precision_divisor: Literal["k", "retrieved", "min_k_R"] = "k"
    recall_divisor: Literal["R", "min_k_R"] = "R"
    ap_divisor: Literal["R", "min_k_R", "hits", "k"] = "R"

    def __post_init__(self) -> None:
        """Check every choice."""
        for name in ("ndcg", "err", "precision", "recall", "ap"):
            known = METRICS[name].defaults
            given = {n: v for n, v in self.defaults(name).items() if n in known}
            check(METRICS[name], given)
        for name, rule in _CHOICES.items():
            if getattr(self, name) not in rule:
                given = getattr(self, name)
                msg = f"{name} must be one of {', '.join(rule)}, not {given!r}"
                raise ValueError(msg)

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
        names = ("gain", "discount", "ideal", "max_grade")
        divisor = getattr(self, f"{metric}_divisor", None)
        return {name: getattr(self, name) for name in names} | (
            {} if divisor is None else {"divisor": divisor}
        )


_CHOICES: dict[str, tuple[str, ...]] = {
    "ties": get_args(Ties),
    "score_dtype": ("given", "float32"),
    "missing": ("zero", "skip", "error"),
    "no_relevant": get_args(NoRelevant),
    "unjudged": ("nonrelevant", "drop"),
}

CONVENTIONS: dict[str, Convention] = {"trec_eval": Convention()}


def convention_of(given: str | Convention) -> Convention:
    """Look up a convention by name."""
    if isinstance(given, Convention):
        return given
    if given not in CONVENTIONS:
        near = closest(str(given), list(CONVENTIONS))
        known = ", ".join(CONVENTIONS)
        msg = f"unknown convention {given!r}{near}; known: {known}, or a Convention"
        raise ValueError(msg)
    return CONVENTIONS[given]
