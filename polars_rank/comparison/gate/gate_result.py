"""The verdict of a gate, and how it is written: in a terminal, in a pull request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, TypeAlias

import polars as pl

from polars_rank.comparison.gate.left_documents import Counts
from polars_rank.comparison.gate.verdicts import ROUNDING
from polars_rank.comparison.sums.definition import Definition
from polars_rank.exceptions import counted
from polars_rank.report.comparison import CORRECTIONS, parts_tables, percent
from polars_rank.report.table import (
    Cell,
    Table,
    as_markdown,
    as_text,
    escaped,
    number,
    plain,
)

Verdict: TypeAlias = Literal["pass", "warn", "fail", "invalid"]
EXIT = {"pass": 0, "warn": 0, "fail": 3, "invalid": 1}
WORDS = {
    "pass": "passed",
    "warn": "passed, with warnings",
    "fail": "failed",
    "invalid": "invalid",
}
RULES = {
    "significant": "fails if a drop is larger than the margin ({margin}) and p < "
    "{fail:.3g}, and warns if p < {warn:.3g}",
    "non_inferior": "fails unless a drop beyond the margin ({margin}) is excluded, "
    "p < {warn:.3g}",
    "threshold": "fails if a drop is larger than the margin ({margin})",
}
POWER = {
    "significant": "; drops of {} fail with 80 % power",
    "non_inferior": "; no change passes margins of {} with 80 % power",
    "threshold": "",
}
MOST = 60_000  # characters; a comment on GitHub may have 65,536
ROWS = 100


@dataclass(frozen=True, eq=False)
class Gate:
    """The verdict, and the checks that it rests on.

    Attributes
    ----------
    verdict
        ``"pass"``; ``"warn"``: a drop that is significant, but within the margin or at
        ``level`` only; ``"fail"``; ``"invalid"``: the inputs do not fit, see
        ``reason``.
    checks
        Per measure and segment: ``queries``, and in how many of them the new ranking
        ``wins``, ``ties`` and ``losses``; ``baseline_mean`` and ``mean``, their
        ``difference`` with the standard error ``se`` and the two-sided interval
        ``lower``, ``upper``; ``margin``; one-sided ``p_value`` and ``p_adjusted``;
        ``detectable``, the drop that fails with 80 % power, corrected as by Bonferroni
        (of ``"non_inferior"``: the margin that no change passes with); ``floor``;
        ``verdict`` (``"untested"``: too few queries) and ``note``.
    worst
        Per measure, the ten queries that lost the most: ``baseline_value``, ``value``
        and ``difference``; with ``documents=``,
        ``left``: the first document that is no longer in the list.
    documents
        With ``documents=``: the ``count`` of documents in the lists of the baseline,
        and how many of them are ``gone``, in no list now.
    notes
        What a reader has to know beside the checks, such as queries that the run lacks.
    largest_parts
        Of runs, if a check fails: the largest parts of the first failed ``measure``
        that is a sum over documents: ``item`` in words, the number of ``queries`` that
        have it, the ``difference`` that it adds and its ``share`` in the whole.
    """

    verdict: Verdict
    checks: pl.DataFrame
    worst: pl.DataFrame
    settings: dict[str, Any]
    reason: str | None = None
    definition: Definition | None = field(default=None, repr=False)
    documents: Counts | None = None
    notes: tuple[str, ...] = ()
    largest_parts: pl.DataFrame | None = None

    def exit_code(self, *, strict: bool = False) -> int:
        """Return 0 for pass or warn, 3 for fail (or warn, if strict), 1 for invalid."""
        return 3 if strict and self.verdict == "warn" else EXIT[self.verdict]

    def to_markdown(self) -> str:
        """Return a comment for a pull request: the table, details folded."""
        return gate_markdown(self)

    def __str__(self) -> str:
        """Return the verdict and the checks as aligned text."""
        return gate_text(self)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain lists and numbers, for a machine."""
        parts = self.largest_parts
        return plain(
            {
                "verdict": self.verdict,
                "reason": self.reason,
                "settings": self.settings,
                "definition": self.definition and asdict(self.definition),
                "checks": self.checks,
                "worst": self.worst,
                "documents": self.documents,
                "notes": self.notes,
                **({} if parts is None else {"largest_parts": parts}),
            }
        )


def _headline(verdict: str, checks: pl.DataFrame) -> str:
    if verdict == "invalid":
        return WORDS[verdict]
    tested = checks.filter(pl.col("verdict") != "untested")
    some = f"{len(tested)} check" + ("" if len(tested) == 1 else "s")
    if verdict == "pass":
        return f"{WORDS[verdict]} ({some})"
    count = len(tested.filter(pl.col("verdict") == verdict))
    return f"{WORDS[verdict]} ({count} of {some})"


def _notes(gate: Gate) -> list[str]:
    return [f"Note: {note}." for note in gate.notes]


