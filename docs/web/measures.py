"""A page for each measure, and one for each family, from the registry."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pages
from web import pictures, published, sample, sources
from web.formulas import FORMULAS, SYMBOLS

from polars_rank.conventions.choices import CHOICES, sentence
from polars_rank.conventions.explain import in_effect
from polars_rank.conventions.tools import TOOLS
from polars_rank.measures.measure import Measure
from polars_rank.metrics import METRICS, Metric

ALONE = ("ties", "unjudged", "no_relevant", "missing")  # whose values a page compares
COMPARED = "**Conventions compared:**"  # tables of the page say it
FIRST_FACT = re.compile(r"^- \*\*", re.MULTILINE)


def written() -> dict[str, str]:
    """Path and text of every page below ``measures/``."""
    families = pages.families()
    made = {}
    for family, text in pages.family_pages():
        members = families[family]
        head = text.partition("\n## ")[0].replace(pages.GENERATED, "")
        head = head.replace("(index.md)", "(../index.md)")
        rows = [
            f"| [`{m.name}`](../{m.name}.md) | {pages.summary(m)} |" for m in members
        ]
        table = pages.table("measure", "what it measures", rows)
        entries = [f"../{m.name}" for m in members]
        made[f"measures/families/{family}.md"] = (
            f"{head}\n\n{table}\n\n{published.toctree(entries)}"
        )
    for name, metric in METRICS.items():
        made[f"measures/{name}.md"] = "\n\n".join(page(metric)) + "\n"
    return made


def page(metric: Metric) -> Iterator[str]:
    """Everything that is known about one measure."""
    name = metric.name
    section = pages.measure_section(metric)
    start = FIRST_FACT.search(section)
    words, facts = section[: start.start()], section[start.start() :] if start else ""
    title, _, rest = words.partition("\n\n")
    definition, table, below = rest.partition("\n\n| parameter |")
    yield f"# {title.removeprefix('## ')}"
    yield definition.strip()
    yield from formula(name)
    if table:
        yield f"## Parameters\n\n| parameter |{below}".strip()
    shown = [
        sources.linked(fact)
        for fact in facts.strip().splitlines()
        if COMPARED not in fact
    ]
    yield "## Facts\n\n" + "\n".join([bounds(metric), *shown])
    yield from example(metric)
    if metric.vocabulary == "ranking":
        yield from picture(metric)
        yield from what_if(metric)
        yield from differs(metric)
    yield from agreement(metric)
    yield "\n".join(
        [
            "## See also\n",
            f"- {family_link(metric)}: the measures of this family",
            "- [Conventions](../conventions.md): every choice on which tools disagree",
            "- [Measures as text](../guide/first-steps.md#measures-as-text)",
        ]
    )


def family_link(metric: Metric) -> str:
    """The page of the measure's family."""
    return f"[{pages.title(metric.family)}](families/{metric.family}.md)"


# -- the formula


def formula(name: str) -> Iterator[str]:
    """The formula of one query, or of all lists, and what its symbols are."""
    tex, symbols = FORMULAS[name]
    of_all = METRICS[name].vocabulary in ("catalog", "totals")
    whose = "all lists together" if of_all else "one query"
    yield f"## Formula\n\nOf {whose}:\n\n```{{math}}\n{tex}\n```"
    lines = [f"- {inline(SYMBOLS[s][0])}: {spoken(s)}" for s in symbols.split()]
    if lines:
        yield "\n".join(lines)


def inline(tex: str) -> str:
    """A formula within a line."""
    return f"{{math}}`{tex}`"


def spoken(symbol: str) -> str:
    """What a symbol is."""
    return re.sub(r"\$(.*?)\$", lambda m: inline(m[1]), SYMBOLS[symbol][1])


# -- what the library says about a list


def bounds(metric: Metric) -> str:
    """The least and the largest value of a query, and which is good."""
    least, most = metric.bounds
    ends = f"{number(least)} to {number(most)}"
    if math.inf in (-least, most):
        ends = f"from {number(least)} on" if least > -math.inf else "no bounds"
    if metric.vocabulary == "subtopics" and metric.name.startswith(("alpha_n", "n")):
        ends += ", and above 1 where the greedy ideal order is not the best"
    return f"- **Values:** {ends}; {metric.better} is better."


def example(metric: Metric) -> Iterator[str]:
    """A list, and the value that the library computes."""
    words = sample.WORDS[metric.vocabulary]
    yield f"## Example\n\n{words}\n\n{sample.session(metric)}"


