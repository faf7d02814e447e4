"""A page for each tool whose convention has a name."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pages
from web import measures, published, sample

from polars_rank.conventions.choices import CHOICES, sentence
from polars_rank.conventions.tool import Tool
from polars_rank.conventions.tools import TOOLS

GUIDES = {  # pages about a tool besides
    "lightgbm": "../loops/lightgbm.md",
    "xgboost": "../loops/xgboost.md",
    "catboost": "../loops/catboost.md",
    "mlflow": "../loops/mlflow.md",
    "sentence_transformers": "../loops/sentence-transformers.md",
    "spark": "../guide/spark.md",
    "torchmetrics": "../loops/pytorch.md",
}
COMING = pages.DOCS / "guide" / "coming-from.md"


def written() -> dict[str, str]:
    """Path and text of every page below ``tools/``."""
    made = {f"tools/{name}.md": "\n\n".join(page(t)) for name, t in TOOLS.items()}
    rows = [
        f"| [{tool.name}]({name}.md) | {pages.cell(tool.follows)} |"
        for name, tool in TOOLS.items()
    ]
    made["tools/index.md"] = (
        "# You come from ...\n\nWhat each tool computes, what its measures are called "
        "here, and how far the values of both are apart.\n\n"
        + pages.table("tool", "in a few words", rows)
        + "\n\n"
        + published.toctree([f"{t.name} <{name}>" for name, t in TOOLS.items()])
    )
    return made


def page(tool: Tool) -> Iterator[str]:
    """What a tool computes, and how to get its numbers here."""
    name = tool.convention.name
    yield f"# You come from {tool.name}"
    yield (
        f'`convention="{name}"` computes what it does: {tool.follows}.\n'
        "[Conventions](../conventions.md) explains every choice."
    )
    if tool.besides:
        yield f"**What no choice says.** {tool.besides}"
    if name in GUIDES:
        yield f"[How it works together with this library]({GUIDES[name]})."
    yield from beside(tool)
    yield from names(tool)
    yield from lists(tool)
    yield from choices(tool)
    yield from agreement(tool)


def beside(tool: Tool) -> Iterator[str]:
    """Its code beside ours, on one list, from the guide that tests run."""
    head, *sections = COMING.read_text(encoding="utf-8").split("\n## ")
    data = re.findall(r"```\w+\n.*?```", head, flags=re.DOTALL)
    for section in sections:
        heading, _, text = section.partition("\n")
        named = any(word in tool.name for word in re.split(r", | and ", heading))
        if named and "```" in text:
            anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            link = f"../guide/coming-from.md#{anchor}"
            yield "## Its code beside this library's"
            yield f"On one list, from [Coming from another tool]({link}):"
            yield from data
            yield _moved(text.strip())


def _moved(text: str) -> str:
    """Text of a guide with links that hold on a page of a tool."""
    text = re.sub(r"\]\((?=[\w-]+\.md)", "](../guide/", text)
    return text.replace("](#", "](../guide/coming-from.md#")


def names(tool: Tool) -> Iterator[str]:
    """Its measures, ours, and the values on one list under both conventions."""
    rows = []
    for own, theirs in tool.equal.items():
        value = measures.number(sample.value(own, convention=tool.convention))
        usual = measures.number(sample.value(own))
        rows.append(
            f"| `{theirs}` | [`{own}`](../measures/{own}.md) | {value} | {usual} |"
        )
    heads = "there", "here", "as it computes", "as trec_eval computes"
    yield "## Its measures\n\n" + sample.IN_WORDS
    yield f"```pycon\n{sample.LIST}```"
    first = next(iter(tool.equal))
    name = tool.convention.name
    yield (
        "The values of the table, such as\n"
        f'`pr.evaluate(run, "{first}", qrels=qrels, convention="{name}")`:\n\n'
        + pages.table(*heads, rows)
    )


def lists(tool: Tool) -> Iterator[str]:
    """Its measures of lists and of the catalog, and ours."""
    rows = (
        f"| `{theirs}` | [`{own}`](../measures/{own}.md) |"
        for own, theirs in tool.lists.items()
    )
    if tool.lists:
        yield (
            "They need a history or a catalog "
            "([recommenders](../guide/recommend.md#beyond-accuracy)):\n\n"
            + pages.table("there", "here", rows)
        )


def choices(tool: Tool) -> Iterator[str]:
    """Every choice of the convention in words."""
    usual, rows = pages.default(), []
    for choice in CHOICES:
        value = getattr(tool.convention, choice)
        mark = "" if value == getattr(usual, choice) else "differs"
        meaning = pages.cell(sentence(choice, value) or "")
        rows.append(f"| `{choice}` | {pages.code(value)} | {meaning} | {mark} |")
    for metric, choice, value in tool.convention.exceptions:
        words = f"of [`{metric}`](../measures/{metric}.md) alone"
        rows.append(f"| `{choice}` | {pages.code(value)} | {words} | differs |")
    yield "## Its choices\n\n" + pages.table(
        "choice", "value", "what it means", "from the default", rows
    )


def agreement(tool: Tool) -> Iterator[str]:
    """What was compared with the tool itself."""
    rows = [
        f"| {pages.cell(line['measure'])} | {measures.compared(line)} "
        f"| {line['version']} |"
        for line in measures.parity()
        if line["tool"] == tool.name
    ]
    if rows:
        yield "## Agreement\n\nOn the same lists ([how it was measured](../parity.md)):"
        yield pages.table(
            "measure", "values compared", "largest difference", "version", rows
        )
