"""How a command shows its result: as a table, JSON, CSV or Markdown."""

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

from polars_rank.cli.derive import group
from polars_rank.cli.output.words import emit, terminal
from polars_rank.exceptions import counted
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
SEPARATORS = {"csv": ",", "tsv": "\t"}
UNDEFINED = "-"
CONTROL = re.compile(r"[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
# Spreadsheets in East Asia take the full-width signs for the others.
FORMULA = r"^[=+\-@＝＋－＠\t\r\n]"
BETWEEN = 3
UNBROKEN = 1 << 16  # columns: no line is longer


@group
class Shown:
    """The format of a result."""

    format: Format | None = None

    @property
    def form(self) -> str:
        """The format that was asked for, or else the one that fits the output."""
        return self.format or ("table" if terminal() else "csv")

    def rows(
        self, rows: pl.DataFrame, keys: int, table: Iterable[RenderableType] = ()
    ) -> None:
        """Print rows for a program or a report: ``keys`` columns name a row.

        Without any there is one row only: JSON is an object then, else a list of them.
        ``table`` is what people see instead.
        """
        if self.form == "table":
            show(*table)
        elif self.form == "json":
            emit(as_json(rows, keys=keys) + "\n")
        elif self.form in SEPARATORS:
            emit(separated(rows, SEPARATORS[self.form]))
        else:
            emit(as_form(table_of(rows, "", keys), self.form) + "\n")

    def means(self, means: pl.DataFrame, notes: Sequence[str]) -> None:
        """Print a row per system or segment: its names, queries, the measures."""
        keys = means.columns.index("queries")
        if keys:
            table = chain(across(means, keys + 1), [noted(notes)])
        else:
            [named] = means.rows(named=True)
            queries = named.pop("queries")
            notes = [counted(queries, "query"), *notes]
            table = chain([pairs("measure", "mean", named)], [noted(notes)])
        self.rows(means, keys, table)

    def values(self, values: pl.DataFrame, keys: int) -> None:
        """Print a row per query: ``keys`` columns, then the measures."""
        if self.form != "json":  # which has words for true and false
            values = values.with_columns(cs.boolean().cast(pl.String))
        self.rows(values, keys, across(values, keys))

    def frame(
        self,
        found: pl.DataFrame,
        title: str,
        keys: int | str = 1,
        notes: Sequence[str] = (),
        long: Sequence[str] = (),
    ) -> None:
        """Print rows, on a terminal with a title.

        They are named by so many columns, or by those up to one, or before the number
        of queries. Columns with ``long`` texts are left out of tables for people.
        """
        if isinstance(keys, str):
            keys = found.columns.index(keys) + (keys != "queries")
        if self.form in ("table", "markdown"):
            found = found.drop(long)
        if self.form != "json":
            lists = cs.list().cast(pl.List(pl.String))
            found = found.with_columns(lists.list.join("; "))
        if self.form == "table":
            emit(as_text(table_of(found, title, keys, notes)) + "\n")
        else:
            self.rows(found, max(keys, 1))


@group
class Reported(Shown):
    """The format of a result that may be a page."""

    format: Format | Literal["html", "latex"] | None = None  # type: ignore[assignment]


def written(found: Any, format: str) -> str:
    """A result that has tables of its own: these, as text or a page, or all as JSON."""
    if format == "json":
        return json.dumps(found.to_dict(), indent=2, ensure_ascii=False)
    return str(found if format == "table" else getattr(found, f"to_{format}")())


def as_form(table: ReportTable, format: str) -> str:
    """One table in a format that is not for programs."""
    forms = {"markdown": as_markdown, "html": as_html, "latex": as_latex}
    return forms.get(format, as_text)(table)


# -- tables


def show(*parts: RenderableType) -> None:
    """Print with Rich: to a pipe without colors, boxes and line breaks."""
    live = terminal()
    console = Console(
        force_terminal=live,
        color_system="auto" if live else None,
        width=None if live else UNBROKEN,
        highlight=False,
        markup=False,
        emoji=False,
    )
    with console.capture() as printed:
        for part in parts:
            console.print(part)
    lines = printed.get().split("\n")
    emit("\n".join(lines if live else (line.rstrip() for line in lines)))


def pairs(name: str, value: str, values: Mapping[str, float | None]) -> Table:
    """A table of names and numbers under these headings."""
    cells = [*map(visible, values)], [*map(_cell, values.values())]
    return _side_by_side([*zip((name, value), cells, strict=True)], 1)


def across(means: pl.DataFrame, keys: int) -> Iterator[RenderableType]:
    """Several rows: ``keys`` columns, and as many others side by side as fit."""
    columns = [
        (visible(own.name), [_word(v) if i < keys else _cell(v) for v in own])
        for i, own in enumerate(means)
    ]
    widths = [max(map(cell_len, [name, *own])) + BETWEEN for name, own in columns]
    width = Console().width if terminal() else UNBROKEN
    room = width - min(sum(widths[:keys]), width // 2)  # the rest folds
    blocks: list[list[int]] = [[]]
    for i in range(keys, len(columns)):
        if blocks[-1] and sum(widths[j] for j in (*blocks[-1], i)) > room:
            blocks.append([])
        blocks[-1].append(i)
    for block in blocks:
        yield from [""] * (block is not blocks[0])
        yield _side_by_side([*columns[:keys], *(columns[i] for i in block)], keys - 1)


def _side_by_side(columns: Sequence[tuple[str, list[str]]], labels: int) -> Table:
    """Columns under their names: ``labels`` of text, then numbers."""
    table = Table(box=None, pad_edge=False, header_style="")
    if terminal():
        table = Table(box=SIMPLE_HEAD, header_style="bold", show_edge=False)
    for i, (name, _) in enumerate(columns):
        if i < labels:
            table.add_column(name, overflow="fold")
        else:
            table.add_column(name, justify="right", no_wrap=True)
    for row in zip(*(cells for _, cells in columns), strict=True):
        table.add_row(*row)
    return table


def noted(notes: Sequence[str]) -> Text:
    """What stands below a table."""
    return Text("\n" + visible("; ".join(notes)), style="dim")


def table_of(
    found: pl.DataFrame, title: str, keys: int, notes: Sequence[str] = ()
) -> ReportTable:
    """Rows as a table with a title; ``keys`` columns name a row."""
    rows = [
        [Cell(_word(v) if i < keys else _cell(v)) for i, v in enumerate(row)]
        for row in found.rows()
    ]
    return ReportTable(title, found.columns, rows, keys, [*notes])


def _word(value: object) -> str:
    return UNDEFINED if value is None else visible(value)


def _cell(value: object) -> str:
    """A value of a result: most are numbers, a few are words."""
    return number(value) if isinstance(value, float) else _word(value)


# -- for programs


def as_json(rows: pl.DataFrame, *, keys: int) -> str:
    """A list of rows, or the only one if no ``keys`` name it; NaN is null."""
    dicts = [
        {
            name: None if isinstance(v, float) and not math.isfinite(v) else v
            for name, v in row.items()
        }
        for row in rows.iter_rows(named=True)
    ]
    told = dicts if keys else dicts[0]
    text = json.dumps(told, indent=2, ensure_ascii=False, default=str)
    return CONTROL.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def separated(rows: pl.DataFrame, separator: str) -> str:
    """CSV or TSV, which a terminal shows as it is written."""
    file = io.StringIO()
    out = csv.writer(file, delimiter=separator, lineterminator="\n")
    out.writerows([rows.columns, *rows.rows()])
    if not terminal():
        return file.getvalue()
    lines = file.getvalue().split("\n")
    return "\n".join(separator.join(map(visible, ln.split(separator))) for ln in lines)


def inert(rows: Frame) -> Frame:
    """Put ' before text, also of headers, that a spreadsheet would run as a formula."""
    text = (cs.string() | cs.categorical() | cs.enum()).cast(pl.String)
    safe = rows.with_columns(text.str.replace(FORMULA, "'$0"))
    return safe.rename(lambda name: re.sub(FORMULA, r"'\g<0>", name))
