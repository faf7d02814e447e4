"""Conventions: every disputed choice, in one value that has a name."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, TypeAlias, cast, get_type_hints

from polars_rank.conventions.choices import (
    CHOICES,
    Duplicates,
    Missing,
    NegativeGrade,
    ScoreType,
    Unjudged,
)
from polars_rank.core.arguments import (
    ApDivisor,
    IdealOrder,
    MaxGrade,
    PrecisionDivisor,
    RecallDivisor,
    Rel,
)
from polars_rank.core.metric.registry import METRICS, check, check_policy, closest
from polars_rank.core.parameters import Parameter, read_hint
from polars_rank.core.weights import Discount, Gain
from polars_rank.core.words.ranking import Ideal, NoRelevant, Ties

SETTLED = ("doc_desc", "doc_asc", "order")  # ties that have one order
Exceptions: TypeAlias = tuple[tuple[str, str, Any], ...]


@dataclass(frozen=True, kw_only=True)
class Convention:
    """The choices that a tool makes for its users, as one value.

    A convention states every choice: get a changed copy with ``replace``.

    Attributes
    ----------
    name
        Name of the convention; ``replace`` marks a changed one with ``*``.
    ties
        Order of equal scores. ``"doc_desc"`` and ``"doc_asc"`` need document ids;
        without them, ties keep the input order, as in ``"order"``. ``"expected"`` is
        the mean over all orders. ``"optimistic"`` and ``"pessimistic"`` order by grade,
        with the unjudged below all others, so they are bounds if gains rise with the
        grade.
    score_dtype
        Type in which scores are compared: as ``"given"``, or ``"float32"``.
    missing
        Value of a judged query that is missing from the run: ``"zero"``, ``"skip"``
        (left out of the mean) or ``"error"``.
    no_relevant
        Value of a query with nothing relevant: ``"zero"``, ``"one"``,
        ``"one_unweighted"`` (adds 1 to the sum, whatever the query's weight),
        ``"null"`` (the mean is null too), ``"skip"`` (left out of the mean) or
        ``"error"``.
    unjudged
        ``"nonrelevant"``: unjudged documents keep their rank; ``"drop"``: they and
        negative grades are removed from the ranking (condensed list).
    on_duplicate
        A document that a list has twice: ``"error"``; ``"best"`` (one document, with
        the best score and label of its copies); or ``"keep_rank"`` (the copy that
        comes first counts, the others keep their ranks and gain nothing, like unjudged
        documents), which needs ties that are ordered, not averaged. Copies among
        judgments are one with the best label under both.
    judgments
        Judgments that count: of all ``"judged"`` documents, or of the ``"retrieved"``
        ones only, as in tools that see nothing but the ranked rows.
    negative_grade
        Negative grades: ``"zero"`` (not relevant, gain 0) or ``"error"``.
    rel
        Lowest relevant grade, for measures of binary relevance; measures of gain have a
        threshold of their own, which no convention sets.
    gain, discount, ideal, max_grade
        Values of the measures' parameters of these names, where a measure has the
        parameter and allows the value.
    precision_divisor, recall_divisor, ap_divisor
        Value of ``divisor`` in precision, recall and average precision.
    exceptions
        Choices for one metric only: ``{"recall": {"no_relevant": "one"}}``, with
        ``no_relevant`` and the metric's own parameters.

    Examples
    --------
    >>> import polars_rank as pr
    >>> pr.CONVENTIONS["trec_eval"].replace(ties="expected").ties
    'expected'
    """

    name: str
    ties: Ties
    score_dtype: ScoreType
    missing: Missing
    no_relevant: NoRelevant
    unjudged: Unjudged
    on_duplicate: Duplicates
    judgments: Ideal
    negative_grade: NegativeGrade
    rel: Rel
    gain: Gain
    discount: Discount
    ideal: IdealOrder
    max_grade: MaxGrade
    precision_divisor: PrecisionDivisor
    recall_divisor: RecallDivisor
    ap_divisor: ApDivisor
    exceptions: Exceptions | Mapping[str, Mapping[str, Any]] = ()

    def __post_init__(self) -> None:
        """Check every choice."""
        for name, field in _choices().items():
            field.check(getattr(self, name))
        if self.on_duplicate == "keep_rank" and self.ties not in SETTLED:
            settled = " or ".join(f"ties={rule!r}" for rule in SETTLED)
            msg = (
                "on_duplicate='keep_rank' needs a first copy among equal scores: "
                f"choose {settled}, not {self.ties!r}"
            )
            raise ValueError(msg)
        object.__setattr__(self, "exceptions", _listed(self.exceptions))
        for metric, choice, value in self._exceptions:
            if metric not in METRICS:
                near = closest(metric, list(METRICS))
                msg = f"exceptions name an unknown metric {metric!r}{near}"
                raise ValueError(msg)
            if choice == "no_relevant":
                check_policy(METRICS[metric], {}, None, value)
            else:
                check(METRICS[metric], {choice: value})

    @property
    def choices(self) -> dict[str, Any]:
        """Everything but the name, which decides nothing."""
        names = [f.name for f in dataclasses.fields(self) if f.name != "name"]
        return {name: getattr(self, name) for name in names}

    @cached_property
    def _exceptions(self) -> Exceptions:
        return cast("Exceptions", self.exceptions)

    def replace(self, **changes: Any) -> Convention:
        """Return the convention with some choices changed.

        A new ``no_relevant`` holds for all metrics: exceptions from the old one go.
        """
        names = [f.name for f in dataclasses.fields(self)]
        for name in changes:
            if name not in names:
                msg = f"a convention has no choice {name!r}{closest(name, names)}"
                raise ValueError(msg)
        changes.setdefault("name", self.name.rstrip("*") + "*")
        if "no_relevant" in changes:
            kept = tuple(e for e in self._exceptions if e[1] != "no_relevant")
            changes.setdefault("exceptions", kept)
        return dataclasses.replace(self, **changes)

    def with_choices(self, **choices: Any) -> Convention:
        """Return the convention with the choices that are not None, for all metrics."""
        given = {name: value for name, value in choices.items() if value is not None}
        if not given:
            return self
        kept = tuple(e for e in self._exceptions if e[1] not in given)
        return self.replace(**given, exceptions=kept)

    def defaults(self, metric: str) -> dict[str, Any]:
        """Return the values that the convention chooses for the metric's parameters."""
        chosen = {
            p.name: getattr(self, p.meaning)
            for p in METRICS[metric].parameters.values()
            if p.meaning in CHOICES and p.allowed.test(getattr(self, p.meaning))
        }
        exceptions = {n: v for m, n, v in self._exceptions if m == metric}
        exceptions.pop("no_relevant", None)
        return chosen | exceptions

    def no_relevant_of(
        self, metric: str, given: NoRelevant | None = None
    ) -> NoRelevant:
        """Return the value of the metric for a query with nothing relevant.

        A value ``given`` with the measure takes precedence.
        """
        if given is not None:
            return given
        exceptions = {m: v for m, n, v in self._exceptions if n == "no_relevant"}
        return cast("NoRelevant", exceptions.get(metric, self.no_relevant))


@cache
def _choices() -> dict[str, Parameter]:
    """Return the fields that are choices, with their rules."""
    hints = get_type_hints(Convention, include_extras=True)
    return {name: read_hint(name, hints[name]) for name in CHOICES}


def _listed(exceptions: Exceptions | Mapping[str, Mapping[str, Any]]) -> Exceptions:
    """List metric, choice and value of every exception, sorted for comparison."""
    if isinstance(exceptions, Mapping):
        exceptions = tuple(
            (metric, name, value)
            for metric, choices in exceptions.items()
            for name, value in choices.items()
        )
    return tuple(sorted(exceptions, key=lambda exception: exception[:2]))
