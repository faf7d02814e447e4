"""The look of all pictures: colors that color-blind people tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

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
    """Set the title of a panel."""
    return {"text": text, "anchor": "start", "fontSize": 13}


def finished(chart: Any) -> Any:
    """Give a chart our axes."""
    return chart.configure_view(stroke=None).configure_axis(
        labelFontSize=11,
        titleFontSize=11,
        labelFlush=False,
        grid=True,
        gridColor="#eeeeee",
    )


def rule(column: str, places: Sequence[float], dash: Sequence[int] = (4, 3)) -> Any:
    """Draw dashed lines at places of an axis, ``x`` or ``y``."""
    chart = altair().Chart(pl.DataFrame({column: places}))
    look = chart.mark_rule(color="#444444", strokeDash=[*dash])
    return look.encode(**{column: f"{column}:Q"})
