"""The look of all pictures: colors that color-blind people tell apart."""

from __future__ import annotations

from typing import Any

from polars_rank.core.extras import require

BLUE, ORANGE, GRAY = "#0072b2", "#d55e00", "#8a8a8a"  # Okabe and Ito
PALETTE = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444"]
SHAPES = [
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
    "stroke",
]


def altair() -> Any:
    """Import altair, and what makes PNG without a browser."""
    alt = require("altair", "plot")
    require("vl_convert", "plot")
    return alt


def heading(text: str) -> dict[str, Any]:
    """The title of a panel."""
    return {"text": text, "anchor": "start", "fontSize": 13}


def finished(chart: Any) -> Any:
    """The chart with our axes."""
    return chart.configure_view(stroke=None).configure_axis(
        labelFontSize=11,
        titleFontSize=11,
        labelFlush=False,
        grid=True,
        gridColor="#eeeeee",
    )
