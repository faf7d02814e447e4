"""How far a contender gets: the limits, and whether the next size would pass them."""

from __future__ import annotations

import os
from statistics import median

from shapes import BOUNDED, OURS, SCAN, SIZES, Case

SECONDS = 180
GIGABYTES = 24
SHARE = 0.75  # of the machine's memory, where that is less
EVERYBODY = 10_000_000  # rows that every contender is tried on
STEADY = SCAN, OURS, BOUNDED
"""Their memory does not grow: they are tried on every size."""


def memory_mb() -> float:
    """The most that a contender may take."""
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e6
    return min(GIGABYTES * 1e3, SHARE * machine)


def stop(shape: str, case: Case, rows: int, done: list[dict]) -> str | None:
    """Why a case is not tried at this size, judged by the smaller sizes."""
    if shape not in SIZES or rows <= EVERYBODY or case in STEADY:
        return None
    entries = [
        (earlier["rows"], entry)
        for earlier in done
        if earlier["name"] in SIZES
        for entry in earlier["cases"]
        if entry["case"] == vars(case)
    ]
    if not entries:
        return "not tried: no smaller size was measured in this run"
    if not all(entry["runs"] for _, entry in entries):
        return "not tried: stopped at a smaller size"
    seconds = forecast(rows, [(n, _took(entry)) for n, entry in entries])
    if seconds > SECONDS:
        return f"not tried: would take about {seconds:,.0f} s (limit {SECONDS} s)"
    needed = forecast(rows, [(n, _peak(entry)) for n, entry in entries])
    if needed > memory_mb():
        limit = memory_mb() / 1e3
        return f"not tried: would need about {needed / 1e3:.0f} GB (limit {limit:.0f})"
    return None


def forecast(rows: int, known: list[tuple[int, float]]) -> float:
    """The line through the last two sizes; in proportion to a single one."""
    n, value = known[-1]
    if len(known) == 1:
        return value * rows / n
    fewer, less = known[-2]
    return value + max(value - less, 0) / (n - fewer) * (rows - n)


def _took(entry: dict) -> float:
    return median(run["load"] + run["first"] for run in entry["runs"])


def _peak(entry: dict) -> float:
    return median(run["peak_mb"] for run in entry["runs"])
