"""Curves of systems: over cutoffs, levels of recall, time, pairs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import polars as pl

from polars_rank.measures.measure import Measure
from polars_rank.report.style import PALETTE, SHAPES, altair, finished, rule

SMALLEST = 1e-6  # p-value that a curve shows
CUTOFF = re.compile(r"^(.*)@(\d+)$")


def depth(means: pl.DataFrame, pairs: pl.DataFrame) -> Any:
    """Draw means over the cutoffs of ndcg@5, ndcg@10 ...; differences below.

    Differences to a baseline have their intervals. Those of means would overlap where
    the difference, of the same queries, is significant.
    """
    alt = altair()
    _require_one_segment(means)
    frame = _over_cutoffs(means)
    if not len(frame):
        msg = "a depth curve needs a measure at several cutoffs: ndcg@5, ndcg@10 ..."
        raise ValueError(msg)
    names = means["system"].unique(maintain_order=True).to_list()
    one = pairs["baseline"].n_unique() == 1
    panels = []
    for (family,), part in frame.group_by("family", maintain_order=True):
        x = alt.X(
            "k:Q",
            title="cutoff k",
            scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(values=sorted(set(part["k"])), format="d"),
        )
        y = alt.Y("mean:Q", title=f"{family}@k", scale=alt.Scale(zero=False))
        lines = _lines(part.select("k", "system", "mean"), x, y, "system", names)
        panels.append(lines.properties(width=420, height=220))
        if one:
            own = _over_cutoffs(pairs).filter(pl.col("family") == family)
            panels.append(_differences(own, x, names, pairs["baseline"][0]))
    return finished(alt.vconcat(*panels))


def trend(periods: pl.DataFrame, marks: Mapping[Any, str] | None = None) -> Any:
    """Draw means over time and, below, the differences to each baseline.

    ``periods`` is what :func:`polars_rank.comparison.trend` returns: its intervals of
    differences are drawn, those of means are not, as they say nothing about
    differences. ``marks`` names events by their time, such as releases, which are drawn
    as lines.

    Examples
    --------
    >>> import polars as pl, polars_rank as pr
    >>> from polars_rank.report.curves import trend
    >>> values = pl.DataFrame(
    ...     {"system": ["a", "b"] * 6, "query_id": [i // 2 for i in range(12)],
    ...      "day": [i // 4 for i in range(12)], "rr": [0.5, 0.4, 0.2] * 4}
    ... )
    >>> periods = pr.comparison.trend(values, time="day", baseline="a")
    >>> chart = trend(periods, marks={1: "v2"})
    """
    alt = altair()
    time = periods.columns[0]
    data = periods.rename({time: "time"}).with_columns(_drawable(periods[time]))
    kind = "T" if data["time"].dtype.is_temporal() else "O"
    kind = "Q" if data["time"].dtype.is_numeric() else kind
    looks = {"Q": {"format": "d", "tickMinStep": 1}, "T": {}, "O": {}}
    if periods[time].dtype == pl.Date:  # no tick between two days
        days = (periods[time].max() - periods[time].min()).days  # type: ignore[operator, union-attr]
        looks["T"] = {"format": "%b %-d", "tickCount": max(1, min(8, days))}
    axis = alt.Axis(**looks[kind])
    x = alt.X(f"time:{kind}", title=time, axis=axis, scale=alt.Scale(zero=False))
    names = data["system"].unique(maintain_order=True).to_list()
    panels = []
    for (measure,), part in data.group_by("measure", maintain_order=True):
        own = part.filter(pl.col("baseline").is_null())
        y = alt.Y("estimate:Q", title=str(measure), scale=alt.Scale(zero=False))
        means = _lines(own.select("time", "system", "estimate"), x, y, "system", names)
        panels.append(means.properties(width=420, height=220))
        pairs = part.drop_nulls("baseline").rename({"estimate": "difference"})
        for (base,), differences in pairs.group_by("baseline", maintain_order=True):
            panels.append(_differences(differences, x, names, str(base)))
    if marks:
        events = pl.Series(list(marks)).cast(periods[time].dtype)
        lines = _marks(_drawable(events), list(marks.values()), x)
        panels = [
            alt.layer(lines, panel).properties(width=420, height=200)
            for panel in panels
        ]
    return finished(alt.vconcat(*panels))


def _marks(time: pl.Series, labels: list[str], x: Any) -> Any:
    """Draw lines at events, with their names."""
    alt = altair()
    base = alt.Chart(pl.DataFrame({"time": time, "label": labels})).encode(x=x)
    text = base.mark_text(align="left", dx=4, dy=6, fontSize=11, color="#444444")
    line = base.mark_rule(color="#444444")
    return alt.layer(line, text.encode(y=alt.value(0), text="label:N"))


def _drawable(time: pl.Series) -> pl.Series:
    """Return periods as altair takes them: numbers, dates and times, else text."""
    known = time.dtype.is_numeric() or time.dtype in (pl.Date, pl.Datetime)
    return (time if known else time.cast(pl.String)).alias("time")


def _over_cutoffs(rows: pl.DataFrame) -> pl.DataFrame:
    """Select measures at several cutoffs, with their ``family`` and ``k``."""
    split = pl.col("measure").str.extract_groups(CUTOFF.pattern)
    return rows.with_columns(
        family=split.struct.field("1"),
        k=split.struct.field("2").cast(pl.Int64, strict=False),
    ).filter(pl.col("k").n_unique().over("family") > 1, pl.col("k").is_not_null())


def _differences(pairs: pl.DataFrame, x: Any, names: list[str], baseline: str) -> Any:
    """Draw differences to the baseline, with their intervals, and a line at 0."""
    place = "k" if "k" in pairs.columns else "time"
    alt = altair()
    data = pairs.select(place, "system", "difference", "lower", "upper")
    title = f"difference to {baseline}"
    band = (
        alt.Chart(data)
        .mark_area(opacity=0.15)
        .encode(
            x=x,
            y=alt.Y("lower:Q", title=title),
            y2="upper:Q",
            color=_color(names, "system"),
        )
    )
    zero = rule("y", [0.0])
    y = alt.Y("difference:Q", title=title)
    lines = _lines(data, x, y, "system", names)
    return (zero + band + lines).properties(width=420, height=180)


def precision_recall(means: pl.DataFrame) -> Any:
    """Draw interpolated precision at the levels of recall that were compared."""
    alt = altair()
    _require_one_segment(means)
    at = {name: _recall(name) for name in means["measure"].unique()}
    levels = {name: level for name, level in at.items() if level is not None}
    if len(levels) < 2:
        msg = (
            "a precision-recall curve needs interpolated precision at several levels "
            'of recall: [f"interpolated_precision@{i / 10}" for i in range(11)]'
        )
        raise ValueError(msg)
    data = (
        means.filter(pl.col("measure").is_in([*levels]))
        .select(
            "system",
            recall=pl.col("measure").replace_strict(levels, return_dtype=pl.Float64),
            precision="mean",
        )
        .sort("recall", maintain_order=True)
    )
    whole = alt.Scale(domain=[0, 1])
    x = alt.X("recall:Q", scale=whole)
    y = alt.Y("precision:Q", title="interpolated precision", scale=whole)
    names = data["system"].unique(maintain_order=True).to_list()
    lines = _lines(data, x, y, "system", names)
    return finished(alt.vconcat(lines.properties(width=360, height=360)))


def significance(pairs: pl.DataFrame, level: float) -> Any:
    """Draw the p-value of every pair, largest first, a curve per measure.

    The sooner a curve falls below the line, the more pairs its measure tells apart.

    Source: Sakai, SIGIR 2006.
    """
    alt = altair()
    p = pl.col("p_adjusted").drop_nulls().clip(lower_bound=SMALLEST)
    data = (
        pairs.group_by("measure", maintain_order=True)
        .agg(p=p.sort(descending=True), pair=pl.int_range(1, p.len() + 1))
        .explode("p", "pair", empty_as_null=False)
    )
    if not len(data):
        msg = "no pair was tested: a curve of significance needs p-values"
        raise ValueError(msg)
    most = int(data["pair"].max())  # type: ignore[arg-type]
    every = -(-most // 10)
    ticks = alt.Axis(format="d", values=[*range(1, most + 1, every)])
    x = alt.X(
        "pair:Q",
        title="pairs of systems, by p-value",
        axis=ticks,
        scale=alt.Scale(domain=[1, max(most, 2)], nice=False),
    )
    y = alt.Y("p:Q", title="adjusted p", scale=alt.Scale(type="log"))
    line = (
        alt.Chart(pl.DataFrame({"level": [1 - level]}))
        .mark_rule(color="#444444", strokeDash=[4, 3])
        .encode(y="level:Q")
    )
    names = data["measure"].unique(maintain_order=True).to_list()
    curves = _lines(data, x, y, "measure", names)
    return finished(alt.vconcat((line + curves).properties(width=420, height=260)))


def _require_one_segment(means: pl.DataFrame) -> None:
    if means.columns[0] != "measure":
        msg = "these curves are of all queries together: compare without by="
        raise ValueError(msg)


def _recall(measure: str) -> float | None:
    try:
        parsed = Measure.parse(measure)
    except (TypeError, ValueError):
        return None
    if parsed.metric != "interpolated_precision":
        return None
    return float(parsed.arguments["recall"])


def _lines(data: pl.DataFrame, x: Any, y: Any, of: str, names: list[str]) -> Any:
    """Draw a line with points for each of ``of``, told apart by color and shape."""
    alt = altair()
    shapes = SHAPES[: len(names)] if len(names) <= len(SHAPES) else alt.Undefined
    scale = alt.Scale(domain=names, range=shapes)
    base = alt.Chart(data).encode(x=x, y=y, color=_color(names, of))
    shape = alt.Shape(f"{of}:N", sort=names, scale=scale, title=None)
    points = base.mark_point(filled=True, size=60, opacity=1).encode(shape=shape)
    return base.mark_line(point=False) + points


def _color(names: list[str], of: str) -> Any:
    alt = altair()
    colors = PALETTE[: len(names)] if len(names) <= len(PALETTE) else alt.Undefined
    return alt.Color(
        f"{of}:N",
        scale=alt.Scale(domain=names, range=colors),
        sort=names,
        title=None,
        legend=alt.Legend(symbolOpacity=1),
    )
