"""How results are printed: as a table, JSON, CSV or Markdown."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Literal, TypeAlias, TypeVar

import polars as pl
import polars.selectors as cs
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from polars_rank.cli.output.words import emit, terminal
from polars_rank.report.table import (
    Cell,
    as_html,
    as_latex,
    as_markdown,
    as_text,
    number,
    visible,
)
from polars_rank.report.table import Table as ReportTable

Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
Format: TypeAlias = Literal["table", "json", "csv", "tsv", "markdown"]
ReportFormat: TypeAlias = Format | Literal["html", "latex"]
UNDEFINED = "-"
CONTROL = re.compile(r"[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
# Spreadsheets in East Asia take the full-width signs for the others.
FORMULA = r"^[=+\-@＝＋－＠\t\r\n]"
BETWEEN = 3


def show_means(
    means: pl.DataFrame, notes: Sequence[str], *, keys: int, format: str
) -> None:
    """Print a row per system or segment: ``keys`` columns, queries, the measures."""
    if keys:
        table = chain(_across(means, keys), [_note(notes)])
    else:
        queries, *values = means.row(0)
        counted = "1 query" if queries == 1 else f"{queries} queries"
        named = dict(zip(means.columns[1:], values, strict=True))
        table = chain([pairs("measure", "mean", named)], [_note([counted, *notes])])
    show_rows(means, format, keys=keys, table=table)


def show_values(values: pl.DataFrame, *, keys: int, format: str) -> None:
    """Print a row per query: ``keys`` columns, then the measures."""
    if format != "json":  # which has words for true and false
        values = values.with_columns(cs.boolean().cast(pl.String))
    show_rows(values, format, keys=keys, table=_across(values, keys - 1))


def show_rows(
    rows: pl.DataFrame, format: str, *, keys: int, table: Iterable[RenderableType] = ()
) -> None:
    """Print rows for a program or a report: ``keys`` columns name a row.

    Without any there is one row only: JSON is an object then, else a list of them.
    ``table`` is what people see instead.
    """
    if format == "table":
        show(*table)
    elif format == "json":
        dicts = [{n: _plain(v) for n, v in row.items()} for row in rows.to_dicts()]
        text = json.dumps(
            dicts if keys else dicts[0], indent=2, ensure_ascii=False, default=str
        )
        emit(CONTROL.sub(_escaped, text) + "\n")
    elif format == "markdown":
        emit(as_markdown(table_of(rows, "", keys)) + "\n")
    else:
        separator = "," if format == "csv" else "\t"
        emit(_separated(rows, separator))


def written(found: Any, format: str) -> str:
    """A result that has tables of its own: these, as text or a page, or all as JSON."""
    if format == "json":
        return json.dumps(found.to_dict(), indent=2, ensure_ascii=False)
    return str(found if format == "table" else getattr(found, f"to_{format}")())


def as_form(table: ReportTable, format: str) -> str:
    """One table in a format that is not for programs."""
    forms = {"markdown": as_markdown, "html": as_html, "latex": as_latex}
    return forms.get(format, as_text)(table)


def table_of(
    found: pl.DataFrame, title: str, keys: int, notes: Sequence[str] = ()
) -> ReportTable:
    """Rows as a table with a title; ``keys`` columns name a row."""
    rows = [
        [Cell(_word(v) if i < keys else _cell(v)) for i, v in enumerate(row)]
        for row in found.rows()
    ]
    return ReportTable(title, found.columns, rows, keys, [*notes])


def show(*parts: RenderableType) -> None:
    """Print with Rich: to a pipe without colors, boxes and line breaks."""
    live = terminal()
    console = Console(
        force_terminal=live,
        color_system="auto" if live else None,
        width=None if live else 1 << 16,
        highlight=False,
        markup=False,
        emoji=False,
    )
    with console.capture() as printed:
        for part in parts:
            console.print(part)
    lines = printed.get().split("\n")
    emit("\n".join(lines if live else (line.rstrip() for line in lines)))


def inert(rows: Frame) -> Frame:
    """Put ' before text, also of headers, that a spreadsheet would run as a formula."""
    text = (cs.string() | cs.categorical() | cs.enum()).cast(pl.String)
    safe = rows.with_columns(text.str.replace(FORMULA, "'$0"))
    return safe.rename(lambda name: re.sub(FORMULA, r"'\g<0>", name))


# -- tables


def pairs(name: str, value: str, values: Mapping[str, float | None]) -> Table:
    """A table of names and numbers under these headings."""
    table = _table()
    table.add_column(name)
    table.add_column(value, justify="right", no_wrap=True)
    for own, figure in values.items():
        table.add_row(visible(own), _cell(figure))
    return table


def _across(means: pl.DataFrame, keys: int) -> Iterator[RenderableType]:
    """Several rows: a column per measure, as many side by side as fit."""
    names = means.columns
    cells = {
        name: [_cell(v) if i > keys else _word(v) for v in means[name].to_list()]
        for i, name in enumerate(names)
    }
    widths = {n: max(map(cell_len, [visible(n), *cells[n]])) + BETWEEN for n in names}
    fixed = names[: keys + 1]
    width = Console().width if terminal() else 1 << 16
    room = width - min(sum(widths[n] for n in fixed), width // 2)  # the rest folds
    block: list[str] = []
    for name in names[keys + 1 :]:
        if block and sum(widths[n] for n in block) + widths[name] > room:
            yield from (_side_by_side(fixed, block, cells), "")
            block = []
        block.append(name)
    yield _side_by_side(fixed, block, cells)


def _side_by_side(
    fixed: Sequence[str], block: Sequence[str], cells: dict[str, list[str]]
) -> Table:
    table = _table()
    for name in fixed[:-1]:
        table.add_column(visible(name), overflow="fold")
    for name in (fixed[-1], *block):
        table.add_column(visible(name), justify="right", no_wrap=True)
    for row in zip(*(cells[name] for name in (*fixed, *block)), strict=True):
        table.add_row(*row)
    return table


def _table() -> Table:
    if terminal():
        return Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False)
    return Table(box=None, pad_edge=False, header_style="")


def _note(notes: Sequence[str]) -> Text:
    return Text("\n" + visible("; ".join(notes)), style="dim")


def _word(value: object) -> str:
    return UNDEFINED if value is None else visible(value)


def _cell(value: object) -> str:
    """A value of a result: most are numbers, a few are words."""
    return number(value) if isinstance(value, float) else _word(value)


# -- text


def _plain(value: Any) -> Any:
    """Say null for what JSON has no number for."""
    undefined = isinstance(value, float) and not math.isfinite(value)
    return None if undefined else value


def _separated(rows: pl.DataFrame, separator: str) -> str:
    file = io.StringIO()
    out = csv.writer(file, delimiter=separator, lineterminator="\n")
    out.writerows([rows.columns, *rows.rows()])
    if not terminal():
        return file.getvalue()
    lines = file.getvalue().split("\n")
    return "\n".join(separator.join(map(visible, ln.split(separator))) for ln in lines)


def _escaped(character: re.Match[str]) -> str:
    return f"\\u{ord(character[0]):04x}"