def picture(metric: Metric) -> Iterator[str]:
    """The value as the only relevant document moves down, if that changes it."""
    values = sample.on_its_way_down()[metric.name]
    known = [v for v in values if v is not None and math.isfinite(v)]
    if len(known) < len(values) or len(set(known)) == 1:
        return
    title = f"{metric.name} while the only relevant document of ten moves down"
    yield "## As a relevant document moves down"
    yield pictures.curve(known, title, "rank of the relevant document (grade 4)")


def what_if(metric: Metric) -> Iterator[str]:
    """The value on the list of the example under each value of some choices."""
    rows, effective = [], in_effect(Measure(metric.name), pages.default())
    others = {"no_relevant": sample.nothing_relevant, "missing": sample.one_more_query}
    for choice in ALONE:
        if choice not in effective:
            continue
        judged = {"qrels": others[choice]()} if choice in others else {}
        for setting in CHOICES[choice].values:
            found = sample.value(metric.name, **{choice: setting}, **judged)
            meaning = pages.cell(sentence(choice, setting) or "")
            rows.append(f"| `{choice}={setting}` | {number(found)} | {meaning} |")
    yield (
        "## Ties, unjudged documents, nothing relevant\n\nThe list of the example; in "
        "the rows of `no_relevant`, the same list with nothing relevant; in those of "
        "`missing`, a second query is judged that was not run.\n\n"
        + pages.table("choice", "value", "what it means", rows)
    )


def differs(metric: Metric) -> Iterator[str]:
    """The value on the list under the convention of each tool that has the measure."""
    tools = [t for t in TOOLS.values() if metric.name in t.equal]
    if not tools:
        return
    ours = sample.value(metric.name)
    rows = []
    for tool in tools:
        theirs = sample.value(metric.name, convention=tool.convention)
        link = f"[{tool.name}](../tools/{tool.convention.name}.md)"
        why = "" if theirs == ours else "; ".join(reasons(metric, tool.convention))
        shown = number(theirs)
        rows.append(f"| {link} | `{tool.equal[metric.name]}` | {shown} | {why} |")
    yield (
        f"## What other tools say\n\nThe list of the example without a cutoff; the "
        f"default is {number(ours)}.\n\n"
        + pages.table("tool", "its name", "value", "why it differs", rows)
    )


def reasons(metric: Metric, convention: Any) -> Iterator[str]:
    """The choices of a convention that change the value when they alone are made."""
    measure, usual = Measure(metric.name), pages.default()
    ours, theirs = in_effect(measure, usual), in_effect(measure, convention)
    named = {p.meaning or n: n for n, p in metric.parameters.items()}
    said = False
    for name in ours:
        if ours[name] == theirs[name]:
            continue
        if name in metric.parameters:
            changed = usual.replace(exceptions={metric.name: {name: theirs[name]}})
        else:
            changed = usual.replace(**{name: theirs[name]})
        if sample.value(metric.name, convention=changed) != sample.value(metric.name):
            said = True
            meaning = next((m for m, n in named.items() if n == name), name)
            words = sentence(meaning, theirs[name])
            shown = f"`{name}={pages.shown(theirs[name])}`"
            yield pages.cell(f"{shown}: {words}" if words else shown)
    if not said:
        yield "several choices together"


def number(value: Any) -> str:
    """A value in a table."""
    if value is None:
        return "no value"
    if isinstance(value, str):
        return value
    return f"{value:.4f}".rstrip("0").rstrip(".")


# -- agreement


@cache
def parity() -> list[dict[str, Any]]:
    """What the tests of parity recorded."""
    lines = (pages.DOCS / "parity.jsonl").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines]


def agreement(metric: Metric) -> Iterator[str]:
    """Recorded comparisons of this measure with tools that were run."""
    names = {metric.name.lower(), *(alias.lower() for alias in metric.aliases)}
    rows = []
    for line in parity():
        own = line["measure"].lower()
        if own in names or own.split("@")[0].split("(")[0] in names:
            anchor = re.sub(r"[^\w\- ]", "", line["tool"].lower()).replace(" ", "-")
            link = f"[{line['tool']}](../parity.md#{anchor}) {line['version']}"
            measure = pages.cell(line["measure"])
            rows.append(f"| {link} | {measure} | {compared(line)} |")
    if rows:
        yield "## Agreement with other tools\n\n" + pages.table(
            "tool", "measure", "values compared", "largest difference", rows
        )


def compared(line: dict[str, Any]) -> str:
    """Two cells: how many values were compared, and the largest difference."""
    difference = f"{line['difference']:.0e}" if line["difference"] else "0"
    return f"{line['cases']:,} | {difference}"
