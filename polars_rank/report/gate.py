"""The verdict of a gate, for a terminal and for a pull request."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from polars_rank.report.comparison import CORRECTIONS, percent
from polars_rank.report.table import Cell, Table, as_markdown, as_text, number

__all__ = ["gate_markdown", "gate_text"]

WORDS = {
    "pass": "passed",
    "warn": "passed, with warnings",
    "fail": "failed",
    "invalid": "invalid",
}
RULES = {
    "significant": "fails if a drop is significant and larger than the margin",
    "non_inferior": "fails unless a drop beyond the margin is excluded",
    "threshold": "fails if a drop is larger than the margin",
}
MOST = 60_000  # characters; a comment on GitHub may have 65,536
ROWS = 100


def _headline(verdict: str, checks: pl.DataFrame) -> str:
    if verdict == "invalid":
        return WORDS[verdict]
    tested = checks.filter(pl.col("verdict") != "untested")
    some = f"{len(tested)} check" + ("" if len(tested) == 1 else "s")
    if verdict == "pass":
        return f"{WORDS[verdict]} ({some})"
    count = len(tested.filter(pl.col("verdict") == verdict))
    return f"{WORDS[verdict]} ({count} of {some})"


def _table(checks: pl.DataFrame, level: float) -> Table:
    headers = ["measure", "segment", "verdict", "queries", "base", "new"]
    headers.append(f"difference ({percent(level)})")
    rows = []
    for row in checks.iter_rows(named=True):
        said = row["verdict"] + (f": {row['note']}" if row["note"] else "")
        interval = (
            ""
            if row["low"] is None
            else f" [{number(row['low'])}, {number(row['high'])}]"
        )
        rows.append(
            [
                Cell(row["measure"]),
                Cell(row["segment"]),
                Cell(said, bold=row["verdict"] == "fail"),
                Cell(str(row["queries"])),
                Cell(number(row["base"])),
                Cell(number(row["new"])),
                Cell(number(row["difference"]) + interval),
            ]
        )
    return Table("", headers, rows, 3)


def _foot(
    checks: pl.DataFrame, settings: Mapping[str, Any], what: Sequence[str]
) -> list[str]:
    lines = []
    for row in checks.filter(pl.col("segment") == "all").iter_rows(named=True):
        changed = f"{row['changed']} of {row['queries']} queries changed"
        found = f"; drops of {number(row['detectable'])} are detected with 80 % power"
        lines.append(f"{row['measure']}: {changed}{found if row['changed'] else ''}.")
    margin = settings["margin"]
    margins = margin if isinstance(margin, Mapping) else {"": margin}
    told = ", ".join(f"{m} {v:g}".strip() for m, v in margins.items())
    tested = len(checks.filter(pl.col("p").is_not_null()))
    correction = CORRECTIONS.get(settings["correction"])
    method = "paired t, one-sided" + (
        f", {correction} over {tested}" if correction else ""
    )
    parts = [f"{RULES[settings['rule']]} ({told})", method, *what]
    return [*lines, f"The gate {'; '.join(parts)}."]


def gate_text(
    verdict: str,
    checks: pl.DataFrame,
    worst: pl.DataFrame,
    settings: Mapping[str, Any],
    reason: str | None,
    what: Sequence[str],
) -> str:
    """The verdict for a terminal."""
    head = f"Ranking gate: {_headline(verdict, checks)}"
    if reason is not None:
        return f"{head}\n\n{reason}"
    table = as_text(_titled(_table(checks, settings["level"]), head))
    return "\n".join([table, "", *_foot(checks, settings, what)])


def gate_markdown(
    verdict: str,
    checks: pl.DataFrame,
    worst: pl.DataFrame,
    settings: Mapping[str, Any],
    reason: str | None,
    what: Sequence[str],
) -> str:
    """A comment for a pull request, with the queries that lost the most folded."""
    head, _, detail = _headline(verdict, checks).partition(" (")
    title = f"### Ranking gate: **{head}**" + (f" ({detail}" if detail else "")
    if reason is not None:
        return f"{title}\n\n{reason}"
    order = {"fail": 0, "warn": 1}
    shown = checks
    if len(checks) > ROWS:  # what matters first
        rank = pl.col("verdict").replace_strict(order, default=2, return_dtype=pl.Int64)
        shown = checks.sort(rank, maintain_order=True).head(ROWS)
    body = as_markdown(_table(shown, settings["level"])).partition("\n\n")[2]
    lines = [title, "", body, ""]
    if len(shown) < len(checks):
        lines += [f"{len(checks) - len(shown)} more checks are not shown.", ""]
    lines += [*_foot(checks, settings, what), ""]
    if len(worst):
        rows = [[Cell(_cell(value)) for value in row] for row in worst.rows()]
        table = Table("", worst.columns, rows, worst.width - 3)
        those = "query" if len(worst) == 1 else f"{len(worst)} queries"
        summary = f"<details><summary>The {those} that lost most</summary>"
        inner = as_markdown(table).partition("\n\n")[2]
        lines += [summary, "", inner, "", "</details>", ""]
    return "\n".join(lines)[:MOST].rstrip()


def _cell(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def _titled(table: Table, title: str) -> Table:
    return Table(title, table.headers, table.rows, table.labels, table.notes)
