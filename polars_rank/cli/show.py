"""How results are printed: as a table, JSON, CSV or Markdown."""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypeVar

import polars as pl
import polars.selectors as cs
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from polars_rank.cli.words import emit, terminal, visible

if TYPE_CHECKING:
    from polars_rank.report.table import Table as ReportTable


Frame = TypeVar("Frame", pl.DataFrame, pl.LazyFrame)
Format: TypeAlias = Literal["table", "json", "csv", "tsv", "markdown"]
UNDEFINED = "-"
CONTROL = re.compile(r"[\x7f-\x9f\u2028-\u202e\u2066-\u2069]")
MARKDOWN = re.compile(r"[\\`*\[\]<>|&~$]|(?<![^\W_])_|_(?![^\W_])")
# Spreadsheets in East Asia take the full-width signs for the others.
FORMULA = r"^[=+\-@＝＋－＠\t\r\n]"
BETWEEN = 3


def show_means(
    means: pl.DataFrame,
    *,
    keys: int,
    notes: Sequence[str],
    format: Format | None,
    quote_formulas: bool,
) -> None:
    """Print a row per system or segment: ``keys`` columns, queries, the measures."""
    chosen = format or ("table" if terminal() else "csv")
    if quote_formulas and chosen in ("csv", "tsv"):
        means = inert(means)
    if chosen != "table":
        show_rows(means, chosen, keys=keys)
    elif keys:
        show(*_across(means, keys), _note(notes))
    else:
        count = means.item(0, "queries")
        queries = "1 query" if count == 1 else f"{count} queries"
        values = {name: means.item(0, name) for name in means.columns[1:]}
        show(_down("measure", "mean", values), _note([queries, *notes]))


def show_values(
    values: pl.DataFrame, *, keys: int, format: Format | None, quote_formulas: bool
) -> None:
    """Print a row per query: ``keys`` columns, then the measures."""
    chosen = format or ("table" if terminal() else "csv")
    if quote_formulas and chosen in ("csv", "tsv"):
        values = inert(values)
    if chosen != "json":  # which has words for true and false, Python's are others
        values = values.with_columns(cs.boolean().cast(pl.String))
    if chosen != "table":
        show_rows(values, chosen, keys=keys)
    else:
        show(*_across(values, keys - 1))


def show_rows(
    rows: pl.DataFrame, format: Literal["json", "csv", "tsv", "markdown"], *, keys: int
) -> None:
    """Print rows for a program or a report: ``keys`` columns name a row.

    Without any there is one row only: JSON is an object then, else a list of them.
    """
    if format == "json":
        dicts = [{n: _plain(v) for n, v in row.items()} for row in rows.to_dicts()]
        text = json.dumps(
            dicts if keys else dicts[0], indent=2, ensure_ascii=False, default=str
        )
        emit(CONTROL.sub(_escaped, text) + "\n")
    elif format in ("csv", "tsv"):
        file, separator = io.StringIO(), "," if format == "csv" else "\t"
        out = csv.writer(file, delimiter=separator, lineterminator="\n")
        out.writerows([rows.columns, *rows.rows()])
        text = file.getvalue()
        if terminal():
            lines = (map(visible, line.split(separator)) for line in text.split("\n"))
            text = "\n".join(map(separator.join, lines))
        emit(text)
    else:
        emit("".join(f"{line}\n" for line in _markdown(rows, keys)))


def show_frame(
    found: pl.DataFrame,
    title: str,
    *,
    keys: int,
    format: Format | None,
    notes: Sequence[str] = (),
) -> None:
    """Print rows, ``keys`` columns of which name them: on a terminal with a title."""
    chosen = format or ("table" if terminal() else "csv")
    lists = [name for name, dtype in found.schema.items() if dtype == pl.List]
    if chosen != "json" and lists:
        joined = pl.col(lists).cast(pl.List(pl.String)).list.join("; ")
        found = found.with_columns(joined)
    if chosen == "table":
        from polars_rank.report.table import as_text

        emit(as_text(table_of(found, title, keys, notes)) + "\n")
    else:
        show_rows(found, chosen, keys=max(keys, 1))


def table_of(
    found: pl.DataFrame, title: str, keys: int, notes: Sequence[str]
) -> ReportTable:
    """Rows as a table with a title."""
    from polars_rank.report.table import Cell, Table, number

    rows = [
        [Cell(number(v) if isinstance(v, float | None) else str(v)) for v in row]
        for row in found.rows()
    ]
    return Table(title, found.columns, rows, keys, [*notes])


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


def show_pairs(name: str, value: str, values: Mapping[str, float | None]) -> None:
    """Print a table of names and numbers under these headings."""
    show(_down(name, value, values))


def _down(name: str, value: str, values: Mapping[str, float | None]) -> Table:
    """One name per line."""
    table = _table()
    table.add_column(name)
    table.add_column(value, justify="right", no_wrap=True)
    for own, number in values.items():
        table.add_row(visible(own), _number(number))
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
    return _number(value) if isinstance(value, int | float) else _word(value)


def _number(value: float | None) -> str:
    if value is None:
        return UNDEFINED
    return str(value) if isinstance(value, int) else f"{value:.4f}"


# -- text


def _plain(value: Any) -> Any:
    """Say null for what JSON has no number for."""
    undefined = isinstance(value, float) and not math.isfinite(value)
    return None if undefined else value


def _escaped(character: re.Match[str]) -> str:
    return f"\\u{ord(character[0]):04x}"


def _markdown(rows: pl.DataFrame, keys: int) -> Iterator[str]:
    yield _line(map(_literal, rows.columns))
    yield _line("---" if i < keys else "---:" for i in range(rows.width))
    for row in rows.rows():
        yield _line(
            _number(v) if isinstance(v, float) and i >= keys else _literal(_word(v))
            for i, v in enumerate(row)
        )


def _line(cells: Iterable[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _literal(text: str) -> str:
    """Escape text that Markdown, HTML or formulas would interpret."""
    return MARKDOWN.sub(r"\\\g<0>", visible(text))
