"""Small pictures, drawn as SVG into a page: they take its colors, light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

WIDE, HIGH, LEFT, BELOW = 520, 200, 52, 34


def curve(values: Sequence[float], title: str, across: str) -> str:
    """Values at 1, 2, 3 ... as dots that a line joins."""
    least, most = min(0.0, *values), max(values)
    most = most if most > least else least + 1

    def x(i: int) -> float:
        return LEFT + (WIDE - LEFT - 12) * i / (len(values) - 1)

    def y(value: float) -> float:
        return 10 + (HIGH - BELOW - 10) * (most - value) / (most - least)

    points = [(x(i), y(value)) for i, value in enumerate(values)]
    line = " ".join(f"{a:.1f},{b:.1f}" for a, b in points)
    dots = "".join(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3.5"/>' for a, b in points)
    ticks = "".join(
        f'<text x="{x(i):.1f}" y="{HIGH - BELOW + 18}" text-anchor="middle">{i + 1}'
        "</text>"
        for i in range(len(values))
    )
    levels = "".join(
        f'<line x1="{LEFT}" x2="{WIDE - 12}" y1="{y(v):.1f}" y2="{y(v):.1f}" '
        'stroke="currentColor" stroke-opacity=".25"/>'
        f'<text x="{LEFT - 8}" y="{y(v) + 4:.1f}" text-anchor="end">{v:.3g}</text>'
        for v in (least, (least + most) / 2, most)
    )
    middle = (LEFT + WIDE) / 2
    words = escape(title)
    return (
        f'<figure class="curve"><svg viewBox="0 0 {WIDE} {HIGH}" role="img" '
        f'aria-label="{words}" font-size="12" fill="currentColor">{levels}'
        f'<polyline points="{line}" fill="none" stroke="currentColor" '
        f'stroke-width="2"/>{dots}{ticks}'
        f'<text x="{middle}" y="{HIGH - 2}" text-anchor="middle">{escape(across)}'
        f"</text></svg><figcaption>{words}</figcaption></figure>"
    )
