"""The commands ``measures`` and ``explain``: what the docstrings say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import polars as pl
from rich.table import Table
from rich.text import Text

from polars_rank.cli.show import Format, show, show_rows, terminal
from polars_rank.cli.words import visible
from polars_rank.convention import Convention, convention_of
from polars_rank.measure import Measure
from polars_rank.metrics.registry import METRICS, Metric

__all__ = ["explain", "measures"]

SECTION = re.compile(r"^(Undefined|Errors|Source|Equal to|Example): ", re.MULTILINE)
COUNTED = {
    "zero": "counts 0",
    "one": "counts 1",
    "null": "has no value; nor has the mean",
    "skip": "is left out of the mean",
    "error": "is an error",
}


def measures(*, format: Format | None = None) -> None:
    """List the measures by family: name, what is measured, parameters and defaults.

    Parameters
    ----------
    format
        Default: table on a terminal, csv elsewhere.
    """
    chosen = format or ("table" if terminal() else "csv")
    if chosen == "table":
        show(*_families())
        return
    rows = [
        (m.family, m.name, _unquoted(m.summary), _parameters(m))
        for m in METRICS.values()
    ]
    columns = ["family", "measure", "description", "parameters"]
    table = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")
    show_rows(table, chosen, keys=len(columns))


def _families() -> Iterator[Table | Text]:
    width = max(map(len, METRICS))
    for i, family in enumerate(dict.fromkeys(m.family for m in METRICS.values())):
        yield Text(("\n" if i else "") + family, style="bold")
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(min_width=width + 2)
        table.add_column()
        for metric in METRICS.values():
            if metric.family == family:
                about = _marked(metric.summary)
                about.append(f"\n{_parameters(metric)}", style="dim")
                table.add_row(Text(f"  {metric.name}"), about)
        yield table


def explain(measure: str, /, *, convention: str = "trec_eval") -> None:
    """Explain a measure: definition, parameters in effect, undefined case, source.

    Parameters
    ----------
    measure
        Such as ndcg@10, "err(max_grade=3)@20", or another tool's name: map_cut_100.
    convention
        Tool whose choices are followed.
    """
    asked, assumed = Measure.parse(measure), convention_of(convention)
    own = "" if str(asked) == asked.name else f"  is  {asked}"
    text, *parts = SECTION.split(asked.definition.doc)
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    sections["Undefined"] = _undefined(asked.definition, sections, assumed)
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(max_width=80 if terminal() else None)
    for name, value, note in _in_effect(asked, assumed):
        table.add_row(f"  {name}", Text.assemble(value, (note, "dim")))
    table.add_row()
    for name, body in sections.items():
        table.add_row(name, _marked(body))
    show(
        Text.assemble((visible(asked.name), "bold"), own),
        *(part for p in text.strip().split("\n\n") for part in (_marked(p), Text())),
        table,
    )


def _undefined(metric: Metric, sections: dict[str, str], assumed: Convention) -> str:
    """Add to the undefined case what becomes of it."""
    case = sections.get("Undefined", "never").strip()
    counted = COUNTED[assumed.no_relevant if metric.relevance else "skip"]
    return f"{case} Such a query {counted}."


def _in_effect(asked: Measure, assumed: Convention) -> Iterator[tuple[str, str, str]]:
    """Yield each parameter with its value and where that comes from."""
    given = asked.arguments
    filled = asked.with_defaults(assumed.defaults(asked.metric)).arguments
    for name, default in asked.definition.defaults.items():
        value = filled.get(name, default)
        changed = value != default
        source = "given" if name in given else assumed.name if changed else ""
        yield name, _shown(value), f"  ({source})" if source else ""


def _parameters(metric: Metric) -> str:
    return ", ".join(f"{n}={_shown(v)}" for n, v in metric.defaults.items())


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)


def _unquoted(text: str) -> str:
    return _marked(text).plain


def _marked(text: str) -> Text:
    """Join the lines of a paragraph and set off what stands in double backticks."""
    words = " ".join(text.split()).split("``")
    styles = ["", "cyan"] * len(words)
    return Text.assemble(*zip(words, styles, strict=False))