def _table(gate: Gate, checks: pl.DataFrame, title: str = "") -> Table:
    headers = ["measure", "segment", "verdict", "queries", "baseline", "mean"]
    headers.append(f"difference ({percent(gate.settings['level'])})")
    rows = []
    for row in checks.iter_rows(named=True):
        said = row["verdict"] + (f": {row['note']}" if row["note"] else "")
        difference, lower, upper = map(
            number, (row["difference"], row["lower"], row["upper"])
        )
        interval = "" if row["lower"] is None else f" [{lower}, {upper}]"
        rows.append(
            [
                *(Cell(row[name]) for name in ("measure", "segment")),
                Cell(said, bold=row["verdict"] == "fail"),
                Cell(str(row["queries"])),
                *(Cell(number(row[name])) for name in ("baseline_mean", "mean")),
                Cell(difference + interval),
            ]
        )
    return Table(title, headers, rows, 3, _notes(gate))


def _foot(gate: Gate) -> list[str]:
    checks, settings = gate.checks, gate.settings
    lines = []
    for row in checks.filter(pl.col("segment") == "all").iter_rows(named=True):
        same, changed_queries = row["ties"], row["wins"] + row["losses"]
        changed = f"0 of {counted(same, 'query')} changed"
        if changed_queries or abs(row["difference"] or 0.0) > ROUNDING:
            size = number(row["detectable"])
            power = POWER[settings["rule"]].format(size)
            better = counted(row["wins"], "query")
            changed = f"{better} better, {same} the same, {row['losses']} worse{power}"
        lines.append(f"{row['measure']}: {changed}.")
    if gate.documents is not None:
        gone, count = (gate.documents[name] for name in ("gone", "count"))
        lines.append(f"{gone} of {count} documents of the baseline are in no list now.")
    margin = settings["margin"]
    margins = margin if isinstance(margin, Mapping) else {"": margin}
    told = ", ".join(f"{m} {v:g}".strip() for m, v in margins.items())
    tested = len(checks.filter(pl.col("p_value").is_not_null()))
    correction = CORRECTIONS.get(settings["correction"])
    method = "paired t, one-sided" + (
        f", {correction} over {tested}" if correction else ""
    )
    rule = RULES[settings["rule"]].format(
        margin=told, fail=1 - settings["fail_level"], warn=1 - settings["level"]
    )
    parts = [rule, method]
    if gate.definition is not None:
        parts.append(f"convention {gate.definition.convention['name']}")
        if gate.definition.judgments:
            parts.append(f"judgments {gate.definition.judgments}")
    return [*lines, f"The gate {'; '.join(parts)}."]


def gate_text(gate: Gate) -> str:
    """Write the verdict for a terminal."""
    head = f"Ranking gate: {_headline(gate.verdict, gate.checks)}"
    if gate.reason is not None:
        return "\n\n".join([head, gate.reason, *_notes(gate)])
    table = as_text(_table(gate, gate.checks, head))
    text = "\n".join([table, "", *_foot(gate)])
    return "\n\n".join([text, *map(as_text, parts_tables(gate.largest_parts))])


def gate_markdown(gate: Gate) -> str:
    """Write a comment for a pull request; the queries that lost the most are folded."""
    head, _, detail = _headline(gate.verdict, gate.checks).partition(" (")
    title = f"### Ranking gate: **{head}**" + (f" ({detail}" if detail else "")
    if gate.reason is not None:
        return "\n\n".join([title, *map(escaped, [gate.reason, *_notes(gate)])])
    checks, worst = gate.checks, gate.worst
    order = {"fail": 0, "warn": 1}
    shown = checks
    if len(checks) > ROWS:  # what matters first
        rank = pl.col("verdict").replace_strict(order, default=2, return_dtype=pl.Int64)
        shown = checks.sort(rank, maintain_order=True).head(ROWS)
    lines = [title, "", as_markdown(_table(gate, shown)), ""]
    if len(shown) < len(checks):
        lines += [f"{len(checks) - len(shown)} more checks are not shown.", ""]
    lines += [*_foot(gate), ""]
    text = "\n".join(lines) + "\n"
    lost = worst.partition_by("measure", as_dict=True) if len(worst) else {}
    for (name,), part in lost.items():
        own = part.drop("measure")
        rows = [[Cell(_cell(value)) for value in row] for row in own.rows()]
        table = Table("", own.columns, rows, own.columns.index("baseline_value"))
        those = "query" if len(own) == 1 else f"{len(own)} queries"
        title = f"<summary>The {those} that lost most in {name}</summary>"
        folded = f"<details>{title}\n\n{as_markdown(table)}\n\n</details>\n"
        if len(text) + len(folded) < MOST:
            text += folded + "\n"
    parts = map(as_markdown, parts_tables(gate.largest_parts))
    return "\n\n".join([text[:MOST].rstrip(), *parts])


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return number(value)
    return "-" if value is None else str(value)
