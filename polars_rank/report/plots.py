"""Pictures of a comparison, by altair: colors that color-blind people tell apart."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from polars_rank.report import curves
from polars_rank.report.style import BLUE, GRAY, ORANGE, altair, finished, heading, rule

VERDICTS = ["better", "worse", "not significant"]
LOOKS = {
    "better": (BLUE, "triangle-right"),
    "worse": (ORANGE, "triangle-left"),
    "equivalent": (BLUE, "diamond"),
    "not significant": (GRAY, "circle"),
}
MOST = 5000  # bars of queries in one panel
ALIKE = 10  # times the width of one panel, up to which panels share a scale
FEW, BINS = 300, 25  # queries beyond which a panel has bins, and these per unit


@dataclass(frozen=True)
class Plots:
    """Pictures of a comparison: altair charts, with ``.save("x.png")`` and so on.

    PNG needs no browser (vl-convert).
    """

    means: pl.DataFrame
    pairs: pl.DataFrame
    lower: Sequence[str]  # measures of which lower values are better
    deltas_of: Callable[[str | None], pl.DataFrame]
    level: float = 0.95
    margin: float | None = None

    def forest(self, measure: str | None = None) -> Any:
        """Draw difference and interval of every pair, a panel per measure.

        The panels have one scale, unless the measures have other ones. With a
        ``margin``, dotted lines show it.
        """
        alt = altair()
        parts = self._labeled(measure).partition_by(
            "measure", as_dict=True, maintain_order=True
        )
        ends = {name: self._ends(part) for (name,), part in parts.items()}
        widths = [high - low for low, high in ends.values()]
        if max(widths) <= ALIKE * min(widths):
            lows, highs = zip(*ends.values(), strict=True)
            ends = dict.fromkeys(ends, (min(lows), max(highs)))
        panels = [
            _forest(alt, part, "pair", name, ends[name], self.margin)
            for (name,), part in parts.items()
        ]
        return finished(alt.vconcat(*panels))

    def segments(self, measure: str | None = None) -> Any:
        """Draw difference and interval in every segment, a panel per measure and pair.

        The panels of a measure have one scale.
        """
        names = self.pairs.columns[: self.pairs.columns.index("measure")]
        if not names:
            msg = "there are no segments: compare with by="
            raise ValueError(msg)
        alt = altair()
        text = pl.concat_str(
            [pl.col(n).cast(pl.String).fill_null("-") for n in names], separator=", "
        )
        label = pl.format("{} (n = {})", text, "queries")
        frame = self._labeled(measure).with_columns(segment=label)
        of_measure = frame.partition_by("measure", as_dict=True)
        ends = {name: self._ends(part) for (name,), part in of_measure.items()}
        panels = [
            _forest(alt, part, "segment", f"{name}: {pair}", ends[name], self.margin)
            for (name, pair), part in frame.group_by(
                "measure", "pair", maintain_order=True
            )
        ]
        return finished(alt.vconcat(*panels))

    def deltas(self, measure: str | None = None) -> Any:
        """Draw differences of queries, sorted: few large ones, or many small ones."""
        alt = altair()
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
                    color=_colors(alt),
                )
                .properties(
                    width=480,
                    height=200,
                    title=heading(f"{name}: {system} − {base}"),
                )
            )
        return finished(alt.vconcat(*panels))

    def scatter(self, measure: str | None = None) -> Any:
        """Draw values of queries, of baseline and system; more queries are larger."""
        alt = altair()
        known = pl.all_horizontal(pl.col("baseline_value", "value").is_not_null())
        frame = self.deltas_of(measure).filter(known)
        panels = []
        parts = {
            key: self._points(part, key[0])
            for key, part in frame.group_by(
                "measure", "baseline", "system", maintain_order=True
            )
        }
        largest = max(2, *(int(part["queries"].max()) for part in parts.values()))  # type: ignore[arg-type]
        shown = sorted({1, -(-largest // 2), largest})
        size = alt.Size(
            "queries:Q",
            scale=alt.Scale(domain=[1, largest], range=[30, 400]),
            legend=alt.Legend(values=shown, format="d"),
        )
        for (name, base, system), points in parts.items():
            least, most = (
                float(f(points["value"].to_list() + points["baseline_value"].to_list()))
                for f in (min, max)
            )
            ends = [min(least, 0.0), max(most, 1.0)]
            scale = alt.Scale(domain=ends, nice=False)
            diagonal = (
                alt.Chart(pl.DataFrame({"x": ends, "y": ends}))
                .mark_line(color="#444444", strokeDash=[4, 3], strokeWidth=1)
                .encode(x=alt.X("x:Q", scale=scale), y=alt.Y("y:Q", scale=scale))
            )
            circles = (
                alt.Chart(points)
                .mark_circle(opacity=0.6)
                .encode(
                    x=alt.X("baseline_value:Q", title=base, scale=scale),
                    y=alt.Y("value:Q", title=system, scale=scale),
                    size=size,
                    color=_colors(alt),
                )
            )
            panels.append(
                (diagonal + circles).properties(
                    width=320,
                    height=320,
                    title=heading(f"{name}: {system} − {base}"),
                )
            )
        return finished(alt.vconcat(*panels))

    def depth(self) -> Any:
        """Draw means over the cutoffs of ndcg@5, ndcg@10 and the like.

        With one baseline, the differences to it are below, with their intervals.
        """
        return curves.depth(self.means, self.pairs)

    def precision_recall(self) -> Any:
        """Draw interpolated precision at the levels of recall that were compared."""
        return curves.precision_recall(self.means)

    def significance(self) -> Any:
        """Draw p-values of all pairs, largest first, a curve per measure (Sakai, 2006).

        The sooner a curve falls below the line, the more pairs its measure tells apart.
        """
        return curves.significance(self.pairs, self.level)

    def _points(self, part: pl.DataFrame, measure: str) -> pl.DataFrame:
        """Count the queries that have the same two values."""
        values = pl.col("baseline_value", "value")
        if len(part) > FEW:  # in bins, or they would hide one another
            values = ((values * BINS).round() / BINS).name.keep()
        difference = pl.col("value") - pl.col("baseline_value")
        return (
            part.group_by(values)
            .agg(queries=pl.len())
            .with_columns(side=_side(difference, measure in self.lower))
            .sort("queries", descending=True)
        )

    def _ends(self, frame: pl.DataFrame) -> tuple[float, float]:
        """Find the range of differences and their intervals, with 0 and the margin."""
        margin = self.margin or 0.0
        known = pl.concat(
            [frame[c] for c in ("difference", "lower", "upper")]
        ).drop_nulls()
        shown = [-margin, margin, *known]
        return min(shown), max(shown)

    def _labeled(self, measure: str | None) -> pl.DataFrame:
        frame = self.pairs
        if measure is not None:
            frame = frame.filter(pl.col("measure") == measure)
            if not len(frame):
                msg = f"no measure {measure!r} was compared"
                raise ValueError(msg)
        good = pl.col("better") == pl.col("system")
        sure = pl.col("significant").fill_null(value=False)
        inf = float("inf")
        ends = pl.col("lower", "upper")
        return frame.with_columns(
            pl.when(ends.abs() < inf).then(ends),
            pair=pl.format("{} − {}", "system", "baseline"),
            side=pl.when(~sure)
            .then(pl.lit("not significant"))
            .when(self.margin is not None)
            .then(pl.lit("equivalent"))
            .when(good)
            .then(pl.lit("better"))
            .otherwise(pl.lit("worse")),
        )


def _side(difference: pl.Expr, lower: bool) -> pl.Expr:
    better = difference < 0 if lower else difference > 0
    return (
        pl.when(difference.abs() <= 1e-9)
        .then(pl.lit("same"))
        .when(better)
        .then(pl.lit("better"))
        .otherwise(pl.lit("worse"))
    )


def _colors(alt: Any) -> Any:
    scale = alt.Scale(domain=["better", "worse", "same"], range=[BLUE, ORANGE, GRAY])
    return alt.Color("side:N", scale=scale, legend=alt.Legend(title=None))


def _forest(
    alt: Any,
    frame: pl.DataFrame,
    row: str,
    title: str,
    ends: tuple[float, float],
    margin: float | None,
) -> Any:
    data = frame.select(row, "difference", "lower", "upper", "side")
    order = data[row].to_list()
    y = alt.Y(f"{row}:N", sort=order, title=None, axis=alt.Axis(labelLimit=300))
    shown = VERDICTS if margin is None else ["equivalent", "not significant"]
    colors, shapes = zip(*(LOOKS[name] for name in shown), strict=True)
    legend = alt.Legend(title=None)
    color = alt.Color(
        "side:N", scale=alt.Scale(domain=shown, range=colors), legend=legend
    )
    base = alt.Chart(data).encode(y=y, color=color)
    x = alt.X(
        "lower:Q",
        title="difference",
        scale=alt.Scale(domain=ends, nice=True),
        axis=alt.Axis(tickCount=8),
    )
    span = base.mark_rule(strokeWidth=2).encode(x=x, x2="upper:Q")
    shape = alt.Shape(
        "side:N", scale=alt.Scale(domain=shown, range=shapes), legend=legend
    )
    point = base.mark_point(filled=True, size=90, opacity=1).encode(
        x="difference:Q", shape=shape
    )
    lines = [rule("x", [0.0])]
    if margin:
        lines.append(rule("x", [-margin, margin], [1, 3]))
    return (alt.layer(*lines) + span + point).properties(
        width=420, height=alt.Step(24), title=heading(title)
    )
