"""A table of text cells, and how it is written: text, Markdown, LaTeX, HTML."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from polars_rank.core.extras import require

MARKDOWN = re.compile(r"[\\`*\[\]<>|&~$]|(?<![^\W_])_|_(?![^\W_])")
LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&",
    "#": r"\#", "%": r"\%", "_": r"\_", "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "−": r"$-$", "±": r"$\pm$",
}  # fmt: skip


COLUMN = 44  # characters in a column of a paper that has two


@dataclass(frozen=True)
class Cell:
    """Text, and how it is set off."""

    text: str
    bold: bool = False
    superscript: str = ""


@dataclass(frozen=True)
class Table:
    """Rows of cells; the first ``labels`` columns are text, the others numbers."""

    title: str
    headers: list[str]
    rows: list[list[Cell]]
    labels: int
    notes: list[str] = field(default_factory=list)


class Shown:
    """A result that is shown as tables: in a terminal, a notebook, a page, a paper."""

    def tables(self) -> list[Table]:
        """Return the tables, cell by cell."""
        raise NotImplementedError

    def __str__(self) -> str:
        """Return the tables as aligned text."""
        return "\n\n".join(map(as_text, self.tables()))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        try:
            return self.to_html()
        except ModuleNotFoundError:  # without great_tables
            return f"<pre>{html.escape(str(self))}</pre>"

    def to_html(self) -> str:
        """Return the tables as HTML (extra ``report``)."""
        return "\n".join(map(as_html, self.tables()))

    def to_latex(self) -> str:
        r"""Return the tables for a paper; needs ``\usepackage{booktabs}``."""
        return "\n\n".join(map(as_latex, self.tables()))

    def to_markdown(self) -> str:
        """Return the tables for a pull request or a page."""
        return "\n\n".join(map(as_markdown, self.tables()))


def plain(
    told: Mapping[str, Any], constant: Callable[[str], object] | None = None
) -> dict[str, Any]:
    """Return plain lists and numbers; ``constant`` reads what is not finite."""
    text = json.dumps(
        told, default=lambda v: v.to_dicts() if isinstance(v, pl.DataFrame) else str(v)
    )
    return dict(json.loads(text, parse_constant=constant))


def number(value: float | None, digits: int = 4) -> str:
    """Write a number with four decimals; a dash for what is undefined.

    Examples
    --------
    >>> number(0.5), number(None), number(-0.00001)
    ('0.5000', '-', '0.0000')
    """
    if value is None:
        return "-"
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text


def as_text(table: Table) -> str:
    """Align columns for a terminal."""
    rows = [table.headers] + [[_plain(c) for c in row] for row in table.rows]
    rows = [[visible(text) for text in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(
            text.ljust(w) if i < table.labels else text.rjust(w)
            for i, (text, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    return "\n".join(
        [table.title, "", *lines, *([""] if table.notes else []), *table.notes]
    )


def _plain(cell: Cell) -> str:
    mark = f" {cell.superscript}" if cell.superscript else ""
    return cell.text + mark


def visible(text: object) -> str:
    """Spell out what a terminal would obey or hide: ``\\x1b[31m``, line ends."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in str(text))


def as_markdown(table: Table) -> str:
    """Write a GitHub table, below its title if it has one."""
    align = ["---" if i < table.labels else "---:" for i in range(len(table.headers))]
    rows = [
        [escaped(text) for text in table.headers],
        align,
        *([_marked(cell) for cell in row] for row in table.rows),
    ]
    lines = ["| " + " | ".join(row) + " |" for row in rows]
    notes = [line for note in table.notes for line in ("", escaped(note))]
    title = [f"**{escaped(table.title)}**", ""] if table.title else []
    return "\n".join([*title, *lines, *notes])


def escaped(text: str) -> str:
    """Escape text, so that Markdown shows it as it is."""
    return MARKDOWN.sub(r"\\\g<0>", visible(text))


def _marked(cell: Cell) -> str:
    text = escaped(cell.text)
    text = f"**{text}**" if cell.bold and text else text
    return text + (
        f"<sup>{html.escape(cell.superscript)}</sup>" if cell.superscript else ""
    )


def as_latex(table: Table) -> str:
    """Write a booktabs table, with superscripts; needs ``\\usepackage{booktabs}``."""
    align = "l" * table.labels + "r" * (len(table.headers) - table.labels)
    rows = [[_set(cell) for cell in row] for row in table.rows]
    notes = [rf"\par\smallskip\footnotesize {latex_text(note)}" for note in table.notes]
    texts = [table.headers, *([_plain(cell) for cell in row] for row in table.rows)]
    around = latex_float(
        sum(max(map(len, column)) + 2 for column in zip(*texts, strict=True))
    )
    return "\n".join(
        [
            rf"\begin{{{around}}}",
            r"\centering",
            rf"\caption{{{latex_text(table.title)}}}",
            rf"\begin{{tabular}}{{{align}}}",
            r"\toprule",
            " & ".join(map(latex_text, table.headers)) + r" \\",
            r"\midrule",
            *(" & ".join(row) + r" \\" for row in rows),
            r"\bottomrule",
            r"\end{tabular}",
            *notes,
            rf"\end{{{around}}}",
        ]
    )


def latex_float(width: int) -> str:
    """Return what floats a table of so many characters: a wide one across columns."""
    return "table*" if width > COLUMN else "table"


def latex_text(text: str) -> str:
    """Escape text, so that LaTeX shows it as it is."""
    return "".join(LATEX.get(c, c) for c in visible(text))


def _set(cell: Cell) -> str:
    text = latex_text(cell.text)
    text = rf"\textbf{{{text}}}" if cell.bold else text
    text = f"{{}}{text}" if text.startswith("[") else text  # no option of \\
    mark = cell.superscript
    return text + (rf"\textsuperscript{{{latex_text(mark)}}}" if mark else "")


def as_html(table: Table) -> str:
    """Write a table of great_tables, as a piece of HTML."""
    great_tables: Any = require("great_tables", "report")
    columns = [f"c{i}" for i in range(len(table.headers))]
    frame = pl.DataFrame(
        {c: [_tagged(row[i]) for row in table.rows] for i, c in enumerate(columns)},
        schema=dict.fromkeys(columns, pl.String),
    )
    labels = {
        c: great_tables.html(html.escape(h))
        for c, h in zip(columns, table.headers, strict=True)
    }
    shown = (
        great_tables.GT(frame, id=_id_of(table.title))
        .tab_header(title=great_tables.html(html.escape(table.title)))
        .fmt(lambda cell: cell)  # escaped already
        .cols_label(**labels)
        .cols_align("left", columns=columns[: table.labels])
        .cols_align("right", columns=columns[table.labels :])
    )
    for note in table.notes:
        shown = shown.tab_source_note(great_tables.html(html.escape(note)))
    return str(shown.as_raw_html())


def _id_of(title: str) -> str:
    """Return an id that no table with another title has on the same page."""
    return "-".join(["polars-rank", *re.findall(r"\w+", title.lower())])


def _tagged(cell: Cell) -> str:
    text = html.escape(visible(cell.text))
    text = f"<b>{text}</b>" if cell.bold else text
    mark = html.escape(cell.superscript)
    return text + (f"<sup>{mark}</sup>" if mark else "")
