"""Pictures of a comparison, by altair: colours that colour-blind people tell apart."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_rank.core.extras import require

__all__ = ["Plots"]

BLUE, ORANGE, GREY = "#0072b2", "#d55e00", "#8a8a8a"  # Okabe and Ito
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
VERDICTS = ["better", "worse", "not significant"]
CUTOFF = re.compile(r"^(.*)@(\d+)$")
MOST = 5000  # bars of queries in one panel


@dataclass(frozen=True)
class Plots:
    """Pictures of a comparison: altair charts, with ``.save("x.png")`` and so on.

    PNG needs no browser (vl-convert).
    """

    means: pl.DataFrame
    pairs: pl.DataFrame
    lower: Sequence[str]  # measures of which lower values are better
    deltas_of: Callable[[str | None], pl.DataFrame]

    def forest(self, measure: str | None = None) -> Any:
        """Difference and interval of every pair, a panel per measure."""
        alt = _altair()
        frame = self._labelled(measure)
        measures = frame["measure"].unique(maintain_order=True).to_list()
        panels = [
            _forest(alt, frame.filter(pl.col("measure") == name), "pair", name)
            for name in measures
        ]
        return _finished(alt.vconcat(*panels))

    def segments(self, measure: str | None = None) -> Any:
        """Difference and interval in every segment, a panel per measure and pair."""
        names = self.pairs.columns[: self.pairs.columns.index("measure")]
        if not names:
            msg = "there are no segments: compare with by="
            raise ValueError(msg)
        alt = _altair()
        text = pl.concat_str(
            [pl.col(n).cast(pl.String).fill_null("-") for n in names], separator=", "
        )
        label = pl.format("{} (n = {})", text, "queries")
        frame = self._labelled(measure).with_columns(segment=label)
        panels = [
            _forest(alt, part, "segment", f"{name}: {pair}")
            for (name, pair), part in frame.group_by(
                "measure", "pair", maintain_order=True
            )
        ]
        return _finished(alt.vconcat(*panels))

    def deltas(self, measure: str | None = None) -> Any:
        """Difference of every query, sorted: few large ones, or many small ones."""
        alt = _altair()
        frame = self.deltas_of(measure).filter(pl.col("difference").is_not_null())
        panels = []
        for (name, base, system), part in frame.group_by(
            "measure", "baseline", "system", maintain_order=True
        ):
            ranked = (
                part.sort("difference", descending=True)
                .with_row_index("place", offset=1)
                .with_columns(side=_side(pl.col("difference"), name in self.lower))
            )
            every = -(-len(ranked) // MOST)  # evenly spaced: the shape remains
            ranked = ranked.gather_every(every).with_columns(
                left=pl.col("place") - 0.5, right=pl.col("place") - 0.5 + every
            )
            panels.append(
                alt.Chart(ranked.select("left", "right", "difference", "side"))
                .mark_rect()
                .encode(
                    x=alt.X(
                        "left:Q",
                        title="queries, by difference",
                        scale=alt.Scale(domain=[0.5, len(part) + 0.5], nice=False),
                    ),
                    x2="right:Q",
                    y=alt.Y("difference:Q", title="difference"),
                    y2=alt.datum(0),
                    color=_colours(alt, "same"),
                )
                .properties(
                    width=480, height=200, title=_title(f"{name}: {system} − {base}")
                )
            )
        return _finished(alt.vconcat(*panels))

    def depth(self) -> Any:
        """Means over the cutoffs of ndcg@5, ndcg@10 and the like, with intervals."""
        alt = _altair()
        split = pl.col("measure").str.extract_groups(CUTOFF.pattern)
        frame = self.means.with_columns(
            family=split.struct.field("1"),
            k=split.struct.field("2").cast(pl.Int64, strict=False),
        ).filter(pl.col("k").is_not_null())
        counts = frame.group_by("family").agg(pl.col("k").n_unique())
        families = counts.filter(pl.col("k") > 1)["family"].to_list()
        frame = frame.filter(pl.col("family").is_in(families))
        if not len(frame):
            msg = (
                "a depth curve needs a measure at several cutoffs: ndcg@5, ndcg@10 ..."
            )
            raise ValueError(msg)
        panels = []
        for (family,), part in frame.group_by("family", maintain_order=True):
            data = part.select("k", "system", "mean", "low", "high")
            systems = data["system"].unique(maintain_order=True).to_list()
            scale = alt.Scale(
                domain=systems,
                range=PALETTE[: len(systems)]
                if len(systems) <= len(PALETTE)
                else alt.Undefined,
            )
            base = alt.Chart(data).encode(
                x=alt.X(
                    "k:Q",
                    title="cutoff k",
                    scale=alt.Scale(type="log", nice=False),
                    axis=alt.Axis(values=sorted(set(data["k"])), format="d"),
                ),
                color=alt.Color(
                    "system:N",
                    scale=scale,
                    sort=systems,
                    title=None,
                    legend=alt.Legend(symbolOpacity=1),
                ),
            )
            band = base.mark_area(opacity=0.12).encode(
                y=alt.Y("low:Q", title=f"{family}@k", scale=alt.Scale(zero=False)),
                y2="high:Q",
            )
            line = base.mark_line(point=False).encode(y=alt.Y("mean:Q"))
            points = base.mark_point(filled=True, size=60).encode(
                y="mean:Q",
                shape=alt.Shape(
                    "system:N",
                    sort=systems,
                    scale=alt.Scale(
                        domain=systems,
                        range=SHAPES[: len(systems)]
                        if len(systems) <= len(SHAPES)
                        else alt.Undefined,
                    ),
                    title=None,
                ),
            )
            panels.append((band + line + points).properties(width=420, height=260))
        return _finished(alt.vconcat(*panels))

    def _labelled(self, measure: str | None) -> pl.DataFrame:
        frame = self.pairs
        if measure is not None:
            frame = frame.filter(pl.col("measure") == measure)
            if not len(frame):
                msg = f"no measure {measure!r} was compared"
                raise ValueError(msg)
        lower = pl.col("measure").is_in(list(self.lower))
        good = (pl.col("difference") > 0) != lower
        sure = pl.col("significant").fill_null(value=False)
        inf = float("inf")
        ends = pl.col("low", "high")
        return frame.with_columns(
            pl.when(ends.abs() < inf).then(ends),
            pair=pl.format("{} − {}", "system", "baseline"),
            side=pl.when(~sure)
            .then(pl.lit("not significant"))
            .when(good)
            .then(pl.lit("better"))
            .otherwise(pl.lit("worse")),
        )


def _altair() -> Any:
    alt = require("altair", "plot")
    require("vl_convert", "plot")
    return alt


def _side(difference: pl.Expr, lower: bool) -> pl.Expr:
    better = difference < 0 if lower else difference > 0
    return (
        pl.when(difference.abs() <= 1e-9)
        .then(pl.lit("same"))
        .when(better)
        .then(pl.lit("better"))
        .otherwise(pl.lit("worse"))
    )


def _colours(alt: Any, third: str = VERDICTS[2]) -> Any:
    scale = alt.Scale(domain=[*VERDICTS[:2], third], range=[BLUE, ORANGE, GREY])
    return alt.Color("side:N", scale=scale, legend=alt.Legend(title=None))


def _forest(alt: Any, frame: pl.DataFrame, row: str, title: str) -> Any:
    data = frame.select(row, "difference", "low", "high", "side")
    order = data[row].to_list()
    y = alt.Y(f"{row}:N", sort=order, title=None, axis=alt.Axis(labelLimit=300))
    base = alt.Chart(data).encode(y=y, color=_colours(alt))
    span = base.mark_rule(strokeWidth=2).encode(
        x=alt.X("low:Q", title="difference"), x2="high:Q"
    )
    shape = alt.Shape(
        "side:N",
        scale=alt.Scale(
            domain=VERDICTS, range=["triangle-right", "triangle-left", "circle"]
        ),
        legend=alt.Legend(title=None),
    )
    point = base.mark_point(filled=True, size=90, opacity=1).encode(
        x="difference:Q", shape=shape
    )
    zero = (
        alt.Chart(pl.DataFrame({"x": [0.0]}))
        .mark_rule(color="#444444", strokeDash=[4, 3])
        .encode(x="x:Q")
    )
    return (zero + span + point).properties(
        width=420, height=alt.Step(24), title=_title(title)
    )


def _title(text: str) -> dict[str, Any]:
    return {"text": text, "anchor": "start", "fontSize": 13}


def _finished(chart: Any) -> Any:
    return chart.configure_view(stroke=None).configure_axis(
        labelFontSize=11,
        titleFontSize=11,
        labelFlush=False,
        grid=True,
        gridColor="#eeeeee",
    )
