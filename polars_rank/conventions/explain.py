"""Explain in words what a measure computes under a convention."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from typing import Any, NamedTuple

from polars_rank.conventions.choices import OUTCOMES, just_below, sentence
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import (
    CONVENTIONS,
    DEFAULT,
    TOOLS,
    ConventionLike,
    complete_arguments,
    convention_of,
)
from polars_rank.core.metric.documentation import definition
from polars_rank.core.metric.registry import Metric
from polars_rank.core.parameters import Doc
from polars_rank.measures.measure import Measure, MeasureLike

GRADES_ALONE = {  # where relevance plays no part
    ("missing", "zero"): "a judged query that is missing from the run has no value",
    ("negative_grade", "zero"): "a negative grade is a grade like any other",
    ("unjudged", "nonrelevant"): "an unjudged document keeps its place",
}


class Choice(NamedTuple):
    """A choice that can change the value: its name, value, and words for the value."""

    name: str
    value: Any
    words: str
    source: str = ""

    @property
    def shown(self) -> str:
        """The value as text."""
        return _shown(self.value)


class Explanation(NamedTuple):
    """A measure under a convention.

    ``tools`` are those it is tested against: name of their convention, their name of
    the measure, and the choices in which they differ.
    """

    measure: Measure
    convention: Convention
    definition: list[str]
    choices: list[Choice]
    sections: dict[str, str]
    tools: list[tuple[str, str, str]]

    @property
    def title(self) -> str:
        """The measure as written, and its own text form if that is another."""
        text, written = str(self.measure), self.measure.name
        return written if text == written else f"{written}  is  {text}"

    def __str__(self) -> str:
        """Return the whole text."""
        return "\n".join(self._lines()) + "\n"

    def _lines(self) -> Iterator[str]:
        yield from (self.title, "")
        for paragraph in self.definition:
            yield from (plain(paragraph), "")
        rows = [(c.name, c.shown, source(c)) for c in self.choices]
        yield from _columns(rows)
        yield ""
        yield from _columns((n, plain(text)) for n, text in self.sections.items())
        if self.tools:
            yield from ("", "Tested against")
            yield from _columns(self.tools)


def explain(measure: MeasureLike, *, convention: ConventionLike = DEFAULT) -> str:
    """Explain in words what a measure computes, with every choice spelled out.

    Parameters
    ----------
    measure
        Such as ``"ndcg@10"``, another tool's name for it, or a :class:`Measure`.
    convention
        Name of a convention, or a :class:`Convention`.

    Returns
    -------
    Text: the definition, every choice that can change the value, the undefined case,
    the source, and the tools it is tested against.

    Examples
    --------
    >>> import polars_rank as pr
    >>> print(pr.explain("rr@10", convention="msmarco"))  # doctest: +ELLIPSIS
    rr@10
    <BLANKLINE>
    Reciprocal rank of the first relevant document; 0 if it is below rank k.
    ...
      ties         doc_asc      equal scores are ordered by document id as ...
    ...
    """
    return str(explanation(measure, convention))


def explanation(
    measure: MeasureLike, convention: ConventionLike = DEFAULT
) -> Explanation:
    """Collect everything that :func:`explain` says."""
    parsed = measure if isinstance(measure, Measure) else Measure.parse(measure)
    assumed = convention_of(convention)
    metric = parsed.definition
    return Explanation(
        parsed,
        assumed,
        definition(metric).split("\n\n"),
        list(_choices(parsed, assumed)),
        metric.sections
        | {"Undefined": _undefined(parsed, assumed)}
        | _besides(parsed, assumed),
        _tools(parsed, assumed),
    )


def _undefined(measure: Measure, convention: Convention) -> str:
    """Return the queries without a value, and how they enter the mean."""
    metric, policy = measure.definition, "skip"
    if metric.needs_relevant:
        policy = convention.no_relevant_of(metric.name, measure.no_relevant)
    undefined = metric.sections.get("Undefined", "never.")
    outcome = f" Such a query {OUTCOMES[policy]}."
    return undefined if undefined.startswith("never") else undefined + outcome


def _besides(measure: Measure, convention: Convention) -> dict[str, str]:
    """Return what the convention's tool does that no choice says."""
    tool = TOOLS.get(convention.name)
    said = tool is not None and measure.metric in tool.compared and tool.besides
    return {tool.name: tool.besides} if tool is not None and said else {}


def plain(text: str) -> str:
    """Return one line, without the markup of a docstring."""
    return " ".join(text.replace("``", "").split())


def source(choice: Choice) -> str:
    """Put a choice in words, and say where its value comes from."""
    return f"{choice.words}  ({choice.source})" if choice.source else choice.words


def in_effect(measure: Measure, convention: Convention) -> dict[str, Any]:
    """Return every choice that can change the measure's value, its parameters first."""
    metric = measure.definition
    chosen = complete_arguments(metric, measure.arguments, convention=convention)
    names = ["score_dtype", *(["ties"] if metric.tie_sensitive else [])]
    names += ["unjudged", "on_duplicate", "judgments", "negative_grade", "missing"]
    chosen |= {name: getattr(convention, name) for name in names}
    if metric.needs_relevant:
        chosen["no_relevant"] = convention.no_relevant_of(
            measure.metric, measure.no_relevant
        )
    return chosen


def _choices(measure: Measure, convention: Convention) -> Iterator[Choice]:
    usual = in_effect(Measure(measure.metric), CONVENTIONS[DEFAULT])
    for name, value in in_effect(measure, convention).items():
        where = "" if value == usual[name] else convention.name
        given = {*measure.arguments, *(["no_relevant"] if measure.no_relevant else [])}
        where = "given" if name in given else where
        yield Choice(name, value, _words(measure.definition, name, value), where)


def _words(metric: Metric, name: str, value: Any) -> str:
    """Put the value in words; describe the parameter if it is not a choice."""
    if not metric.needs_relevant and (name, value) in GRADES_ALONE:
        return GRADES_ALONE[name, value]
    parameter = metric.parameters.get(name)
    if parameter is None:
        return sentence(name, value) or ""
    of_value = sentence(parameter.meaning, value) or _of_value(parameter.doc, value)
    return of_value or parameter.doc.text


def _of_value(doc: Doc, value: Any) -> str | None:
    return doc.values.get(value) if isinstance(value, Hashable) else None


def _tools(measure: Measure, convention: Convention) -> list[tuple[str, str, str]]:
    """List the tools that a test compares the metric with, those that agree first."""
    choices = in_effect(measure, convention)
    rows = []
    for name, tool in TOOLS.items():
        if measure.metric in tool.compared:
            differ = _differences(choices, in_effect(measure, tool.convention))
            verdict = f"differs: {', '.join(differ)}" if differ else "agrees"
            rows.append((name, tool.compared[measure.metric], verdict))
    return sorted(rows, key=lambda row: row[2] != "agrees")


def _differences(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> list[str]:
    differ = [name for name in ours if ours[name] != theirs[name]]
    return [f"{name} {_shown(theirs[name])}" for name in differ]


def _shown(value: Any) -> str:
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    if (excluded := just_below(value)) is not None:
        return f"above {excluded:g}"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return "none" if value is None else str(value)


def _columns(rows: Any) -> Iterator[str]:
    """Align rows of text in columns, two spaces in."""
    table = list(rows)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)][:-1]
    for row in table:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  " + "  ".join([*cells, row[-1]]).rstrip()
