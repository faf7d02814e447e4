"""What a measure computes under a convention, in words."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import TOOLS, convention_of
from polars_rank.core.registry import Metric
from polars_rank.measures.measure import Measure

__all__ = ["Choice", "Explanation", "explain", "explanation"]

SECTION = re.compile(r"^(Undefined|Errors|Source|Equal to|Example): ", re.MULTILINE)
GAIN = "gain of a document is "
DIVISOR = "the sum is divided by "
WORDS: dict[str, dict[Any, str]] = {
    "k": {None: "no cutoff: the whole list"},
    "rel": {None: "every positive grade counts"},
    "gain": {
        "linear": GAIN + "its grade",
        "exp2": GAIN + "2^grade - 1",
        "binary": GAIN + "1 if its grade is positive, else 0",
    },
    "discount": {
        "log2": "the gain at place i is divided by log2(i + 1)",
        "log2_from_2": "the gain at place i is divided by max(1, log2(i))",
        "position": "the gain at place i is divided by i",
    },
    "ideal": {
        "judged": "the best order of all documents whose judgments count",
        "retrieved": "the best order of the retrieved documents",
        "min_k_n": "the best order of the judged documents, no longer than the list",
        "k": "k documents as good as the best judged one, whether they exist or not",
    },
    "divisor": {
        "k": DIVISOR + "k, however many are retrieved (by n without a cutoff)",
        "retrieved": DIVISOR + "min(k, n), n documents being retrieved",
        "R": DIVISOR + "R, all relevant documents, retrieved or not",
        "min_k_R": DIVISOR + "min(k, R), R documents being relevant",
        "min_k_R_n": DIVISOR + "min(k, R, n): R are relevant, n retrieved",
        "hits": DIVISOR + "the relevant documents that were found",
    },
    "max_grade": {"query": "the largest grade of the query is the top of the scale"},
    "score_dtype": {
        "given": "scores are compared as they are, the highest first",
        "float32": "scores are compared as float32, the highest first",
    },
    "ties": {
        "doc_desc": "equal scores: by document id as text, descending; without ids as "
        "they come",
        "doc_asc": "equal scores: by document id as text, ascending; without ids as "
        "they come",
        "order": "equal scores stand as they come",
        "expected": "equal scores: the mean over all their orders",
        "optimistic": "equal scores: the best grade first",
        "pessimistic": "equal scores: the worst grade first",
    },
    "unjudged": {
        "nonrelevant": "an unjudged document is not relevant and holds its place",
        "drop": "unjudged documents and negative grades are taken out of the list",
    },
    "judgments": {
        "judged": "judgments of documents that were not retrieved count, too",
        "retrieved": "judgments count for the retrieved documents only",
    },
    "negative_grade": {
        "zero": "a negative grade is not relevant and gains 0",
        "error": "a negative grade is an error",
    },
    "missing": {
        "zero": "a judged query that is missing from the run counts 0",
        "skip": "a judged query that is missing from the run is left out",
        "error": "a judged query that is missing from the run is an error",
    },
    "no_relevant": {
        "zero": "a query with nothing relevant counts 0",
        "one": "a query with nothing relevant counts 1",
        "null": "a query with nothing relevant has no value; nor has the mean",
        "skip": "a query with nothing relevant is left out of the mean",
        "error": "a query with nothing relevant is an error",
    },
}
GRADES_ALONE = {  # where relevance plays no part
    ("missing", "zero"): "a judged query that is missing from the run has no value",
    ("negative_grade", "zero"): "a negative grade is a grade like any other",
    ("unjudged", "nonrelevant"): "an unjudged document holds its place",
}
COUNTED = {
    "zero": "counts 0",
    "one": "counts 1",
    "null": "has no value; nor has the mean",
    "skip": "is left out of the mean",
    "error": "is an error",
}


class Choice(NamedTuple):
    """A choice that can change the value: its name, what is chosen, and in words."""

    name: str
    value: Any
    words: str
    source: str = ""

    @property
    def shown(self) -> str:
        """The value as text."""
        if callable(self.value):
            return getattr(self.value, "__name__", type(self.value).__name__)
        if isinstance(self.value, float) and self.value.is_integer():
            return str(int(self.value))
        return "none" if self.value is None else str(self.value)


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
        own, written = str(self.measure), self.measure.name
        return written if own == written else f"{written}  is  {own}"

    def __str__(self) -> str:
        """The whole text."""
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


def explain(
    measure: str | Measure, *, convention: str | Convention = "trec_eval"
) -> str:
    """Say in words what a measure computes, every choice spelled out.

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
    Reciprocal rank of the first relevant document; 0 if it stands below k.
    ...
      ties         doc_asc      equal scores: by document id as text, ascending; ...
    ...
    """
    return str(explanation(measure, convention))


def explanation(
    measure: str | Measure, convention: str | Convention = "trec_eval"
) -> Explanation:
    """Put together what :func:`explain` says."""
    asked = measure if isinstance(measure, Measure) else Measure.parse(measure)
    assumed = convention_of(convention)
    text, *parts = SECTION.split(asked.definition.doc)
    sections = dict(zip(parts[::2], map(str.strip, parts[1::2]), strict=True))
    counted = assumed.no_relevant_of(asked.metric)
    counted = counted if asked.definition.needs_relevant else "skip"
    undefined = sections.get("Undefined", "never")
    sections["Undefined"] = f"{undefined} Such a query {COUNTED[counted]}."
    return Explanation(
        asked,
        assumed,
        text.strip().split("\n\n"),
        list(_choices(asked, assumed)),
        sections,
        _tools(asked, assumed),
    )


def plain(text: str) -> str:
    """One line, without the marks of a docstring."""
    return " ".join(text.replace("``", "").split())


def source(choice: Choice) -> str:
    """A choice in words, and where its value comes from."""
    return f"{choice.words}  ({choice.source})" if choice.source else choice.words


def in_effect(measure: Measure, convention: Convention) -> dict[str, Any]:
    """Every choice that can change the measure's value, its parameters first."""
    metric = measure.definition
    filled = measure.with_defaults(convention.defaults(measure.metric)).arguments
    chosen = metric.defaults | filled
    names = ["score_dtype", *(["ties"] if metric.tie_sensitive else [])]
    names += ["unjudged", "judgments", "negative_grade", "missing"]
    chosen |= {name: getattr(convention, name) for name in names}
    if metric.needs_relevant:
        chosen["no_relevant"] = convention.no_relevant_of(measure.metric)
    return chosen


