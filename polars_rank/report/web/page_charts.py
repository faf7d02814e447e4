"""The pictures of a page: SVG in the colors of the page, made without a browser."""

from __future__ import annotations

from typing import Any

import polars as pl

from polars_rank.report.style import BLUE, ORANGE, altair

BINS = 41
WIDTH = 620
MOST = 60  # bars in a picture
# Letters of a reader's font may be wider than those that the picture was measured with.
PADDING = {"left": 30, "top": 5, "right": 20, "bottom": 10}


def svg(chart: Any) -> str:
    """Draw a chart whose text and lines have the color of the page around it."""
    from vl_convert import vegalite_to_svg

    ink = "currentColor"
    axis: dict[str, Any] = {
        "labelColor": ink,
        "titleColor": ink,
        "tickColor": ink,
        "domainColor": ink,
    }
    axis |= {"gridColor": ink, "gridOpacity": 0.12, "labelFontSize": 12}
    drawn = (
        chart.configure(
            background="transparent", font="sans-serif", aria=False, padding=PADDING
        )
        .configure_axis(**axis, titleFontSize=12, titleFontWeight="normal")
        .configure_axisY(labelLimit=260)
        .configure_view(stroke=None)
        .configure_legend(labelColor=ink, titleColor=ink, orient="top")
        .configure_header(labelColor=ink, titleColor=ink)
    )
    return str(vegalite_to_svg(drawn.to_dict()))


def forest(frame: pl.DataFrame) -> str:
    """Draw ``item``, ``difference``, ``lower`` and ``upper`` of each row."""
    alt = altair()
    rows = frame.head(MOST).with_columns(side=_side("difference"))
    item = alt.Y("item:N", sort=None, title=None, axis=alt.Axis(grid=False))
    base = alt.Chart(rows, width=WIDTH - 200, height=alt.Step(24))
    lines = base.mark_rule(color="currentColor", opacity=0.6).encode(
        x=alt.X("lower:Q", title="difference, with its interval"), x2="upper", y=item
    )
    dots = base.mark_point(filled=True, size=80, opacity=1).encode(
        x=alt.X("difference:Q"), y=item, color=_colors(), shape=_shapes()
    )
    zero = alt.Chart(pl.DataFrame({"x": [0.0]})).mark_rule(
        color="currentColor", strokeDash=[3, 3], opacity=0.6
    )
    return svg(zero.encode(x="x:Q") + lines + dots)


def histogram(differences: pl.Series) -> str:
    """Draw how many queries have which difference: bins have counts, not rows."""
    alt = altair()
    known = differences.drop_nulls().drop_nans()
    most = float(known.abs().max() or 0) or 1.0  # type: ignore[arg-type]
    width = 2 * most / BINS
    place = ((known + most) / width).floor().clip(0, BINS - 1)
    counts = (
        pl.DataFrame({"place": place})
        .group_by("place")
        .agg(n=pl.len())
        .with_columns(left=pl.col("place") * width - most)
        .with_columns(right=pl.col("left") + width)
        .with_columns(side=_side(pl.col("left") + width / 2, width / 2))
    )
    bars = (
        alt.Chart(counts, width=WIDTH - 60, height=170)
        .mark_rect(stroke=None)
        .encode(
            x=alt.X("left:Q", title="difference of a query"),
            x2="right",
            y=alt.Y("n:Q", title="queries", axis=alt.Axis(tickMinStep=1)),
            y2=alt.datum(0),
            color=_colors(),
        )
    )
    return svg(bars)


def segment_bars(segments: pl.DataFrame) -> str:
    """Draw what each ``item`` adds ``within`` and, where it changed, by the ``mix``.

    Without a mix there is one bar each, in the color of its direction.
    """
    alt = altair()
    parts = ["within", "mix"] if segments["mix"].abs().max() else ["within"]
    rows = segments.head(MOST).unpivot(
        parts, index="item", variable_name="part", value_name="adds"
    )
    rows = rows.with_columns(side=_side("adds"))
    bars = (
        alt.Chart(rows, width=WIDTH - 200, height=alt.Step(28 / len(parts)))
        .mark_bar()
        .encode(
            x=alt.X("adds:Q", title="part of the difference"),
            y=alt.Y("item:N", sort=None, title=None, axis=alt.Axis(grid=False)),
            color=_colors(),
        )
    )
    if len(parts) > 1:
        scale = alt.Scale(domain=parts, range=[BLUE, ORANGE])
        bars = bars.encode(
            yOffset=alt.YOffset("part:N", sort=parts),
            color=alt.Color("part:N", title=None, scale=scale),
        )
    return svg(bars)


def trend_lines(trend: pl.DataFrame, title: str) -> str:
    """Draw the ``estimate`` of each ``series`` by ``period``, with its interval."""
    alt = altair()
    base = alt.Chart(trend, width=WIDTH - 60, height=200).encode(
        x=alt.X("period:O", title=None, axis=alt.Axis(labelAngle=0, labelOverlap=True))
    )
    color = alt.Color("series:N", title=None, legend=alt.Legend(symbolOpacity=1))
    band = base.mark_area(opacity=0.18).encode(y="lower:Q", y2="upper", color=color)
    line = base.mark_line(point=True).encode(
        y=alt.Y("estimate:Q", title=title), color=color
    )
    return svg(band + line)


def _side(value: str | pl.Expr, near: float = 0.0) -> pl.Expr:
    value = pl.col(value) if isinstance(value, str) else value
    better = pl.when(value > near * (1 + 1e-9)).then(pl.lit("higher"))
    lower = value < -near * (1 + 1e-9)
    return better.when(lower).then(pl.lit("lower")).otherwise(pl.lit("same"))


def _colors() -> Any:
    alt, names = altair(), ["higher", "lower", "same"]
    scale = alt.Scale(domain=names, range=[BLUE, ORANGE, "#8a8a8a"])
    return alt.Color("side:N", legend=None, scale=scale)


def _shapes() -> Any:
    alt, names = altair(), ["higher", "lower", "same"]
    scale = alt.Scale(domain=names, range=["triangle-right", "triangle-left", "circle"])
    return alt.Shape("side:N", legend=None, scale=scale)
