"""The commands ``measures``, ``conventions`` and ``explain``, from the docstrings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import polars as pl
from rich.table import Table
from rich.text import Text

from polars_rank.cli.derive import options_of, told
from polars_rank.cli.options import Formats
from polars_rank.cli.show import show, show_rows
from polars_rank.cli.words import terminal, visible
from polars_rank.conventions.explain import Choice, explanation
from polars_rank.conventions.tools import DEFAULT, TOOLS, complete_arguments
from polars_rank.core.registry import METRICS, Metric


def measures(*, format: Formats = None) -> None:
    """List the measures by family: names, what is measured, parameters and defaults.

    Names after "also" are what other tools call the measure.
    """
    chosen = format or ("table" if terminal() else "csv")
    if chosen == "table":
        show(*_families())
        return
    rows = [
        (m.family, m.name, _unquoted(m.summary), _parameters(m), _aliases(m))
        for m in METRICS.values()
    ]
    columns = ["family", "measure", "description", "parameters", "aliases"]
    table = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String), orient="row")
    show_rows(table, chosen, keys=len(columns))


def conventions(*, format: Formats = None) -> None:
    """List the conventions: name, tool, and its choices in a few words."""
    chosen = format or ("table" if terminal() else "csv")
    rows = [(name, tool.name, tool.follows) for name, tool in TOOLS.items()]
    if chosen == "table":
        table = _grid(None)
        for name, tool, follows in rows:
            table.add_row(name, Text(tool, style="cyan"), Text(follows))
        show(table)
        return
    columns = ["convention", "tool", "description"]
    show_rows(pl.DataFrame(rows, schema=columns, orient="row"), chosen, keys=3)


def _families() -> Iterator[Table | Text]:
    width = max(len(m.name) for m in METRICS.values())
    for i, family in enumerate(dict.fromkeys(m.family for m in METRICS.values())):
        yield Text(("\n" if i else "") + family, style="bold")
        table = Table.grid(padding=(0, 2, 0, 0))
        table.add_column(min_width=width + 2)
        table.add_column()
        for metric in METRICS.values():
            if metric.family == family:
                about = _marked(metric.summary)
                if metric.aliases:
                    about.append(f"\nalso {_aliases(metric)}", style="cyan")
                about.append(f"\n{_parameters(metric)}", style="dim")
                table.add_row(Text(f"  {metric.name}"), about)
        yield table


@options_of()
def explain(
    measure: str, /, *, convention: Annotated[str, told("convention")] = DEFAULT
) -> None:
    """Explain a measure: definition, choices, undefined case, source, tools.

    The measure is such as ndcg@10, "err(max_grade=3)@20", or another tool's name such
    as map_cut_100.
    """
    said = explanation(measure, convention)
    width = 80 if terminal() else None
    choices, sections, tools = _grid(width), _grid(width), _grid(width)
    for choice in said.choices:
        words = Text.assemble(choice.words, (_source(choice), "dim"))
        choices.add_row(f"  {choice.name}", Text(choice.shown, style="cyan"), words)
    for name, body in said.sections.items():
        sections.add_row(name, _marked(body))
    for tool, own, agrees in said.tools:
        tools.add_row(f"  {tool}", Text(own), Text(agrees))
    title, is_own, own = said.title.partition("  is  ")
    show(
        Text.assemble((visible(title), "bold"), is_own, own),
        *(part for p in said.definition for part in (_marked(p), Text())),
        choices,
        Text(),
        sections,
    )
    if said.tools:
        show(Text("\nTested against", style="bold"), tools)


def _grid(width: int | None) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(max_width=width)
    table.add_column(max_width=width)
    return table


def _source(choice: Choice) -> str:
    return f"  ({choice.source})" if choice.source else ""


def _parameters(metric: Metric) -> str:
    return _values(complete_arguments(metric))


def _aliases(metric: Metric) -> str:
    return ", ".join(
        alias + (f" ({_values(preset)})" if preset else "")
        for alias, preset in metric.aliases.items()
    )


def _values(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{n}={_shown(v)}" for n, v in params.items())


def _shown(value: Any) -> str:
    return "none" if value is None else str(value)


def _unquoted(text: str) -> str:
    return _marked(text).plain


def _marked(text: str) -> Text:
    """Join the lines of a paragraph and set off what is in double backticks."""
    words = " ".join(text.split()).split("``")
    styles = ["", "cyan"] * len(words)
    return Text.assemble(*zip(words, styles, strict=False))
