"""The documentation that follows from the registry; ``docs/make.py`` writes it.

One page per family of measures and their index, the tables of conventions and choices,
the README's table of ten measures and the picture of a plan. Everything between two
marks such as ``<!-- measures -->`` and ``<!-- /measures -->`` is generated; the rest is
not touched.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from runpy import run_path
from typing import Any

import polars as pl

from polars_rank import evaluate
from polars_rank.conventions.choices import CHOICES, sentence
from polars_rank.conventions.convention import Convention
from polars_rank.conventions.tools import TOOLS, complete_arguments
from polars_rank.core.metric.documentation import argument
from polars_rank.core.vocabulary import COLUMNS, PARAMETERS
from polars_rank.metrics import METRICS, Metric

DOCS = Path(__file__).resolve().parent
README = DOCS.parent / "README.md"
CONVENTIONS = DOCS / "conventions.md"
WORDS = DOCS / "words.md"
MEASURES = DOCS / "measures"
INDEX = MEASURES / "index.md"
PLAN = run_path(str(DOCS / "plan.py"))

TEN = ("ndcg", "ap", "rr", "precision", "recall", "f1", "accuracy", "err", "rbp", "auc")
TITLES = {  # of the families; another family is called by the name of its file
    "averaged_gain": "Averaged gain",
    "binary": "Binary relevance",
    "blended": "Blended ratio (NTCIR)",
    "bpm": "Bejeweled Player Model",
    "cascade": "Cascade models",
    "clicks": "Clicks",
    "confusion": "Confusion matrix at a cutoff",
    "correlation": "Rank correlation",
    "counts": "Counts",
    "gain": "Cumulative gain",
    "incomplete": "Incomplete judgments",
    "losses": "Learning-to-rank losses",
    "overlap": "Overlap of two rankings",
    "pairwise": "Pairs of documents",
    "persistence": "Rank-biased precision",
    "recall_levels": "Precision at levels of recall",
    "subtopic": "Subtopics and diversity",
    "recommendation": "Recommended lists",
    "catalog": "The catalog of a recommender",
    "fairness": "Fairness of exposure",
    "user_models": "User models",
}
SECTION = re.compile(r"^(Undefined|Errors|Source|Equal to|Example): ", re.MULTILINE)
FACTS = (
    *("Needs", "Undefined", "Errors", "Equal scores", "Over queries", "Source"),
    *("Equal to", "Conventions compared", "Other names", "Example"),
)
CLOSED = "no closed form"
INTRODUCTION = """Every page gives the formula, the parameters, the undefined case, the
errors, the source and an example that can be checked by hand.
[Measures as text](../guide/first-steps.md#measures-as-text) says how to write a
measure, and [Conventions](../conventions.md) where the defaults come from.
"""
OVER_QUERIES = {
    "mean": "the mean",
    "sum": "the sum",
    "geometric": "the geometric mean",
}


def main() -> None:
    """Write every page, and remove the pages of families that are gone."""
    new = written()
    MEASURES.mkdir(exist_ok=True)
    for path in MEASURES.glob("*.md"):
        if path not in new:
            path.unlink()
    for path, text in new.items():
        path.write_text(text, encoding="utf-8")


def written() -> dict[Path, str]:
    """Every file that is generated, or has a generated part, and its text."""
    pages = {MEASURES / f"{name}.md": text for name, text in family_pages()}
    known = {README: readme(), CONVENTIONS: conventions(), INDEX: index()}
    return known | {WORDS: words(), PLAN["PICTURE"]: PLAN["drawing"]()} | pages


def readme() -> str:
    """The README with its table of ten measures."""
    ten = (f"| `{name}` | {summary(METRICS[name])} |" for name in TEN)
    return filled(README, measures=table("measure", "what it measures", ten))


def words() -> str:
    """Every public parameter and result column, each once."""
    titles = {
        "file": "Frames and files",
        "column": "Columns",
        "choice": "Choices",
        "resource": "Resources",
        "output": "Output",
        "python": "In Python alone",
    }
    text = (
        "# Words\n\nOne word has one meaning everywhere: in functions, results and the "
        "command.\nA test compares these tables with all signatures and results.\n"
    )
    for kind, title in titles.items():
        rows = [
            f"| `{name}` | {word.about} |"
            for name, word in PARAMETERS.items()
            if word.kind == kind
        ]
        text += f"\n## Parameters: {title.lower()}\n\n"
        text += table("parameter", "meaning", rows) + "\n"
    rows = [
        f"| `{name}` | {column.dtype} | {column.about} |"
        for name, column in COLUMNS.items()
    ]
    return (
        f"{text}\n## Columns of results\n\n{table('column', 'type', 'meaning', rows)}\n"
    )


def families() -> dict[str, list[Metric]]:
    """The metrics of each family."""
    groups: dict[str, list[Metric]] = {}
    for metric in METRICS.values():
        groups.setdefault(metric.family, []).append(metric)
    return groups


# -- measures


def index() -> str:
    """The table of all measures."""
    text = f"# Measures\n\n{len(METRICS)} measures in {len(families())} families.\n"
    text += INTRODUCTION
    for family, members in families().items():
        rows = (
            f"| [`{m.name}`]({family}.md#{m.name}) | {summary(m)} "
            f"| {', '.join(m.parameters)} |"
            for m in members
        )
        text += f"\n## [{title(family)}]({family}.md)\n\n"
        text += table("measure", "what it measures", "parameters", rows) + "\n"
    return GENERATED + text


def family_pages() -> Iterator[tuple[str, str]]:
    """Name and text of every family's page."""
    for family, members in families().items():
        about = sys.modules[members[0].function.__module__].__doc__ or ""
        head = f"# {title(family)}\n\n{markdown(about.strip())}\n"
        others = "[All measures](index.md)\n"
        parts = [head, others, *(measure_section(m) for m in members)]
        yield family, GENERATED + "\n".join(parts)


def measure_section(metric: Metric) -> str:
    """Everything that is known about one metric."""
    text, *found = SECTION.split(metric.doc)
    sections = dict(zip(found[::2], map(str.strip, found[1::2]), strict=True))
    parts = [f"## {metric.name}", markdown(text.strip())]
    if metric.parameters:
        parts.append(parameters(metric))
    facts = {name: markdown(text) for name, text in sections.items()}
    if CLOSED not in sections.get("Errors", ""):
        facts["Equal scores"] = tied(metric)
    if metric.aggregate != "mean":
        facts["Over queries"] = f"{OVER_QUERIES[metric.aggregate]} of the values."
    if metric.aliases:
        facts["Other names"] = ", ".join(
            f"`{name}`" + (f" ({settings(preset)})" if preset else "")
            for name, preset in metric.aliases.items()
        )
    tools = [
        f"{tool.name} (`{tool.compared[metric.name]}`)"
        for tool in TOOLS.values()
        if metric.name in tool.compared
    ]
    if tools:
        facts["Conventions compared"] = f"{', '.join(tools)}: [results](../parity.md)."
    if metric.vocabulary == "subtopics":
        facts["Needs"] = (
            "judgments with a column of [subtopics](../guide/subtopics.md)."
        )
    if found := needed_frames(metric):
        facts["Needs"] = f"{' or '.join(found)}."
    ordered = [name for name in FACTS if name in facts]
    parts.append("\n".join(f"- **{name}:** {facts[name]}" for name in ordered))
    return "\n\n".join(parts) + "\n"


ABOUT_ITEMS = {  # what the frames of a recommender are, and smallest ones
    "history": ("past interactions (`history=`)", {"query_id": [1, 2]}),
    "items": (
        "the catalog and its features (`items=`)",
        {"category": ["x", "y"], "protected": [True, False]},
    ),
}


def needed_frames(metric: Metric) -> list[str]:
    """The frames of a recommender without which the measure is refused."""
    if metric.vocabulary not in ("recommendations", "catalog", "totals"):
        return []
    docs = {"doc_id": ["a", "b"]}
    run = pl.DataFrame({"query_id": 1, "score": [2, 1], "label": [1, 0], **docs})
    frames = {name: pl.DataFrame(docs | own) for name, (_, own) in ABOUT_ITEMS.items()}
    enough = []
    for given in ((), ("history",), ("items",), ("history", "items")):
        try:
            evaluate(run, metric.name, **{name: frames[name] for name in given})
        except ValueError:
            continue
        enough.append(given)
    least = [g for g in enough if len(g) == len(enough[0])]
    return [" and ".join(ABOUT_ITEMS[name][0] for name in g) for g in least if g]


def parameters(metric: Metric) -> str:
    """The table of a metric's parameters."""
    defaults = complete_arguments(metric)
    rows = (
        f"| `{p.name}` | {code(defaults[p.name])} | {cell(p.allowed.words)} "
        f"| {cell(p.doc.text)} |"
        for p in metric.parameters.values()
    )
    return table("parameter", "default", "may be", "meaning", rows)


def tied(metric: Metric) -> str:
    """What ``ties="expected"`` means for a metric."""
    if not metric.tie_sensitive:
        return "their order does not change the value."
    if not metric.tie_mean:
        return '`ties="expected"` is refused: there is no closed form.'
    given = metric.no_tie_mean_when.items()
    but = " or ".join(f"`{argument(name, value)}`" for name, value in given)
    return '`ties="expected"` gives the exact mean over all their orders' + (
        f", except with {but}." if but else "."
    )


def title(family: str) -> str:
    """Name of a family, as a heading."""
    return TITLES.get(family, family.replace("_", " ").capitalize())


def summary(metric: Metric) -> str:
    """The first line of a docstring, in a table."""
    return cell(markdown(metric.summary))


def settings(preset: Mapping[str, Any]) -> str:
    """Parameters as they are written in a measure's text."""
    return ", ".join(f"`{name}={value}`" for name, value in preset.items())


# -- conventions


def conventions() -> str:
    """The page of conventions with its tables."""
    tools = (
        f"| `{name}` | {tool.name} | {cell(tool.follows)} |"
        for name, tool in TOOLS.items()
    )
    differences = (
        f"| `{name}` | {differs(tool.convention)} | {compared(tool.compared)} |"
        for name, tool in TOOLS.items()
    )
    besides = (
        f"| `{name}` | {cell(tool.besides)} |"
        for name, tool in TOOLS.items()
        if tool.besides
    )
    return filled(
        CONVENTIONS,
        besides=table("convention", "what its tool does besides", besides),
        choices=table("choice", "value", "what it means", choices()),
        conventions=table("convention", "tool", "in a few words", tools),
        differences=table(
            "convention", "differs from the default in", "compared", differences
        ),
    )


def default() -> Convention:
    """The convention that is used where none is named."""
    return TOOLS["trec_eval"].convention


def choices() -> Iterator[str]:
    """One row for every value of every choice, the default first."""
    for choice, disputed in CHOICES.items():
        usual, values = getattr(default(), choice), disputed.values
        for value in dict.fromkeys((usual, *values)):
            meaning = sentence(choice, value) or ""
            first = value == usual
            name, mark = (f"`{choice}`", " (default)") if first else ("", "")
            yield f"| {name} | {code(value)}{mark} | {cell(meaning)} |"
        if choice in OPEN:
            yield f"|  | {OPEN[choice]} |"


OPEN = {
    "rel": "a number | a grade of at least this number is relevant",
    "gain": "a mapping or a function | `{1: 3.5, 2: 9}`, where grades that it lacks "
    "keep their value; or an elementwise function of an expression",
    "discount": "a function | an elementwise function of the rank",
    "max_grade": "a number | any other top of the scale",
}


def differs(convention: Convention) -> str:
    """The choices in which a convention is not the default."""
    usual = default()
    found = [
        f"`{choice}={shown(value)}`"
        for choice in CHOICES
        if (value := getattr(convention, choice)) != getattr(usual, choice)
    ]
    found += [
        f"`{metric}: {choice}={shown(value)}`"
        for metric, choice, value in convention.exceptions
    ]
    return cell(", ".join(found)) if found else "nothing"


def compared(equal: Mapping[str, str]) -> str:
    """The metrics that are compared with a tool."""
    return ", ".join(f"`{name}`" for name in equal)


# -- Markdown

GENERATED = "<!-- written by python docs/make.py -->\n\n"


def filled(page: Path, **tables: str) -> str:
    """A page with its generated parts made anew."""
    text = page.read_text(encoding="utf-8")
    for name, rows in tables.items():
        start, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        if start not in text or end not in text:
            raise SystemExit(f"{page.name} has no place for the table of {name}")
        before, _, rest = text.partition(start)
        text = f"{before}{start}{rows}\n{end}{rest.partition(end)[2]}"
    return text


def table(*head_and_rows: Any) -> str:
    """A table of a heading and rows that are written already."""
    *head, rows = head_and_rows
    lines: Iterable[str] = rows
    return "\n".join([f"| {' | '.join(head)} |", "|---" * len(head) + "|", *lines])


def markdown(text: str) -> str:
    """A docstring as Markdown: one backtick, and a line for a paragraph."""
    paragraphs = text.replace("``", "`").split("\n\n")
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in paragraphs)


def cell(text: str) -> str:
    """Text that may stand in a table."""
    return text.replace("|", r"\|")


def code(value: Any) -> str:
    """A value as code."""
    return f"`{cell(shown(value))}`"


def shown(value: Any) -> str:
    """A value as it is written in Python, whole numbers without a point."""
    if callable(value):
        return getattr(value, "__name__", type(value).__name__)
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value) if isinstance(value, float) else repr(value).replace("'", '"')


if __name__ == "__main__":
    main()
