"""The stages of a plan, drawn; ``docs/make.py`` writes the picture.

The words are those of ``explain()``: a stage that changes its name changes the picture,
and one that is new has to be described here. On GitHub the picture takes the scheme of
the browser, on the site that of the page.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

import polars as pl

import polars_rank as pr

PICTURE = Path(__file__).resolve().parent / "guide" / "inside.svg"
BEFORE = {  # what happens when the plan is made
    "bind columns": "schemas alone are read",
    "trace the measures": "which sums do they need?",
}
STAGES = {  # how many rows a stage leaves; the frame that comes in there
    "rank by score": ("a row for each document", "run"),
    "select rows that matter": ("perhaps fewer documents", ""),
    "join judgments": ("judged documents and their ranks", "judgments"),
    "sum by query": ("a row for each query", ""),
    "keep the queries asked for": ("missing ones, too", "queries"),
    "join segments": ("a row for each query", "segments"),
    "check": ("an error if a rule is broken", ""),
    "means": ("a row for each segment", ""),
}
WIDE, HIGH, STEP, LEFT, TOP = 250, 46, 66, 146, 8
STYLE = (
    "<style>.plan{color:#1f2328}"
    "@media(prefers-color-scheme:dark){.plan{color:#e6edf3}}</style>"
)


def stages() -> list[str]:
    """The stages of a request with every frame that it may have."""
    run = pl.LazyFrame({"query_id": [1], "doc_id": ["a"], "score": [1.0]})
    qrels = pl.LazyFrame({"query_id": [1], "doc_id": ["a"], "label": [1]})
    queries = pl.LazyFrame({"query_id": [1]})
    segments = queries.with_columns(country=pl.lit("DE"))
    given = {"qrels": qrels, "queries": queries, "segments": segments}
    plan = pr.evaluate(run, "ndcg", **given, by="country")
    return plan.explain().partition("INFO: ")[2].strip().split(" -> ")


def drawing() -> str:
    """The picture: boxes from top to bottom, and frames that come in at the left."""
    boxes = [(name, words, "", True) for name, words in BEFORE.items()]
    boxes += [(name, *STAGES[name], False) for name in stages()]
    high = TOP + STEP * (len(boxes) - 1) + HIGH + TOP
    parts = [box(TOP + STEP * i, *given) for i, given in enumerate(boxes)]
    parts += [
        arrow(LEFT + WIDE / 2, TOP + STEP * i + HIGH, 0, STEP - HIGH)
        for i in range(len(boxes) - 1)
    ]
    label = "The stages of a plan: " + ", ".join(name for name, *_ in boxes)
    return "\n".join(
        [
            f'<svg class="plan" xmlns="http://www.w3.org/2000/svg" '
            f'viewBox="0 0 {LEFT + WIDE + TOP} {high}" role="img" '
            f'aria-label="{label}" font-family="sans-serif" font-size="13" '
            f'fill="currentColor" stroke="none">{STYLE}',
            *parts,
            "</svg>\n",
        ]
    )


def box(y: int, name: str, words: str, frame: str, dashed: bool) -> str:
    """One stage, and the frame that it reads."""
    dashes = ' stroke-dasharray="5 4"' if dashed else ""
    middle = LEFT + WIDE / 2
    text = rectangle(LEFT, y, WIDE, dashes)
    text += written(middle, y + 19, name, ' font-weight="bold"')
    text += written(middle, y + 37, words)
    if frame:
        text += rectangle(TOP, y, 100, ' fill-opacity=".1"')
        text += written(TOP + 50, y + 28, frame)
        text += arrow(TOP + 100, y + HIGH / 2, LEFT - TOP - 100, 0)
    return text


def rectangle(x: float, y: float, wide: float, more: str) -> str:
    """A box; what is filled is a frame."""
    fill = "" if "fill" in more else ' fill="none"'
    return (
        f'<rect x="{x}" y="{y}" width="{wide}" height="{HIGH}" rx="6"'
        f'{fill} stroke="currentColor"{more}/>'
    )


def written(x: float, y: float, words: str, more: str = "") -> str:
    """Words around a place."""
    return f'<text x="{x}" y="{y}" text-anchor="middle"{more}>{escape(words)}</text>'


def arrow(x: float, y: float, across: float, down: float) -> str:
    """A line to the right or down that ends in a head."""
    a, b = x + across, y + down
    sides = (f"{a - 7},{b - 4} {a - 7},{b + 4}", f"{a - 4},{b - 7} {a + 4},{b - 7}")
    return (
        f'<line x1="{x}" y1="{y}" x2="{a}" y2="{b}" stroke="currentColor"/>'
        f'<polygon points="{a},{b} {sides[down > 0]}"/>'
    )
