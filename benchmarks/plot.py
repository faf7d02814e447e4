"""Time and memory against size: ``docs/benchmarks.png`` from the results.

``python benchmarks/plot.py`` after ``python benchmarks/run.py``.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import growth
import matplotlib.pyplot as plt
from data import HOME
from matplotlib.patheffects import withStroke
from report import find, middle
from shapes import ANY, BOUNDED, FLOOR, GROWTH, OURS, SCAN, SIZES, Case

PICTURE = Path(__file__).parent.parent / "docs" / "benchmarks.png"
BLUE, ORANGE, GREEN, BLACK, GRAY = "#0072B2", "#D55E00", "#009E73", "#222222", "#8a8a8a"
LETTER, HEIGHT, SWEEPS = 4.8, 11, 10  # of a label, in points
OUTLINE = [withStroke(linewidth=3, foreground="white")]
OWN = {
    OURS: ("polars_rank, contiguous", BLUE, "-"),
    ANY: ("polars_rank, any order", GREEN, "-"),
    BOUNDED: ("polars_rank, bounded", ORANGE, "-"),
    FLOOR: ("floor: compiled pass", BLACK, "--"),
    SCAN: ("scan alone", BLACK, ":"),
}
PEERS = {
    "duckdb": "DuckDB",
    "polars_ds": "polars_ds*",
    "sklearn": "scikit-learn*",
}
ROWS = {1e4: "10 k", 1e5: "100 k", 1e6: "1 M", 1e7: "10 M", 1e8: "100 M", 1e9: "1 G"}
SECONDS = {0.01: "10 ms", 0.1: "0.1 s", 1: "1 s", 10: "10 s", 100: "100 s"}
MEGABYTES = {100: "100 MB", 1_000: "1 GB", 10_000: "10 GB"}


@dataclass(frozen=True)
class Line:
    """One contender in one panel."""

    name: str
    color: str
    style: str
    points: list[tuple[float, float]]

    @property
    def ours(self) -> bool:
        return self.name.startswith("polars_rank")


def lines(results: dict, column: str) -> list[Line]:
    """The contenders that were measured at one size at least."""
    sizes = {shape["name"]: shape["rows"] for shape in results["shapes"]}
    drawn = []
    for case in GROWTH:
        found = [(sizes.get(name), find(results, name, case)) for name in SIZES]
        points = [(rows, middle(entry, column)) for rows, entry in found if entry]
        if points:
            drawn.append(Line(*_look(case), points))
    return drawn


def _look(case: Case) -> tuple[str, str, str]:
    return OWN.get(case, (PEERS.get(case.contender, case.contender), GRAY, "-"))


def panel(
    axes, drawn: list[Line], title: str, ticks: dict, limit: float, words: str
) -> None:
    for line in sorted(drawn, key=lambda line: line.ours):
        x, y = zip(*line.points, strict=True)
        width = 2.4 if line.ours else 1.2
        axes.plot(
            x, y, line.style, color=line.color, linewidth=width, marker="o",
            markersize=1.7 * width, solid_capstyle="round",
        )  # fmt: skip
    axes.set(xscale="log", yscale="log")
    _ticks(axes.xaxis, ROWS)
    _ticks(axes.yaxis, ticks)
    rows = [x for line in drawn for x, _ in line.points]
    values = [y for line in drawn for _, y in line.points]
    axes.set_xlim(min(rows) * 0.8, max(rows) * 110)
    axes.set_ylim(min(values) * 0.7, max(*values, limit) * 1.5)
    axes.plot([min(rows) * 0.8, max(rows)], [limit, limit], color=GRAY, linewidth=0.6)
    axes.annotate(
        f"not tried above {words}", (min(rows), limit), xytext=(0, 2), fontsize=8,
        textcoords="offset points", color=GRAY,
    )  # fmt: skip
    axes.set_title(title, loc="left", fontsize=11, color=BLACK)
    axes.spines[["top", "right", "left", "bottom"]].set_visible(False)
    axes.grid(axis="y", color="#e6e6e6", linewidth=0.6)
    axes.set_axisbelow(True)
    axes.tick_params(length=0, labelsize=9, colors="#444444")
    axes.set_xlabel("rows", fontsize=9, color="#444444", loc="left")
    labels(axes, drawn)


def _ticks(axis, named: dict[float, str]) -> None:
    axis.set_ticks(list(named), list(named.values()))
    axis.set_ticks([], minor=True)


def labels(axes, drawn: list[Line]) -> None:
    """A name at the end of each line, where it covers no other name and few lines."""
    axes.figure.canvas.draw()
    scale = 72 / axes.figure.dpi
    paths = [axes.transData.transform(line.points) * scale for line in drawn]
    dots = [dot for path in paths for dot in samples(path)]
    boxes = [
        Box(*path[-1], LETTER * len(line.name) * (1.15 if line.ours else 1))
        for line, path in zip(drawn, paths, strict=True)
    ]
    for _ in range(SWEEPS):  # each name in turn looks for its best place
        for i, box in enumerate(boxes):
            others = boxes[:i] + boxes[i + 1 :]
            tried = [replace(box, shift=shift) for shift in range(-40, 41)]
            boxes[i] = min(tried, key=lambda box: box.cost(dots, others))
    for line, box in zip(drawn, boxes, strict=True):
        axes.annotate(
            line.name, line.points[-1], xytext=(6, box.shift), va="center",
            textcoords="offset points", fontsize=9, path_effects=OUTLINE, zorder=10,
            color="#555555" if line.color == GRAY else line.color,
            fontweight="bold" if line.ours else "normal",
        )  # fmt: skip


def samples(path, steps: int = 40) -> list[tuple[float, float]]:
    """Points along a line, so that what a label covers can be counted."""
    return [
        (a[0] + (b[0] - a[0]) * i / steps, a[1] + (b[1] - a[1]) * i / steps)
        for a, b in pairwise(path)
        for i in range(steps + 1)
    ]


@dataclass(frozen=True)
class Box:
    """A place for a label, in points: ``shift`` above the end of its line."""

    x: float
    end: float
    width: float
    shift: float = 0

    @property
    def y(self) -> float:
        return self.end + self.shift

    def cost(self, dots: list[tuple[float, float]], others: list[Box]) -> float:
        covered = sum(
            self.x < x < self.x + self.width and abs(y - self.y) < HEIGHT / 2
            for x, y in dots
        )
        clashes = sum(
            max(0, HEIGHT - abs(self.y - other.y))
            for other in others
            if self.x < other.x + other.width and other.x < self.x + self.width
        )
        return self.shift**2 / 10 + 0.05 * covered + 10 * clashes


def main() -> None:
    results = json.loads(Path(sys.argv[1] if sys.argv[1:] else HOME / "results.json")
                         .read_text())  # fmt: skip
    plt.rcParams["font.family"] = ["DejaVu Sans"]
    figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 5.2), dpi=170)
    figure.subplots_adjust(left=0.055, right=0.995, top=0.94, bottom=0.12, wspace=0.18)
    time, memory = lines(results, "whole"), lines(results, "peak_mb")
    limit = growth.SECONDS
    panel(left, time, "Time of a new process", SECONDS, limit, f"{limit} s")
    limit = results["machine"]["limit_mb"]
    words = f"{limit / 1e3:.0f} GB"
    panel(right, memory, "Peak memory", MEGABYTES, limit, words)
    machine = results["machine"]
    figure.text(
        0.995, 0.015, "nDCG@10, AP, RR, P@10, R@100; * nDCG@10 alone. Bounded: rows in "
        f"any order, 1 GB. {machine['cores']} cores, {machine['memory_gb']} GB.",
        ha="right", fontsize=8.5, color="#666666",
    )  # fmt: skip
    PICTURE.parent.mkdir(exist_ok=True)
    figure.savefig(PICTURE)


if __name__ == "__main__":
    main()