def _choices(measure: Measure, convention: Convention) -> Iterator[Choice]:
    usual = in_effect(Measure(measure.metric), Convention())
    for name, value in in_effect(measure, convention).items():
        where = "" if value == usual[name] else convention.name
        where = "given" if name in measure.arguments else where
        yield Choice(name, value, _words(measure.definition, name, value), where)


def _words(metric: Metric, name: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return "gains as listed; other grades keep their value"
    if callable(value):
        return "a function of your own"
    if name == "k" and value is not None:
        return f"the first {value} places"
    if name == "rel" and value is not None:
        return f"relevant is a grade of at least {value:g}"
    if name == "max_grade" and value != "query":
        return f"{value:g} is the top of the scale"
    if not metric.needs_relevant and (name, value) in GRADES_ALONE:
        return GRADES_ALONE[name, value]
    return WORDS.get(name, {}).get(value, "see above")


def _tools(measure: Measure, convention: Convention) -> list[tuple[str, str, str]]:
    """Tools that a test compares the metric with, those that agree first."""
    own = in_effect(measure, convention)
    rows = []
    for name, tool in TOOLS.items():
        if measure.metric in tool.equal:
            differ = _difference(own, in_effect(measure, tool.convention))
            said = f"differs: {', '.join(differ)}" if differ else "agrees"
            rows.append((name, tool.equal[measure.metric], said))
    return sorted(rows, key=lambda row: row[2] != "agrees")


def _difference(own: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [f"{name} {other[name]}" for name in own if own[name] != other[name]]


def _columns(rows: Any) -> Iterator[str]:
    """Rows of text in columns, two spaces in."""
    listed = list(rows)
    widths = [max(map(len, column)) for column in zip(*listed, strict=True)][:-1]
    for row in listed:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        yield "  " + "  ".join([*cells, row[-1]]).rstrip()
