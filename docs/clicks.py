"""The pictures of the guide to click logs: ``python docs/clicks.py``.

They are drawn from simulated logs of known truth, with the extra ``plot``.
"""

from __future__ import annotations

from pathlib import Path

import altair as alt
import polars as pl

from polars_rank import clicks

GUIDE = Path(__file__).parent / "guide"
ORDER = ["truth", "harvest", "randomized", "ctr (biased)"]
COLORS = ["#222222", "#0072B2", "#009E73", "#D55E00"]


def propensities() -> alt.LayerChart:
    """Estimates of three methods with their intervals, and the truth."""
    design = clicks.simulate(20_000, randomized_share=0.1, seed=4)
    log = design.draw().drop("user_id")
    frames = [
        clicks.propensities(log, method, **options)
        .select("position", "propensity", "lower", "upper")
        .with_columns(method=pl.lit(name))
        for method, name, options in (
            ("harvest", "harvest", {}),
            ("randomized", "randomized", {"randomized": "randomized"}),
            ("ctr", "ctr (biased)", {}),
        )
    ]
    truth = design.propensities.select("position", "propensity")
    scale = alt.Scale(domain=ORDER, range=COLORS)
    color = alt.Color("method:N", title=None, scale=scale, sort=ORDER)
    x = alt.X("position:O", title="position", axis=alt.Axis(labelAngle=0))
    shift = alt.XOffset("method:N", sort=ORDER[1:])
    estimates = alt.Chart(pl.concat(frames).filter(pl.col("position") > 1))
    line = alt.Chart(truth.with_columns(method=pl.lit("truth"))).mark_tick(
        thickness=2, size=34
    )
    y = alt.Y("propensity:Q", title="examination, relative to position 1")
    bars = estimates.mark_rule().encode(
        x=x, xOffset=shift, y=alt.Y("lower:Q"), y2="upper:Q", color=color
    )
    points = estimates.mark_point(filled=True, size=28).encode(
        x=x, xOffset=shift, y=y, color=color
    )
    return (line.encode(x=x, y=y, color=color) + bars + points).properties(
        width=560, height=260
    )


def estimates() -> alt.LayerChart:
    """Estimated gain of a new ranking over the old one against the true gain."""
    rows = []
    for seed in range(40):
        design = clicks.simulate(4000, n_queries=100, seed=seed)
        truth = design.value("new_score") - design.value("score")
        log = design.draw().drop("user_id")
        for name, bias in (
            ("IPS, propensities of the same log", "harvest"),
            ("clicks as they are", 0.0),
        ):
            found = clicks.counterfactual(
                log,
                new=["new_score", "score"],
                baseline="score",
                propensities=bias,
            ).row(-1, named=True)
            rows.append(
                (name, truth, found["estimate"], found["lower"], found["upper"])
            )
    names = ["method", "truth", "estimate", "lower", "upper"]
    frame = pl.DataFrame(rows, schema=names, orient="row")
    least, most = frame["truth"].min(), frame["truth"].max()
    diagonal = pl.DataFrame({"truth": [least, most], "estimate": [least, most]})
    x = alt.X("truth:Q", title="true difference of DCG@10", scale=alt.Scale(zero=False))
    y = alt.Y("estimate:Q", title="estimated difference")
    scale = alt.Scale(
        domain=["IPS, propensities of the same log", "clicks as they are"],
        range=["#0072B2", "#D55E00"],
    )
    color = alt.Color("method:N", title=None, scale=scale)
    base = alt.Chart(frame)
    return (
        alt.Chart(diagonal)
        .mark_line(color="#8a8a8a", strokeDash=[4, 3])
        .encode(x=x, y=y)
        + base.mark_rule(opacity=0.6).encode(
            x=x, y=alt.Y("lower:Q"), y2="upper:Q", color=color
        )
        + base.mark_point(filled=True, size=32).encode(x=x, y=y, color=color)
    ).properties(width=420, height=300)


if __name__ == "__main__":
    for chart, name in ((propensities(), "propensities"), (estimates(), "estimates")):
        chart.save(GUIDE / f"clicks-{name}.png", scale_factor=2)
