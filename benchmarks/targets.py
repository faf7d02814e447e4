"""What this library promises, as ratios of what was measured, and their limits."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from report import column, find, middle, number, paired
from shapes import (
    ANY,
    ANY_HAND,
    BOUNDED,
    DEFAULT,
    DUCKDB,
    FLOOR,
    HAND,
    JOINED,
    JUDGED,
    JUDGED_HAND,
    MANY,
    OURS,
    PYTREC_EVAL,
    RANX,
    Case,
)


@dataclass(frozen=True)
class Figure:
    """One column of one case."""

    shape: str
    case: Case
    column: str


@dataclass(frozen=True)
class Target:
    """``over`` as a multiple of ``times`` x ``under``, or in ``unit``; and a limit.

    ``by_hand`` is the same work as a plan that was written for it alone.
    """

    name: str
    over: Figure
    under: Figure | None
    limit: float
    bound: Literal["at most", "at least"] = "at most"
    times: float = 1
    unit: str = ""
    by_hand: Case | None = None

    def measured(self, results: dict) -> float | None:
        """Pair by pair within a shape; of medians between shapes."""
        over = find(results, self.over.shape, self.over.case)
        if over is None or not column(over, self.over.column):
            return None
        if self.under is None:
            return middle(over, self.over.column) * self.times
        under = find(results, self.under.shape, self.under.case)
        if under is None or not column(under, self.under.column):
            return None
        if (self.over.shape, self.over.column) == (self.under.shape, self.under.column):
            return paired(over, under, self.over.column) / self.times
        quotient = middle(over, self.over.column) / middle(under, self.under.column)
        return quotient / self.times

    def measured_by_hand(self, results: dict) -> float | None:
        """The same of the plan written by hand."""
        if self.by_hand is None:
            return None
        over = replace(self.over, case=self.by_hand)
        return replace(self, over=over).measured(results)

    def held(self, value: float) -> bool:
        return value <= self.limit if self.bound == "at most" else value >= self.limit


def warm(shape: str, case: Case) -> Figure:
    return Figure(shape, case, "warm")


def whole(shape: str, case: Case) -> Figure:
    return Figure(shape, case, "whole")


def peak(shape: str, case: Case) -> Figure:
    return Figure(shape, case, "peak_mb")


TARGETS = (
    Target(
        "10 M rows, contiguous and proved: against the compiled floor",
        warm("10m", OURS), warm("10m", FLOOR), 0.65, by_hand=HAND,
    ),
    Target(
        "10 M rows in any order: against the compiled floor on contiguous rows",
        warm("10m", ANY), warm("10m", FLOOR), 1.2, by_hand=ANY_HAND,
    ),
    Target(
        "run of 10 M rows, 1.2 M judgments, text ids, ties by id: "
        "against scan and join of the files",
        warm("judged 10m", JUDGED), warm("judged 10m", JOINED), 2.5,
        by_hand=JUDGED_HAND,
    ),
    Target(
        "10 M rows: ranx, evaluation alone, warm",
        warm("10m", RANX), warm("10m", OURS), 10, "at least",
    ),
    Target(
        "10 M rows: ranx, end to end",
        whole("10m", RANX), whole("10m", OURS), 200, "at least",
    ),
    Target(
        "10 M rows: pytrec_eval, end to end",
        whole("10m", PYTREC_EVAL), whole("10m", OURS), 80, "at least",
    ),
    Target(
        "10 M rows: DuckDB SQL",
        whole("10m", DUCKDB), whole("10m", OURS), 2, "at least",
    ),
    Target(
        "50 queries x 1000 in memory",
        warm("memory", DEFAULT[0]), None, 4, times=1000, unit=" ms", by_hand=HAND,
    ),
    Target(
        "50 queries x 1000 in memory: against pytrec_eval's evaluation alone",
        warm("memory", DEFAULT[0]), warm("memory", PYTREC_EVAL), 1 / 3, by_hand=HAND,
    ),
    Target(
        "10 M rows: 30 measures against 5",
        warm("10m", MANY), warm("10m", OURS), 1.5,
    ),
    Target("200 M rows, contiguous: peak", peak("200m", OURS), None, 400, unit=" MB"),
    Target(
        "200 M rows, contiguous: time against 20 times that of 10 M",
        whole("200m", OURS), whole("10m", OURS), 1.1, times=20,
    ),
    Target(
        'any order, 200 M rows, memory_limit="1GB": peak',
        peak("200m", BOUNDED), None, 1000, unit=" MB",
    ),
    Target(
        'any order, 200 M rows, memory_limit="1GB": time against contiguous',
        whole("200m", BOUNDED), whole("200m", OURS), 3,
    ),
    *(
        target
        for name, case in (("contiguous", OURS), ("any order, 1 GB", BOUNDED))
        for target in (
            Target(
                f"1 G rows, {name}: time against 5 times that of 200 M",
                whole("1g", case), whole("200m", case), 1.15, times=5,
            ),
            Target(
                f"1 G rows, {name}: peak against that of 200 M",
                peak("1g", case), peak("200m", case), 1.15,
            ),
        )
    ),
    Target(
        "`import polars_rank` after `import polars`",
        Figure("process", Case("imports"), "first"), None, 50, times=1000, unit=" ms",
    ),
)  # fmt: skip


def table(results: dict) -> str:
    """Measured, limit, held or missed (at full size only), and the plan by hand."""
    head = "| target | measured | limit | | Polars, by hand |"
    lines = [head, "|---|---:|---:|---|---:|"]
    for target in TARGETS:
        value = target.measured(results)
        limit = f"{target.bound} {round(target.limit, 3):g}{target.unit}"
        shown, by_hand = (
            "" if figure is None else f"{number(figure)}{target.unit}"
            for figure in (value, target.measured_by_hand(results))
        )
        if value is None:
            verdict = "not measured"
        elif results["scale"] != 1:
            verdict = "full size only"
        else:
            verdict = "held" if target.held(value) else "**missed**"
        lines.append(f"| {target.name} | {shown} | {limit} | {verdict} | {by_hand} |")
    return "\n".join(lines)
